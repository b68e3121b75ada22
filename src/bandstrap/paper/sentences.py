"""The sentences of the paper that could be wrong, with the claims that test them or the reason why none does.

The list is ``sentences.toml``, in the paper's order; the report shows it, and so does a page of the documentation, which
``python -m bandstrap.paper.sentences docs/sentences.md`` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from bandstrap.basics.storage import write_text
from bandstrap.experiments.toml import Strict, read_table

# The parts of the paper that state anything, in their order.
PaperSection = Literal[
    "Abstract",
    "1",
    "2",
    "2.1",
    "2.2",
    "2.3",
    "3",
    "4.1",
    "4.2",
    "5",
    "A",
    "B.1",
    "B.2",
    "B.3",
    "C.1",
    "C.2",
    "D",
    "E.1",
    "E.2",
    "E.3",
    "F",
]

HEAD = """\
# Every sentence of the paper

What *Bootstrapping Upper Confidence Bound* (Hao, Abbasi-Yadkori, Wen and Cheng, NeurIPS 2019) states and could be wrong
about, in the paper's order, from the abstract to supplement F: {n} sentences, {tested} of them put to the test by a claim
of `bandstrap paper` (`src/bandstrap/paper/claims/`), the others with the reason why not. E1, E2 and so on are entries of
`src/bandstrap/paper/errata.toml`. Definitions, notation and what other papers are said to do are not listed.

The list is kept in `src/bandstrap/paper/sentences.toml`. This page is made from it by

```
python -m bandstrap.paper.sentences docs/sentences.md
```

| where | the paper says | tested by, or why not |
| --- | --- | --- |
"""


class Sentence(Strict):
    """A sentence in short, where it stands, and the claims that test it or the reason why none does."""

    part: PaperSection
    # Closer than the part, such as "Remark 1".
    place: str = ""
    says: Annotated[str, Field(min_length=1)]
    claims: tuple[str, ...] = ()
    reason: str = ""
    # What is to be said beside claims.
    note: str = ""

    @model_validator(mode="after")
    def claims_or_reason(self) -> Sentence:
        """Refuse a sentence with neither claims nor a reason, or with both, or with a note beside a reason."""
        if bool(self.claims) == bool(self.reason):
            raise ValueError("a sentence should have claims or a reason, and not both")
        if self.note and self.reason:
            raise ValueError("a note stands beside claims; a sentence with a reason has it there")
        return self

    @property
    def where(self) -> str:
        """Where it stands."""
        part = self.part if self.part == "Abstract" else f"section {self.part}"
        part = f"supplement {self.part}" if self.part[0] in "ABCDEF" and self.part != "Abstract" else part
        return f"{part}, {self.place}" if self.place else part


class Sentences(Strict):
    """The file."""

    sentences: tuple[Sentence, ...]


def read_sentences() -> tuple[Sentence, ...]:
    """The list."""
    return read_table(Path(str(files("bandstrap.paper") / "sentences.toml")), Sentences).sentences


def as_markdown(sentences: Sequence[Sentence]) -> str:
    """The page of the documentation."""
    rows = [f"| {cell(one.where)} | {cell(one.says)} | {cell(answer(one))} |\n" for one in sentences]
    tested = sum(bool(one.claims) for one in sentences)
    return HEAD.format(n=len(sentences), tested=tested) + "".join(rows)


def answer(sentence: Sentence) -> str:
    """The claims of a sentence with its note, or its reason."""
    tested = ", ".join(f"`{name}`" for name in sentence.claims)
    return f"{tested}. {sentence.note}" if sentence.note else tested or sentence.reason


def cell(text: str) -> str:
    """Text in a cell of a table in Markdown."""
    return " ".join(text.split()).replace("|", r"\|")


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), as_markdown(read_sentences()))

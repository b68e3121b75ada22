"""The page with every sentence of the paper: ``python -m docs.making.sentences docs/sentences.md`` writes it."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from bandstrap.basics.storage import write_text
from bandstrap.paper.sentences import Sentence, read_sentences
from docs.making.markup import with_formulas

HEAD = """\
# Every sentence of the paper

What *Bootstrapping Upper Confidence Bound* (Hao, Abbasi-Yadkori, Wen and Cheng, NeurIPS 2019) states and could be wrong
about, in the paper's order, from the abstract to supplement F: {n} sentences, {tested} of them put to the test by a claim
of `bandstrap paper` (`src/bandstrap/paper/claims/`), the others with the reason why not. E1, E2 and so on are
[errata](explanation/errata.md). The verdicts are in the report of `bandstrap paper`. Definitions, notation and what other
papers are said to do are not listed.

The list is kept in `src/bandstrap/paper/sentences.toml`. This page is made from it by

```
python -m docs.making.sentences docs/sentences.md
```

| where | the paper says | tested by, or why not |
| --- | --- | --- |
"""


def as_markdown(sentences: Sequence[Sentence]) -> str:
    """The page of the documentation."""
    rows = [f"| {cell(one.where)} | {cell(one.says)} | {linked(cell(answer(one)))} |\n" for one in sentences]
    tested = sum(bool(one.claims) for one in sentences)
    return HEAD.format(n=len(sentences), tested=tested) + "".join(rows)


def answer(sentence: Sentence) -> str:
    """The claims of a sentence with its note, or its reason."""
    tested = ", ".join(f"`{name}`" for name in sentence.claims)
    return f"{tested}. {sentence.note}" if sentence.note else tested or sentence.reason


def linked(text: str) -> str:
    """Text whose errata are links to them."""
    return re.sub(r"\bE(\d+)\b", r"[E\1](explanation/errata.md#e\1)", text)


def cell(text: str) -> str:
    """Text in a cell of a table in Markdown, its formulas set."""
    return with_formulas(" ".join(text.split())).replace("|", r"\|")


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), as_markdown(read_sentences()))

"""The sentences of the paper that could be wrong, with the claims that test them or the reason why none does.

The list is ``sentences.toml``, in the paper's order; the report shows it, and so does a page of the documentation, which
``docs/making/sentences.py`` writes.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

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
        """Place in the paper."""
        part = self.part if self.part == "Abstract" else f"section {self.part}"
        part = f"supplement {self.part}" if self.part[0] in "ABCDEF" and self.part != "Abstract" else part
        return f"{part}, {self.place}" if self.place else part


class Sentences(Strict):
    """The file."""

    sentences: tuple[Sentence, ...]


def read_sentences() -> tuple[Sentence, ...]:
    """The list."""
    return read_table(Path(str(files("bandstrap.paper") / "sentences.toml")), Sentences).sentences

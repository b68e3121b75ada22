"""Table of a live policy: a row for each arm or action."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic

from bandstrap.basics.text import visible

# What arms are called. Type checkers read it off the arms that a policy is given; those that are numbered have any.
if TYPE_CHECKING:
    from typing_extensions import TypeVar  # whose type variables have defaults before Python 3.13; not installed

    Label = TypeVar("Label", bound=Hashable, default=Any)
else:
    from typing import TypeVar

    Label = TypeVar("Label", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ArmRow(Generic[Label]):
    """Statistics of an arm; see :meth:`bandstrap.Policy.table`."""

    arm: Label
    pulls: int
    mean: float | None
    index: float | None
    retired: bool


@dataclass(frozen=True, slots=True)
class ActionRow:
    """Statistics of an action; see :meth:`bandstrap.LinearPolicy.table`."""

    action: int
    estimate: float | None
    index: float | None


Row = TypeVar("Row", bound=ArmRow[Any] | ActionRow)


class ArmTable(list[Row]):
    """A list of rows that is printed as a table.

    Parameters
    ----------
    rows
        All of one kind.
    index
        What the numbers in the column ``index`` are, in words: ``"upper bound"``, ``"lower bound"`` or ``"index"``.
    """

    def __init__(self, rows: Iterable[Row], index: str) -> None:
        super().__init__(rows)
        self.index_is = index

    def __repr__(self) -> str:
        """The rows under the names of their columns; a column without any value is left out."""
        if not self:
            return "[]"
        cells = {field.name: [shown(row, field.name) for row in self] for field in fields(self[0])}
        columns = []
        for name, column in cells.items():
            if any(column):
                title = self.index_is if name == "index" else name
                width = max(map(len, (title, *column)))
                columns.append([entry.rjust(width) for entry in (title, *column)])
        return "\n".join("  ".join(entries) for entries in zip(*columns, strict=True))


def shown(row: object, name: str) -> str:
    """An entry of a row as text that fits into a line; what is not there, or not so, is empty."""
    value = getattr(row, name)
    if name == "arm":
        return visible(value if isinstance(value, str) else repr(value))
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    return f"{value:.6g}" if isinstance(value, float) else str(value)

"""A benchmark as a document: one table per question, each row with what was measured, the goal and a verdict."""

import json
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Row:
    """One measurement; ``goal`` is the most it may be, or the least where ``better`` is "higher".

    ``details`` are what else was measured with it, each by its unit.
    """

    name: str
    measured: float
    unit: str = ""
    goal: float | None = None
    better: Literal["lower", "higher"] = "lower"
    details: dict[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Whether the goal is met; empty where there is none."""
        if self.goal is None or math.isnan(self.measured):
            return ""
        is_met = self.measured <= self.goal if self.better == "lower" else self.measured >= self.goal
        return "met" if is_met else "missed"

    @property
    def limit(self) -> str:
        """The goal in words; empty where there is none."""
        if self.goal is None:
            return ""
        return f"{'at most' if self.better == 'lower' else 'at least'} {short(self.goal)}"

    @property
    def aim(self) -> str:
        """The goal in words, and whether it is met."""
        return ": ".join(text for text in (self.limit, self.verdict) if text)

    @property
    def besides(self) -> str:
        """What else was measured, in words."""
        return "; ".join(f"{short(value)} {unit}" for unit, value in self.details.items())


@dataclass(frozen=True)
class Table:
    """The answer to a question."""

    question: str
    rows: list[Row]

    def __str__(self) -> str:
        width = max(len(row.name) for row in self.rows)
        lines = [self.question, f"  {'':<{width}} {'measured':>12} {'goal':>15}"]
        for row in self.rows:
            measured = f"{short(row.measured):>12} {row.limit:>15}  {row.unit:<12} {row.verdict:<7}"
            lines.append(f"  {row.name:<{width}} {measured} {row.besides}")
        return "\n".join(line.rstrip() for line in lines)

    def as_markdown(self) -> str:
        """For a page, without the question; only columns that have something in them."""
        has_goals = any(row.goal is not None for row in self.rows)
        has_details = any(row.details for row in self.rows)
        header = ["", "measured", *["goal"] * has_goals, *["besides"] * has_details]
        lines = [header, ["---", "---:", *["---"] * (len(header) - 2)]]
        for row in self.rows:
            measured = f"{short(row.measured)} {row.unit}".rstrip()
            lines.append([row.name, measured, *[row.aim] * has_goals, *[row.besides] * has_details])
        return "".join(f"| {' | '.join(as_shown(text) for text in line)} |\n" for line in lines)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; what was not measured is null."""
        rows = [
            {**vars(row), "measured": None if math.isnan(row.measured) else row.measured, "verdict": row.verdict}
            for row in self.rows
        ]
        return {"question": self.question, "rows": rows}


def short(number: float) -> str:
    """Three digits."""
    return "not measured" if math.isnan(number) else f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def as_shown(text: str) -> str:
    """Text in a cell that Markdown shows as it is."""
    for mark in "\\*_`[]<>$|":
        text = text.replace(mark, "\\" + mark)
    return text


def median_row(name: str, rows: Iterable[Row], goal: float) -> Row:
    """The median of some rows."""
    listed = list(rows)
    return Row(name, statistics.median(row.measured for row in listed), listed[0].unit, goal)


def write_json(path: Path, tables: Iterable[Table]) -> None:
    """Everything that was measured."""
    path.write_text(json.dumps([table.as_dict() for table in tables], indent=2) + "\n")


def read_json(path: Path) -> list[Table]:
    """What :func:`write_json` wrote."""
    return [
        Table(table["question"], [row_from(row) for row in table["rows"]])
        for table in json.loads(path.read_text(encoding="utf-8"))
    ]


def row_from(content: dict[str, Any]) -> Row:
    """A row as it was."""
    measured = math.nan if content["measured"] is None else content["measured"]
    return Row(**{key: value for key, value in content.items() if key != "verdict"} | {"measured": measured})

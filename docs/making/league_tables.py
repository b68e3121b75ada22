"""Tables of a league in a page of text, made from its results and kept up to date.

A comment says what the table below it shows, its parts separated by bars::

    <!-- league: horizon-2000 | mean | BUCB+; RB-SDA; MOSS | Gaussian; beta -->

the file in the folder ``league`` beside the page, without its ending; the kind of table; and, where they matter, policies
and environments, all by default. ``python -m docs.making.league_tables docs/which-policy.md`` writes every table anew.

``mean``, ``q95``, ``q99``, ``worst``
    A row per environment, a column per policy: mean regret with its standard error, a percentile with its interval, or the
    regret of the worst run and its multiple of the mean. The lowest of a row is bold.
``rank``
    A row per environment, a column per policy: place by mean regret, with its interval.
``winners``
    Who has the lowest mean regret on each environment, among the policies without parameters and among all.
``overall``, ``means``
    A row per policy of a file ``overall.parquet``: geometric means beside the yardstick, of the 99th percentile too, or of
    the mean alone, where runs are too few for percentiles.
``stability``
    A row per policy of a file ``stability.parquet``: how normal the mean of an arm is when play ends, on each of its
    environments.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandstrap.basics.storage import write_text
from bandstrap.errors import InvalidInput
from bandstrap.league.page import show_interval
from bandstrap.league.stability import LEVEL
from bandstrap.league.standings import Interval

if TYPE_CHECKING:
    import polars

TableRow = dict[str, Any]
# The lines of a table, from results, names of policies and names of environments.
TableMaker = Callable[["polars.DataFrame", list[str], list[str]], list[str]]
# A comment and the lines of the table below it, if there are any.
MARK = re.compile(r"(<!-- league: (.*?) -->\n)((?:\|.*\n)*)")


def write_tables(page: Path) -> None:
    """Write every table of a page anew."""
    write_text(page, with_tables(page.read_text("utf-8"), page.parent / "league"))


def with_tables(text: str, folder: Path) -> str:
    """The text of a page with its tables as the results in ``folder`` have them."""
    return MARK.sub(lambda found: found[1] + "\n".join(make_table(found[2], folder)) + "\n", text)


def make_table(wanted: str, folder: Path) -> list[str]:
    """The lines of the table that a comment wants."""
    import polars

    file, kind, *names = (part.strip() for part in wanted.split("|"))
    policies, environments = (
        [name.strip() for name in part.split(";") if name.strip()] for part in [*names, "", ""][:2]
    )
    if kind not in KINDS:
        raise InvalidInput(f"a league has no table {kind!r}; it has {', '.join(KINDS)}.")
    frame = polars.read_parquet(folder / f"{file}.parquet")
    for column, known in (("policy", policies), ("environment", environments)):
        missing = [name for name in known if name not in frame[column].unique()]
        if missing:
            raise InvalidInput(f"{file}.parquet has no {column} {missing[0]!r}.")
    return KINDS[kind](frame, policies, environments)


def by_environment(name: str, show: Callable[[TableRow], str]) -> TableMaker:
    """What makes a table with a row per environment and a column per policy."""

    def table(frame: polars.DataFrame, policies: list[str], environments: list[str]) -> list[str]:
        matches = {(row["environment"], row["policy"]): row for row in frame.iter_rows(named=True)}
        policies = policies or frame["policy"].unique(maintain_order=True).to_list()
        lines = []
        for environment in environments or frame["environment"].unique(maintain_order=True):
            found = [matches.get((environment, policy)) for policy in policies]
            values = [None if row is None else row[name] for row in found]
            best = min((value for value in values if value is not None), default=None)
            cells = [show_cell(row, value == best, show) for row, value in zip(found, values, strict=True)]
            lines.append([environment, *cells])
        return in_bars(["rewards", *policies], lines)

    return table


def show_cell(row: TableRow | None, is_best: bool, show: Callable[[TableRow], str]) -> str:
    """A cell; a dash where the policy sat out."""
    if row is None or row["mean"] is None:
        return "-"
    return f"**{show(row)}**" if is_best else show(row)


def winners(frame: polars.DataFrame, policies: list[str], environments: list[str]) -> list[str]:
    """The lowest mean regret on each environment, without parameters and of all, and the policies within error of it."""
    lines = []
    for environment in environments or frame["environment"].unique(maintain_order=True):
        rows = [
            row
            for row in frame.filter(environment=environment).iter_rows(named=True)
            if row["mean"] is not None and (not policies or row["policy"] in policies)
        ]
        lines.append([environment, show_first(row for row in rows if row["told"] == "nothing"), show_first(rows)])
    return in_bars(["rewards", "needs no parameters", "any policy"], lines)


def show_first(rows: Iterable[TableRow]) -> str:
    """The lowest mean with its error, and the names of those less than two standard errors above it.

    The errors are added as if policies had not met the same rewards, so that few are left out who are as good.
    """
    first, *others = sorted(rows, key=lambda row: (row["mean"], row["policy"]))
    close = [
        row["policy"]
        for row in others
        if row["mean"] - first["mean"] < 2 * math.hypot(row["standard_error"], first["standard_error"])
    ]
    shown = f"**{first['policy']}** {show_mean(first)}"
    return shown + (f" (similar: {'; '.join(close)})" if close else "")


def beside_yardstick(*fields: str) -> TableMaker:
    """Makes a table of geometric means beside the yardstick, the lowest first."""

    def table(frame: polars.DataFrame, policies: list[str], environments: list[str]) -> list[str]:
        (yardstick,) = frame["yardstick"].drop_nulls().unique()
        rows = [
            row
            for row in frame.sort(["n_common", "ratio", "policy"], descending=[True, False, False]).iter_rows(
                named=True
            )
            if row["ratio"] is not None and (not policies or row["policy"] in policies)
        ]
        lines = [
            [
                row["policy"],
                row["told"],
                *(f"{row[field]:.3f} ({show_ends(row, field, as_ratio)})" for field in fields),
                f"{row['n_below']}, {row['n_above']} of {row['n_common']}",
            ]
            for row in rows
        ]
        heads = [f"{'99th percentile' if field == 'ratio_q99' else 'mean'} / {yardstick}" for field in fields]
        return in_bars(["policy", "needs", *heads, "below, above beyond error"], lines)

    return table


def stability(frame: polars.DataFrame, policies: list[str], environments: list[str]) -> list[str]:
    """How often the usual interval misses and how far means are from normal, nearest first by the farthest."""
    environments = environments or frame["environment"].unique(maintain_order=True).to_list()
    found = {(row["environment"], row["policy"]): row for row in frame.iter_rows(named=True)}
    policies = policies or frame["policy"].unique(maintain_order=True).to_list()

    def farthest(policy: str) -> float:
        return max(float(found[environment, policy]["distance"]) for environment in environments)

    lines = []
    for policy in sorted(policies, key=farthest):
        rows = [found[environment, policy] for environment in environments]
        cells = [cell for row in rows for cell in (f"{row['misses']:.3f} ± {row['misses_error']:.3f}", show_far(row))]
        is_normal = all(row["p_value"] >= LEVEL for row in rows)
        lines.append(
            [policy, "not refuted" if is_normal else "no", str(min(row["replications"] for row in rows)), *cells]
        )
    heads = [head for name in environments for head in (f"{name}: misses", "bias, distance")]
    return in_bars(["policy", "normal", "runs", *heads], lines)


def show_far(row: TableRow) -> str:
    """Mean of a standardised mean, and its distance from the normal distribution."""
    return f"{row['bias']:.2f}, {row['distance']:.3f}"


def show_mean(row: TableRow) -> str:
    """A mean with its standard error, both to the same digit."""
    digits = digits_of(row["mean"])
    return f"{row['mean']:.{digits}f} ± {row['standard_error']:.{digits}f}"


def show_worst(row: TableRow) -> str:
    """The worst run, and how many times the mean it is."""
    return f"{row['worst']:.0f} ({row['worst'] / row['mean']:.0f} x)"


def show_rank(row: TableRow) -> str:
    """A place and its interval."""
    return f"{row['rank']} ({show_ends(row, 'rank', lambda end: f'{end:.0f}')})"


def show_percentile(name: str) -> Callable[[TableRow], str]:
    """What shows a percentile with its interval."""

    def show(row: TableRow) -> str:
        digits = 1 if row[name] < 10 else 0
        return f"{row[name]:.{digits}f} ({show_ends(row, name, lambda end: f'{end:.{digits}f}')})"

    return show


def show_ends(row: TableRow, name: str, show: Callable[[float], str]) -> str:
    """The interval of a column."""
    return show_interval(Interval(row[f"{name}_low"], row[f"{name}_high"]), show)


def as_ratio(value: float) -> str:
    """Three decimals."""
    return f"{value:.3f}"


def digits_of(mean: float) -> int:
    """Decimals of a number of three digits or so."""
    return 2 if mean < 10 else 1 if mean < 100 else 0


def in_bars(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown; the first column is of words, and so are columns that start with a letter or a star."""
    numbers = [bool(lines) and not re.match(r"[A-Za-z]|\*\*[A-Za-z]", lines[0][i]) for i in range(len(header))]
    rule = ["---:" if is_number else "---" for is_number in numbers]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *lines)]


KINDS: dict[str, TableMaker] = {
    "mean": by_environment("mean", show_mean),
    "q95": by_environment("q95", show_percentile("q95")),
    "q99": by_environment("q99", show_percentile("q99")),
    "worst": by_environment("worst", show_worst),
    "rank": by_environment("rank", show_rank),
    "winners": winners,
    "overall": beside_yardstick("ratio", "ratio_q99"),
    "means": beside_yardstick("ratio"),
    "stability": stability,
}


if __name__ == "__main__":
    write_tables(Path(sys.argv[1]))

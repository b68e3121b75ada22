"""Logs of decisions in CSV and Parquet files, in batches: exported by a live experiment, or made elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandstrap.basics.arrays import Bools, Floats
from bandstrap.basics.extras import need
from bandstrap.basics.tables import MISSING, NUMBER, TRUTHS, check_separator
from bandstrap.basics.text import listed
from bandstrap.errors import InvalidInput, brief
from bandstrap.evidence.table import MOST_ARMS, SUM_SLACK

if TYPE_CHECKING:
    import polars

# Rows in memory at once.
BATCH = 50_000
# Seconds since 1970 from the year 1 to the year 9999.
DATES = -62_135_596_800.0, 253_402_300_799.0
OURS = ("arm", "reward", "weights", "source", "settled", "deferred", "activated", "time", "learned")


@dataclass(frozen=True)
class LogColumns:
    """Columns of a log from elsewhere.

    Attributes
    ----------
    arm, reward
        Columns of the arm's label and of its reward; a missing reward is one that never came.
    propensity
        The probability of each arm: ``"red=p_red,green=p_green"`` names a column, or gives a number, for each. A single
        column has lists in the order of ``arms`` or, with two arms, the probability of the chosen arm.
    arms
        Labels of the arms. Default: those of ``propensity``, or those in the file, sorted.
    time, active
        Columns of the time in seconds, and of a flag that a decision was shown. Default: the row number as time, and all
        decisions shown.
    separator
        Separator of columns in a CSV file. Default: a comma.
    """

    arm: str
    reward: str
    propensity: str
    arms: tuple[str, ...] | None = None
    time: str | None = None
    active: str | None = None
    separator: str | None = None


class LogBatch(NamedTuple):
    """Some decisions of a log, in their order."""

    arms: list[str]
    rewards: Floats  # nan where missing
    weights: Floats
    active: Bools
    times: Floats


@dataclass(frozen=True)
class DecisionLog:
    """A log of decisions.

    Attributes
    ----------
    name
        Name of the file.
    labels
        Labels of the arms.
    direction
        ``"max"`` or ``"min"``, as in the experiment; ``None`` if the file does not say.
    range
        Lowest and highest possible reward of the experiment, if there are any.
    control
        The control of the experiment, if there is one.
    has_times
        True if times are seconds since 1970, not row numbers.
    notes
        Sentences on decisions that are left out.
    """

    name: str
    labels: tuple[str, ...]
    direction: str | None
    range: tuple[float, float] | None
    control: str | None
    has_times: bool
    notes: tuple[str, ...]
    _frames: Any
    _read: Any

    def batches(self) -> Iterator[LogBatch]:
        """All decisions that count, some at a time."""
        for start, frame in self._frames():
            if frame.height:
                yield self._read(start, frame)


def open_log(path: Path, columns: LogColumns | None = None) -> DecisionLog:
    """A log in a file: exported by a live experiment or, if columns are named, from elsewhere.

    Parameters
    ----------
    path
        A Parquet or CSV file, in the order of decision.
    columns
        Meaning of its columns. Default: the file was written by ``Experiment.export``.
    """
    need("A readout of a log", "polars")
    import polars

    if not path.is_file():
        raise InvalidInput(f"{path} is not a file.")
    try:
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        if columns is None:
            return open_export(path, is_parquet)
        rows = polars.scan_parquet(path) if is_parquet else read_text(path, columns.separator).lazy()
        return open_table(path, rows, columns, is_parquet)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split()) or "it is damaged"
        raise InvalidInput(f"{path} cannot be read as a table: {brief(reason)}.") from None


def read_text(path: Path, separator: str | None) -> polars.DataFrame:
    """A CSV file, all columns as text."""
    import polars

    between = check_separator(separator) or ","
    return polars.read_csv(path, separator=between, infer_schema=False)


def sliced(rows: polars.LazyFrame) -> Any:
    """A function that gives the rows some at a time, each part with the number of rows before it."""
    import polars

    def frames() -> Iterator[tuple[int, polars.DataFrame]]:
        height = rows.select(polars.len()).collect().item()
        for start in range(0, height, BATCH):
            yield start, rows.slice(start, BATCH).collect()

    return frames


# --- exported by a live experiment ----------------------------------------------------------------------------------------


def open_export(path: Path, is_parquet: bool) -> DecisionLog:
    """A file that ``Experiment.export`` wrote."""
    import polars

    refusal = InvalidInput(
        f"{path} is not a log that a live experiment exported: name its columns by --arm, --reward and --propensity."
    )
    if not is_parquet:
        raise refusal
    try:
        about = json.loads(polars.read_parquet_metadata(path)["bandstrap"])
        labels, direction = tuple(map(str, about["arms"])), str(about["direction"])
        definition: Mapping[str, Any] = about["definition"]
    except (KeyError, ValueError, TypeError):
        raise refusal from None
    if not labels:
        raise InvalidInput(f"{path} is a log of actions with features, whose arms are new in each decision.")
    check_number_of_arms(labels, str(path))
    every = polars.scan_parquet(path).select(OURS)
    others = about.get("others")
    if others is None:
        others = every.filter(polars.col("source").is_in(["holdout", "shadow"])).head(1).collect().height > 0
    every = every.filter(polars.col("source") == "policy")
    rows = every.filter(polars.col("settled") != "void")
    time, activated = (polars.col(name).dt.epoch("us") / 1e6 for name in ("time", "activated"))
    n_every, n_all = (each.select(polars.len()).collect().item() for each in (every, rows))
    window = definition.get("window")
    if window is None:  # decisions count when their reward comes, whether or not they are shown before
        rows = rows.filter(polars.col("learned").is_not_null()).sort("learned")
        never = polars.lit(value=False)
    else:  # decisions count in their order, up to the first that is not final
        never = polars.col("deferred") & (activated > time + window).fill_null(True)
        begun = polars.when(polars.col("deferred") & ~never).then(activated).otherwise(time)
        end = polars.when(polars.col("learned").is_null()).then(begun + window).otherwise(time)
        final = about.get("final", math.inf)
        is_open = (end >= final) if math.isfinite(final) else (polars.col("settled") == "open") & ~never
        first = rows.with_row_index().filter(is_open).select(polars.col("index").min()).collect().item()
        rows = rows if first is None else rows.slice(0, first)
    rows = rows.with_columns(never=never)
    n_open = None if window is None else n_all - rows.select(polars.len()).collect().item()
    notes = left_out(n_open, n_voided=n_every - n_all, others=others, shipped=about.get("shipped"))

    def read(start: int, frame: polars.DataFrame) -> LogBatch:
        n = frame.height
        weights = np.zeros((n, len(labels)))
        lengths = frame["weights"].list.len().to_numpy()
        for size in np.unique(lengths):  # arms that were added later
            here = lengths == size
            weights[here, :size] = np.array(frame["weights"].filter(here).explode().to_numpy()).reshape(-1, size)
        active = ~frame["never"].to_numpy()
        rewards = frame["reward"].cast(polars.Float64).fill_null(np.nan).to_numpy()
        times = frame["time"].dt.epoch("us").to_numpy() / 1e6
        return LogBatch(frame["arm"].to_list(), rewards, weights, active, times)

    control = about.get("control", definition.get("control"))
    return DecisionLog(
        str(path),
        labels,
        direction,
        about.get("range"),
        None if control is None else str(control),
        True,
        tuple(notes),
        sliced(rows),
        read,
    )


def left_out(n_open: int | None, *, n_voided: int, others: bool, shipped: tuple[str, int] | None) -> Iterator[str]:
    """Sentences on decisions of an experiment that do not count.

    Parameters
    ----------
    n_open
        Number of those that are not final yet; ``None`` without a window.
    n_voided
        Number of those whose rewards were taken back.
    others
        Whether there are some of the holdout, or of shadow mode.
    shipped
        The arm that is served to all, and since which version.
    """
    if shipped is not None:
        yield f"{shipped[0]!r} is served to all since version {shipped[1]}; only earlier decisions of the policy count."
    if n_open is None:
        yield "Decisions count when their reward comes; those without one are left out. With a window they would count."
    elif n_open:
        yield f"Decisions not counted yet, from the first whose window is open: {n_open:,}."
    if n_voided:
        yield f"Voided decisions, which are left out: {n_voided:,}."
    if others:
        yield "Decisions of the holdout and of shadow mode are left out."


def check_number_of_arms(labels: Sequence[str], name: str) -> None:
    """Check that there are 2 to 64 arms."""
    if not 2 <= len(labels) <= MOST_ARMS:
        raise InvalidInput(f"A readout compares 2 to {MOST_ARMS} arms; {name} has {len(labels)}: {listed(labels, 5)}.")


# --- made elsewhere -------------------------------------------------------------------------------------------------------


def open_table(path: Path, rows: polars.LazyFrame, columns: LogColumns, is_parquet: bool) -> DecisionLog:
    """A table whose columns are named."""
    import polars

    name = str(path)
    known = rows.collect_schema()
    parts = split_propensity(columns.propensity)
    used = [columns.arm, columns.reward, *(each for each in (columns.time, columns.active) if each is not None)]
    used += [source for source in parts.values() if isinstance(source, str)] if parts else [columns.propensity]
    for column in used:
        if column not in known:
            raise InvalidInput(f"{name} has no column {brief(column)}; it has {listed(list(known), 10)}.")
    labels = columns.arms or (tuple(parts) if parts else None)
    if labels is None:
        found = rows.select(polars.col(columns.arm).cast(polars.String)).unique().collect()[columns.arm].to_list()
        labels = tuple(sorted(label for label in found if label))
    check_number_of_arms(labels, name)
    if parts and set(parts) != set(labels):
        raise InvalidInput(f"The propensities are those of {listed(list(parts), 5)}, and the arms {listed(labels, 5)}.")
    rows = rows.select(list(dict.fromkeys(used)))
    unit = "Row" if is_parquet else "Line"

    def read(start: int, frame: polars.DataFrame) -> LogBatch:
        place = Place(name, unit, start + (1 if is_parquet else 2))
        arms = frame[columns.arm].cast(polars.String).fill_null("").to_list()
        unknown = [i for i, arm in enumerate(arms) if arm not in labels]
        if unknown:
            raise place.refusal(unknown[0], columns.arm, arms[unknown[0]], f"one of the arms {listed(labels, 5)}")
        rewards = numbers_of(frame[columns.reward], place, may_miss=True)
        weights = weights_of(frame, arms, labels, columns.propensity, parts, place)
        own = weights[np.arange(len(arms)), [labels.index(arm) for arm in arms]]
        wrong = np.flatnonzero(~((weights.min(axis=1) >= 0) & (abs(weights.sum(axis=1) - 1) <= SUM_SLACK) & (own > 0)))
        if wrong.size:
            rule = "probabilities with a sum of 1, positive for the arm that was chosen"
            raise place.refusal(int(wrong[0]), columns.propensity, weights[wrong[0]].tolist(), rule)
        active = np.ones(frame.height, dtype=bool)
        if columns.active is not None:
            flags = numbers_of(frame[columns.active], place)
            wrong = np.flatnonzero((flags != 0.0) & (flags != 1.0))
            if wrong.size:
                raise place.refusal(int(wrong[0]), columns.active, float(flags[wrong[0]]), "true or false")
            active = flags == 1.0
        times = np.arange(start, start + frame.height, dtype=np.float64)
        if columns.time is not None:
            times = numbers_of(frame[columns.time], place)
            wrong = np.flatnonzero(~are_dates(times))
            if wrong.size:
                rule = "a time in seconds since 1970, up to the year 9999"
                raise place.refusal(int(wrong[0]), columns.time, float(times[wrong[0]]), rule)
        return LogBatch(arms, rewards, weights, active, times)

    return DecisionLog(name, tuple(labels), None, None, None, columns.time is not None, (), sliced(rows), read)


def are_dates(times: Floats) -> Bools:
    """Mask of the times, in seconds since 1970, that have a date."""
    return np.asarray((times >= DATES[0]) & (times <= DATES[1]))


class Place(NamedTuple):
    """Place of rows in a file."""

    name: str
    unit: str
    first: int

    def refusal(self, row: int, column: str, value: object, rule: str) -> InvalidInput:
        """A refusal that names the line."""
        shown = "is empty" if value in ("", None) else f"is {brief(value)}"
        return InvalidInput(
            f"{self.unit} {self.first + row} of {self.name}: column {column!r} {shown}; it must be {rule}."
        )


def split_propensity(text: str) -> dict[str, str | float] | None:
    """Columns or numbers by arm, of ``red=p_red,green=0.5``; ``None`` of the name of one column.

    >>> split_propensity("red=p_red,green=0.5"), split_propensity("weights")
    ({'red': 'p_red', 'green': 0.5}, None)
    """
    if "=" not in text:
        return None
    found: dict[str, str | float] = {}
    for part in text.split(","):
        label, equals, source = (word.strip() for word in part.partition("="))
        if not (label and equals and source) or label in found:
            raise InvalidInput(
                f"The propensity must be ARM=COLUMN or ARM=NUMBER for each arm, with commas between. Got {brief(text)}."
            )
        found[label] = float(source) if NUMBER.fullmatch(source) else source
    return found


def numbers_of(column: polars.Series, place: Place, *, may_miss: bool = False) -> Floats:
    """A column as numbers; ``nan`` where one may be missing and is."""
    import polars

    rule = "a number"
    if column.dtype == polars.String:
        plain = column.str.strip_chars()
        lowered = plain.str.to_lowercase()
        is_none = lowered.is_in(list(MISSING)) | plain.is_null()
        truths = lowered.replace_strict({word: str(value) for word, value in TRUTHS.items()}, default=plain)
        numbers = truths.cast(polars.Float64, strict=False)
    elif column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.Null):
        numbers = column.cast(polars.Float64)
        is_none = numbers.is_null() | numbers.is_nan().fill_null(False)
    else:
        raise InvalidInput(f"{place.name}: column {column.name!r} holds values of type {column.dtype}, not numbers.")
    values = np.array(numbers.fill_null(np.nan).to_numpy(), dtype=np.float64)
    missing = np.array(is_none.fill_null(True).to_numpy(), dtype=bool)
    wrong = ~np.isfinite(values) & ~(missing & may_miss)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise place.refusal(row, column.name, column[row], rule)
    values[missing] = np.nan
    return values


def weights_of(
    frame: polars.DataFrame,
    arms: Sequence[str],
    labels: Sequence[str],
    propensity: str,
    parts: Mapping[str, str | float] | None,
    place: Place,
) -> Floats:
    """Probabilities of all arms at each decision."""
    import polars

    n, n_arms = frame.height, len(labels)
    if parts is not None:
        sources = [parts[label] for label in labels]
        return np.stack(
            [
                np.full(n, source) if isinstance(source, float) else numbers_of(frame[source], place)
                for source in sources
            ],
            axis=1,
        )
    column = frame[propensity]
    if column.dtype == polars.String and str(column[0] if n else "").lstrip().startswith("["):
        try:
            lists = [json.loads(text) for text in column.to_list()]
        except (ValueError, TypeError):
            raise InvalidInput(f"{place.name}: column {propensity!r} must hold lists of numbers.") from None
    elif isinstance(column.dtype, polars.List | polars.Array):
        lists = column.to_list()
    else:
        if n_arms != 2:
            raise InvalidInput(
                f"With {n_arms} arms, the probability of each must be known: --propensity ARM=COLUMN,... or lists."
            )
        own = numbers_of(column, place)
        is_first = np.array([arm == labels[0] for arm in arms])
        first = np.where(is_first, own, 1.0 - own)
        return np.stack([first, 1.0 - first], axis=1)
    for row, each in enumerate(lists):
        if not isinstance(each, list) or len(each) != n_arms:
            raise place.refusal(row, propensity, each, f"{n_arms} probabilities, in the order {listed(labels, 5)}")
    try:
        return np.array(lists, dtype=np.float64).reshape(n, n_arms)
    except (ValueError, TypeError):
        raise InvalidInput(f"{place.name}: column {propensity!r} must hold lists of numbers.") from None

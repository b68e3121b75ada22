"""The decisions of a live experiment as a Parquet file, one row each, and in the layouts of two other libraries.

Open Bandit Pipeline estimates from logged decisions what another policy would have earned; Vowpal Wabbit does so, and
learns from them. Both need what a log seldom has, the probability with which each decision was made.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.extras import need
from bandstrap.basics.storage import Json, as_path, check_file, whole_file
from bandstrap.engine.simulator.parquet import write_frames
from bandstrap.errors import InvalidInput, brief, requirement
from bandstrap.live.evidence import has_others, range_of, shipped_of
from bandstrap.live.store import damaged

if TYPE_CHECKING:
    import polars
    from polars.datatypes import DataType, DataTypeClass

    from bandstrap.live.experiment import Experiment
    from bandstrap.live.rows import DecisionOutcome, DecisionRow

# Rows that are in memory at once, and rows of a row group of the file.
BATCH = 20_000
# Columns that the other layouts are made from.
USED = ("time", "decision", "action", "reward", "propensity", "weights", "version", "source", "context")


class ExportRow(NamedTuple):
    """A decision and its outcome: a row of the table.

    Attributes
    ----------
    time
        Time of the decision, in seconds since 1970 by the database's clock; a UTC timestamp in the file.
    decision, key, unit
        Id, key and unit of the decision.
    arm, action
        Label and index of the arm served; actions of linear policies have only an index.
    reward
        Reward learned from it; empty while it is open, or if nothing was learned.
    propensity
        Probability with which this arm was served.
    weights
        Probability of every arm, in the order of their indices; 0 for an arm that could not be served. Empty for the
        holdout.
    version
        Number of log entries that the policy had learned.
    source
        Source of the decision: ``policy``; ``holdout`` or ``shadow``, in which the control was served; or ``shipped``, when
        one arm was served to all.
    proposed
        Index of the arm that the policy would have served, in shadow mode.
    settled
        Outcome: ``reward``, ``default``, ``nothing``, ``open``, or ``void`` if its reward was withdrawn.
    learned
        Its place in the log: the first version that includes it.
    rewards, late
        Number of rewards received, and of late ones among them.
    deferred, activated
        True if it counted only once activated, and the time of activation.
    context
        Features of each action for a linear policy; for a contextual policy, one row of numbers, with NaN for missing ones.
    """

    time: float
    decision: str
    key: str
    unit: str | None
    arm: str | None
    action: int
    reward: float | None
    propensity: float
    weights: list[float] | None
    version: int
    source: str
    proposed: int | None
    settled: str
    learned: int | None
    rewards: int
    late: int
    deferred: bool
    activated: float | None
    context: list[list[float]] | None


class ExportMetadata(TypedDict):
    """Metadata of the file, under the key ``bandstrap``, as JSON."""

    experiment: str
    definition: Mapping[str, Json]
    arms: list[str]
    direction: str
    version: int
    final: float  # decisions whose windows were over before this time are final
    range: tuple[float, float] | None  # lowest and highest reward of a decision, where there are
    control: str | int | None  # at the version
    others: bool  # whether there has been a holdout or a shadow mode
    shipped: tuple[str, int] | None  # the arm that is served to all, and since which version


class BanditFeedback(TypedDict):
    """The dictionary that Open Bandit Pipeline calls ``bandit_feedback``."""

    n_rounds: int
    n_actions: int
    context: Floats
    action_context: NDArray[np.int64]
    action: NDArray[np.int64]
    position: NDArray[np.int64]
    reward: Floats
    expected_reward: None
    pi_b: Floats
    pscore: Floats


def export(experiment: Experiment, path: str | Path) -> None:
    """Write the decisions of an experiment as a Parquet file; see :meth:`Experiment.export`."""
    need("Experiment.export", "polars")
    path = as_path(path, "path", "export")
    if path.suffix != ".parquet":  # the name would say of the file that it is something else
        raise requirement("path", "export", "the name of a Parquet file, which ends in .parquet", brief(str(path)))
    version = experiment.refresh()
    final = experiment.store.final_until(experiment.row.id)
    definition, arms = experiment.definition, list(experiment.state.arms)
    records = experiment.store.records(experiment.row.id, definition.settle)
    policy = experiment.state.policy if definition.is_contextual else None
    about: ExportMetadata = {
        "experiment": experiment.name,
        # Without the seed: whoever knows it can find a key that is given the arm of his choice.
        "definition": {name: value for name, value in json.loads(experiment.row.definition).items() if name != "seed"},
        "arms": arms,
        "direction": definition.direction,
        "version": version,
        "final": final,
        "range": range_of(definition, experiment.state.policy),
        "control": experiment.state.settings.control,
        "others": has_others(definition, experiment.store.changes(experiment.row.id)),
        "shipped": shipped_of(experiment.state),
    }
    # A later version may have more arms.
    write_log(path, (row_of(*record, arms, policy) for record in records if record[0].version <= version), about)


def row_of(decision: DecisionRow, outcome: DecisionOutcome, arms: Sequence[str], policy: Any) -> ExportRow:
    """A decision as it is stored, as a row; ``policy`` reads contexts, if it is contextual."""
    try:
        arm = arms[decision.arm] if arms else None
        weights = None if decision.weights is None else parsed(decision.weights)
        context = None if decision.context is None else json.loads(decision.context)
        if policy is not None and context is not None:
            context = [policy.read_context(context, "export").tolist()]
    except (ValueError, TypeError, IndexError):
        raise damaged(decision.id) from None
    return ExportRow(
        time=decision.decided_at,
        decision=decision.id,
        key=decision.key,
        unit=decision.unit,
        arm=arm,
        action=decision.arm,
        reward=None if outcome.is_void else outcome.reward,
        propensity=decision.propensity,
        weights=weights,
        version=decision.version,
        source=decision.source,
        proposed=decision.proposed,
        settled="void" if outcome.is_void else outcome.kind or "open",
        learned=outcome.seq,
        rewards=len(outcome.values) + outcome.late,
        late=outcome.late,
        deferred=decision.deferred,
        activated=outcome.activated_at,
        context=context,
    )


@functools.lru_cache(maxsize=256)
def parsed(weights: str) -> list[float]:
    """Probabilities that are stored with a decision; those of one version are the same list, not to be changed."""
    return list(json.loads(weights))


def columns() -> dict[str, DataType | DataTypeClass]:
    """Names and types of the columns."""
    import polars

    time = polars.Datetime("us", "UTC")
    types: dict[str, DataType | DataTypeClass] = {
        "time": time,
        "action": polars.Int64,
        "reward": polars.Float64,
        "propensity": polars.Float64,
        "weights": polars.List(polars.Float64),
        "version": polars.Int64,
        "proposed": polars.Int64,
        "learned": polars.Int64,
        "rewards": polars.Int64,
        "late": polars.Int64,
        "deferred": polars.Boolean,
        "activated": time,
        "context": polars.List(polars.List(polars.Float64)),
    }
    return {name: types.get(name, polars.String) for name in ExportRow._fields}


def write_log(path: Path, rows: Iterable[ExportRow], about: ExportMetadata) -> None:
    """Write the table, whole or not at all; however many rows there are, few of them are in memory at once."""
    import polars

    check_file(path, "path", "export")
    schema = polars.Schema(columns())

    failures: list[Exception] = []

    def frames() -> Iterator[polars.DataFrame]:
        yield polars.DataFrame(schema=schema)
        try:
            rest = iter(rows)
            while batch := list(itertools.islice(rest, BATCH)):
                yield frame_of(batch, schema)
        except Exception as error:
            failures.append(error)
            raise

    try:
        write_frames(path, frames(), BATCH, {"bandstrap": json.dumps(about)})
    except Exception:
        if failures:  # to read the rows, which is no failure of the file: not as whole_file has it
            raise failures[0] from None
        raise


def frame_of(rows: Sequence[ExportRow], schema: polars.Schema) -> polars.DataFrame:
    """Rows as a frame; the first that no type fits, because its bytes were changed, is refused by name."""
    import polars

    found: dict[str, Any] = dict(zip(ExportRow._fields, map(list, zip(*rows, strict=True)), strict=True))
    try:
        for name in ("time", "activated"):
            found[name] = [None if seconds is None else round(seconds * 1e6) for seconds in found[name]]
        # Each list is converted once, however many rows it is that of.
        lists = {id(weights): weights for weights in found["weights"]}
        place = {key: i for i, key in enumerate(lists)}
        distinct = polars.Series(list(lists.values()), dtype=schema["weights"])
        found["weights"] = distinct.gather([place[id(weights)] for weights in found["weights"]])
        return polars.DataFrame(found, schema=schema)
    except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError):
        if len(rows) == 1:
            raise damaged(rows[0].decision) from None
        for row in rows:
            frame_of([row], schema)
        raise


def read_about(log: Path) -> ExportMetadata:
    """Metadata of an exported file."""
    import polars

    try:
        about: ExportMetadata = json.loads(polars.read_parquet_metadata(log)["bandstrap"])
        if "arms" in about and "direction" in about:
            return about
    except (polars.exceptions.PolarsError, KeyError, ValueError):
        pass
    raise InvalidInput(f"{log} is not a log of decisions that a live experiment exported.")


def usable(rows: polars.LazyFrame) -> polars.DataFrame:
    """Decisions of the policy that have a reward, their own or the default.

    Those who are held out, and those in shadow, got the control for certain: nothing can be learned from them about
    another arm.
    """
    import polars

    return rows.filter(polars.col("source") == "policy", polars.col("reward").is_not_null()).collect()


def open_bandit_feedback(log: str | Path) -> BanditFeedback:
    """Return an exported log in the layout of Open Bandit Pipeline, for off-policy evaluation.

    Rounds are the decisions of the policy that have a reward, in order of time. Open decisions are left out: if no reward
    means a reward of 0, give the experiment a ``default_reward``. Rewards are unchanged, also if less is better.

    Parameters
    ----------
    log
        A file written by :meth:`Experiment.export`.

    Returns
    -------
    dict
        A mapping with the keys of a ``bandit_feedback``. ``n_actions`` counts all arms, past and present. ``pi_b``, of
        shape (n_rounds, n_actions, 1), has the probability of each, 0 if an arm could not be served. An estimate is
        unbiased only for a policy that never serves such an arm: to evaluate an arm added later, use the rounds since then.
        ``context`` has the concatenated features of all actions for a linear policy, the numbers of the context for a
        contextual one, and otherwise a column of ones. ``action_context`` identifies actions; ``position`` is
        0. ``expected_reward`` is not known.

    Examples
    --------
    ``OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=[InverseProbabilityWeighting()])`` of ``obp.ope`` takes
    it as it is.
    """
    import polars

    log = as_path(log, "log", "open_bandit_feedback")
    arms = read_about(log)["arms"]
    frame = usable(polars.scan_parquet(log).select(USED))
    n_rounds = frame.height
    if not n_rounds:
        raise InvalidInput(f"{log} has no decision of the policy with a reward yet.")
    sizes = set(frame["weights"].list.len())
    if not arms and len(sizes) > 1:
        raise InvalidInput(
            f"Open Bandit Pipeline wants the same number of actions in every round, and those of {log} have "
            f"{min(sizes)} to {max(sizes)}."
        )
    n_actions = len(arms) if arms else max(sizes)
    weights = np.zeros((n_rounds, n_actions))
    for size in sizes:  # arms that were added later
        rows = (frame["weights"].list.len() == size).to_numpy()
        weights[rows, :size] = flat(frame["weights"].filter(rows)).reshape(-1, size)
    is_alone = bool(arms) and frame["context"].null_count() > 0
    context = np.ones((n_rounds, 1)) if is_alone else flat(frame["context"].explode()).reshape(n_rounds, -1)
    return {
        "n_rounds": n_rounds,
        "n_actions": n_actions,
        "context": context,
        "action_context": np.eye(n_actions, dtype=np.int64),
        "action": frame["action"].to_numpy().copy(),
        "position": np.zeros(n_rounds, dtype=np.int64),
        "reward": frame["reward"].to_numpy().copy(),
        "expected_reward": None,
        "pi_b": weights[:, :, None],
        "pscore": frame["propensity"].to_numpy().copy(),
    }


def flat(lists: polars.Series) -> Floats:
    """The numbers of lists, one after the other."""
    return np.array(lists.explode().to_numpy())


def write_dsjson(log: str | Path, path: str | Path) -> None:
    """Write an exported log as dsjson, the format of decisions that Vowpal Wabbit reads with ``--dsjson``.

    One line is one decision of the policy that has a reward. Its actions, in ``c._multi``, are the arms that could be
    served, in order of their indices. ``a`` has their numbers in this list, from 1, the served one first, and ``p`` their
    probabilities. ``_label_Action`` is the number of the served arm, ``_labelIndex`` that number less 1, and
    ``_label_probability`` its propensity. ``_label_cost`` is the negated reward, or the reward itself if less is better. An
    arm's only feature is its label; actions of linear policies have their features. The numbers of a context, in
    ``c.context``, belong to all arms; those that are missing are left out.

    Parameters
    ----------
    log
        A file written by :meth:`Experiment.export`.
    path
        The file to write.
    """
    import polars

    log, path = (as_path(each, name, "write_dsjson") for each, name in ((log, "log"), (path, "path")))
    about = read_about(log)
    check_file(path, "path", "write_dsjson")
    rows = polars.scan_parquet(log).select(USED)
    n_rows = rows.select(polars.len()).collect().item()
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        for start in range(0, n_rows, BATCH):
            for row in usable(rows.slice(start, BATCH)).iter_rows(named=True):
                file.write(json.dumps(dsjson(row, about), ensure_ascii=False, separators=(",", ":")) + "\n")


def dsjson(row: Mapping[str, Any], about: ExportMetadata) -> dict[str, Json]:
    """One line of dsjson."""
    time: datetime = row["time"]
    possible = [index for index, weight in enumerate(row["weights"]) if weight > 0]
    served = possible.index(row["action"])
    order = [served, *(place for place in range(len(possible)) if place != served)]
    if about["arms"]:
        actions = [{"_tag": about["arms"][index], "action": {"arm": about["arms"][index]}} for index in possible]
    else:
        actions = [{"action": row["context"][index]} for index in possible]
    shared = {}
    if about["arms"] and row["context"]:
        shared["context"] = {str(i): x for i, x in enumerate(row["context"][0]) if not math.isnan(x)}
    return {
        "_label_cost": row["reward"] if about["direction"] == "min" else 0.0 - row["reward"],  # no minus zero
        "_label_probability": row["propensity"],
        "_label_Action": served + 1,
        "_labelIndex": served,
        "Timestamp": time.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z",
        "Version": "1",
        "EventId": row["decision"],
        "a": [place + 1 for place in order],
        "c": {"_multi": actions, **shared},
        "p": [row["propensity"] if place == served else row["weights"][possible[place]] for place in order],
        "VWState": {"m": str(row["version"])},
    }

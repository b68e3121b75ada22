"""The front doors: an experiment is created once, and opened by any number of workers."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bandstrap.errors import brief, requirement
from bandstrap.live.changes import actor_of, body_of
from bandstrap.live.database import TIMEOUT, Durability
from bandstrap.live.experiment import Experiment
from bandstrap.live.settings import (
    Mode,
    OutOfRange,
    Settings,
    check_duration,
    check_text,
    first_difference,
    make_settings,
)
from bandstrap.live.settle import Aggregate
from bandstrap.live.slow import warn_if_slow
from bandstrap.live.store import Store

if TYPE_CHECKING:
    from bandstrap.policies.online.described import Direction


def create(
    target: str | Path,
    name: str,
    *,
    policy: object,
    arms: Sequence[str] | None = None,
    seed: int | None = None,
    direction: Direction | None = None,
    window: str | float | timedelta | None = None,
    default_reward: float | None = None,
    aggregate: Aggregate = "first",
    draws: int | None = None,
    floor: float = 0.02,
    holdout: float = 0.0,
    control: str | int | None = None,
    burn_in: int | None = None,
    new_arm_share: float | None = None,
    mode: Mode = "live",
    refresh: str | float | timedelta = "1s",
    reward_range: tuple[float, float] | None = None,
    out_of_range: OutOfRange = "refuse",
    durability: Durability = "full",
    timeout: str | float | timedelta = TIMEOUT,
    actor: str | None = None,
) -> Experiment:
    """Create an experiment, or open the one of this name if it was created with the same settings.

    Parameters
    ----------
    target
        A file of SQLite, made if there is none, or a PostgreSQL database (``"postgresql://..."``).
    name
        The experiment's name in that database.
    policy
        A policy as the command line takes it (``"bootstrapped_ucb_plus"``, ``"ucb1:sigma=2"``, ``"own.py:Mine"``), or a
        policy object without arms. A linear policy needs its number of features (``"lin_ucb:dimension=5"``). A policy that
        keeps all rewards, and may become slower with each, gives a ``SlowWarning``.
    arms
        Labels of two or more arms, each a text; left out for linear policies.
    seed
        Seed of all random numbers of the experiment; default: a new one.
    direction
        ``"max"`` (default), or ``"min"`` for rewards that are costs.
    window
        Time in which a reward of a decision counts (``"24h"``, ``"30m"``, seconds); later ones are stored but not learned.
        Default: no limit.
    default_reward
        Reward assumed for a decision that has received none when its window closes; default: none is learned.
    aggregate
        Reward that counts if a decision has several with different keys: the ``"first"`` (default), the ``"last"`` or their
        ``"sum"``. With ``"last"``, ``"sum"`` or a default reward, rewards are learned when the window closes, in the order
        of decisions. Learning on arrival would see successes first. Otherwise they are learned as they arrive.
    draws
        Number of simulated choices for weights without a closed form: 1000 by default, 100 for a linear policy, which has
        new weights for every decision. Propensities are exact for any number.
    floor
        Share of decisions spread evenly over all arms (0.02 by default). So each of ``K`` arms has a propensity of at least
        ``floor/K``, which allows off-policy evaluation.
    holdout
        Share of units that get the control, and from which nothing is learned; 0 by default.
    control
        Arm, or index of the action, for the holdout, and for everybody in shadow mode.
    burn_in
        An arm with fewer rewards than this (20 by default) is new.
    new_arm_share
        Largest share of decisions for a new arm (0.1 by default), once there are others.
    mode
        ``"live"`` (default), or ``"shadow"``: the control is served, and the policy's choice is logged.
    refresh
        Largest age of a worker's state at a decision; ``"1s"`` by default.
    reward_range
        Smallest and largest reward of a decision, ``(low, high)``; by default any finite number that the policy takes. A
        single mistaken reward of 1e150 would dominate everything that follows. If rewards are summed, it limits each of
        them.
    out_of_range
        Treatment of a reward outside ``reward_range``: ``"refuse"`` (default), nothing is stored; or ``"clip"``, the nearer
        end is stored instead.
    durability
        Safety of an SQLite file: ``"full"`` (default) survives a power cut; with ``"normal"`` a power cut may lose the last
        moments, but nothing else.
    timeout
        Time limit of each transaction, including connecting and waiting for other workers; 10 seconds by default. Then
        :class:`bandstrap.live.StoreError` is raised. A call consists of a few transactions. The limit is 60 times as long
        for reports (``status``, ``replay``, ``export``), copies and upgrades of tables.
    actor
        Creator, for the audit trail; default: the user who runs the process.

    Examples
    --------
    >>> import tempfile
    >>> from bandstrap import live
    >>> file = tempfile.mkdtemp() + "/shop.db"
    >>> with live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
    ...     decision = experiment.decide(unit="u17", key="u17")
    ...     print(decision.arm, decision.propensity, experiment.reward(decision.id, 12.5))
    green 0.5 stored
    """
    settings = make_settings(
        policy=policy,
        arms=arms,
        seed=new_seed() if seed is None else seed,
        direction=direction,
        window=window,
        default_reward=default_reward,
        aggregate=aggregate,
        draws=draws,
        floor=floor,
        holdout=holdout,
        control=control,
        burn_in=burn_in,
        new_arm_share=new_arm_share,
        mode=mode,
        refresh=refresh,
        reward_range=reward_range,
        out_of_range=out_of_range,
    )
    name = check_text(name, "name", "live.create")
    who = actor_of(actor, "live.create")
    patience = check_duration(timeout, "timeout", "live.create", positive=True)
    opened = Store.open(target, create=True, durability=durability, timeout=patience)
    row = opened.create_experiment(name, settings.to_json(), who)
    stored = Settings.from_json(row.definition)
    if seed is None:  # any will do
        settings = dataclasses.replace(settings, seed=stored.seed)
    differing = first_difference(stored, settings)
    if differing is not None:
        opened.close()
        value = "the one (not shown)" if differing == "seed" else repr(getattr(stored, differing))
        rule = f"{value}, as stored for the experiment {name!r}; otherwise use another name"
        raise requirement(differing, "live.create", rule, repr(getattr(settings, differing)))
    warn_if_slow(settings)
    return Experiment(opened, row, code=True)  # which the caller has named


def open(  # noqa: A001 - as live.open
    target: str | Path,
    name: str,
    *,
    code: bool = False,
    durability: Durability = "full",
    timeout: str | float | timedelta = TIMEOUT,
) -> Experiment:
    """Open an existing experiment.

    Parameters
    ----------
    target, name
        Database and name, as given to :func:`bandstrap.live.create`; a missing experiment is refused.
    code
        Run the Python file named by the experiment, if its policy is in a file. By default such an experiment is refused,
        because anyone who can write to the database could name any file. :func:`bandstrap.live.create` needs no such
        permission, because its caller names the file.
    durability, timeout
        Author of changes made through the returned experiment, as for :func:`bandstrap.live.create`.

    Examples
    --------
    >>> import tempfile
    >>> from bandstrap import live
    >>> file = tempfile.mkdtemp() + "/shop.db"
    >>> live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    >>> with live.open(file, "checkout") as experiment:
    ...     experiment.decide(unit="u17", key="u17").arm
    'green'
    """
    name = check_text(name, "name", "live.open")
    if not isinstance(code, bool):
        raise requirement("code", "live.open", "True or False", brief(code))
    patience = check_duration(timeout, "timeout", "live.open", positive=True)
    opened = Store.open(target, durability=durability, timeout=patience)
    row = opened.experiment(name)
    if row is None:
        known = opened.experiments()
        opened.close()
        there = f"one of {known[:20]}" if known else "created first: there are none"
        raise requirement("name", "live.open", there, repr(name))
    try:
        return Experiment(opened, row, code=code)
    except BaseException:
        opened.close()
        raise


def names(target: str | Path, *, timeout: str | float | timedelta = TIMEOUT) -> list[str]:
    """Names of the experiments in a database, sorted.

    Examples
    --------
    >>> import tempfile
    >>> from bandstrap import live
    >>> file = tempfile.mkdtemp() + "/shop.db"
    >>> live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    >>> live.names(file)
    ['checkout']
    """
    with Store.open(target, timeout=check_duration(timeout, "timeout", "live.names", positive=True)) as opened:
        return opened.experiments()


class ListedExperiment(NamedTuple):
    """An experiment of a database, and its end, if any.

    Attributes
    ----------
    name
        Its name.
    shipped
        The arm that is served to all.
    is_archived
        True if it is archived and decides no more.
    since
        Time of its end, in seconds since 1970.
    """

    name: str
    shipped: str | None
    is_archived: bool
    since: float | None

    def __str__(self) -> str:
        served = [] if self.shipped is None else [f"{self.shipped!r} is served to all"]
        words = ", ".join(served + ["archived"] * self.is_archived)
        return f"{self.name}: {words}" if words else self.name


def overview(target: str | Path, *, timeout: str | float | timedelta = TIMEOUT) -> list[ListedExperiment]:
    """Experiments of a database, sorted by name, each with its end.

    Examples
    --------
    >>> import tempfile
    >>> from bandstrap import live
    >>> file = tempfile.mkdtemp() + "/shop.db"
    >>> with live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
    ...     _ = experiment.finish(ship="green")
    >>> live.create(file, "search", policy="ucb1", arms=["red", "green"], seed=7).close()
    >>> for each in live.overview(file):
    ...     print(each)
    checkout: 'green' is served to all
    search
    """
    found = []
    with Store.open(target, timeout=check_duration(timeout, "timeout", "live.overview", positive=True)) as opened:
        for name in opened.experiments():
            listed, row = ListedExperiment(name, None, False, None), opened.experiment(name)
            for change in [] if row is None else opened.changes(row.id):
                body = body_of(change)
                if change.kind == "finish":
                    listed = ListedExperiment(name, body["arm"], False, change.at)
                elif change.kind == "archive":
                    listed = listed._replace(is_archived=True, since=change.at)
                elif "mode" in body:
                    listed = ListedExperiment(name, None, False, None)
            found.append(listed)
    return found


def new_seed() -> int:
    """A seed of an experiment for which none was given."""
    return secrets.randbits(62)

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
        policy object without arms. A linear policy is given its number of features (``"lin_ucb:dimension=5"``). One that
        keeps all rewards, and may become slower with each, is told of by a ``SlowWarning``.
    arms
        Labels of two or more arms, each a text; left out for linear policies.
    seed
        What all probabilities of the experiment derive from; by default a fresh one.
    direction
        ``"max"`` (default), or ``"min"`` for rewards that are costs.
    window
        How long rewards of a decision are waited for (``"24h"``, ``"30m"``, seconds); later ones are stored and not
        learned. By default there is no end.
    default_reward
        What is learned of a decision without a reward when its window closes; by default nothing is.
    aggregate
        Which of several rewards with different keys counts: the ``"first"`` (default), the ``"last"`` or their ``"sum"``.
        With the latter two, or a default reward, rewards are learned when the window closes, in the order of decisions:
        learning on arrival would see successes first. Otherwise they are learned as they arrive.
    draws
        How often a policy's own randomness is drawn anew where its weights have no closed form: 1000 times by default,
        100 times with a linear policy, whose every decision has weights of its own. Propensities are exact for any number.
    floor
        The share of decisions that is spread evenly over all arms (0.02 by default), so that each of ``K`` has a propensity
        of at least ``floor/K``, and what another policy would have earned can be estimated.
    holdout
        The share of units that is given the control, and is never learned from; 0 by default.
    control
        The arm, or the index of the action, that the holdout is given, and everybody in shadow mode.
    burn_in
        An arm with fewer rewards than this (20 by default) is new.
    new_arm_share
        What a new arm gets at most (0.1 by default), once there are others.
    mode
        ``"live"`` (default), or ``"shadow"``: the control is served, and what the policy would have served is logged.
    refresh
        How old a worker's state may be at a decision; ``"1s"`` by default.
    reward_range
        Smallest and largest reward of a decision, ``(low, high)``; by default any finite number that the policy takes. One
        reward of 1e150 by mistake would decide everything that follows. Where several are added up, it limits each.
    out_of_range
        What becomes of a reward outside ``reward_range``: ``"refuse"`` (default), nothing is stored; or ``"clip"``, the
        nearer end is stored in its place.
    durability
        Of SQLite: ``"full"`` (default) survives a power cut; with ``"normal"`` one may cost the last moments, and nothing
        else.
    timeout
        How long each transaction with the database may take, connecting and waiting for other workers included; 10 seconds
        by default. Then :class:`bandstrap.live.StoreError` is raised. A call is a few transactions. Those of reports
        (``status``, ``replay``, ``export``), copies and upgrades of tables may take 60 times as long.
    actor
        Who creates it, for the audit trail; by default the user who runs the process.

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
        rule = f"{value}, with which the experiment {name!r} was created, or the name another"
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
    """Open an experiment that was created.

    Parameters
    ----------
    target, name
        As :func:`bandstrap.live.create` was given them; an experiment that is not there is refused.
    code
        Allow the file of Python to be run that the experiment names, if its policy is in a file. By default such an
        experiment is refused: whoever can write to the database could name any file. :func:`bandstrap.live.create` needs no
        such word, because its caller names the file.
    durability, timeout
        As for :func:`bandstrap.live.create`, of what is done through the experiment that is given back.

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
    """An experiment of a database, and how it ended, if it did.

    Attributes
    ----------
    name
        Its name.
    shipped
        The arm that is served to all.
    is_archived
        Whether it decides no more.
    since
        When that was said, in seconds since 1970.
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
    """Experiments of a database, sorted by name, each with how it ended.

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

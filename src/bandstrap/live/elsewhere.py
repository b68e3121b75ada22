"""Decisions made elsewhere: the weights of a version, as they are handed out, and what was decided from them.

Whoever has the weights decides as :meth:`bandstrap.live.fold.LiveState.choose` does: 53 bits of a hash of the key say which
arm's piece of the line is hit. What he reports later is made again from the log up to that version; only if it gives the
same arm is it stored, with the exact propensity.
"""

from __future__ import annotations

import functools
import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from bandstrap.errors import InvalidInput, brief, requirement
from bandstrap.live import fold
from bandstrap.live.erasure import is_erased
from bandstrap.live.experiment import Decision, Experiment
from bandstrap.live.rows import DecisionRow
from bandstrap.live.settings import Settings, check_text
from bandstrap.live.weights import WHOLE, decision_id, encoded

OWNER = "import"
# States of earlier versions that are remembered.
MOST_STATES = 8


class DecisionElsewhere(NamedTuple):
    """A decision that was made from the weights of a version."""

    key: str
    unit: str | None
    arm: str
    version: int


def published_weights(experiment: Experiment) -> dict[str, Any]:
    """The weights now, with all that it takes to decide from them.

    ``salt`` is what the hash begins with, and holds the experiment's seed: whoever knows it can tell which key gets which
    arm. ``ends`` are whole numbers up to ``2^53``, which every language's floats hold exactly.
    """
    with experiment._lock:
        state = experiment._current()
        check_weights(state.settings)
        if state.is_archived:
            raise InvalidInput(f"The experiment {experiment.name!r} is archived, and decides no more.")
        settings, chances = state.settings, state.chances(state.active())
        pieces = [(state.arms[arm], chances.ends[arm], chances.widths[arm]) for arm in state.active()]
        if state.shipped is not None:
            pieces = [(state.shipped, WHOLE, 1.0)]
        arms, ends, widths = zip(*pieces, strict=True)
        return {
            "experiment": experiment.name,
            "version": state.version,
            "mode": state.mode,
            "arms": arms,
            "ends": ends,
            "weights": widths,
            "holdout": settings.holdout,
            "control": settings.control,
            "salt": encoded(settings.seed, experiment.name).decode(),
        }


def check_weights(settings: Settings) -> None:
    """Refuse where there are no weights to decide from; an import could not be learned of, without its context."""
    if settings.has_context:
        what = "actions" if settings.is_linear else "context"
        raise InvalidInput(f"A policy of this kind publishes no weights: they depend on the {what} of each decision.")


def void_all(experiment: Experiment, decisions: Sequence[str], actor: str) -> None:
    """Void decisions in one go: after each by itself the log might be read from its start."""

    def appended() -> bool:
        state = experiment._catch_up(wait=True)
        version: int | None = state.version
        for id_ in decisions:
            if id_ not in state.voided and version is not None:
                body = json.dumps({"decision": id_})
                version = experiment.store.append_change(experiment.row.id, "void", body, actor, version, voided=id_)
        return version is not None  # otherwise another change came between

    with experiment._lock:
        while not experiment._on_this_log(appended):
            pass
        experiment._catch_up(wait=True)


class Importer:
    """Stores decisions made elsewhere in an experiment, and remembers states of a few versions."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self._states: OrderedDict[tuple[str, int], fold.LiveState] = OrderedDict()

    def add(self, decisions: Sequence[DecisionElsewhere]) -> list[Decision | InvalidInput]:
        """Store decisions, and give each as it is stored; a refusal in the place of one that the weights do not give."""
        check_weights(self.experiment.definition)
        answers: dict[int, Decision | InvalidInput] = {}
        by_version: dict[int, list[int]] = {}
        for place, decision in enumerate(decisions):
            by_version.setdefault(decision.version, []).append(place)
        with self.experiment._lock:
            for version, places in sorted(by_version.items()):
                given = [decisions[place] for place in places]
                found = self.experiment._on_this_log(functools.partial(self._add, version, given))
                answers |= zip(places, found, strict=True)
        return [answers[place] for place in range(len(decisions))]

    def _add(self, version: int, decisions: Sequence[DecisionElsewhere]) -> list[Decision | InvalidInput]:
        """Store decisions of one version in one transaction."""
        experiment = self.experiment
        try:
            state = self._state(version)
        except InvalidInput as refusal:
            return [refusal] * len(decisions)
        planned: dict[int, DecisionRow] = {}
        answers: dict[int, Decision | InvalidInput] = {}
        for place, (key, unit, arm, _) in enumerate(decisions):
            try:
                check_text(key, "key", OWNER)
                row = experiment._plan(
                    state, decision_id(experiment.name, key),
                    None if unit is None else check_text(unit, "unit", OWNER), key, None, None, False,
                    experiment.build.id, OWNER,
                )  # fmt: skip
                if state.named(row.arm) != arm:
                    rule = f"{state.named(row.arm)!r}, which version {version} gives to this key"
                    raise requirement("arm", OWNER, rule, brief(arm))
                planned[place] = row
            except InvalidInput as refusal:
                answers[place] = refusal
        rows = list(planned.values())
        stored = experiment.store.add_decisions(experiment.row.id, rows, experiment.definition.settle, state.link)
        for place, found in zip(planned, stored, strict=True):
            is_same_unit = found.unit == planned[place].unit or is_erased(found)
            if (found.arm, found.version) == (planned[place].arm, version) and is_same_unit:
                answers[place] = experiment._shown(found)
            else:
                rule = "one under which no other decision is stored"
                answers[place] = requirement("key", OWNER, rule, brief(decisions[place].key))
        return [answers[place] for place in range(len(decisions))]

    def _state(self, version: int) -> fold.LiveState:
        """The state after so many entries of the log."""
        experiment = self.experiment
        current = experiment._current()
        if version > current.version:
            current = experiment._catch_up()
        if version == current.version:
            return current
        if not 0 <= version < current.version:
            rule = f"that of published weights: at most {current.version}"
            raise requirement("version", OWNER, rule, version)
        row = experiment.row
        name = (row.identity, version)
        links = [entry.link for entry in experiment.store.entries(row.id, version - 1, 1)] if version else [0]
        if name not in self._states or [self._states[name].link] != links:  # the log may have been restored since
            state = fold.restore(experiment.store, row.id, experiment.definition, experiment.build.id, version)
            fold.catch_up(state, experiment.store, row.id, version)
            self._states[name] = state
            if len(self._states) > MOST_STATES:
                self._states.popitem(last=False)
        self._states.move_to_end(name)
        return self._states[name]

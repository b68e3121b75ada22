"""Verdicts: they follow the rules, and never contradict the intervals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.errors import InvalidInput
from bandstrap.evidence import Contrasts, verdict
from bandstrap.evidence.betting import log_threshold
from naive import evidence as naive


def played(means, n, seed=0, weights=None, state=None):
    """Contrasts of a log with these mean rewards."""
    rng = np.random.default_rng(seed)
    weights = np.full(len(means), 1 / len(means)) if weights is None else np.asarray(weights)
    arms = rng.choice(len(means), n, p=weights)
    state = Contrasts(len(means)) if state is None else state
    state.update(arms, rng.random(n) < np.array(means)[arms], weights)
    return state


@settings(max_examples=80, deadline=None)
@given(
    means=st.lists(st.sampled_from([0.05, 0.1, 0.12, 0.3, 0.6]), min_size=2, max_size=5),
    n=st.sampled_from([0, 1, 30, 300, 3000]),
    later=st.booleans(),
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.05, 0.3]),
    epsilon=st.sampled_from([None, 0.02, 0.2, 1.0]),
    has_control=st.booleans(),
    healthy=st.sampled_from([True, True, True, False]),
)
def test_verdict_possible_winners_and_intervals_never_contradict_each_other(
    means, n, later, seed, alpha, epsilon, has_control, healthy
):
    state = played(means, n, seed)
    if later:  # the order of the arms turns over, and one pauses
        away = np.full(len(means), 1 / (len(means) - 1))
        away[0] = 0
        played(means[::-1], n, seed + 1, away if len(means) > 2 else None, state)
    control = 0 if has_control else None
    found = verdict(state, alpha, control=control, epsilon=epsilon, healthy=healthy)
    intervals, names = found.intervals, state.labels
    others = list(itertools.permutations(names, 2))
    for b, a in others:
        if intervals[b, a].lower > 0:
            assert a not in found.possible
        assert not (intervals[b, a].lower > 0 and intervals[a, b].lower > 0)
    with np.errstate(over="ignore"):
        evidence = np.exp(intervals.log_evidence).tolist()
    winners = naive.possible_winners(evidence, 2 * (len(means) - 1) / alpha)
    assert found.possible == tuple(names[k] for k in winners)
    for b in found.harmful:
        assert intervals["0", b].lower >= 0
        assert b not in found.possible
    if found.word in ("ship", "equivalent"):
        assert found.arm in found.possible
        for a in set(names) - {found.arm}:
            assert intervals[found.arm, a].upper >= 0
            assert found.word == "ship" or intervals[found.arm, a].lower >= -epsilon
    else:
        assert found.arm is None
    assert (found.word == "ship") <= (len(found.possible) == 1)
    assert (found.word == "harm") <= bool(found.harmful)
    assert (found.word == "unhealthy") == (not healthy)
    if healthy and len(found.possible) == 1:
        assert found.word == ("harm" if found.possible[0] == "0" and found.harmful else "ship")
    assert found.sentence.endswith(".")


def test_each_word():
    better = played([0.1, 0.3], 2000)
    found = verdict(better, control="0")
    assert (found.word, found.arm, found.possible, found.harmful) == ("ship", "1", ("1",), ())
    assert found.sentence == "'1' may be shipped: every other arm is ruled out."
    worse = verdict(better, control="1")
    assert (worse.word, worse.arm, worse.possible, worse.harmful) == ("harm", None, ("1",), ("0",))
    assert worse.sentence == "Harm: '0' is worse than '1'."
    assert verdict(better, healthy=False).word == "unhealthy"
    equal = played([0.1, 0.1], 20_000)
    assert verdict(equal).word == "open"
    same = verdict(equal, epsilon=0.03, control="1")
    assert (same.word, same.arm) == ("equivalent", "1")
    assert "no other arm is better by more than 0.03" in same.sentence
    assert verdict(equal, epsilon=1e-6).word == "open"
    assert verdict(Contrasts(3)).sentence == "Open: each arm may still be the best."
    some = verdict(played([0.1, 0.5, 0.5], 2000))
    assert some.possible == ("1", "2")
    assert some.sentence == "Open: the best is one of '1', '2'."


def test_a_winner_that_is_worse_now_is_withheld():
    state = played([0.1, 0.4], 4000)
    recent = played([0.4, 0.1], 600, seed=1)
    assert verdict(state.merge(recent)).word == "ship"
    found = verdict(state.merge(recent), recent=recent)
    assert (found.word, found.arm) == ("open", None)
    assert found.sentence == "Open: '1' is best on average, but '0' is better now."
    assert verdict(state.merge(recent), recent=played([0.1, 0.1], 600)).word == "ship"


def test_harm_is_told_where_the_winner_is_withheld():
    state = played([0.3, 0.5, 0.1], 20_000)
    recent = played([0.6, 0.3, 0.1], 2000, seed=1)
    found = verdict(state.merge(recent), control="0", recent=recent)
    assert (found.word, found.arm, found.possible, found.harmful) == ("harm", None, ("1",), ("2",))
    assert verdict(state.merge(recent), control="0").word == "ship"
    assert verdict(state.merge(recent), recent=recent).word == "open"


def test_arms_that_beat_each_other_in_turn_leave_nobody():
    state = Contrasts(3)
    for better, worse, seed in ((0, 1, 1), (1, 2, 2), (2, 0, 3)):
        weights, means = np.zeros(3), np.zeros(3)
        weights[[better, worse]] = 0.5
        means[better] = 0.9
        played(means, 400, seed, weights, state)
    found = verdict(state)
    assert (found.word, found.possible) == ("open", ())
    assert found.sentence == "Open: effects changed, and no arm was the best all the time."
    assert found.remaining is None  # and not the few until "one arm left", which nobody is


def test_forecasts_of_the_end_are_of_the_right_size():
    """The median of forecasts after 2,000 decisions, for arms of .1 and .15 that stop after about 3,500."""
    forecasts = [verdict(played([0.1, 0.14], 2000, seed)).remaining for seed in range(40)]
    ends = []
    for seed in range(40):
        state, rng = Contrasts(2), np.random.default_rng([5, seed])
        while verdict(state).word == "open" and state.n_decisions < 40_000:
            arms = rng.integers(2, size=250)
            state.update(arms, rng.random(250) < np.array([0.1, 0.14])[arms], [0.5, 0.5])
        ends.append(state.n_decisions)
    known = [2000 + each for each in forecasts if each is not None]
    assert len(known) > 20
    assert 0.4 < np.median(known) / np.median(ends) < 2.5
    assert verdict(Contrasts(2)).remaining is None


def test_thresholds_and_refusals():
    assert log_threshold(0.05) == math.log(40)
    assert log_threshold(0.05, 4) == math.log(160)
    state = Contrasts(2)
    for options in (
        {"control": "red"},
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"recent": Contrasts(3)},
        {"recent": 1},
        {"alpha": 2},
    ):
        with pytest.raises(InvalidInput, match=next(iter(options))):
            verdict(state, **options)
    with pytest.raises(InvalidInput, match="'state'"):
        verdict(None)

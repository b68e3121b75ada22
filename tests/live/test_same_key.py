"""A stored decision is given back under its key, whatever would be refused or decided otherwise by now."""

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from live.checkout import make
from live.workers import rows_of

# What happens after all arms were served, and labels that can be served then: none that the policy may serve.
SINCE = {
    "paused": (lambda e: [e.pause(arm) for arm in ("red", "green")], ["red", "green"]),
    "retired": (lambda e: [e.retire(arm) for arm in ("red", "green")], ["red", "green"]),
    "held out": (lambda e: e.change(holdout=0.5, control="blue"), ["red", "green"]),
    "shadow": (lambda e: e.change(mode="shadow", control="blue"), ["red", "green"]),
    "none available": (lambda e: None, []),
}


@pytest.mark.parametrize("since", SINCE)
def test_the_same_key_gives_the_stored_decision_whatever_was_changed_since(either, since):
    change, available = SINCE[since]
    keys = [f"u{i}" for i in range(20)]
    with make(either) as experiment, live.open(either, "checkout") as other:
        first = experiment.decide_many(keys, keys=keys)
        assert {decision.arm for decision in first} == {"red", "green", "blue"}
        change(experiment)
        for worker in (experiment, other):
            worker.refresh()
            for limits in ({}, {"available": available}):
                assert worker.decide_many(keys, keys=keys, **limits) == first
                assert worker.decide_many(keys=keys[::-1] + keys[:3], **limits) == first[::-1] + first[:3]
                assert [worker.decide(key=key, **limits) for key in keys[:5]] == first[:5]
            for call in (
                lambda: worker.decide(key="new", available=available),  # noqa: B023 - at once
                lambda: worker.decide(available=available),  # noqa: B023
                lambda: worker.decide_many(keys=["u1", "new"], available=available),  # noqa: B023
            ):
                with pytest.raises(InvalidInput, match="'available' parameter of decide"):
                    call()
        assert len(rows_of(either, "live_decision")) == 20
        new = experiment.decide_many(keys=["u3", "new", "u4"])
        assert (new[0], new[2]) == (first[3], first[4])
        assert experiment.replay().is_identical


def test_the_same_key_of_actions_after_a_holdout_was_set(either):
    """Whose control is an action that there was not."""
    with make(either, policy="lin_ucb:dimension=2", arms=None, burn_in=None) as experiment:
        actions = [[1.0, 0.0], [0.0, 1.0]]
        first = experiment.decide("u", key="k", actions=actions)
        experiment.change(holdout=0.5, control=2)
        assert experiment.decide("u", key="k", actions=actions) == first
        with pytest.raises(
            InvalidInput, match="'actions' parameter of decide must be such that the control 2 is there"
        ):
            experiment.decide("u", key="other", actions=actions)
        assert experiment.replay().is_identical

"""The checker of histories finds each kind of fault that is put into a sound history, and nothing in the sound one."""

import copy
import math

import pytest

from live.history import Call, Stored, judge


def told(key, version=0, arm="a"):
    return {"id": f"id {key}", "key": key, "arm": arm, "propensity": 0.5, "version": version, "source": "policy"}


def row(key, version=0):
    return told(key, version) | {"arm": 0, "deferred": False}


def call(worker, second, method, result, **arguments):
    """A call that took from a second to the middle of it."""
    return Call(worker, method, arguments, result, second, math.inf if result is None else second + 0.5)


def sound():
    """Two workers: decisions, a reward that both send, an activation, a change, refreshes; the last call has no answer."""
    history = [
        call("ann", 1, "decide", [told("k1")], key="k1"),
        call("bob", 2, "decide_many", [told("k1"), told("k2")], keys=["k1", "k2"]),
        call("ann", 3, "reward_many", ["stored"], rewards=[["id k1", 0.3, None]]),
        call("bob", 4, "reward_many", ["duplicate"], rewards=[["id k1", 0.7, None]]),
        call("ann", 5, "activate", True, decision="id k2"),
        call("ann", 6, "pause", "done", arm="b", actor="ann 6"),
        call("bob", 7, "pause", {"refused": "it is paused"}, arm="b", actor="bob 7"),
        call("ann", 8, "refresh", 2),
        call("bob", 9, "refresh", 2),
        call("ann", 10, "decide", [told("k3", 2)], key="k3"),
        call("ann", 11, "decide", None, key="k4"),
    ]
    stored = Stored(
        decisions=[row("k1"), row("k2") | {"deferred": True}, row("k3", 2), row("k4", 2)],
        activations=["id k2"],
        rewards=[{"decision": "id k1", "key": "", "value": 0.3, "late": 0}],
        learned=[{"seq": 1, "decision": "id k1"}, {"seq": 2, "decision": None}],
        changes=[{"actor": "ann 6"}],
        arms=["a", "b"],
    )
    return history, stored


def answered(place, result):
    """A fault: another answer."""

    def fault(history, stored):
        history[place] = history[place]._replace(result=result)

    return fault


FAULTS = {
    "a decision that is gone": ("lost", lambda history, stored: stored.decisions.pop(1)),
    "a reward that is gone": ("lost", lambda history, stored: stored.rewards.clear()),
    "an activation that is gone": ("lost", lambda history, stored: stored.activations.clear()),
    "a change that is gone": ("lost", lambda history, stored: stored.changes.clear()),
    "an id twice": ("doubled", lambda history, stored: stored.decisions.append(row("k1") | {"key": "k4"})),
    "a key twice": ("doubled", lambda history, stored: stored.decisions.append(row("k1") | {"id": "other"})),
    "a reward twice": ("doubled", lambda history, stored: stored.rewards.append(stored.rewards[0])),
    "a reward that two were told is new": ("doubled", answered(3, ["stored"])),
    "an activation that was the first twice": (
        "doubled",
        lambda history, stored: history.append(call("bob", 12, "activate", True, decision="id k2")),
    ),
    "a change twice": ("doubled", lambda history, stored: stored.changes.append({"actor": "ann 6"})),
    "a decision that is learned twice": (
        "doubled",
        lambda history, stored: stored.learned.append({"seq": 3, "decision": "id k1"}),
    ),
    "two answers to one key": ("wrong", answered(1, [told("k1", arm="b"), told("k2")])),
    "an answer that is not what is stored": ("wrong", answered(9, [told("k3", 2, "b")])),
    "a reward that nobody stored": ("wrong", answered(2, ["duplicate"])),
    "a reward of another value": ("wrong", lambda history, stored: stored.rewards[0].update(value=0.7)),
    "a late reward that was told as stored": ("wrong", lambda history, stored: stored.rewards[0].update(late=1)),
    "a decision that nobody asked for": ("wrong", lambda history, stored: stored.decisions.append(row("k9"))),
    "a change that nobody made": ("wrong", lambda history, stored: stored.changes.append({"actor": "eve"})),
    "a gap in the log": ("wrong", lambda history, stored: stored.learned.pop(0)),
    "a decision that goes back": (
        "wrong",
        lambda history, stored: (answered(9, [told("k3", 1)])(history, stored), stored.decisions[2].update(version=1)),
    ),
    "a refresh that goes back": ("wrong", answered(8, 1)),
}


def test_a_sound_history_is_sound():
    findings = judge(*sound())
    assert findings.is_sound, str(findings)
    assert findings.acknowledged == 8
    assert findings.given_up == 0
    history, stored = sound()
    stored.decisions.pop()  # of the call without an answer: both are right
    assert judge(history, stored).is_sound


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found(name):
    kind, fault = FAULTS[name]
    history, stored = copy.deepcopy(sound())
    fault(history, stored)
    findings = judge(history, stored)
    assert getattr(findings, kind), str(findings)


def test_what_a_server_gives_up_is_an_end_of_the_history():
    """A failure at 6.8: what was acknowledged last before it may be gone, and nothing else."""
    history, stored = sound()
    stored.changes.clear()
    stored.learned.pop()
    del stored.decisions[2:]
    findings = judge(history[:7], stored, failures=[6.8])
    assert (findings.is_sound, findings.given_up) == (True, 1)
    stored.activations.clear()
    assert judge(history[:7], stored, failures=[6.8]).given_up == 2
    stored.decisions.pop(0)  # the first call, and later ones have survived
    assert len(judge(history[:7], stored, failures=[6.8]).lost) == 2  # both were told
    history, stored = sound()
    stored.changes.clear()
    assert judge(history, stored, failures=[2.8]).lost  # after the failure nothing may be given up
    # What a call found there already says nothing of the end: the reward of second 3 survived, and was found at 4.
    history, stored = sound()
    given_up = call("ann", 3.2, "decide", [told("k5")], key="k5")
    findings = judge([*history[:3], given_up, history[3]], stored, failures=[4.6])
    assert (findings.lost, findings.given_up) == ([], 1)
    # A call during which the server failed may have been answered by either server.
    history[9] = history[9]._replace(began=8.8)
    stored.decisions.pop(2)
    findings = judge(history[:10], stored, failures=[9.8])
    assert (findings.lost, findings.given_up) == ([], 1)
    # A reward that was given up is stored when it is sent again.
    history, stored = sound()
    history[3] = history[3]._replace(result=["stored"])
    stored.rewards[0].update(value=0.7)
    findings = judge(history, stored, failures=[3.8])
    assert (findings.is_sound, findings.given_up) == (True, 1)

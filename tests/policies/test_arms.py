"""Arms come and go: one that is added is as if it had been there from the start, one that is retired as if it had gone."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from bandstrap import UCB1, BootstrappedTS, Policy
from bandstrap.engine.compiler.refusals import PolicyFailure
from bandstrap.errors import InvalidInput
from contract.test_policies import (
    CASES,
    either_policy,
    every_case_either_way,
    every_case_that_learns_of_each_arm_alone,
    ident,
    make,
    make_tape,
    play_online,
    same_states,
)
from policies.own_policies import Failing, Sorted
from policies.test_available import known
from policies.test_journal import spread, steps_of
from sampling import each, either_way, telling

N_ARMS = 4


def events(size=70, seed=4):
    """Arms and rewards; the last arm comes in the middle."""
    rng = np.random.default_rng(seed)
    tape = make_tape(N_ARMS, size, seed)
    first = [*range(N_ARMS - 1)] * 4 + rng.integers(0, N_ARMS - 1, size // 2).tolist()
    then = [N_ARMS - 1] * 4 + rng.integers(0, N_ARMS, size // 2).tolist()
    return [[(arm, float(tape[arm, i])) for i, arm in enumerate(arms)] for arms in (first, then)]


def tell(policy, observed, start=0):
    """Have it learn, each time with a generator of the event's own."""
    for i, (arm, reward) in enumerate(observed, start):
        policy.rng = np.random.default_rng([1, i])
        policy.update(arm, reward)


# --- add_arm ------------------------------------------------------------------------------------------------------------


@every_case_that_learns_of_each_arm_alone
def test_an_arm_that_is_added_is_as_if_it_had_always_been_there(case, compiled):
    before, after = events()
    grown = make(case, arms=N_ARMS - 1, rng=7, compiled=compiled)
    always = make(case, arms=N_ARMS, rng=7, compiled=compiled)
    drawn = getattr(grown, "prior", "") == "drawn"  # what is drawn for an arm at its start is given to both
    if drawn:
        for row in ("sums", "totals"):
            for arm in range(N_ARMS - 1):
                getattr(always._state, row)[arm][:] = getattr(grown._state, row)[arm]
    tell(grown, before)
    grown.rng = np.random.default_rng(9)
    grown.add_arm(N_ARMS - 1)
    if drawn:
        assert grown._state.sums[-1][0] != grown.ones
        for row in ("sums", "totals"):
            getattr(always._state, row)[-1][:] = getattr(grown._state, row)[-1]
    always._state.order[:] = grown._state.order
    tell(always, before)
    assert grown.arms == always.arms
    assert same_states(grown._state, always._state)
    tell(grown, after, len(before))
    tell(always, after, len(before))
    assert same_states(grown._state, always._state)
    assert (grown.n_rewards, grown._counts, grown._means) == (always.n_rewards, always._counts, always._means)
    rewards = make_tape(N_ARMS, 60, 6)
    for policy in (grown, always):
        policy.rng = np.random.default_rng(3)
    assert play_online(grown, rewards, 40) == play_online(always, rewards, 40)
    assert same_states(grown._state, always._state)


@each("case", [case for case in CASES if case[0] not in ("subsample_duels", "rds", "tsallis_inf")], ids=ident)
def test_choices_made_before_do_not_matter(case):
    """What was worked out when there were fewer arms does not serve for more.

    Rounds of duels that are under way go on, and TsallisINF divides losses by the probabilities of its draws.
    """
    before, after = events(seed=5)
    policies = [make(case, arms=N_ARMS - 1, rng=7) for _ in range(2)]
    for i, policy in enumerate(policies):
        tell(policy, before)
        for _ in range(3 * i):
            policy.select()
        policy.rng = np.random.default_rng(9)
        policy.add_arm(N_ARMS - 1)
        tell(policy, after, len(before))
    for seed in range(5):
        chosen = set()
        for policy in policies:
            policy.rng = np.random.default_rng(seed)
            chosen.add(policy.copy().select())
        assert len(chosen) == 1


def test_the_place_of_a_new_arm_among_ties_is_drawn():
    """Each of four places as likely; a fair draw fails once in a million, one of three places only would for certain."""
    places = []
    for seed in range(600):
        policy = UCB1(arms=3, rng=seed)
        order = list(policy._state.order)
        policy.add_arm(3)
        places.append(list(policy._state.order).index(3))
        assert [arm for arm in policy._state.order if arm != 3] == order
    assert stats.chisquare(np.bincount(places, minlength=4)).pvalue > 1e-6


def test_prior_data_of_a_new_arm_are_drawn_where_they_are_random():
    policy = BootstrappedTS(arms=2, prior="drawn", n_replicates=400, rng=0)
    old = [list(row) for row in policy._state.sums]
    policy.add_arm("new")
    assert [list(row) for row in policy._state.sums[:2]] == old
    means = np.array(policy._state.sums[2]) / np.array(policy._state.totals[2])
    assert stats.kstest(means, stats.beta(1, 1).cdf).pvalue > 1e-6


def test_rows_of_ones_own_state_grow_too():
    policy = Sorted(arms=["a", "b"], rng=0)
    policy.update(["a"] * 20 + ["b"], [float(i) for i in range(21)])  # more than the first room
    policy.add_arm("c")
    policy.update(["c"] * 20, [50.0 - i for i in range(20)])
    assert policy._state.history[0][:20].tolist() == list(range(20))
    assert policy._state.history[2][:20].tolist() == [31.0 + i for i in range(20)]
    assert policy.select() == "c"


def test_an_update_that_fails_after_an_arm_was_added_is_taken_back():
    policy = Failing(arms=["a", "b"], rng=0)
    policy.update(["a", "b"], [0.5, 0.25])
    policy.add_arm("c")
    policy.update("c", 0.5)
    before = known(policy)
    with pytest.raises(PolicyFailure, match=r"Got a division by zero for arm c in round 6 instead"):
        policy.update(["b", "c", "c"], [0.5, 0.25, 0.75])
    assert known(policy) == before


@either_policy
@each(
    ("label", "message"),
    [
        (
            "a",
            r"'label' parameter of \w+\.add_arm must be a label that no arm has had, including retired arms. Got 'a'",
        ),
        ("b", r"'label'.*must be a label that no arm has had, including retired arms. Got 'b'"),
        (["c"], r"'label'.*must be hashable. Got \['c'\]"),
    ],
)
def test_a_label_that_cannot_be_is_refused_with_nothing_changed(name, label, message):
    policy = make((name, {}), arms=["a", "b", "c"], rng=0)
    policy.update(["a", "b"], [0.5, 0.25])
    policy.retire("b")
    before = known(policy)
    with pytest.raises(InvalidInput, match=message):
        policy.add_arm(label)
    assert known(policy) == before


@each("case", [("ucb1", {}), ("bootstrapped_ts", {"n_replicates": 20}), ("giro", {})], ids=str)
@telling("compiled", [False, True], [False])
def test_an_arm_is_there_or_it_is_not_when_a_call_is_interrupted(case, compiled):
    start = make(case, arms=3, rng=2, compiled=compiled)
    tell(start, events()[0][:20])
    before, after = start.copy(), start.copy()
    n_steps = steps_of(lambda: after.add_arm("new"))
    found = []
    for at in spread(n_steps):
        policy = start.copy()
        steps_of(lambda policy=policy: policy.add_arm("new"), [at])
        policy._settle()
        found.append(policy.arms == after.arms)
        assert known(policy) == known(after if found[-1] else before), at
    assert not found[0]


@pytest.mark.parametrize("compiled", [False, True])
def test_threads_may_add_arms_while_others_play(compiled):
    policy = make(("ucb1", {}), arms=2, rng=0, compiled=compiled)

    def play(i):
        if i % 10 == 0:
            policy.add_arm(f"new {i}")
        arm = policy.select()
        policy.update(arm, 0.5)
        return policy.weights()

    with ThreadPoolExecutor(4) as pool:
        for weights in pool.map(play, range(80)):
            assert math.isclose(sum(weights.values()), 1.0)
    assert len(policy.arms) == 10
    assert sum(policy._state.pulls) == policy.n_rewards == 80


class Label:
    """A label that is equal to itself alone."""


def test_a_copy_has_the_labels_themselves():
    labels = [Label(), (Label(), 1)]
    policy = UCB1(arms=labels, rng=0)
    policy.add_arm(new := Label())
    policy.retire(labels[0])
    twin = policy.copy()
    assert (twin.arms, twin.retired) == (policy.arms, policy.retired) == ((*labels, new), (labels[0],))
    twin.update([*labels, new], [0.25, 0.5, 0.75])
    assert twin.select() in (labels[1], new)
    assert policy.n_rewards == 0


# --- retire -------------------------------------------------------------------------------------------------------------


@every_case_either_way
def test_an_arm_that_is_retired_is_as_if_it_were_never_available(case, compiled):
    before, after = events()
    masked = make(case, arms=N_ARMS, rng=7, compiled=compiled)
    tell(masked, before + after)
    retired = masked.copy()
    retired.retire(2)
    assert retired.retired == (2,)
    rest = [0, 1, 3]
    for i in range(12):
        expected = masked.weights(10, available=rest, rng=i)
        assert retired.weights(10, rng=i) == {arm: expected[arm] for arm in rest}
        arm = retired.select()
        assert masked.select(available=rest) == arm
        assert retired.select(available=[3, 0]) == masked.select(available=[0, 3])
        for policy in (retired, masked):
            policy.update([arm, 2], [0.5, 0.25 + i / 64])  # a late reward is taken in
    assert same_states(retired._state, masked._state)


@either_policy
def test_what_cannot_be_retired_is_refused_with_nothing_changed(name):
    policy = make((name, {}), arms=["a", "b", "c"], rng=0)
    policy.update(["a", "b"], [0.5, 0.25])
    policy.retire("b")
    before = known(policy)
    for label, message in (
        ("b", r"'label' parameter of \w+\.retire must be an arm that is not retired. Got 'b'"),
        ("z", r"'label'.*must be one of \['a', 'b', 'c'\]. Got 'z'"),
        ([1], r"'label'.*must be one of.*Got \[1\]"),
    ):
        with pytest.raises(InvalidInput, match=message):
            policy.retire(label)
    with pytest.raises(InvalidInput, match=r"'available'.*made of labels of arms that are not retired. Got 'b'"):
        policy.select(available=["a", "b"])
    assert known(policy) == before
    policy.retire("a")
    with pytest.raises(InvalidInput, match=r"an arm other than the last one not retired. Got 'c'"):
        policy.retire("c")
    assert policy.select() == "c"
    assert policy.weights() == {"c": 1.0}


def test_a_refusal_shows_the_first_of_many_labels_and_that_there_are_more():
    for n_arms, shown in ((20, r"18, 19\]"), (21, r"18, 19, \.\.\.\]")):
        with pytest.raises(InvalidInput, match=rf"must be one of \[0, 1, .*, {shown}\. Got 'z' instead"):
            UCB1(arms=n_arms, rng=0).update("z", 0.5)


def test_an_arm_that_lacks_rewards_is_waited_for_no_longer_once_it_is_retired():
    policy = UCB1(arms=["a", "b", "c"], rng=0)
    policy.update(["a", "b"], [0.5, 0.25])
    assert policy.select() == "c"
    policy.retire("c")
    assert {policy.select() for _ in range(9)} == {"a"}  # without a reward in between, one index stays the highest


def test_without_arms_none_come_or_go():
    for act in (lambda: UCB1().add_arm("a"), lambda: UCB1().retire("a")):
        with pytest.raises(InvalidInput, match=r"given to call \w+\(\)"):
            act()


# --- first turns --------------------------------------------------------------------------------------------------------


def attempts(n_initial, until):
    """When an arm that lacks rewards is handed out: each of 0, 1, 3, 7, ... times ``n_initial``, so many times."""
    moments = {n_initial * (2**j - 1) + r for j in range(40) for r in range(n_initial)}
    return sorted(moment for moment in moments if moment < until)


NEW_ARM_CASES = [
    ("ucb1", {}),
    ("bootstrapped_ucb_plus", {}),
    ("chk_ucb", {}),
    ("gaussian_ts", {}),
    ("subsample_duels", {}),
]


@either_way(NEW_ARM_CASES, NEW_ARM_CASES, str)
def test_a_new_arm_with_late_rewards_does_not_take_all_decisions(case, compiled):
    """Were it waited for, these would be 900 of 900."""
    policy = make(case, arms=["a", "b"], rng=0, compiled=compiled)
    policy.update(["a", "b"] * 5, [0.5, 0.25] * 5)
    policy.add_arm("new")
    chosen = [policy.select() for _ in range(900)]
    assert [t for t, arm in enumerate(chosen) if arm == "new"] == attempts(policy.n_initial, 900)
    assert chosen.count("new") <= policy.n_initial * (math.log2(900) + 1)
    policy.update(["new"] * policy.n_initial, [0.75] * policy.n_initial)
    assert policy._is_ready
    assert sum(policy.weights(200).values()) == pytest.approx(1.0)


@pytest.mark.parametrize("case", NEW_ARM_CASES, ids=str)
def test_rewards_of_one_arm_that_are_lost_keep_nobody_waiting(case):
    """Were they waited for, choices would be ``abcabc...`` for ever."""
    policy = make(case, arms=["a", "b", "c"], rng=0)
    chosen = []
    for t in range(600):
        arm = policy.select()
        chosen.append(arm)
        if arm != "c":
            policy.update(arm, [0.75, 0.5][arm == "b"] + (t % 4) / 64)
    n = policy.n_initial
    n_before = 3 * (n - 1) + 1  # decisions until an arm has its rewards
    turns = 3 * n_before + 10 * 3 * n
    assert chosen[:turns] == (["a", "b", "c"] * turns)[:turns]
    assert [t - turns for t in range(turns, 600) if chosen[t] == "c"] == attempts(n, 600 - turns)
    assert chosen[turns:].count("a") > 0.5 * (600 - turns)
    policy.update(["c"] * n, [0.9] * n)
    assert policy._is_ready


def test_between_its_attempts_the_others_are_chosen_as_if_it_were_not_there():
    policy = UCB1(arms=["a", "b", "c"], rng=0)
    policy.update(["a", "b"], [0.5, 0.25])
    for t in range(200):
        twin = policy.copy()
        arm = policy.select()
        if t >= 30 and arm != "c":
            assert arm == twin.select(available=["a", "b"])
        if arm != "c":
            policy.update(arm, (t * 7 % 5) / 4)


def test_all_rewards_are_missing():
    policy = UCB1(arms=["a", "b"], rng=0)
    assert [policy.select() for _ in range(300)] == ["a", "b"] * 150
    policy.add_arm("c")  # which has its turn, and no more
    assert [policy.select() for _ in range(6)] == ["a", "b", "c", "a", "b", "c"]
    assert policy.weights() == {"a": 1.0, "b": 0.0, "c": 0.0}


def test_an_arm_that_is_added_in_the_first_turns_has_attempts_in_between():
    policy = UCB1(arms=["a", "b", "c"], rng=0)
    policy.update("a", 0.5)
    policy.add_arm("d")
    assert [policy.select() for _ in range(10)] == ["d", "d", "b", "d", "c", "a", "b", "d", "c", "a"]


def test_several_new_arms_take_their_attempts_one_after_the_other():
    policy = UCB1(arms=["a", "b"], rng=0)
    policy.update(["a", "b"], [0.5, 0.25])
    for label in "xyz":
        policy.add_arm(label)
    chosen = [policy.select() for _ in range(1000)]
    assert chosen[:3] == ["x", "y", "z"]
    assert [chosen.count(label) for label in "xyz"] == [10, 10, 10]


def test_an_arm_that_lacks_rewards_is_handed_out_only_when_it_is_available():
    policy = UCB1(arms=["a", "b"], rng=0)
    policy.update(["a", "b"], [0.5, 0.25])
    policy.add_arm("c")
    assert {policy.select(available=["a", "b"]) for _ in range(50)} == {"a"}
    assert policy.weights() == {"a": 0.0, "b": 0.0, "c": 1.0}
    assert [policy.select() for _ in range(8)] == ["c"] * 6 + ["a"] * 2  # those that it has missed
    assert policy.weights(available=["c"]) == {"a": 0.0, "b": 0.0, "c": 1.0}


def test_turns_go_on_after_a_restart():
    policy = UCB1(arms=["a", "b", "c"], rng=0)
    chosen, expected = [], []
    for t in range(120):
        if t == 60:
            policy.add_arm("d")
        twin = Policy.from_dict(policy.to_dict())
        arm = policy.select()
        chosen.append(arm)
        expected.append(twin.select())
        if arm in "ab" and t > 4:
            policy.update(arm, 0.5)
    assert chosen == expected
    assert chosen.count("d") >= 5


def test_a_policy_that_needs_no_rewards_is_asked_at_once():
    """As the simulator does."""

    class Bold(Failing):
        name = "bold_own"
        n_initial = 0

    policy = Bold(arms=3, rng=0)
    assert {policy.select() for _ in range(5)} == {policy._state.order[0]}

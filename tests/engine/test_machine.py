"""Live policies as machine code: what they hold, what they refuse, and that a second process need not compile."""

import ast
import pickle
import re
import sys

import numpy as np
import pytest

from bandstrap import UCB1, BootstrappedUCB, Giro, LinearBootstrappedUCB, LinearTS
from bandstrap.engine.compiler.compiled import compiled
from bandstrap.engine.compiler.machine import compiled_hold, learn_held, select_held
from bandstrap.engine.compiler.refusals import PolicyFailure
from bandstrap.engine.work import memory
from bandstrap.errors import InvalidInput
from interpreter import printed
from policies.own_policies import Failing, First, Mapped, Second, Sorted
from sampling import telling

ACTIONS = np.random.default_rng(0).uniform(-1, 1, (6, 3))


def rounds(policy, n=60, seed=0):
    """Choices of some rounds, with rewards that depend on the arm and the round alone."""
    rng = np.random.default_rng(seed)
    choices = []
    for reward in rng.random(n).tolist():
        choices.append(policy.select())
        policy.update(choices[-1], reward)
    return choices


def linear_rounds(policy, n=40):
    choices = []
    for reward in np.random.default_rng(0).random(n).tolist():
        choices.append(policy.select(ACTIONS))
        policy.update(ACTIONS[choices[-1]], reward)
    return choices


def both(make, **options):
    """The policy in plain Python and as machine code."""
    return make(rng=3, **options), make(rng=3, compiled=True, **options)


def same_generator(one, other):
    return pickle.dumps(one.rng.bit_generator.state) == pickle.dumps(other.rng.bit_generator.state)


# --- the same bits where what is held changes ---------------------------------------------------------------------------


def test_parameters_that_are_made_anew_each_round_are_held_anew():
    plain, machine = both(BootstrappedUCB, arms=4, alpha=lambda t: 0.5 if t % 7 == 0 else 1 / (t + 1))
    assert rounds(machine) == rounds(plain)
    assert same_generator(machine, plain)
    plain, machine = both(LinearBootstrappedUCB, quantile="streaming", alpha=lambda t: 1 / (t + 1))
    assert linear_rounds(machine) == linear_rounds(plain)
    assert same_generator(machine, plain)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.SFC64, np.random.Philox])
def test_any_generator_may_be_put_in_the_place_of_the_first(bits):
    plain, machine = both(Giro, arms=4)
    assert rounds(machine, 20) == rounds(plain, 20)
    for policy in (plain, machine):
        policy.rng = np.random.Generator(bits(9))
    assert rounds(machine) == rounds(plain)
    assert same_generator(machine, plain)


def test_a_generator_shared_by_two_policies_has_its_numbers_shared():
    chosen = []
    for flag in (False, True):
        rng = np.random.default_rng(1)
        one, other = (BootstrappedUCB(arms=4, rng=rng, compiled=flag) for _ in range(2))
        chosen.append([rounds(one, 10), rounds(other, 10), rounds(one, 10), rng.random(), rounds(other, 10)])
    assert chosen[0] == chosen[1]


def test_two_classes_of_states_with_one_name_are_not_taken_for_each_other():
    for make in (First, Second, First):
        plain, machine = both(make, arms=3)
        assert rounds(machine) == rounds(plain)
        assert machine._state.sums.tolist() == plain._state.sums.tolist()


@telling(
    "options",
    [{"quantile": "exact"}, {}, {"quantile": "streaming"}, {"weights": "efron"}],
    lambda options: "weights" not in options,
)
def test_the_bounds_of_a_compiled_policy_are_those_of_a_plain_one(options):
    plain, machine = both(BootstrappedUCB, arms=list("abc"), **options)
    assert rounds(machine) == rounds(plain)
    assert machine.bounds() == plain.bounds()


def test_what_is_no_longer_held_is_let_go():
    policy = UCB1(arms=3, compiled=True, alpha=lambda t: 1 / (t + 1))  # holds anew in every call
    rounds(policy, 10)
    kept = [sys.getrefcount(part) for part in (policy._state.pulls, policy._state.sums, policy.rng)]
    rounds(policy, 500)
    assert [sys.getrefcount(part) for part in (policy._state.pulls, policy._state.sums, policy.rng)] == kept


# --- rows that grow -----------------------------------------------------------------------------------------------------


def test_rows_that_no_memory_would_hold_are_refused_and_nothing_changes(monkeypatch):
    policy = Giro(arms=40, rng=0, compiled=True)
    policy.update(range(40), [0.5] * 40)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "usable_memory", lambda: 3 * 8 * 40 * 16 - 1)
    policy.update([3] * 15, [0.25] * 15)  # its row is full
    with pytest.raises(
        InvalidInput, match=r"^The 'arms' parameter of Giro must be small enough for the .+ Got 40, which"
    ):
        policy.update([2, 3], [0.5, 0.5])
    assert policy.n_rewards == 55
    assert policy._state.pulls[2:4].tolist() == [1, 16]
    monkeypatch.setattr(memory, "usable_memory", lambda: 3 * 8 * 40 * 16)
    policy.update([2, 3], [0.5, 0.5])
    assert policy._state.history.shape == (40, 32)


@pytest.mark.parametrize("flag", [False, True], ids=["plain", "compiled"])
def test_an_update_of_rows_that_have_grown_is_taken_back(flag):
    class Refusing(Sorted):
        name = "refusing_own"

        def transform(self, reward):
            if reward == 0.75:
                raise ZeroDivisionError
            return super().transform(reward)

    policy = Refusing(arms=2, rng=0, compiled=flag)
    policy.update([0] * 40 + [1], [0.5 + i / 64 for i in range(40) if i != 16] + [0.3] + [0.1])  # grown twice before
    before = policy._state.history[0, :40].tolist()
    with pytest.raises(ZeroDivisionError):
        policy.update([0, 0], [0.25, 0.75])  # the first moves all others
    assert policy._state.history[0, :40].tolist() == before
    assert list(policy._state.pulls) == [40, 1]


# --- what cannot be done ------------------------------------------------------------------------------------------------


def test_an_error_in_machine_code_is_taken_back():
    policy = Failing(arms=2, rng=0, compiled=True)
    policy.update([0, 1], [0.5, 0.25])
    before = [part.tolist() for part in policy._state]
    sentence = (
        "'learn' function of Failing must take in every reward. Got a division by zero for arm 1 in round 4 instead."
    )
    with pytest.raises(PolicyFailure, match=re.escape(sentence)):
        policy.update([0, 1, 0], [0.5, 0.75, 0.5])
    assert [part.tolist() for part in policy._state] == before
    assert policy.n_rewards == 2
    policy.update(1, 0.5)
    assert policy._state.sums.tolist() == [0.5, 0.75]


def test_a_kernel_that_does_not_compile_is_refused_in_a_sentence():
    rounds(Mapped(arms=2, rng=0), 5)  # in plain Python it plays
    rule = r"^The kernel '\w+' of mapped_own cannot be compiled: .+\. The functions it calls must be marked with "
    with pytest.raises(InvalidInput, match=rule):
        Mapped(arms=2, rng=0, compiled=True)


# --- copies and processes -----------------------------------------------------------------------------------------------


def test_a_compiled_policy_goes_through_pickle_and_stays_compiled():
    for policy, play in (
        (BootstrappedUCB(arms=4, rng=0, compiled=True), rounds),
        (LinearTS(rng=0, compiled=True), None),
    ):
        play = play or linear_rounds
        play(policy, 20)
        twin = pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own
        assert twin.compiled
        assert twin._machine is not policy._machine
        assert play(twin, 30) == play(policy, 30)


def test_a_second_process_loads_what_the_first_compiled(tmp_path):
    code = """
        from bandstrap import UCB1
        from bandstrap.engine.compiler.compiled import compiled
        from bandstrap.engine.compiler.machine import compiled_hold, learn_held, select_held
        policy = UCB1(arms=3, rng=0, compiled=True)
        for i in range(9):
            policy.update(policy.select(), i / 9)
        kernel = policy.kernel
        steps = [compiled_hold(kernel), compiled(select_held, kernel), compiled(learn_held, kernel)]
        print([(sum(s.stats.cache_hits.values()), sum(s.stats.cache_misses.values())) for s in steps])
    """
    assert ast.literal_eval(printed(code, NUMBA_CACHE_DIR=tmp_path)) == [(0, 1)] * 3
    assert ast.literal_eval(printed(code, NUMBA_CACHE_DIR=tmp_path)) == [(1, 0)] * 3


def test_without_a_compiler_nothing_is_compiled():
    code = """
        from bandstrap import UCB1
        try:
            UCB1(arms=3, compiled=True)
        except ValueError as refusal:
            print(refusal)
    """
    sentence = "The 'compiled' parameter of ucb1 must be False while NUMBA_DISABLE_JIT is set. Got True instead."
    assert printed(code, NUMBA_DISABLE_JIT=1) == sentence


def test_steps_keep_the_lock_of_python():
    """A thread that lets go of it for microseconds may wait milliseconds to have it back."""
    kernel = UCB1(arms=2, compiled=True).kernel
    steps = compiled_hold(kernel), compiled(select_held, kernel), compiled(learn_held, kernel)
    assert [step.targetoptions["nogil"] for step in steps] == [False, False, False]

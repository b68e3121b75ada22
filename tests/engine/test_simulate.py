"""``simulate``: what it records, what it refuses, how it ends early."""

import io
import os
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import bandstrap.engine.simulator.simulate as module
from bandstrap.engine.simulator import blocks
from bandstrap.engine.simulator.blocks import play_blocks
from bandstrap.engine.simulator.simulate import Interrupted, simulate
from bandstrap.engine.simulator.streams import ENVIRONMENT, stream
from bandstrap.environments import Arms, Bernoulli, Beta, Gaussian, TruncatedNormal
from bandstrap.errors import InvalidInput
from bandstrap.policies import UCB1, BernoulliTS, EmpiricalKLUCB, GaussianTS, Giro
from sampling import each, exhaustive
from stops import interrupted_after

QUICK = {"horizon": 40, "replications": 10, "seed": 1, "progress": False}


def quick(policies, environment=None, **options):
    return simulate(policies, environment or Gaussian(n_arms=3), **(QUICK | options))


# --- what is recorded -------------------------------------------------------------------------------------------------


def test_shapes_names_and_settings():
    result = quick([UCB1(), GaussianTS(sigma=2)], checkpoints=[10, 40])
    assert result.policies == ("ucb1", "gaussian_ts:sigma=2")
    assert result.environment == "gaussian:n_arms=3"
    assert (result.horizon, result.seed, result.n_replications) == (40, 1, 10)
    assert result.replications.tolist() == list(range(10))
    assert result.checkpoints.tolist() == [10, 40]
    assert result.regret.shape == (2, 10, 2)
    assert result.pulls.shape == (2, 10, 3)
    assert (result.pulls.sum(axis=2) == 40).all()
    assert (result.pulls >= 1).all()


def test_final_regret_is_gaps_times_pulls():
    result = quick(UCB1())
    for i in range(10):
        means, _ = Gaussian(n_arms=3).tape(40, stream(1, i, ENVIRONMENT))
        expected = (means.max() - means) @ result.pulls[0, i]
        assert result.regret[0, i, -1] == pytest.approx(expected, rel=1e-12)
    assert (np.diff(result.regret, axis=2) >= 0).all()


def test_checkpoints_read_the_same_curve():
    every = quick(UCB1(), checkpoints=range(1, 41))
    some = quick(UCB1(), checkpoints=[7, 3, 7, 25])
    assert some.checkpoints.tolist() == [3, 7, 25, 40]
    np.testing.assert_array_equal(some.regret, every.regret[:, :, some.checkpoints - 1])
    assert quick(UCB1()).checkpoints.tolist() == list(range(1, 41))


def test_default_checkpoints_are_two_hundred_and_end_at_the_horizon():
    marks = blocks.checked_checkpoints(None, 2000)
    assert marks.size == 200
    assert (marks[0], marks[-1]) == (1, 2000)
    assert (np.diff(marks) > 0).all()
    assert blocks.checked_checkpoints(None, 1).tolist() == [1]


def test_the_seed_decides_everything():
    first, again, other = quick(GaussianTS()), quick(GaussianTS()), quick(GaussianTS(), seed=2)
    assert first.regret.tobytes() == again.regret.tobytes()
    assert first.regret.tobytes() != other.regret.tobytes()


def test_fewer_replications_are_the_first_of_more():
    few, many = quick(GaussianTS(), replications=4), quick(GaussianTS())
    assert few.regret.tobytes() == many.regret[:, :4].tobytes()


def test_equal_policies_meet_the_same_rewards_and_streams_and_are_numbered():
    result = quick([GaussianTS(), GaussianTS(), GaussianTS(sigma=2)])
    assert result.policies == ("gaussian_ts", "gaussian_ts #2", "gaussian_ts:sigma=2")
    assert result.regret[0].tobytes() == result.regret[1].tobytes()


def test_policies_may_be_named_by_a_mapping():
    result = quick({"mine": UCB1(), "yours": GaussianTS()})
    assert result.policies == ("mine", "yours")


def test_no_two_policies_have_one_name():
    class Named(GaussianTS):
        label = "ucb1 #2"

    result = quick([Named(), UCB1(), UCB1(), UCB1()])
    assert result.policies == ("ucb1 #2", "ucb1", "ucb1 #3", "ucb1 #4")
    with pytest.raises(InvalidInput, match=r"must be a mapping of names that differ as texts. Got \[1, .1.\] instead"):
        quick({1: UCB1(), "1": GaussianTS()})


def test_one_replication_one_arm_and_a_horizon_of_one():
    result = quick(UCB1(), Gaussian([0.5]), horizon=1, replications=1)
    assert result.regret.tolist() == [[[0.0]]]
    assert result.pulls.tolist() == [[[1]]]


def test_a_horizon_of_just_the_first_pulls():
    result = quick(UCB1(), Gaussian([0.0, 1.0, 3.0]), horizon=3)
    assert (result.pulls == 1).all()
    np.testing.assert_allclose(result.regret[0, :, -1], 5.0)


def test_uniform_play_would_be_beaten():
    result = quick([UCB1(), GaussianTS()], Gaussian([0, 1]), horizon=400, replications=40)
    assert (result.mean[:, -1] < 100).all()  # uniform play has 200


def test_a_bounded_policy_plays_where_its_range_is_kept():
    for environment in (Beta(n_arms=3), Bernoulli(n_arms=3), Arms([stats.uniform(), stats.beta(2, 2)])):
        quick([BernoulliTS(), Giro()], environment)
    quick(EmpiricalKLUCB(upper=2.0), TruncatedNormal())
    quick(Giro(check_range=False), Gaussian())


# --- refusals ---------------------------------------------------------------------------------------------------------


@each(
    ("options", "message"),
    [
        ({"replications": 0}, "'replications' parameter of simulate must be an integer of at least 1. Got 0"),
        ({"replications": 2.0}, "'replications' parameter of simulate must be an integer"),
        ({"horizon": 0}, "'horizon' parameter of simulate must be an integer of at least 1. Got 0"),
        (
            {"horizon": 2},
            "'horizon' parameter of simulate must be at least 3, so that ucb1 can pull each of 3 arms. Got 2",
        ),
        ({"horizon": True}, "'horizon' parameter of simulate must be an integer"),
        ({"seed": -1}, "'seed' parameter of simulate must be an integer of at least 0. Got -1"),
        ({"seed": None}, "'seed' parameter of simulate must be an integer"),
        ({"checkpoints": [[1], [2, 3]]}, "'checkpoints' parameter of simulate must be rounds between 1 and 40"),
        ({"checkpoints": [1, None]}, "'checkpoints' parameter of simulate must be rounds between 1 and 40"),
        ({"block_size": 0}, "'block_size' parameter of simulate must be an integer of at least 1"),
        ({"checkpoints": []}, "'checkpoints' parameter of simulate must be rounds between 1 and 40"),
        ({"checkpoints": [0, 5]}, "'checkpoints' parameter of simulate must be rounds between 1 and 40"),
        ({"checkpoints": [41]}, "'checkpoints' parameter of simulate must be rounds between 1 and 40"),
        ({"checkpoints": [1.5]}, "'checkpoints' parameter of simulate must be rounds between 1 and 40"),
        ({"checkpoints": ["a"]}, "'checkpoints' parameter of simulate must be rounds between 1 and 40"),
    ],
    ids=str,
)
def test_bad_numbers_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        quick(UCB1(), **options)


@pytest.mark.parametrize("executor", [4, "threads", ThreadPoolExecutor], ids=repr)
def test_what_is_no_executor_is_refused_before_any_work(executor, monkeypatch):
    monkeypatch.setattr(module, "warm", lambda *_: pytest.fail("worked"))
    with pytest.raises(
        InvalidInput, match=r"'executor' parameter of simulate must be (a .*Executor|one of 'thread', .*)\. Got"
    ):
        quick(UCB1(), executor=executor)


@exhaustive
def test_an_executor_by_name_plays_the_same_numbers():
    assert quick(UCB1(), executor="process").regret.tobytes() == quick(UCB1()).regret.tobytes()


def test_what_does_not_fit_into_memory_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(module, "warm", lambda *_: pytest.fail("worked"))
    with pytest.raises(
        InvalidInput, match=r"'horizon' parameter of simulate must be small enough .* Got 10+, which takes"
    ):
        quick(UCB1(), horizon=10**15)
    with pytest.raises(
        InvalidInput, match=r"'replications' parameter of simulate must be small enough .* Got 10+, which"
    ):
        quick(UCB1(), replications=10**15)


@each("policies", [None, "ucb1", 3, [UCB1(), "ucb1"], {"a": Gaussian()}, UCB1, [UCB1]], ids=repr)
def test_what_is_no_policy_is_refused(policies):
    with pytest.raises(InvalidInput, match=r"'policies' parameter of simulate must be policies, such as UCB1\(\). Got"):
        quick(policies)


@pytest.mark.parametrize("policies", [[], (), {}], ids=repr)
def test_no_policy_at_all_is_refused(policies):
    with pytest.raises(InvalidInput, match=r"'policies' parameter of simulate must be at least one policy. Got none"):
        quick(policies)


@pytest.mark.parametrize("policy", [UCB1(arms=3, rng=0), UCB1(direction="min")], ids=repr)
def test_a_live_policy_and_costs_are_refused(policy):
    with pytest.raises(InvalidInput, match=r"'policies' parameter of simulate must be policies without arms"):
        quick(policy)


@pytest.mark.parametrize("environment", ["gaussian", 3, UCB1(), Gaussian, [Gaussian()]], ids=repr)
def test_what_is_no_environment_is_refused(environment):
    with pytest.raises(InvalidInput, match=r"'environment' parameter of simulate must be an environment, such as"):
        quick(UCB1(), environment)


@pytest.mark.parametrize(
    ("policy", "environment"),
    [
        (BernoulliTS(), Gaussian()),
        (Giro(), TruncatedNormal()),
        (EmpiricalKLUCB(upper=1.5), TruncatedNormal()),
        (EmpiricalKLUCB(), Gaussian()),
    ],
    ids=repr,
)
def test_a_bounded_policy_on_wider_rewards_is_refused(policy, environment):
    with pytest.raises(
        InvalidInput, match=r"'environment' .* rewards inside \[.*\], the range of .* Got rewards in \["
    ):
        quick(policy, environment)


def test_a_callable_level_is_refused():
    with pytest.raises(
        InvalidInput, match=r"'alpha' parameter of UCB1 must be a rule or a number in a simulation. Got"
    ):
        quick(UCB1(alpha=lambda t: 1 / t))


def test_an_error_inside_a_block_reaches_the_caller():
    environment = Gaussian()

    def fail(*_):
        raise RuntimeError("no rewards today")

    environment.draw_rewards = fail
    with pytest.raises(InvalidInput, match=r"gaussian cannot be played: RuntimeError in line .*: no rewards today\."):
        quick(UCB1(), environment)


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


@each("threads", [None, 1, 3])
@each("times", [1, 3])
def test_an_interrupted_run_tells_what_is_done(threads, times):
    whole = quick(GaussianTS(), replications=20)
    if threads is None:
        with interrupted_after(3, times), pytest.raises(Interrupted, match=r"after .* of 20 replications") as stopped:
            quick(GaussianTS(), replications=20, block_size=2)
    else:
        with ThreadPoolExecutor(threads) as lent:
            with interrupted_after(3, times), pytest.raises(Interrupted) as stopped:
                quick(GaussianTS(), replications=20, block_size=2, executor=lent)
            assert lent.submit(int, 3).result() == 3  # a pool that was lent is not shut
    part = stopped.value.result
    assert 6 <= part.n_replications <= 20  # blocks that ended meanwhile count too
    assert (np.diff(part.replications) > 0).all()
    np.testing.assert_array_equal(part.regret, whole.regret[:, part.replications])
    np.testing.assert_array_equal(part.pulls, whole.pulls[:, part.replications])
    assert part.summary()[0]["policy"] == "gaussian_ts"


class InterruptedExecutor(Executor):
    """Plays at once, in this thread; is interrupted at a block."""

    def __init__(self, at: int):
        self.at, self.count = at, 0

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        future.set_running_or_notify_cancel()
        if self.count == self.at:
            future.set_exception(KeyboardInterrupt())
        else:
            future.set_result(fn(*args, **kwargs))
        self.count += 1
        return future


class InterruptedAtSubmit(InterruptedExecutor):
    """Is interrupted while blocks are still being handed out."""

    def submit(self, fn, /, *args, **kwargs):
        if self.count == self.at:
            raise KeyboardInterrupt
        return super().submit(fn, *args, **kwargs)


def test_an_interrupt_while_blocks_are_handed_out_tells_what_is_done():
    with pytest.raises(Interrupted) as stopped:
        quick(UCB1(), block_size=2, executor=InterruptedAtSubmit(3))
    assert stopped.value.result.replications.tolist() == list(range(6))


def test_an_interrupt_before_anything_is_done_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt):
        quick(UCB1(), replications=1, executor=InterruptedExecutor(0))


def test_any_executor_will_do():
    own = quick(UCB1())
    other = quick(UCB1(), executor=InterruptedExecutor(-1), block_size=3)
    assert own.regret.tobytes() == other.regret.tobytes()


# --- blocks -----------------------------------------------------------------------------------------------------------


def test_blocks_cover_all_replications_once():
    seen = []

    class Watching(InterruptedExecutor):
        def submit(self, fn, /, *args, **kwargs):
            blocks = fn.pieces
            assert fn.run is play_blocks
            assert len({(block.first, block.last) for block in blocks}) == 1  # all policies on the same tapes
            seen.append((blocks[0].first, blocks[0].last))
            return super().submit(fn, *args, **kwargs)

    quick([UCB1(), GaussianTS()], replications=23, block_size=4, executor=Watching(-1))
    assert [r for first, last in seen for r in range(first, last)] == list(range(23))
    assert max(last - first for first, last in seen) <= 4


# --- progress ---------------------------------------------------------------------------------------------------------


def test_progress_is_silent_where_stderr_is_no_terminal(capsys):
    simulate(UCB1(), Gaussian(), horizon=20, replications=3, seed=0)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_and_not_when_unwanted(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    simulate(UCB1(), Gaussian(), horizon=20, replications=3, seed=0, progress=False)
    assert screen.getvalue() == ""
    simulate(UCB1(), Gaussian(), horizon=20, replications=3, seed=0)
    assert "replications" in screen.getvalue()
    assert "3/3" in screen.getvalue()


@exhaustive
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_real_interrupt_ends_a_real_run_with_what_is_done():
    code = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where tests run in the background of a shell
from bandstrap import UCB1, simulate
from bandstrap.environments import Gaussian
simulate(UCB1(), Gaussian(), horizon=10, replications=1, seed=0, progress=False)
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    game = {"horizon": 20_000, "replications": 100_000, "seed": 0, "block_size": 1, "checkpoints": [20_000]}
    simulate(UCB1(), Gaussian(), **game, progress=False)
except KeyboardInterrupt as stopped:
    result = stopped.result
print(0 < result.n_replications < 100_000, result.summary()[0]["mean"] > 0)
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == ["True", "True"]
    assert finished.stderr == ""

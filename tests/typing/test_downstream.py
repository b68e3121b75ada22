"""What a strict type checker says of a program that uses the package as it is installed."""

import os
import re
import subprocess
import sys

import pytest

from sampling import exhaustive

START = """\
from typing import NamedTuple, Unpack

import numpy as np
from scipy import stats

import bandstrap
from bandstrap import UCB1, BootstrappedUCB, LinUCB, NaiveBootstrappedUCB, OFUL, Policy, Result, simulate
from bandstrap import bootstrap_quantile, bounds, environments
from bandstrap.environments import Bernoulli, Gaussian, StudentT
from bandstrap.policies import Online


class InTurn:
    def __init__(self, n_arms: int) -> None:
        self.n_arms, self.t = n_arms, -1

    def select(self) -> int:
        self.t += 1
        return self.t % self.n_arms

    def update(self, arm: int, reward: float) -> None:
        pass


class AtRandom:
    def __init__(self, n_arms: int, rng: np.random.Generator) -> None:
        self.n_arms, self.rng = n_arms, rng

    def select(self) -> np.int64:
        return self.rng.integers(self.n_arms)

    def update(self, arm: int, reward: float) -> None:
        pass


class Params(NamedTuple):
    c: float


class Mine(Policy):
    kernel = UCB1.kernel

    def __init__(self, *, c: float = 2.0, **online: Unpack[Online]) -> None:
        self.c = self.positive(c, "c")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.c)


policy = BootstrappedUCB(arms=["a", "b"], sigma=0.5, quantile="streaming", weights="mammen", rng=7, direction="min")
result = simulate([UCB1(), InTurn], Gaussian(), horizon=10, replications=2, seed=0)
bound = bounds.hoeffding([1, 2], 0.1, sigma=1)
"""

RIGHT = """\
policy.update(policy.select(), 1.0)
policy.update(["a", "b"], [0.2, np.float32(1)])
policy.update(np.array(["a", "b"]), np.array([1, 0]))
pulls: int = policy.bounds()["a"]["pulls"]
label: str = policy.select()
price: float = {"a": 1.0, "b": 2.0}[policy.select(available=["a"])]
pair: tuple[int, str] = UCB1(arms=[(1, "x"), (2, "y")]).select()
number: int = UCB1(arms=3).select() + 1
own: str = Mine(arms=["a", "b"]).select()
loaded = bandstrap.load("policy.json")
if isinstance(loaded, UCB1):
    loaded.update(loaded.select(), 1.0)
elif isinstance(loaded, bandstrap.LinearPolicy):
    taken: int = loaded.select([[1.0, 0.0]])
twin: BootstrappedUCB = policy.copy()
UCB1(arms=3, alpha=0.05)
UCB1(alpha=lambda t: 1 / (t + 1), arms=np.arange(3), rng=np.random.default_rng(0))
UCB1(alpha="1/T^2", horizon=100)
NaiveBootstrappedUCB(arms=range(4), weights="gaussian")
Mine(c=2.0, arms=2, compiled=True)
linear = OFUL(radius="printed", dimension=2, rng=0, compiled=False)
linear.update([[1.0, 0.0], [0.0, 1.0]], [0.2, 0.9])
index: int = linear.select([[1.0, 0.0], [0.0, 1.0]])
environment: environments.Environment = StudentT([0, 1], df=5, scale=2.0)
Gaussian(np.array([0.0, 1.0]))
Bernoulli(n_arms=3, mean_range=(0.1, 0.2))
simulate(UCB1(), environment, horizon=10, replications=2, seed=0)
simulate({"one": UCB1(), "another": InTurn(2)}, environment, horizon=10, replications=2, seed=0)
simulate((LinUCB(), UCB1()), environments.LinearBandit(3), horizon=10, replications=2, seed=0, checkpoints=[5])
simulate([InTurn, AtRandom, Mine()], environment, horizon=10, replications=2, seed=0)
chosen: list[Policy] = [UCB1(), Mine()]
simulate(chosen, environment, horizon=10, replications=2, seed=0)
loss: float = result.summary()[0]["mean"] + result.difference("a", "b").mean + float(result.mean[0, -1])
again: Result = Result.from_parquet("result.parquet")
bound.upper + 1
bound.width * 2 > bound.mean
half: float = bootstrap_quantile([1.0, 2.0], 0.1, weights="efron", method="auto") / 2
bootstrap_quantile([[1.0, 2.0]], [0.1, 0.2]) + 1
bounds.bootstrap(np.ones(5), 0.1, sigma=1, correction="sharp", interval="basic", side="two-sided").parts["main"] + 1
rows = bounds.coverage(stats.norm(0, 1), [4, 8], bounds=["sign_flip"], side="lower")
widths: list[float] = [row.median_width for row in rows + bounds.coverage("t:df=3", 4)]
bandstrap.theory.divergence(0, 1, family="gaussian", sigma=1) + 1
version: str = bandstrap.__version__
try:
    bandstrap.Result.from_parquet("")
except bandstrap.InvalidInput as refusal:
    print(refusal)
warned = (bandstrap.AccuracyWarning, bandstrap.CacheWarning, bandstrap.SlowWarning, bandstrap.errors.InvalidInput)
policy_class = bandstrap.LinearPolicy
"""

PLAY = "horizon=10, replications=2, seed=0"
WRONG = {
    "from bandstrap import Ubc1": "attr-defined",
    "bandstrap.bouds": "attr-defined",
    "bandstrap.environments.Gausian()": "attr-defined",
    "BootstrappedUCB(amrs=3)": "call-arg",
    "Mine(d=1.0)": "call-arg",
    "NaiveBootstrappedUCB(correction='none')": "call-arg",
    "BootstrappedUCB(sigma='x')": "arg-type",
    "BootstrappedUCB(weights='rademaher')": "arg-type",
    "BootstrappedUCB(quantile='exactly')": "arg-type",
    "UCB1(arms=2.5)": "arg-type",
    "UCB1(direction='down')": "arg-type",
    "UCB1(arms=2, compiled='yes')": "arg-type",
    "LinUCB(compiled=None)": "arg-type",
    "UCB1(alpha='1/t')": "arg-type",
    "UCB1(alpha=lambda: 0.5)": "arg-type",
    "LinUCB(arms=3)": "call-arg",
    "OFUL(radius='theorme')": "arg-type",
    "UCB1(1.0)": "call-arg",
    "policy.update('a', 'much')": "arg-type",
    "policy.bounds()['a']['pull']": "typeddict-item",
    "policy.updat('a', 1.0)": "attr-defined",
    "wrong: int = policy.select()": "assignment",
    "bandstrap.load('policy.json').selct()": "union-attr",
    "Gaussian(scael=2.0)": "call-arg",
    "StudentT(df='3')": "arg-type",
    "Bernoulli(mean_range=0.5)": "arg-type",
    f"simulate('ucb1', Gaussian(), {PLAY})": "arg-type",
    f"simulate(UCB1, Gaussian(), {PLAY})": "arg-type",
    f"simulate([UCB1], Gaussian(), {PLAY})": "list-item",
    f"simulate({{'one': UCB1}}, Gaussian(), {PLAY})": "dict-item",
    f"simulate(UCB1(), Gaussian, {PLAY})": "arg-type",
    f"simulate(UCB1(), 'gaussian', {PLAY})": "arg-type",
    "simulate(UCB1(), Gaussian(), horizon=10, replications=2)": "call-arg",
    "simulate(UCB1(), Gaussian(), horizon=10, replications=2, seed='0')": "arg-type",
    "result.regrets": "attr-defined",
    "result.summary()[0]['average']": "typeddict-item",
    "result.final(0)": "arg-type",
    "bounds.hoeffding([1, 2], 0.1, sgima=1)": "call-arg",
    "bounds.hoeffding([1, 2], 0.1, sigma='1')": "arg-type",
    "bounds.hoeffding([1, 2], 0.1, sigma=1, side='above')": "arg-type",
    "bounds.bootstrap([1, 2], 0.1, sigma=1, correction='sharpest')": "arg-type",
    "bounds.coverage(3, 4)": "arg-type",
    "bound.uper": "attr-defined",
    "bootstrap_quantile([1.0, 2.0], 0.1, method='exact')": "call-overload",
    "bandstrap.theory.divergence(0, 1, family='normal')": "arg-type",
}


pytestmark = exhaustive  # a type checker takes as long as many tests


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The codes of the errors on each line of two programs."""
    folder = tmp_path_factory.mktemp("downstream")
    (folder / "right.py").write_text(START + RIGHT)
    (folder / "wrong.py").write_text(START + "".join(f"{line}\n" for line in WRONG))
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    # Nothing cached: a cache would be written once and never read.
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--no-incremental",
        f"--cache-dir={os.devnull}",
        "right.py",
        "wrong.py",
    ]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")  # errors were found, and mypy came to its end
    lines = {"right.py": {}, "wrong.py": {}}
    for file, line, code in re.findall(r"^(\S+):(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.M):
        lines[file].setdefault(int(line), set()).add(code)
    return lines


def test_a_right_program_passes(found):
    assert found["right.py"] == {}


def test_a_wrong_program_is_wrong_where_it_is(found):
    before = START.count("\n")
    assert {line - before for line in found["wrong.py"]} <= set(range(1, len(WRONG) + 1))


@pytest.mark.parametrize("statement", WRONG)
def test_a_mistake_is_found_on_its_line(found, statement):
    line = START.count("\n") + 1 + list(WRONG).index(statement)
    assert WRONG[statement] in found["wrong.py"].get(line, set())

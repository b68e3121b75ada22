"""Names with options as text."""

import pytest

from bandstrap.basics.calls import parse_call
from bandstrap.bounds import BOUNDS
from bandstrap.bounds.coverage import resolve_distribution
from bandstrap.names import FIRST_OPTIONS, NAMED_ENVIRONMENTS, NAMED_POLICIES, make
from fuzz.mutations import PIECES, command, damaged, outcome, pick, rounds, stream
from sampling import telling

CALLS = [
    "ucb1:sigma=2",
    "bootstrapped_ucb:correction=sharp,sigma=2,alpha=1/(t log^tau t),tau=2",
    "mars:alpha=0.1",
    "kl_ucb:plus=true",
    "linear_ts:inflation=none,sigma=1",
    "epsilon_greedy:epsilon=0.1",
    "robust_ucb:moment=1",
    "mine.py:Mine:sigma=2",
    "empirical:data.csv,arm='2024',reward=y",
    "gaussian:means=(0,1.5,-2),scale=0.5",
    "bernoulli:n_arms=10",
    "beta:v=8,mean_range=(0.25,0.75)",
    "linear_bandit:actions=((1,0),(2,-3)),scale=3,noise='student_t:df=5,scale=2'",
    "unequal_variances:n_arms=3",
    "x:a=\"2024\",b=it's,c='',d=(1,'b,(c'),e=[1,[2]],f=False",
]


def test_a_damaged_call_is_a_call_or_a_sentence():
    rng = stream("calls")
    for _ in rounds(2000):
        call = outcome(parse_call, damaged(rng, pick(rng, CALLS)), FIRST_OPTIONS)
        if call is not None:
            assert outcome(parse_call, str(call)) is not None


@pytest.mark.parametrize(("kind", "registry"), [("policy", NAMED_POLICIES), ("environment", NAMED_ENVIRONMENTS)])
def test_a_damaged_policy_or_environment_is_one_or_a_sentence(kind, registry):
    rng = stream("make", kind)
    names = list(registry)
    for _ in rounds(700):
        text = damaged(rng, pick(rng, CALLS)) if rng.random() < 0.4 else random_call(rng, pick(rng, names), registry)
        made = outcome(make, text, registry, kind)
        assert made is None or isinstance(made.label, str)


def random_call(rng, name, registry):
    """A call with one or two of the options that there are, and something else as values."""
    known = list(registry[name].parameters())
    chosen = {pick(rng, known): pick(rng, PIECES) for _ in range(rng.integers(1, 3))} if known else {"a": "1"}
    return f"{name}:" + ",".join(f"{key}={value}" for key, value in chosen.items())


def test_a_damaged_law_is_a_law_or_a_sentence():
    rng = stream("laws")
    laws = [
        "normal",
        "t:df=3",
        "truncnorm:a=-1,b=1",
        "poisson:mu=4",
        "beta:a=2,b=3",
        "gamma:a=2,scale=3",
        "binom:n=5,p=0.3",
    ]
    for _ in rounds(200):
        outcome(resolve_distribution, damaged(rng, pick(rng, laws), 2))


@telling("name", BOUNDS, ["bootstrap"])
def test_options_of_a_bound_on_the_command_line(name):
    rng = stream("bound", name)
    options = ["sigma", "support", "beta", "correction", "phi", "weights", "spread", "nope"]
    for _ in rounds(12):
        text = f"{name}:" + ",".join(f"{pick(rng, options)}={pick(rng, PIECES)}" for _ in range(rng.integers(1, 3)))
        text = text.replace("\0", "0")  # which no command line can hold
        if rng.random() < 0.3:
            command("coverage", "--distribution", "uniform", "--sample-size", 3, "--replications", 5, "--bound", text)
        else:
            command("bound", "-", "--column", "y", "--method", text, stdin=b"y\n1\n0.5\n0\n0.25\n")

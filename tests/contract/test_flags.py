"""Every parameter that is true or false, of every policy, environment and bound, from Python and from a call."""

import inspect

import numpy as np
import pytest
from scipy import stats

from bandstrap import theory
from bandstrap.basics.calls import parse_call
from bandstrap.bounds import BOUNDS
from bandstrap.environments import ENVIRONMENTS
from bandstrap.errors import InvalidInput, check_flag
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from bandstrap.policies.online.described import LIVE_ONLY
from sampling import each

YES = (True, np.True_, 1, np.int64(1), "true", "True", "yes", "YES", "on", "1", " yes ")
NO = (False, np.False_, 0, np.uint8(0), "false", "FALSE", "no", "No", "off", "Off", "0")
NEITHER = (
    2,
    -1,
    1.0,
    0.0,
    "maybe",
    "",
    "none",
    "2",
    None,
    (),
    (True,),
    [],
    b"yes",
    1j,
    np.timedelta64(1),
    np.array([1]),
)
# What a class or function needs beside the flag.
NEEDS = {
    "betting": {"support": (-1, 1)},
    "empirical_bernstein": {"support": (-1, 1)},
    "empirical_kl": {"support": (-1, 1)},
    "hoeffding": {"sigma": 1.0},
    "bootstrap": {"sigma": 1.0, "weights": "gaussian"},
    "sub_weibull": {"sigma": 1.0, "beta": 2.0},
    "mean_deviation_bound": {"n": 5, "alpha": 0.1, "sigma": 1.0, "beta": 2.0},
    "sum_deviation_bound": {"weights": [0.5, 0.3, 0.2], "alpha": 0.1, "sigma": 1.0, "beta": 2.0},
    "orlicz_norm": {"law": stats.expon(), "beta": 1.0},
    "sample_orlicz_norm": {"sample": [1.0, 2.0], "beta": 1.0},
}


def flags(callable_):
    """Names of the parameters annotated ``bool``."""
    parameters = inspect.signature(callable_).parameters.values()
    return [parameter.name for parameter in parameters if parameter.annotation in (bool, "bool")]


DESCRIBED = POLICIES | LINEAR_POLICIES | ENVIRONMENTS
# But for what makes a policy live, which no call as text may ask for.
FLAGS = [(name, flag) for name, cls in DESCRIBED.items() for flag in flags(cls) if flag not in LIVE_ONLY]
BOUND_FLAGS = [(name, flag) for name, entry in BOUNDS.items() for flag in flags(entry.function)]
THEORY_FLAGS = [(name, flag) for name in theory.__all__ for flag in flags(getattr(theory, name))]


def test_the_flags_are_found():
    assert {("kl_ucb", "plus"), ("giro", "check_range"), ("linear_bandit", "contextual")} <= set(FLAGS)
    assert ("sign_flip", "randomized") in BOUND_FLAGS
    assert ("sub_weibull", "symmetric") in BOUND_FLAGS
    assert ("sample_orlicz_norm", "centred") in THEORY_FLAGS


@pytest.mark.filterwarnings(r"ignore:\w+UCB\(hall=True\):DeprecationWarning")
@each(("name", "flag"), FLAGS)
def test_a_flag_means_what_it_says(name, flag):
    cls = DESCRIBED[name]
    for values, expected in ((YES, True), (NO, False)):
        for value in values:
            assert getattr(cls(**{flag: value}), flag) is expected
    for word, expected in (("no", False), ("off", False), ("0", False), ("False", False), ("yes", True), ("1", True)):
        call = parse_call(f"{name}:{flag}={word}")
        assert getattr(cls(**call.options), flag) is expected


@each(("name", "flag"), FLAGS)
def test_what_is_neither_true_nor_false_is_refused(name, flag):
    for value in NEITHER:
        with pytest.raises(InvalidInput, match=rf"'{flag}' parameter of \w+ must be true or false"):
            DESCRIBED[name](**{flag: value})


@each(("name", "flag"), BOUND_FLAGS)
def test_a_flag_of_a_bound_means_what_it_says(name, flag):
    is_order = flag == "in_order"  # which no seed goes with
    sample = [0.3, -0.2, 0.5] * (5 if is_order else 1)

    if flag == "check":  # which changes no value, see test_bounds.py
        sample = [0.0, 1.0, 0.0]

    def value(given):
        takes_seed = "seed" in inspect.signature(BOUNDS[name].function).parameters
        more = {"seed": 3} if takes_seed and not is_order else {}
        return BOUNDS[name].function(sample, 0.1, **{flag: given}, **NEEDS.get(name, {}), **more).value

    assert (value(True) == value(False)) is (flag == "check")
    assert all(value(given) == value(True) for given in YES)
    assert all(value(given) == value(False) for given in NO)
    for given in NEITHER:
        with pytest.raises(InvalidInput, match=rf"'{flag}' parameter of {name} must be true or false"):
            value(given)


@each(("name", "flag"), THEORY_FLAGS)
def test_a_flag_of_the_theory_means_what_it_says(name, flag):
    def value(given):
        return getattr(theory, name)(**{flag: given}, **NEEDS[name])

    assert value("no") == value(False) != value(True) == value("yes")
    with pytest.raises(InvalidInput, match=rf"'{flag}' parameter of {name} must be true or false"):
        value("maybe")


def test_the_sentence():
    with pytest.raises(InvalidInput) as refusal:
        check_flag("maybe", "plus", "KLUCB")
    expected = (
        "The 'plus' parameter of KLUCB must be true or false (or yes or no, on or off, 1 or 0). Got 'maybe' instead."
    )
    assert str(refusal.value) == expected

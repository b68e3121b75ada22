"""What every constructor of a policy or an environment keeps, and how it refuses what it does not take."""

import copy
import inspect
import pickle
import pydoc

import numpy as np
import pytest
from scipy import stats

from bandstrap.basics.calls import parse_call
from bandstrap.environments import ENVIRONMENTS, Gaussian
from bandstrap.errors import InvalidInput
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from sampling import each

NEEDS = {"arms": {"distributions": [stats.norm()]}, "empirical": {"rewards": {"a": [1.0], "b": [2.0]}}}
EVERYTHING = POLICIES | LINEAR_POLICIES | ENVIRONMENTS
ALL_POLICIES = POLICIES | LINEAR_POLICIES
everything = each("name", EVERYTHING)
every_policy = each("name", ALL_POLICIES)


def made(name, **more):
    return EVERYTHING[name](**NEEDS.get(name, {}), **more)


@everything
def test_an_unknown_parameter_is_refused_with_those_there_are_and_the_nearest(name):
    cls = EVERYTHING[name]
    known = list(inspect.signature(cls).parameters)
    for right in known:
        wrong = right[0] + right[2] + right[1] + right[3:] if len(right) > 3 and right[1] != right[2] else right + "x"
        with pytest.raises(InvalidInput) as refusal:
            made(name, **{wrong: 1})
        expected = f"{cls.__name__} has no parameter {wrong!r} (did you mean "
        assert str(refusal.value).startswith(expected)
        assert str(refusal.value).endswith(f"?); it takes {', '.join(known)}.")
        assert refusal.value.__cause__ is None
    with pytest.raises(InvalidInput, match=rf"^{cls.__name__} has no parameter 'zzzzzz'; it takes"):
        made(name, zzzzzz=1)


@everything
def test_a_value_too_many_is_refused(name):
    cls = EVERYTHING[name]
    by_place = [p for p in inspect.signature(cls).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    with pytest.raises(InvalidInput, match=rf"^{cls.__name__} takes its parameters by name: .*Got 7 without a name\.$"):
        cls(*[None for _ in by_place], 7)


@pytest.mark.parametrize(("name", "parameter"), [("arms", "distributions"), ("empirical", "rewards")])
def test_what_is_needed_must_be_given(name, parameter):
    with pytest.raises(InvalidInput, match=rf"needs the parameter '{parameter}'; it takes {parameter}\.$"):
        EVERYTHING[name]()


def test_a_parameter_given_twice_is_refused():
    with pytest.raises(InvalidInput, match=r"^Gaussian was given the parameter 'means' twice\.$"):
        Gaussian([1.0], means=[2.0])


@pytest.mark.parametrize("arms", [np.array("a"), np.array(None), np.timedelta64(3, "s"), "ab"], ids=repr)
def test_arms_without_a_number_or_an_order_are_refused(arms):
    with pytest.raises(
        InvalidInput, match="'arms' parameter of UCB1 must be a positive number or a non-empty sequence"
    ):
        POLICIES["ucb1"](arms=arms)
    live = POLICIES["ucb1"](arms=2)
    with pytest.raises(InvalidInput, match=r"'arm' parameter of UCB1\.update must be one of"):
        live.update(np.array(None), [0.5])
    with pytest.raises(InvalidInput, match="'distributions' parameter of Arms must be"):
        ENVIRONMENTS["arms"](np.array(None))


@everything
def test_signature_and_help_show_all_parameters(name):
    cls = EVERYTHING[name]
    shown = set(inspect.signature(cls).parameters)
    assert set(cls.parameters()) <= shown
    assert not {"self", "online", "options"} & shown
    if name in ALL_POLICIES:
        assert {"rng", "direction", "compiled"} <= shown
    first = pydoc.plain(pydoc.render_doc(cls)).splitlines()
    assert any(f"{cls.__name__}(" in line and all(parameter in line for parameter in shown) for line in first)


@everything
def test_pickles_and_copies_are_the_same(name):
    one = made(name)
    twins = [pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)]  # noqa: S301
    for twin in twins + ([one.copy()] if name in ALL_POLICIES else []):
        assert type(twin) is type(one)
        assert twin.label == one.label


def test_a_type_error_of_another_kind_is_not_hidden():
    class Broken(Gaussian):
        def __init__(self, **options):
            self.extra = options.pop("extra", 1) + 1
            super().__init__(**options)

    assert Broken(extra=2).extra == 3  # more than its signature tells
    with pytest.raises(TypeError, match="unsupported operand"):
        Broken(extra=None, n_arms=3)
    assert Broken not in ENVIRONMENTS.values()  # which hold what is ours


def test_the_naive_bootstrap_has_no_correction_to_set():
    for parameter in ("sigma", "correction", "phi", "beta", "constant"):
        with pytest.raises(InvalidInput, match=f"^NaiveBootstrappedUCB has no parameter '{parameter}'"):
            POLICIES["naive_bootstrapped_ucb"](**{parameter: 2})


@every_policy
@each("compiled", ["yes", 1, None, np.True_, np.array([True])], ids=repr)
def test_compiled_is_true_or_false(name, compiled):
    cls = ALL_POLICIES[name]
    options = {"arms": 2} if name in POLICIES else {}
    with pytest.raises(
        InvalidInput, match=rf"^The 'compiled' parameter of {cls.__name__} must be True or False\. Got "
    ):
        cls(compiled=compiled, **options)


@every_policy
def test_a_call_as_text_cannot_ask_for_a_compiled_policy(name):
    """Simulations are compiled anyway."""
    with pytest.raises(InvalidInput, match=r"'compiled' parameter of \w+ must be left out of a simulation"):
        ALL_POLICIES[name].from_call(compiled=True)


# --- direction --------------------------------------------------------------------------------------------------------


@every_policy
def test_a_direction_that_is_not_the_default_shows(name):
    cls = ALL_POLICIES[name]
    policy = cls(direction="min")
    assert policy.settings() == {"direction": "min"}
    assert policy.label == f"{name}:direction=min"
    assert repr(policy) == f"{cls.__name__}(direction='min')"
    assert cls(direction="max").label == name
    assert cls(**parse_call(policy.label).options).settings() == policy.settings()
    again = eval(repr(policy), {cls.__name__: cls})  # noqa: S307
    assert again.settings() == policy.settings()
    assert again.direction == "min"


@each("name", POLICIES)
def test_a_live_policy_shows_its_direction_and_its_arms(name):
    policy = POLICIES[name](arms=["a", "b"], rng=0, direction="min")
    assert repr(policy) == f"{type(policy).__name__}(direction='min', arms=['a', 'b'])"


@each("name", LINEAR_POLICIES)
def test_a_linear_policy_shows_its_dimension(name):
    policy = LINEAR_POLICIES[name](dimension=3, direction="min")
    assert policy.label == f"{name}:dimension=3,direction=min"
    assert repr(policy) == f"{type(policy).__name__}(dimension=3, direction='min')"


# --- schedules --------------------------------------------------------------------------------------------------------

SCHEDULED = [name for name, cls in ALL_POLICIES.items() if "horizon" in cls.parameters()]


@each("name", SCHEDULED)
@each(
    "alpha",
    [None, 0.05, "1/T^2", "1/(t log^tau t)", lambda t: 1 / (t + 1)],
    ids=["default", "number", "horizon", "logarithmic", "callable"],
)
def test_horizon_and_tau_are_checked_whatever_the_rule(name, alpha):
    cls = ALL_POLICIES[name]
    rule = {} if alpha is None or "alpha" not in cls.parameters() else {"alpha": alpha}
    for horizon in ("abc", 0, -1, 2.0, True, float("nan")):
        with pytest.raises(
            InvalidInput, match=rf"'horizon' parameter of {cls.__name__} must be an integer of at least 1"
        ):
            cls(horizon=horizon, **rule)
    if "tau" in cls.parameters():
        for tau in ("abc", 0, -1.0, True, None, float("nan")):
            with pytest.raises(
                InvalidInput, match=rf"'tau' parameter of {cls.__name__} must be a finite number greater"
            ):
                cls(tau=tau, **rule)

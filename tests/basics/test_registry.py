"""A name is given once, and not to a stranger."""

import pytest

from bandstrap.basics.registry import register
from bandstrap.environments import ENVIRONMENTS, Environment
from bandstrap.errors import InvalidInput
from bandstrap.policies import LINEAR_POLICIES, POLICIES, Policy
from bandstrap.policies.linear.linear_policy import LinearPolicy


@pytest.mark.parametrize(
    ("base", "registry", "taken"),
    [
        (Policy, POLICIES, "UCB1"),
        (LinearPolicy, LINEAR_POLICIES, "OFUL"),
        (Environment, ENVIRONMENTS, "Gaussian"),
    ],
)
def test_a_class_from_outside_may_not_take_a_name_of_ours_and_is_not_entered(base, registry, taken):
    before = dict(registry)
    message = (
        f"'name' parameter of .*{taken} must be other than the names of bandstrap, where '{taken.lower()}' is {taken}"
    )
    with pytest.raises(InvalidInput, match=message):
        type(taken, (base,), {"__module__": "mine"})
    type("MyOwn", (base,), {"__module__": "mine"})
    assert registry == before


def test_a_name_of_ours_is_given_once_and_again_to_the_same_class():
    registry = {}
    one, again, other = (type(name, (), {"__module__": "bandstrap.somewhere"}) for name in ("One", "One", "Other"))
    register(registry, "one", one)
    register(registry, "one", again)  # its module was loaded again
    assert registry == {"one": again}
    with pytest.raises(InvalidInput, match="where 'one' is One"):
        register(registry, "one", other)

import pytest

from bandstrap.calls import Call, parse_call
from bandstrap.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("sign_flip", "sign_flip", {}),
        ("hoeffding:sigma=2", "hoeffding", {"sigma": 2}),
        ("betting:support=(0,1),share=0.75", "betting", {"support": (0, 1), "share": 0.75}),
        ("betting:support=[-1, 1]", "betting", {"support": (-1, 1)}),
        ("linear_bandit:theta=(2.5,),scale=3", "linear_bandit", {"theta": (2.5,), "scale": 3}),
        ("linear_bandit:actions=((1,0),(2,-3)),scale=3", "linear_bandit", {"actions": ((1, 0), (2, -3)), "scale": 3}),
        ("linear_bandit:scale=3,actions=((1,),(2,))", "linear_bandit", {"scale": 3, "actions": ((1,), (2,))}),
        ("bootstrap:correction=sharp,randomized=true", "bootstrap", {"correction": "sharp", "randomized": True}),
    ],
)
def test_parses(text, name, options):
    assert parse_call(text) == Call(name, options)
    assert parse_call(str(parse_call(text))) == Call(name, options)


@pytest.mark.parametrize("text", ["", ":sigma=2", "hoeffding:", "hoeffding:sigma", "hoeffding:sigma=", "hoeffding:2=3"])
def test_refuses_what_is_not_a_call(text):
    with pytest.raises(InvalidInput, match="is not of the form"):
        parse_call(text)

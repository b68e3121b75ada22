import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.policies.linear.known_actions import KnownActions, doubled, find_action, record, start_known
from naive import linear as naive
from policies.linear.compiled import CALLS


def recorded(X, y):
    known = start_known(X.shape[1], len(X) + 2)
    return known, [record(known, x, reward) for x, reward in zip(X, y, strict=True)]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 60), st.integers(0, 2**32), st.sampled_from([1e-50, 1.0, 1e50]))
def test_each_action_has_the_count_mean_and_squares_of_its_rewards(d, n, seed, scale):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)) / 3
    y = (5 + rng.normal(size=n)) * scale
    known, places = recorded(X, y)
    expected = naive.distinct(X)
    assert known.size[0] == len(expected)
    for k, x in enumerate(expected):
        own = y[(x == X).all(axis=1)]
        assert tuple(known.features[k]) == x
        assert find_action(known, np.array(x)) == k
        assert known.pulls[k] == own.size
        assert known.means[k] == pytest.approx(own.mean(), rel=1e-13)
        assert known.squares[k] == pytest.approx(((own - own.mean()) ** 2).sum(), rel=1e-9, abs=1e-26 * scale**2)
        assert known.squares[k] >= 0
    assert [tuple(known.features[place]) for place in places] == [tuple(x) for x in X]
    assert find_action(known, np.full(d, 0.5)) == -1


def test_plain_and_compiled_searches_find_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-1, 2, (80, 3)) / 3, rng.normal(size=80)
    plain, _ = recorded(X, y)
    for x in [*X[:5], np.full(3, 0.5), X[0] * (1 + 2**-52)]:
        assert find_action(plain, x) == CALLS[find_action](plain, x)


@pytest.mark.parametrize("find", [find_action, CALLS[find_action]], ids=["plain", "compiled"])
def test_actions_are_told_apart_by_every_feature_and_nothing_is_known_at_first(find):
    known = start_known(3, 4)
    assert find(known, np.zeros(3)) == -1  # though there is room filled with zeros
    for x in ([1.0, 2.0, 3.0], [1.0, 2.0, 4.0], [0.0, 2.0, 3.0]):
        record(known, np.array(x), 1.0)
    assert known.size[0] == 3
    assert [find(known, np.array(x)) for x in ([0.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 0.0, 3.0])] == [2, 0, -1]
    assert find(known, np.array([-0.0, 2.0, 3.0])) == 2
    assert find(known, np.zeros(3)) == -1


def test_doubling_keeps_all_and_gives_room():
    X, y = np.arange(12.0).reshape(4, 3), np.arange(4.0)
    known, _ = recorded(X, y)
    larger = doubled(known)
    assert isinstance(larger, KnownActions)
    assert larger.size is known.size
    assert larger.features.shape == (12, 3)
    for one, other in zip(known, larger, strict=True):
        assert (other[: len(one)] == one).all()
        assert (other[len(one) :] == 0).all()
    assert larger.pulls.dtype == np.int64

"""Old names of parameters."""

import inspect
import warnings

import pytest

from bandstrap.basics.deprecation import renamed, with_new_names
from bandstrap.errors import InvalidInput


@renamed(rng="seed", missing="na")
def draw(n: int, *, seed: int | None = None, na: str = "") -> tuple[int, int | None, str]:
    """Draw."""
    return n, seed, na


def test_old_names_work_and_warn_at_the_caller():
    with pytest.warns(DeprecationWarning, match="'rng' parameter of draw is called 'seed'") as caught:
        assert draw(1, rng=3) == (1, 3, "")
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="is called") as caught:
        assert draw(1, rng=3, missing="x") == (1, 3, "x")
    assert len(caught) == 2


def test_new_names_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert draw(1, seed=3, na="x") == (1, 3, "x")
        assert with_new_names({"seed": 1}, {"rng": "seed"}, "draw") == {"seed": 1}


def test_both_names_are_refused():
    with pytest.raises(InvalidInput, match="'seed' parameter of draw and its old name 'rng' cannot both"):
        draw(1, rng=3, seed=4)


def test_only_new_names_are_shown():
    assert list(inspect.signature(draw).parameters) == ["n", "seed", "na"]
    assert draw.__doc__ == "Draw."

"""What annotations and docstrings say of parameters is what the package does with them."""

import inspect
import re
import typing
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from scipy import stats

from bandstrap import bootstrap_quantile, theory
from bandstrap.bounds import BOUNDS, coverage
from bandstrap.environments import ENVIRONMENTS
from bandstrap.errors import InvalidInput
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from bandstrap.policies.kernels.schedule import LevelRule
from sampling import each

CLASSES = POLICIES | LINEAR_POLICIES | ENVIRONMENTS
every_class = pytest.mark.parametrize("name", CLASSES)


def handed_on(cls):
    """The keywords of a constructor's ``**options``, as type checkers know them, with their types."""
    constructor = cls.__init__
    hints = get_type_hints(constructor)
    rest = [p.name for p in inspect.signature(constructor).parameters.values() if p.kind is p.VAR_KEYWORD]
    if not rest:
        return {}
    assert get_origin(hints[rest[0]]) is typing.Unpack
    (options,) = get_args(hints[rest[0]])
    options = get_origin(options) or options  # where it depends on the labels of arms
    assert not options.__required_keys__
    return get_type_hints(options)


def own_hints(constructor):
    named = [p.name for p in inspect.signature(constructor).parameters.values() if p.kind is not p.VAR_KEYWORD]
    return {name: hint for name, hint in get_type_hints(constructor).items() if name in named}


@every_class
def test_type_checkers_know_the_parameters_that_the_signature_shows(name):
    cls = CLASSES[name]
    own, rest = own_hints(cls.__init__), handed_on(cls)
    assert not own.keys() & rest.keys()
    assert own.keys() | rest.keys() == inspect.signature(cls).parameters.keys()


@every_class
def test_what_is_handed_on_has_the_types_of_the_constructor_that_takes_it(name):
    cls = CLASSES[name]
    for parameter, hint in handed_on(cls).items():
        takers = [part for part in cls.__mro__ if "__init__" in vars(part) and parameter in own_hints(part.__init__)]
        assert own_hints(takers[0].__init__)[parameter] == hint


@every_class
def test_no_parameter_takes_anything_or_any_word(name):
    cls = CLASSES[name]
    loose = {p for p, hint in {**own_hints(cls.__init__), **handed_on(cls)}.items() if hint in (Any, str)}
    assert loose <= {"noise"}  # a word with options, or a distribution


# --- words ------------------------------------------------------------------------------------------------------------

PROBLEM = {"gaps": [0.0, 1.0], "horizon": 100, "sigma": 1.0, "beta": 1.0}
NEEDS = {
    **{cls: {} for cls in (*POLICIES.values(), *LINEAR_POLICIES.values(), *ENVIRONMENTS.values())},
    **{entry.function: {"sample": [0.0, 1.0], "alpha": 0.1} for entry in BOUNDS.values()},
    coverage: {"distribution": stats.norm(), "sample_size": 2, "bounds": ["sign_flip"], "replications": 1},
    bootstrap_quantile: {"sample": [0.0, 1.0], "level": 0.1},
    theory.divergence: {"mean": 0, "best_mean": 1},
    theory.lai_robbins_bound: {"means": [0, 1], "horizon": 10},
    theory.gap_free_bound: PROBLEM,
    theory.problem_dependent_bound: PROBLEM,
}
BOUND_OPTIONS = ({}, {"sigma": 1.0}, {"support": (0, 1)}, {"sigma": 1.0, "beta": 1.0})


def worded():
    for owner in NEEDS:
        hints = get_type_hints(owner.__init__ if isinstance(owner, type) else owner)
        hints |= handed_on(owner) if isinstance(owner, type) else {}
        for parameter, hint in hints.items():
            if get_origin(hint) is Literal:
                yield owner, parameter, get_args(hint)


@each(("owner", "parameter", "words"), list(worded()), ids=lambda value: getattr(value, "__name__", None) or str(value))
def test_the_words_of_an_annotation_are_those_a_refusal_names(owner, parameter, words):
    refusals = set()
    for options in BOUND_OPTIONS if owner in {entry.function for entry in BOUNDS.values()} else ({},):
        try:
            owner(**NEEDS[owner], **options, **{parameter: "zzz"})
        except InvalidInput as refusal:
            refusals.add(str(refusal))
        except TypeError:  # a bound without that option
            continue
    expected = f"must be one of {', '.join(map(repr, words))}. Got 'zzz' instead."
    assert any(f"'{parameter}' parameter" in refusal and refusal.endswith(expected) for refusal in refusals)


def test_words_are_found_everywhere():
    found = {(owner.__name__, parameter) for owner, parameter, _ in worded()}
    assert {("UCB1", "direction"), ("OFUL", "radius"), ("sign_flip", "side"), ("bootstrap_quantile", "method")} <= found
    assert len(found) > 60


@pytest.mark.parametrize("word", get_args(LevelRule))
def test_a_schedule_is_one_of_its_words(word):
    assert POLICIES["ucb1"](alpha=word, horizon=10, arms=2).select() == 0


def test_a_refused_schedule_is_answered_with_its_words():
    words = ", ".join(map(repr, get_args(LevelRule)))
    with pytest.raises(InvalidInput, match=re.escape(f"one of {words}, a number in (0, 1) or a callable")):
        POLICIES["ucb1"](alpha="1/t")


# --- docstrings -------------------------------------------------------------------------------------------------------


@every_class
def test_help_explains_every_parameter_and_sends_nobody_elsewhere_for_it(name):
    cls = CLASSES[name]
    text = inspect.getdoc(cls)
    headings = re.findall(r"^(\w+(?:, \w+)*)\n    \S", text, re.M)
    explained = {parameter for heading in headings for parameter in heading.split(", ")}
    assert inspect.signature(cls).parameters.keys() <= explained
    assert "See :class:" not in text
    base = next(part for part in cls.__mro__ if part.__name__ in ("Policy", "LinearPolicy", "Environment"))
    for parameter in handed_on(cls).keys() & own_hints(base.__init__).keys():
        entry = re.search(rf"^{parameter}(\n    .*)+", inspect.getdoc(base), re.M)[0]
        assert f"{entry}\n" in f"{text}\n"


def test_a_pointer_to_what_is_not_explained_stays():
    from bandstrap import UCB1

    class Own(UCB1):
        """Mine.

        Parameters
        ----------
        arms, rng, direction
            See :class:`bandstrap.Policy`.
        tau, nothing
            See :class:`bandstrap.UCB1`.
        sigma
            See :class:`elsewhere.Thing`.
        """

    assert "arms\n    Labels of the arms" in Own.__doc__
    assert "tau, nothing\n    See :class:`bandstrap.UCB1`." in Own.__doc__
    assert "sigma\n    See :class:`elsewhere.Thing`." in Own.__doc__

"""What ``make test`` runs and what is left to ``make test-all``, and many small tests in one.

What is marked ``exhaustive`` is run by ``make test-all`` alone: every cell of a table, every policy where a few stand for
all kinds, faults, long statistics, notebooks. ``telling`` marks all values of a parameter but a few. ``each`` tries all
values of a parameter in one test, where a test for each would take longer to begin than to run.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pytest

exhaustive = pytest.mark.exhaustive

# One policy for each kind of state and of choice: sums with a score, sums with draws and a range, moments with three first
# rewards, a history that is resampled, signs that are remembered, a round of duels, and sums of the third power.
POLICY_KINDS = (
    "ucb1",
    "bernoulli_ts",
    "gaussian_ts_unknown_variance",
    "giro",
    "bootstrapped_ucb",
    "subsample_duels",
    "studentized_ucb",
)
# Of these kinds, those whose live policies are tried as machine code too, which takes longer to compile than to test:
# sums, a history, and a round of duels.
COMPILED_KINDS = ("ucb1", "giro", "subsample_duels", "lin_ucb")
# A width in closed form, replicates that stream, and known actions whose perturbed rewards are drawn.
LINEAR_KINDS = ("lin_ucb", "linear_bootstrapped_ucb", "linear_phe")


def telling(
    names: str | Sequence[str], values: Iterable[Any], keep: Collection[Any] | Callable[..., bool], **options: Any
) -> Any:
    """``pytest.mark.parametrize`` with all values marked as exhaustive but those to keep.

    ``keep`` holds them, or says of a value (of several, if there are several names) whether it is one of them.
    """
    sets = parameter_sets(names, values)
    is_kept = keep if callable(keep) else lambda *values: (values[0] if len(values) == 1 else values) in keep
    kept = [is_kept(*one.values) for one in sets]
    assert sum(kept) >= (1 if callable(keep) else len(keep)), "what is to be kept is not there"
    return pytest.mark.parametrize(
        names,
        [
            one if is_telling else pytest.param(*one.values, marks=[*one.marks, exhaustive], id=one.id)
            for one, is_telling in zip(sets, kept, strict=True)
        ],
        **options,
    )


def either_way(cases: Iterable[Any], keep: Collection[Any], ident: Callable[[Any], str]) -> Any:
    """``telling`` for a ``case``, ``(name, options)``, and ``compiled``: a live policy in plain Python, or machine code.

    Of the cases to keep, those of ``COMPILED_KINDS`` are kept as machine code.
    """
    ways = [(case, compiled) for case in cases for compiled in (False, True)]
    sets = [pytest.param(*way, id=f"{ident(way[0])}-{'compiled' if way[1] else 'plain'}") for way in ways]
    return telling(
        ("case", "compiled"), sets, lambda case, compiled: case in keep and (not compiled or case[0] in COMPILED_KINDS)
    )


def each(names: str | Sequence[str], values: Iterable[Any], **options: Any) -> Callable[..., Any]:
    """``pytest.mark.parametrize`` within one test: all values are tried, and those that fail are told together.

    Fixtures are those of the one test. Options (``ids``) are for parametrize's sake.
    """
    named, sets = names_of(names), parameter_sets(names, values)
    assert sets, "there is nothing to try"
    assert not any(one.marks for one in sets), "marks need a test of their own"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def try_all(**others: Any) -> None:
            failures: list[BaseException] = []
            for one in sets:
                given = dict(zip(named, one.values, strict=True))
                try:
                    test(**others, **given)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - told below
                    error.add_note(f"with {given if one.id is None else one.id}")
                    failures.append(error)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(sets)} fail", failures)

        parameters = inspect.signature(test).parameters
        assert set(named) <= set(parameters), f"{test.__name__} takes no {named}"
        rest = [parameter for name, parameter in parameters.items() if name not in named]
        try_all.__signature__ = inspect.Signature(rest)  # type: ignore[attr-defined]
        return try_all

    return decorate


def names_of(names: str | Sequence[str]) -> list[str]:
    """Names of parameters as parametrize takes them."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def parameter_sets(names: str | Sequence[str], values: Iterable[Any]) -> list[Any]:
    """What parametrize makes of values."""
    several = len(names_of(names)) > 1
    return [
        value
        if hasattr(value, "marks") and hasattr(value, "values")
        else pytest.param(*(value if several else [value]))
        for value in values
    ]

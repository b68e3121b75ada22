"""Old names of parameters and classes: they still work, and each warns once per place that uses it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from bandstrap.errors import InvalidInput

# What every warning about an old name begins with, as a regular expression.
OLD_NAME = r"The '.*' parameter of .* is called '.*' now;"

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def renamed(**new_names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take parameters by their old names, with a ``DeprecationWarning``.

    Parameters
    ----------
    **new_names
        The new name of each old one. Signature, docstring and type checkers know the new ones alone.

    Examples
    --------
    >>> import warnings
    >>> @renamed(rng="seed")
    ... def draw(*, seed=None):
    ...     return seed
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     draw(rng=3)
    3
    >>> print(caught[0].message)
    The 'rng' parameter of draw is called 'seed' now; the old name goes with the next minor release.
    """

    def accept(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*values: P.args, **options: P.kwargs) -> R:
            if new_names.keys() & options.keys():
                given: Any = with_new_names(options, new_names, function.__name__)
                return function(*values, **given)
            return function(*values, **options)

        return call

    return accept


def with_new_names(
    options: Mapping[str, T], new_names: Mapping[str, str], owner: str, *, stacklevel: int = 2
) -> dict[str, T]:
    """Options under their new names; each old one warns, and both names of one parameter are refused.

    ``stacklevel`` counts as that of ``warnings.warn`` called in the place of this function.
    """
    found = dict(options)
    for old, new in new_names.items():
        if old not in found:
            continue
        if new in found:
            raise InvalidInput(f"The '{new}' parameter of {owner} and its old name '{old}' cannot both be given.")
        warnings.warn(
            f"The '{old}' parameter of {owner} is called '{new}' now; the old name goes with the next minor release.",
            DeprecationWarning,
            stacklevel=stacklevel + 1,
        )
        found[new] = found.pop(old)
    return found


def old_name(name: str, new_names: Mapping[str, str], module: str) -> str:
    """The new name of something in a module, with a ``DeprecationWarning``; no attribute if it never had another.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     old_name("Status", {"Status": "FolderStatus"}, "bandstrap.experiments")
    'FolderStatus'
    >>> print(caught[0].message)
    bandstrap.experiments.Status is called FolderStatus now; the old name goes with the next minor release.
    """
    if name not in new_names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    message = f"{module}.{name} is called {new_names[name]} now; the old name goes with the next minor release."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return new_names[name]

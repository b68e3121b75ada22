"""The difference of two means: the frame every method is built in, the registry, and the function that calls them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Bools, Floats
from bandstrap.basics.calls import Call, Options, parse_call
from bandstrap.basics.deprecation import with_new_names
from bandstrap.bounds.bound import (
    SIDES,
    Bound,
    BoundFunction,
    BoundOptions,
    MirroredThreshold,
    Side,
    ends_of,
    from_ends,
    note_on_crossed_ends,
)
from bandstrap.errors import (
    AssumptionWarning,
    InvalidInput,
    brief,
    check_choice,
    check_flag,
    read_numbers,
    requirement,
    sample_mean,
    warn_caller,
)

OWNER = "difference"
# What notes call the two groups unless they are told.
NAMES = ("the first group", "the second group")
NO_SPREAD = "the bound is infinite: each group needs two rewards or more, and some that differ"


@dataclass(frozen=True)
class RegisteredDifference:
    """One registered method.

    Attributes
    ----------
    name, function
        The method and its name in ``difference(method=...)``.
    reads_spread
        Whether it reads its width off the spread of the groups, so that a group without any is worth a note.
    draws
        Whether it takes ``seed``.
    """

    name: str
    function: Callable[..., Bound]
    reads_spread: bool
    draws: bool

    @property
    def summary(self) -> str:
        """First line of the docstring; empty where Python was told to leave docstrings out (-OO)."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


DIFFERENCES: dict[str, RegisteredDifference] = {}


def register(*, reads_spread: bool, draws: bool = False) -> Callable[[BoundFunction], BoundFunction]:
    """Register a method; what the arguments mean is said at :class:`RegisteredDifference`."""

    def add(function: BoundFunction) -> BoundFunction:
        DIFFERENCES[function.__name__] = RegisteredDifference(function.__name__, function, reads_spread, draws)
        return function

    return add


def difference(
    first: ArrayLike,
    second: ArrayLike,
    alpha: float = 0.05,
    *,
    method: str = "welch",
    side: Side = "two-sided",
    names: tuple[str, str] = NAMES,
    check: bool = True,
    **options: object,
) -> Bound:
    r"""Bound the mean of one group minus that of another.

    Parameters
    ----------
    first, second
        Rewards of shapes ``(..., m)`` and ``(..., n)``, with the same batch shape.
    alpha
        Error probability in (0, 1/2); both ends share it if two-sided.
    method
        ``"welch"``
            Welch's t (default), the usual reference: approximate for normal rewards, else for large groups.
        ``"permutation"``
            Inverts the permutation test of a shift. Exact if the groups differ only by a shift.
        ``"bootstrap"``
            The multiplier bootstrap of the difference. For large groups.
        ``"bootstrap_t"``
            The studentised bootstrap, for skewed rewards. For large groups.
        ``"betting"``
            Betting on pairs of rewards in a known support. Proved for them.
        ``"union"``
            A bound on each mean, such as ``"union:bound=betting,support=(0,1)"``. Proved if the bound on each mean is.

        Options may follow the name, as in ``"permutation:n_permutations=9999"``, or be given as arguments. They are the
        parameters of the function of that name in ``bandstrap.bounds.differences``.
    side
        ``"two-sided"`` (default), ``"upper"`` or ``"lower"``.
    names
        Names of the two groups in notes.
    check
        Test the groups for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.
    **options
        Options of the method, such as ``seed``.

    Returns
    -------
    Bound
        A bound on the difference; ``mean`` is the difference of the sample means. Its notes say which information the
        groups lack.

    See Also
    --------
    bandstrap.bounds.compare : many groups with one control, with simultaneous bounds.

    Examples
    --------
    >>> from bandstrap.bounds import difference
    >>> first, second = [3.1, 2.4, 4.4, 3.8, 2.9], [1.8, 2.2, 2.6, 1.1]
    >>> difference(first, second).value
    (0.271, 2.519)
    >>> difference(first, second, method="permutation").value
    (0.3, 2.6)
    >>> difference(first, second, method="union", bound="hoeffding", support=(0, 5)).value
    (-5.6, 8.4)
    """
    name, given = named_method(method, options, OWNER, DIFFERENCES)
    try:
        bound = DIFFERENCES[name].function(first, second, alpha, side=side, check=check, **given)
    except TypeError as error:
        raise InvalidInput(f"The method {name} does not take these options: {error}.") from None
    bound = with_names(bound, names)
    for note in (
        bound.notes if check and np.ndim(bound.mean) == 0 else ()
    ):  # of a batch, which is a study, the notes tell
        warn_caller(f"{name}: {note}.", AssumptionWarning)
    return bound


def named_method(method: str, options: BoundOptions, owner: str, methods: Collection[str]) -> tuple[str, Options]:
    """The name of a method, and its options: those that follow the name, and those that were given beside it."""
    call = parse_call(method) if isinstance(method, str) else Call(method, {})
    given = with_new_names({**call.options, **options}, {"rng": "seed"}, owner, stacklevel=3)
    return check_choice(call.name, "method", owner, methods), given


def with_names(bound: Bound, names: tuple[str, str]) -> Bound:
    """The bound with these names of groups in what it says."""
    called = dict(zip(NAMES, names, strict=True))

    def told(sentence: str) -> str:
        # In one go, for a group may be called "the second group".
        return re.sub("|".join(NAMES), lambda found: called[found[0]], sentence)

    why = None if bound.why_infinite is None else told(bound.why_infinite)
    return replace(bound, notes=tuple(map(told, bound.notes)), why_infinite=why)


def build(
    name: str,
    first: Floats,
    second: Floats,
    alpha: float,
    side: Side,
    threshold: MirroredThreshold,
    *,
    guarantee: float | None,
    holds_for: str,
    order: str | None = None,
    notes: Sequence[str] = (),
    check: bool = True,
    contradicted: bool = False,
) -> Bound:
    """Turn an upper threshold into a :class:`Bound`; ends that cross become ``nan``, and a note says so.

    ``contradicted`` says that one of the ``notes`` is a contradiction of the assumption.
    """
    check = check_flag(check, "check", name)
    mean = difference_of_means(first, second, name)
    ends = ends_of(mean, alpha, side, threshold)
    every = (
        *notes,
        *(notes_on_spread(first, second) if DIFFERENCES[name].reads_spread else ()),
        *note_on_crossed_ends(ends.lower, ends.upper, guarantee, holds_for, order),
    )
    return from_ends(
        name,
        alpha,
        side,
        mean,
        ends,
        guarantee,
        holds_for,
        order,
        every,
        check=check,
        contradicted=contradicted,
        sizes=(first.shape[-1], second.shape[-1]),
    )


def check_groups(first: ArrayLike, second: ArrayLike, owner: str, side: Side = "two-sided") -> tuple[Floats, Floats]:
    """Return both groups as finite floats of shapes ``(..., m)`` and ``(..., n)``, for a side that there is."""
    check_choice(side, "side", owner, SIDES)
    groups = [check_group(group, key, owner) for key, group in (("first", first), ("second", second))]
    if groups[0].shape[:-1] != groups[1].shape[:-1]:
        rule = "of the same batch shape as 'first'"
        raise requirement("second", owner, rule, f"shape {groups[1].shape} beside {groups[0].shape}")
    return groups[0], groups[1]


def check_group(group: ArrayLike, parameter: str, owner: str) -> Floats:
    """Return one group as finite floats, at least one of them along the last axis."""
    rewards = read_numbers(group, parameter, owner, "numbers of shape (..., n)", kinds="biuf")
    if rewards.ndim == 0 or rewards.shape[-1] == 0:
        raise requirement(parameter, owner, "at least one reward along its last axis", f"shape {rewards.shape}")
    finite = np.isfinite(rewards)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise requirement(
            parameter, owner, "finite", f"{rewards[where]} at position {where[0] if len(where) == 1 else where}"
        )
    return rewards


def check_named(groups: object, owner: str) -> dict[str, Floats]:
    """Return groups by name as finite floats of one axis."""
    if not isinstance(groups, Mapping) or not groups or not all(isinstance(name, str) for name in groups):
        raise requirement("groups", owner, "rewards by name, such as {'red': [...], 'blue': [...]}", brief(groups))
    found = {}
    for name, group in groups.items():
        rewards = check_group(group, f"groups[{brief(name)}]", owner)
        if rewards.ndim != 1:
            raise requirement(f"groups[{brief(name)}]", owner, "of one axis", f"shape {rewards.shape}")
        found[name] = rewards
    return found


def scaled_groups(groups: Mapping[str, Floats]) -> tuple[dict[str, Floats], int]:
    """All groups divided by one power of two that brings their largest reward near 1, and its exponent."""
    exponent = max(int(np.frexp(np.abs(group).max())[1]) for group in groups.values())
    return {name: np.ldexp(group, -exponent) for name, group in groups.items()}, exponent


def of_all(guarantees: Iterable[float | None]) -> float | None:
    """Proved limit of the probability that any of several bounds misses: the sum, if each of them proves something.

    >>> of_all([0.025, 0.025]), of_all([0.025, None])
    (0.05, None)
    """
    known = list(guarantees)
    total = sum(each for each in known if each is not None)
    return None if None in known else min(1.0, total)


def difference_of_means(first: Floats, second: Floats, owner: str) -> Floats:
    """The mean of the first group minus that of the second, which must be a finite number."""
    with np.errstate(over="ignore"):
        mean = np.asarray(sample_mean(first) - sample_mean(second))
    if not np.isfinite(mean).all():
        raise requirement("first", owner, "of a mean whose distance from that of 'second' is finite", "an infinite one")
    return mean


def scaled_pair(first: Floats, second: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Both groups divided by one power of two that brings their largest reward near 1, and the exponents.

    The division is exact; it keeps squares from overflowing or vanishing.
    """
    largest = np.maximum(np.abs(first).max(axis=-1), np.abs(second).max(axis=-1))
    exponents = np.frexp(largest)[1].astype(np.int64)
    return np.ldexp(first, -exponents[..., None]), np.ldexp(second, -exponents[..., None]), exponents


def is_constant(group: Floats) -> Bools:
    """Return whether all rewards of a group are equal, along the last axis."""
    return (group == group[..., :1]).all(axis=-1)


def shows_nothing(first: Floats, second: Floats) -> Bools:
    """Return whether the spread of the difference cannot be read off: a group of one reward, or two of equal ones."""
    if min(first.shape[-1], second.shape[-1]) == 1:
        return np.full(first.shape[:-1], fill_value=True)
    return is_constant(first) & is_constant(second)


def notes_on_spread(first: Floats, second: Floats) -> list[str]:
    """Notes on groups whose one reward, or equal rewards, show no spread; none for a batch."""
    found = []
    for group, name in zip((first, second), NAMES, strict=True) if first.ndim == 1 else ():
        n = group.shape[-1]
        if n == 1:
            found.append(f"{name} has one reward, which cannot show how much rewards vary")
        elif is_constant(group):
            found.append(f"all {n} rewards of {name} are {group[0]:g}, which cannot show how much they vary")
    return found


def residuals(group: Floats) -> Floats:
    """Rewards less their mean; just 0 where they are equal, whose mean may differ from them by rounding."""
    return np.where(is_constant(group)[..., None], 0.0, group - group.mean(axis=-1, keepdims=True))


def variance(group: Floats) -> Floats:
    """The variance (1/(n-1)) of each group; just 0 where rewards are equal, and of one."""
    n = group.shape[-1]
    return np.where(is_constant(group), 0.0, group.var(axis=-1) * n / max(n - 1, 1))

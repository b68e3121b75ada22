"""What a bound is: the record every bound returns, the frame every bound is built in, and the registry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.arrays import Floats
from bandstrap.errors import brief, check_choice, check_number, check_sample, read_numbers, requirement, sample_mean

Side = Literal["upper", "lower", "two-sided"]
SIDES: tuple[Side, ...] = get_args(Side)
# Of one sample, and of each sample of a batch.
Number = float | Floats
Support = tuple[float, float]
# Numbers below 2 to this power have squares that are far from overflow.
LARGE_EXPONENT = 500


@dataclass(frozen=True)
class Bound:
    """A confidence bound on a mean.

    Numbers are floats for one sample and arrays of the batch shape for a batch of samples.

    Attributes
    ----------
    name
        The bound's name, as in ``bandstrap.bounds``.
    side
        ``"upper"``, ``"lower"`` or ``"two-sided"`` (each side at ``alpha / 2``).
    alpha
        The error probability asked for.
    mean
        The sample mean.
    lower, upper
        The ends; infinite on the side that was not asked for, or where the data cannot exclude any mean.
    parts
        What the distance from the mean to the bound is made of: ``"main"`` and, where the bound has them,
        ``"correction"`` and ``"phi"``. For two-sided bounds the keys start with ``"lower "`` or ``"upper "``.
    method
        How it was computed.
    guarantee
        The probability of missing the mean is at most this under ``holds_for``; ``None`` where nothing is proved at
        finite sample sizes.
    holds_for
        The assumption, in one sentence.
    """

    name: str
    side: Side
    alpha: float
    mean: Number
    lower: Number
    upper: Number
    parts: Mapping[str, Number]
    method: str
    guarantee: float | None
    holds_for: str

    @property
    def value(self) -> Any:  # which of the two a type checker cannot tell; ``lower`` and ``upper`` it can
        """The bound: a number, or the pair ``(lower, upper)`` if two-sided."""
        if self.side == "two-sided":
            return self.lower, self.upper
        return self.upper if self.side == "upper" else self.lower

    @property
    def width(self) -> Number:
        """Distance between mean and bound, or between the two ends if two-sided."""
        with np.errstate(over="ignore"):  # a width beyond the largest float is infinite
            if self.side == "two-sided":
                return self.upper - self.lower
            return self.upper - self.mean if self.side == "upper" else self.mean - self.lower

    def misses(self, mean: float) -> bool | NDArray[np.bool_]:
        """Whether a true ``mean`` lies beyond the bound."""
        return (mean > self.upper) | (mean < self.lower)


class Threshold(NamedTuple):
    """Distance from the mean to the upper bound, its parts, how it was computed, and the bound itself if it is known.

    A bound that is a reward, a mean of rewards or an end of the support must be handed over as it is: the mean plus its
    distance from the mean may come out a rounding below it.
    """

    width: Floats
    parts: Mapping[str, Floats]
    method: str = "closed-form"
    end: Floats | None = None


class UpperThreshold(Protocol):
    """The upper threshold of rewards of shape ``(..., n)``; ``mirrored`` says that their sign was turned."""

    def __call__(self, rewards: Floats, alpha: float, mirrored: bool, /) -> Threshold:
        """Width of the upper bound at ``alpha``."""
        ...


def build(
    name: str,
    sample: ArrayLike,
    alpha: float,
    side: Side,
    threshold: UpperThreshold,
    *,
    guarantee: float | None,
    holds_for: str,
) -> Bound:
    """Turn an upper threshold into a :class:`Bound`; a lower bound is the upper bound of the negated rewards."""
    rewards = check_sample(sample, name)
    alpha = check_number(alpha, "alpha", name, above=0, below=1)
    check_choice(side, "side", name, SIDES)
    mean = sample_mean(rewards)
    lower, upper = np.full_like(mean, -np.inf), np.full_like(mean, np.inf)
    parts: dict[str, Number] = {}
    methods = []
    one_sided = side != "two-sided"
    for end in ("lower", "upper"):
        if side in (end, "two-sided"):
            rewards_here = rewards if end == "upper" else -rewards
            with np.errstate(over="ignore"):  # a width beyond the largest float is infinite
                found = threshold(rewards_here, alpha if one_sided else alpha / 2, end == "lower")
            prefix = "" if one_sided else end + " "
            parts |= {prefix + key: as_number(value, mean.shape) for key, value in found.parts.items()}
            methods.append(found.method)
            mean_here = mean if end == "upper" else -mean
            with np.errstate(over="ignore"):  # a bound beyond the largest float is infinite
                found_end = np.asarray(mean_here + found.width if found.end is None else found.end)
            if end == "upper":
                upper = found_end
            else:
                lower = -found_end
    return Bound(
        name=name,
        side=side,
        alpha=alpha,
        mean=as_number(mean, mean.shape),
        lower=as_number(lower, mean.shape),
        upper=as_number(upper, mean.shape),
        parts=parts,
        method=" and ".join(dict.fromkeys(methods)),
        guarantee=guarantee,
        holds_for=holds_for,
    )


def as_number(value: ArrayLike, shape: tuple[int, ...]) -> Number:
    """A float for one sample, an array of the batch shape otherwise."""
    array = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
    return array.copy() if shape else float(array)


def check_support(support: Any, owner: str) -> Support:
    """Return ``support`` as a pair of finite floats, the lower one first."""
    rule = "a pair (low, high) of finite numbers with low < high"
    ends = read_numbers(support, "support", owner, rule, kinds="iuf")
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise requirement("support", owner, rule, brief(support))
    return float(ends[0]), float(ends[1])


def check_inside(rewards: Floats, support: Support, owner: str, mirrored: bool = False) -> None:
    """Refuse rewards outside the support they are said to have; the message shows both as they were given."""
    low, high = support
    if mirrored:
        rewards = -rewards
    outside = (rewards < low) | (rewards > high)
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        position = where[0] if len(where) == 1 else where
        rule = f"inside the support [{low:g}, {high:g}]"
        raise requirement("sample", owner, rule, f"{rewards[where]} at position {position}")


def scale_to_support(rewards: Floats, support: Support) -> tuple[Floats, Support, int]:
    """Rewards and support divided by a power of two, and its exponent: 0 unless the support is huge or tiny.

    The division is exact; it keeps the length of the support and squares from overflowing or vanishing.
    """
    exponent = math.frexp(max(abs(end) for end in support))[1]
    if abs(exponent) < LARGE_EXPONENT:
        return rewards, support, 0
    low, high = np.ldexp(support, -exponent)
    return np.ldexp(rewards, -exponent), (float(low), float(high)), exponent


def mirror(support: Support, mirrored: bool) -> Support:
    """The support of the rewards whose sign was turned."""
    return (-support[1], -support[0]) if mirrored else support


@dataclass(frozen=True)
class RegisteredBound:
    """One registered bound: what it assumes of the rewards and which options it cannot do without."""

    name: str
    function: Callable[..., Bound]
    assumes: str
    needs: tuple[str, ...]

    @property
    def summary(self) -> str:
        """First line of the docstring; empty where Python was told to leave docstrings out (-OO)."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


BOUNDS: dict[str, RegisteredBound] = {}
Function = TypeVar("Function", bound=Callable[..., Bound])


def register(*, assumes: str, needs: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Register a bound; listing, coverage lab, command line and benchmarks read the registry.

    ``assumes`` is one of ``"bounded"``, ``"symmetric"``, ``"sub-Gaussian"``, ``"sub-Weibull"`` and ``"normal"``.
    ``needs`` names options that must be given; ``"sigma|support"`` means one of the two.
    """

    def add(function: Function) -> Function:
        BOUNDS[function.__name__] = RegisteredBound(function.__name__, function, assumes, needs)
        return function

    return add

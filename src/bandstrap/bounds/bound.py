"""Bounds: the record every bound returns, the frame every bound is built in, and the registry."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.display import Display, Displayed
from bandstrap.basics.seeds import fixed_seed
from bandstrap.bounds.order import AS_GIVEN
from bandstrap.errors import (
    AssumptionWarning,
    InvalidInput,
    brief,
    check_choice,
    check_flag,
    check_number,
    check_sample,
    read_numbers,
    requirement,
    sample_mean,
    warn_caller,
)

Side = Literal["upper", "lower", "two-sided"]
SIDES: tuple[Side, ...] = get_args(Side)
# Of one sample, and of each sample of a batch.
FloatOrArray = float | Floats
Support = tuple[float, float]
# Options that a bound is called with, by name.
BoundOptions = Mapping[str, Any]
# That of rewards of two values, unless another is told.
ZERO_OR_ONE: Support = (0.0, 1.0)
# Numbers below 2 to this power have squares that are far from overflow.
LARGE_EXPONENT = 500
# What a bound may assume of rewards beside their independence. ``bounds/assumptions.py`` says of each which
# distributions meet it and which samples contradict it.
AssumptionName = Literal["bounded", "symmetric", "sub-Gaussian", "sub-Weibull", "normal", "binary"]
# A miss that is as likely as not is no error probability.
LARGEST_LEVEL = 0.5
# By this much of the largest reward, a mean is beyond a bound by rounding alone.
ROUNDING = 1e-9
# What draws add to a guarantee: it is for seeds that do not depend on the rewards, or that a hash derives from them.
OVER_DRAWS = ", over rewards and draws together"
MAY_BE_SORTED = "the rewards change along the sample, or it is sorted"
BEYOND_FLOATS = "the bound is infinite: it exceeds the largest floating-point number"


class Refuted(InvalidInput):
    """A sample rules out what a bound assumes; ``note`` is what is said of it beside other groups."""

    def __init__(self, refusal: InvalidInput, note: str) -> None:
        super().__init__(str(refusal))
        self.refusal, self.note = refusal, note

    def __reduce__(self) -> tuple[type[Refuted], tuple[InvalidInput, str]]:
        return type(self), (self.refusal, self.note)

    def of(self, group: str) -> Refuted:
        """The same, with the group it is on."""
        return Refuted(self.refusal, f"{group}: {self.note}")


@dataclass(frozen=True)
class Bound(Displayed):
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
        The ends of the interval. An end is infinite on the side not asked for, or if the data cannot exclude any mean.
        Both are ``nan`` if the data exclude every mean, see ``excludes_all``.
    parts
        Parts of the distance from the mean to the bound: ``"main"`` and, if the bound has them, ``"correction"`` and
        ``"phi"``. For two-sided bounds the keys start with ``"lower "`` or ``"upper "``.
    method
        Method of computation.
    guarantee
        Largest probability of missing the mean, proved under ``holds_for``. ``None`` if nothing is proved at finite
        sample sizes, or if there are ``notes`` on this sample.
    holds_for
        The assumption, in one sentence.
    order
        Order in which a sequential bound read the sample: ``"as given"``, ``"shuffled with seed ..."``, or
        ``"shuffled with a seed derived from the rewards"``. ``None`` for other bounds, which do not depend on the
        order.
    notes
        Sentences on how this sample contradicts the assumption, or lacks information that the bound needs; usually
        empty. For a single sample each note is also a warning, :class:`bandstrap.errors.AssumptionWarning`. With
        ``check=False`` and for batches, the sample is not checked, there are no warnings, and ``guarantee`` is kept.
    why_infinite
        Reason for an infinite end on a side asked for, and a remedy; ``None`` if the ends are finite.
    contradicted
        True if the sample contradicts the assumption, or no mean is left.
    sizes
        The number of rewards of a sample; of both groups for a difference.
    """

    name: str
    side: Side
    alpha: float
    mean: FloatOrArray
    lower: FloatOrArray
    upper: FloatOrArray
    parts: Mapping[str, FloatOrArray]
    method: str
    guarantee: float | None
    holds_for: str
    order: str | None = None
    notes: tuple[str, ...] = ()
    why_infinite: str | None = None
    contradicted: bool = False
    sizes: tuple[int, ...] = ()

    def _display(self) -> Display:
        from bandstrap.bounds.shown import display_bound

        return display_bound(self)

    @property
    def excludes_all(self) -> bool | NDArray[np.bool_]:
        """True if no mean is left (ends crossed or impossible rewards): evidence against the assumption."""
        return np.isnan(self.lower) | np.isnan(self.upper)

    @property
    def value(self) -> FloatOrArray | tuple[FloatOrArray, FloatOrArray]:
        """The bound: a number, or the pair ``(lower, upper)`` if two-sided."""
        if self.side == "two-sided":
            return self.lower, self.upper
        return self.upper if self.side == "upper" else self.lower

    @property
    def width(self) -> FloatOrArray:
        """Distance between mean and bound, or between the two ends if two-sided."""
        with np.errstate(over="ignore"):  # a width beyond the largest float is infinite
            if self.side == "two-sided":
                return self.upper - self.lower
            return self.upper - self.mean if self.side == "upper" else self.mean - self.lower

    @property
    def proved(self) -> str | None:
        """Guarantee for this sample, in a word or two: ``"<= 0.05"``, ``"assumption fails"``, ``"not known"``."""
        if self.guarantee is not None:
            return f"<= {self.guarantee:.4g}"
        if self.contradicted:
            return "assumption fails"
        return "not known" if self.notes else None

    def misses(self, mean: float) -> bool | NDArray[np.bool_]:
        """Return whether a true ``mean`` lies beyond the bound."""
        return (mean > self.upper) | (mean < self.lower) | self.excludes_all


class Threshold(NamedTuple):
    """Distance from the mean to the upper bound, its parts, how it was computed, and the bound itself if it is known.

    A bound that is a reward, a mean of rewards or an end of the support must be handed over as it is: the mean plus its
    distance from the mean may come out a rounding below it. One that may be infinite says why.
    """

    width: Floats
    parts: Mapping[str, Floats]
    method: str = "closed-form"
    end: Floats | None = None
    why_infinite: str = ""


class UpperThreshold(Protocol):
    """The upper threshold of rewards of shape ``(..., n)``; ``mirrored`` says that their sign was turned."""

    def __call__(self, rewards: Floats, alpha: float, mirrored: bool, /) -> Threshold:
        """Width of the upper bound at ``alpha``."""


class MirroredThreshold(Protocol):
    """The upper threshold of what is bounded, or of its negative where ``mirrored``."""

    def __call__(self, alpha: float, mirrored: bool, /) -> Threshold:
        """Width of the upper bound at ``alpha``."""


class Ends(NamedTuple):
    """Both ends of a bound, infinite where a side is open, and how they were found."""

    lower: Floats
    upper: Floats
    parts: Mapping[str, FloatOrArray]
    method: str
    why_infinite: str | None


def ends_of(mean: Floats, alpha: float, side: Side, threshold: MirroredThreshold) -> Ends:
    """The ends that a side asks for: the lower one is the upper one of the negative, and two share ``alpha``."""
    ends = {"lower": np.full_like(mean, -np.inf), "upper": np.full_like(mean, np.inf)}
    parts: dict[str, FloatOrArray] = {}
    methods, reasons = [], []
    one_sided = side != "two-sided"
    for end in ends:
        if side in (end, "two-sided"):
            sign = 1 if end == "upper" else -1
            with np.errstate(over="ignore"):  # what is beyond the largest float is infinite
                found = threshold(alpha if one_sided else alpha / 2, end == "lower")
                place = sign * mean + found.width if found.end is None else found.end
            ends[end] = sign * np.asarray(place)
            prefix = "" if one_sided else end + " "
            parts |= {prefix + key: as_number(value, mean.shape) for key, value in found.parts.items()}
            methods.append(found.method)
            if np.isinf(ends[end]).any():
                reasons.append(found.why_infinite or BEYOND_FLOATS)
    why = "; ".join(dict.fromkeys(reasons)) or None
    return Ends(ends["lower"], ends["upper"], parts, " and ".join(dict.fromkeys(methods)), why)


def from_ends(
    name: str,
    alpha: float,
    side: Side,
    mean: Floats,
    ends: Ends,
    guarantee: float | None,
    holds_for: str,
    order: str | None,
    notes: Iterable[str],
    *,
    check: bool,
    contradicted: bool,
    sizes: tuple[int, ...],
) -> Bound:
    """A bound with these ends; those that cross are not handed out but ``nan``.

    With ``check``, and unless it is a batch, nothing is proved where there are notes. ``contradicted`` says that one of
    them is a contradiction of the assumption.
    """
    crossed = ends.lower > ends.upper
    every = tuple(notes)
    is_one = mean.ndim == 0
    return Bound(
        name=name,
        side=side,
        alpha=alpha,
        mean=as_number(mean, mean.shape),
        lower=as_number(np.where(crossed, np.nan, ends.lower), mean.shape),
        upper=as_number(np.where(crossed, np.nan, ends.upper), mean.shape),
        parts=ends.parts,
        method=ends.method,
        guarantee=None if every and check and is_one else guarantee,
        holds_for=holds_for,
        order=order,
        notes=every,
        why_infinite=ends.why_infinite,
        contradicted=contradicted or (is_one and bool(crossed)),
        sizes=sizes,
    )


def refuted(name: str, alpha: float, side: Side, mean: float, refusal: Refuted, sizes: tuple[int, ...]) -> Bound:
    """Placeholder for the bound of a group whose rewards rule the assumption out: no mean is left."""
    notes = (f"{refusal.note}, so the bound cannot be computed",)
    return Bound(
        name, side, alpha, mean, math.nan, math.nan, {}, "none", None, "", notes=notes, contradicted=True, sizes=sizes
    )


def build(
    name: str,
    sample: ArrayLike,
    alpha: float,
    side: Side,
    threshold: UpperThreshold,
    *,
    guarantee: float | None,
    holds_for: str,
    order: str | None = None,
    check: bool = True,
    told: BoundOptions | None = None,
) -> Bound:
    """Turn an upper threshold into a :class:`Bound`; a lower bound is the upper bound of the negated rewards.

    Ends that cross are not handed out: they become ``nan``, and a note says what happened. ``order`` is that of the
    rewards, where the threshold depends on it. With ``check`` a single sample is tested for contradictions of what the
    bound assumes; ``told`` are the options that the assumption is about.
    """
    from bandstrap.bounds.assumptions import contradictions  # which knows all bounds

    check = check_flag(check, "check", name)
    rewards = check_sample(sample, name)
    alpha = check_level(alpha, name)
    check_choice(side, "side", name, SIDES)
    mean = sample_mean(rewards)
    ends = ends_of(
        mean, alpha, side, lambda level, mirrored: threshold(-rewards if mirrored else rewards, level, mirrored)
    )
    is_checked = check and rewards.ndim == 1  # of a batch, which is a study, the notes tell
    found = contradictions(name, rewards, told or {}, in_order=order == AS_GIVEN) if is_checked else []
    notes = [
        *found,
        *note_on_equal_rewards(name, rewards, ends.parts, ends.lower, ends.upper),
        *note_on_crossed_ends(ends.lower, ends.upper, guarantee, holds_for, order),
        *(
            note_on_mean_beyond(rewards, ends.lower, ends.upper)
            if order == AS_GIVEN and "bounded" in BOUNDS[name].assumes
            else ()
        ),
    ]
    bound = from_ends(
        name,
        alpha,
        side,
        mean,
        ends,
        guarantee,
        holds_for,
        order,
        notes,
        check=check,
        contradicted=bool(found),
        sizes=(rewards.shape[-1],),
    )
    for note in bound.notes if is_checked else ():
        warn_caller(f"{name}: {note}.", AssumptionWarning)
    return bound


def note_on_equal_rewards(
    name: str, rewards: Floats, parts: Mapping[str, FloatOrArray], lower: Floats, upper: Floats
) -> list[str]:
    """Note for a bound whose width comes from the rewards when these are all equal."""
    if not {"symmetric", "normal"} & set(BOUNDS[name].assumes):
        return []
    n = rewards.shape[-1]
    first = rewards[..., 0]
    is_blind = (rewards == first[..., None]).all(axis=-1)
    for key, part in parts.items():
        if key.endswith("main"):
            is_blind = is_blind & (np.asarray(part) == 0)
    if n == 1:  # nobody takes one reward for a measure of spread, unless it is sold as one
        is_blind = is_blind & ((lower == first) | (upper == first))
    if not is_blind.any():
        return []
    value = float(first[is_blind].flat[0])
    which = f"all {n} rewards are {value:g}" if n > 1 else f"there is one reward, {value:g}"
    if rewards.ndim > 1:
        which = f"in {int(is_blind.sum())} of {is_blind.size} samples all {n} rewards are equal"
    advice = "a bound with a known support or scale can"
    if rewards.ndim == 1 and value in (0.0, 1.0):
        advice = "clopper_pearson can if they are zeros and ones, or a bound with a known support or scale"
    return [f"{which}, which cannot show how much rewards vary; this bound takes their variance to be zero; {advice}"]


def note_on_crossed_ends(
    lower: Floats, upper: Floats, guarantee: float | None, holds_for: str, order: str | None
) -> list[str]:
    """Note that no mean is left, and how rarely that should happen."""
    crossed = np.asarray(lower > upper)
    if not crossed.any():
        return []
    low, high = (float(np.asarray(end)[crossed].flat[0]) for end in (lower, upper))
    which = f"in {int(crossed.sum())} of {crossed.size} samples " if crossed.ndim else ""
    rarely = "" if guarantee is None else f", which has a probability of at most {guarantee:g} for {holds_for}"
    ends = f"the lower end, {low:.6g}, lies above the upper one, {high:.6g}"
    why = f": {MAY_BE_SORTED}" if order == AS_GIVEN else ""
    return [f"{which}no mean is left, because {ends}{rarely}{why}"]


def note_on_mean_beyond(rewards: Floats, lower: Floats, upper: Floats) -> list[str]:
    """Note that the interval of a sequential bound excludes the sample mean, for rewards in a known support."""
    mean, rounding = sample_mean(rewards), ROUNDING * np.abs(rewards).max(axis=-1)
    beyond = np.asarray((lower <= upper) & ((mean > upper + rounding) | (mean < lower - rounding)))
    if not beyond.any():
        return []
    which = f"in {int(beyond.sum())} of {beyond.size} samples " if beyond.ndim else ""
    return [f"{which}the interval excludes the sample mean: {MAY_BE_SORTED}"]


def too_few(n: int, needed: int, level: float, what: str = "reward") -> str:
    """Reason why a bound is infinite, with the number of rewards that would make it finite.

    >>> too_few(4, 5, 0.05)
    'the bound is infinite: an error probability of 0.05 needs at least 5 rewards, there are 4'
    """
    have = "is one" if n == 1 else f"are {n}"
    return f"the bound is infinite: an error probability of {level:g} needs at least {needed} {what}s, there {have}"


def fewest_rewards(alpha: float) -> int:
    """The smallest ``n`` with ``2^-n <= alpha``, from which on signs alone can exclude a mean.

    >>> fewest_rewards(0.05), fewest_rewards(0.25)
    (5, 2)
    """
    n = 1
    while 0.5**n > alpha:
        n += 1
    return n


def check_level(alpha: object, owner: str) -> float:
    """Return ``alpha`` as a float in (0, 1/2); what is larger is most likely a confidence.

    >>> check_level(0.95, "sign_flip")
    Traceback (most recent call last):
    ...
    bandstrap.errors.InvalidInput: The 'alpha' parameter of sign_flip must be below 0.5, since it is the probability of a
    miss and not the confidence, which is 1 - alpha. Got 0.95 (is 0.05 meant?) instead.
    """
    level = check_number(alpha, "alpha", owner, above=0, below=1)
    if level >= LARGEST_LEVEL:
        rule = "below 0.5, since it is the probability of a miss and not the confidence, which is 1 - alpha"
        meant = f" (is {1 - level:.6g} meant?)" if level > LARGEST_LEVEL else ""
        raise requirement("alpha", owner, rule, f"{level:g}{meant}")
    return level


def as_number(value: ArrayLike, shape: tuple[int, ...]) -> FloatOrArray:
    """A float for one sample, an array of the batch shape otherwise."""
    array = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
    return array.copy() if shape else float(array)


def check_support(support: object, owner: str) -> Support:
    """Return ``support`` as a pair of finite floats, the lower one first."""
    rule = "a pair (low, high) of finite numbers with low < high"
    ends = read_numbers(support, "support", owner, rule, kinds="iuf")
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise requirement("support", owner, rule, brief(support))
    return float(ends[0]), float(ends[1])


def check_inside(
    rewards: Floats, support: Support, owner: str, mirrored: bool = False, parameter: str = "sample"
) -> None:
    """Refuse rewards outside the support they are said to have; the message shows both as they were given."""
    low, high = support
    if mirrored:
        rewards = -rewards
    outside = (rewards < low) | (rewards > high)
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        position = where[0] if len(where) == 1 else where
        rule = f"inside the support [{low:g}, {high:g}]"
        refusal = requirement(parameter, owner, rule, f"{rewards[where]} at position {position}")
        raise Refuted(refusal, f"{int(outside.sum())} of {rewards.size} rewards lie outside [{low:g}, {high:g}]")


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


def scale_inside(rewards: Floats, support: Support, owner: str, mirrored: bool) -> tuple[Floats, Support, int]:
    """:func:`scale_to_support` of rewards that are checked to lie inside it, with its ends turned round where they are."""
    check_inside(rewards, support, owner, mirrored)
    return scale_to_support(rewards, mirror(support, mirrored))


def rewards_inside(support: Support) -> str:
    """Condition under which bounds for a known support hold.

    >>> rewards_inside((0.0, 1.0))
    'independent rewards in [0, 1]'
    """
    return f"independent rewards in [{support[0]:g}, {support[1]:g}]"


class Covers(Protocol):
    """Tell which samples have an upper bound that is certainly ``mean`` or more; some that have may not be found."""

    def __call__(
        self, rewards: Floats, alpha: float, mean: float, mirrored: bool, options: BoundOptions, /
    ) -> NDArray[np.bool_]:
        """Take rewards of shape ``(samples, n)``, whose sign and whose mean's were turned if ``mirrored``."""


@dataclass(frozen=True)
class RegisteredBound:
    """One registered bound.

    Attributes
    ----------
    name, function
        The bound and its name in ``bandstrap.bounds``.
    assumes
        What its guarantee takes for granted beside independent rewards: names in
        ``bandstrap.bounds.assumptions.ASSUMPTIONS``, all of which must hold. None for a bound that proves nothing.
    needs
        Options it cannot do without; ``"sigma|support"`` means one of the two.
    walks
        Whether it reads the sample reward by reward, so that their order matters. It then takes ``in_order``, a ``seed`` to
        shuffle them with and ``n_orders``, and tells the order as ``Bound.order``.
    covers
        Of a bound that takes long to compute, a quick test whether it certainly covers a mean.
    """

    name: str
    function: Callable[..., Bound]
    assumes: tuple[AssumptionName, ...]
    needs: tuple[str, ...] = ()
    walks: bool = False
    covers: Covers | None = None

    @property
    def summary(self) -> str:
        """First line of the docstring; empty where Python was told to leave docstrings out (-OO)."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


BOUNDS: dict[str, RegisteredBound] = {}
BoundFunction = TypeVar("BoundFunction", bound=Callable[..., Bound])


def register(
    *,
    assumes: tuple[AssumptionName, ...],
    needs: tuple[str, ...] = (),
    walks: bool = False,
    covers: Covers | None = None,
) -> Callable[[BoundFunction], BoundFunction]:
    """Register a bound; listing, coverage lab, command line and benchmarks read the registry.

    What the arguments mean is said at :class:`RegisteredBound`.
    """

    def add(function: BoundFunction) -> BoundFunction:
        BOUNDS[function.__name__] = RegisteredBound(function.__name__, function, assumes, needs, walks, covers)
        return function

    return add


def bound_by_name(name: str, sample: ArrayLike, alpha: float, side: Side, options: BoundOptions) -> Bound:
    """Call the bound of this name; an option that it does not have is the caller's mistake."""
    try:
        return BOUNDS[name].function(sample, alpha, side=side, **options)
    except TypeError as error:
        raise InvalidInput(f"The bound {name} does not take these options: {error}.") from None


def takes_seed(name: str) -> bool:
    """Return whether the bound of this name draws: resamples, signs or orders."""
    return "seed" in inspect.signature(BOUNDS[name].function).parameters


@contextmanager
def without_warnings() -> Iterator[None]:
    """Do not warn of what the notes of a bound say: whoever calls it reads them, or says it better."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        yield


def misses(
    name: str, rewards: Floats, alpha: float, mean: float, side: Side, options: BoundOptions
) -> NDArray[np.bool_]:
    """``Bound.misses(mean)`` of each sample; where a bound has a quick test, only those are bounded that it leaves open."""
    entry = BOUNDS[name]
    if options.get("seed") is not None:  # a generator draws once for quick test and bound
        options = {**options, "seed": fixed_seed(options["seed"], name)}
    is_open = np.ones(len(rewards), dtype=bool)
    if entry.covers is not None:
        level = alpha / 2 if side == "two-sided" else alpha
        is_covered = np.ones(len(rewards), dtype=bool)
        for mirrored in (False, True):
            if side in (("lower" if mirrored else "upper"), "two-sided"):
                sign = -1.0 if mirrored else 1.0
                is_covered &= entry.covers(sign * rewards, level, sign * mean, mirrored, options)
        is_open = ~is_covered
    found = np.zeros(len(rewards), dtype=bool)
    if is_open.any():
        found[is_open] = entry.function(rewards[is_open], alpha, side=side, **options).misses(mean)
    return found

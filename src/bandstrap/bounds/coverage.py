"""The coverage lab: how often does a bound miss the mean, and how wide is it?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from bandstrap.basics.arrays import Floats
from bandstrap.basics.calls import Call, Options, parse_call
from bandstrap.basics.deprecation import with_new_names
from bandstrap.basics.distributions import KnownLaw, Law, law_called, law_name
from bandstrap.bounds.assumptions import judge
from bandstrap.bounds.bound import BOUNDS, SIDES, Side, check_level, misses, takes_seed
from bandstrap.bounds.corrections import PROVED
from bandstrap.bounds.distributions import deviation_is_scale, has_mean, law_support, target
from bandstrap.bounds.empirical import EmpiricalDistribution, empirical_called, is_empirical
from bandstrap.bounds.oracle import MOST_REWARDS as MOST_OF_ORACLE
from bandstrap.bounds.oracle import ORACLES, oracle_phi
from bandstrap.engine.work.interrupts import answered
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.engine.work.progress import Show, progress_bar
from bandstrap.errors import InvalidInput, brief, check_choice, check_count, requirement

# The forms of the bootstrap that the paper compares, beside every other bound.
BOOTSTRAP_FORMS = tuple(f"bootstrap:correction={form}" for form in ("none", "practical", "stated", "theorem", "sharp"))
# Empty for bounds that prove nothing.
JudgedAssumption = Literal["holds", "fails", "unknown", ""]
NO_MEAN = "the distribution has no mean: the target is its median"
# Rewards held in memory at once.
MOST_REWARDS = 1 << 22
# Rewards that are bounded at once: between two such slices it is said how far it is. No bound looks at two samples at a
# time, so that its numbers do not depend on this, unless it draws.
SLICE = 1 << 14
# Cells of the grid that a distribution with bounded support is put on.
N_CELLS = 1000


@dataclass(frozen=True)
class CoverageRow:
    """Miss rate and width of one bound at one sample size.

    ``miss_low`` and ``miss_high`` are the ends of a 95 % Clopper-Pearson interval of the miss rate. ``guarantee`` is
    the proved miss probability; ``None`` if there is none, or if the distribution violates the assumption of the proof.
    ``assumption`` is ``"holds"``, ``"fails"``, or ``"unknown"`` if the distribution does not show it; empty for bounds
    that prove nothing. ``skipped`` is the reason why a bound was not run, else empty. ``note`` is the reason why an
    assumption fails, or says that the target is the median because there is no mean. ``width_error`` is the standard
    error of ``mean_width``; ``None`` if a width is infinite or there is only one. ``widths`` is the number of samples
    whose width was measured.
    """

    bound: str
    sample_size: int
    alpha: float
    replications: int
    misses: int
    miss_rate: float
    miss_low: float
    miss_high: float
    median_width: float
    guarantee: float | None
    skipped: str = ""
    mean_width: float = math.nan
    note: str = ""
    width_error: float | None = None
    assumption: JudgedAssumption = ""
    widths: int = 0


def coverage(
    distribution: str | Law | Sequence[float] | Floats,
    sample_size: int | Sequence[int],
    alpha: float = 0.05,
    *,
    bounds: Iterable[str] | None = None,
    side: Side = "upper",
    replications: int = 2000,
    seed: int = 0,
    progress: bool = False,
) -> list[CoverageRow]:
    """Measure miss rate and width of bounds on samples from a known distribution.

    Parameters
    ----------
    distribution
        A frozen ``scipy.stats`` distribution, or its name with parameters: ``"normal"``, ``"t:df=3"``,
        ``"truncnorm:a=-1,b=1"``. The target is its mean or, if there is no mean, its median; the note of every row then
        says so. Or your own rewards: samples are then drawn from them with replacement, and their mean is the target.
        ``"empirical:FILE,reward=COLUMN"`` reads them from a CSV or Parquet file.
    sample_size
        One sample size or several.
    alpha
        Error probability given to every bound.
    bounds
        Bounds by name, with options: ``"sign_flip"``, ``"hoeffding:sigma=2"``. By default all of them, the bootstrap in all
        its forms. A bound that needs ``sigma`` or ``support`` gets the true value if none is given. This is the support if
        there is one, else the standard deviation of a normal distribution. The unproved forms of the bootstrap get the
        standard deviation of any distribution. A bound without its required parameter is skipped, with the reason. The
        bootstrap may be given ``phi=oracle`` or ``phi=oracle-adaptive``: the smallest constant, and the smallest function,
        that theorem 1 allows for this distribution; upper bounds only.
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    replications
        Number of samples.
    seed
        Seed of the samples; every bound sees the same ones.
    progress
        Show progress on standard error: a bar on a terminal, else occasional lines if it takes long.

    Returns
    -------
    list of CoverageRow
        One row per bound and sample size.

    Examples
    --------
    >>> from bandstrap.bounds import coverage
    >>> for row in coverage("normal", 8, bounds=["sign_flip", "bootstrap:correction=none"], replications=1000):
    ...     print(row.bound, row.misses, round(row.median_width, 2))
    sign_flip 43 0.66
    bootstrap:correction=none 75 0.54
    >>> (row,) = coverage([0, 0, 0, 1, 2, 9], 20, bounds=["student_t"], replications=1000)
    >>> row.miss_rate, row.note
    (0.116, 'assumption fails: the distribution is not normal')
    """
    sizes = [check_count(n, "sample_size", "coverage") for n in np.atleast_1d(np.asarray(sample_size, dtype=object))]
    check_level(alpha, "coverage")
    check_choice(side, "side", "coverage", SIDES)
    check_count(replications, "replications", "coverage")
    for n in sizes:
        check_sample_size(n, replications)
    law = resolve_distribution(distribution)
    check_count(seed, "seed", "coverage", at_least=0, at_most=None)
    others = [name for name in BOUNDS if name != "bootstrap"]
    calls = [
        parse_call(text) for text in (checked_texts(bounds) if bounds is not None else [*others, *BOOTSTRAP_FORMS])
    ]
    for call in calls:
        check_choice(call.name, "bounds", "coverage", BOUNDS)
    with np.errstate(all="ignore"):  # of SciPy's moments: what is not finite is not told
        told = [tell_truth(call, law) for call in calls]
    if any(isinstance(options, dict) and options.get("phi") in ORACLES for options in told):
        for n in sizes:
            check_count(n, "sample_size", "coverage with an oracle", at_most=MOST_OF_ORACLE)
    total = len(sizes) * replications * sum(not isinstance(options, str) for options in told)
    with progress_bar(total, shown=progress, of="samples") as show:
        return [
            measure(call, options, law, n, alpha, side, replications, seed, show=show)
            for n in sizes
            for call, options in zip(calls, told, strict=True)
        ]


def check_sample_size(n: int, replications: int) -> None:
    """Refuse samples, or numbers of them, that no memory would hold."""
    # The rewards that are held at once, and a copy in another order; the width of every sample, and all of them together.
    check_memory(2 * WORD * n, "sample_size", "coverage", n)
    check_memory(2 * WORD * replications, "replications", "coverage", replications)


def checked_texts(bounds: Iterable[object]) -> list[str]:
    """Bounds as texts, one after the other."""
    try:
        texts: list[object] = [None] if isinstance(bounds, str | bytes) else list(bounds)
    except TypeError:  # not one after the other
        texts = [None]
    if not all(isinstance(text, str) for text in texts):
        rule = "a list of texts, such as ['sign_flip', 'hoeffding:sigma=2']"
        raise requirement("bounds", "coverage", rule, brief(bounds))
    return [str(text) for text in texts]


def resolve_distribution(distribution: str | Law | ArrayLike) -> KnownLaw:
    """A distribution from its name with parameters, from rewards to draw from, or as it is."""
    if isinstance(distribution, str):
        if is_empirical(distribution):
            return cast("KnownLaw", empirical_called(distribution))
        rule = (
            "the name of a scipy.stats distribution, such as 'normal', 'laplace' or 't:df=3', or 'empirical:FILE,...'"
        )
        return law_called(distribution, "distribution", "coverage", rule)
    if all(hasattr(distribution, name) for name in ("rvs", "mean", "support")):
        return cast("KnownLaw", distribution)
    return cast("KnownLaw", EmpiricalDistribution(cast("ArrayLike", distribution)))


def tell_truth(call: Call, law: KnownLaw) -> Options | str:
    """The options a bound is run with, or why it cannot be run.

    A bound that proves something is given what holds: the support where there is one, else the standard deviation where it
    is known to be a sub-Gaussian scale. The unproved forms of the bootstrap take a scale for granted, and are given the
    standard deviation.
    """
    options = dict(call.options)
    if "binary" in BOUNDS[call.name].assumes:
        verdict = judge(call.name, options, law)
        return options if verdict.holds else f"needs rewards of two values, and {verdict.why}"
    correction = options.get("correction", "practical")
    is_unproved = call.name == "bootstrap" and correction not in PROVED
    if is_unproved and correction == "none":
        return options
    ends = law_support(law)
    deviation = float(law.std())
    truth: Options = {}
    if math.isfinite(deviation) and (is_unproved or (ends is None and deviation_is_scale(law))):
        truth["sigma"] = deviation
    if ends is not None:
        truth["support"] = ends
    for need in BOUNDS[call.name].needs:
        ways = need.split("|")
        if any(way in options for way in ways):
            continue
        # A psi norm is not a standard deviation, and is not given.
        known = [way for way in ways if way in truth and "beta" not in BOUNDS[call.name].needs]
        if not known:
            why = (
                "and no valid one is known for this distribution"
                if "sigma" in ways
                else "which this distribution does not have"
            )
            return f"needs {' or '.join(ways)}, {why}"
        options[known[0]] = truth[known[0]]
    return options


def measure(
    call: Call,
    options: Options | str,
    law: KnownLaw,
    n: int,
    alpha: float,
    side: Side,
    replications: int,
    seed: int,
    show: Show = lambda more, doing="", found=0: None,
    n_widths: int | None = None,
    blocks: Iterable[Floats] | None = None,
    at_once: int | None = None,
) -> CoverageRow:
    """Run one bound at one sample size, and show how many samples are done.

    Where ``n_widths`` is given, widths are those of the first samples, at least so many, and of the others it is only found
    out whether the bound misses. ``blocks`` are the samples, where they have been drawn by :func:`sample_blocks` before.
    ``at_once`` is how many are bounded in one call, and thus with one set of resamples; by default ``SLICE`` rewards.
    """
    if isinstance(options, str):
        nothing = math.nan
        return CoverageRow(
            str(call), n, alpha, 0, 0, nothing, nothing, nothing, nothing, guarantee=None, skipped=options
        )
    mean = target(law)
    entry = BOUNDS[call.name]
    told = with_new_names(options, {"rng": "seed"}, call.name)
    if takes_seed(call.name) and not told.get("in_order"):
        # A bound that draws does so anew for each slice: else one set of draws would decide on all samples alike.
        told.setdefault("seed", np.random.default_rng([seed, n, 1]))
    if options.get("phi") in ORACLES:
        if side != "upper":
            raise requirement("phi", "coverage", "known, not an oracle, unless side is 'upper'", repr(options["phi"]))
        told["phi"] = oracle_phi(options["phi"], law, n, alpha)
    doing = f"{call}, n = {n}"
    tick = partial(show, 0, doing)
    missed = done = 0
    widths: list[Floats] = []
    guarantee = None
    step = max(1, SLICE // n) if at_once is None else at_once
    drawn = sample_blocks(law, n, replications, seed, tick) if blocks is None else blocks
    slices = (rewards[first : first + step] for rewards in drawn for first in range(0, len(rewards), step))
    while done < replications:
        some = next(slices)[: replications - done]
        try:  # which may begin by being compiled
            if n_widths is None or done < n_widths:
                bound = answered(partial(entry.function, some, alpha, side=side, **told), tick=tick)
                is_missed = bound.misses(mean)
                # Where no mean is left, nothing is wide.
                widths.append(np.nan_to_num(bound.width, nan=0.0, posinf=np.inf))
                guarantee = bound.guarantee
            else:
                is_missed = answered(misses, call.name, some, alpha, mean, side, told, tick=tick)
        except TypeError as error:
            raise InvalidInput(f"{call} is not a call of the bound {call.name}: {error}.") from None
        missed += int(np.sum(is_missed))
        done += len(some)
        show(len(some), doing)
    assumption, doubt = judgement(call.name, options, law) if guarantee is not None else ("", "")
    low, high = binomial_interval(missed, done)
    width = np.concatenate(widths)
    is_finite = bool(np.isfinite(width).all())
    return CoverageRow(
        bound=str(call),
        sample_size=n,
        alpha=alpha,
        replications=done,
        misses=missed,
        miss_rate=missed / done,
        miss_low=low,
        miss_high=high,
        median_width=float(np.median(width)),
        guarantee=guarantee if assumption == "holds" else None,
        mean_width=float(width.mean()),
        note="; ".join(filter(None, ("" if has_mean(law) else NO_MEAN, doubt))),
        width_error=float(width.std(ddof=1)) / math.sqrt(width.size) if is_finite and width.size > 1 else None,
        assumption=assumption,
        widths=width.size,
    )


def judgement(name: str, options: Options, law: KnownLaw) -> tuple[JudgedAssumption, str]:
    """Return whether a distribution is what the proof of a bound assumes, and a note that says why not."""
    with np.errstate(all="ignore"):  # of SciPy's quantiles far out
        verdict = judge(name, options, law)
    if verdict.holds:
        return "holds", ""
    if verdict.holds is None:
        return "unknown", f"not proved here: {verdict.why}"
    return "fails", f"assumption fails: {verdict.why}"


def sample_blocks(
    law: KnownLaw, n: int, replications: int, seed: int, tick: Callable[[], None] = lambda: None
) -> Iterator[Floats]:
    """The samples that every bound sees at one sample size, as many at a time as memory should hold."""
    rng = np.random.default_rng([seed, n])
    step = max(1, MOST_REWARDS // n)
    for start in range(0, replications, step):
        yield answered(draw_samples, law, (min(step, replications - start), n), rng, tick=tick)


def draw_samples(law: Law, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Samples of a distribution, one per row; parameters that are too extreme to draw with are the user's mistake."""
    name = law_name(law) or type(law).__name__
    try:
        with np.errstate(all="ignore"):  # what overflows is found not to be finite
            samples = np.asarray(law.rvs(size=shape, random_state=rng))
    except (TypeError, ValueError, ArithmeticError) as error:  # NumPy's or SciPy's
        raise InvalidInput(f"Samples of the distribution {name} cannot be drawn: {error}.") from None
    if samples.dtype.kind in "iuf" and not np.isfinite(samples).all():
        raise InvalidInput(f"Samples of the distribution {name} cannot be used: one is not a finite number.")
    return samples


def measure_exact(distribution: str | Law | ArrayLike, n: int, alpha: float) -> CoverageRow:
    """Width that no bound can beat on average: the upper ``alpha`` quantile of ``mean - sample mean``, misses
    ``alpha``.
    """
    law = resolve_distribution(distribution)
    width = target(law) - mean_quantile(law, n, alpha)
    return CoverageRow("exact", n, alpha, 0, 0, alpha, alpha, alpha, width, alpha, mean_width=width, width_error=0.0)


def mean_quantile(law: KnownLaw, n: int, probability: float) -> float:
    """Quantile of the mean of ``n`` rewards of a continuous distribution with bounded support.

    The distribution is put on a grid of ``N_CELLS`` cells and convolved with itself by FFT.

    >>> from scipy import stats
    >>> mean_quantile(stats.uniform(), 2, 0.5)
    0.5
    """
    low, high = (float(end) for end in law.support())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise requirement("distribution", "mean_quantile", "one with bounded support", f"support ({low:g}, {high:g})")
    if hasattr(law, "pmf"):
        raise requirement(
            "distribution",
            "mean_quantile",
            "a continuous one",
            f"{law_name(law) or type(law).__name__}, which is discrete",
        )
    edges = np.linspace(low, high, N_CELLS + 1)
    mass = np.diff(law.cdf(edges))
    length = n * (N_CELLS - 1) + 1
    check_memory(
        6 * WORD * length, "n", "mean_quantile", n
    )  # the distribution of the sum, its transform and its places
    size = 1 << (length - 1).bit_length()
    sums = np.fft.irfft(np.fft.rfft(mass, size) ** n, size)[:length]
    # Cell j of the sum lies between its two edges, so its distribution function is known at the upper ones.
    cell = (high - low) / N_CELLS
    upper_edges = low + cell * ((np.arange(length) + n / 2) / n + 0.5 / n)
    return float(np.interp(probability, [0.0, *np.cumsum(sums)], [low, *upper_edges]))


def binomial_interval(count: int, total: int) -> tuple[float, float]:
    """Clopper-Pearson interval of a probability, of 95 % confidence."""
    tail = (1 - 0.95) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, tail))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 1 - tail))
    return low, high

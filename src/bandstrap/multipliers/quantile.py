"""The conditional quantile of the multiplier bootstrap: one function, seven ways to compute it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.deprecation import renamed
from bandstrap.basics.seeds import Seed, make_generator, seed_of
from bandstrap.engine.work.memory import check_memory
from bandstrap.errors import (
    AccuracyWarning,
    check_choice,
    check_count,
    check_levels,
    check_sample,
    requirement,
    warn_caller,
)
from bandstrap.multipliers import binomial, closed_form, enumeration, expansion, inversion, monte_carlo, saddlepoint
from bandstrap.multipliers.weights import EFRON, EXPONENTIAL, GAUSSIAN, LAWS, MAMMEN, RADEMACHER, TWO_POINT, Weights

OWNER = "bootstrap_quantile"
WEIGHTS = tuple(LAWS)

Method = Literal[
    "auto", "enumeration", "binomial", "closed-form", "inversion", "saddlepoint", "expansion", "monte-carlo"
]
METHODS: tuple[Method, ...] = get_args(Method)
# Which weights a method can serve. "auto" is not listed: it serves all.
METHOD_LAWS: dict[Method, tuple[int, ...]] = {
    "enumeration": tuple(enumeration.MOST_BITS),
    "binomial": (*TWO_POINT, EFRON),
    "closed-form": (GAUSSIAN,),
    "inversion": (RADEMACHER, EFRON, EXPONENTIAL, MAMMEN),
    "saddlepoint": (RADEMACHER, GAUSSIAN, EFRON, EXPONENTIAL, MAMMEN),
    "expansion": (RADEMACHER, GAUSSIAN, EFRON, EXPONENTIAL, MAMMEN),
    "monte-carlo": (RADEMACHER, GAUSSIAN, EFRON, EXPONENTIAL, MAMMEN),
}

# Log2 of the most sums that "auto" enumerates, by distribution: milliseconds, not seconds.
AUTO_ENUMERATES = {RADEMACHER: 24, MAMMEN: 28, EFRON: 10}


class Quantiles(NamedTuple):
    """Quantiles of shape ``batch + level`` and, per batch element, the method that gave them."""

    values: Floats
    methods: np.ndarray


@overload
def bootstrap_quantile(
    sample: Sequence[float],
    level: float,
    *,
    weights: Weights = ...,
    method: Method = ...,
    n_resamples: int = ...,
    seed: Seed = ...,
) -> float: ...
@overload
def bootstrap_quantile(
    sample: ArrayLike,
    level: ArrayLike,
    *,
    weights: Weights = ...,
    method: Method = ...,
    n_resamples: int = ...,
    seed: Seed = ...,
) -> Floats | float: ...
@renamed(rng="seed")
def bootstrap_quantile(
    sample: ArrayLike,
    level: ArrayLike,
    *,
    weights: Weights = "rademacher",
    method: Method = "auto",
    n_resamples: int = 200,
    seed: Seed = None,
) -> Floats | float:
    r"""Quantile of the multiplier bootstrap of the mean, given the sample.

    .. math::

        q_a = \inf\{x : P_w(X > x) \le a\}, \qquad X = \frac1n \sum_{i=1}^n w_i (y_i - \bar y)

    with the rewards ``y`` held fixed and the weights ``w`` random: equation (2.4) of the paper, or definition (D.1)
    where ``method="monte-carlo"``.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``; leading axes are a batch of samples.
    level
        Tail probability ``a`` in (0, 1), a number or an array.
    weights
        ``"rademacher"`` (the default: the weights of the paper's theory), ``"gaussian"``, ``"efron"`` (resampling with
        replacement), ``"exponential"`` (Bayesian bootstrap, centred) or ``"mammen"`` (two points, skewness 1).
    method
        Method of computation.

        ``"auto"``
            The default: the exact method where one is affordable, else ``"inversion"``. Never saturates. Enumerates up to
            24 rewards for ``"rademacher"``, 28 for ``"mammen"`` and 10 for ``"efron"``. For the first two it enumerates
            more if some rewards are equal or nearly equal. Treating them as equal must move no sum by more than a
            thousandth of its standard deviation.
        ``"enumeration"``
            Exact. Two-point weights up to 40 different rewards (more if some are equal), ``"efron"`` up to 16.
        ``"binomial"``
            Exact, for samples of at most two values.
        ``"closed-form"``
            Exact, for ``"gaussian"`` weights.
        ``"inversion"``
            The transform of ``X`` inverted numerically. At levels up to 0.2 it was within 0.5 % for all samples and weights
            tried, including clusters, lattices and outliers. If ``X`` is smooth, it was within 0.03 %. Next to a gap of
            ``X``, the comparison is with the exact quantile at a level that differs by a thousandth, possibly across the
            gap.
        ``"saddlepoint"``
            A few passes over the sample at any level. With Rademacher weights and at least 24 rewards of a continuous
            distribution, the relative error is below 0.5 %. If the rewards form clusters, it is tens of per cent. With
            skewed weights it is a few per cent at 24 rewards, and more with outliers.
        ``"expansion"``
            Cornish-Fisher from power sums. Warns if it is unreliable, which includes every case with more than 0.5 %
            distance from ``"inversion"``, and limits large corrections.
        ``"monte-carlo"``
            The paper's: draw number ``floor(B a) + 1`` from the top. Warns when it saturates, ``B a < 1``.
    n_resamples
        ``B``, the number of Monte Carlo draws; used by ``"monte-carlo"`` only. The default is the paper's.
    seed
        Seed or generator of ``"monte-carlo"``; the other methods draw nothing. By default it is derived from the rewards of
        each sample; a given seed starts one stream for all samples of a batch.

    Returns
    -------
    float or array
        Shape ``batch + level.shape``: a float for one sample and one level.

    Warns
    -----
    AccuracyWarning
        If ``"monte-carlo"`` saturates or ``"expansion"`` is unreliable; once per call.

    See Also
    --------
    bandstrap.bounds.bootstrap : the quantile turned into a confidence bound that holds.

    Examples
    --------
    >>> from bandstrap.multipliers import bootstrap_quantile
    >>> bootstrap_quantile([1.0, 2.0, 4.0, 9.0], 0.1)
    2.5
    >>> bootstrap_quantile([[0, 1, 1, 0, 1], [2, 2, 2, 2, 2]], [0.2, 0.05])
    array([[0.16, 0.32],
           [0.  , 0.  ]])

    References
    ----------
    .. [1] Hao, Abbasi-Yadkori, Wen, Cheng. Bootstrapping upper confidence bound. NeurIPS 2019.
       Section 2.1 and supplement D.
    .. [2] Lugannani, Rice. Saddle point approximation for the distribution of the sum of independent random variables.
       Advances in Applied Probability 12, 1980.
    .. [3] Abate, Whitt. The Fourier-series method for inverting transforms of probability distributions. Queueing Systems
       10, 1992.
    .. [4] Davison, Hinkley. Saddlepoint approximations in resampling methods. Biometrika 75, 1988.
    """
    values = quantiles(sample, level, weights=weights, method=method, n_resamples=n_resamples, seed=seed).values
    return values if values.ndim else float(values)


def quantiles(
    sample: ArrayLike,
    level: ArrayLike,
    *,
    weights: Weights = "rademacher",
    method: Method = "auto",
    n_resamples: int = 200,
    seed: Seed = None,
    upward: bool = False,
) -> Quantiles:
    """:func:`bootstrap_quantile` together with the method each sample was served by.

    ``upward`` asks ``"inversion"`` for quantiles that are nowhere too small; for Rademacher weights.
    """
    rewards = check_sample(sample, OWNER)
    levels = check_levels(level, "level", OWNER)
    law = LAWS[check_choice(weights, "weights", OWNER, WEIGHTS)]
    check_choice(method, "method", OWNER, METHODS)
    check_count(n_resamples, "n_resamples", OWNER)
    if method == "monte-carlo":
        check_memory(monte_carlo.bytes_of_draws(law, rewards.shape[-1], n_resamples), "n_resamples", OWNER, n_resamples)
    if method != "auto" and law not in METHOD_LAWS[method]:
        able = ", ".join(repr(m) for m in METHODS if m == "auto" or law in METHOD_LAWS[m])
        raise requirement("method", OWNER, f"one of {able} for {weights} weights", repr(method))

    n = rewards.shape[-1]
    rows = rewards.reshape(-1, n)
    flat = levels.ravel()
    if rows.size == 0 or flat.size == 0:
        shape = rewards.shape[:-1]
        return Quantiles(np.empty(shape + levels.shape), np.full(shape, method, dtype=object))
    residuals, exponents = scaled_residuals(rows)
    methods = np.full(len(rows), method, dtype=object)
    moved_by = np.zeros(len(rows))
    if method == "auto":
        methods = chosen_methods(law, rows, residuals)
        if law in TWO_POINT:
            moved_by = count_crowds(law, methods, residuals)
    else:
        check_fits(law, method, weights, rows, residuals)

    out = np.empty((len(rows), flat.size))
    for name in dict.fromkeys(methods):
        chosen = methods == name
        terms = residuals[chosen] / n
        if name == "binomial":
            scaled = np.ldexp(rows[chosen], -exponents[chosen, None])
            out[chosen] = binomial.quantiles(law, scaled, flat)
        elif name == "enumeration":
            out[chosen] = enumeration.quantiles(law, terms, flat)
            if upward:
                out[chosen] += moved_by[chosen, None] / n
        elif name == "closed-form":
            out[chosen] = closed_form.quantiles(terms, flat)
        elif name == "inversion":
            out[chosen] = inversion.quantiles(law, terms, flat, upward=upward)
        elif name == "saddlepoint":
            out[chosen] = saddlepoint.quantiles(law, terms, flat)
        elif name == "expansion":
            out[chosen], trusted = expansion.quantiles(law, terms, flat)
            if not trusted:
                warn("the expansion is not accurate for this sample; its corrections are limited")
        else:
            if n_resamples * flat.min() + 1e-9 < 1:
                warn(
                    f"n_resamples * level = {n_resamples * flat.min():.3g} is below 1: the Monte Carlo quantile "
                    "saturates at the largest draw; use method='auto' or more resamples"
                )
            generator = None if seed is None else make_generator(seed, OWNER)
            for i, row in enumerate(terms):  # all of them: "auto" is never this
                own = np.random.default_rng(seed_of(None, rows[i])) if generator is None else generator
                ordered = np.sort(row) if generator is None else row
                out[i] = monte_carlo.quantiles(law, ordered[None], flat, n_resamples, own)[0]
    with np.errstate(over="ignore"):  # a quantile beyond the largest float is infinite
        out = np.ldexp(out, exponents[:, None]) + 0.0  # and none is -0, as those of a mirrored distribution may be
    shape = rewards.shape[:-1]
    return Quantiles(out.reshape(shape + levels.shape), methods.reshape(shape))


# A mean of residuals that is more than this part of the largest is taken off them once more.
ROUNDED_MEAN = 2.0**-30


def scaled_residuals(rows: Floats) -> tuple[Floats, np.ndarray]:
    """``y - ybar`` per row, divided by a power of two that brings the largest to [1/2, 1); and the powers.

    The division is exact, so that nothing overflows or underflows, however large or small the rewards are.
    """
    _, size = np.frexp(np.abs(rows).max(axis=-1, keepdims=True))
    reduced = np.ldexp(rows, -size)
    residuals = reduced - reduced.mean(axis=-1, keepdims=True)
    constant = (rows == rows[:, :1]).all(axis=-1)
    residuals[constant] = 0.0  # the mean of equal numbers need not equal them
    # Beside rewards that are large and close together, the rounding of their mean is not small: the mean of what is left.
    off = residuals.mean(axis=-1, keepdims=True)
    residuals -= np.where(np.abs(off) > ROUNDED_MEAN * np.abs(residuals).max(axis=-1, keepdims=True), off, 0.0)
    _, rest = np.frexp(np.abs(residuals).max(axis=-1, keepdims=True))
    exponents: np.ndarray = (size + rest)[:, 0]
    return np.ldexp(residuals, -rest), exponents


def chosen_methods(law: int, rows: Floats, residuals: Floats) -> np.ndarray:
    """Method that "auto" uses for each row."""
    if law == GAUSSIAN:
        return np.full(len(rows), "closed-form", dtype=object)
    methods = np.full(len(rows), "inversion", dtype=object)
    if law in AUTO_ENUMERATES:
        most = AUTO_ENUMERATES[law]
        few = np.ones(len(rows), dtype=bool)
        if law != EFRON:  # every distinct term is a bit or more: most samples need not be looked at any closer
            ordered = np.sort(np.abs(residuals) if law == RADEMACHER else residuals, axis=-1)
            few = (np.diff(ordered, axis=-1) != 0).sum(axis=-1) <= most
        few[few] = count_bits(law, residuals[few]) <= most
        methods[few] = "enumeration"
    if law in METHOD_LAWS["binomial"]:
        methods[binomial.is_two_valued(rows)] = "binomial"
    return methods


def count_crowds(law: int, methods: np.ndarray, residuals: Floats) -> Floats:
    """Put residuals that crowd at few places there, to be enumerated; returns by how much sums move at most."""
    moved_by = np.zeros(len(methods))
    rows = np.flatnonzero(methods == "inversion")
    ordered = np.sort(np.abs(residuals[rows]) if law == RADEMACHER else residuals[rows], axis=-1)
    width = enumeration.crowd_width(residuals[rows])
    # Every crowd is a bit or more, and ends at a wide gap: most samples need not be looked at any closer.
    few = (np.diff(ordered, axis=-1) > width[:, None]).sum(axis=-1) < AUTO_ENUMERATES[law]
    for row in rows[few]:
        found = enumeration.crowded(residuals[row], law, AUTO_ENUMERATES[law])
        if found is not None:
            residuals[row], moved_by[row] = found
            methods[row] = "enumeration"
    return moved_by


def count_bits(law: int, residuals: Floats) -> np.ndarray:
    """Log2 of the number of sums to enumerate, per row."""
    return np.array([enumeration.count_bits(row, law) for row in residuals])


def check_fits(law: int, method: str, weights: str, rows: Floats, residuals: Floats) -> None:
    """Refuse a method on a sample it cannot serve."""
    if method == "binomial":
        fits = binomial.is_two_valued(rows) | (residuals == 0).all(axis=-1)
        if not fits.all():
            distinct = len(np.unique(rows[~fits][0]))
            rule = "of at most two distinct values for method='binomial'"
            raise requirement("sample", OWNER, rule, f"{distinct} distinct values")
    if method == "enumeration":
        most = enumeration.MOST_BITS[law]
        largest = float(count_bits(law, residuals).max(initial=0))
        if largest > most:
            size = f"{most} rewards" if law == EFRON else f"2^{most} different sums"
            received = f"{rows.shape[-1]} rewards" + ("" if law == EFRON else f" with 2^{largest:.0f} sums")
            raise requirement(
                "sample", OWNER, f"of at most {size} for method='enumeration' and {weights} weights", received
            )


def warn(message: str) -> None:
    """Warn at the line that called into the package."""
    warn_caller(message, AccuracyWarning)

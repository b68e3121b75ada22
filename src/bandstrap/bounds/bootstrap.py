"""The paper's bound: the multiplier-bootstrap quantile plus a second-order correction (theorem 1)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.deprecation import renamed
from bandstrap.basics.seeds import Seed, make_generator, seed_of
from bandstrap.bounds.bound import (
    OVER_DRAWS,
    ROUNDING,
    Bound,
    BoundOptions,
    Side,
    Threshold,
    build,
    check_level,
    check_support,
    register,
)
from bandstrap.bounds.corrections import CORRECTIONS, PROVED, Correction, corrected_width, correction_term
from bandstrap.bounds.phi import Phi, order_of_phi, preliminary_width
from bandstrap.engine.work.memory import check_memory
from bandstrap.errors import check_choice, check_count, check_flag, check_number, requirement, sample_mean
from bandstrap.multipliers import WEIGHTS
from bandstrap.multipliers.mean_sign import tail_rounding
from bandstrap.multipliers.monte_carlo import bytes_of_draws, draws
from bandstrap.multipliers.order_statistic import order_rank, order_statistics
from bandstrap.multipliers.quantile import METHODS, Method, quantiles, scaled_residuals
from bandstrap.multipliers.weights import LAWS, Weights

IntervalKind = Literal["percentile", "basic"]
INTERVALS: tuple[IntervalKind, ...] = get_args(IntervalKind)
# That of the paper's experiments.
DEFAULT_DELTA = 0.1


def covers(rewards: Floats, alpha: float, mean: float, mirrored: bool, options: BoundOptions) -> NDArray[np.bool_]:
    """Return whether the correction alone reaches ``mean``: a quantile of random signs is not negative."""
    is_plain = {"quantile", "interval", "weights"}.isdisjoint(options)
    correction = options.get("correction", "practical")
    least = np.zeros(len(rewards))
    if correction != "none" and is_plain:
        given = {name: options.get(name) for name in ("sigma", "support", "beta")}
        phi = preliminary_width(
            options.get("phi"),
            rewards,
            alpha,
            owner="bootstrap",
            options=given,
            mirrored=mirrored,
            seed=options.get("seed"),
        )
        n = rewards.shape[-1]
        with np.errstate(over="ignore", invalid="ignore"):
            least = correction_term(CORRECTIONS[correction], n, phi, alpha, options.get("delta", DEFAULT_DELTA), n)
            least = np.fmin(least, phi)
    with np.errstate(over="ignore"):
        rounding = ROUNDING * (np.abs(rewards).max(axis=-1) + abs(mean))
        return is_plain & (sample_mean(rewards) + least >= mean + rounding)


@register(assumes=("symmetric",), needs=("sigma|support|phi",), covers=covers)
@renamed(rng="seed")
def bootstrap(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    weights: Weights = "rademacher",
    delta: float = DEFAULT_DELTA,
    correction: Correction = "practical",
    phi: Phi | None = None,
    sigma: float | None = None,
    support: tuple[float, float] | None = None,
    beta: float | None = None,
    interval: IntervalKind = "percentile",
    quantile: Method = "auto",
    n_resamples: int = 200,
    shrunk: bool = True,
    seed: Seed = None,
    check: bool = True,
) -> Bound:
    r"""Bootstrapped bound: a bootstrap quantile of the sample, plus a second-order correction.

    .. math:: \bar y + q_{\alpha(1-\delta)}(y - \bar y) + c\, \varphi(y)

    with ``q`` the multiplier-bootstrap quantile and ``phi`` a coarse preliminary width.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        The paper's ``alpha``: the proved forms miss with probability at most ``2 alpha``.
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    weights
        Bootstrap weights. The theorem covers ``"rademacher"`` (default); the others are valid for large samples only.
    delta
        Share of ``alpha`` reserved for the correction; the default is that of the paper's experiments. With
        ``correction="none"`` it is reserved as well, unless ``shrunk`` is false.
    correction
        ``c = 1/sqrt(n)``, as in the paper's experiments (default). Not proved. ``"theorem"``
            ``c = sqrt(2 log(2/(alpha delta))/n)``: theorem 1 as its proof has it.
        ``"stated"``
            ``c = sqrt(log(2/(alpha delta))/n)``: theorem 1 as printed. This statement is false: with rewards of 1 and -1
            and a constant ``phi`` above 1, the miss probability can be ``2^-n > 2 alpha``. See
            ``bandstrap.theory.coin.coin_misses``. It is available to reproduce the paper; at the usual levels no
            counterexample is known.
        ``"sharp"``
            ``c`` is the exact upper ``alpha delta`` quantile of the mean of n random signs; the sum is capped at
            ``phi``. Proved at the same level, never wider than ``"theorem"`` nor than ``phi``.
        ``"none"``
            ``c = 0``: the naive bootstrap, too narrow for small samples. As in the paper, the quantile is taken at
            level ``alpha (1 - delta)``, like the main term of the other forms. With ``shrunk=False`` it is taken at
            ``alpha``, as usual.
    phi
        Preliminary width: the name of a bound, a width, or a callable of ``(rewards, alpha)``. Defaults to
        ``"hoeffding"`` where ``sigma`` or ``support`` is given. It need hold only on the side of the bound: for an
        upper bound, ``mu - ybar > phi`` has probability at most ``alpha``. A callable sees negated rewards for a lower
        bound.
    sigma, support, beta
        Options of the bound that ``phi`` names.
    interval
        ``"percentile"`` (default) adds the upper quantile of the bootstrap, ``"basic"`` subtracts its lower quantile.
        Both agree for symmetric weights; for skewed rewards and skewed weights, ``"percentile"`` has the right
        skewness.
    quantile
        Method of :func:`bandstrap.multipliers.bootstrap_quantile`. In the proved forms ``"auto"`` is never too small, and
        at most 1 % above the exact quantile at ``0.999 alpha (1 - delta)``. The measured maximum is 0.8 %
        (``python -m benchmarks quantiles``). So it is within 1 % of the exact quantile, except next to a gap of the sums,
        where it may lie beyond the gap. With ``"saddlepoint"`` and ``"expansion"`` nothing is proved.
    n_resamples
        For ``quantile="monte-carlo"``. Then ``correction="sharp"`` takes ``c`` from the same draws. Over draws
        independent of the rewards, this proves a miss probability of at most ``(floor(B alpha) + 1)/(B + 1) + alpha``.
    seed
        Seed or generator of ``quantile="monte-carlo"``, and of a ``phi`` that draws. By default it is derived from the
        rewards of each sample; ``bandstrap.basics.seeds.seed_of`` says what that proves.
    shrunk
        Take the quantile at level ``alpha (1 - delta)`` (default). Otherwise it is taken at ``alpha``, as the Monte
        Carlo theorem of the paper's supplement prints it; then nothing is proved.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        ``parts`` has ``"main"`` (the quantile), ``"correction"`` and ``"phi"``.

    See Also
    --------
    bandstrap.bounds.sign_flip : needs no ``phi`` at all; prefer it from ``log2(1/alpha)`` rewards on.

    Notes
    -----
    A one-sided ``phi`` is enough, as in the paper's remark. For ``alpha < 1/2`` the width is not negative, so
    ``d = mu - ybar`` is positive if the bound misses. Sign invariance gives ``d > q_alpha(y - mu)`` a probability of at
    most ``alpha``. Otherwise the width is below ``q_alpha(y - mu)``. The bootstrap around ``mu`` equals the bootstrap
    around ``ybar`` minus ``wbar d``, and exceeds the width with probability above ``alpha``. Of this, ``q`` accounts
    for ``alpha (1 - delta)``. So ``-wbar d > c phi`` has probability above ``alpha delta``, and as ``d > 0`` this
    implies ``d > phi``. The event ``ybar - mu > phi`` plays no role. A two-sided bound is two such bounds at
    ``alpha/2``.

    Examples
    --------
    >>> from bandstrap.bounds import bootstrap
    >>> rewards = [0.4, -0.3, 0.1, 0.7, -0.6, 0.2, 0.0, -0.2, 0.5, -0.1]
    >>> bound = bootstrap(rewards, 0.05, sigma=1.0)
    >>> bound.value, bound.parts["main"], bound.parts["correction"]
    (0.5168, 0.202, 0.2448)
    >>> bootstrap(rewards, 0.05, sigma=1.0, correction="sharp").width
    0.774

    References
    ----------
    .. [1] Hao, Abbasi-Yadkori, Wen, Cheng. Bootstrapping upper confidence bound. NeurIPS 2019, theorem 1.
    .. [2] Arlot, Blanchard, Roquain. Some nonasymptotic results on resampling in high dimension. Annals of Statistics
       38, 2010.
    """
    alpha = check_level(alpha, "bootstrap")
    check_choice(weights, "weights", "bootstrap", WEIGHTS)
    check_choice(correction, "correction", "bootstrap", CORRECTIONS)
    check_choice(interval, "interval", "bootstrap", INTERVALS)
    check_choice(quantile, "quantile", "bootstrap", METHODS)
    check_count(n_resamples, "n_resamples", "bootstrap")
    if quantile == "monte-carlo":
        check_memory(bytes_of_draws(LAWS[weights], 1, n_resamples), "n_resamples", "bootstrap", n_resamples)
    delta = check_number(delta, "delta", "bootstrap", above=0, below=1)
    options = {
        "sigma": sigma,
        "support": None if support is None else check_support(support, "bootstrap"),
        "beta": beta,
    }
    by_draws = quantile == "monte-carlo"
    is_shrunk = check_flag(shrunk, "shrunk", "bootstrap")
    if by_draws and correction == "sharp":
        check_drawn_sharp(weights, interval, is_shrunk)
    proved = (
        weights == "rademacher"
        and correction in PROVED
        and quantile not in ("saddlepoint", "expansion")
        and is_shrunk
        and not (by_draws and correction == "theorem")
    )
    generator = make_generator(seed, "bootstrap") if by_draws and seed is not None else None

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        n = rewards.shape[-1]
        level = alpha * (1 - delta) if is_shrunk else alpha
        if proved:
            level *= 1 - tail_rounding(n)
        if by_draws and correction == "sharp":
            main, factor = drawn_quantile_and_factor(rewards, alpha, delta, n_resamples, generator)
            method: str = quantile
        else:
            found = quantiles(
                rewards if interval == "percentile" else -rewards,
                level,
                weights=weights,
                method=quantile,
                n_resamples=n_resamples,
                seed=generator,
                upward=proved,
            )
            main, method = found.values, " and ".join(dict.fromkeys(found.methods.ravel()))
            factor = None
        if correction == "none":
            return Threshold(main, {"main": main, "correction": np.zeros(())}, method)
        width = preliminary_width(phi, rewards, alpha, owner="bootstrap", options=options, mirrored=mirrored, seed=seed)
        with np.errstate(over="ignore", invalid="ignore"):
            if factor is None:
                term = correction_term(CORRECTIONS[correction], n, width, alpha, delta, n)
            else:  # a phi that knows nothing is infinite, and may meet a factor of 0
                term = np.where(factor == 0, 0.0, factor * width)
            total = corrected_widths(correction, main, term, width)
            if proved:  # what a sum of n rewards may lose to rounding: a mean that ties with the bound is not missed
                total = total + (n + 8) * 2.0**-52 * np.abs(rewards).max(axis=-1)
            added = np.where(np.isfinite(main), total - main, term)
        why = "the bound is infinite, because its phi is infinite" if np.isinf(width).any() else ""
        return Threshold(total, {"main": main, "correction": added, "phi": width}, method, why_infinite=why)

    return build(
        "bootstrap",
        sample,
        alpha,
        side,
        threshold,
        guarantee=guarantee(alpha, side, n_resamples if by_draws else None) if proved else None,
        holds_for=assumption(weights, correction, proved, by_draws),
        order=order_of_phi(phi, seed) if correction != "none" else None,
        check=check,
        told={} if correction == "none" else {"phi": phi, **options},
    )


def corrected_widths(correction: Correction, main: Floats, term: Floats, phi: Floats) -> Floats:
    """:func:`corrected_width` of each sample of a batch."""
    parts = np.broadcast_arrays(main, term, phi)
    numbers = (part.ravel().tolist() for part in parts)
    totals = [corrected_width(CORRECTIONS[correction], *each) for each in zip(*numbers, strict=True)]
    return np.array(totals).reshape(parts[0].shape)


def guarantee(alpha: float, side: str, n_resamples: int | None) -> float:
    """Proved miss probability: ``2 alpha``, or what Monte Carlo draws allow; both sides share ``alpha``."""
    if n_resamples is None:
        return 2 * alpha
    sides = 2 if side == "two-sided" else 1
    return sides * (order_rank(n_resamples, alpha / sides) + 1) / (n_resamples + 1) + alpha


def assumption(weights: str, correction: str, proved: bool, by_draws: bool) -> str:
    """The sentence of ``Bound.holds_for``."""
    if proved:
        return "independent rewards symmetric about their mean, and a phi that holds" + (
            OVER_DRAWS if by_draws else ": misses at most 2 alpha"
        )
    if weights == "rademacher" and correction != "none":
        return (
            "large samples; nothing is proved at small ones, where the miss rate for rewards of few values may be "
            "far too high"
        )
    return "large samples only"


def check_drawn_sharp(weights: Weights, interval: IntervalKind, is_shrunk: bool) -> None:
    """Refuse what the sharp correction from Monte Carlo draws is not proved for."""
    for parameter, needed, given in (
        ("weights", "rademacher", weights),
        ("interval", "percentile", interval),
        ("shrunk", True, is_shrunk),
    ):
        if given != needed:
            rule = f"{needed!r} for correction='sharp' with quantile='monte-carlo'"
            raise requirement(parameter, "bootstrap", rule, repr(given))


def drawn_quantile_and_factor(
    rewards: Floats, alpha: float, delta: float, n_resamples: int, rng: np.random.Generator | None
) -> tuple[Floats, Floats]:
    """Monte Carlo quantile of random signs, and the correction's factor from the same draws.

    The factor is the ``(floor(B alpha delta) + 1)``-th largest ``-wbar_b``, or 0 if that is negative. Where
    ``0 < mu - ybar <= phi``, at most ``floor(B alpha (1 - delta)) + floor(B alpha delta) <= floor(B alpha)`` draws of the
    bootstrap around the true mean exceed the threshold, and the exchangeability of signs gives the rest.
    """
    law = LAWS["rademacher"]
    n = rewards.shape[-1]
    rows = rewards.reshape(-1, n) if rng is not None else np.sort(rewards.reshape(-1, n), axis=-1)
    residuals, exponents = scaled_residuals(rows)
    main, factor = np.empty(len(residuals)), np.empty(len(residuals))
    for i, row in enumerate(residuals):
        own = seed_of(None, rows[i]) if rng is None else rng.integers(2**63)
        centred = draws(law, row / n, n_resamples, np.random.default_rng(own))
        means = draws(law, np.full(n, 1 / n), n_resamples, np.random.default_rng(own))
        # Not below 0, where few draws may put it: a miss then has mu above ybar, which the proof uses.
        main[i] = max(order_statistics(centred, np.array([alpha * (1 - delta)]))[0], 0.0)
        factor[i] = max(order_statistics(-means, np.array([alpha * delta]))[0], 0.0)
    main = np.ldexp(main, exponents)
    return main.reshape(rewards.shape[:-1]), factor.reshape(rewards.shape[:-1])

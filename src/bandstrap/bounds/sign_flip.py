"""The sign-flip bound: exact for symmetric rewards, with no scale, no range and no correction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.deprecation import renamed
from bandstrap.basics.seeds import Seed, make_generator, seed_of
from bandstrap.bounds.bound import (
    OVER_DRAWS,
    Bound,
    BoundOptions,
    Side,
    Threshold,
    build,
    check_level,
    check_support,
    fewest_rewards,
    register,
    too_few,
)
from bandstrap.bounds.phi import Phi, order_of_phi, preliminary_width
from bandstrap.errors import check_flag, sample_mean
from bandstrap.multipliers import subset_mean


def covers(rewards: Floats, alpha: float, mean: float, mirrored: bool, options: BoundOptions) -> NDArray[np.bool_]:
    """Return whether subsets with a mean of at least ``mean`` certainly have a probability above ``alpha``; without a
    ``phi``.
    """
    if options.get("randomized") or any(options.get(name) is not None for name in ("phi", "sigma", "support")):
        return np.zeros(len(rewards), dtype=bool)
    return subset_mean.are_certainly_above(rewards, alpha, mean)


@register(assumes=("symmetric",), covers=covers)
@renamed(rng="seed")
def sign_flip(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    phi: Phi | None = None,
    sigma: float | None = None,
    support: tuple[float, float] | None = None,
    randomized: bool = False,
    seed: Seed = None,
    check: bool = True,
) -> Bound:
    r"""Exact bound for symmetric rewards, by inverting the sign-flip test.

    .. math:: U = \inf\{x : P(\text{mean of a random subset} > x) \le \alpha\}

    where each reward is in the subset with probability 1/2 and the empty subset counts as plus infinity.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    phi, sigma, support
        Optional preliminary width as in :func:`bandstrap.bounds.bootstrap`. The smaller of the two bounds is returned;
        it is finite from the first reward on and misses with probability at most ``2 alpha``.
    randomized
        Randomise the bound below ``log2(1/alpha)`` rewards: it is infinite with probability ``1 - alpha 2^n``, else the
        largest reward. Its miss probability is then exactly ``alpha``.
    seed
        Seed or generator of ``randomized``, and of a ``phi`` that draws. By default it is derived from the rewards of each
        sample (``bandstrap.basics.seeds.seed_of``): for an exact ``alpha``, a discrete distribution with few possible
        samples needs a fresh seed.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        Infinite while ``2^-n > alpha``.

    See Also
    --------
    bandstrap.bounds.symmetric_betting : prefer it when the sample is looked at more than once.

    Notes
    -----
    For rewards symmetric about ``mu`` and random signs ``w``, ``sum w_i (y_i - mu)`` is distributed like
    ``sum (y_i - mu)``: step one of the proof of theorem 1. This step alone gives a bound. The miss probability is ``alpha``
    up to ``2^-n`` for every continuous symmetric distribution, including the Cauchy. It is less if rewards tie. At
    ``alpha = 0.05`` it is 0.011 for ten tosses of a fair coin, and 0.03 for ten ratings from 1 to 5. For large ``n`` the
    bound is ``ybar + z s / sqrt(n - z^2)``.

    The bound is never below its definition, in floating point too. Subsets are enumerated for up to 24 rewards (36 if the
    tail has few subsets). They are also enumerated for rewards of few values: two values at any sample size, three (such as
    differences of ratings) up to about 400 rewards. The bound is then a subset mean rounded up. ``method`` is then
    ``"enumeration"`` or ``"grouped enumeration"``. Rewards that do not lie on a lattice are rounded up by at most ``2^-44``
    of their range. Otherwise it is ``"inversion"``: the tail is computed from its transform, and every error makes the
    bound wider. This widens the bound by about ``0.0035`` standard errors, 0.2 % at ``alpha = 0.05``, also with outliers
    and clusters (``python -m benchmarks quantiles``). The comparison is with the exact bound at ``0.999 alpha``. Next to a
    gap between subset means, the bound may lie beyond the gap.

    Examples
    --------
    >>> from bandstrap.bounds import sign_flip
    >>> rewards = [0.4, -0.3, 0.1, 0.7, -0.6, 0.2, 0.0, -0.2, 0.5, -0.1]
    >>> sign_flip(rewards, 0.05).value
    0.3
    >>> sign_flip(rewards[:4], 0.05).value
    inf

    References
    ----------
    .. [1] Hartigan. Using subsample values as typical values. JASA 64, 1969.
    .. [2] Moravej Khorasani, Weyer. Maximum average randomly sampled: a scale free and non-parametric algorithm for
       stochastic bandits. NeurIPS 2023.
    """
    alpha = check_level(alpha, "sign_flip")
    options = {"sigma": sigma, "support": None if support is None else check_support(support, "sign_flip")}
    with_phi = phi is not None or any(value is not None for value in options.values())
    is_randomized = check_flag(randomized, "randomized", "sign_flip")
    generator = make_generator(seed, "sign_flip") if is_randomized and seed is not None else None

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        n = rewards.shape[-1]
        rows = rewards.reshape(-1, n)
        ends, methods = subset_mean.quantiles(rows, alpha)
        if is_randomized and 0.5**n > alpha:
            if generator is None:
                chance = np.array([np.random.default_rng(seed_of(None, row)).random() for row in rows])
            else:
                chance = generator.random(len(rows))
            ends = np.where(chance < alpha * 2.0**n, rows.max(axis=-1), np.inf)
        end = ends.reshape(rewards.shape[:-1])
        mean = sample_mean(rewards)
        main = end - mean
        why = too_few(n, fewest_rewards(alpha), alpha) if 0.5**n > alpha else ""
        method = " and ".join(subset_mean.METHODS[code] for code in dict.fromkeys(methods.tolist()))
        if not with_phi:
            return Threshold(main, {"main": main}, method, end, why)
        width = preliminary_width(phi, rewards, alpha, owner="sign_flip", options=options, mirrored=mirrored, seed=seed)
        with np.errstate(over="ignore"):
            end = np.minimum(end, mean + width)
        return Threshold(np.minimum(main, width), {"main": main, "phi": width}, method, end, why)

    return build(
        "sign_flip",
        sample,
        alpha,
        side,
        threshold,
        guarantee=2 * alpha if with_phi else alpha,
        holds_for="independent rewards symmetric about their mean"
        + (", and a phi that holds" if with_phi else "")
        + (OVER_DRAWS if is_randomized else ""),
        order=order_of_phi(phi, seed),
        check=check,
        told={"phi": phi, **options},
    )

"""How often the bounds miss the mean, against what they promise.

A cell passes unless its miss count is significantly above the promised one: one-sided binomial test, 1e-4 shared by all
cells of a test. A test of right bounds thus fails with probability below 1e-4 over the choice of seeds, which are fixed.
A bound that misses twice as often as it promises, in one cell alone, is found out with probability 0.99 or more:
``most_misses`` checks that each cell has the replications for it.
"""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.bounds import (
    betting,
    bootstrap,
    empirical_bernstein,
    empirical_kl,
    hoeffding,
    sign_flip,
    sub_weibull,
    symmetric_betting,
)
from naive.bounds import (
    BOUNDED,
    CAUCHY,
    SYMMETRIC,
    betting_capital,
    critical_count,
    symmetric_capital,
    symmetric_weibull,
    truncated_normal,
)
from sampling import each, exhaustive, telling

SIZES = (1, 2, 5, 10, 50)
LEVELS = (0.2, 0.05, 0.02)
MEAN = 0.3  # not zero, so that a bound which forgets to centre shows


def seeded(*key: str | int) -> np.random.Generator:
    return np.random.default_rng([int.from_bytes(k.encode()) if isinstance(k, str) else k for k in key])


def most_misses(replications: int, probability: float, cells: int, error_rate: float = 1e-4) -> int:
    """The largest count that is no evidence against a miss probability, ``error_rate`` being shared by all cells."""
    count = critical_count(replications, probability, error_rate / cells)
    power = stats.binom.sf(count, replications, min(2 * probability, 1.0))
    assert power > 0.99, f"twice {probability} would be seen with probability {power:.3f} only"
    return count


@functools.cache
def true_phi(law: str, n: int, alpha: float) -> float:
    """The ``1 - alpha`` quantile of ``mu - ybar``: closed for the normal, else simulated from seeds of its own.

    The order statistic is taken a little high, so that P(mu - ybar > phi) <= alpha but with probability 1e-6.
    """
    if law == "normal":
        return stats.norm.isf(alpha) / math.sqrt(n)
    return deviations(law, n)[-1 - int(stats.binom.ppf(1e-6, 200_000, alpha))]


@functools.cache
def deviations(law: str, n: int) -> np.ndarray:
    rng = seeded("phi", law, n)
    return np.sort(np.concatenate([-SYMMETRIC[law](rng, (20_000, n)).mean(axis=-1) for _ in range(10)]))


@telling("n", SIZES, (5, 10))
@telling("law", SYMMETRIC, ["normal"])
def test_proved_bootstrap_misses_at_most_two_alpha(law, n):
    replications = 2000 if n == 50 else 4000
    rewards = MEAN + SYMMETRIC[law](seeded("bootstrap", law, n), (replications, n))
    cells = len(SYMMETRIC) * len(SIZES) * len(LEVELS)
    for alpha in LEVELS:
        sharp = bootstrap(rewards, alpha, correction="sharp", phi=true_phi(law, n, alpha))
        assert sharp.misses(MEAN).sum() <= most_misses(replications, 2 * alpha, cells), f"alpha {alpha}"
        # The theorem's correction is never less, so that it misses no sample which the sharp one covers.
        theorem = bootstrap(rewards[:100], alpha, correction="theorem", phi=true_phi(law, n, alpha))
        assert (theorem.upper >= sharp.upper[:100]).all()


# Values of laws symmetric about 0, equally likely.
LATTICES = {"signs": (-1, 1), "three": (-1, 0, 1), "rare": (-8, 0, 0, 0, 0, 8), "uneven": (-5, -1, 1, 5)}


@telling("n", [1, 2, 3, 5], [1, 2, 3])
@pytest.mark.parametrize("law", LATTICES)
def test_proved_bootstrap_misses_at_most_two_alpha_of_all_samples_of_a_discrete_law(law, n):
    # No chance: every sample, with the smallest phi that misses alpha on its side only.
    rewards = MEAN + np.array(list(itertools.product(LATTICES[law], repeat=n)), dtype=float)
    below = np.sort(MEAN - rewards.mean(axis=-1))[::-1]
    for alpha in (0.24, 0.2, 0.05, 0.01):
        phi = below[math.floor(alpha * len(below))]
        assert ((below > phi + 1e-9).mean()) <= alpha
        for correction in ("theorem", "sharp"):
            for side, level in (("upper", alpha), ("lower", alpha), ("two-sided", 2 * alpha)):
                bound = bootstrap(rewards, level, correction=correction, phi=max(phi, 0.0), side=side)
                missed = (bound.upper < MEAN - 1e-9) | (bound.lower > MEAN + 1e-9)
                assert missed.mean() <= bound.guarantee + 1e-12, f"{correction} at alpha {alpha}, {side}"


@telling("n", SIZES, (5, 10))
@telling("law", [*SYMMETRIC, "cauchy"], ["normal", "cauchy"])
def test_sign_flip_misses_at_most_alpha(law, n):
    replications, levels = (1500, LEVELS[:2]) if n == 50 else (4000, LEVELS)  # many rewards take long
    draw = CAUCHY if law == "cauchy" else SYMMETRIC[law]
    rewards = MEAN + draw(seeded("sign flip", law, n), (replications, n))
    cells = (len(SYMMETRIC) + 1) * len(SIZES) * len(LEVELS)
    for alpha in levels:
        misses = sign_flip(rewards, alpha).misses(MEAN).sum()
        assert misses <= most_misses(replications, alpha, cells), f"alpha {alpha}"


@pytest.mark.parametrize("side", ["lower", "two-sided"])
def test_sign_flip_misses_at_most_alpha_on_the_other_sides(side):
    rewards = MEAN + SYMMETRIC["laplace"](seeded("sides"), (4000, 10))
    misses = sign_flip(rewards, 0.05, side=side).misses(MEAN).sum()
    assert misses <= most_misses(4000, 0.05, 2)


@pytest.mark.parametrize(("law", "n", "alpha"), [("normal", 10, 0.05), ("cauchy", 6, 0.2), ("uniform", 8, 0.01)])
def test_sign_flip_is_not_conservative(law, n, alpha):
    # The level is floor(alpha 2^n)/2^n exactly, for every continuous symmetric law. Within 4 standard errors: a right
    # bound fails one cell with probability 6e-5, one whose level is off by 7 of them (0.011, 0.02 and 0.005) passes with
    # probability 0.001.
    replications = 20_000
    draw = CAUCHY if law == "cauchy" else SYMMETRIC[law]
    rewards = MEAN + draw(seeded("exact", law, n), (replications, n))
    level = math.floor(alpha * 2**n) / 2**n
    rate = sign_flip(rewards, alpha).misses(MEAN).mean()
    assert rate == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / replications))


@pytest.mark.parametrize("n", [1, 3, 10])
def test_sign_flip_with_a_phi_that_holds_misses_at_most_two_alpha(n):
    rewards = MEAN + SYMMETRIC["normal"](seeded("with phi", n), (4000, n))
    phi = stats.norm.isf(0.05) / math.sqrt(n)  # misses exactly 0.05 on its side
    bound = sign_flip(rewards, 0.05, phi=phi)
    assert np.isfinite(bound.upper).all()
    assert bound.misses(MEAN).sum() <= most_misses(4000, 0.1, 3)


@telling("n", [2, 5, 10], [5])
@pytest.mark.parametrize("law", ["truncated normal", "normal"])
def test_naive_bootstrap_misses_more_than_alpha(law, n):
    # Why the paper corrects it: significantly above alpha at level 1e-6 in each of the six cells;
    # a bound with a miss rate of alpha, corrected by mistake, would pass as naive with that probability.
    replications, alpha = 10_000, 0.05
    draw = truncated_normal if law == "truncated normal" else SYMMETRIC[law]
    rewards = MEAN + draw(seeded("naive", law, n), (replications, n))
    misses = bootstrap(rewards, alpha, correction="none").misses(MEAN).sum()
    assert misses > critical_count(replications, alpha, 1e-6)


def test_naive_bootstrap_of_two_rewards_misses_a_quarter():
    # q = |y1 - y2|/2, so it misses whenever both rewards fall short of the mean. Within 4 standard errors:
    # a rate of 0.28 is found out with probability 0.997.
    rewards = MEAN + SYMMETRIC["normal"](seeded("quarter"), (10_000, 2))
    rate = bootstrap(rewards, 0.05, correction="none").misses(MEAN).mean()
    assert rate == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 10_000))


@telling("n", [2, 5, 10], [5])
@pytest.mark.parametrize(("n_resamples", "alpha"), [(50, 0.2), (99, 0.05), (19, 0.01)])
@pytest.mark.parametrize("law", ["normal", "weibull-half"])
def test_sharp_monte_carlo_bootstrap_misses_as_often_as_its_draws_allow(law, n, n_resamples, alpha):
    replications = 2000
    rewards = MEAN + SYMMETRIC[law](seeded("drawn", law, n, n_resamples), (replications, n))
    bound = bootstrap(
        rewards,
        alpha,
        correction="sharp",
        phi=true_phi(law, n, alpha),
        quantile="monte-carlo",
        n_resamples=n_resamples,
        seed=seeded("signs", n),
    )
    limit = (math.floor(n_resamples * alpha + 1e-9) + 1) / (n_resamples + 1) + alpha
    assert bound.guarantee == pytest.approx(limit, rel=1e-12)
    assert bound.misses(MEAN).sum() <= most_misses(replications, limit, 18)


@each("n", [1, 5, 50])
@each(
    ("draw", "sigma", "beta"),
    [
        (symmetric_weibull(0.5), 4.0, 0.5),
        (symmetric_weibull(1.0), 2.0, 1.0),
        (SYMMETRIC["normal"], math.sqrt(8 / 3), 2.0),
    ],
    ids=["weibull 1/2", "weibull 1", "normal"],
)
def test_sub_weibull_misses_at_most_alpha(draw, sigma, beta, n):
    replications = 4000
    rewards = MEAN + draw(seeded("sub-weibull", n, int(2 * beta)), (replications, n))
    for alpha in LEVELS:
        for symmetric in (False, True):
            bound = sub_weibull(rewards, alpha, sigma=sigma, beta=beta, symmetric=symmetric, side="two-sided")
            misses = bound.misses(MEAN).sum()
            assert misses <= most_misses(replications, alpha, 54), f"alpha {alpha}, symmetric {symmetric}"
            # Its sides are two-sided inequalities already, so that one at the full alpha still covers both.
            wide = sub_weibull(rewards, alpha, sigma=sigma, beta=beta, symmetric=symmetric).width
            assert (np.abs(bound.mean - MEAN) > wide).sum() <= most_misses(replications, alpha, 54)


@telling("n", [2, 10, 50], [2, 10])
@telling("law", BOUNDED, ["bernoulli"])
@pytest.mark.parametrize(
    ("bound", "options"),
    [
        (hoeffding, {}),
        (empirical_bernstein, {}),
        (empirical_bernstein, {"form": "maurer-pontil"}),
        (empirical_kl, {}),
        (betting, {}),
    ],
    ids=["hoeffding", "audibert", "maurer-pontil", "empirical_kl", "betting"],
)
def test_bounds_of_bounded_rewards_miss_at_most_alpha(bound, options, law, n):
    draw, mean = BOUNDED[law]
    rewards = draw(seeded("bounded", law, n), (4000, n))
    for alpha in LEVELS:
        for side in ("upper", "lower"):
            misses = bound(rewards, alpha, support=(0, 1), side=side, **options).misses(mean).sum()
            assert misses <= most_misses(4000, alpha, 45 * 6), f"{side} at alpha {alpha}"


# --- over whole paths -------------------------------------------------------------------------------------------------
# The bound of a whole sample is the smallest over its prefixes (tested next to each bound), so that it misses exactly
# when the running bound ever did.


@telling("alpha", [0.2, 0.05], [0.2])
@telling("law", BOUNDED, ["bernoulli"])
def test_betting_ever_misses_on_at_most_alpha_of_all_paths(law, alpha):
    draw, mean = BOUNDED[law]
    paths = draw(seeded("paths", law), (2000, 200))
    for side in ("upper", "lower"):
        misses = betting(paths, alpha, support=(0, 1), side=side, in_order=True).misses(mean)
        assert misses.sum() <= most_misses(2000, alpha, 12), side
        # The same paths on which a literal gambler against the true mean ever multiplies the stake by 1/alpha.
        for i in range(40):
            path, m = (paths[i], mean) if side == "upper" else (1 - paths[i], 1 - mean)
            grew = betting_capital(path.tolist(), alpha, np.array([m]), 0.5).max() >= 1 / alpha
            assert misses[i] == grew, f"{side}, path {i}"


@telling("alpha", [0.2, 0.05], [0.2])
@telling("law", ["normal", "laplace", "cauchy"], ["cauchy"])
def test_symmetric_betting_ever_misses_on_at_most_alpha_of_all_paths(law, alpha):
    draw = CAUCHY if law == "cauchy" else SYMMETRIC[law]
    paths = MEAN + draw(seeded("paths", law), (2000, 200))
    for side in ("upper", "lower"):
        misses = symmetric_betting(paths, alpha, side=side, in_order=True).misses(MEAN)
        assert misses.sum() <= most_misses(2000, alpha, 12), side
        for i in range(30):
            path, m = (paths[i], MEAN) if side == "upper" else (-paths[i], -MEAN)
            grew = symmetric_capital(path.tolist(), alpha, np.array([m])).max() >= 1 / alpha
            assert misses[i] == grew, f"{side}, path {i}"


@exhaustive
def test_fixed_sample_bounds_do_not_hold_over_whole_paths():
    # So that the tests above can tell: sign_flip at alpha = 0.05, looked at seven times within 18 rewards, misses on
    # more than 0.05 of all paths, significantly at level 1e-6: a bound that held over paths would pass as one that does
    # not with that probability.
    paths = MEAN + SYMMETRIC["normal"](seeded("looking often"), (1500, 18))
    ever = np.zeros(1500, dtype=bool)
    for n in range(6, 19, 2):
        ever |= sign_flip(paths[:, :n], 0.05).misses(MEAN)
    assert ever.sum() > critical_count(1500, 0.05, 1e-6)

"""Each step of docs/sign-flip-theorem.md: by all subsets and all signs where they can be counted, else on grids or samples.

Samples of whole numbers make ties, and all comparisons are of whole numbers or fractions. Tests by simulation compare means
with bounds, allow four standard errors, and say which smaller bound they would refute.
"""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from bandstrap import SignFlipUCB, simulate
from bandstrap.environments import Arms
from bandstrap.errors import InvalidInput
from bandstrap.theory import sign_flip as theory
from bandstrap.theory import sign_flip_regret_bound, symmetric_divergence, symmetric_rate
from naive import sign_flip as naive

LOG_2 = math.log(2)
ERRORS = 4
# All samples of so many rewards with these values: ties, lattices and outliers.
SAMPLES = [
    np.array(list(itertools.product(values, repeat=n)))
    for values, n in [
        ((-1, 1), 6),
        ((0, 1), 6),
        ((0, 2), 5),
        ((-1, 0, 1), 5),
        ((-3, 0, 1, 7), 4),
        ((2,), 4),
        ((0, 1), 1),
    ]
]
every_sample = pytest.mark.parametrize("rows", SAMPLES, ids=lambda rows: f"{np.unique(rows)} n={rows.shape[1]}")
# Twice the candidates for the mean: between rewards, and at them.
DOUBLED = np.arange(-8, 17)
UNIT = {
    "normal": stats.norm(),
    "Laplace": stats.laplace(scale=0.5**0.5),
    "uniform": stats.uniform(-(3**0.5), 2 * 3**0.5),
    "t(3)": stats.t(3, scale=3**-0.5),
}
GAPS = np.array([0.1, 0.5, 1.0, 2.0, 5.0])


# --- facts ------------------------------------------------------------------------------------------------------------


@every_sample
def test_fact_one(rows):
    # A > for a >= in either count, or an infimum taken from the wrong side, fails at ties.
    n = rows.shape[1]
    at_least = np.array([naive.at_least(2 * rows, x) for x in DOUBLED])
    above = np.array([naive.above(2 * rows, x) for x in DOUBLED])
    assert (above <= at_least).all()
    assert (at_least[1:] <= above[:-1]).all()
    for row, counts in zip(rows[:: max(1, len(rows) // 40)], at_least.T[:: max(1, len(rows) // 40)], strict=True):
        for subsets in {min(k, 2**n - 1) for k in (1, 2, 3, 2 ** (n - 1), 2**n - 1)}:
            bound = naive.bound(row, Fraction(subsets, 2**n))
            assert ((bound < DOUBLED / 2) == (counts <= subsets)).all()


@every_sample
def test_facts_two_and_three(rows):
    n = rows.shape[1]
    for row in rows[:: max(1, len(rows) // 20)]:
        levels = [Fraction(1, 2**n) * part for part in (Fraction(99, 100), 1, 2, 3)]
        bounds = [naive.bound(row, level) for level in levels]
        assert bounds[0] == math.inf
        assert bounds[1] == max(row)  # at a level of just 2^-n
        assert bounds == sorted(bounds, reverse=True)


@every_sample
def test_fact_four(rows):
    n = rows.shape[1]
    for x in DOUBLED:
        counts = naive.at_least(2 * rows, x)[2 * rows.sum(axis=1) >= n * x]
        assert (counts >= 2 ** (n - 1) + 1).all()
    # No larger number would do: rewards of different sizes have no more subsets than that.
    assert naive.at_least(np.array([7, -1, -2, -4]), 0) == 9


def test_fact_five():
    rows = SAMPLES[4]
    for x in (-1, 0, 1):
        parts = naive.at_least(rows[:, :2], x) * naive.at_least(rows[:, 2:], x)
        assert (parts <= naive.at_least(rows, x)).all()
        assert (parts == naive.at_least(rows, x)).any()  # no more than the product would do


@every_sample
def test_fact_six(rows):
    # Of twice the exponent, or of a walk with s where s/2 should be, most samples would break this.
    n = rows.shape[1]
    bets = np.concatenate([[0.0], np.geomspace(0.01, 30, 25)])
    for x in DOUBLED / 2:
        tails = naive.at_least(2 * rows, 2 * x) / 2**n
        walks = np.array([naive.walk(row, x, bets) for row in rows])
        assert (np.log(tails)[:, None] <= -walks + 1e-12).all()
    assert (np.diff([naive.walk(rows[0], x, bets) for x in DOUBLED / 2], axis=0) >= -1e-12).all()


@pytest.mark.parametrize("n", [7, 12, 40])
def test_fact_seven(n):
    rng = np.random.default_rng(n)
    v = np.linspace(-30, 30, 2001)
    assert (np.log(np.cosh(v)) <= np.minimum(v**2 / 2, np.abs(v))).all()
    log = n / 2.5
    for y in (rng.normal(size=n), rng.standard_t(2, size=n), rng.choice([-1.0, 1.0], size=n), np.full(n, 0.3)):
        square, mean = naive.square_of_self_normalised_width(y, 2 * log)
        bound = float(mean) + math.sqrt(square)
        bets = np.geomspace(1e-3, 1e3, 400) / max(np.ptp(y), 1e-9)
        for excess in (1e-9, 0.1, 3.0):
            assert naive.walk(y, bound + excess * max(np.ptp(y), 1), bets).max() > log * 0.999
        d = bound + 1e-9 - float(mean)
        assert n * d**2 / (2 * (np.var(y) + d**2)) >= log * (1 - 1e-6)
        if np.ptp(y) > 0:  # V is where the quadratic bound of the exponent is log(1/a), no farther
            d = math.sqrt(square)
            assert n * d**2 / (2 * (np.var(y) + d**2)) == pytest.approx(log, rel=1e-9)


# --- theorem 1 --------------------------------------------------------------------------------------------------------


def test_lemma_zero():
    # On a lattice of seven points mirrored at the middle one; another middle distribution would be nearer somewhere.
    rng = np.random.default_rng(0)
    for sparsity in (0.0, 0.4):
        for _ in range(50):
            p, q = rng.dirichlet(np.ones(7), size=2) * (rng.random((2, 7)) >= sparsity) + 0.0
            if p.sum() == 0 or q.sum() == 0:
                continue
            p, q = p / p.sum(), q / q.sum()
            symmetric, middle = (q + q[::-1]) / 2, (p + p[::-1]) / 2
            least = naive.shannon(p, middle)
            assert naive.shannon(p, symmetric) == pytest.approx(least + naive.shannon(middle, symmetric))
            assert 0 <= least <= LOG_2
            both = (naive.shannon(p, middle) + naive.shannon(p[::-1], middle)) / 2
            assert least == pytest.approx(both)


def test_divergence_of_the_change_of_measure():
    p, q = np.linspace(0, 0.999, 50)[:, None], np.linspace(0.001, 0.999, 50)
    divergence = special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)
    assert (divergence >= (1 - p) * np.log(1 / (1 - q)) - LOG_2 - 1e-12).all()


def test_divergence_at_the_best_mean_is_not_the_infimum_for_coins():
    assert symmetric_divergence(stats.bernoulli(0.5), [0.75, 0.999]) == pytest.approx(LOG_2 / 2)
    assert symmetric_divergence(stats.bernoulli(0.5), [1.0, 3.0]) == pytest.approx(LOG_2)
    assert symmetric_rate(stats.bernoulli(0.5), 1.0) == pytest.approx(LOG_2 / 2, rel=1e-6)
    # Of ten coins the mirrored ones overlap in all but a few values; sums by hand.
    weights = stats.binom.pmf(np.arange(11), 10, 0.5)
    mirrored = np.concatenate([[0.0], weights[:0:-1]])  # at m = 5.5, y goes to 11 - y
    by_hand = weights @ np.log(2 * weights / (weights + mirrored))
    assert symmetric_divergence(stats.binom(10, 0.5), 5.25) == pytest.approx(by_hand)


def test_divergence_where_whole_numbers_are_left_out():
    # 0, 1, 3 and 4: mirrored at 3 only 3 stays, at 3.5 it changes places with 4, at 4 only 4 stays.
    law = stats.rv_discrete(values=([0, 1, 3, 4], [0.1, 0.4, 0.4, 0.1]))()
    changed = 0.5 * LOG_2 + 0.4 * math.log(0.8 / 0.5) + 0.1 * math.log(0.2 / 0.5)
    by_hand = [0.6 * LOG_2, changed, 0.9 * LOG_2, LOG_2]
    assert symmetric_divergence(law, [2.1, 3.2, 3.5, 4.0]) == pytest.approx(by_hand)


@pytest.mark.parametrize("law", UNIT)
def test_divergences_of_laws_by_quadrature(law):
    density = UNIT[law].pdf
    for gap in (0.5, 2.0):

        def integrand(y, gap=gap):
            f, g = density(y), density(2 * gap - y)
            return special.rel_entr(f, (f + g) / 2)

        edges = np.unique([-30, -(3**0.5), 0, gap, 2 * gap - 3**0.5, 3**0.5, 2 * gap, 2 * gap + 3**0.5, 30])
        by_hand = sum(integrate.quad(integrand, *ends, limit=200)[0] for ends in itertools.pairwise(edges))
        # At m = mu*, where the infimum is for these; beyond 30 there is less than 1e-4 of Student's.
        assert symmetric_divergence(UNIT[law], gap) == pytest.approx(by_hand, abs=1e-4 if law == "t(3)" else 1e-8)


# --- theorem 2 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1,) * 8, (0, 1, 1, 2, 3, 5), (1, 2, 4, 8, 16, 32, 64), (0, 0, 0, 1), (3,)], ids=str)
def test_lemma_one(sizes):
    # Over all signs of these distances from the mean, which are equally likely; a miss at equality would be found, since
    # without ties the inequality is one.
    n = len(sizes)
    signs = np.array(list(itertools.product([-1, 1], repeat=n)))
    counts = naive.at_least(signs * np.array(sizes), 0)
    shares = np.array([(counts <= subsets).sum() / subsets for subsets in range(1, 2**n + 1)])
    assert (shares <= 1).all()
    assert shares.max() == 1


def first_passages(steps, log):
    """For each row of steps, the first time that their sum exceeds ``log``, or their number: Wald holds for that, too."""
    over = np.cumsum(steps, axis=1) > log
    return np.where(over.any(axis=1), over.argmax(axis=1) + 1, steps.shape[1])


WALKS = {
    "normal": (stats.norm(-1, 1), 1000),
    "exponential": (stats.expon(-2), 1000),
    "coins": (stats.binom(1, 0.5, loc=-1), 400),
    "t(1.5), no variance": (stats.t(1.5, loc=-2), 1000),
}


WITHOUT_RATE = ("t(1.5), no variance", "self-normalised")


@pytest.mark.parametrize(
    ("law", "kind"), [(law, kind) for law in WALKS for kind in theory.INDICES if (law, kind) != WITHOUT_RATE]
)
def test_lemma_two(law, kind):
    # A bound without the last term, log 2 or 1/2, is refuted for coins, where walks rise by it.
    distribution, longest = WALKS[law]
    y = distribution.rvs((2000, longest), random_state=np.random.default_rng(1))
    log = 6.0
    if kind == "subsets":
        rate = symmetric_rate(distribution, 0.0)
        bets = np.geomspace(0.01, 60, 60)
        bet = bets[np.argmax((LOG_2 - np.logaddexp(0, np.multiply.outer(bets, y[:50].ravel()))).mean(axis=1))]
        steps = LOG_2 - np.logaddexp(0, bet * y)
        mean = float(distribution.expect(lambda v: LOG_2 - np.logaddexp(0, bet * v))) if law != "coins" else rate
    else:
        gap, square = -distribution.mean(), distribution.var() + distribution.mean() ** 2
        bet, rate = 2 * gap / square, gap**2 / (2 * square)
        steps = -bet * y / 2 - (bet * y) ** 2 / 8
        mean = rate
    most = theory.LARGEST_STEP[kind]
    assert steps.max() <= most
    assert mean <= rate * (1 + 1e-6)
    times = first_passages(steps, log)
    bound = (log + most) / mean
    assert times.mean() - ERRORS * times.std() / math.sqrt(times.size) <= bound
    assert times.mean() + ERRORS * times.std() / math.sqrt(times.size) > 0.85 * log / mean
    if law == "coins" and kind == "subsets":
        assert times.mean() - ERRORS * times.std() / math.sqrt(times.size) > log / mean


def subset_steps(rng, shape):
    """Steps of normal rewards 0.7 below the best mean, at the best bet; the largest and the mean."""
    distribution = stats.norm(-0.7, 1)
    steps = LOG_2 - np.logaddexp(0, 2 * 0.7 * distribution.rvs(shape, random_state=rng))
    return steps, LOG_2, float(symmetric_rate(distribution, 0.0))


def quadratic_steps(rng, shape):
    """Steps of the self-normalised index for coins, 0 or -2."""
    y = rng.choice([-2.0, 0.0], size=shape)
    return -y / 2 - y**2 / 8, 0.5, 0.25


def jagged_steps(rng, shape):
    """Up by 1/2 nineteen times of twenty, else down by 1: what comes near the bound."""
    return np.where(rng.random(shape) < 0.95, 0.5, -1.0), 0.5, 0.425


@pytest.mark.parametrize("draw", [subset_steps, quadratic_steps, jagged_steps])
def test_rounds_in_which_the_best_arm_is_missed_cost_what_is_said(draw):
    # An adversary who pulls the arm when its walk is above L, as in a round in which the best arm's index is too low, m
    # times. Pulls until then, and those that bring the walk above L again, are as many as (*) allows with D = m.
    log, misses, size = 4.0, 12, 2000
    steps, most, rate = draw(np.random.default_rng(0), (size, 700))
    heights = np.cumsum(np.concatenate([np.zeros((size, 1)), steps], axis=1), axis=1)
    pulls = np.array([np.flatnonzero(row > log)[misses] for row in heights])
    error = ERRORS * pulls.std() / math.sqrt(size)
    assert pulls.mean() - error <= (log + most * (1 + misses)) / rate
    if draw is jagged_steps:  # with half of the term for misses it would be wrong
        assert pulls.mean() - error > (log + most * (1 + misses / 2)) / rate


def test_misses_at_falling_levels_are_fewer_than_said():
    t = np.arange(2.0, 1e6)
    first = ((t - 1) / (t * (1 + np.log(t))) ** 2).sum()
    rest = 1 / (1 + math.log(1e6 - 1))  # integral of 1/(t (1 + log t)^2)
    assert 0.54 < first + rest < theory.MISSES


def by_quadrature(law, gap):
    """``sup_s E X``: the best of a grid of bets, each by adaptive quadrature."""
    low, high = (float(np.clip(end, -2e3, 2e3)) for end in law.support())

    def mean(bet):
        edges = np.unique(np.clip([low, -5, 0, gap, 5, 50, high], low, high))
        parts = itertools.pairwise(edges)
        return sum(
            integrate.quad(lambda y: law.pdf(y) * (LOG_2 - np.logaddexp(0, bet * (y - gap))), *ends, limit=200)[0]
            for ends in parts
        )

    bets = np.geomspace(1, 3, 12) * gap
    return max(mean(bet) for bet in bets)


@pytest.mark.parametrize("law", UNIT)
def test_rates_are_suprema_by_quadrature(law):
    for gap in (0.5, 1.0):
        expected = by_quadrature(UNIT[law], gap)
        rate = float(symmetric_rate(UNIT[law], gap))
        assert expected * (1 - 1e-7) <= rate <= expected * (1 + 5e-3)


@pytest.mark.parametrize("law", UNIT)
def test_order_of_the_rates(law):
    # A rate of twice the gap, or a divergence at another centre, breaks the order.
    rates, divergences = symmetric_rate(UNIT[law], GAPS), symmetric_divergence(UNIT[law], GAPS)
    quadratic = GAPS**2 / (2 * (1 + GAPS**2))
    assert (quadratic <= rates).all()
    assert (rates <= divergences * (1 + 1e-7)).all()
    assert (divergences <= LOG_2 * (1 + 1e-9)).all()
    assert (np.diff(rates) >= 0).all()
    if law == "normal":
        assert rates == pytest.approx(divergences, rel=1e-7)
        assert (rates < np.log1p(GAPS**2) / 2).all()
        moment_generating = 1 / 2 + np.exp(-(GAPS**2) / 2) / 2
        assert (-np.log(moment_generating) <= rates).all()


@pytest.mark.parametrize("order", [1.1, 1.5, 2.0])
def test_rates_by_moments(order):
    c = order - 1
    v = np.geomspace(1e-3, 1e3, 300)
    assert (np.logaddexp(v, -v) - LOG_2 <= 2**-c * v**order * (1 + 1e-12)).all()
    law = stats.t(2.5)
    for gap in (0.3, 1.0, 4.0):
        moment = float(law.expect(lambda y, gap=gap: np.abs(y - gap) ** order))
        slopes = np.geomspace(1e-14, 1e3, 20_000)
        best = (slopes * gap / 2 - 2 ** (-1 - 2 * c) * slopes**order * moment).max()
        rate = 2 * c * (1 + c) ** (-1 - 1 / c) * (gap**order / moment) ** (1 / c)
        assert best == pytest.approx(rate, rel=1e-4)
        assert rate <= symmetric_rate(law, gap)


def test_rates_of_samples_constants_and_means_that_are_not_below():
    assert symmetric_rate([3, 3, 3], 4) == pytest.approx(LOG_2, rel=1e-7)
    assert symmetric_rate([0, 2], 1) == 0
    assert symmetric_rate([0, 2], 0.5) == 0
    assert symmetric_rate([5.0], 5) == 0
    rng = np.random.default_rng(0)
    sample = rng.normal(size=50_000)
    assert symmetric_rate(sample, 1.0) == pytest.approx(
        symmetric_rate(stats.norm(sample.mean(), sample.std()), 1), rel=0.01
    )
    bets = np.linspace(0.5, 4, 200)
    by_hand = max(naive.walk(sample[:100], 1.0, bets)) / 100
    assert by_hand * (1 - 1e-7) <= symmetric_rate(sample[:100], 1.0) <= by_hand * 1.001
    # Not the last digit of the supremum: every rate is a lower bound.
    assert symmetric_rate(stats.uniform(-2, 1), 0.0) < LOG_2
    scaled = symmetric_rate(1e-200 * sample[:100], 1e-200)
    assert scaled == pytest.approx(symmetric_rate(sample[:100], 1.0), rel=1e-9)


@pytest.mark.parametrize("values", [[0, 1.5], [-10, 0, 10], [0, 1, 1, 100], [0.25, 0.5, 7]], ids=str)
def test_rates_of_listed_values_wherever_they_lie(values):
    # A sample of them has the same rate. Read off whole numbers up to the first gap, most rates were near log 2.
    atoms, counts = np.unique(values, return_counts=True)
    law = stats.rv_discrete(values=(atoms, counts / counts.sum()))(loc=-2)
    for gap in (0.1, 1.0, 20.0):
        best = np.mean(values) - 2 + gap
        assert symmetric_rate(law, best) == pytest.approx(symmetric_rate(np.array(values) - 2.0, best), rel=1e-9)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-9])
def test_rates_at_small_gaps_are_rounded_down_and_divergences_up(gap):
    # snr/2 - snr^2/4 + snr^3/6: the capacity for weak signals. A sum of log 2 - log(1 + e^u) loses half its digits here.
    snr = gap**2
    capacity = snr / 2 - snr**2 / 4 + snr**3 / 6
    assert capacity * (1 - 2e-8) <= symmetric_rate(stats.norm(), gap) <= capacity
    assert capacity <= symmetric_divergence(stats.norm(), gap) <= capacity * (1 + 2e-8) + 2e-15


def test_rates_at_the_ends():
    # Never above the best mean, if by a hair; differences beyond the doubles; half of the rewards at the best mean.
    assert LOG_2 * (1 - 2e-8) <= symmetric_rate([0, 1], 1 + 1e-12) <= LOG_2
    assert symmetric_rate([1e308, -1e308], 1e308) == pytest.approx(LOG_2 / 2, rel=1e-7)
    assert symmetric_rate([1e-320, 0], 1e-320) == pytest.approx(LOG_2 / 2, rel=1e-7)
    for scale in (1e-300, 1e300):
        assert symmetric_rate(stats.norm(0, scale), scale) == pytest.approx(symmetric_rate(stats.norm(), 1), rel=1e-9)


def legendre(ends):
    """Points and weights of Gauss and Legendre's rule on fifty parts of each piece between ends."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    fine = np.unique(np.concatenate([np.linspace(*pair, 51) for pair in itertools.pairwise(ends)]))
    half = np.diff(fine)[:, None] / 2
    return (fine[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def best_rate(points, weights, centre):
    """``sup_s E X`` of atoms: a grid, then a search beside its best."""

    def negative(log_bet):
        return -float(weights @ (LOG_2 - np.logaddexp(0, math.exp(log_bet) * (points - centre))))

    grid = np.linspace(-7, 8, 100)
    best = int(np.argmin([negative(value) for value in grid]))
    options = {
        "bounds": (grid[max(best - 1, 0)], grid[min(best + 1, 99)]),
        "method": "bounded",
        "options": {"xatol": 1e-9},
    }
    return -float(optimize.minimize_scalar(negative, **options).fun)


STEPS = stats.rv_histogram((np.array([1, 3, 2, 2, 3, 1]), np.array([-3.0, -2.2, -1, 0, 1, 2.2, 3])), density=True)()
UNEVEN = stats.rv_histogram((np.array([5, 3, 1, 0, 0.5]), np.array([0.0, 1, 2.5, 3, 4, 7])), density=True)()


@pytest.mark.parametrize(
    ("law", "bends"),
    [
        (UNEVEN, [0, 1, 2.5, 3, 4, 7]),
        (stats.trapezoid(0.15, 0.4), [0, 0.15, 0.4, 1]),
        (stats.laplace_asymmetric(0.3), [-40, 0, 20, 120]),
    ],
    ids=["histogram", "trapezoid", "asymmetric Laplace"],
)
def test_rates_of_densities_that_jump_or_bend_are_rounded_down(law, bends):
    # Panels that are not halved there give rates up to 0.5 % too high.
    for part in (0.3, 1.0):
        centre = float(law.mean() + part * law.std())
        points, weights = legendre(np.unique([*bends, centre]))
        expected = best_rate(points, weights * law.pdf(points), centre)
        assert expected * (1 - 2e-8) <= symmetric_rate(law, centre) <= expected


def test_divergences_of_densities_that_jump_are_rounded_up():
    # Panels that are not halved where the mirrored density jumps give 0.3 % too little.
    ends = np.array([-3.0, -2.2, -1, 0, 1, 2.2, 3])
    for centre in (0.16, 1.1):
        points, weights = legendre(np.unique(np.clip([*ends, *(2 * centre - ends)], -3, 3)))
        f, g = STEPS.pdf(points), STEPS.pdf(2 * centre - points)
        by_hand = float(weights @ special.rel_entr(f, (f + g) / 2))  # at m = mu*, where the infimum is here
        assert by_hand <= symmetric_divergence(STEPS, centre) <= by_hand * (1 + 2e-8)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.05, 0.05), (0.1, 2.0)])
@pytest.mark.parametrize("shift", [0, 1000])
def test_rates_where_a_density_is_infinite_are_rounded_down(a, b, shift):
    # Beside 1 or 1000 doubles are too few for beta densities: what they miss was left out, for rates a third too high.
    logits, weights = legendre(np.concatenate([-np.geomspace(40 / a, 1, 12), np.geomspace(1, 40 / b, 12)]))
    weights *= np.exp(-a * np.logaddexp(0, -logits) - b * np.logaddexp(0, logits) - special.betaln(a, b))
    law = stats.beta(a, b)
    for part in (0.5, 1.0):
        gap = part * law.std()
        expected = best_rate(special.expit(logits), weights, law.mean() + gap)
        rate = symmetric_rate(stats.beta(a, b, loc=shift), float(law.mean() + shift) + gap)
        assert expected * (1 - 1e-7) <= rate <= expected


@pytest.mark.parametrize("gap", [1e-7, 1e-9, 1e-12])
def test_rates_of_samples_at_small_gaps_are_rounded_down(gap):
    # Distances 1 - gap and -1 - gap are rounded, and their mean was off by up to a part of 1e-4.
    capacity = gap**2 / 2
    assert capacity * (1 - 2e-8) <= symmetric_rate([-1.0, 1.0], gap) <= capacity


def test_divergence_where_a_density_is_infinite():
    # The arcsine distribution mirrored at m: nodes on the mirrored ends have an infinite density.
    law, centre = stats.beta(0.5, 0.5), 0.6

    def integrand(angle):  # y = sin^2(angle), under which the distribution is uniform
        y = math.sin(angle) ** 2
        f, g = law.pdf(y), law.pdf(2 * centre - y)
        return 2 / math.pi * math.log(2 * f / (f + g))

    ends = (1e-9, math.asin(0.2**0.5) - 1e-9, math.asin(0.2**0.5) + 1e-9, math.pi / 2 - 1e-9)
    by_hand = sum(integrate.quad(integrand, *pair, limit=400)[0] for pair in (ends[:2], ends[2:]))
    assert 0 < symmetric_divergence(law, centre) <= by_hand * (1 + 1e-4)


# --- theorems 3 and 4 -------------------------------------------------------------------------------------------------


def test_lemma_three():
    # Measured probabilities are up to 0.56 of the bound: a quarter of it would be refuted.
    rng = np.random.default_rng(3)
    size, ratios = 40_000, []
    for n, subsets, shift in [(5, 2, 0.3), (7, 4, 0.2), (8, 3, 0.4), (8, 64, 0.1)]:
        y = rng.normal(size=(size, n)) + shift  # about x = 0
        share = np.mean(naive.at_least(y, 0.0) <= subsets)
        bound = subsets / 2**n * math.exp(-n * shift**2 / 2)
        assert share - ERRORS * math.sqrt(share / size) <= bound
        ratios.append(share / bound)
    assert max(ratios) > 0.25
    # One reward at level 1/2 is missed if it is below x, exactly; with twice the exponent that is refuted at shift 2.
    shifts = np.array([0.5, 1.0, 2.0, 3.0])
    assert (stats.norm.sf(shifts) <= np.exp(-(shifts**2) / 2) / 2).all()
    assert stats.norm.sf(2.0) > math.exp(-(2.0**2)) / 2


@pytest.mark.parametrize("c", [0.01, 0.3, 2.0])
def test_sums_of_theorem_three(c):
    n = np.arange(1, int(2000 / c) + 50)
    assert (n * np.exp(-n * c)).sum() <= 1 / c**2
    assert (n**2 * np.exp(-n * c)).sum() <= 2 / c**3
    harmonic = np.cumsum(1 / np.arange(1.0, 2**16 + 1))
    assert (harmonic[2 ** np.arange(1, 17) - 1] - 1 <= np.arange(1, 17) * LOG_2).all()


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0, 50.0, 1e4])
@pytest.mark.parametrize("log", [math.log(32), 6.0, 20.0, 200.0])
def test_lemma_four_where_the_first_part_ends(ratio, log):
    # The conditions on all n beyond n_a; with 100 in place of 576 the first fails.
    r = max(1.0, ratio)
    first = 576 * (r * (1 + math.log(r)) * log) ** 2
    n = first * np.geomspace(1, 1e12, 500)
    level = log + LOG_2 + 2 * np.log(n)
    assert (8 / 9 * ratio**2 * level**2 / n <= np.sqrt(first / n) / 16).all()
    assert (n >= 4 * ratio**2 * level).all()
    assert (3 * n >= 4 * level).all()
    if (ratio, log) == (1.0, math.log(32)):
        smaller = first * 100 / 576
        small_level = log + LOG_2 + 2 * math.log(smaller)
        assert 8 / 9 * ratio**2 * small_level**2 / smaller > 1 / 16
    # And the rest of the sum is small beside it: 577 in place of 576.
    a = math.exp(-log)
    assert a * first + a / 2 * (1 / first + 1 / first**2) + (2 * a) ** 4 * (first + 1) <= 577 / 576 * a * first


def test_lemma_four_splits_rewards():
    # p_n(x) >= 2^-|B|/2 if the others add up to x or more; a factor of 1 in place of 1/2 is refuted.
    rng = np.random.default_rng(5)
    rows = rng.integers(-4, 5, size=(4000, 8))
    low = rows < -2
    others = np.where(low, 0, rows).sum(axis=1) >= 0
    ratios = naive.at_least(rows, 0)[others] / 2.0 ** (8 - low.sum(axis=1)[others])
    assert ratios.min() >= 0.5
    assert ratios.min() < 1


@pytest.mark.parametrize(("n", "cut", "shift"), [(20, 3, 0.5), (100, 3, 0.5), (100, 5, 1.0)])
def test_lemma_four_bernstein(n, cut, shift):
    # Rewards -5, 0 and 5, cut at -b: the exact probability of a low sum, by convolution, against Bernstein's bound. With
    # twice the exponent that would be refuted where nothing is cut.
    rare = 0.1
    step = np.zeros(cut + 6)
    step[[0, cut, cut + 5]] = rare, 1 - 2 * rare, rare
    law = np.array([1.0])
    for _ in range(n):
        law = np.convolve(law, step)
    sums = np.arange(law.size) - cut * n
    exact = law[sums < -n * shift].sum()
    exponent = n * shift**2 / (2 * (2 * rare * 25 + cut * shift / 3))
    assert exact <= math.exp(-exponent)
    if cut == 5:
        assert exact > math.exp(-2 * exponent)


# --- theorem 5 --------------------------------------------------------------------------------------------------------


def test_theorem_five_is_about_a_martingale():
    # 2/(1 + e^{s d}) with e^s = 2, 3 and 9/2: over all signs the mean capital is 1, exactly, and it ever exceeds 1/a with
    # probability at most a. Without the 2 in the numerator neither is true.
    sizes = np.array([1, 2, 2, 1, 3, 1, 2])
    signs = np.array(list(itertools.product([-1, 1], repeat=sizes.size)))
    distances = signs * sizes
    bets = [Fraction(2), Fraction(3), Fraction(9, 2)]
    table = {(bet, d): 2 / (1 + bet**d) for bet in bets for d in range(-3, 4)}
    paths = []
    for row in distances.tolist():
        capital = [Fraction(1, 3)] * 3
        path = []
        for d in row:
            capital = [c * table[bet, d] for c, bet in zip(capital, bets, strict=True)]
            path.append(sum(capital))
        paths.append(path)
    for n in range(sizes.size):
        assert sum(path[n] for path in paths) == len(paths)
    highest = np.array([float(max(path)) for path in paths])
    for level in (0.5, 0.3, 0.1, 0.05):
        assert np.mean(highest > 1 / level) <= level
    assert np.mean(highest > 2) > 0.1


@pytest.mark.parametrize("law", ["normal", "exponential", "t(1.5), no variance"])
def test_theorem_five_first_passage(law):
    distribution, longest = WALKS[law]
    y = distribution.rvs((1000, longest // 2), random_state=np.random.default_rng(2))
    bets, log = 2.0 ** np.arange(-6, 4), 6.0
    walks = np.array([np.cumsum(LOG_2 - np.logaddexp(0, bet * y), axis=1) for bet in bets])
    capital = special.logsumexp(walks, axis=0) - math.log(bets.size)
    times = first_passages(np.diff(capital, axis=1, prepend=0.0), log)
    rates = [float(distribution.expect(lambda v, bet=bet: LOG_2 - np.logaddexp(0, bet * v))) for bet in bets]
    bound = min((log + math.log(bets.size) + LOG_2) / rate for rate in rates if rate > 0)
    assert times.mean() - ERRORS * times.std() / math.sqrt(times.size) <= bound
    assert times.mean() > bound / 3


# --- the bound beside pulls that were counted -------------------------------------------------------------------------

PROBLEMS = {
    "normal": (stats.norm(1, 1), stats.norm(0, 1)),
    "Laplace": (stats.laplace(1, 0.5**0.5), stats.laplace(0, 0.5**0.5)),
    "uniform": (stats.uniform(1 - 3**0.5, 2 * 3**0.5), stats.uniform(-(3**0.5), 2 * 3**0.5)),
    "t(3)": (stats.t(3, 1, 3**-0.5), stats.t(3, 0, 3**-0.5)),
    "skewed worse arm": (stats.norm(1, 1), stats.expon(-1)),
    "certain worse arm": (stats.t(3, 1), stats.uniform(0, 1e-12)),
}


def coins(*means):
    """Arms with rewards of 1 less and 1 more than these means."""
    return Arms([stats.rv_discrete(values=([-1, 1], [0.5, 0.5]))(loc=mean) for mean in means])


@pytest.fixture(scope="module")
def counted():
    """Pulls of the worse arm at rounds 500 and 2000, policy by policy and problem by problem."""
    policies = {"falling": SignFlipUCB(proved=True), "fixed": SignFlipUCB(proved=True, alpha=1 / 2000**2)}
    found = {}
    environments = {name: Arms(list(laws)) for name, laws in PROBLEMS.items()} | {"coins": coins(1, 0)}
    for name, environment in environments.items():
        options = {"horizon": 2000, "replications": 60, "seed": 2026, "checkpoints": [500, 2000], "progress": False}
        found[name] = simulate(policies, environment, **options)
    return found


@pytest.mark.parametrize("problem", [*PROBLEMS, "coins"])
def test_pulls_are_fewer_than_the_bound_and_not_far_below(counted, problem):
    # Twice smaller the bound would be wrong, and found so.
    result = counted[problem]
    best, worse = PROBLEMS.get(problem, (stats.norm(1), stats.norm(0)))
    gap = best.mean() - worse.mean()
    for row, alpha in enumerate((None, 1 / 2000**2)):
        bound = sign_flip_regret_bound([0, gap], [500, 2000], scales=worse.std(), alpha=alpha)
        mean, error = result.mean[row], result.standard_error[row]
        assert (mean <= bound).all()
        assert (mean - ERRORS * error > bound / 2).all()


def test_a_best_arm_without_a_mean():
    # Cauchy about 0 beside coins about -1: the centre stands for the mean. Most of the bound are pulls that every arm gets.
    rng = np.random.default_rng(4)
    pulls, rounds = [], 400
    for _ in range(8):
        policy = SignFlipUCB(proved=True, arms=2, rng=0)
        choices = []
        for best, worse in zip(rng.standard_cauchy(rounds), rng.choice([-2.0, 0.0], rounds), strict=True):
            choices.append(policy.select())
            policy.update(choices[-1], (best, worse)[choices[-1]])
        pulls.append(sum(choices))
    bound = sign_flip_regret_bound([0, 1], rounds, scales=1)
    assert max(pulls) <= bound
    assert min(pulls) > bound / 3


def test_several_best_arms_of_which_one_is_symmetric():
    laws = [stats.norm(1, 1), stats.expon(0), stats.norm(0, 1), stats.norm(0.5, 1)]
    result = simulate(SignFlipUCB(proved=True), Arms(laws), horizon=1500, replications=40, seed=1, progress=False)
    bound = sign_flip_regret_bound([0, 0, 1, 0.5], 1500, scales=1)
    assert float(result.mean[0, -1]) <= bound
    assert float(result.mean[0, -1]) > bound / 4


# --- the front door ---------------------------------------------------------------------------------------------------


def test_bounds_are_the_formula():
    t, gap, scale = 3000, 0.4, 1.7
    rate = gap**2 / (2 * (scale**2 + gap**2))
    log = 2 * math.log(t)
    expected = {
        None: (log + 2 * math.log(1 + math.log(t)) + 0.5 * 1.55) / rate,
        "1/T^2": (log + 0.5) / rate + 1 - 1 / t,
        1e-5: (math.log(1e5) + 0.5) / rate + 1e-5 * t * (t - 1),
    }
    for alpha, pulls in expected.items():
        found = sign_flip_regret_bound([gap, 0.0], t, scales=scale, alpha=alpha)
        assert gap * min(pulls, t) <= found <= gap * min(pulls, t) * (1 + 1e-7)
        by_moment = sign_flip_regret_bound([gap, 0.0], t, moments=scale**2 + gap**2, alpha=alpha)
        assert by_moment == pytest.approx(found, rel=1e-12)
    subsets = sign_flip_regret_bound([0, gap], t, rates=[0.0, 0.3], index="subsets", alpha="1/T^2")
    assert subsets == pytest.approx(gap * ((log + LOG_2) / 0.3 + 1 - 1 / t), rel=1e-7)
    c, moment = 0.5, 2.0
    slow = 2 * c * (1 + c) ** (-1 - 1 / c) * (gap ** (1 + c) / moment) ** (1 / c)
    heavy = sign_flip_regret_bound([0, gap], 1e9, moments=moment, order=1.5, index="subsets", alpha="1/T^2")
    assert heavy == pytest.approx(gap * ((2 * math.log(1e9) + LOG_2) / slow + 1), rel=1e-7)


def test_shapes_and_limits():
    curve = sign_flip_regret_bound([0, 1, 0.5], [[100, 200.5]], scales=[5, 1, 2])
    assert curve.shape == (1, 2)
    assert curve[0, 1] == sign_flip_regret_bound([0, 1, 0.5], 201, scales=[9, 1, 2])  # the best arm's is not used
    assert sign_flip_regret_bound([0], 100, scales=1) == 0
    assert sign_flip_regret_bound([0, 0], 100, scales=1) == 0
    assert sign_flip_regret_bound([0, 3, 3], 10, scales=1) == 30
    assert symmetric_rate(stats.norm(), [[1.0, 2.0]]).shape == (1, 2)
    assert isinstance(symmetric_divergence(stats.norm(), 1), float)


@pytest.mark.parametrize(
    ("gap", "scale"), [(1e-300, 1.0), (1e-300, 1e300), (5e-324, 1.0), (1e300, 1e-300), (1e300, 0.0)]
)
def test_units_however_small_or_large(gap, scale):
    # Without a warning: all rounds where the rate is lost, and the best rate, 1/2, where there is no noise.
    found = sign_flip_regret_bound([0, gap], 1000, scales=scale)
    best = (2 * math.log(1000) + 2 * math.log1p(math.log(1000)) + 0.5 * 1.55) / 0.5
    assert found == pytest.approx(gap * (1000 if gap < 1 else best), rel=1e-7)


def test_moments_beyond_the_doubles():
    expected = sign_flip_regret_bound([0, 1], 1000, moments=4.0, index="subsets")
    for gap in (2.0**-500, 2.0**500):
        found = sign_flip_regret_bound([0, gap], 1000, moments=4 * gap * gap, index="subsets")
        assert found / gap == pytest.approx(expected, rel=1e-9)
    assert sign_flip_regret_bound([0, 1e-200], 1000, moments=1e-300, index="subsets") == pytest.approx(1e-197)
    with pytest.raises(InvalidInput, match=r"'moments' parameter .* must be at least gap"):
        sign_flip_regret_bound([0, 1e-200], 1000, moments=0.0, index="subsets")


def test_moments_of_an_order_near_one_are_rounded_down():
    # (gap/root)^(order/c) has 2^30 times the rounding of the ratio, for arms that are constant.
    c, t = 2.0**-30, 1e15
    with localcontext(prec=60):
        for gap in np.linspace(0.1, 5, 50).tolist():
            moment = gap ** (1 + c)
            exact_ratio = Decimal(gap) / Decimal(moment) ** (1 / (1 + Decimal(c)))
            rate = (
                2 * Decimal(c) * (1 + Decimal(c)) ** (-1 - 1 / Decimal(c)) * min(exact_ratio, 1) ** (1 + 1 / Decimal(c))
            )
            pulls = (2 * Decimal(t).ln() + Decimal(2).ln()) / rate + 1 - 1 / Decimal(t)
            bound = sign_flip_regret_bound([0, gap], t, moments=moment, order=1 + c, index="subsets", alpha="1/T^2")
            assert Decimal(gap) * pulls <= Decimal(bound) <= Decimal(gap) * pulls * Decimal(1 + 1e-5)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"gaps": [1, 2]}, "'gaps' parameter of sign_flip_regret_bound must be one number per arm, 0 for the best"),
        ({"horizon": 1}, "'horizon' parameter of sign_flip_regret_bound must be finite numbers of at least 2"),
        (
            {"scales": None},
            "'scales' parameter .* must be given, or one of 'rates' and 'moments' instead. Got none of them",
        ),
        ({"moments": 3.0}, "'scales' parameter .* must be given, or .* instead. Got scales and moments"),
        ({"scales": [1, 1, 1]}, "'scales' parameter of sign_flip_regret_bound must be one number, or one per arm"),
        ({"scales": -1}, "'scales' parameter of sign_flip_regret_bound must be finite numbers of at least 0"),
        ({"scales": None, "rates": 0.1}, "'rates' parameter .* must be left out unless index='subsets'. Got 0.1"),
        ({"scales": None, "rates": 0.0, "index": "subsets"}, "'rates' parameter .* must be above 0 and at most log 2"),
        ({"scales": None, "rates": 0.7, "index": "subsets"}, "'rates' parameter .* must be above 0 and at most log 2"),
        ({"scales": None, "moments": 0.5}, "'moments' parameter .* must be at least gap"),
        ({"order": 1.5}, "'order' parameter .* must be 2, unless 'moments' are given for index='subsets'"),
        ({"order": 1}, "'order' parameter of sign_flip_regret_bound must be a finite number greater than 1"),
        ({"index": "signs"}, "'index' parameter .* must be one of 'self-normalised', 'subsets'. Got 'signs'"),
        ({"alpha": "1/t"}, r"'alpha' parameter .* must be '1/T\^2', a number in \(0, 1\), or left out. Got '1/t'"),
        ({"alpha": 1.5}, "'alpha' parameter of sign_flip_regret_bound must be"),
    ],
)
def test_refusals_of_the_bound(change, match):
    with pytest.raises(InvalidInput, match=match):
        sign_flip_regret_bound(**({"gaps": [0, 1], "horizon": 100, "scales": 1.0} | change))


def test_refusals_of_the_rates():
    with pytest.raises(InvalidInput, match="'law' parameter of symmetric_rate must be a distribution with a mean"):
        symmetric_rate(stats.cauchy(), 1)
    with pytest.raises(InvalidInput, match="'law' parameter of symmetric_rate must be a distribution, or one sample"):
        symmetric_rate([[0, 1]], 1)
    with pytest.raises(InvalidInput, match="'sample' parameter of symmetric_rate must be"):
        symmetric_rate("normal", 1)
    with pytest.raises(InvalidInput, match="'law' parameter of symmetric_divergence must be a frozen"):
        symmetric_divergence([0, 1], 1)
    with pytest.raises(
        InvalidInput, match="'law' parameter of symmetric_divergence must be a distribution with a mean"
    ):
        symmetric_divergence(stats.cauchy(), 1)
    for values in ([0, 1.5], [0, 10_000_000]):
        law = stats.rv_discrete(values=(values, [0.5, 0.5]))()
        with pytest.raises(InvalidInput, match=r"'law' parameter of .* must be a discrete .* of step 1"):
            symmetric_divergence(law, 6e6)
    with pytest.raises(InvalidInput, match="'mean' parameter of symmetric_divergence must be above the mean"):
        symmetric_divergence(stats.norm(), 0)

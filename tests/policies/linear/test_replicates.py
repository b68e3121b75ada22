"""Bootstrap replicates against literal ones; chi-square tests reject a right law with probability 1e-6 each.

Of 20,000 replicates they see frequencies that are off by a fourteenth in root mean square with probability 0.99, of 40,000
by a twentieth.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.multipliers.weights import EFRON
from bandstrap.policies.linear.known_actions import record, start_known
from bandstrap.policies.linear.multiplied import POISSON, multipliers
from bandstrap.policies.linear.replicates import (
    Generators,
    Observed,
    column_sums,
    complete,
    distances,
    draw_weights,
    factor_all,
    group,
    next_words,
    resample,
    resampled_distances,
    rotate_into_all,
    split_poisson,
    start_factors,
    start_generators,
    tally,
)
from naive import linear as naive
from policies.linear.compiled import CALLS, resampling
from sampling import each, exhaustive

SIGNIFICANCE = 1e-6


def observed(X, y):
    """What a resampled state keeps of the observations."""
    known = start_known(X.shape[1], len(X) + 1)
    labels = [record(known, x, float(reward)) for x, reward in zip(X, y, strict=True)]
    room = np.zeros(3)
    return known, Observed(np.array([len(X)]), np.append(labels, room).astype(np.int64), np.append(y, room))


def observations(d, n, seed, n_actions=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_actions, d))[rng.integers(0, n_actions, n)].reshape(n, d), rng.normal(size=n)


def generators(n, seed):
    return start_generators(n, np.random.default_rng(seed)), naive.seeded(n, np.random.default_rng(seed))


def copied(arrays):
    return type(arrays)(*(part.copy() for part in arrays))


# --- random words and resamples ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [next_words, CALLS[next_words]], ids=["plain", "compiled"])
def test_words_are_those_of_xorshift_in_whole_numbers(call):
    ours, slow = generators(7, 3)
    words = np.empty(7, dtype=np.uint64)
    for _ in range(50):
        call(ours, words)
        assert words.tolist() == [g.word() for g in slow]
    assert ours.first.tolist() == [g.first for g in slow]
    assert ours.second.tolist() == [g.second for g in slow]


def test_no_generator_starts_at_zero_where_it_would_stay():
    class Zeros:
        def random(self):
            return 0.0

    ours = start_generators(3, Zeros())
    assert (ours.first > 0).all()
    assert (ours.second > 0).all()
    ones = start_generators(1, type("Ones", (), {"random": lambda self: 1 - 2**-53})())
    assert int(ones.first[0]) == 2**64 - 2**12 + 1


@exhaustive
@each("n", [0, 1, 2, 3, 10, 37, 300])
def test_resamples_are_the_literal_ones_plain_and_compiled(n):
    X, y = observations(2, n, n)
    known, data = observed(X, y)
    size = int(known.size[0])
    slow = generators(9, n)[1]
    for _ in range(3):
        literal = naive.resampled_weights(n, slow)
    results = []
    for draw, by_action, add_up in ((resample, group, tally), (resampling.compiled, CALLS[group], CALLS[tally])):
        own = generators(9, n)[0]
        for _ in range(3):
            times = draw(n, own)
        counts, sums = np.zeros((size, 9)), np.zeros((size, 9))
        add_up(by_action(known, data), times, counts, sums)
        results.append((times, counts, sums, *own))
    times, counts, sums, first, second = results[0]
    assert times.tolist() == literal.tolist()
    assert first.tolist() == [g.first for g in slow]
    assert second.tolist() == [g.second for g in slow]
    order = naive.by_action(X)
    of_action = data.labels[order] == np.arange(size)[:, None]
    assert (counts == of_action @ literal).all()
    np.testing.assert_allclose(sums, (of_action * y[order]) @ literal, rtol=1e-13, atol=1e-12)
    assert (counts.sum(axis=0) == n).all()
    for one, other in zip(*results, strict=True):
        assert one.tobytes() == other.tobytes()


def test_observations_are_grouped_by_action_in_the_order_they_came():
    known, data = observed(*observations(2, 40, 3))
    grouped = group(known, data)
    order = np.argsort(data.labels[:40], kind="stable")
    assert grouped.rewards.tolist() == data.rewards[order].tolist()
    assert np.repeat(np.arange(known.size[0]), np.diff(grouped.starts)).tolist() == data.labels[order].tolist()
    assert grouped.starts[-1] == 40
    for one, other in zip(grouped, CALLS[group](known, data), strict=True):
        assert one.tobytes() == other.tobytes()


@each("rate", [0.01, 0.134, 0.47, 0.8, 0.9, 0.95, 0.966, 0.99])
def test_bytes_and_the_rest_make_up_the_poisson_law(rate):
    last, rest = np.empty(4, dtype=np.uint8), np.empty(21)
    share = split_poisson(rate, last, rest)
    by_byte = np.bincount((np.arange(256)[:, None] > last).sum(axis=1), minlength=21) / 256
    law = (1 - share) * by_byte + share * np.diff(rest, prepend=0)
    np.testing.assert_allclose(law, stats.poisson(rate).pmf(np.arange(21)), rtol=0, atol=1e-15)
    assert 0 < share < 0.04  # marks are cheap as long as they are few
    assert rest[-1] == 1
    assert (np.diff(rest) >= 0).all()


@pytest.mark.parametrize("excess", [-30, -1, 0, 1, 30])
def test_draws_are_added_or_taken_away_until_they_are_n(excess):
    """Of weights of 3, 1 and 0 draws: what is taken away comes from each in proportion, what is added from anywhere."""
    n, n_replicates = 40, 4000
    column = np.zeros(n, dtype=np.uint8)
    column[: n // 4] = 3
    column[n // 4 : n // 2] = 1
    extra = np.zeros(n, dtype=np.uint8)
    extra[: abs(excess)] = 1
    start = np.tile((column + extra if excess > 0 else column - np.minimum(extra, column))[:, None], (1, n_replicates))
    both = [start.copy(), start.copy()]
    own = [generators(n_replicates, 5)[0] for _ in both]
    complete(both[0], own[0])
    CALLS[complete](both[1], own[1])
    assert both[0].tobytes() == both[1].tobytes()
    for one, other in zip(*own, strict=True):
        assert one.tobytes() == other.tobytes()
    found = both[0]
    assert (column_sums(found) == n).all()
    assert CALLS[column_sums](found).tolist() == column_sums(found).tolist()
    moved = found.astype(int) - start
    missing = n - int(start[:, 0].sum())
    if missing == 0:
        assert (moved == 0).all()
        return
    likely = np.ones(n) if missing > 0 else start[:, 0].astype(float)
    drawn = np.abs(moved).sum(axis=1)
    assert (drawn[likely == 0] == 0).all()
    if missing > 0 or missing == -1:  # many taken away without replacement are not quite multinomial
        likely = likely[likely > 0] / likely.sum()
        assert stats.chisquare(drawn[drawn > 0], likely * drawn.sum()).pvalue > SIGNIFICANCE


def test_column_sums_do_not_overflow():
    times = np.full((5000, 3), 20, dtype=np.uint8)
    assert column_sums(times).tolist() == CALLS[column_sums](times).tolist() == [100_000] * 3


def test_weights_are_independent_poisson_numbers():
    times = CALLS[draw_weights](40, 0.8, start_generators(5000, np.random.default_rng(2)))
    cells = stats.poisson(0.8).pmf(np.arange(6)) * times.size
    found = np.bincount(times.ravel(), minlength=7)
    assert (
        stats.chisquare(np.append(found[:6], found[6:].sum()), np.append(cells, times.size - cells.sum())).pvalue
        > SIGNIFICANCE
    )
    # the sums have a Poisson's variance: its estimate from 5000 has a standard error of a fiftieth
    totals = column_sums(times)
    assert abs(totals.var() / 32 - 1) < 6 / 50
    assert not draw_weights(5, 0.0, start_generators(3, np.random.default_rng(0))).any()


def drawn_counts(n, n_replicates, seed):
    """How often each of ``n`` observations was drawn, by replicate."""
    return resampling.compiled(n, start_generators(n_replicates, np.random.default_rng(seed))).astype(float)


@pytest.mark.parametrize("n", [3, 8, 25, 120])
def test_resampling_is_uniform_and_multinomial(n):
    counts = drawn_counts(n, 20_000, n)
    assert stats.chisquare(counts.sum(axis=1)).pvalue > SIGNIFICANCE
    # each observation's count is binomial; cells with less than 20 expected replicates are joined
    expected = stats.binom(n, 1 / n).pmf(np.arange(n + 1)) * 20_000
    last = int((expected >= 20).sum()) - (expected >= 20).all()
    for row in counts:
        found = np.bincount(np.minimum(row.astype(int), last), minlength=last + 1)
        cells = np.append(expected[:last], expected[last:].sum())
        assert stats.chisquare(found, cells).pvalue > SIGNIFICANCE
    # and two observations compete: covariance -1/n, with a standard error of about 1/sqrt(20000); independent
    # ones are seen among 3 and 8, and never add up to n
    assert (counts.sum(axis=0) == n).all()
    covariance = np.cov(counts[0], counts[n - 1])[0, 1]
    assert abs(covariance + 1 / n) < 6 / math.sqrt(20_000)


def test_resamples_of_four_follow_the_multinomial_law_as_a_whole():
    """All 35 outcomes of four draws among four, and two of neighbouring replicates, which share bytes of one generator."""
    counts = drawn_counts(4, 40_000, 1)
    outcomes = [o for o in np.ndindex(5, 5, 5, 5) if sum(o) == 4]
    number = {o: i for i, o in enumerate(outcomes)}
    drawn = np.array([number[tuple(int(c) for c in column)] for column in counts.T])
    law = stats.multinomial(4, np.full(4, 0.25)).pmf(outcomes)
    assert stats.chisquare(np.bincount(drawn, minlength=len(outcomes)), law * drawn.size).pvalue > SIGNIFICANCE
    # whether the first observation was left out, in pairs: binomial with probability (3/4)^4 each, independent
    out = (counts[0] == 0).astype(int)
    p = 0.75**4
    pair = np.array([(1 - p) ** 2, (1 - p) * p, p * (1 - p), p * p]) * (out.size // 2)
    for one, other in ((out[::2], out[1::2]), (out[: out.size // 2], out[out.size // 2 :])):
        assert stats.chisquare(np.bincount(2 * one + other, minlength=4), pair).pvalue > SIGNIFICANCE


# --- Poisson weights --------------------------------------------------------------------------------------------------


def test_poisson_weights_follow_their_law_and_are_those_of_the_uniforms():
    weights = multipliers(EFRON, 40_000, np.random.default_rng(5))
    assert weights.dtype == np.float64
    assert (weights == np.round(weights)).all()
    counts = np.bincount(weights.astype(int))
    expected = stats.poisson(1).pmf(np.arange(6)) * 40_000
    assert stats.chisquare(
        np.append(counts[:6], counts[6:].sum()), np.append(expected, 40_000 - expected.sum())
    ).pvalue > (SIGNIFICANCE)
    slow = naive.poisson_weights(2000, np.random.default_rng(6))
    assert multipliers(EFRON, 2000, np.random.default_rng(6)).tolist() == slow.tolist()


def test_the_table_of_poisson_probabilities_ends_at_one():
    assert list(POISSON) == sorted(POISSON)
    assert POISSON[-1] == 1.0
    np.testing.assert_allclose(POISSON, stats.poisson(1).cdf(np.arange(len(POISSON))), rtol=1e-14)

    class Extremes:
        def random(self, n):
            return np.array([0.0, math.exp(-1), np.nextafter(math.exp(-1), 0), 1 - 2**-53])[:n]

    weights = multipliers(EFRON, 4, Extremes())
    assert weights[:3].tolist() == [0, 1, 0]
    assert 15 <= weights[3] < len(POISSON)


# --- streaming --------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 20), st.integers(0, 25), st.floats(-6, 6), st.integers(0, 2**32))
def test_streaming_replicates_are_weighted_regressions(d, n, exponent, seed):
    ridge = 10**exponent
    rng = np.random.default_rng(seed)
    X, y = observations(d, n, seed)
    X[::5] = 0
    weights = rng.poisson(1, (n, 4)).astype(float)
    factors = start_factors(d, 4, ridge)
    for x, reward, w in zip(X, y, weights, strict=True):
        rotate_into_all(factors, x, reward, np.sqrt(w))
    for b in range(4):
        R, z = factors[:, :d, b], factors[:, d, b]
        V = ridge * np.eye(d) + (X.T * weights[:, b]) @ X
        assert np.abs(R.T @ R - V).max() <= 1e-13 * V.diagonal().max()
        moment = (X.T * weights[:, b]) @ y
        size = 1e-13 * (1 + np.abs(X).sum() * np.abs(y).sum())
        np.testing.assert_allclose(R.T @ z, moment, rtol=0, atol=size * max(1.0, V.diagonal().max() / ridge) ** 0.5)
        assert (np.diag(R) >= math.sqrt(ridge) * (1 - 1e-14)).all()
        assert (np.tril(R, -1) == 0).all()


@pytest.mark.parametrize("d", [1, 2, 6])
def test_streaming_distances_are_the_literal_ones(d):
    X, y = observations(d, 40, d)
    weights = np.random.default_rng(d).poisson(1, (40, 30)).astype(float)
    weights[:, 0] = 0  # a replicate that holds nothing
    factors = start_factors(d, 30, 0.7)
    for x, reward, w in zip(X, y, weights, strict=True):
        rotate_into_all(factors, x, reward, np.sqrt(w))
    theta = naive.estimate(X, y, 0.7)
    found = distances(factors, theta)
    np.testing.assert_allclose(found, naive.weighted_distances(X, y, 0.7, weights, theta), rtol=1e-9)
    assert found[0] == pytest.approx(math.sqrt(0.7) * np.linalg.norm(theta))


@pytest.mark.parametrize("d", [1, 3, 8])
def test_streaming_is_the_same_bits_compiled(d):
    X, y = observations(d, 30, d)
    X[3] = 0
    both = [start_factors(d, 11, 0.3) for _ in range(2)]
    rng = np.random.default_rng(0)
    for x, reward in zip(X, y, strict=True):
        roots = np.sqrt(multipliers(EFRON, 11, rng))
        rotate_into_all(both[0], x, reward, roots)
        CALLS[rotate_into_all](both[1], x, reward, roots)
    assert both[0].tobytes() == both[1].tobytes()
    theta = rng.normal(size=d)
    assert distances(both[0], theta).tobytes() == CALLS[distances](both[0], theta).tobytes()


# --- resampled --------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(0, 30), st.floats(-3, 3), st.integers(0, 2**32))
def test_resampled_distances_are_the_literal_ones_of_the_same_weights(d, n, exponent, seed):
    ridge = 10**exponent
    X, y = observations(d, n, seed)
    X[1::7] = 0
    known, data = observed(X, y)
    ours, slow = generators(5, seed)
    theta = naive.estimate(X, y, ridge)
    order = naive.by_action(X)
    for _ in range(2):
        found = resampled_distances(known, data, resample(n, ours), ridge, theta)
        expected = naive.weighted_distances(X[order], y[order], ridge, naive.resampled_weights(n, slow), theta)
        # relative to the length of the rewards, which a distance hardly exceeds
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.linalg.norm(y))


@pytest.mark.parametrize("d", [1, 3, 8])
def test_factors_of_resamples_are_the_same_bits_compiled(d):
    X, y = observations(d, 30, d)
    known, data = observed(X, y)
    size = int(known.size[0])
    counts, sums = np.zeros((size, 6)), np.zeros((size, 6))
    tally(group(known, data), resample(30, start_generators(6, np.random.default_rng(0))), counts, sums)
    plain, compiled = factor_all(known, counts, sums, 0.01), CALLS[factor_all](known, counts, sums, 0.01)
    assert plain.tobytes() == compiled.tobytes()
    R = plain[:, :d, 0]
    V = 0.01 * np.eye(d) + (known.features[:size].T * counts[:, 0]) @ known.features[:size]
    np.testing.assert_allclose(R.T @ R, V, rtol=0, atol=1e-13 * V.max())


@pytest.mark.parametrize("scale", [1e6, 1e12, 1e50])
def test_a_resample_of_huge_features_along_a_line_stays_within_the_size_of_the_rewards(scale):
    rng = np.random.default_rng(1)
    places, line = rng.normal(size=20), rng.normal(size=4)
    X = places[:, None] * line * scale
    y = rng.normal(size=20)
    known, data = observed(X, y)
    # In closed form: across the line a solver's estimate is rounding, which each machine does its own way.
    theta = places @ y * line / (places @ places * (line @ line) + scale**-2) / scale
    ours, _ = generators(50, 0)
    size = int(known.size[0])
    counts, sums = np.zeros((size, 50)), np.zeros((size, 50))
    tally(group(known, data), resample(20, ours), counts, sums)
    factors = factor_all(known, counts, sums, 1.0)
    assert np.isfinite(factors).all()
    assert factors.tobytes() == CALLS[factor_all](known, counts, sums, 1.0).tobytes()
    # |V_b^-1/2 X_b'(y_b - X_b theta)| is no longer than the residuals of at most 20 times 20 draws
    assert (distances(factors, theta) <= 20 * np.linalg.norm(y)).all()


def test_generators_are_whole_words():
    ours, _ = generators(2, 0)
    assert isinstance(ours, Generators)
    assert ours.first.dtype == ours.second.dtype == np.uint64

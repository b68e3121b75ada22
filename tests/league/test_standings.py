"""Standings against slow twins; statistical tests fix their seed and state the error they accept."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.league import standings
from bandstrap.league.standings import (
    DRAWS,
    Interval,
    LeagueResults,
    compare,
    drawn_mean,
    drawn_quantile,
    quantile_interval,
    rank_interval,
    rank_league,
    rank_means,
    ratio_to,
    resample,
)
from naive import standings as naive
from sampling import exhaustive


def results(**environments):
    told = {policy: "nothing" for players in environments.values() for policy in players}
    regret = {
        name: {p: np.asarray(v, dtype=float) for p, v in players.items()} for name, players in environments.items()
    }
    return LeagueResults(regret, told)


def percentile(values, level):
    return naive.smallest_with_share(values.tolist(), level)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_ranks_count_smaller_means(means):
    ranks = rank_means(np.array(means, dtype=float))
    assert ranks.tolist() == [naive.rank(means, i) for i in range(len(means))]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(3, 8))
def test_rank_intervals_are_those_of_the_slow_twin(seed, n_policies, n):
    rng = np.random.default_rng(seed)
    regret = [rng.integers(0, 9, n - (p == 0)).astype(float) for p in range(n_policies)]
    weights = resample([n - 1, n])[:40]
    means = np.array([values.mean() for values in regret])
    drawn = np.stack([weights[:, : values.size] @ values / values.size for values in regret], axis=1)
    for i, found in enumerate(rank_interval(means, drawn)):
        assert (found.low, found.high) == naive.rank_interval(regret, weights, i)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 120), st.sampled_from([0.5, 0.95, 0.99]))
def test_quantile_intervals_are_those_of_the_slow_twin_and_of_scipy(seed, n, level):
    values = np.random.default_rng(seed).exponential(size=n)
    found = quantile_interval(values, level)
    assert found.low <= naive.smallest_with_share(values.tolist(), level) <= found.high
    assert (found.low, found.high) == naive.quantile_interval(values.tolist(), level)
    theirs = stats.quantile_test(values, q=1.0, p=level).confidence_interval(0.95)
    for ours, reference in ((found.low, theirs.low), (found.high, theirs.high)):
        assert ours == reference or (math.isinf(ours) and math.isnan(reference))


def test_the_99th_percentile_has_an_upper_end_from_368_replications_on():
    assert math.isinf(quantile_interval(np.arange(367.0), 0.99).high)
    assert quantile_interval(np.arange(368.0), 0.99).high == 367


def test_quantile_intervals_cover():
    # Miss rate of at most 5 %; 2000 samples, five standard errors of 0.5 % allowed (3e-7). A rate of 10 % is seen with
    # probability 0.999.
    rng = np.random.default_rng(1)
    truth = stats.expon.ppf(0.95)
    found = [quantile_interval(rng.exponential(size=200), 0.95) for _ in range(2000)]
    missed = np.mean([not interval.low <= truth <= interval.high for interval in found])
    assert missed < 0.05 + 5 * 0.005


def test_draws_take_as_many_replications_as_a_policy_played():
    weights = resample([3, 10, 25])
    assert weights.shape == (DRAWS, 25)
    for count in (3, 10, 25):
        assert (weights[:, :count].sum(axis=1) == count).all()
    assert (weights == resample([3, 10, 25])).all()
    # Each replication is taken once on average; five standard errors (6e-7), so that one taken too seldom by 7.4 of them
    # is seen with probability 0.99.
    assert np.abs(weights.mean(axis=0) - 1).max() < 5 / math.sqrt(DRAWS)


def test_the_bootstrap_is_paired():
    # B is worse by a hair in every replication, though replications differ by far more.
    luck = np.random.default_rng(2).exponential(100, 50)
    standings, _ = rank_league(results(world={"A": luck, "B": luck + 0.1, "C": luck + 0.2}))
    assert [(s.policy, s.rank, s.rank_interval) for s in standings] == [
        ("A", 1, Interval(1, 1)),
        ("B", 2, Interval(2, 2)),
        ("C", 3, Interval(3, 3)),
    ]


def test_unpaired_luck_leaves_the_rank_open():
    rng = np.random.default_rng(3)
    standings, _ = rank_league(results(world={name: rng.exponential(100, 50) for name in "ABC"}))
    assert all((s.rank_interval.low, s.rank_interval.high) == (1, 3) for s in standings)


def test_standings_have_the_moments_and_quantiles_of_the_replications():
    rng = np.random.default_rng(4)
    players = {"A": rng.exponential(3, 40), "B": rng.exponential(2, 20)}
    standings, _ = rank_league(results(world=players))
    assert [s.rank for s in standings] == [1, 2]
    for standing in standings:
        values = players[standing.policy]
        best = min(players.values(), key=np.mean)
        assert standing.replications == values.size
        assert standing.mean == values.mean()
        assert standing.standard_error == pytest.approx(stats.sem(values))
        assert (standing.q95, standing.q99) == (percentile(values, 0.95), percentile(values, 0.99))
        assert standing.worst == max(values)
        assert standing.relative == pytest.approx(values.mean() / best.mean())
        assert standing.relative_q99 == pytest.approx(
            percentile(values, 0.99) / min(percentile(other, 0.99) for other in players.values())
        )
        assert standing.relative_interval.low <= standing.relative <= standing.relative_interval.high


def test_overall_is_the_geometric_mean_over_environments():
    _, overall = rank_league(
        results(
            first={"A": [1, 1], "B": [4, 4], "C": [2, 2]},
            second={"A": [3, 3], "B": [3, 3], "C": [27, 27]},
            third={"A": [5, 5], "B": [5, 5]},
        )
    )
    assert [(row.policy, row.n_environments) for row in overall] == [("A", 3), ("B", 3), ("C", 2)]
    assert [row.relative for row in overall] == pytest.approx([1, 4 ** (1 / 3), 18**0.5])
    assert [row.relative_q99 for row in overall] == pytest.approx([1, 4 ** (1 / 3), 18**0.5])
    # Regret that is the same in all replications leaves nothing open.
    assert all(row.relative_interval.low == pytest.approx(row.relative_interval.high) for row in overall)


@exhaustive
def test_relative_intervals_cover():
    # B's mean regret is twice A's. Nominal 95 %; the percentile bootstrap of 60 skewed values may fall to 91 %, and 400
    # repetitions have a standard error of 1.4 %, 3.5 of which are allowed (2e-4). Twice the misses are seen
    # with probability 0.98.
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        luck = rng.exponential(1, 60)
        standings, _ = rank_league(results(world={"A": luck, "B": luck + rng.exponential(1, 60)}))
        held += standings[1].relative_interval.low <= 2 <= standings[1].relative_interval.high
    assert held / 400 > 0.91 - 3.5 * 0.0143


def test_no_regret_at_all_is_as_good_as_the_best():
    assert ratio_to(np.array([0.0, 1.0]), np.array(0.0)).tolist() == [1.0, math.inf]
    _, overall = rank_league(results(world={"A": [0, 0], "B": [0, 0]}))
    assert [row.relative for row in overall] == [1.0, 1.0]


def test_a_policy_that_is_often_without_regret_has_half_an_interval(recwarn):
    _, overall = rank_league(results(world={"A": [0, 0, 0, 1], "B": [1, 1, 0, 2]}))
    assert [(row.policy, row.relative, row.relative_interval.high) for row in overall] == [
        ("A", 1.0, 1.0),
        ("B", 4.0, math.inf),
    ]
    assert 0 < overall[1].relative_interval.low <= 4
    (beside,) = (row.beside for row in overall if row.policy == "B")
    assert beside.ratio_interval == overall[1].relative_interval
    assert not recwarn.list


# --- beside a yardstick -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 150), st.sampled_from([0.5, 0.95, 0.99]), st.booleans())
def test_statistics_of_draws_are_those_of_the_slow_twin(seed, n, level, ties):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, n).astype(float) if ties else rng.exponential(size=n)
    weights = resample([n, n + 3])[:20]
    for counts, mean, quantile in zip(
        weights, drawn_mean(values, weights), drawn_quantile(values, weights, level), strict=True
    ):
        taken = naive.resampled(values.tolist(), counts)
        assert mean == pytest.approx(sum(taken) / n)
        assert quantile == naive.smallest_with_share(taken, level)


def test_a_quantile_of_draws_that_take_few_of_the_largest_values():
    values = np.arange(1000.0)
    weights = np.zeros((1, 1000))
    weights[0, 3] = 1000
    assert drawn_quantile(values, weights, 0.99).tolist() == [3.0]


def test_comparisons_are_geometric_means_over_common_environments():
    rows = compare(
        results(
            first={"A": [1, 1], "B": [4, 4], "C": [2, 2]},
            second={"A": [3, 3], "B": [3, 3], "C": [27, 27]},
            third={"A": [5, 5], "C": [10, 10]},
            fourth={"A": [5, 5]},
        ),
        "B",
    )
    found = {row.policy: (row.n_environments, row.n_below, row.n_above, row.ratio, row.ratio_q99) for row in rows}
    assert found == {
        "A": (2, 1, 0, pytest.approx(0.5), pytest.approx(0.5)),
        "B": (2, 0, 0, 1.0, 1.0),
        "C": (2, 1, 1, pytest.approx(4.5**0.5), pytest.approx(4.5**0.5)),
    }
    assert [row.policy for row in rows] == ["A", "B", "C"]
    assert all(row.ratio_interval == row.ratio_q99_interval for row in rows)


def test_comparisons_are_paired():
    # B's regret is a tenth more than A's in every replication, though replications differ by far more.
    luck = np.random.default_rng(6).exponential(100, 400)
    (row,) = (row for row in compare(results(world={"A": luck, "B": 1.1 * luck}), "A") if row.policy == "B")
    assert row.ratio == pytest.approx(1.1)
    ends = (row.ratio_interval.low, row.ratio_interval.high, row.ratio_q99_interval.low, row.ratio_q99_interval.high)
    assert ends == pytest.approx((1.1,) * 4)
    assert (row.n_below, row.n_above) == (0, 1)


def test_intervals_of_comparisons_cover(monkeypatch):
    # The 99th percentile of B is twice A's, as its mean is. Nominal 95 %; the bootstrap of a percentile that four of 400
    # exceed holds in about 92 %: 100 repetitions have a standard error of 2.7 %, of which 3.5 are allowed (2e-4). An
    # interval half as long, which holds in 65 %, is seen with probability 0.999.
    monkeypatch.setattr(standings, "DRAWS", 400)
    rng = np.random.default_rng(7)
    held = np.zeros(2)
    for _ in range(100):
        draws = results(world={"A": rng.exponential(1, 400), "B": rng.exponential(2, 400)})
        row = next(row for row in compare(draws, "A") if row.policy == "B")
        held += [end.low <= 2 <= end.high for end in (row.ratio_interval, row.ratio_q99_interval)]
    assert (held / 100 > 0.92 - 3.5 * 0.027).all()

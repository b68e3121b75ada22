import math
import warnings

import numpy as np
import pytest

from bandstrap.errors import AccuracyWarning
from bandstrap.multipliers import WEIGHTS, bootstrap_quantile
from bandstrap.multipliers.monte_carlo import draws, sign_words, signed_sums
from bandstrap.multipliers.order_statistic import order_rank
from bandstrap.multipliers.weights import LAWS, draw_weights
from naive.multipliers import all_sums, explicit_sums, signs_of_words
from sampling import each

SAMPLE = np.random.default_rng(0).exponential(size=12)


def monte_carlo(sample, level, **options):
    return bootstrap_quantile(sample, level, method="monte-carlo", **options)


@each("n", [1, 3, 7, 8, 9, 16, 63, 64, 65, 130])
def test_signed_sums_are_the_sums_of_the_signs_in_the_words(n):
    rng = np.random.default_rng(n)
    terms, words, out = rng.normal(size=n), sign_words(20, n, rng), np.full(20, np.nan)
    signed_sums(terms, words, out)
    np.testing.assert_allclose(out, explicit_sums(terms, signs_of_words(words, n)), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [1, 64, 65, 200])
def test_words_hold_a_fair_bit_for_every_sign(n):
    # 2000 fair bits per position and their 63 neighbours, each mean within 5 standard errors: error rate about 6e-7 each,
    # 1e-4 for the longest case. A bit whose mean is off by 0.17, or a pair that agrees 8 % too often, is seen with
    # probability 0.99; a bit used twice always.
    words = sign_words(2000, n, np.random.default_rng(n))
    assert words.shape == (math.ceil(n / 64), 2000)
    assert words.dtype == np.uint64
    signs = np.array(signs_of_words(words, n))
    assert np.abs(signs.mean(axis=0)).max() < 5 / math.sqrt(2000)
    assert np.abs((signs[:, 1:] * signs[:, :-1]).mean(axis=0)).max(initial=0) < 5 / math.sqrt(2000)


def test_rademacher_draws_use_one_word_per_sixty_four_signs():
    terms = np.random.default_rng(1).normal(size=70)
    got = draws(LAWS["rademacher"], terms, 30, np.random.default_rng(2))
    words = sign_words(30, 70, np.random.default_rng(2))
    np.testing.assert_allclose(got, explicit_sums(terms, signs_of_words(words, 70)), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("weights", [w for w in WEIGHTS if w != "rademacher"])
def test_other_draws_are_the_sums_of_explicit_weights(weights):
    terms = (SAMPLE - SAMPLE.mean()) / SAMPLE.size
    got = draws(LAWS[weights], terms, 25, np.random.default_rng(3))
    drawn = draw_weights(LAWS[weights], 25, SAMPLE.size, np.random.default_rng(3))
    np.testing.assert_allclose(got, explicit_sums(terms, drawn), rtol=1e-12, atol=1e-14)


def test_drawing_in_pieces_changes_no_draw(monkeypatch):
    terms = (SAMPLE - SAMPLE.mean()) / SAMPLE.size
    whole = draws(LAWS["gaussian"], terms, 50, np.random.default_rng(4))
    monkeypatch.setattr("bandstrap.multipliers.monte_carlo.MOST_WEIGHTS", 7 * SAMPLE.size)
    np.testing.assert_allclose(draws(LAWS["gaussian"], terms, 50, np.random.default_rng(4)), whole, rtol=1e-13)


@each("weights", ["rademacher", "mammen"])
@each("level", [0.3, 0.05, 0.002])
def test_many_draws_converge_to_the_law_of_all_weights(weights, level):
    # The exact P(X > q) <= level <= P(X >= q) of the returned quantile, within 4 binomial standard errors of 200,000
    # draws: error rate 6e-5 per case. Draws whose level is off by 6.4 of them (0.0066, 0.0031, 0.0006) are seen with
    # probability 0.99, if a sum lies between.
    B = 200_000
    q = monte_carlo(SAMPLE, level, weights=weights, n_resamples=B, seed=11)
    values, probabilities = all_sums((SAMPLE - SAMPLE.mean()) / SAMPLE.size, weights)
    margin = 4 * math.sqrt(level * (1 - level) / B)
    assert probabilities[values > q + 1e-12].sum() <= level + margin
    assert probabilities[values > q - 1e-12].sum() >= level - margin


@pytest.mark.parametrize("weights", ["gaussian", "efron", "exponential"])
def test_many_draws_converge_for_the_other_weights(weights):
    # A second, independent set of explicit weights: the share beyond q differs by two binomial errors; 4.5 standard
    # errors of their difference, error rate 7e-6 per case. A level that is off by 0.0053 is seen with probability 0.99.
    B, level = 100_000, 0.03
    q = monte_carlo(SAMPLE, level, weights=weights, n_resamples=B, seed=12)
    rng = np.random.default_rng(13)
    if weights == "efron":
        picks = rng.integers(0, 12, size=(B, 12))
        fresh = np.stack([(picks == i).sum(axis=1) for i in range(12)], axis=1)
    else:
        fresh = rng.normal(size=(B, 12)) if weights == "gaussian" else rng.exponential(size=(B, 12)) - 1
    beyond = (fresh @ (SAMPLE - SAMPLE.mean()) / 12 > q).mean()
    assert abs(beyond - level) <= 4.5 * math.sqrt(2 * level * (1 - level) / B)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_seed_alone_decides_the_draws(weights):
    levels = [0.02, 0.1, 0.4]
    first = monte_carlo(SAMPLE, levels, weights=weights, seed=1)
    np.random.seed(0)  # noqa: NPY002
    assert (monte_carlo(SAMPLE, levels, weights=weights, seed=1) == first).all()
    assert (monte_carlo(SAMPLE, levels, weights=weights, seed=np.random.default_rng(1)) == first).all()
    assert (monte_carlo(SAMPLE, levels, weights=weights, seed=2) != first).any()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_draws_do_not_depend_on_the_rewards(weights):
    first = monte_carlo(SAMPLE, [0.1, 0.4], weights=weights, seed=1)
    np.testing.assert_allclose(monte_carlo(8 * SAMPLE, [0.1, 0.4], weights=weights, seed=1), 8 * first, rtol=1e-12)


def test_a_generator_moves_on_and_one_set_of_draws_serves_all_levels():
    rng = np.random.default_rng(1)
    first, second = (monte_carlo(SAMPLE, 0.1, seed=rng) for _ in range(2))
    assert first != second
    both = monte_carlo(SAMPLE, [0.1, 0.02], seed=1)
    assert both.tolist() == [monte_carlo(SAMPLE, level, seed=1) for level in (0.1, 0.02)]


def test_rows_of_a_batch_get_draws_of_their_own_in_order():
    batch = np.stack([SAMPLE, SAMPLE, SAMPLE[::-1]])
    got = monte_carlo(batch, 0.1, seed=1)
    rng = np.random.default_rng(1)
    assert got.tolist() == [monte_carlo(row, 0.1, seed=rng) for row in batch]
    assert got[0] != got[1]


def test_saturation_warns_exactly_once_per_call_and_names_the_product():
    with pytest.warns(AccuracyWarning, match=r"n_resamples \* level = 0\.2 is below 1") as caught:
        got = monte_carlo(np.stack([SAMPLE, SAMPLE]), [0.001, 0.002, 0.5], n_resamples=200, seed=1)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (got[:, 0] == got[:, 1]).all()  # both are the largest draw


@pytest.mark.parametrize(("n_resamples", "level"), [(200, 0.005), (200, 0.5), (1000, 0.001), (20, 0.05)])
def test_no_warning_where_the_level_is_within_reach(n_resamples, level):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monte_carlo(SAMPLE, level, n_resamples=n_resamples, seed=1)
    assert caught == []


def test_no_warning_where_only_rounding_puts_the_product_below_one():
    assert 49 * (1 / 49) < 1
    assert order_rank(49, 1 / 49) == 1  # the second largest draw: not saturated
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monte_carlo(SAMPLE, 1 / 49, n_resamples=49, seed=1)


def test_other_methods_neither_warn_nor_draw():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rng = np.random.default_rng(1)
        bootstrap_quantile(SAMPLE, 1e-9, n_resamples=1, seed=rng)
    assert rng.random() == np.random.default_rng(1).random()

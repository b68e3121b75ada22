import numpy as np
import pytest

from bandstrap.multipliers import WEIGHTS
from bandstrap.multipliers.weights import EFRON, LAWS, MAMMEN, RADEMACHER, TWO_POINT, draw_weights

DRAWS, N = 20_000, 10


def test_every_law_has_a_name_and_a_code_of_its_own():
    assert tuple(LAWS) == WEIGHTS == ("rademacher", "gaussian", "efron", "exponential", "mammen")
    assert sorted(LAWS.values()) == list(range(5))


@pytest.mark.parametrize(("law", "skewness"), [(RADEMACHER, 0.0), (MAMMEN, 1.0)])
def test_two_point_laws_have_mean_zero_variance_one_and_their_skewness(law, skewness):
    low, high, p = TWO_POINT[law]
    moments = [(1 - p) * low**r + p * high**r for r in (1, 2, 3)]
    assert moments == pytest.approx([0.0, 1.0, skewness], abs=1e-15)


@pytest.mark.parametrize("name", WEIGHTS)
def test_drawn_weights_have_the_mean_variance_and_skewness_of_their_law(name):
    # 200,000 weights per law; each statistic within 5 standard errors (measured on the draws), with Efron's of known mean:
    # error rate about 6e-7 per statistic, 9e-6 for the whole test. A mean off by 0.02, and a variance off by 0.05, are
    # seen with probability 0.99 for every law.
    drawn = draw_weights(LAWS[name], DRAWS, N, np.random.default_rng(1))
    assert drawn.shape == (DRAWS, N)
    centred = drawn - (1.0 if name == "efron" else 0.0)
    variance = 1 - 1 / N if name == "efron" else 1.0
    third = {"exponential": 2.0, "mammen": 1.0, "efron": (1 - 1 / N) * (1 - 2 / N)}.get(name, 0.0)
    for power, expected in ((1, 0.0), (2, variance), (3, third)):
        by_row = (centred**power).mean(axis=1)  # rows are independent, the weights of Efron within a row are not
        error = by_row.std() / np.sqrt(DRAWS)
        assert abs(by_row.mean() - expected) <= 5 * error + 1e-12


@pytest.mark.parametrize("law", TWO_POINT)
def test_two_point_draws_take_two_values_only(law):
    low, high, _ = TWO_POINT[law]
    assert set(np.unique(draw_weights(law, 100, N, np.random.default_rng(2)))) == {low, high}


def test_efron_counts_are_whole_and_sum_to_the_sample_size():
    drawn = draw_weights(EFRON, 500, N, np.random.default_rng(3))
    assert (drawn == drawn.round()).all()
    assert (drawn >= 0).all()
    assert (drawn.sum(axis=1) == N).all()


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_same_generator_state_gives_the_same_weights(name):
    first, second = (draw_weights(LAWS[name], 5, 4, np.random.default_rng(8)) for _ in range(2))
    assert (first == second).all()
    assert (first != draw_weights(LAWS[name], 5, 4, np.random.default_rng(9))).any()

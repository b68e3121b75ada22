import re
import warnings

import numpy as np
import pytest

from bandstrap.errors import AccuracyWarning, InvalidInput
from bandstrap.multipliers import METHODS, WEIGHTS, bootstrap_quantile
from bandstrap.multipliers.quantile import AUTO_ENUMERATES, METHOD_LAWS, quantiles, scaled_residuals
from bandstrap.multipliers.weights import LAWS
from sampling import each

LEVELS = np.array([0.2, 1e-3])
PAIRS = [(w, m) for w in WEIGHTS for m in METHODS if m == "auto" or LAWS[w] in METHOD_LAWS[m]]

APPROXIMATE = "'inversion', 'saddlepoint', 'expansion', 'monte-carlo'"


def mixed_batch(n: int) -> np.ndarray:
    """A batch of shape (3, 4, n): constant, two-valued, lattice, heavy-tailed, tiny and huge rows."""
    rng = np.random.default_rng(n)
    rows = [
        np.full(n, 0.1),
        np.zeros(n),
        rng.choice([0.0, 1.0], size=n),
        rng.choice([-0.3, 1.7], size=n, p=[0.9, 0.1]),
        rng.integers(0, 5, size=n).astype(float),
        rng.normal(size=n),
        rng.exponential(size=n),
        rng.standard_t(2, size=n),
        np.r_[rng.normal(size=2), np.zeros(n - 2)],
        1e300 * rng.normal(size=n),
        1e-300 * rng.normal(size=n),
        1e6 + rng.random(n),
    ]
    return np.array(rows).reshape(3, 4, n)


@each("weights", WEIGHTS)
@each("n", [2, 9, 40])
def test_a_batch_equals_its_rows_bit_for_bit(weights, n):
    batch = mixed_batch(n)
    got = bootstrap_quantile(batch, LEVELS, weights=weights)
    assert got.shape == (3, 4, 2)
    for i in range(3):
        for j in range(4):
            for k in range(2):
                one = bootstrap_quantile(batch[i, j], LEVELS[k], weights=weights)
                assert isinstance(one, float)
                assert one == got[i, j, k]


@pytest.mark.parametrize("method", ["inversion", "saddlepoint", "expansion"])
def test_a_batch_by_one_method_equals_its_rows_bit_for_bit(method):
    batch = mixed_batch(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        got = bootstrap_quantile(batch, LEVELS, method=method)
        rows = [[bootstrap_quantile(row, LEVELS, method=method) for row in rows] for rows in batch]
    assert (got == np.array(rows)).all()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_memory_order_of_a_batch_does_not_matter(weights):
    batch = mixed_batch(37)
    expected = bootstrap_quantile(batch, LEVELS, weights=weights)
    for layout in (np.asfortranarray(batch), np.repeat(batch, 2, axis=-1)[..., ::2], np.moveaxis(batch, 0, 1)):
        got = bootstrap_quantile(layout, LEVELS, weights=weights)
        assert (got == (expected if layout.shape == batch.shape else np.moveaxis(expected, 0, 1))).all()
    rows = np.asfortranarray(batch.reshape(12, 37))
    assert (bootstrap_quantile(rows, LEVELS, weights=weights) == expected.reshape(12, 2)).all()


def test_shapes_of_batch_and_level_are_joined():
    sample = np.arange(24.0).reshape(2, 3, 4)
    assert np.shape(bootstrap_quantile(sample, 0.1)) == (2, 3)
    assert np.shape(bootstrap_quantile(sample, [[0.1, 0.2], [0.3, 0.4]])) == (2, 3, 2, 2)
    assert np.shape(bootstrap_quantile(sample[0, 0], [0.1])) == (1,)
    assert isinstance(bootstrap_quantile(sample[0, 0], 0.1), float)
    assert np.shape(bootstrap_quantile(np.empty((0, 4)), [0.1, 0.2])) == (0, 2)


@each(("weights", "method"), PAIRS)
def test_no_levels_give_no_quantiles(weights, method):
    sample = [0.0, 1.0, 1.0] if method == "binomial" else [0.0, 1.0, 3.0]
    assert np.shape(bootstrap_quantile([sample, sample], [], weights=weights, method=method, seed=1)) == (2, 0)


def test_lists_integers_and_booleans_are_numbers():
    expected = bootstrap_quantile(np.array([0.0, 1.0, 1.0, 0.0, 1.0]), 0.1)
    assert bootstrap_quantile([0, 1, 1, 0, 1], 0.1) == expected
    assert bootstrap_quantile(np.array([0, 1, 1, 0, 1], dtype=np.int8), np.float32(0.125)) == bootstrap_quantile(
        [0, 1, 1, 0, 1], 0.125
    )
    assert bootstrap_quantile([False, True, True, False, True], 0.1) == expected


@each(("weights", "method"), PAIRS)
def test_inputs_are_left_alone(weights, method):
    sample = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    levels = np.array([0.3, 0.1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        bootstrap_quantile(sample, levels, weights=weights, method=method, seed=1)
    assert sample.tolist() == [0.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    assert levels.tolist() == [0.3, 0.1]


@each(("weights", "method"), PAIRS)
@each("power", [996, -996, 1022, -1000])
def test_huge_and_tiny_rewards_are_scaled_exactly(weights, method, power):
    rng = np.random.default_rng(1)
    sample = rng.choice([-1.0, 1.5], size=12) if method == "binomial" else rng.uniform(-1, 1, size=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        small, large = (
            bootstrap_quantile(np.ldexp(sample, e), LEVELS, weights=weights, method=method, seed=1) for e in (0, power)
        )
    assert (small > 0).all()
    assert (np.ldexp(large, -power) == small).all()


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_decimal_huge_and_tiny_rewards_work(size):
    sample = np.array([0.3, -1.0, 0.5, 0.9, -0.2, 1.0])
    for weights in WEIGHTS:
        got = bootstrap_quantile(size * sample, 0.1, weights=weights)
        assert got / size == pytest.approx(bootstrap_quantile(sample, 0.1, weights=weights), rel=1e-12)


def test_residuals_are_scaled_by_powers_of_two():
    residuals, exponents = scaled_residuals(np.array([[1.0, 2.0, 6.0], [5.0, 5.0, 5.0], [0.1, 0.1, 0.1]]))
    assert residuals.tolist() == [[-0.5, -0.25, 0.75], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert exponents[0] == 2


@each(
    ("weights", "rows", "method"),
    [
        ("rademacher", "two-valued", "binomial"),
        ("mammen", "two-valued", "binomial"),
        ("efron", "two-valued", "binomial"),
        ("exponential", "two-valued", "inversion"),
        ("gaussian", "two-valued", "closed-form"),
        ("rademacher", "few", "enumeration"),
        ("mammen", "few", "enumeration"),
        ("efron", "few", "enumeration"),
        ("exponential", "few", "inversion"),
        ("rademacher", "many", "inversion"),
        ("mammen", "many", "inversion"),
        ("efron", "many", "inversion"),
        ("gaussian", "many", "closed-form"),
        ("rademacher", "many, mostly at the mean", "enumeration"),
    ],
)
def test_auto_takes_the_exact_method_where_it_is_affordable(weights, rows, method):
    most = AUTO_ENUMERATES.get(LAWS[weights], 24)
    rng = np.random.default_rng(1)
    sample = {
        "two-valued": rng.choice([0.0, 1.0], size=100),
        "few": rng.normal(size=most),
        "many": rng.normal(size=most + 1),
        "many, mostly at the mean": np.r_[np.zeros(100), -3.0, -1.0, 4.0],
    }[rows]
    answer = quantiles(sample, 0.01, weights=weights)
    assert answer.methods.item() == method
    assert answer.values == bootstrap_quantile(sample, 0.01, weights=weights, method=method)


def test_auto_chooses_row_by_row():
    rng = np.random.default_rng(2)
    batch = np.stack([rng.normal(size=60), rng.choice([0.0, 1.0], size=60), np.r_[np.zeros(57), -3.0, 1.0, 2.0]])
    assert quantiles(batch, 0.01).methods.tolist() == ["inversion", "binomial", "enumeration"]


def test_the_examples_of_the_paper_are_exact():
    # By hand: residuals -3, -2, 0, 5 over 4; the largest sum 10/4 has probability 1/8 (the zero doubles it).
    assert bootstrap_quantile([1.0, 2.0, 4.0, 9.0], 0.1) == 2.5
    assert bootstrap_quantile([1.0, 2.0, 4.0, 9.0], 0.125) == 1.5
    assert bootstrap_quantile([0.0, 1.0], 0.2) == 0.5


@pytest.mark.parametrize("method", ["enumeration", "inversion", "saddlepoint"])
def test_no_quantile_is_a_negative_zero(method):
    assert str(bootstrap_quantile([1.0, 2.0, 3.0], 0.5, method=method)) == "0.0"


BAD_SAMPLES = [
    ([], "must be non-empty along its last axis. Got shape (0,) instead."),
    (np.empty((3, 0)), "must be non-empty along its last axis. Got shape (3, 0) instead."),
    (1.0, "must be an array with at least one axis. Got the single value 1.0 instead."),
    ([1.0, np.nan], "must be finite. Got nan at position 1 instead."),
    ([[1.0, 2.0], [-np.inf, 2.0]], "must be finite. Got -inf at position (1, 0) instead."),
    ("abc", "must be numbers of shape (..., n). Got 'abc' instead."),
    (["a", "b"], "must be numbers of shape (..., n). Got ['a', 'b'] instead."),
    ([[1.0], [1.0, 2.0]], "must be numbers of shape (..., n). Got [[1.0], [1.0, 2.0]] instead."),
    (np.array([1.0, 1.0j]), "must be numbers of shape (..., n). Got array([1.+0.j, 0.+1.j]) instead."),
    ([1.0, 2.0 + 1.0j], "must be numbers of shape (..., n). Got [1.0, (2+1j)] instead."),
]


@each(("sample", "sentence"), BAD_SAMPLES)
@each("method", ["auto", "monte-carlo"])
def test_bad_samples_are_refused_in_a_sentence(sample, sentence, method):
    whole = f"The 'sample' parameter of bootstrap_quantile {sentence}"
    with pytest.raises(InvalidInput, match=f"^{re.escape(whole)}$"):
        bootstrap_quantile(sample, 0.1, method=method)


@each("level", [0, 1, -1, 2, np.nan, np.inf, 0.0, 1.0, [0.1, 0.0]])
def test_levels_outside_zero_to_one_are_refused(level):
    got = float(np.ravel(level)[-1])
    sentence = f"The 'level' parameter of bootstrap_quantile must be strictly between 0 and 1. Got {got} instead."
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        bootstrap_quantile([1.0, 2.0, 4.0], level)


def test_a_level_that_is_no_number_is_refused():
    sentence = "The 'level' parameter of bootstrap_quantile must be strictly between 0 and 1. Got 'low' instead."
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        bootstrap_quantile([1.0, 2.0, 4.0], "low")


@pytest.mark.parametrize("weights", ["Rademacher", "", None, 3])
def test_unknown_weights_are_refused_with_the_known_ones(weights):
    sentence = (
        "The 'weights' parameter of bootstrap_quantile must be one of 'rademacher', 'gaussian', 'efron', 'exponential', "
        f"'mammen'. Got {weights!r} instead."
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        bootstrap_quantile([1.0, 2.0, 4.0], 0.1, weights=weights)


def test_an_unknown_method_is_refused_with_the_known_ones():
    sentence = (
        "The 'method' parameter of bootstrap_quantile must be one of 'auto', 'enumeration', 'binomial', 'closed-form', "
        "'inversion', 'saddlepoint', 'expansion', 'monte-carlo'. Got 'exact' instead."
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        bootstrap_quantile([1.0, 2.0, 4.0], 0.1, method="exact")


@pytest.mark.parametrize(
    ("weights", "method", "able"),
    [
        (
            "rademacher",
            "closed-form",
            "'auto', 'enumeration', 'binomial', " + APPROXIMATE,
        ),
        ("gaussian", "enumeration", "'auto', 'closed-form', 'saddlepoint', 'expansion', 'monte-carlo'"),
        ("exponential", "binomial", "'auto', " + APPROXIMATE),
        (
            "efron",
            "closed-form",
            "'auto', 'enumeration', 'binomial', " + APPROXIMATE,
        ),
    ],
)
def test_a_method_that_does_not_serve_the_weights_is_refused_with_those_that_do(weights, method, able):
    sentence = (
        f"The 'method' parameter of bootstrap_quantile must be one of {able} for {weights} weights. "
        f"Got '{method}' instead."
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        bootstrap_quantile([1.0, 1.0, 4.0], 0.1, weights=weights, method=method)


@each("n_resamples", [0, -5, 2.5, 200.0, True, "200", None])
def test_a_number_of_resamples_that_is_no_count_is_refused(n_resamples):
    sentence = (
        "The 'n_resamples' parameter of bootstrap_quantile must be an integer of at least 1. "
        f"Got {n_resamples!r} instead."
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        bootstrap_quantile([1.0, 2.0, 4.0], 0.1, method="monte-carlo", n_resamples=n_resamples)


@pytest.mark.parametrize("weights", ["rademacher", "mammen", "efron"])
def test_binomial_refuses_three_values(weights):
    sentence = (
        "The 'sample' parameter of bootstrap_quantile must be of at most two distinct values for method='binomial'. "
        "Got 3 distinct values instead."
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        bootstrap_quantile([[0.0, 1.0, 1.0], [0.0, 1.0, 2.0]], 0.1, weights=weights, method="binomial")


@pytest.mark.parametrize(("weights", "n"), [("rademacher", 41), ("mammen", 41), ("efron", 17)])
def test_enumeration_refuses_large_samples(weights, n):
    sentence = (
        r"^The 'sample' parameter of bootstrap_quantile must be .* for method='enumeration' and "
        rf"{weights} weights\. Got {n} .* instead\.$"
    )
    with pytest.raises(InvalidInput, match=sentence):
        bootstrap_quantile(np.random.default_rng(0).normal(size=n), 0.1, weights=weights, method="enumeration")


def test_a_refusal_is_a_value_error():
    with pytest.raises(ValueError, match="must be one of"):
        bootstrap_quantile([1.0, 2.0], 0.1, method="exact")

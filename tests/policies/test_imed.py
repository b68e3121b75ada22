import math

import numpy as np
import pytest

from bandstrap.engine.simulator.play import play
from bandstrap.errors import InvalidInput
from bandstrap.policies import IMED
from naive import indices as naive
from policies.learning import choices_on, scores
from sampling import each

FORMS = [
    {"divergence": "bernoulli"},
    {"divergence": "gaussian", "sigma": 0.3},
    {"divergence": "bounded", "upper": 1.0},
    {"divergence": "bounded", "upper": 2.5},
]
SAMPLES = [
    [[0.3], [0.7], [0.0, 0.1]],
    [[0.0, 1.0], [0.0, 0.0, 0.0], [0.2, 0.9, 0.9, 0.4]],
    [[1.0, 1.0], [0.5, 1.0], [0.9]],
    [np.random.default_rng(n).beta(2, 3 - n, size) for n, size in enumerate((40, 10, 60))],
]


def form_of(options):
    return options["divergence"], options.get("sigma", 1.0), options.get("upper", 1.0)


@each("options", FORMS, ids=str)
@each("samples", SAMPLES, ids=["few", "coins", "leader at the top", "many"])
def test_scores_are_the_formula(options, samples):
    expected = naive.imed_indices([np.array(y) for y in samples], *form_of(options))
    assert scores(IMED(**options), samples, 100) == pytest.approx((-expected).tolist(), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_choices_are_those_of_the_formula_over_a_run(options):
    tape = np.random.default_rng(3).beta([[2.0], [2.5], [3.0]], 3, (3, 150))
    choices = choices_on(IMED(**options), tape, by=play).tolist()
    pulls = [1, 1, 1]
    for chosen in choices[3:]:
        indices = naive.imed_indices([tape[k, :n] for k, n in enumerate(pulls)], *form_of(options))
        assert indices[chosen] <= indices.min() + 1e-7
        pulls[chosen] += 1


def test_ranges_follow_the_divergence():
    assert IMED().support == (0, 1)
    assert IMED(divergence="gaussian").support == (-math.inf, math.inf)
    assert IMED(divergence="bounded", upper=3.0).support == (-math.inf, 3)
    costs = IMED(divergence="bounded", upper=0.0, arms=2, rng=0, direction="min")  # costs are at least 0
    costs.update([0, 1], [3.0, 100.0])
    with pytest.raises(InvalidInput, match=r"must be inside \[(-)?0, inf\]"):
        costs.update(0, -0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"divergence": "exact"},
            r"'divergence' parameter of IMED must be one of 'bernoulli', 'gaussian', 'bounded'. Got",
        ),
        ({"sigma": -1}, r"'sigma' parameter of IMED must be a finite number greater than 0. Got -1"),
        ({"upper": math.inf}, r"'upper' parameter of IMED must be a finite number. Got inf"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        IMED(**options)

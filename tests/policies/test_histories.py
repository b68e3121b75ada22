"""Policies that keep every reward: room for each arm."""

import tracemalloc

import numpy as np

from bandstrap.policies import POLICIES
from sampling import telling

KEEPERS = [
    ("giro", {}),
    ("npts", {}),
    ("rds", {}),
    ("subsample_duels", {}),
    ("subsample_duels", {"sampler": "without-replacement"}),
    ("weighted_bootstrap", {}),
    ("mbe", {"weights": "exponential"}),
    ("empirical_kl_ucb", {}),
    ("imed", {"divergence": "bounded", "upper": 1.0}),
    ("robust_ucb", {}),
    ("robust_ucb", {"estimator": "median-of-means"}),
    ("bootstrapped_ucb", {"quantile": "resampled-literal"}),
]


@telling(("name", "options"), KEEPERS, lambda name, options: not options, ids=str)
def test_one_long_row_does_not_make_all_rows_long(name, options):
    tracemalloc.start()
    policy = POLICIES[name](arms=500, rng=0, **options)
    policy.update(range(500), [0.5] * 500)
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(4):
        policy.update([3] * 2000, np.linspace(0.1, 0.9, 2000))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 8 * 8000 <= grown < 40 * 8000  # bytes: two rows at most, at most half empty; 500 rows would be 32 million

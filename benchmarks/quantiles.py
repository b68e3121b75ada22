"""The multiplier-bootstrap quantile: how fast, and how far off where it is not counted."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

from bandstrap import BootstrappedUCB
from bandstrap.bounds import sign_flip
from bandstrap.multipliers import binomial, bootstrap_quantile
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.quantile import quantiles
from bandstrap.multipliers.weights import RADEMACHER
from bandstrap.policies.states.sign_memory import law_quantile
from benchmarks.document import Row, Table
from benchmarks.timing import best_time
from tests.naive.sums_of_signs import CROWDS, fine_quantiles, grid_quantiles, subset_mean_tail, tail_of_signs


def two_values(share):
    return lambda rng, n: (rng.random(n) < share).astype(float)


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "beta(2, 5)": lambda rng, n: rng.beta(2, 5, size=n),
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "t(3)": lambda rng, n: rng.standard_t(3, size=n),
    "normal, one in 20 ten times as wide": lambda rng, n: np.where(rng.random(n) < 0.05, 10, 1) * rng.normal(size=n),
    "Pareto(1.1)": lambda rng, n: rng.pareto(1.1, size=n),
    "0 or 1, one in 50": two_values(0.02),
    "0 or 1, one in 5": two_values(0.2),
    "0 or 1, even": two_values(0.5),
}
LUMPS = {
    "two clusters": lambda rng, n: rng.choice([-1, 1], size=n) + 0.01 * rng.normal(size=n),
    "one outlier": lambda rng, n: np.r_[rng.normal(size=n - 1), 30.0],
    "rounded normal": lambda rng, n: np.round(rng.normal(size=n), 1),
    "Poisson(5)": lambda rng, n: rng.poisson(5, size=n).astype(float),
    "Pareto(1/2)": lambda rng, n: rng.pareto(0.5, size=n),
}
SIZES = {
    "13 to 32": (13, 14, 16, 20, 22, 24, 28, 32),
    "33 to 300": (33, 36, 40, 60, 100, 300),
    "301 to 2,000": (301, 350, 600, 2000),
}
# Samples of each size; of crowds, of which some are bad and most are not.
N_SAMPLES = 8
N_CROWDS = 60


def right_quantiles(law: str, sample: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Quantiles of random signs that are exact, or on a grid too fine to matter."""
    if law.startswith("0 or 1"):
        return binomial.quantiles(RADEMACHER, sample[None], levels)[0]
    if law == "three to five values" and sample.size <= 300:
        return bootstrap_quantile(sample, levels, method="enumeration")
    return (fine_quantiles if law in CROWDS else grid_quantiles)(sample, levels)


def worst_of_exact_mode(law: str, sizes: tuple[int, ...]) -> float:
    """Largest error of ``BootstrappedUCB(quantile="exact")`` in per cent, at the levels of rounds from ``n`` to 90,000."""
    policy = BootstrappedUCB(quantile="exact")
    params = policy.make_params(None)
    worst = 0.0
    for n in sizes:
        levels = np.array([0.9 / (t + 1) for t in (n, 2 * n, 1000, 20_000, 89_999) if t >= n])
        n_samples = N_CROWDS if law in CROWDS else N_SAMPLES
        for seed in range(n_samples if n <= 100 else 8 if n < 1000 else 3):
            rng = np.random.default_rng([seed, n])
            sample = (LAWS | CROWDS)[law](rng, n)
            if np.ptp(sample) == 0.0:
                continue
            state = policy.start(1, n, rng)
            for reward in sample.tolist():
                policy.kernel.learn(params, state, 0, reward, 1, rng)
            found = [law_quantile(state.memory, 0, n, sample.mean(), q, normal_quantile(q)) for q in levels]
            worst = max(worst, 100 * float(np.abs(np.array(found) / right_quantiles(law, sample, levels) - 1).max()))
    return worst


def worst_of_auto(draw) -> float:
    """Largest error of ``bootstrap_quantile`` in per cent against enumeration, levels up to 0.2."""
    levels = np.array([0.2, 0.1, 0.05, 0.01, 1e-3, 1e-5])
    worst = 0.0
    for n in (25, 29, 33):
        for seed in range(3):
            sample = draw(np.random.default_rng([seed, n]), n)
            off = bootstrap_quantile(sample, levels) / bootstrap_quantile(sample, levels, method="enumeration") - 1
            worst = max(worst, 100 * float(np.abs(off).max()))
    return worst


PROVED_LEVELS = np.array([0.05, 0.005, 0.001])
PROVED_SIZES = (25, 33, 60, 100, 200)


# Samples for bounds that are proved: sizes beyond what is counted, and error probabilities.
PROVED_SIZES = (25, 33, 60, 100, 200)
PROVED_LEVELS = (0.05, 0.005, 0.001)
PROVED_LAWS = {
    "normal": LAWS["normal"],
    "Pareto(1/2)": LUMPS["Pareto(1/2)"],
    "one high outlier": lambda rng, n: np.r_[rng.normal(size=n - 1), 10 ** rng.uniform(0.7, 3)],
    "one low outlier": lambda rng, n: np.r_[rng.normal(size=n - 1), -(10 ** rng.uniform(0.7, 3))],
    "two outliers": lambda rng, n: np.r_[rng.normal(size=n - 2), rng.choice([-1, 1], 2) * 10 ** rng.uniform(0.7, 3, 2)],
    **CROWDS,
}
# Beside the probability of a gap a quantile is on either side of it: how near that is, as a share of the level.
BESIDE = 1e-3


def level_beside_a_gap(values: np.ndarray, beyond: np.ndarray, level: float, rng: np.random.Generator) -> float:
    """A level near the one given that is almost the probability beyond a gap between two lumps, the widest near by."""
    near = slice(int(np.argmax(beyond <= 1.3 * level)), int(np.argmax(beyond <= level / 1.3)) + 1)
    width = max(1, (near.stop - near.start) // 40)
    inside = beyond[near] - beyond[near.start + width : near.stop + width]
    return float(beyond[near][np.argmin(inside)]) * (1 + rng.choice([-1, 1]) * 10 ** rng.uniform(-5, -3))


def worst_of_proved(draw) -> tuple[float, float, float]:
    """How far above exact the quantile is that proved forms of the ``bootstrap`` bound take, in per cent, and below."""
    above = beside = below = 0.0
    for n in PROVED_SIZES:
        for seed in range(6):
            rng = np.random.default_rng([seed, n])
            sample = draw(rng, n)
            values, beyond = tail_of_signs((sample - sample.mean()) / n)
            for given in PROVED_LEVELS:
                for level in (given, level_beside_a_gap(values, beyond, given, rng)):
                    exact, next_one = (values[np.argmax(beyond <= share * level)] for share in (1.0, 1 - BESIDE))
                    found = float(quantiles(sample, level, upward=True).values)
                    beside = max(beside, 100 * (found / next_one - 1))
                    below = max(below, 100 * (1 - found / exact))
                    if level == given:
                        above = max(above, 100 * (found / exact - 1))
    return above, beside, below


def worst_of_sign_flip(draw) -> float:
    """How much wider the ``sign_flip`` bound is than exact at a level hardly smaller, in per cent, by halving."""
    worst = 0.0
    for n in (25, 33, 60, 100):
        for seed in range(2):
            sample = draw(np.random.default_rng([seed, n]), n)
            for level in PROVED_LEVELS:
                width = float(sign_flip(sample, level, check=False).value) - sample.mean()
                low, high = 0.5, 1.01
                while high - low > 1e-4:
                    middle = 0.5 * (low + high)
                    is_held = subset_mean_tail(sample, sample.mean() + middle * width, 1 << 18) <= (1 - BESIDE) * level
                    low, high = (low, middle) if is_held else (middle, high)
                worst = max(worst, 100 * (1 / high - 1))
    return worst


def errors() -> Iterator[Table]:
    """How far off quantiles are."""
    rows = [
        Row(f"{law}, {title} rewards", worst_of_exact_mode(law, sizes), "per cent", 1.0)
        for law in LAWS | CROWDS
        for title, sizes in SIZES.items()
    ]
    yield Table('How far off is BootstrappedUCB(quantile="exact"), in constant memory? (levels .9/n to 1e-5)', rows)
    rows = [
        Row(law, worst_of_auto(draw), "per cent", 0.5) for law, draw in (LUMPS | LAWS).items() if "0 or 1" not in law
    ]
    yield Table('How far off is bootstrap_quantile(method="auto")? (25 to 33 rewards, levels .2 to 1e-5)', rows)
    rows = []
    for law, draw in PROVED_LAWS.items():
        above, beside, below = worst_of_proved(draw)
        rows.append(Row(law, above, "per cent above", 1.0))
        rows.append(
            Row(f"{law}, above the quantile of a level {BESIDE:.1%} smaller, beside gaps too", beside, "per cent", 1.0)
        )
        rows.append(Row(f"{law}, below, of which the grid of the oracle has some thousandths", below, "per cent", 0.01))
    yield Table(
        "How far off are quantiles of proved bootstrap bounds? (25 to 200 rewards, alpha .05, .005 and .001)", rows
    )
    rows = [Row(law, worst_of_sign_flip(draw), "per cent", 0.5) for law, draw in PROVED_LAWS.items()]
    yield Table(
        f"How much wider is sign_flip than exact at a level {BESIDE:.1%} smaller? (25 to 100 rewards, same alpha)", rows
    )


def monte_carlo_against_numpy() -> Row:
    """Our Monte Carlo beside NumPy's."""
    n_resamples, n, level = 200, 2000, 0.05
    sample = np.random.default_rng(0).standard_normal(n)
    rng = np.random.default_rng(1)

    def numpy_version() -> float:
        d = (sample - sample.mean()) / n
        draws = (rng.integers(0, 2, (n_resamples, n)) * 2 - 1) @ d
        return np.sort(draws)[n_resamples - 1 - int(n_resamples * level)]

    def ours() -> float:
        return bootstrap_quantile(sample, level, method="monte-carlo", n_resamples=n_resamples, seed=rng)

    name = "monte-carlo, B = 200, n = 2000, against the NumPy one-liner"
    return Row(name, best_time(numpy_version) / best_time(ours), "times", 10.0, "higher")


def against_monte_carlo() -> list[Row]:
    """Methods that do not draw, beside one that does."""
    n, n_resamples, level = 1000, 10_000, 0.005
    sample = np.random.default_rng(2).standard_normal(n)
    rng = np.random.default_rng(3)

    def monte_carlo() -> float:
        return bootstrap_quantile(sample, level, method="monte-carlo", n_resamples=n_resamples, seed=rng)

    slow = best_time(monte_carlo)
    rows = []
    for method in ("saddlepoint", "inversion"):
        fast = best_time(lambda m=method: bootstrap_quantile(sample, level, method=m))
        name = f"{method}, n = 1000, against monte-carlo with B = 10,000"
        rows.append(Row(name, slow / fast, "times", 5.0, "higher"))
    return rows


FIRST_USE = """
import numpy as np
from bandstrap.multipliers import bootstrap_quantile
bootstrap_quantile(np.random.default_rng(0).standard_normal({shape}), 0.05)
"""


def first_use() -> list[Row]:
    """A small sample needs no compiler; the first large batch compiles or loads from the disk cache."""
    rows = []
    for shape, name in (("30", "one sample of 30 (plain Python)"), ("(200, 300)", "200 samples of 300 (compiled)")):
        for attempt in ("first", "second"):
            start = time.perf_counter()
            code = FIRST_USE.format(shape=shape)
            subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ))  # noqa: S603 - own code
            rows.append(Row(f"new process, {name}, {attempt} time", time.perf_counter() - start, "s"))
    return rows


def tables() -> Iterator[Table]:
    """One after the other."""
    yield from errors()
    rows = [monte_carlo_against_numpy(), *against_monte_carlo(), *first_use()]
    yield Table("How fast are quantiles?", rows)

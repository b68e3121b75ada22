"""The multiplier-bootstrap quantile: fast Monte Carlo against NumPy, saddlepoint against fast Monte Carlo, and how far the
quantile that policies work out in constant memory is off.
"""

import time

import numpy as np
from tests.naive.sums_of_signs import grid_quantiles

from bandstrap import BootstrappedUCB
from bandstrap.multipliers import binomial, bootstrap_quantile
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.weights import RADEMACHER
from bandstrap.policies.sign_memory import law_quantile
from benchmarks.timing import best_time, report


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
    "0, 1 or 2": lambda rng, n: rng.integers(0, 3, n).astype(float),
}
SIZES = {"13 to 32": (13, 14, 16, 20, 24, 28, 32), "33 to 300": (33, 40, 60, 100, 300), "301 to 2,000": (600, 2000)}
N_SAMPLES = 20


def monte_carlo_against_numpy() -> None:
    n_resamples, n, level = 200, 2000, 0.05
    sample = np.random.default_rng(0).standard_normal(n)
    rng = np.random.default_rng(1)

    def numpy_version() -> float:
        d = (sample - sample.mean()) / n
        draws = (rng.integers(0, 2, (n_resamples, n)) * 2 - 1) @ d
        return np.sort(draws)[n_resamples - 1 - int(n_resamples * level)]

    def ours() -> float:
        return bootstrap_quantile(sample, level, method="monte-carlo", n_resamples=n_resamples, rng=rng)

    slow, fast = best_time(numpy_version), best_time(ours)
    report("monte-carlo, B = 200, n = 2000: times faster than the NumPy one-liner", f"{slow / fast:.1f}", "goal: 10")


def saddlepoint_against_monte_carlo() -> None:
    n, n_resamples, level = 1000, 10_000, 0.005
    sample = np.random.default_rng(2).standard_normal(n)
    rng = np.random.default_rng(3)

    def monte_carlo() -> float:
        return bootstrap_quantile(sample, level, method="monte-carlo", n_resamples=n_resamples, rng=rng)

    def saddlepoint() -> float:
        return bootstrap_quantile(sample, level, method="saddlepoint")

    slow, fast = best_time(monte_carlo), best_time(saddlepoint)
    name = "saddlepoint, n = 1000: times faster than fast monte-carlo with B = 10,000"
    report(name, f"{slow / fast:.1f}", "goal: 5")
    # The truth to about 0.02 %: ten million resamples.
    truth = bootstrap_quantile(sample, level, method="monte-carlo", n_resamples=10_000_000, rng=4)
    error = abs(saddlepoint() / truth - 1)
    noise = float(np.sqrt(np.mean([(monte_carlo() / truth - 1) ** 2 for _ in range(50)])))
    report("    relative error of the saddlepoint against ten million resamples", f"{100 * error:.3f} %")
    report("    root mean square error of monte-carlo with B = 10,000", f"{100 * noise:.3f} %", "goal: larger")


def cost_of_first_use() -> None:
    """A small sample needs no compiler; the first large batch compiles or loads from the disk cache."""
    import subprocess
    import sys

    code = (
        "import time; start = time.perf_counter();"
        "import numpy as np; from bandstrap.multipliers import bootstrap_quantile;"
        "y = np.random.default_rng(0).standard_normal({shape});"
        "bootstrap_quantile(y, 0.05, method='saddlepoint'); print(time.perf_counter() - start)"
    )
    for shape, name in (("30", "one sample of 30 (plain Python)"), ("(200, 300)", "200 samples of 300 (compiled)")):
        for attempt in ("first", "second"):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code.format(shape=shape)], check=True, capture_output=True)  # noqa: S603 - own code
            elapsed = time.perf_counter() - start
            report(f"new process, {name}, {attempt} time", f"{elapsed:.2f} s")


def errors_of_the_exact_mode() -> None:
    """Smallest and largest error of ``BootstrappedUCB(quantile="exact")`` at the levels of rounds from ``n`` to 90,000."""
    print("Errors of the quantile of random signs in constant memory, in per cent, levels .9/(t + 1), t = n to 90,000")
    policy = BootstrappedUCB(quantile="exact")
    params = policy.make_params(None)
    for law, draw in LAWS.items():
        for title, sizes in SIZES.items():
            errors = []
            for n in sizes:
                levels = np.array([0.9 / (t + 1) for t in (n, 2 * n, 1000, 20_000, 89_999) if t >= n])
                for seed in range(N_SAMPLES if n < 1000 else 3):
                    rng = np.random.default_rng([seed, n])
                    sample = draw(rng, n)
                    if np.ptp(sample) == 0.0:
                        continue
                    state = policy.start(1, n, rng)
                    for reward in sample.tolist():
                        policy.kernel.learn(params, state, 0, reward, 1, rng)
                    found = [law_quantile(state.memory, 0, n, sample.mean(), q, normal_quantile(q)) for q in levels]
                    is_lattice = law.startswith("0 or 1")
                    right = binomial.quantiles(RADEMACHER, sample[None], levels)[0] if is_lattice else None
                    right = grid_quantiles(sample, levels) if right is None else right
                    errors += (100 * (np.array(found) / right - 1)).tolist()
            report(f"{law}, {title} rewards", f"{min(errors):+.2f} to {max(errors):+.2f}", "goal: within 1")


def main() -> None:
    print("Quantiles")
    errors_of_the_exact_mode()
    monte_carlo_against_numpy()
    saddlepoint_against_monte_carlo()
    cost_of_first_use()

"""The multiplier-bootstrap quantile: fast Monte Carlo against NumPy, saddlepoint against fast Monte Carlo."""

import time

import numpy as np

from bandstrap.multipliers import bootstrap_quantile
from benchmarks.timing import best_time, report


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


def main() -> None:
    print("Quantiles")
    monte_carlo_against_numpy()
    saddlepoint_against_monte_carlo()
    cost_of_first_use()

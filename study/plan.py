"""Who is measured where, on how many samples: the cells of the study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bandstrap.basics.calls import Call, parse_call
from bandstrap.bounds import BOUNDS
from bandstrap.bounds.assumptions import judge
from bandstrap.bounds.bound import Side
from bandstrap.bounds.corrections import PROVED
from bandstrap.bounds.coverage import tell_truth
from bandstrap.experiments.plan import Measurement, code_of_bounds
from study.laws import BY_NAME, LAWS, psi_norm

# Where skewness takes longest to wear off.
LARGE = 1000
SEED = 2019

# Each as its users call it: the defaults, and the options whose choice is a question.
EFRON = "bootstrap:correction=none,weights=efron,quantile=inversion"
EXPONENTIAL, MAMMEN = (f"bootstrap:correction=none,weights={weights}" for weights in ("exponential", "mammen"))
PLAIN_KL = "empirical_kl:calibration=plain"
MAURER_PONTIL = "empirical_bernstein:form=maurer-pontil"
CALLS = (
    "student_t",
    "sign_flip",
    "symmetric_betting",
    "hoeffding",
    "empirical_bernstein",
    MAURER_PONTIL,
    "empirical_kl",
    PLAIN_KL,
    "betting",
    "clopper_pearson",
    "mid_p",
    "sub_weibull",
    "bootstrap:correction=none",
    "bootstrap:correction=practical",
    "bootstrap:correction=sharp",
    EFRON,
    EXPONENTIAL,
    MAMMEN,
    "bootstrap_t",
    "bca",
    "hall",
    "hall:quantile=normal",
)

# What SciPy has for this, by the method of ``scipy.stats.bootstrap``; where rewards are skewed, on the same samples.
SCIPY = {f"scipy.stats.bootstrap:method={method}": method for method in ("percentile", "BCa")}
SIZES_OF_SCIPY = (10, 30, 100)

# Samples of a cell: of bounds that prove something there, and of Student's t ...
MOST = 100_000
# ... of the others, but at 1000 rewards of none more ...
SOME = 4_000
# ... and of those that take long without proving anything.
FEW = 1_000
SLOW = ("sign_flip", "bootstrap_t", "bca", "hall", MAMMEN, EFRON)
# Samples that share a set of resamples: few, so that the choice of a set decides nothing.
AT_ONCE = {"bootstrap_t": 50, "bca": 50, "hall": 50}
# Widths take longer to find than misses, and are measured on the first samples only.
N_WIDTHS = {"sign_flip": 300, "bootstrap": 500, "betting": 2000, "symmetric_betting": 2000}


@dataclass(frozen=True)
class Cell(Measurement):
    """One distribution, sample size, level and side, on which all bounds are measured."""

    law: str
    n: int
    alpha: float
    side: Side
    seed: int = SEED
    most: int = MOST
    # Whether SciPy's bounds are measured here, or ours.
    of_scipy: bool = False

    @property
    def work(self) -> int:
        """Samples, of all bounds."""
        return sum(samples for _, samples in self.about["bounds"])

    @property
    def label(self) -> str:
        """What to call it."""
        return f"{self.law}, n = {self.n}, alpha = {self.alpha:g}, {self.side}"

    @cached_property
    def about(self) -> dict[str, Any]:
        """Everything its rows depend on."""
        ours = [[str(call), samples] for call, _, samples in self.entries()]
        return {
            "distribution": self.law,
            "sample_size": self.n,
            "alpha": self.alpha,
            "side": self.side,
            "seed": self.seed,
            "replications": self.most,
            "bounds": [[name, min(FEW, self.most)] for name in SCIPY] if self.of_scipy else ours,
            "code": code_of_bounds(),
        }

    def measure(self) -> dict[str, Any]:
        """The rows of all its bounds, with what tables of results look for in a row."""
        from study.run import measure_cell  # which looks up what is planned here

        rows = measure_cell(self)
        shown = [{"replications": row["samples"], "miss_rate": row["misses"] / row["samples"]} for row in rows]
        return {"rows": [row | also for row, also in zip(rows, shown, strict=True)]}

    def entries(self) -> Iterator[tuple[Call, dict[str, Any], int]]:
        """The bounds that can be computed here, what they are told, and on how many samples they are measured."""
        studied = BY_NAME[self.law]
        law = studied.make()
        for text in CALLS:
            call = parse_call(text)
            told: dict[str, Any] | str
            if call.name == "sub_weibull":
                told = {"sigma": psi_norm(self.law), "beta": studied.beta} if studied.beta else "no psi norm is told"
            else:
                told = tell_truth(call, law)
            # What proves something is measured on MOST samples: more of this size than memory should hold.
            is_too_large = self.n >= LARGE and call.name == "sub_weibull"
            if not isinstance(told, str) and not is_too_large:
                yield call, told, min(self.most, samples_of(call, told, law, self.n))


def samples_of(call: Call, told: dict[str, Any], law: Any, n: int) -> int:
    """On how many samples a bound is measured."""
    if n >= LARGE:
        return FEW if str(call) in SLOW else SOME
    is_form_without_proof = (
        (call.name == "bootstrap" and told.get("correction", "practical") not in PROVED)
        or told.get("calibration") == "plain"
        or not BOUNDS[call.name].assumes
    )
    if call.name == "student_t" or (not is_form_without_proof and judge(call.name, told, law).holds):
        return MOST
    return FEW if str(call) in SLOW else SOME


def plan(seed: int = SEED, most: int = MOST) -> list[Cell]:
    """All cells, those that matter most first: of a symmetric distribution its upper side only, since the lower one
    is the same.
    """
    grid = [(0.001, 4), *((0.05, n) for n in (10, 30, 100, 5)), *((0.005, n) for n in (30, 10, 5, 100)), (0.05, LARGE)]
    cells = [
        Cell(law.name, n, alpha, side, seed, most)
        for alpha, n in grid
        for law in LAWS
        if (n != 4 or law.name == "fair coin") and (n != LARGE or law.kind == "skewed")
        for side in sides(law.name)
    ]
    of_scipy = [
        Cell(law.name, n, 0.05, side, seed, most, of_scipy=True)
        for n in SIZES_OF_SCIPY
        for law in LAWS
        if law.kind == "skewed"
        for side in sides(law.name)
    ]
    return cells + of_scipy


def sides(law: str) -> tuple[Side, ...]:
    """The sides that differ."""
    return ("upper",) if BY_NAME[law].kind == "symmetric" else ("upper", "lower")

"""What the study found: its rows, questions to them, and the sentences of the bounds put to the test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from scipy.special import bdtr, bdtrc

from bandstrap.bounds.coverage import binomial_interval
from study.laws import BY_NAME
from study.plan import EFRON, EXPONENTIAL, MAMMEN, MAURER_PONTIL, PLAIN_KL
from study.run import read_study

# Probability that any right bound at all is found wrong, over all cells in which something is proved.
ERROR_RATE = 1e-3


@dataclass(frozen=True)
class Row:
    """One bound in one cell, as in the file."""

    law: str
    n: int
    alpha: float
    side: str
    bound: str
    assumption: str
    guarantee: float | None
    samples: int
    misses: int
    widths: int
    median_width: float
    mean_width: float
    exact_width: float

    @property
    def rate(self) -> float:
        """The miss rate."""
        return self.misses / self.samples

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Clopper-Pearson interval of the miss probability."""
        return binomial_interval(self.misses, self.samples)

    @property
    def relative(self) -> float:
        """Median width, as a multiple of that of the smallest constant that covers the mean."""
        return self.median_width / self.exact_width

    @property
    def cell(self) -> tuple[str, int, float, str]:
        """The cell it is in."""
        return self.law, self.n, self.alpha, self.side

    @property
    def is_proved(self) -> bool:
        """Whether something is proved of the bound in this cell."""
        return self.guarantee is not None

    def is_above(self, level: float, error_rate: float = 1e-3) -> bool:
        """Whether the misses are evidence against a probability of at most ``level``: one-sided binomial test."""
        return tail_of_misses(self.misses, self.samples, level) < error_rate


def tail_of_misses(misses: int, samples: int, level: float) -> float:
    """The probability of so many misses or more if each has the probability ``level``."""
    return 1.0 if misses == 0 else float(bdtrc(misses - 1, samples, level))


class Study:
    """The rows of a file, and what it was made by."""

    def __init__(self, rows: Sequence[Row], about: dict[str, Any]) -> None:
        self.rows, self.about = tuple(rows), about
        self._found = {(*row.cell, row.bound): row for row in rows}
        self.cells = tuple(dict.fromkeys(row.cell for row in rows))

    @classmethod
    def read(cls, path: Path) -> Study:
        """The study in a file."""
        rows, about = read_study(path)
        return cls([Row(**row) for row in rows], about)

    def get(self, law: str, n: int, alpha: float, side: str, bound: str) -> Row | None:
        """One row; ``None`` where the bound cannot be computed or the cell was not measured."""
        return self._found.get((law, n, alpha, side, bound))

    def where(self, bound: str = "", **fields: Any) -> list[Row]:
        """Rows of a bound whose fields are as given; ``kind`` is that of the distribution, ``proved`` whether
        anything is.
        """
        kind, proved = fields.pop("kind", None), fields.pop("proved", None)
        return [
            row
            for row in self.rows
            if bound in ("", row.bound)
            and kind in (None, BY_NAME[row.law].kind)
            and proved in (None, row.is_proved)
            and all(getattr(row, name) == value for name, value in fields.items())
        ]

    @property
    def proved(self) -> list[Row]:
        """All rows of bounds that prove something in their cell."""
        return self.where(proved=True)

    def broken(self) -> list[Row]:
        """Proved rows whose misses contradict what is proved; none, but for a probability of ``ERROR_RATE``."""
        rows = self.proved
        return [row for row in rows if row.is_above(row.guarantee or 0.0, ERROR_RATE / len(rows))]

    def sharpest(self, cell: tuple[str, int, float, str]) -> Row | None:
        """The bound of smallest median width among those proved at ``alpha`` here; ``None`` if all are infinite.

        Of equal medians, as of samples that are mostly zeros, the smallest mean decides.
        """
        law, n, alpha, side = cell
        rows = [row for row in self.where(law=law, n=n, alpha=alpha, side=side, proved=True) if row.guarantee == alpha]
        best = min(rows, key=lambda row: (row.median_width, row.mean_width), default=None)
        return best if best is not None and math.isfinite(best.median_width) else None

    def pairs(self, first: str, second: str, **fields: Any) -> list[tuple[Row, Row]]:
        """Rows of two bounds in the cells that both have."""
        found = ((row, self._found.get((*row.cell, second))) for row in self.where(first, **fields))
        return [(row, other) for row, other in found if other is not None]


def detectable(samples: int, level: float, factor: float, error_rate: float) -> float:
    """The power of the test in one cell: the probability that a bound which misses ``factor`` times too often is
    found out.
    """
    # The smallest count that is evidence: its tail is below the error rate.
    low, high = 0, samples
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail_of_misses(middle, samples, level) < error_rate else (middle, high)
    return tail_of_misses(high, samples, factor * level)


# --- sentences ----------------------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """A sentence of the documentation of bounds, and what it says of the rows: each of them must agree."""

    bound: str
    says: str
    of: Callable[[Study], list[Any]]
    agrees: Callable[[Any], bool]
    cells: str


def is_close(row: Row, level: float, error_rate: float = 1e-4) -> bool:
    """Whether the misses are no evidence against a probability of ``level``, to either side."""
    few = float(bdtr(row.misses, row.samples, level))  # the probability of so few misses
    return not row.is_above(level, error_rate / 2) and few >= error_rate / 2


def in_pairs(first: str, second: str, **fields: Any) -> Callable[[Study], list[Any]]:
    """The rows of two bounds in the cells that both have."""
    return lambda study: study.pairs(first, second, **fields)


def few_and_many(bound: str, laws: Sequence[str]) -> Callable[[Study], list[Any]]:
    """The rows of an upper bound at 10 and at 100 rewards, in pairs."""

    def find(study: Study) -> list[Any]:
        found = ((study.get(law, 10, 0.05, "upper", bound), study.get(law, 100, 0.05, "upper", bound)) for law in laws)
        return [pair for pair in found if None not in pair]

    return find


def rows_of(bound: str, **fields: Any) -> Callable[[Study], list[Any]]:
    """The rows of a bound."""
    return lambda study: study.where(bound, **fields)


def is_kept(row: Row) -> bool:
    """Whether the misses are no evidence against what is proved, the error rate being shared by a thousand rows."""
    return not row.is_above(row.guarantee or 0.0, ERROR_RATE / 1000)


def attained_level(alpha: float, n: int) -> float:
    """The largest multiple of ``2^-n`` that is at most ``alpha``."""
    return math.floor(alpha * 2.0**n) / 2.0**n


PLAIN, PRACTICAL, SHARP = (f"bootstrap:correction={form}" for form in ("none", "practical", "sharp"))
CONTINUOUS = ("normal", "uniform", "Laplace", "t(3)")
LATTICES = ("fair coin", "ratings")


def of_laws(rows: list[Row], laws: Sequence[str]) -> list[Row]:
    """Those of some distributions."""
    return [row for row in rows if row.law in laws]


CLAIMS = (
    Claim("student_t", "independent normal rewards", rows_of("student_t", proved=True), is_kept, "normal rewards"),
    Claim(
        "student_t",
        "exact for normal rewards",
        rows_of("student_t", law="normal"),
        lambda row: is_close(row, row.alpha),
        "normal rewards: the miss rate is alpha",
    ),
    Claim(
        "student_t",
        "... and for nothing else",
        lambda study: [
            study.where("student_t", law=law) for law in dict.fromkeys(row.law for row in study.rows) if law != "normal"
        ],
        lambda rows: any(not is_close(row, row.alpha) for row in rows),
        "every other distribution: in some cell the miss rate is not alpha",
    ),
    Claim(
        "sign_flip",
        "independent rewards symmetric about their mean",
        rows_of("sign_flip", proved=True),
        is_kept,
        "symmetric distributions",
    ),
    Claim(
        "sign_flip",
        "the miss probability is alpha up to `2^-n` for every continuous symmetric distribution",
        lambda study: of_laws(study.where("sign_flip"), CONTINUOUS),
        # From 25 rewards on the bound is wider by 0.0035 standard errors, which takes a hundredth of its misses.
        lambda row: any(is_close(row, share * attained_level(row.alpha, row.n)) for share in (1.0, 0.99)),
        "normal, uniform, Laplace, t(3)",
    ),
    Claim(
        "sign_flip",
        "less where rewards tie",
        lambda study: of_laws(study.where("sign_flip", n=10, alpha=0.05), LATTICES),
        lambda row: row.interval[1] < attained_level(row.alpha, row.n),
        "fair coin and ratings, n = 10",
    ),
    Claim(
        "symmetric_betting",
        "independent rewards symmetric about their mean, at all sample sizes together",
        rows_of("symmetric_betting", proved=True),
        is_kept,
        "symmetric distributions",
    ),
    Claim(
        "symmetric_betting",
        "sign_flip is narrower for a sample size fixed in advance",
        in_pairs("symmetric_betting", "sign_flip", proved=True),
        lambda pair: pair[0].median_width >= pair[1].median_width,
        "symmetric distributions",
    ),
    *(
        Claim(name, says, rows_of(name, proved=True), is_kept, cells)
        for name, says, cells in (
            (
                "hoeffding",
                "independent rewards in [low, high]; sub-Gaussian rewards of scale sigma",
                "bounded distributions, normal",
            ),
            ("empirical_bernstein", "independent rewards in [low, high]", "bounded distributions"),
            (MAURER_PONTIL, "independent rewards in [low, high]", "bounded distributions"),
            ("empirical_kl", "independent rewards in [low, high]", "bounded distributions"),
            ("betting", "independent rewards in [low, high], at all sample sizes together", "bounded distributions"),
            ("clopper_pearson", "independent rewards that are either 0 or 1", "fair coin, rare successes"),
            (
                "mid_p",
                "independent rewards that are either 0 or 1: no probability is missed more often than 2 alpha",
                "fair coin, rare successes",
            ),
            (
                "sub_weibull",
                "independent sub-Weibull rewards of psi norm sigma and exponent beta",
                "normal, Laplace, gamma(2), exponential",
            ),
            (
                SHARP,
                "independent rewards symmetric about their mean, and a phi that holds: misses at most 2 alpha",
                "symmetric distributions with a support or a scale",
            ),
        )
    ),
    Claim(
        "mid_p",
        "never wider than clopper_pearson",
        in_pairs("mid_p", "clopper_pearson"),
        lambda pair: pair[0].median_width <= pair[1].median_width,
        "fair coin, rare successes",
    ),
    Claim(
        SHARP,
        "never wider than phi",
        in_pairs(SHARP, "hoeffding"),
        lambda pair: pair[0].median_width <= pair[1].median_width * (1 + 1e-9),
        "distributions with a support or a scale",
    ),
    Claim(
        PRACTICAL,
        "large samples; nothing is proved at small ones, where the miss rate for rewards of few values may be far too high",
        rows_of(PRACTICAL, law="fair coin", n=4),
        lambda row: row.rate > 10 * row.alpha,
        "fair coin, n = 4, alpha = 0.001",
    ),
    Claim(
        PLAIN,
        "the naive bootstrap, too narrow for small samples",
        lambda study: [row for row in of_laws(study.where(PLAIN, alpha=0.05), CONTINUOUS) if row.n in (5, 10)],
        lambda row: row.is_above(row.alpha),
        "normal, uniform, Laplace, t(3), n = 5 and 10: above alpha",
    ),
    *(
        Claim(
            name,
            "large samples only",
            rows_of(name, kind="symmetric", n=100, alpha=0.05),
            lambda row: not row.is_above(1.2 * row.alpha),
            "symmetric distributions, n = 100: at most 1.2 alpha",
        )
        for name in (PLAIN, EFRON, EXPONENTIAL, MAMMEN)
    ),
    Claim(
        "bca",
        "the bound misses the mean of skewed rewards clearly too often: at alpha = 0.05 with probability about 0.085 "
        "for 30 exponential rewards, and 0.12 for 30 lognormal ones",
        lambda study: of_laws(study.where("bca", side="upper", alpha=0.05, n=30), ("exponential", "lognormal")),
        # Three standard errors of a rate of 0.1 from 1000 samples are 0.03.
        lambda row: row.is_above(row.alpha) and abs(row.rate - {"exponential": 0.085}.get(row.law, 0.12)) < 0.03,
        "upper bounds of exponential and lognormal rewards, n = 30",
    ),
    Claim(
        "bca",
        "narrower than bootstrap_t, and misses more often at small samples",
        lambda study: [
            pair
            for n in (5, 10, 30)
            for pair in study.pairs("bca", "bootstrap_t", kind="skewed", side="upper", alpha=0.05, n=n)
        ],
        lambda pair: pair[0].median_width <= pair[1].median_width and pair[0].rate >= pair[1].rate,
        "upper bounds of skewed distributions, n up to 30",
    ),
    Claim(
        "hall",
        "similar to bootstrap_t at the usual levels",
        in_pairs("hall", "bootstrap_t", kind="skewed", alpha=0.05),
        lambda pair: abs(pair[0].rate - pair[1].rate) < 0.05,
        "skewed distributions, alpha = 0.05: miss rates within 0.05",
    ),
    *(
        Claim(
            name,
            "large samples of independent rewards with a variance; nothing is proved at small ones",
            few_and_many(name, ("exponential", "lognormal")),
            lambda pair: pair[0].is_above(pair[0].alpha) and pair[1].rate < pair[0].rate,
            "upper bounds of exponential and lognormal rewards: above alpha at n = 10, less so at 100",
        )
        for name in ("bootstrap_t", "bca", "hall", "hall:quantile=normal")
    ),
    Claim(
        PLAIN_KL,
        "independent rewards in [low, high], large samples",
        rows_of(PLAIN_KL),
        lambda row: not row.is_above(row.alpha),
        "bounded distributions: at small samples too, not above alpha",
    ),
)


def check_claims(study: Study) -> list[tuple[Claim, int, list[Any]]]:
    """Each claim with the number of rows it speaks of and those that contradict it."""
    found = []
    for claim in CLAIMS:
        items = claim.of(study)
        found.append((claim, len(items), [item for item in items if not claim.agrees(item)]))
    return found

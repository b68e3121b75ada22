"""The page "Which bound should I use?", every number of which is taken from the study's file.

``python -m study.page docs/study/study.parquet docs/which-bound.md`` writes it.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bandstrap.basics.calls import parse_call
from bandstrap.basics.storage import Damaged, write_text
from bandstrap.bounds import BOUNDS
from study.findings import (
    CONTINUOUS,
    ERROR_RATE,
    PLAIN,
    PRACTICAL,
    SHARP,
    Row,
    Study,
    check_claims,
    detectable,
)
from study.laws import BY_NAME, LAWS
from study.plan import (
    CALLS,
    EFRON,
    EXPONENTIAL,
    FEW,
    LARGE,
    MAMMEN,
    MAURER_PONTIL,
    MOST,
    PLAIN_KL,
    SCIPY,
    SOME,
)
from study.run import COMMAND

# How the tables call the bounds.
SHORT = {
    PLAIN: "bootstrap, none",
    PRACTICAL: "bootstrap, practical",
    SHARP: "bootstrap, sharp",
    EFRON: "Efron's percentile",
    EXPONENTIAL: "exponential weights",
    MAMMEN: "Mammen's weights",
    MAURER_PONTIL: "Maurer-Pontil",
    PLAIN_KL: "empirical_kl, plain",
    "hall:quantile=normal": "hall, normal",
    "scipy.stats.bootstrap:method=percentile": "SciPy's percentile",
    "scipy.stats.bootstrap:method=BCa": "SciPy's BCa",
}
LEVEL = 0.05
WRAP: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


class Advice(NamedTuple):
    """A line of the short answer: what one has, what to use, and where in the study that is seen."""

    have: str
    use: str
    why: str
    # The distributions, and the side, on which the advice is checked.
    laws: tuple[str, ...]
    side: str = "upper"
    # Smaller samples than this have something else, or nothing.
    from_n: int = 0
    # Whether a guarantee stands behind it.
    proved: bool = True


TWO_VALUES = ("fair coin", "rare successes")
BOUNDED = tuple(law.name for law in LAWS if law.name in ("uniform", "ratings", "skewed ratings", "beta(2, 5)"))
SKEWED = tuple(law.name for law in LAWS if law.kind == "skewed")
ADVICE = (
    Advice(
        "clicks and conversions: rewards that are 0 or 1",
        "clopper_pearson",
        "exact at every sample size; {relative}",
        TWO_VALUES,
    ),
    Advice(
        "ratings: rewards in a known interval",
        "betting",
        "proved, and mostly the sharpest proved bound; {relative}",
        BOUNDED,
    ),
    Advice(
        "symmetric rewards, such as differences of pairs",
        "sign_flip",
        "exact, needs no parameters; {relative}; infinite below log2(1/alpha) rewards",
        ("normal", "uniform", "Laplace", "t(3)"),
        from_n=10,
    ),
    Advice("normal rewards", "student_t", "exact; {relative}", ("normal",)),
    Advice(
        "symmetric rewards, with a look after every reward",
        "symmetric_betting",
        "holds at all sample sizes together; {relative}",
        ("normal", "uniform", "Laplace", "t(3)"),
        from_n=30,
    ),
    Advice(
        "only a psi norm is known",
        "sub_weibull",
        "the only guarantee for skewed unbounded rewards; {relative}",
        ("gamma(2)", "exponential"),
    ),
    Advice(
        "revenue, durations: right-skewed rewards, nothing known, upper bound",
        "bootstrap_t",
        "nothing can be proved; among bounds without parameters, this one and `hall` miss least: {rates}",
        SKEWED,
        proved=False,
    ),
    Advice(
        "the same, lower bound",
        "student_t",
        "nothing is proved, but skewness lowers the miss rate: {rates}",
        SKEWED,
        side="lower",
        proved=False,
    ),
)


def as_markdown(study: Study) -> str:
    """The page."""
    parts = [
        answer(study),
        sharpest(study),
        proved(study),
        symmetric(study),
        bounded(study),
        skewed(study),
        failures(study),
        sentences(study),
        method(study),
    ]
    return "\n".join(map(wrapped, parts))


def wrapped(text: str) -> str:
    """Paragraphs filled to lines of 120; headings, tables and code stay as they are."""
    paragraphs = text.strip("\n").split("\n\n")
    filled = [
        part if part.startswith(("#", "|", "```")) else textwrap.fill(" ".join(part.split()), 120, **WRAP)
        for part in paragraphs
    ]
    return "\n\n".join(filled) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, is_text: bool = False) -> str:
    """A table in Markdown; unless it is all text, the columns after the first are aligned as numbers."""
    rule = ["---", *["---" if is_text else "---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rows]) + "\n"


def name_of(bound: str) -> str:
    """How tables call a bound."""
    return SHORT.get(bound, bound)


def share(rate: float) -> str:
    """A rate with the digits it has."""
    return f"{rate:.3f}" if rate >= 0.01 else f"{rate:.4f}"


def rate_of(row: Row | None) -> str:
    """A miss rate: bold where it is significantly above alpha, with a star where something is proved."""
    if row is None:
        return "-"
    text = share(row.rate) + ("*" if row.is_proved else "")
    return f"**{text}**" if row.is_above(row.alpha) else text


def width_of(row: Row | None) -> str:
    """A relative width."""
    if row is None:
        return "-"
    if row.median_width == 0 and math.isfinite(row.mean_width):
        return f"0 (mean {row.mean_width / row.exact_width:.2f})"
    return f"{row.relative:.2f}" if math.isfinite(row.relative) else "inf"


def span(numbers: Iterable[float], form: str = "{:.2f}") -> str:
    """``from ... to ...``, or one number."""
    found = [number for number in numbers if math.isfinite(number)]
    if not found:
        return "-"
    low, high = form.format(min(found)), form.format(max(found))
    return low if low == high else f"{low} to {high}"


def sizes_of(study: Study, alpha: float, **fields: Any) -> list[int]:
    """Sample sizes with cells at a level."""
    return sorted({row.n for row in study.where(alpha=alpha, **fields)})


def answer(study: Study) -> str:
    """The head of the page, which begins with the answer."""
    laws = {row.law for row in study.rows}
    return f"""# Which bound should I use?

{in_short(study)}

These answers come from a study of {len(CALLS)} bounds, called as users call them, on {len(laws)} kinds of rewards.
The last section says [how it was measured](#how-it-was-measured).

**Miss rate**: the share of samples for which the true mean lies beyond the bound. Bold: significantly above alpha
(one-sided binomial test at 0.001). A star: the bound is proved for this distribution. **Width**: the median distance from
the sample mean to the bound. Its unit is the smallest constant width that is valid for the known distribution: the
1 - alpha quantile of the error of the mean.
"""


def method(study: Study) -> str:
    """How the study was made."""
    listed = "; ".join(f"{law.name} ({law.about})" for law in LAWS)
    sizes = {row.n for row in study.rows}
    seed = study.about["seed"]
    return f"""## How it was measured

Sample sizes from {min(sizes)} to {max(sizes)} and levels {levels(study)}: {len(study.cells)} cells and {len(study.rows)}
rows in [`study/study.parquet`](study/study.parquet). The study was made by

```
{COMMAND} --seed {seed}
```

which resumes if it was stopped. This page is made from the file by

```
python -m study.page docs/study/study.parquet docs/which-bound.md
```

All bounds of a cell see the same samples: {MOST:,} for a bound that proves something there and for Student's t,
{SOME:,} for the others, {FEW:,} for slow bounds without a guarantee (resampling, skewed weights, the sign-flip bound
where
rewards are not symmetric; {SOME:,} at most where n = {LARGE}). A bound that needs a support, a scale or a psi norm is given
the true one. The column `samples` is the number of samples, `widths` the number of samples on which the width was
measured. Most rows can also be printed by `bandstrap coverage`, such as `bandstrap coverage --distribution gamma:a=2
--sample-size 30 --bound
student_t --replications {MOST} --seed {seed}`.

The distributions: {listed}. For symmetric distributions only upper bounds are measured, since a lower bound is the
upper bound of the mirrored distribution. For the others both sides are.
"""


def levels(study: Study) -> str:
    """The levels, in words."""
    *some, last = (f"{alpha:g}" for alpha in sorted({row.alpha for row in study.rows}, reverse=True))
    return f"{', '.join(some)} and {last}"


def rows_for(study: Study, advice: Advice) -> list[Row]:
    """The rows in which an advice is checked."""
    return [
        row
        for row in study.where(advice.use, alpha=LEVEL)
        if row.law in advice.laws
        and row.n >= advice.from_n
        and (BY_NAME[row.law].kind == "symmetric" or row.side == advice.side or advice.proved)
        and (not advice.proved or row.is_proved)
    ]


def in_short(study: Study) -> str:
    """The short answer."""
    lines = []
    for advice in ADVICE:
        rows = rows_for(study, advice)
        relative = "width " + span([row.relative for row in rows if row.median_width > 0])
        rates = ", ".join(
            f"{share(max(row.rate for row in rows if row.n == n))} at n = {n}" for n in sorted({row.n for row in rows})
        )
        why = advice.why.format(relative=relative, rates=f"at worst {rates}, where alpha is {LEVEL:g}")
        lines.append((advice.have, f"`{advice.use}`", why))
    return f"""{table(["you have", "use", "why"], lines, is_text=True)}
For skewed, unbounded rewards of unknown distribution **no bound holds at a finite sample size**, and none can.
A distribution with a rare, huge reward fits any sample equally well and has another mean (Bahadur and Savage,
1956). The tables below show how often the usual bounds miss on five such distributions. Rewards collected by an
adaptive policy, with contexts or without, are not an independent sample:
[which arm won](howto/who-won.md) has bounds for these.
"""


def sharpest(study: Study) -> str:
    """Who is sharpest among those that hold."""
    parts = ["## Who is sharpest among those that hold\n"]
    for alpha in (0.05, 0.005):
        sizes = [n for n in sizes_of(study, alpha) if n < 1000]
        lines = []
        for law in LAWS:
            for side in ("upper", "lower"):
                best = [study.sharpest((law.name, n, alpha, side)) for n in sizes]
                if any(best):
                    shown = [f"`{name_of(row.bound)}` {width_of(row)}" if row else "-" for row in best]
                    lines.append((f"{law.name}, {side}", *shown))
        parts.append(
            f"The smallest median width at alpha = {alpha:g} among bounds with a proved miss probability of alpha:\n\n"
            + table(["rewards", *(f"n = {n}" for n in sizes)], lines)
        )
    return "\n".join(parts)


def proved(study: Study) -> str:
    """How often proved bounds miss, and what the study would have seen."""
    rows = study.proved
    worst = max(rows, key=lambda row: row.rate / (row.guarantee or 1))
    per_row = ERROR_RATE / len(rows)
    powers = "; ".join(
        f"at alpha = {alpha:g}, a miss rate of 1.2 alpha in a single cell is detected with probability "
        f"{detectable(MOST, alpha, 1.2, per_row):.2f}, one of 1.5 alpha with {detectable(MOST, alpha, 1.5, per_row):.2f}"
        for alpha in (0.05, 0.005)
    )
    verdict = "In none of them" if not study.broken() else f"In {len(study.broken())} of them"
    return f"""## Proved bounds hold

{len(rows)} rows have a bound whose assumption the distribution meets, {MOST:,} samples each. {verdict} is the miss rate
significantly above what is proved (one-sided binomial tests that share an error rate of {ERROR_RATE:g}; {powers}).
The largest miss rate relative to its guarantee: {worst.rate / (worst.guarantee or 1):.3f}, by `{worst.bound}` ({worst.law},
n = {worst.n}, alpha = {worst.alpha:g}, {worst.side}).
"""


def rates_and_widths(study: Study, laws: Sequence[str], n: int, bounds: Sequence[str], sides: Sequence[str]) -> str:
    """A table of miss rates and widths at one sample size."""
    lines = []
    for law in laws:
        for side in sides:
            rows = [study.get(law, n, LEVEL, side, bound) for bound in bounds]
            if any(rows):
                shown = [f"{rate_of(row)} / {width_of(row)}" if row else "-" for row in rows]
                lines.append((f"{law}, {side}", *shown))
    return table(["rewards", *map(name_of, bounds)], lines)


def rates_at(study: Study, bound: str, law: str, side: str = "upper") -> str:
    """The miss rates of a bound by sample size."""
    rows = sorted(study.where(bound, law=law, side=side, alpha=LEVEL), key=lambda row: row.n)
    return ", ".join(f"{share(row.rate)} at n = {row.n}" for row in rows)


def compared(study: Study, first: str, second: str, laws: Sequence[str], from_n: int = 10) -> str:
    """Median widths of one bound as multiples of another's."""
    pairs = [pair for pair in study.pairs(first, second, alpha=LEVEL) if pair[0].law in laws and pair[0].n >= from_n]
    return span(pair[0].median_width / pair[1].median_width for pair in pairs)


def by_size(study: Study, laws: Sequence[str], kind: str, bounds: Sequence[str], sides: Sequence[str]) -> str:
    """A table of rates and widths for every sample size."""
    return "\n".join(
        f"n = {n}, alpha = {LEVEL:g}, miss rate / width:\n\n" + rates_and_widths(study, laws, n, bounds, sides)
        for n in sizes_of(study, LEVEL, kind=kind)
    )


def symmetric(study: Study) -> str:
    """Symmetric distributions."""
    laws = [law.name for law in LAWS if law.kind == "symmetric"]
    bounds = ("sign_flip", "student_t", "symmetric_betting", PLAIN, PRACTICAL, SHARP, "bootstrap_t", "bca")
    return f"""## Symmetric rewards

`sign_flip` is exact for every continuous symmetric distribution. It is as narrow as Student's t, which is not exact.
From 10 rewards on its median width is {compared(study, "sign_flip", "student_t", CONTINUOUS)} times that of `student_t`.
The sequential bound `symmetric_betting` is {compared(study, "symmetric_betting", "sign_flip", CONTINUOUS, 30)}
times as
wide from 30 rewards on. The bootstrap without correction misses too often at small samples
({rates_at(study, PLAIN, "normal")} for normal rewards). With the paper's practical correction and the true standard
deviation, it is valid on these continuous distributions. It
fails on coins: a sample with only one side has no spread.

{by_size(study, laws, "symmetric", bounds, ["upper"])}"""


def bounded(study: Study) -> str:
    """Distributions with a support."""
    laws = [law.name for law in LAWS if law.name in (*BOUNDED, *TWO_VALUES)]
    bounds = (
        *("clopper_pearson", "mid_p", "betting", "empirical_kl", PLAIN_KL),
        *("hoeffding", "empirical_bernstein", MAURER_PONTIL, "student_t"),
    )
    return f"""## Rewards in a known interval

For two values `clopper_pearson` is sharpest. `mid_p` is narrower and proved at 2 alpha, and its miss rate does exceed
alpha.
For other rewards `betting` is sharpest almost everywhere. `hoeffding` is
{compared(study, "hoeffding", "betting", BOUNDED)} times as wide from 10 rewards on, `empirical_bernstein`
{compared(study, "empirical_bernstein", "betting", BOUNDED)} times. `empirical_kl` with the unproved level of
empirical KL-UCB is {compared(study, PLAIN_KL, "betting", BOUNDED)} times as wide as `betting` and did not miss
too often in any cell here. Student's t misses the mean of rare successes far too often
({rates_at(study, "student_t", "rare successes")}): a sample of zeros has no spread.

{by_size(study, laws, "bounded", bounds, ["upper", "lower"])}"""


def skewed(study: Study) -> str:
    """Distributions of which nothing is known."""
    bounds = (
        "student_t",
        "sign_flip",
        PLAIN,
        PRACTICAL,
        EFRON,
        EXPONENTIAL,
        MAMMEN,
        "bca",
        "hall:quantile=normal",
        "hall",
        "bootstrap_t",
    )
    parts = []
    for side in ("upper", "lower"):
        lines = []
        for law in SKEWED:
            for n in sizes_of(study, LEVEL, kind="skewed"):
                rows = [study.get(law, n, LEVEL, side, bound) for bound in bounds]
                if any(rows):
                    lines.append((f"{law}, n = {n}", *map(rate_of, rows)))
        head = f"Miss rates of {side} bounds, alpha = {LEVEL:g}:\n\n"
        parts.append(head + table(["rewards", *map(name_of, bounds)], lines))
    parts.append(
        f"The price in width, n = 30, alpha = {LEVEL:g}, upper, miss rate / width:\n\n"
        + rates_and_widths(study, SKEWED, 30, bounds, ["upper"])
    )
    return f"""## Skewed and unbounded

Nothing in this section is proved, and nothing can be proved for unknown distributions. An upper bound must allow for
rewards
larger than any in the sample. Student's t does not: it misses the mean of lognormal rewards with
probability {rates_at(study, "student_t", "lognormal")}. `bootstrap_t` and `hall` correct most of this, because they
are wider if the sample is skewed. The rates of `bootstrap_t` are
{rates_at(study, "bootstrap_t", "lognormal")}; for Pareto rewards, whose skewness is infinite, they are
{rates_at(study, "bootstrap_t", "Pareto(2.2)")}. Efron's percentile,
exponential and Mammen's weights and `bca` lie between, and `sign_flip` does not hold without symmetry. The practical
bootstrap is given the true standard deviation, but samples of almost only zeros still mislead it. For lower bounds
the effect is reversed: right skewness makes them safe. Bounds that correct for skewness have miss rates
near alpha. SciPy's bounds are from `scipy.stats.bootstrap` on the same samples, with as many resamples as ours. If
SciPy returns no
number, because all rewards are equal, no bound is counted.

{chr(10).join(parts)}"""


def failures(study: Study) -> str:
    """Where each bound fails, and by how much."""
    lines = []
    for bound in (*CALLS, *SCIPY):
        rows = study.where(bound)
        held = [row for row in rows if row.is_proved]
        others = [row for row in rows if not row.is_proved]
        lines.append(
            (
                f"`{bound}`",
                ", ".join(BOUNDS[parse_call(bound).name].assumes) if held else "nothing is proved",
                worst_of(held),
                worst_of(others),
            )
        )
    about = "The largest miss rate as a multiple of alpha (or of the guarantee, if one is proved), and its cell."
    return f"## Where each fails, and by how much\n\n{about}\n\n" + table(
        ["bound", "assumes", "where that holds", "elsewhere"], lines, is_text=True
    )


def worst_of(rows: Sequence[Row]) -> str:
    """The row that misses most, relative to what it should."""
    if not rows:
        return "-"
    worst = max(rows, key=lambda row: row.rate / (row.guarantee or row.alpha))
    times = worst.rate / (worst.guarantee or worst.alpha)
    return f"{times:.2f}: {worst.law}, n = {worst.n}, {worst.alpha:g}, {worst.side}"


def sentences(study: Study) -> str:
    """What the documentation of the bounds says, and whether the study agrees."""
    lines = []
    for claim, count, against in check_claims(study):
        verdict = f"holds in all {count}" if not against else f"fails in {len(against)} of {count}"
        lines.append((f"`{claim.bound}`", claim.says, claim.cells, verdict))
    about = "Each statement of the bounds' documentation, its cells, and the verdict; a test fails if a statement does."
    return f"## What the bounds say of themselves\n\n{about}\n\n" + table(
        ["bound", "says", "cells", "verdict"], lines, is_text=True
    )


def main() -> None:
    """Read the arguments and write the page."""
    parser = argparse.ArgumentParser(prog="python -m study.page", description="Make the page of a study.")
    parser.add_argument("study", type=Path, help=f"the file that {COMMAND} wrote")
    parser.add_argument("page", type=Path, help="where the page is written, in Markdown")
    given = parser.parse_args()
    try:
        text = as_markdown(Study.read(given.study))
        write_text(given.page, text)
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}.")
    except Damaged as error:
        parser.error(f"{given.study} is damaged: {error}.")


if __name__ == "__main__":
    main()

"""How often evidence errs, how wide it is and when it stops: ``python -m study.evidence``, some twenty minutes.

Prints tables, and keeps their numbers in docs/evidence.json, from which docs/howto/who-won.md has its own.

Arms are served in batches of 100 by Thompson sampling with a floor, and looked at after every batch; T = 10,000 decisions.
A compiled loop computes what :mod:`bandstrap.evidence` computes; :func:`check_twin` compares the two on whole logs first.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numba import njit
from scipy import special, stats

from bandstrap import live
from bandstrap.evidence import Contrasts, Health, PolicyValues, asymptotic
from bandstrap.evidence.betting import BETS, LOG_PRIOR, advance_levels, lower_sum
from bandstrap.evidence.health import FACTORS, log_evidence

FILE = Path(__file__).parents[1] / "docs" / "evidence.json"
# Tests play these few again, to tell numbers that were made by an earlier version.
FEW_RUNS = 5
ALPHA = 0.05
BATCH = 100
T = 10_000
PRIOR = np.exp(LOG_PRIOR)
WORLDS = ("constant", "rises", "falls", "wave")
# The first five of the league, over all of its environments at 2,000 rounds.
LEADERS = (
    "edgeworth_ucb:caution=0.75",
    "edgeworth_ucb:randomized=true",
    "studentized_ucb:crowd=0.2",
    "edgeworth_ucb",
    "studentized_ucb",
)


@njit(cache=False)  # type: ignore[untyped-decorator]
def level_at(world: int, base: float, share: float) -> float:
    """The common level at a share of the time."""
    if world == 1:  # rises fourfold
        return base * (0.5 + 1.5 * share)
    if world == 2:  # falls to a quarter
        return base * (2.0 - 1.5 * share)
    if world == 3:  # two waves
        return base * (1.0 + 0.6 * math.sin(4 * math.pi * share))
    return base


@njit(cache=False)  # type: ignore[untyped-decorator]
def served(successes: Any, pulls: Any, floor: float) -> Any:
    """Probabilities of Thompson sampling, by the normal approximation of Beta posteriors, with a floor."""
    n_arms = len(pulls)
    means = (successes + 1.0) / (pulls + 2.0)
    spread = np.sqrt(means * (1.0 - means) / (pulls + 3.0))
    if n_arms == 2:
        z = (means[1] - means[0]) / math.sqrt(spread[0] ** 2 + spread[1] ** 2)
        second = 0.5 * math.erfc(-z / math.sqrt(2.0))
        weights = np.array([1.0 - second, second])
    else:
        weights = np.zeros(n_arms)
        for _ in range(200):
            weights[np.argmax(means + spread * np.random.standard_normal(n_arms))] += 1.0 / 200  # noqa: NPY002
    return (1.0 - floor) * weights + floor / n_arms


@njit(cache=False)  # type: ignore[untyped-decorator]
def play(
    seed: int,
    world: int,
    base: float,
    lift: float,
    n_arms: int,
    floor: float,
    horizon: int,
    scale: int,
    level_0: float,
    target: float,
    log_arms: Any,
    log_rewards: Any,
    log_weights: Any,
) -> Any:
    """One experiment with its evidence: see :func:`run` for what is given back. ``lift`` is that of the last arm."""
    np.random.seed(seed)  # noqa: NPY002
    n_bets = len(BETS)
    products = np.zeros((n_arms, n_arms, n_bets))
    overlap, sums = np.zeros((n_arms, n_arms)), np.zeros((n_arms, n_arms))
    squares, true = np.zeros((n_arms, n_arms)), np.zeros((n_arms, n_arms))
    successes, pulls = np.zeros(n_arms), np.zeros(n_arms)
    level = level_0
    missed = naive_missed = naive_flag = False
    stopped = wrong = equal = -1
    keep = len(log_arms) > 0
    weights = np.full(n_arms, 1.0 / n_arms)
    for i in range(horizon):
        if i % BATCH == 0 and floor < 1.0:
            weights = served(successes, pulls, floor)
        u = np.random.random()  # noqa: NPY002
        arm = 0
        while arm < n_arms - 1 and u >= weights[arm]:
            u -= weights[arm]
            arm += 1
        common = level_at(world, base, i / scale)
        rate = common * (1.0 + lift) if arm == n_arms - 1 else common
        reward = 1.0 if np.random.random() < rate else 0.0  # noqa: NPY002
        if keep:
            log_arms[i], log_rewards[i], log_weights[i] = arm, reward, weights
        for other in range(n_arms):
            if other != arm and weights[other] > 0.0:
                score = (reward - level) * weights[other] / (weights[other] + weights[arm])
                sums[arm, other] += score
                sums[other, arm] -= score
                squares[arm, other] += score * score
                squares[other, arm] += score * score
                for j in range(n_bets):
                    products[arm, other, j] += math.log1p(BETS[j] * score)
                    products[other, arm, j] += math.log1p(-BETS[j] * score)
        for a in range(n_arms):
            for b in range(a):
                g = weights[a] * weights[b] / (weights[a] + weights[b])
                overlap[a, b] += g
                overlap[b, a] += g
                if a == n_arms - 1:
                    true[a, b] += g * common * lift
                    true[b, a] -= g * common * lift
        successes[arm] += reward
        pulls[arm] += 1.0
        level += max(1.0 / (i + 3), 0.005) * (reward - level)
        if (i + 1) % BATCH:
            continue
        # --- looks
        evidence = np.zeros((n_arms, n_arms))
        for a in range(n_arms):
            for b in range(n_arms):
                if a == b:
                    continue
                at_truth = now = shifted = 0.0
                for j in range(n_bets):
                    at_truth += PRIOR[j] * math.exp(products[a, b, j] - BETS[j] * true[a, b])
                    now += PRIOR[j] * math.exp(products[a, b, j])
                    shifted += PRIOR[j] * math.exp(products[a, b, j] + BETS[j] * 0.02 * overlap[a, b])
                evidence[a, b] = now
                # simultaneous against the first arm: K - 1 contrasts; for K = 2 each interval
                if (a == 0 or b == 0) and at_truth >= target * (n_arms - 1):
                    missed = True
                if equal < 0 and n_arms == 2 and a == 1 and shifted >= target:
                    equal = i + 1
        n_left, last = 0, 0
        for a in range(n_arms):
            total = 0.0
            for b in range(n_arms):
                if b != a:
                    total += evidence[b, a]
            if total < target * (n_arms - 1):
                n_left += 1
                last = a
        if n_left == 1 and stopped < 0:
            stopped, wrong = i + 1, int(last != n_arms - 1 or lift == 0.0)
            if not keep and scale != horizon:
                break
        # --- what is usually read: means with 1.96 standard errors
        if pulls.min() > 1:
            means = successes / pulls
            errors = 1.96 * np.sqrt(means * (1.0 - means) / pulls)
            if n_arms == 2 and errors.min() > 0.0:
                gap = means[1] - means[0] - true[1, 0] / overlap[1, 0]
                naive_missed = naive_missed or abs(gap) > math.sqrt(errors[0] ** 2 + errors[1] ** 2)
            best = np.argmax(means)
            above = True
            for a in range(n_arms):
                if a != best and means[best] - errors[best] <= means[a] + errors[a]:
                    above = False
            naive_flag = naive_flag or above
    return missed, naive_missed, naive_flag, stopped, wrong, equal, products, overlap, sums, squares


def run(n_runs: int, seed: int, world: str, **rule: Any) -> dict[str, Any]:
    """Many experiments: shares of runs, stops, and the width of the last contrast over the fixed-time one."""
    told = {"base": 0.1, "lift": 0.0, "n_arms": 2, "floor": 0.1, "horizon": T} | rule
    told.setdefault("scale", told["horizon"])
    none = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 2))
    found = [
        play(
            seed + i,
            WORLDS.index(world),
            **told,
            level_0=0.5,
            target=2.0 / ALPHA,
            log_arms=none[0],
            log_rewards=none[1],
            log_weights=none[2],
        )
        for i in range(n_runs)
    ]
    n_arms = told["n_arms"]
    products, overlap, squares = (np.array([each[k][n_arms - 1, 0] for each in found]) for k in (6, 7, 9))
    back = np.array([each[6][0, n_arms - 1] for each in found])
    target = math.log(2.0 * (n_arms - 1) / ALPHA)
    width = -(lower_sum(products, target) + lower_sum(back, target)) / overlap
    fixed = 2.0 * stats.norm.isf(ALPHA / (2 * (n_arms - 1))) * np.sqrt(squares) / overlap
    stops = np.array([each[3] if each[3] > 0 else math.inf for each in found])
    return {
        "missed": np.mean([each[0] for each in found]),
        "naive": np.mean([each[1] for each in found]),
        "flag": np.mean([each[2] for each in found]),
        "winner": float(np.isfinite(stops).mean()),
        "wrong": np.mean([each[4] == 1 for each in found]),
        "stops": stops,
        "equal": np.array([each[5] if each[5] > 0 else math.inf for each in found]),
        "width": float(width.mean() / fixed.mean()),
    }


def check_twin() -> float:
    """The largest difference between the compiled loop and the package, on whole logs."""
    worst = 0.0
    for n_arms, world, seed in ((2, 1, 1), (3, 3, 2), (5, 0, 3)):
        arms, rewards, weights = np.zeros(2000, np.int64), np.zeros(2000), np.zeros((2000, n_arms))
        *_, products, overlap, sums, squares = play(
            seed, world, 0.1, 0.2, n_arms, 0.1, 2000, 2000, 0.5, 40.0, arms, rewards, weights
        )
        state = Contrasts(n_arms)
        state.update(arms, rewards, weights)
        pairs = ((products, state.log_products), (overlap, state.overlap), (sums, state.sums), (squares, state.squares))
        worst = max(worst, *(float(np.abs(ours - theirs).max()) for ours, theirs in pairs))
    return worst


# --- tables -------------------------------------------------------------------------------------------------------------

Rows = dict[str, dict[str, float]]


def coverage(n_runs: int) -> Rows:
    """Misses of intervals and false winners with equal arms, at all times together."""
    say(f"Equal arms, base 0.1, floor 0.1, T = {T:,}, a look every {BATCH} decisions, alpha = {ALPHA}")
    say(
        "K  environment     runs   missed any time  false winner  width/fixed  usual difference missed  intervals apart"
    )
    rows = {}
    for n_arms, n in ((2, n_runs), (5, n_runs // 5)):
        for world in WORLDS:
            found = run(n, 10_000 * n_arms, world, n_arms=n_arms)
            names = ("missed", "winner", "width", "naive", "flag")
            rows[f"{n_arms} arms, {world}"] = {"runs": n} | {name: float(found[name]) for name in names}
            naive = f"{found['naive']:.3f}" if n_arms == 2 else "  -  "
            say(
                f"{n_arms}  {world:9s} {n:6,}  {found['missed']:.4f}           {found['winner']:.4f}        "
                f"{found['width']:.2f}         {naive}                    {found['flag']:.3f}"
            )
    return rows


def stops(n_runs: int) -> Rows:
    """When a verdict comes."""
    rows, n_fixed = {}, 10_276
    say(f"Base 0.1, lift 20 %: a fixed even test with power 0.9 needs n = {n_fixed:,} decisions")
    say(f"{n_runs:,} runs each, up to 8 n")
    for name, floor in (("even", 1.0), ("floor 0.4", 0.4), ("floor 0.1", 0.1)):
        found = run(n_runs, 77, "constant", lift=0.2, floor=floor, horizon=8 * n_fixed - 8 * n_fixed % BATCH, scale=1)
        known = np.minimum(found["stops"], 8 * n_fixed)
        row = rows[name] = {
            "runs": n_runs,
            "mean": float(known.mean()) / n_fixed,
            "median": float(np.median(known)) / n_fixed,
            "none": float(np.isinf(found["stops"]).mean()),
            "wrong": float(found["wrong"]),
        }
        say(
            f"{name:10s} mean {row['mean']:.2f} n, median {row['median']:.2f} n, none {row['none']:.3f}, "
            f"wrong {row['wrong']:.4f}"
        )
    found = run(n_runs, 78, "constant", floor=1.0, horizon=40_000)
    rows["equal arms"] = {"runs": n_runs, "median": float(np.median(found["equal"]))}
    say(f"Equal arms at 0.1, even traffic, no difference above 0.02: median {np.median(found['equal']):,.0f} decisions")
    return rows


def health(n_runs: int) -> Rows:
    """False alarms and delays at alpha = 0.01."""
    say(
        f"Health at alpha = 0.01, T = {T:,}, even traffic, {n_runs:,} runs each; an alarm may come after every decision"
    )
    rows, rng = {}, np.random.default_rng(5)
    for first, second, since in ((0.02, 0.02, 0), (0.3, 0.3, 0), (0.02, 0.07, 0), (0.05, 0.5, 2000)):
        delays = np.full(n_runs, math.inf)
        for k in range(n_runs):
            arms = rng.integers(2, size=T)
            rates = np.where((arms == 1) & (np.arange(T) >= since), second, first)
            missing = rng.random(T) < rates
            logs = np.where(np.eye(2)[arms][:, :, None] > 0, np.log(FACTORS), 0.0) - np.log1p(0.5 * (FACTORS - 1.0))
            sides = [np.cumsum(np.where(side[:, None, None], logs, 0.0), axis=0) for side in (missing, ~missing)]
            path = log_evidence(np.stack(sides, axis=1))
            alarms = np.flatnonzero(path >= math.log(100.0))
            delays[k] = alarms[0] + 1 - since if alarms.size else math.inf
            if k < 3:  # the package
                state = Health(2)
                state.update(arms, missing, [0.5, 0.5])
                assert abs(state.peak - max(0.0, path.max())) < 1e-6 * max(1.0, state.peak)  # noqa: S101
        fires, median = float(np.isfinite(delays).mean()), float(np.median(delays))
        rows[f"{first} and {second}"] = {"runs": n_runs, "fires": fires} | ({"median": median} if fires > 0.5 else {})
        say(f"missing {first:.2f} and {second:.2f} from {since:,} on: fires {fires:.3f}, median delay {median:,.0f}")
    return rows


def values(n_runs: int) -> Rows:
    """Widths of value sequences, of ours and of vw-estimators, beside the interval for one time fixed beforehand."""
    from estimators.bandits import cs  # type: ignore[import-untyped]

    n_theirs, target = min(n_runs, 12), math.log(2.0 / ALPHA)
    say(f"Value of an arm for all, rising level, lift 30 %, floor 0.1, T = {T:,}, {n_runs} logs, looks every 1,000")
    found, single = np.zeros((2, 4, n_runs)), np.zeros((2, len(BETS), n_runs))
    for seed in range(n_runs):
        arms, rewards, weights = np.zeros(T, np.int64), np.zeros(T), np.zeros((T, 2))
        play(seed, 1, 0.1, 0.3, 2, 0.1, T, T, 0.5, 40.0, arms, rewards, weights)
        levels = np.array([level_at(1, 0.1, i / T) for i in range(T)])
        state = PolicyValues(2)
        for start in range(0, T, 1000):
            some = slice(start, start + 1000)
            state.update(arms[some], rewards[some], weights[some])
            for arm, value in enumerate(state.estimates(ALPHA)):
                truth = levels[: start + 1000].mean() * (1.0 + 0.3 * arm)
                found[arm, 1, seed] = max(found[arm, 1, seed], not value.lower <= truth <= value.upper)
                found[arm, 0, seed] = value.upper - value.lower
        # One bet alone, with all of the wealth: its two ends, of R and of 1 - R, are known in closed form.
        single[:, :, seed] = 1.0 - ((state.log_products - target) / BETS).sum(axis=1) / T
        before, _ = advance_levels(0.5, 0, rewards)
        for arm in range(2):
            terms = before + (arms == arm) / weights[:, arm] * (rewards - before)
            found[arm, 3, seed] = 2.0 * stats.norm.isf(ALPHA / 2) * terms.std(ddof=1) / math.sqrt(T)
        for arm in range(2 if seed < n_theirs else 0):
            with warnings.catch_warnings(action="ignore"):  # of NumPy, about theirs
                theirs = cs.Interval()
                for i in range(T):
                    theirs.add_example(weights[i, arms[i]], rewards[i], float(arms[i] == arm))
                low, high = theirs.get(ALPHA)
            found[arm, 2, seed] = high - low
    rows = {}
    for arm, (widths, missed, theirs, fixed) in enumerate(found):
        other = float(theirs[:n_theirs].mean())
        row = rows[f"arm {arm}"] = {
            "runs": n_runs,
            "theirs": n_theirs,
            "missed": float(missed.mean()),
            "over_fixed": float(widths.mean() / fixed.mean()),
            "over_theirs": float(widths[:n_theirs].mean()) / other,
            "best_over_theirs": float(single[arm, :, :n_theirs].mean(axis=1).min()) / other,
        }
        say(
            f"arm {arm}: width {widths.mean():.4f}, {row['over_fixed']:.2f} of the fixed-time one, "
            f"missed any time {row['missed']:.3f}; "
            f"vw-estimators {other:.4f}: {row['over_theirs']:.2f} of it ({n_theirs} logs), "
            f"{row['best_over_theirs']:.2f} with the best of the {len(BETS)} bets alone"
        )
    return rows


def revenue(n_runs: int) -> Rows:
    """Misses over paths of the approximate sequence of uncapped revenue."""
    worlds = [("constant", spread, floor) for spread in (1.0, 1.5) for floor in (1.0, 0.1)]
    worlds += [("rises", 1.0, 0.1), ("rises", 1.5, 0.1), ("rises", 1.5, 0.05)]
    used = asymptotic.FEWEST_REWARDS
    say(f"Uncapped revenue, 10 % buy, equal arms, T = {T:,}, a look every {BATCH} decisions, {n_runs} runs each")
    say(f"missed at any time, started after 50 or, as the package does, {used} purchases")
    found: Rows = {}
    for world, spread, floor in worlds:
        missed = np.zeros(2)
        for seed in range(n_runs):
            log = revenue_log(seed, world, spread, floor)
            missed += [ever_missed(log, fewest) for fewest in (50, used)]
        early, late = (missed / n_runs).tolist()
        found[f"{world}, log-sd {spread}, floor {floor}"] = {"runs": n_runs, "early": early, "late": late}
        traffic = "even traffic" if floor == 1.0 else f"floor {floor}"
        say(f"{world:9s} log-sd of amounts {spread}, {traffic:12s}  {early:.3f}  {late:.3f}")
    late_ones = [each["late"] for each in found.values()]
    say(f"after {used}: {math.floor(100 * min(late_ones))} to {math.ceil(100 * max(late_ones))} %")
    return found


def revenue_log(seed: int, world: str, spread: float, floor: float) -> tuple[Any, Any, Any]:
    """Arms, revenue and weights of Thompson sampling on mean revenue (normal approximation), with a floor."""
    rng = np.random.default_rng(seed)
    arms, rewards, weights = np.zeros(T, np.int64), np.zeros(T), np.full((T, 2), 0.5)
    for start in range(0, T, BATCH):
        now = slice(start, start + BATCH)
        bought = [rewards[:start][arms[:start] == arm] for arm in range(2)]
        if min(np.count_nonzero(each) for each in bought) >= 2:
            z = (bought[1].mean() - bought[0].mean()) / math.hypot(
                *(each.std() / math.sqrt(each.size) for each in bought)
            )
            weights[now] = (1.0 - floor) * special.ndtr([-z, z]) + floor / 2
        arms[now] = rng.random(BATCH) < weights[now, 1]
        rates = [level_at(WORLDS.index(world), 0.1, i / T) for i in range(start, start + BATCH)]
        rewards[now] = (rng.random(BATCH) < rates) * rng.lognormal(3.0, spread, BATCH)
    return arms, rewards, weights


def ever_missed(log: tuple[Any, Any, Any], fewest: int) -> bool:
    """Whether the interval was ever beside the truth, 0, if it started after so many purchases."""
    state = asymptotic.AsymptoticContrasts(2)
    with mock.patch.object(asymptotic, "FEWEST_REWARDS", fewest):
        for start in range(0, T, BATCH):
            state.update(*(column[start : start + BATCH] for column in log))
            found = state.intervals(ALPHA)[1, 0]
            if found.lower > 0.0 or found.upper < 0.0:
                return True
    return False


def through_live(n_runs: int) -> Rows:
    """Whole experiments in SQLite: equal arms, rising level, late rewards, windows, several decisions of a unit."""
    n_rounds, size = 30, 20
    say(f"Through bandstrap.live on SQLite: equal arms, conversion rises from 5 to 20 %, {n_rounds * size} decisions")
    say(f"a quarter of rewards come after the window, units decide four times; {n_runs} experiments each, six readouts")
    rows = {}
    for policy in LEADERS:
        missed = winners = n_decisions = 0
        for seed in range(n_runs):
            with tempfile.TemporaryDirectory() as folder:
                counted, was_missed, was_won = one_live(Path(folder) / "shop.db", policy, seed, n_rounds, size)
            n_decisions, missed, winners = n_decisions + counted, missed + was_missed, winners + was_won
        rows[policy] = {"runs": n_runs, "missed": missed / n_runs, "winner": winners / n_runs}
        say(
            f"{policy:32s} missed any time {missed / n_runs:.3f}, false winner {winners / n_runs:.3f}, "
            f"{n_decisions / n_runs:.0f} decisions counted"
        )
    return rows


def one_live(target: Path, policy: str, seed: int, n_rounds: int, size: int) -> tuple[int, bool, bool]:
    """One experiment: decisions counted, and whether a readout ever missed the truth, or named a winner."""
    rng = random.Random(seed)  # noqa: S311 - not secret
    told: dict[str, Any] = {"arms": ["a", "b"], "seed": seed, "window": 50.0, "floor": 0.1, "burn_in": 5}
    with live.create(target, "shop", policy=policy, refresh=0, draws=100, durability="normal", **told) as experiment:
        waiting: list[tuple[float, str, float]] = []
        missed = won = False
        for step in range(n_rounds):
            now = 1e9 + 10.0 * step
            experiment.store.now = repr(now)  # what the database takes for its clock
            for decision in experiment.decide_many([f"u{rng.randrange(n_rounds * size // 4)}" for _ in range(size)]):
                value = float(rng.random() < 0.05 + 0.15 * step / n_rounds)
                waiting.append((now + rng.expovariate(1 / 36.0), decision.id, value))
            experiment.reward_many([(id_, value) for due, id_, value in waiting if due <= now])
            waiting = [each for each in waiting if each[0] > now]
            if step % 5 == 4:
                found = experiment.readout(control="a")
                difference = found.effects[0].difference
                missed |= difference.lower > 0.0 or difference.upper < 0.0
                won |= found.word == "ship"
    return found.n_decisions, missed, won


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


PARTS: dict[str, tuple[Callable[[int], Rows], int]] = {
    "coverage": (coverage, 10_000),
    "stops": (stops, 4000),
    "health": (health, 1000),
    "values": (values, 400),
    "revenue": (revenue, 200),
    "live": (through_live, 20),
}


def keep(name: str, rows: Rows, few: Rows) -> None:
    """Keep the numbers of a table, and those of its first runs."""
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    kept[name] = {"rows": rows, "few_runs": few}
    body = {each: kept[each] for each in PARTS if each in kept}
    FILE.write_text(json.dumps(body, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def main() -> None:
    """Print one table or all."""
    parser = argparse.ArgumentParser(prog="python -m study.evidence", description=__doc__)
    parser.add_argument("part", nargs="*", choices=[[], *PARTS], help="tables to print; default: all")
    parser.add_argument("--runs", type=int, help="runs of each row, not kept; default: those of the documentation")
    given = parser.parse_args()
    say(f"compiled loop and package differ by at most {check_twin():.1e}")
    for name in given.part or PARTS:
        part, n_runs = PARTS[name]
        began = time.perf_counter()
        say(f"\n# {name}")
        rows = part(given.runs or n_runs)
        if given.runs is None:
            with contextlib.redirect_stdout(io.StringIO()):
                few = part(FEW_RUNS)
            keep(name, rows, few)
        say(f"({time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    main()

"""A day of a web shop that tries variants of its checkout: ``python docs/live_shop.py``, some fifteen seconds.

Revenue is waited for as long as the experiment's window says, by the clock of the database. A real shop would wait for a
day; this one waits for two seconds, and calls them an hour. What it prints is explained in docs/live.md.
"""

import hashlib
import itertools
import multiprocessing
import os
import sys
import time
from pathlib import Path

import numpy as np
import polars

from bandstrap import live
from bandstrap.live.page import write_status_page

# What nobody in the shop knows: how many of a hundred visitors buy, and that their baskets are lognormal.
BUYERS = {"red": 10, "green": 20, "blue": 12, "teal": 30}
LOG_MEAN, LOG_SD = 3.0, 0.6
TRANSFERS = 0.03  # of the payments: they arrive the day after, too late
REVENUE = {variant: n / 100 * (1 - TRANSFERS) * np.exp(LOG_MEAN + LOG_SD**2 / 2) for variant, n in BUYERS.items()}


def create(folder):
    """The experiment, the same for every worker: created by the first, opened by the others."""
    return live.create(
        folder / "shop.db",
        "checkout",
        policy="edgeworth_ucb:randomized=true",
        arms=["red", "green", "blue"],
        seed=26,
        window="2s",  # a decision is settled two seconds after it was made,
        default_reward=0.0,  # with nothing, if no revenue was reported by then
        floor=0.2,  # a fifth of the visitors is spread evenly, so that all variants can be estimated
        holdout=0.1,  # a tenth sees red all day
        control="red",
        burn_in=50,
        new_arm_share=0.2,
    )


def play_hour(shop, hour, crash=False, visitors=1000):
    """Visitors come and see a variant; payments are reported, some of them twice, some too late, most of them never."""
    rng = np.random.default_rng([2019, hour])
    units = [f"u{hour}{number:03}" for number in range(visitors)]
    decisions = shop.decide_many(units, keys=units)  # the key makes it the same decision, should it be asked again
    payments, transfers = [], []
    for decision in decisions:
        if rng.random() < BUYERS[decision.arm] / 100:
            payment = decision.id, round(rng.lognormal(LOG_MEAN, LOG_SD), 2)
            (transfers if rng.random() < TRANSFERS else payments).append(payment)
    outcomes = shop.reward_many(payments) + shop.reward_many(payments[::10])
    served = ", ".join(f"{arm} {sum(decision.arm == arm for decision in decisions)}" for arm in BUYERS)
    print(f"hour {hour}: {served}; {outcomes.count('stored')} payments, {outcomes.count('duplicate')} of them twice")
    if crash:
        print("the worker dies", flush=True)
        os._exit(1)
    time.sleep(2)  # until the windows have closed
    print(f"{shop.reward_many(transfers).count('late')} payments too late")
    shop.refresh()  # learns what is due, for all workers


def play_morning(folder):
    """The first worker, until it crashes in its second hour: payments are stored, and not yet learned."""
    shop = create(folder)
    play_hour(shop, 1)
    play_hour(shop, 2, crash=True)


def report(status, page):
    """How the experiment stands; the page has pictures."""
    for arm in status.arms:
        print(f"{arm.label}: {arm.state}, shown {arm.decisions} times, {arm.mean:.2f} a visitor")
    lift = status.lift
    means = f"policy {lift.mean:.2f}, holdout {lift.holdout_mean:.2f}"
    print(f"{means}: {lift.lower:.2f} to {lift.upper:.2f} more a visitor")
    write_status_page(status, page)


def explain(shop, unit):
    """Why a visitor saw what was served."""
    decision = shop.decide(unit, key=unit)  # decided before: this is what is stored
    chances = ", ".join(f"{arm} {weight:.3f}" for arm, weight in decision.weights.items())
    print(f"{unit} saw {decision.arm} by the {decision.source} at version {decision.version}, from {chances}")
    # By hand: 53 bits of a hash of the seed, the experiment and the key fall into one of the variants' intervals.
    text = "".join(f"{kind}{len(part)}:{part}" for kind, part in (("i", "26"), ("s", "checkout"), ("s", unit)))
    point = (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11) / 2**53
    ends = list(itertools.accumulate(decision.weights.values()))
    arm = next(arm for arm, end in zip(decision.weights, ends, strict=True) if point < end)
    print(f"its point is {point:.4f}, and the intervals end at {[round(end, 4) for end in ends]}: {arm}")


def estimate(log, variant, number):
    """What a visitor would have brought, had all seen this variant while it could be seen: mean and standard error."""
    seen = polars.col("action") == number
    revenue = polars.when(seen).then(polars.col("reward") / polars.col("propensity")).otherwise(0.0)
    could_be = polars.col("weights").list.get(number, null_on_oob=True) > 0
    values = log.filter(polars.col("source") == "policy", could_be).select(revenue).to_series()
    error = values.std() / np.sqrt(len(values))
    print(f"{variant}: {values.mean():.2f} +- {error:.2f} a visitor, in truth {REVENUE[variant]:.2f}")


def main(folder):
    folder.mkdir()
    worker = multiprocessing.get_context("spawn").Process(target=play_morning, args=[folder])
    worker.start()
    worker.join()

    shop = create(folder)  # another process goes on where the first has died
    time.sleep(2)
    print(f"version {shop.refresh()} after the restart")
    shop.add_arm("teal", actor="Ada")
    play_hour(shop, 3)
    shop.pause("blue", actor="Ada")
    play_hour(shop, 4)

    report(shop.status(), folder / "status.html")
    print("replay", shop.replay())
    explain(shop, "u3017")
    shop.export(folder / "log.parquet")
    log = polars.read_parquet(folder / "log.parquet")
    for number, variant in enumerate(BUYERS):
        estimate(log, variant, number)
    shop.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "shop"))

"""Examples on real data: ``python docs/real_data.py``, four minutes; a part by its name.

Prints what the pages of docs/examples/ show, and keeps it with the numbers of their pictures in docs/real_data.json.
The data of ``routing`` are in docs/data/; the others ship in packages, of which data files alone are read:
``pip install --no-deps lifelines lifetimes obp==0.4.1 statsmodels`` is enough.
"""

import argparse
import itertools
import json
import math
import tempfile
from importlib.util import find_spec
from pathlib import Path
from textwrap import TextWrapper

import numpy as np
import polars

from bandstrap import ContextualGreedy, ContextualLinUCB, EdgeworthUCB, ShareUCB, simulate
from bandstrap.environments import RewardTable
from bandstrap.evidence import EffectInterval, LogEvidence, readout, rejection_replay

FILE = Path(__file__).with_name("real_data.json")
RUNS = 100
BATCH = 100
HALF_YEAR = 180
FREE = "0 %"
ROUTING = Path(__file__).parent / "data" / "routing.csv.gz"
# Right answers that 100 calls of the strong model must add to be worth their price.
PRICES = (0, 2, 5, 10, 15, 20, 30)
ROUTERS = {
    "EdgeworthUCB, no context": EdgeworthUCB(),
    "greedy": ContextualGreedy(),
    "LinUCB 1, textbook": ContextualLinUCB(width=1.0, ridge="textbook"),
    "ShareUCB": ShareUCB(),
}
# Verdicts come 200 questions later on average, and three in ten never do.
LATE = {"delay": "geom:p=0.005", "lost": 0.3}
WRAPPER = TextWrapper(110, drop_whitespace=True, replace_whitespace=False)


def data_file(package, path):
    """A file of a package, which is not imported."""
    return Path(find_spec(package).submodule_search_locations[0]) / path


def trial_rows():
    """Patients of ACTG 175 by number: treatment, and 1 for those without an event."""
    rows = polars.read_csv(data_file("lifelines", "datasets/ACTG175.csv"), null_values="NA").sort("pidnum")
    return rows["arms"].to_numpy(), 1.0 - rows["cens"].to_numpy()


def banner_rows():
    """Banners that Open Bandit showed at random: item, whether it was clicked, and the probability of the item."""
    rows = polars.read_csv(
        data_file("obp", "dataset/obd/random/men/men.csv"), columns=["item_id", "click", "propensity_score"]
    )
    return rows["item_id"].to_numpy(), rows["click"].to_numpy().astype(float), rows["propensity_score"].to_numpy()


def visit_rows():
    """Families of the RAND experiment in the order of the file: plan, and visits to a doctor per person and year."""
    rows = polars.read_csv(data_file("statsmodels", "datasets/randhie/randhie.csv"), infer_schema_length=None)
    family = polars.struct("lncoins", "idp", "lpi", "fmde").rle_id()  # neighbouring rows that agree in these
    families = rows.group_by(family.alias("family"), maintain_order=True).agg(
        polars.first("lncoins", "idp"), polars.mean("mdvis")
    )
    coinsurance = np.exp(families["lncoins"].to_numpy()).round().astype(int) - 1
    plans = [
        f"{percent} %, own deductible" if own else f"{percent} %"
        for percent, own in zip(coinsurance, families["idp"], strict=True)
    ]
    return np.array(plans), families["mdvis"].to_numpy(), rows.height


def purchase_rows():
    """CDNOW's customers by their first purchase: what each spent in the half year after the day of that."""
    text = data_file("lifetimes", "datasets/CDNOW_master.txt").read_text(encoding="utf-8")
    rows = polars.DataFrame(
        [line.split() for line in text.splitlines()[1:]], schema=["customer", "day", "discs", "dollars"], orient="row"
    ).with_columns(polars.col("day").str.to_date("%Y%m%d"), polars.col("dollars").cast(float))
    since = (polars.col("day") - polars.col("day").min().over("customer")).dt.total_days()
    later = polars.when((since > 0) & (since <= HALF_YEAR)).then("dollars").otherwise(0.0)
    customers = rows.group_by("customer").agg(polars.min("day"), spent=later.sum()).sort("day", "customer")
    return customers["spent"].to_numpy()


def looks(log, labels, control, every=BATCH, **rule):
    """Readouts of a log as it grows."""
    state = LogEvidence(labels, **rule)
    for start in range(0, len(log[0]), every):
        state.update(*(column[start : start + every] for column in log))
        yield state.n_decisions, readout(state, control=control)


def curves(found):
    """Per arm: decisions, estimate, lower and upper end of the difference from the control."""
    drawn = {}
    for n, each in found:
        for effect in each.effects:
            told = effect.difference if math.isfinite(effect.difference.lower) else None
            if told:
                row = [n, *(round(x, 6) for x in (told.estimate, told.lower, told.upper))]
                drawn.setdefault(effect.arm, []).append(row)
    return drawn


# --- the examples --------------------------------------------------------------------------------------------------


def trial(say):
    labels = ["zidovudine", "and didanosine", "and zalcitabine", "didanosine alone"]
    arms, rewards = trial_rows()
    log = arms, rewards, np.full((len(arms), 4), 0.25)
    found = list(looks(log, labels, "zidovudine", low=0, high=1))
    say(str(found[-1][1]))
    first = {}
    for n, each in found:
        for effect in each.effects:
            if effect.difference.lower > 0.0:
                first.setdefault(effect.arm, n)
    said = ", ".join(f"{name} {n}" for name, n in sorted(first.items(), key=lambda item: item[1]))
    say(f"\nBetter than the control after so many patients: {said}")
    # Had a bandit run the trial: patients in random order, of whom it keeps those treated as it would have.
    rng = np.random.default_rng(175)
    kept, means, control = [], [], []
    for _ in range(RUNS):
        order = rng.permutation(len(arms))
        policy = EdgeworthUCB(arms=labels, randomized=True, rng=rng)
        played = rejection_replay(policy, arms[order], rewards[order], log[2], labels=labels)
        kept.append(played.n_kept)
        means.append(played.estimate)
        control.append(played.shares["zidovudine"])
    error = np.std(means, ddof=1) / math.sqrt(RUNS)
    say(
        f"Replay in {RUNS} random orders: {np.mean(kept):.0f} patients kept on average, "
        f"{100 * np.mean(control):.1f} % of them\non zidovudine alone; without an event {np.mean(means):.3f} "
        f"+- {error:.3f}, in the trial {rewards.mean():.3f}"
    )
    return curves(found)


def banners(say):
    items, clicks, chances = banner_rows()
    labels = [str(item) for item in range(34)]
    weights = np.full((len(items), 34), 1.0 / 34)
    assert np.ptp(chances) == 0.0  # noqa: S101
    say(f"{len(items):,} banners, each of {len(set(items))} items with probability {chances[0]:.4f}")
    say(f"{clicks.sum():.0f} clicks: {100 * clicks.mean():.2f} %")
    state = LogEvidence(labels, low=0, high=1)
    state.update(items, clicks, weights)
    last = readout(state)
    say(f"{last.sentence} {len(last.possible)} of the items may be the best.")
    values = sorted(last.values, key=lambda each: -each.estimate)
    for each in values[:3]:
        count = int(clicks[items == int(each.name)].sum())
        say(
            f"item {each.name}: {count} clicks of {np.sum(items == int(each.name))}; had all seen it "
            f"{100 * each.estimate:.2f} % ({100 * each.lower:.2f} to {100 * each.upper:.2f}) would have clicked"
        )
    policy = EdgeworthUCB(arms=labels, randomized=True, rng=0)
    played = rejection_replay(policy, items, clicks, weights, labels=labels)
    say(
        f"Replay of EdgeworthUCB: {played.n_kept} banners kept, {100 * played.estimate:.2f} % "
        f"({100 * played.lower:.2f} to {100 * played.upper:.2f}) clicked"
    )
    return [[each.name, *(round(x, 6) for x in (each.estimate, each.lower, each.upper))] for each in values]


def visits(say):
    plans, rewards, n_rows = visit_rows()
    labels = sorted(set(plans), key=lambda plan: (plan != FREE, len(plan), int(plan.split()[0])))
    arms = np.array([labels.index(plan) for plan in plans])
    say(f"{n_rows:,} rows, one for each person and year; {len(plans):,} families")
    for label in labels:
        say(f"{label}: {np.sum(plans == label)} families, {rewards[plans == label].mean():.2f} visits")

    def read(*starts):
        """Readouts with the shares of the plans in each part of the file for their probabilities."""
        weights = np.zeros((len(plans), len(labels)))
        for start, stop in itertools.pairwise([*starts, len(plans)]):
            weights[start:stop] = np.bincount(arms[start:stop], minlength=len(labels)) / (stop - start)
        return list(looks((arms, rewards, weights), labels, FREE, direction="min"))

    say("\nWith the shares of the plans in the whole file for their probabilities:\n")
    for line in read(0)[-1][1].lines():
        if line.startswith("Unhealthy"):
            say(line)
    change = int(np.argmax(plans == "95 %"))
    n_late = np.sum(plans[change:] == "100 %, own deductible")
    say(f"\nThe first plan of 95 % is that of family {change + 1}; {n_late} families from there on have that of 100 %.")
    say("With the shares before and from there on:\n")
    found = read(0, change)
    say(str(found[-1][1]))
    return curves(found)


def purchases(say):
    spent = purchase_rows()
    n, bought = len(spent), spent[spent > 0]
    share = 100 * len(bought) / n
    say(f"{n:,} customers; {share:.0f} % came back within {HALF_YEAR} days and spent {bought.mean():.0f} dollars,")
    say(f"half of them less than {np.median(bought):.0f}, the one who spent most {bought.max():,.0f}")
    labels, weights = ["letter A", "letter B"], np.full((n, 2), 0.5)
    drawn = {}
    for name, factor in (("no effect", 1.0), ("15 % more", 1.15)):
        apart = dict.fromkeys(("usual interval", "capped", "uncapped"), 0)
        shipped = 0
        for seed in range(RUNS):
            arms = np.random.default_rng(seed).integers(2, size=n)
            log = arms, spent * np.where(arms == 1, factor, 1.0), weights
            found = list(looks(log, labels, labels[0], every=1000))
            effects = [each.effects[0] for _, each in found]
            apart["usual interval"] += any(excludes_zero(usual(log, k)) for k, _ in found)
            apart["capped"] += any(excludes_zero(each.difference) for each in effects)
            apart["uncapped"] += any(excludes_zero(each.uncapped) for each in effects if each.uncapped)
            shipped += any(each.arm == labels[1] for _, each in found)
            if seed == 0:
                drawn[name] = curves(found)[labels[1]]
                drawn[f"{name}, uncapped"] = [
                    [k, *(round(x, 6) for x in (each.uncapped.estimate, each.uncapped.lower, each.uncapped.upper))]
                    for (k, _), each in zip(found, effects, strict=True)
                    if each.uncapped and math.isfinite(each.uncapped.lower)
                ]
                if factor > 1.0:
                    say(f"\nThe first lot, letter B with {name}:\n\n{found[-1][1]}")
        if factor > 1.0:
            say("")
        said = ", ".join(f"{way} {count}" for way, count in apart.items())
        say(f"Letter B with {name}, {RUNS} lots: 0 was excluded at some look by {said}; B shipped in {shipped}")
    return drawn


def usual(log, n):
    """The usual 95 % interval of the difference of two means, after ``n`` decisions."""
    groups = [log[1][:n][log[0][:n] == arm] for arm in (0, 1)]
    error = math.sqrt(sum(group.var(ddof=1) / len(group) for group in groups))
    gap = groups[1].mean() - groups[0].mean()
    return EffectInterval(gap, gap - 1.96 * error, gap + 1.96 * error)


def excludes_zero(interval):
    return interval.lower > 0.0 or interval.upper < 0.0


def routing(say):
    rows = polars.read_csv(ROUTING)
    strong, weak = (100 * rows[name].mean() for name in ("strong", "weak"))
    by_subject = rows.group_by("subject").agg(polars.len(), polars.mean("strong", "weak")).sort("subject")
    say(
        f"{rows.height:,} questions in {by_subject.height} subjects; right answers: strong model {strong:.1f} %, "
        f"weak model {weak:.1f} %"
    )
    least = by_subject.row(int((by_subject["strong"] - by_subject["weak"]).arg_min()), named=True)
    say(f"{least['subject']}: strong {100 * least['strong']:.1f} %, weak {100 * least['weak']:.1f} % of {least['len']}")
    best = [best_by_subject(by_subject, price) for price in PRICES]
    fixed = {
        "always weak": [[0.0, weak]] * len(PRICES),
        "always strong": [[100.0, strong]] * len(PRICES),
        "random": [[50.0, (weak + strong) / 2]] * len(PRICES),
        "best for each subject": best,
    }
    late, at_once = route(rows, LATE), route(rows, {})
    values = {name: [value_of(*point, price) for point, price in zip(points, PRICES, strict=True)]
              for name, points in fixed.items()}  # fmt: skip
    better = np.maximum(values["always weak"], values["always strong"])

    def line(name, cells):
        say(f"{name:<34}" + "".join(f"{cell:>10}" for cell in cells))

    def lines(found):
        for name, (calls, right) in found.items():
            line(name, [f"{value_of(c, r, p).mean():.1f}" for c, r, p in zip(calls, right, PRICES, strict=True)])

    say(f"\nRight answers per 100 questions, less the price of strong calls; means of {RUNS} orders of the questions.")
    say("Verdicts come 200 questions later on average, and 30 % never do:\n")
    line("price of 100 strong calls", PRICES)
    for name, several in values.items():
        if name != "best for each subject":
            line(name, [f"{value:.1f}" for value in several])
    lines(late)
    line("best for each subject, in hindsight", [f"{value:.1f}" for value in values["best for each subject"]])
    say("\nWith every verdict at once:\n")
    lines(at_once)
    drawn = {"prices": PRICES, "fixed": fixed, "routers": {}}
    for name, (calls, right) in late.items():
        gains = [value_of(c, r, p) - b for c, r, p, b in zip(calls, right, PRICES, better, strict=True)]
        drawn["routers"][name] = [
            [middle(values) for values in three] for three in zip(calls, right, gains, strict=True)
        ]
    say("\nShareUCB, with late verdicts, at each price; in brackets where 95 % of orders lie:\n")
    say("price             strong calls, %         right answers, %   less the better model, alone")
    for price, three in zip(PRICES, drawn["routers"]["ShareUCB"], strict=True):
        shown = [f"{mean:.1f} ({low:.1f} to {high:.1f})" for mean, low, high in three]
        say(f"{price:>5}" + "".join(f"{cell:>26}" for cell in shown))
    return drawn


def route(rows, arrivals):
    """Strong calls and right answers, in per cent, of each router: per price an array with an entry for each order."""
    n = rows.height
    found = {name: ([], []) for name in ROUTERS}
    for price in PRICES:
        priced = rows.with_columns(polars.col("strong") - price / 100)
        most = np.maximum(priced["strong"].to_numpy(), priced["weak"].to_numpy()).sum()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "routing.parquet"
            priced.write_parquet(file)
            world = RewardTable(file, arms=("strong", "weak"), context=("subject", "characters"))
        sizes = {"horizon": n, "replications": RUNS, "seed": 57, "checkpoints": [n], "progress": False}
        played = simulate(ROUTERS, world, **sizes, **arrivals)
        for (calls, right), regret, pulls in zip(found.values(), played.regret, played.pulls, strict=True):
            strong = pulls[:, 0] / n
            calls.append(100 * strong)
            right.append(100 * (most - regret[:, -1]) / n + price * strong)
    return found


def best_by_subject(by_subject, price):
    """Strong calls and right answers, in per cent, if each subject has the model that is better at this price."""
    share = by_subject["len"].to_numpy() / by_subject["len"].sum()
    strong, weak = (100 * by_subject[name].to_numpy() for name in ("strong", "weak"))
    calls = strong - price > weak
    return [float(100 * share @ calls), float(share @ np.where(calls, strong, weak))]


def value_of(calls, right, price):
    """Right answers per 100 questions less the price of the strong calls among them."""
    return right - price * calls / 100


def middle(values):
    """Mean, and the ends between which 95 % of the values lie."""
    return [round(float(x), 4) for x in (values.mean(), *np.quantile(values, [0.025, 0.975]))]


PARTS = {"trial": trial, "banners": banners, "visits": visits, "purchases": purchases, "routing": routing}


def play(name):
    """What a part prints, line by line, and the numbers of its picture."""
    said = []
    drawn = PARTS[name](said.append)
    lines = [WRAPPER.wrap(line) or [""] for line in "\n".join(said).split("\n")]
    return {"printed": [line.rstrip() for line in itertools.chain(*lines)], "drawn": drawn}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[[], *PARTS], help="parts to play; default: all")
    for name in parser.parse_args().part or PARTS:
        kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
        kept[name] = play(name)
        print(f"# {name}", *kept[name]["printed"], "", sep="\n", flush=True)
        FILE.write_text(json.dumps({part: kept[part] for part in PARTS if part in kept}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Evidence on real data that ship in packages: ``python docs/real_data.py``, a minute; a part by its name.

Prints what the pages of docs/examples/ show, and keeps it with the numbers of their pictures in docs/real_data.json.
Only data files are read: ``pip install --no-deps lifelines obp==0.4.1`` is enough.
"""

import argparse
import itertools
import json
import math
from importlib.util import find_spec
from pathlib import Path
from textwrap import TextWrapper

import numpy as np
import polars

from bandstrap import EdgeworthUCB
from bandstrap.evidence import LogEvidence, readout, rejection_replay

FILE = Path(__file__).with_name("real_data.json")
RUNS = 100
BATCH = 100
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


PARTS = {"trial": trial, "banners": banners}


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

"""The script of the interactive page computes the library's numbers, and its policies make the library's choices."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import quickjs

from bandstrap import (
    UCB1,
    BootstrappedUCB,
    BootstrappedUCBPlus,
    EdgeworthUCB,
    GaussianTS,
    NaiveBootstrappedUCB,
    SignFlipUCB,
)
from bandstrap.bounds import bootstrap, hoeffding, sign_flip
from bandstrap.multipliers import bootstrap_quantile
from sampling import each, telling

PAGE = Path(__file__).parents[2] / "docs" / "play"
SCRIPTS = ("bounds.js", "laws.js", "policies.js")


@pytest.fixture(scope="module")
def script():
    """Calls a function of the page's script; arguments and results travel as JSON."""
    context = quickjs.Context()
    for name in SCRIPTS:
        context.eval((PAGE / name).read_text(encoding="utf-8"))

    def call(function, *arguments):
        told = ", ".join(json.dumps(argument) for argument in arguments)
        infinite = '(key, value) => value === Infinity ? "inf" : value'
        return json.loads(context.eval(f"JSON.stringify(({function})({told}), {infinite})"))

    return call


def upper_bounds(rewards, alpha, sigma):
    """The library's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal rewards are worth a word to a user
        found = {
            name: bootstrap(rewards, alpha, sigma=sigma, correction=how).value for name, how in CORRECTIONS.items()
        }
        return found | {
            "hoeffding": hoeffding(rewards, alpha, sigma=sigma).value,
            "sign_flip": sign_flip(rewards, alpha).value,
        }


CORRECTIONS = {"naive": "none", "practical": "practical", "sharp": "sharp"}
# Each with the sizes at which its quantiles are found in another way, counted or transformed, and the error of the latter
# that is allowed, as a share of a bound's width. The library's own sign-flip bound is too wide by 0.2 to 0.4 % there.
SAMPLES = {
    "normal": (lambda rng, n: rng.normal(size=n), (1, 2, 4, 9, 16, 17, 60), 0.005),
    "exponential": (lambda rng, n: rng.exponential(size=n), (1, 5, 12, 200), 0.005),
    "coins": (lambda rng, n: rng.integers(0, 2, n).astype(float), (1, 3, 10, 24, 50, 51, 140, 200), 0.0),
    "dice": (lambda rng, n: rng.integers(1, 7, n).astype(float), (4, 10, 20, 27, 90), 0.05),
    "tenths": (lambda rng, n: rng.integers(-9, 10, n) / 10, (6, 14, 30), 0.01),
    "equal": (lambda rng, n: np.full(n, 0.1), (1, 7, 40, 200), 0.0),
    "far from 0": (lambda rng, n: 1e6 + rng.normal(size=n), (2, 9, 12, 26), 0.005),
    "one outlier": (lambda rng, n: np.append(rng.normal(size=n - 1), 100.0), (5, 15, 30), 0.1),
}


@telling("law", SAMPLES, ["coins"])
def test_bounds_are_the_library_s(script, law):
    draw, sizes, most = SAMPLES[law]
    rng = np.random.default_rng(len(law))
    for n in sizes:
        rewards = draw(rng, n)
        alpha = float(rng.choice([0.2, 0.05, 0.01]))
        sigma = float(np.abs(rewards).max() * rng.choice([0.1, 1.0]) + 1e-300)
        found = script("bandstrap.upperBounds", rewards.tolist(), alpha, sigma)
        for name, value in upper_bounds(rewards, alpha, sigma).items():
            method = {"hoeffding": "counted", "sign_flip": found["methods"]["sign_flip"]}
            share = 1e-9 if method.get(name, found["methods"]["bootstrap"]) == "counted" else most
            # Of the width where that is more than a rounding of the rewards.
            allowed = max(share * abs(value - rewards.mean()), 1e-13 * abs(value)) if math.isfinite(value) else 0.0
            assert float(found[name]) == pytest.approx(value, rel=0, abs=allowed), (name, n, alpha, sigma)


def test_levels_that_are_tail_probabilities_are_told_apart(script):
    # With 3 rewards P(X > x) is a multiple of 1/8, and a level that equals one is not exceeded by it.
    for level in (0.124, 0.125, 0.126, 0.25, 0.375, 0.3751):
        for rewards in ([1.0, 2.0, 4.0], [0.0, 1.0, 1.0], [0.0, 1.0, 5.0, 5.0]):
            found = script("(y, level) => bandstrap.bootstrapLaw(y).quantile(level)", rewards, level)
            assert found == pytest.approx(bootstrap_quantile(rewards, level), rel=1e-11, abs=1e-12)


@each("n", [4, 5, 9, 12])
@each("level", [1 / 16, 0.05, 0.2])
def test_coins_are_counted_to_the_last_subset(script, n, level):
    rows = np.tri(n + 1, n, -1)  # all numbers of heads
    found = script(
        "(rows, level) => rows.map((row) => bandstrap.upperBounds(row, level, 1).sign_flip)", rows.tolist(), level
    )
    assert [float(value) for value in found] == pytest.approx(sign_flip(rows, level).value.tolist(), rel=1e-11)


@pytest.mark.parametrize(
    ("n", "name", "words"),
    [
        (9, "naive", "9.0 % of nine"),
        (10, "naive", "5.5 % of ten"),
        (11, "naive", "3.3 % of eleven"),
        (12, "naive", "7.3 % of twelve"),
        (10, "sign_flip", "1.1 % of all samples"),
    ],
)
def test_the_shares_of_missed_tosses_that_the_page_names_are_so(script, n, name, words):
    assert words in (PAGE / "index.html").read_text(encoding="utf-8")
    missed = 0.0
    for heads in range(n + 1):
        bounds = script("bandstrap.upperBounds", [1.0] * heads + [0.0] * (n - heads), 0.05, 0.5)
        missed += math.comb(n, heads) / 2**n * (bounds[name] < 0.5 - 1e-9)
    assert f"{100 * missed:.1f} %" == words[:5]


# How far apart, as a share of the width of the higher bound, two arms may be of which the script takes the other. What the
# library approximates differs a little.
POLICIES = {
    "edgeworth_ucb": (lambda rng: EdgeworthUCB(arms=4, rng=rng), 1e-6),
    "ucb1": (lambda rng: UCB1(arms=4, sigma=0.5, rng=rng), 0.0),
    "gaussian_ts": (lambda rng: GaussianTS(arms=4, sigma=0.5, rng=rng), 0.0),
    "bootstrapped_ucb": (lambda rng: BootstrappedUCB(arms=4, sigma=0.5, rng=rng), 0.01),
    "bootstrapped_ucb_exact": (lambda rng: BootstrappedUCB(arms=4, sigma=0.5, quantile="exact", rng=rng), 0.01),
    "naive_bootstrapped_ucb": (lambda rng: NaiveBootstrappedUCB(arms=4, quantile="exact", rng=rng), 0.01),
    "bootstrapped_ucb_plus": (lambda rng: BootstrappedUCBPlus(arms=4, rng=rng), 0.01),
    "sign_flip_ucb": (lambda rng: SignFlipUCB(arms=4, rng=rng), 0.01),
}
FOLLOW = """(name, order, choices, rewards, exponentials, normals) => {
  const [exponential, normal] = [() => exponentials.shift(), () => normals.shift()];
  const policy = bandstrap.makePolicy(name, { sigma: 0.5, order, exponential, normal });
  return choices.map((arm, i) => {
    const mine = policy.choose(i + 1);
    policy.learn(arm, rewards[i]);
    return mine;
  });
}"""


def test_every_policy_of_the_page_is_compared(script):
    assert script("() => Object.keys(bandstrap.POLICIES)") == list(POLICIES)


@pytest.mark.parametrize("name", POLICIES)
@telling("law", ["coins", "uniform"], ["coins"])
def test_policies_make_the_library_s_choices(script, name, law):
    """In every round of the library's game, told what it knows, and handed the numbers that its generator will give."""
    make, most = POLICIES[name]
    if (name, law) == ("sign_flip_ucb", "coins"):
        # The library rounds numbers of subsets to 5 bits, and from 49 pulls on adds half a jump: for coins the next value.
        most = 0.12
    rounds = 90
    rng = np.random.default_rng(7)
    means = np.array([0.3, 0.5, 0.6, 0.6])[:, None]
    uniform = rng.random((4, rounds))
    tapes = (uniform < means).astype(float) if law == "coins" else means + 0.4 * (uniform - 0.5)
    policy = make(rng)
    order = [int(arm) for arm in policy._state.order]
    normals = copy_of(policy.rng).standard_normal(4 * rounds).tolist() if name == "gaussian_ts" else []
    drawn = copy_of(policy.rng).standard_exponential(30 * rounds).tolist() if name == "bootstrapped_ucb" else []
    pulls, choices, rewards, widths = [0] * 4, [], [], []
    for _ in range(rounds):
        widths.append(shortfalls(policy))
        arm = int(policy.select())
        choices.append(arm)
        rewards.append(float(tapes[arm, pulls[arm]]))
        pulls[arm] += 1
        policy.update(arm, rewards[-1])
    found = script(FOLLOW, name, order, choices, rewards, drawn, normals)
    for mine, theirs, width in zip(found, choices, widths, strict=True):
        assert mine == theirs or (most > 0 and width[mine] <= most), (mine, theirs)
    assert len(set(choices)) == 4
    assert sum(mine == theirs for mine, theirs in zip(found, choices, strict=True)) >= 0.95 * rounds


def shortfalls(policy):
    """By how much each arm's index is below the highest, as a share of the width of that, or nothing where it has none."""
    if policy.n_rewards < 8:
        return [math.inf] * 4
    rows = policy.bounds().values() if isinstance(policy, BootstrappedUCB) else policy.table()
    pairs = [(row["index"], row["mean"]) if isinstance(row, dict) else (row.index, row.mean) for row in rows]
    if any(index is None or not math.isfinite(index) for index, _ in pairs):
        return [math.inf] * 4
    best, mean = max(pairs)
    return [(best - index) / max(best - mean, 1e-12) for index, _ in pairs]


def test_players_of_a_match_earn_the_same_by_the_same_pulls(script):
    told = """(world) => {
      const match = bandstrap.makeMatch(world, ["ucb1", "gaussian_ts", "ucb1"], 0.5, 3);
      while (match.round < 150) match.step();
      return match.players.map(({ policy, regret, choices }) => [policy.arms.map((arm) => arm.rewards), regret, choices]);
    }"""
    for world, means in script("() => Object.entries(bandstrap.WORLDS).map(([name, { means }]) => [name, means])"):
        (first, _, choices), (second, _, others), (_, regret, again) = script(told, world)
        assert choices == again != others
        for mine, yours in zip(first, second, strict=True):
            both = min(len(mine), len(yours))
            assert both >= 1
            assert mine[:both] == yours[:both]
        gaps = np.max(means) - np.array(means)
        assert regret == pytest.approx([0.0, *np.cumsum(gaps[choices])])


@pytest.mark.parametrize("kind", ["LAWS", "WORLDS"])
def test_laws_have_the_means_they_say(script, kind):
    """Misses and regret are counted from them. A mean that is off by a thirtieth of a standard deviation is found."""
    told = """(kind, name, mean) => {
      const { draw } = bandstrap[kind][name];
      const stream = bandstrap.makeRandom(1, name);
      const sums = [0, 0, 0];
      for (let i = 0; i < 15000; i++) {
        const gap = (kind === "LAWS" ? draw(stream) : draw(stream, mean)) - mean;
        [gap, gap ** 2, gap ** 3].forEach((power, k) => (sums[k] += power / 15000));
      }
      return sums;
    }"""
    for name, law in script(f"() => Object.entries(bandstrap.{kind})"):
        for mean in law.get("means") or [law["mean"]]:
            first, second, third = script(told, kind, name, mean)
            assert abs(first) < 4 * math.sqrt(second / 15000)
            if law.get("safe") not in (None, "inf"):  # the variance is at most the square of a sub-Gaussian scale
                assert math.sqrt(second) < 1.02 * law["safe"]
            if "symmetric" in law:
                assert (abs(third) < 0.3 * second**1.5) == law["symmetric"]


def test_misses_are_of_fresh_samples(script):
    told = {"law": "rare", "n": 6, "alpha": 0.1, "sigma": 0.2, "seed": 4}
    last = script("(told) => [...bandstrap.missesOf(told, 60)].at(-1)", told)
    draws = script("""() => {
      const stream = bandstrap.makeRandom(4, "redraws");
      return Array.from({ length: 360 }, () => bandstrap.LAWS.rare.draw(stream));
    }""")
    samples = np.array(draws).reshape(60, 6)
    assert last["drawn"] == 60
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bound = bootstrap(samples, 0.1, sigma=0.2).value
    assert 0 < (bound < 0.1).sum() < 60
    assert last["misses"]["practical"] == (bound < 0.1).sum()
    assert last["misses"]["sign_flip"] == (sign_flip(samples, 0.1).value < 0.1).sum()


def test_averages_are_of_games_with_seeds_of_their_own(script):
    names = {"first": "ucb1", "second": "gaussian_ts"}
    told = {"world": "coins", **names, "scale": 0.5, "matchseed": 9, "rounds": 50}
    found = script("(told) => [...bandstrap.gamesOf(told, 12)].filter(Boolean)", told)
    play = """(game) => {
      const match = bandstrap.makeMatch("coins", ["ucb1", "gaussian_ts"], 0.5, `9, game ${game}`);
      while (match.round < 50) match.step();
      return match.players.map(({ regret }) => regret);
    }"""
    regrets = np.array([script(play, game) for game in range(1, 13)])  # (game, player, round)
    assert [each[0]["games"] for each in found] == [*range(1, 13)]
    for i, summary in enumerate(found[-1]):
        assert summary["curve"] == pytest.approx(regrets[:, i].mean(axis=0))
        assert summary["mean"] == pytest.approx(regrets[:, i, -1].mean())
        assert summary["error"] == pytest.approx(regrets[:, i, -1].std(ddof=1) / math.sqrt(12))


def copy_of(rng):
    twin = np.random.Generator(type(rng.bit_generator)())
    twin.bit_generator.state = rng.bit_generator.state
    return twin

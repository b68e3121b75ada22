"""The script of the interactive page computes the library's numbers, and its policies make the library's choices."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import quickjs

from bandstrap import MOSS, UCB1, BootstrappedUCB, GaussianTS, NaiveBootstrappedUCB, UCBTuned
from bandstrap.bounds import bootstrap, hoeffding, sign_flip
from bandstrap.multipliers import bootstrap_quantile

PAGE = Path(__file__).parents[2] / "docs" / "play"
SCRIPTS = ("bounds.js", "laws.js", "policies.js", "worker.js")


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
# Each with the sizes at which its quantiles are found in another way: counted by coins, by sums, by values, or inverted.
SAMPLES = {
    "normal": (lambda rng, n: rng.normal(size=n), (1, 2, 4, 9, 16, 60)),
    "exponential": (lambda rng, n: rng.exponential(size=n), (1, 5, 12, 500)),
    "coins": (lambda rng, n: rng.integers(0, 2, n).astype(float), (1, 3, 10, 24, 50, 51, 140, 500)),
    "dice": (lambda rng, n: rng.integers(1, 7, n).astype(float), (4, 10, 20, 27, 90)),
    "tenths": (lambda rng, n: rng.integers(-9, 10, n) / 10, (6, 14, 30)),
    "equal": (lambda rng, n: np.full(n, 0.1), (1, 7, 40, 500)),
    "huge": (lambda rng, n: 1e300 * rng.normal(size=n), (3, 11, 28)),
    "tiny": (lambda rng, n: 1e-300 * rng.normal(size=n), (3, 11)),
    "far from 0": (lambda rng, n: 1e6 + rng.normal(size=n), (2, 12, 26)),
    "one outlier": (lambda rng, n: np.append(rng.normal(size=n - 1), 100.0), (5, 15, 30)),
}


@pytest.mark.parametrize("law", SAMPLES)
def test_bounds_are_the_library_s(script, law):
    draw, sizes = SAMPLES[law]
    rng = np.random.default_rng(len(law))
    for n in sizes:
        rewards = draw(rng, n)
        alpha = float(rng.choice([0.2, 0.05, 0.01]))
        sigma = float(np.abs(rewards).max() * rng.choice([0.1, 1.0]) + 1e-300)
        found = script("bandstrap.upperBounds", rewards.tolist(), alpha, sigma)
        for name, value in upper_bounds(rewards, alpha, sigma).items():
            # Of the width where that is more than a rounding of the rewards.
            allowed = 1e-9 * max(abs(value - rewards.mean()), 1e-4 * abs(value)) if math.isfinite(value) else 0.0
            assert float(found[name]) == pytest.approx(value, rel=0, abs=allowed), (name, n, alpha, sigma)


def test_levels_that_are_tail_probabilities_are_told_apart(script):
    # With 3 rewards P(X > x) is a multiple of 1/8, and a level that equals one is not exceeded by it.
    for level in (0.124, 0.125, 0.126, 0.25, 0.375, 0.3751):
        for rewards in ([1.0, 2.0, 4.0], [0.0, 1.0, 1.0], [0.0, 1.0, 5.0, 5.0]):
            found = script("bandstrap.bootstrapQuantile", rewards, level)
            assert found["value"] == pytest.approx(bootstrap_quantile(rewards, level), rel=1e-12, abs=1e-15)
            assert found["method"] == "counted"


@pytest.mark.parametrize("n", [4, 5, 9, 12])
@pytest.mark.parametrize("level", [1 / 16, 0.05, 0.2])
def test_coins_are_counted_to_the_last_subset(script, n, level):
    rows = np.tri(n + 1, n, -1)  # all numbers of heads
    found = script(
        "(rows, level) => rows.map((row) => bandstrap.upperBounds(row, level, 1).sign_flip)", rows.tolist(), level
    )
    assert [float(value) for value in found] == pytest.approx(sign_flip(rows, level).value.tolist(), rel=1e-12)


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
        missed += math.comb(n, heads) / 2**n * (bounds[name] < 0.5 - 1e-12)
    assert f"{100 * missed:.1f} %" == words[:5]


POLICIES = {
    "ucb1": lambda rng: UCB1(arms=4, sigma=0.5, rng=rng),
    "bootstrapped_ucb": lambda rng: BootstrappedUCB(arms=4, sigma=0.5, quantile="resampled-literal", rng=rng),
    "naive_bootstrapped_ucb": lambda rng: NaiveBootstrappedUCB(arms=4, quantile="resampled-literal", rng=rng),
    "gaussian_ts": lambda rng: GaussianTS(arms=4, sigma=0.5, rng=rng),
    "moss": lambda rng: MOSS(arms=4, sigma=0.5, rng=rng),
    "ucb_tuned": lambda rng: UCBTuned(arms=4, upper=1.0, rng=rng),
}
PLAY = """(name, order, tapes, rounds, uniforms, normals) => {
  const [random, normal] = [() => uniforms.shift(), () => normals.shift()];
  const policy = bandstrap.makePolicy(name, { sigma: 0.5, upper: 1, order, random, normal });
  return Array.from({ length: rounds }, (_, i) => {
    const arm = policy.choose(i + 1);
    policy.learn(arm, tapes[arm][policy.arms[arm].pulls]);
    return arm;
  });
}"""


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("law", ["coins", "uniform"])
def test_policies_make_the_library_s_choices(script, name, law):
    """Also those that draw: the script is handed the numbers that the policy's generator will give."""
    rounds = 40 if "bootstrapped" in name else 300
    rng = np.random.default_rng(7)
    means = np.array([0.3, 0.5, 0.6, 0.6])[:, None]
    uniform = rng.random((4, rounds))
    tapes = (uniform < means).astype(float) if law == "coins" else means + 0.4 * (uniform - 0.5)
    policy = POLICIES[name](rng)
    order = [int(arm) for arm in policy._state.order]
    uniforms, normals = [], []
    if name == "gaussian_ts":
        normals = copy_of(policy.rng).standard_normal(4 * rounds).tolist()
    elif "bootstrapped" in name:
        uniforms = copy_of(policy.rng).random(4 * 200 * rounds).tolist()
    pulls, choices = [0] * 4, []
    for _ in range(rounds):
        arm = policy.select()
        policy.update(arm, float(tapes[arm, pulls[arm]]))
        pulls[arm] += 1
        choices.append(arm)
    assert len(set(choices)) == 4
    assert script(PLAY, name, order, tapes.tolist(), rounds, uniforms, normals) == choices


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
    told = """(kind, name, arm, mean) => {
      const { draw } = bandstrap[kind][name];
      const stream = bandstrap.makeRandom(1, name);
      const sums = [0, 0, 0];
      for (let i = 0; i < 15000; i++) {
        const gap = (kind === "LAWS" ? draw(stream) : draw(arm, stream, mean)) - mean;
        [gap, gap ** 2, gap ** 3].forEach((power, k) => (sums[k] += power / 15000));
      }
      return sums;
    }"""
    for name, law in script(f"() => Object.entries(bandstrap.{kind})"):
        for arm, mean in enumerate(law.get("means") or [law["mean"]]):
            if mean is not None:  # one's own rewards have none that is known
                first, second, third = script(told, kind, name, arm, mean)
                assert abs(first) < 4 * math.sqrt(second / 15000)
                if law.get("safe") not in (None, "inf"):  # the variance is at most the square of a sub-Gaussian scale
                    assert math.sqrt(second) < 1.02 * law["safe"]
                if "symmetric" in law:
                    assert (abs(third) < 0.3 * second**1.5) == law["symmetric"]


WORK = """(jobs) => {
  const [waiting, said] = [[], []];
  globalThis.setTimeout = (act) => waiting.push(act);
  const take = bandstrap.makeWorkshop((each) => said.push(each));
  jobs.forEach(take);
  while (waiting.length) waiting.shift()();
  return said;
}"""


def test_curves_are_of_the_first_rewards_and_a_new_job_replaces_the_old(script):
    rewards, sizes = [0.3, -0.2, 1.0, 0.4, 0.6], [5, 1, 3]
    told = {"rewards": rewards, "sizes": sizes, "alpha": 0.1, "sigma": 1.0}
    dropped = {"kind": "bounds", "key": "old", "told": told}
    said = script(WORK, [dropped, {"kind": "bounds", "key": "new", "told": told}])
    assert [(each["key"], each["value"]["n"]) for each in said] == [("new", n) for n in sizes]
    for each in said:
        n = each["value"]["n"]
        assert each["value"]["bounds"] == script("bandstrap.upperBounds", rewards[:n], 0.1, 1.0)
    assert script(WORK, [dropped, {"kind": "bounds"}]) == []


def test_misses_are_of_fresh_samples(script):
    told = {"law": "rare", "n": 6, "alpha": 0.1, "sigma": 0.2, "seed": 4, "redraws": 60}
    last = script(WORK, [{"kind": "misses", "key": 1, "told": told}])[-1]["value"]
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
    told = {"world": "coins", "names": ["ucb1", "moss"], "sigma": 0.5, "seed": 9, "rounds": 50, "games": 12}
    last = script(WORK, [{"kind": "games", "key": 1, "told": told}])[-1]["value"]
    play = """(game) => {
      const match = bandstrap.makeMatch("coins", ["ucb1", "moss"], 0.5, `9, game ${game}`);
      while (match.round < 50) match.step();
      return match.players.map(({ regret }) => regret);
    }"""
    regrets = np.array([script(play, game) for game in range(1, 13)])  # (game, player, round)
    assert last["played"] == 12
    for i, summary in enumerate(last["summary"]):
        assert summary["curve"] == pytest.approx(regrets[:, i].mean(axis=0))
        assert summary["mean"] == pytest.approx(regrets[:, i, -1].mean())
        assert summary["error"] == pytest.approx(regrets[:, i, -1].std(ddof=1) / math.sqrt(12))


def copy_of(rng):
    twin = np.random.Generator(type(rng.bit_generator)())
    twin.bit_generator.state = rng.bit_generator.state
    return twin

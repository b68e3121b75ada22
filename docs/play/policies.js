// Policies of the library in plain script: given the same rewards, and the same random numbers, the same choices, unless
// two arms are nearly equal. tests/play compares them.
"use strict";
(function (play) {
  const DELTA = 0.1;
  const N_RESAMPLES = 200;

  /** The law of the bootstrap for an arm, computed once for each of its pulls. */
  const lawOf = (arm) => (arm.law ??= play.bootstrapLaw(arm.rewards));

  /**
   * The tail level of draw number floor(B a) + 1 from the top of B, definition (D.1): one less a product of powers of
   * uniform variables, one for each of the draws above it.
   */
  function drawnLevel(a, exponential) {
    let sum = 0;
    for (let j = 0; j <= Math.floor(N_RESAMPLES * a + 1e-9); j++) sum += exponential() / (N_RESAMPLES - j);
    return -Math.expm1(-sum);
  }

  /** The sign-flip bound of an arm, kept as long as it serves; wider by 0.2 % or so, to serve for a while. */
  function flippedBound(arm, level) {
    if (!(arm.flipped?.until <= level * (1 + 1e-12))) arm.flipped = play.signFlip(arm.rewards, level, 0.97);
    return arm.flipped.value;
  }

  /** The standard deviation within arms, pooled, or that of one arm if it is larger; before there is any, the range of means. */
  function estimatedScale(arm, arms) {
    const pulls = arms.reduce((sum, { pulls }) => sum + pulls, 0);
    const squares = arms.reduce((sum, { squares }) => sum + squares, 0);
    const means = arms.map(({ mean }) => mean);
    const pooled = Math.sqrt(squares / Math.max(pulls - arms.length, 1)) || Math.max(...means) - Math.min(...means);
    return Math.max(pooled, Math.sqrt(arm.squares / Math.max(arm.pulls - 1, 1)));
  }

  // What a policy knows of an arm: pulls, sum, Welford's mean and squares, and all rewards. Scores are of round t.
  const POLICIES = {
    ucb1: {
      label: "UCB1", formula: "ȳ + σ √(2 log(t + 1) / n)",
      score: (arm, t, { sigma }) => arm.sum / arm.pulls + (sigma * Math.sqrt(2 * Math.log(1 / (1 / (t + 1))))) / Math.sqrt(arm.pulls),
    },
    gaussian_ts: {
      label: "Thompson sampling", formula: "a draw from N(ȳ, σ² / n)",
      score: (arm, t, { sigma, normal }) => arm.sum / arm.pulls + (sigma / Math.sqrt(arm.pulls)) * normal(),
    },
    bootstrapped_ucb: {
      label: "Bootstrapped UCB", formula: "ȳ + quantile of 200 bootstrap draws + σ √(2 log(t + 1)) / n: the paper’s algorithm",
      score: (arm, t, { sigma, exponential }) => {
        const { mean, quantile } = lawOf(arm);
        const alpha = 1 / (t + 1);
        return mean + quantile(drawnLevel(alpha * (1 - DELTA), exponential)) + play.practicalCorrection(arm.pulls, alpha, sigma);
      },
    },
    bootstrapped_ucb_exact: {
      label: "Bootstrapped UCB, exact", formula: "the same with the quantile of all draws there are, at level 0.9 / (t + 1)",
      score: (arm, t, { sigma }) => {
        const { mean, quantile } = lawOf(arm);
        return mean + quantile((1 - DELTA) / (t + 1)) + play.practicalCorrection(arm.pulls, 1 / (t + 1), sigma);
      },
    },
    naive_bootstrapped_ucb: {
      label: "Bootstrapped UCB, no correction", formula: "ȳ + the quantile alone: linear regret (theorem 4)",
      score: (arm, t) => lawOf(arm).mean + lawOf(arm).quantile((1 - DELTA) / (t + 1)),
    },
    bootstrapped_ucb_plus: {
      label: "Bootstrapped UCB+", formula: "ȳ + quantile at level 0.9 e + ŝ √(2 log(1 / e)) / n, e = min(1/2, n / (t + 1)), ŝ read off the rewards",
      nInitial: 2,
      leastPulls: (t) => 0.5 * Math.log(t),
      score: (arm, t, { arms }) => {
        const { mean, quantile } = lawOf(arm);
        const share = Math.min(0.5, arm.pulls / (t + 1));
        return mean + quantile((1 - DELTA) * share) + (estimatedScale(arm, arms) * Math.sqrt(-2 * Math.log(share))) / arm.pulls;
      },
    },
    sign_flip_ucb: {
      label: "Sign-flip UCB", formula: "the sign-flip bound at level 1 / (t + 1): no σ",
      score: (arm, t) => flippedBound(arm, 1 / (t + 1)),
    },
  };

  /** A policy among arms: choose(t) in rounds t = 1, 2, ..., learn(arm, reward). `order` decides between equal scores. */
  function makePolicy(name, settings) {
    const { score, nInitial = 1, leastPulls = () => 0 } = POLICIES[name];
    const { order } = settings;
    const arms = order.map(() => ({ pulls: 0, sum: 0, mean: 0, squares: 0, rewards: [] }));
    const told = { ...settings, arms };
    return {
      arms,
      choose(t) {
        if (t <= nInitial * arms.length) return (t - 1) % arms.length;
        const lacking = order.find((arm) => arms[arm].pulls < leastPulls(t));
        const isMore = (a, b) => a > b + 1e-9 * Math.abs(b); // equal but for rounding: the first in order
        return lacking ?? order.map((arm) => [arm, score(arms[arm], t, told)]).reduce((best, other) => (isMore(other[1], best[1]) ? other : best))[0];
      },
      learn(arm, reward) {
        const known = arms[arm];
        known.pulls++;
        known.sum += reward;
        const deviation = reward - known.mean;
        known.mean += deviation / known.pulls;
        known.squares += deviation * (reward - known.mean);
        known.rewards.push(reward);
        known.law = known.flipped = undefined;
      },
    };
  }

  /** Policies that play the same world side by side: an arm's pull number i earns each of them the same. */
  function makeMatch(world, names, sigma, seed) {
    const { means, draw } = play.WORLDS[world];
    const best = Math.max(...means);
    const tapes = means.map((mean, arm) => ({ stream: play.makeRandom(seed, `arm ${arm}`), rewards: [] }));
    const ties = play.makeRandom(seed, "ties").random;
    const order = means.map((_, arm) => ({ arm, key: ties() })).sort((a, b) => a.key - b.key).map(({ arm }) => arm);
    const reward = (arm, i) => {
      const { stream, rewards } = tapes[arm];
      while (rewards.length <= i) rewards.push(draw(stream, means[arm]));
      return rewards[i];
    };
    const players = names.map((name, place) => {
      const policy = makePolicy(name, { sigma, order, ...play.makeRandom(seed, `policy ${place}`) });
      return { name, policy, regret: [0], choices: [] };
    });
    return {
      players,
      round: 0,
      step() {
        this.round++;
        for (const { policy, regret, choices } of players) {
          const arm = policy.choose(this.round);
          policy.learn(arm, reward(arm, policy.arms[arm].pulls));
          regret.push(regret.at(-1) + best - means[arm]);
          choices.push(arm);
        }
      },
    };
  }

  /** Average regret of two players over games with seeds of their own; yields after every round, so that it can be paused. */
  function* gamesOf({ world, first, second, scale, matchseed, rounds }, games) {
    const played = [];
    while (played.length < games) {
      const match = makeMatch(world, [first, second], scale, `${matchseed}, game ${played.length + 1}`);
      while (match.round < rounds) {
        match.step();
        yield null;
      }
      played.push(match.players.map(({ regret }) => regret));
      yield [0, 1].map((player) => {
        const ends = played.map((game) => game[player][rounds]);
        const mean = ends.reduce((sum, end) => sum + end, 0) / played.length;
        const square = ends.reduce((sum, end) => sum + (end - mean) ** 2, 0) / (played.length - 1);
        const curve = played[0][player].map((_, t) => played.reduce((sum, game) => sum + game[player][t], 0) / played.length);
        return { mean, error: Math.sqrt(square / played.length), curve, games: played.length };
      });
    }
  }

  Object.assign(play, { POLICIES, makePolicy, makeMatch, gamesOf });
})((globalThis.bandstrap ??= {}));

// Policies of the library in plain script: given the same rewards, and the same random numbers, the same choices.
// tests/play compares them.
"use strict";
(function define(play) {
  const DELTA = 0.1;
  const N_RESAMPLES = 200;

  /** Draw number floor(B level) + 1 from the top of B draws of sum +-a_i, fresh signs for each: definition (D.1). */
  function drawnQuantile(a, level, random) {
    const draws = new Float64Array(N_RESAMPLES);
    // Words of 52 random bits, in two parts; 8 terms have 256 signed sums, looked up with 8 bits, six times a word.
    const [low, high] = [new Int32Array(N_RESAMPLES), new Int32Array(N_RESAMPLES)];
    const table = new Float64Array(256);
    for (let start = 0; start < a.length; start += 8) {
      let size = 1;
      table[0] = 0;
      for (let i = start; i < Math.min(start + 8, a.length); i++) {
        for (let j = 0; j < size; j++) {
          table[size + j] = table[j] - a[i];
          table[j] += a[i];
        }
        size *= 2;
      }
      const turn = (start / 8) % 6;
      if (turn === 0) {
        for (let b = 0; b < N_RESAMPLES; b++) {
          const word = Math.floor(random() * 2 ** 52);
          high[b] = word / 2 ** 24; // without its fraction
          low[b] = word - high[b] * 2 ** 24;
        }
      }
      const words = turn < 3 ? low : high;
      const shift = 8 * (turn % 3);
      for (let b = 0; b < N_RESAMPLES; b++) draws[b] += table[(words[b] >> shift) & (size - 1)];
    }
    const rank = Math.min(Math.floor(N_RESAMPLES * level + 1e-9), N_RESAMPLES - 1);
    return draws.sort()[N_RESAMPLES - 1 - rank];
  }

  /** Mean, around the first reward, plus the drawn quantile: what both bootstrapped policies share. */
  function bootstrapped({ rewards }, alpha, random) {
    const n = rewards.length;
    const mean = rewards[0] + rewards.reduce((total, y) => total + (y - rewards[0]), 0) / n;
    return { mean, quantile: drawnQuantile(rewards.map((y) => (y - mean) / n), alpha * (1 - DELTA), random) };
  }

  // What a policy knows of an arm: pulls, sum, Welford's mean and squares, and all rewards. Scores are of round t.
  const POLICIES = {
    ucb1: {
      label: "UCB1", formula: "ȳ + σ √(2 log(t + 1) / n)",
      score: (arm, t, { sigma }) => arm.sum / arm.pulls + (sigma * Math.sqrt(2 * Math.log(1 / (1 / (t + 1))))) / Math.sqrt(arm.pulls),
    },
    bootstrapped_ucb: {
      label: "Bootstrapped UCB", formula: "ȳ + quantile of 200 bootstrap draws + σ √(2 log(t + 1)) / n: the paper’s algorithm",
      score: (arm, t, { sigma, random }) => {
        const alpha = 1 / (t + 1);
        const { mean, quantile } = bootstrapped(arm, alpha, random);
        return mean + (quantile + play.practicalCorrection(arm.pulls, alpha, sigma));
      },
    },
    naive_bootstrapped_ucb: {
      label: "Bootstrapped UCB, no correction", formula: "ȳ + quantile of 200 bootstrap draws: linear regret (theorem 4)",
      score: (arm, t, { random }) => {
        const { mean, quantile } = bootstrapped(arm, 1 / (t + 1), random);
        return mean + quantile;
      },
    },
    gaussian_ts: {
      label: "Thompson sampling (Gaussian)", formula: "a draw from N(ȳ, σ² / n)",
      score: (arm, t, { sigma, normal }) => arm.sum / arm.pulls + (sigma / Math.sqrt(arm.pulls)) * normal(),
    },
    moss: {
      label: "MOSS", formula: "ȳ + σ √(2 log⁺(t / (K n)) / n)",
      score: (arm, t, { sigma, nArms }) =>
        arm.sum / arm.pulls + sigma * Math.sqrt((2 * Math.log(Math.max(t / nArms / arm.pulls, 1))) / arm.pulls),
    },
    ucb_tuned: {
      label: "UCB1-tuned", formula: "UCB1 with a bound on the arm’s own variance, for rewards from 0 to u", needs: "upper",
      score: (arm, t, { upper }) => {
        const rate = Math.log(t) / arm.pulls;
        const variance = arm.squares / arm.pulls / (upper * upper);
        return arm.mean + upper * Math.sqrt(rate * Math.min(0.25, variance + Math.sqrt(2 * rate)));
      },
    },
  };

  /** A policy among arms: choose(t) in rounds t = 1, 2, ..., learn(arm, reward). `order` decides between equal scores. */
  function makePolicy(name, settings) {
    const { score } = POLICIES[name];
    const { order } = settings;
    const arms = order.map(() => ({ pulls: 0, sum: 0, mean: 0, squares: 0, rewards: [] }));
    const told = { ...settings, nArms: order.length };
    return {
      arms,
      choose(t) {
        if (t <= arms.length) return t - 1;
        let [best, bestScore] = [-1, -Infinity];
        for (const arm of order) {
          const value = score(arms[arm], t, told);
          if (best < 0 || value > bestScore) [best, bestScore] = [arm, value];
        }
        return best;
      },
      learn(arm, reward) {
        const known = arms[arm];
        known.pulls++;
        known.sum += reward;
        const deviation = reward - known.mean;
        known.mean += deviation / known.pulls;
        known.squares += deviation * (reward - known.mean);
        known.rewards.push(reward);
      },
    };
  }

  /** Policies that play the same world side by side: an arm's pull number i earns each of them the same. */
  function makeMatch(world, names, sigma, seed) {
    const { means, draw, upper } = play.WORLDS[world];
    const best = Math.max(...means);
    const tapes = means.map((mean, arm) => ({ stream: play.makeRandom(seed, `arm ${arm}`), rewards: [] }));
    const ties = play.makeRandom(seed, "ties").random;
    const order = means.map((_, arm) => ({ arm, key: ties() })).sort((a, b) => a.key - b.key).map(({ arm }) => arm);
    const reward = (arm, i) => {
      const { stream, rewards } = tapes[arm];
      while (rewards.length <= i) rewards.push(draw(arm, stream, means[arm]));
      return rewards[i];
    };
    const players = names.map((name, place) => {
      const { random, normal } = play.makeRandom(seed, `policy ${place}`);
      return { name, policy: makePolicy(name, { sigma, upper, order, random, normal }), regret: [0], choices: [] };
    });
    return {
      players,
      round: 0,
      step() {
        this.round++;
        for (const { policy, regret, choices } of players) {
          const arm = policy.choose(this.round);
          policy.learn(arm, reward(arm, policy.arms[arm].pulls));
          regret.push(regret[regret.length - 1] + best - means[arm]);
          choices.push(arm);
        }
      },
    };
  }

  Object.assign(play, { POLICIES, makePolicy, makeMatch });
  (play.sources ??= []).push(define);
})((globalThis.bandstrap ??= {}));

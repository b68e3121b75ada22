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

  /** Mean and sums of powers of the deviations of an arm's rewards, kept until its next pull. */
  function shapeOf(arm) {
    return (arm.shape ??= arm.rewards.reduce(
      (sums, reward) => {
        const gap = reward - arm.mean;
        return { s2: sums.s2 + gap ** 2, s3: sums.s3 + gap ** 3, s4: sums.s4 + gap ** 4, s6: sums.s6 + gap ** 6 };
      },
      { s2: 0, s3: 0, s4: 0, s6: 0 },
    ));
  }

  const total = (items, value) => items.reduce((sum, item) => sum + value(item), 0);

  /** S3/S2 (1 − 2 S6/S3²)₊, of either sign. */
  const signedSkewness = (s2, s3, s6) => (s3 === 0 ? 0 : (s3 / s2) * Math.max(0, 1 - (2 * s6) / s3 ** 2));

  /** What the arms lend one another in a round: variance, degrees of freedom, skewness and kurtosis. */
  function lentBy(arms) {
    const known = arms.map((arm) => {
      const { s2, s3, s4, s6 } = shapeOf(arm);
      const n = arm.pulls;
      // Equal rewards may leave a spread by rounding.
      const isSpread = n > 1 && arm.rewards.some((reward) => reward !== arm.rewards[0]);
      return { n, s2: isSpread ? s2 : 0, s3: isSpread ? s3 : 0, s4, s6: isSpread ? s6 : 0, isSpread, weight: Math.min(n - 1, 20), variance: isSpread ? s2 / (n - 1) : 0 };
    });
    const spread = known.filter(({ isSpread }) => isSpread);
    const gamma = signedSkewness(
      total(spread, ({ n }) => n),
      total(spread, ({ s3, variance }) => s3 / variance ** 1.5),
      total(spread, ({ s6, variance }) => s6 / variance ** 3),
    );
    const four = spread.filter(({ n }) => n >= 4);
    const excess = total(four, ({ n, s2, s4, weight }) => weight * ((n * s4) / s2 ** 2 - (3 * (n - 1)) / (n + 1)));
    const kurtosis = four.length ? Math.max(0, excess) / total(four, ({ weight }) => weight) : 0;
    const several = known.filter(({ n }) => n > 1);
    const weights = total(several, ({ weight }) => weight);
    const means = arms.map(({ mean }) => mean);
    const variance = spread.length ? total(several, (arm) => arm.weight * arm.variance) / weights
      : (Math.max(...means) - Math.min(...means)) ** 2 || 1;
    const noise = 2 + Math.min(kurtosis, 1.5 * gamma ** 2);
    const unequal = total(several, (arm) => arm.weight * ((arm.variance / variance - 1) ** 2 - ((1 - arm.weight / weights) * noise) / (arm.n - 1)));
    const lost = weights ? total(several, ({ weight }) => weight ** 2) / weights : 0;
    const h = (unequal + 5) / (weights - lost + 10);
    return {
      known, gamma, kurtosis, variance, weights: total(known, ({ weight }) => weight),
      freedom: h <= 0 ? 50 : Math.min(Math.max(2 / h - 1, 0), 50),
      skewness: signedSkewness(total(known, ({ s2 }) => s2), total(known, ({ s3 }) => s3), total(known, ({ s6 }) => s6)),
    };
  }

  /** The index of EdgeworthUCB: a studentized quantile with terms of second order for skewness and kurtosis. */
  function edgeworthIndex(arm, t, arms) {
    const n = arm.pulls;
    if (n < 0.5 * Math.log(t / arms.length)) return Infinity;
    if (arms.lent?.t !== t) arms.lent = { t, ...lentBy(arms) };
    const { known, gamma, kurtosis, variance, weights, freedom, skewness } = arms.lent;
    const own = known[arms.indexOf(arm)];
    const level = Math.min(0.5, 0.75 * Math.max(1, (arms.length - 1) / 4) ** 1.2 * (n / t));
    const z = Math.max(0, play.normalQuantile(0.9 * level));
    const nu = Math.max(n - 1 + freedom, 0.5);
    const deviation = Math.sqrt((own.s2 + freedom * variance) / nu);
    const omega = Math.min(1, (n - 1 + (weights ? (freedom * own.weight) / weights : 0)) / nu);
    const lean = own.isSpread ? deviation * gamma : skewness;
    const zeta = z / (1 + ((((n - 1) / nu) * kurtosis) / (12 * n)) * Math.max(0, z ** 2 - 3));
    const main = deviation * Math.sqrt((nu / n) * Math.expm1(Math.min(zeta ** 2 / nu, 50)));
    const borrowed = (2 / (2 + freedom)) * deviation * Math.sqrt(-2 * Math.log(level));
    return arm.mean + main + (borrowed + (((3 * omega - 1) * z ** 2 + 1) / 6) * lean) / n;
  }

  // What a policy knows of an arm: pulls, sum, Welford's mean and squares, and all rewards. Scores are of round t.
  const POLICIES = {
    edgeworth_ucb: {
      label: "Edgeworth UCB", formula: "ȳ + a quantile of Student’s form at level 0.75 n / t, with terms for skewness and kurtosis: no σ",
      nInitial: 2,
      score: (arm, t, { arms }) => edgeworthIndex(arm, t, arms),
    },
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
        known.law = known.flipped = known.shape = undefined;
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

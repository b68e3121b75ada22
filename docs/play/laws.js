// Seeded random numbers, the laws that rewards are drawn from, and the sets of arms that policies play.
"use strict";
(function define(play) {
  /** A stream of random numbers for a seed and a name: sfc32 of Chris Doty-Humphrey. */
  function makeRandom(seed, name) {
    let mixed = 2166136261; // FNV-1a of both
    for (const letter of `${seed}/${name}`) mixed = Math.imul(mixed ^ letter.codePointAt(0), 16777619);
    const s = Int32Array.of(mixed, mixed ^ 0x9e3779b9, Math.imul(mixed, 0x85ebca6b), 1); // the last counts
    const word = () => {
      const out = (s[0] + s[1] + s[3]++) | 0;
      s[0] = s[1] ^ (s[1] >>> 9);
      s[1] = s[2] + (s[2] << 3);
      s[2] = ((s[2] << 21) | (s[2] >>> 11)) + out;
      return out >>> 0;
    };
    for (let i = 0; i < 20; i++) word();
    const random = () => ((word() >>> 6) * 2 ** 27 + (word() >>> 5)) * 2 ** -53;
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return { random, normal };
  }

  // mean: the truth. sigma: what a reader would assume. safe: from this sigma on Hoeffding's bound is proved; Infinity if
  // from none. view: what the plot shows at least.
  const LAWS = {
    gaussian: {
      label: "Gaussian, mean 0, sd 1", mean: 0, sigma: 1, safe: 1, symmetric: true, view: [-2.5, 2.5],
      draw: ({ normal }) => normal(),
    },
    uniform: {
      label: "uniform on [−1, 1]", mean: 0, sigma: 1, safe: 1 / Math.sqrt(3), symmetric: true, view: [-1, 1.5],
      draw: ({ random }) => 2 * random() - 1,
    },
    laplace: {
      label: "Laplace: symmetric, heavy tails", mean: 0, sigma: 1.4, safe: Infinity, symmetric: true, view: [-3, 3],
      draw: ({ random }) => (random() < 0.5 ? -1 : 1) * Math.log(1 - random()),
    },
    coin: {
      label: "fair coin: 0 or 1", mean: 0.5, sigma: 0.5, safe: 0.5, symmetric: true, view: [0, 1.4],
      draw: ({ random }) => (random() < 0.5 ? 1 : 0),
    },
    dice: {
      label: "dice: 1 to 6, a lattice", mean: 3.5, sigma: 2.5, safe: 2.5, symmetric: true, view: [1, 6.5],
      draw: ({ random }) => 1 + Math.floor(6 * random()),
    },
    rare: {
      label: "Bernoulli, 1 in 10: skewed", mean: 0.1, sigma: 0.5, safe: Math.sqrt(0.8 / (2 * Math.log(9))), symmetric: false,
      view: [0, 1], draw: ({ random }) => (random() < 0.1 ? 1 : 0),
    },
    exponential: {
      label: "exponential, mean 1: skewed", mean: 1, sigma: 1, safe: Infinity, symmetric: false, view: [0, 3.5],
      draw: ({ random }) => -Math.log(1 - random()),
    },
    jackpot: {
      label: "jackpot: 10 once in 20, else 0", mean: 0.5, sigma: 5, safe: 5, symmetric: false, view: [0, 10],
      draw: ({ random }) => (random() < 0.05 ? 10 : 0),
    },
    own: { label: "my own: click in the plot", mean: NaN, sigma: 1, safe: NaN, symmetric: null, view: [-1, 1], draw: null },
  };

  // means: of the arms. upper: rewards lie between 0 and this, for the policy that asks.
  const WORLDS = {
    coins: {
      label: "coins: 0.60, 0.50, 0.45, 0.30", means: [0.6, 0.5, 0.45, 0.3], sigma: 0.5, upper: 1,
      draw: (arm, { random }, mean) => (random() < mean ? 1 : 0),
    },
    gaussian: {
      label: "Gaussian, sd 1: means 0.8, 0.5, 0.2, −0.4", means: [0.8, 0.5, 0.2, -0.4], sigma: 1, upper: 0,
      draw: (arm, { normal }, mean) => mean + normal(),
    },
    quiet: {
      label: "quiet: uniform, ±0.2 around 0.60, 0.55, 0.50, 0.40", means: [0.6, 0.55, 0.5, 0.4], sigma: 0.5, upper: 1,
      draw: (arm, { random }, mean) => mean + 0.4 * (random() - 0.5),
    },
    ratings: {
      label: "ratings 1 to 5: means 3.6, 3.3, 3.0, 2.6", means: [3.6, 3.3, 3, 2.6], sigma: 2, upper: 5,
      draw: (arm, { random }, mean) => 1 + [0, 1, 2, 3].filter(() => random() < (mean - 1) / 4).length,
    },
    jackpots: {
      label: "jackpots: 10 in 8 %, 6 %, 5 %, 2 % of pulls", means: [0.8, 0.6, 0.5, 0.2], sigma: 5, upper: 10,
      draw: (arm, { random }, mean) => (random() < mean / 10 ? 10 : 0),
    },
  };

  /** Rewards of a law, by seed; `own` holds some that the reader put in, by place. */
  function sampleOf(law, seed, n, own = new Map()) {
    const stream = makeRandom(seed, "sample");
    const { draw } = LAWS[law];
    return Array.from({ length: n }, (_, i) => {
      const drawn = draw ? draw(stream) : NaN;
      return own.has(i) ? own.get(i) : drawn;
    });
  }

  Object.assign(play, { makeRandom, LAWS, WORLDS, sampleOf });
  (play.sources ??= []).push(define);
})((globalThis.bandstrap ??= {}));

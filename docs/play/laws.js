// Seeded random numbers, the laws that rewards are drawn from, and the sets of arms that policies play.
"use strict";
(function (play) {
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
    const exponential = () => -Math.log(1 - random());
    const normal = () => Math.sqrt(2 * exponential()) * Math.cos(2 * Math.PI * random());
    return { random, exponential, normal };
  }

  // mean: the truth. sigma: what a reader would assume. safe: from this sigma on Hoeffding's bound is proved; Infinity if
  // from none. view: what the plot shows.
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
      draw: ({ random, exponential }) => (random() < 0.5 ? -1 : 1) * exponential(),
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
      draw: ({ exponential }) => exponential(),
    },
    jackpot: {
      label: "jackpot: 10 once in 20, else 0", mean: 0.5, sigma: 5, safe: 5, symmetric: false, view: [0, 10],
      draw: ({ random }) => (random() < 0.05 ? 10 : 0),
    },
  };

  const WORLDS = {
    coins: {
      label: "coins: 0.60, 0.50, 0.45, 0.30", means: [0.6, 0.5, 0.45, 0.3], sigma: 0.5,
      draw: ({ random }, mean) => (random() < mean ? 1 : 0),
    },
    gaussian: {
      label: "Gaussian, sd 1: means 0.8, 0.5, 0.2, −0.4", means: [0.8, 0.5, 0.2, -0.4], sigma: 1,
      draw: ({ normal }, mean) => mean + normal(),
    },
    quiet: {
      label: "quiet: uniform, ±0.2 around 0.60, 0.55, 0.50, 0.40", means: [0.6, 0.55, 0.5, 0.4], sigma: 0.5,
      draw: ({ random }, mean) => mean + 0.4 * (random() - 0.5),
    },
    ratings: {
      label: "ratings 1 to 5: means 3.6, 3.3, 3.0, 2.6", means: [3.6, 3.3, 3, 2.6], sigma: 2,
      draw: ({ random }, mean) => 1 + [0, 1, 2, 3].filter(() => random() < (mean - 1) / 4).length,
    },
    jackpots: {
      label: "jackpots: 10 in 8 %, 6 %, 5 %, 2 % of pulls", means: [0.8, 0.6, 0.5, 0.2], sigma: 5,
      draw: ({ random }, mean) => (random() < mean / 10 ? 10 : 0),
    },
  };

  /** The first n rewards of a law, by seed. */
  function sampleOf(law, seed, n) {
    const stream = makeRandom(seed, "sample");
    return Array.from({ length: n }, () => LAWS[law].draw(stream));
  }

  /** How often each bound is below the truth, over redraws of a sample, after every one of them. */
  function* missesOf({ law, n, alpha, sigma, seed }, redraws) {
    const { draw, mean } = LAWS[law];
    const stream = makeRandom(seed, "redraws");
    const misses = Object.fromEntries(play.BOUNDS.map((name) => [name, 0]));
    for (let drawn = 1; drawn <= redraws; drawn++) {
      const found = play.upperBounds(Array.from({ length: n }, () => draw(stream)), alpha, sigma);
      // A tie is no miss, and bounds that tie with the truth may be a rounding below it.
      for (const name of play.BOUNDS) if (mean > found[name] + 1e-9 * (1 + Math.abs(mean))) misses[name]++;
      yield { drawn, misses };
    }
  }

  Object.assign(play, { makeRandom, LAWS, WORLDS, sampleOf, missesOf });
})((globalThis.bandstrap ??= {}));

// The bounds of bandstrap.bounds in plain script, for random signs and rewards of ordinary size. tests/play compares the
// numbers with the library's.
"use strict";
(function (play) {
  const BOUNDS = ["hoeffding", "naive", "practical", "sharp", "sign_flip"];
  // Signed sums are counted while two lists, of half the terms each, have at most so many entries together: up to 16 terms,
  // more where terms are equal.
  const MOST_LISTED = 512;
  // Otherwise the sum is blurred by a normal variable of this share of its standard deviation, so that waves soon fade.
  const BLUR = 0.01;
  // The length of the first wave, and the value from which on tails are taken for nothing (below 5e-5, by Hoeffding's
  // inequality), both in standard deviations of the sum.
  const LONGEST_WAVE = 20;
  const FARTHEST = 4.5;

  const total = (values) => values.reduce((sum, value) => sum + value, 0);

  /** The z with P(N(0,1) > z) = tail, within 0.0005: formula 26.2.23 of Abramowitz and Stegun. */
  function normalQuantile(tail) {
    if (tail > 0.5) return -normalQuantile(1 - tail);
    const t = Math.sqrt(-2 * Math.log(tail));
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  }

  const knownChances = new Map();

  /** P(Bin(n, 1/2) = j), from the middle outwards: nothing underflows. */
  function coinChances(n) {
    if (knownChances.has(n)) return knownChances.get(n);
    const chances = new Float64Array(n + 1);
    const middle = n >> 1;
    chances[middle] = 1;
    for (let j = middle; j < n; j++) chances[j + 1] = (chances[j] * (n - j)) / (j + 1);
    for (let j = middle; j > 0; j--) chances[j - 1] = (chances[j] * j) / (n - j + 1);
    const sum = total(chances);
    knownChances.set(n, chances.map((chance) => chance / sum));
    return knownChances.get(n);
  }

  /** The smallest x between two ends at which a tail is at most `level`; the tail falls in steps, or smoothly. */
  function crossing(tail, level, low, high) {
    const precision = 1e-13 * Math.max(Math.abs(low), Math.abs(high));
    while (high - low > precision) {
      const middle = 0.5 * (low + high);
      if (tail(middle) > level * (1 + 1e-12)) low = middle; // not for a tail that equals the level but for its rounding
      else high = middle;
    }
    return high;
  }

  // --- the law of a sum of terms with random signs -----------------------------------------------------------------------

  /** The function x -> P(sum > x), and how it is computed. */
  function signLaw(terms) {
    const counts = new Map();
    for (const term of terms.map(Math.abs)) if (term > 0) counts.set(term, (counts.get(term) ?? 0) + 1);
    const halves = [[], []];
    const sizes = [1, 1];
    for (const [term, count] of [...counts].sort((a, b) => b[1] - a[1])) {
      const smaller = sizes[0] <= sizes[1] ? 0 : 1;
      halves[smaller].push([term, count]);
      sizes[smaller] *= count + 1;
    }
    if (sizes[0] + sizes[1] <= MOST_LISTED) return { tail: countedTail(halves), method: "counted" };
    return { tail: wavesTail(terms), method: "computed by a Fourier transform" };
  }

  /** All sums of some terms, each with its count, ascending, and their probabilities. */
  function listSums(groups) {
    let [values, chances] = [Float64Array.of(0), Float64Array.of(1)];
    for (const [term, count] of groups) {
      const size = values.length;
      const shares = coinChances(count);
      const [sums, products] = [new Float64Array(size * (count + 1)), new Float64Array(size * (count + 1))];
      for (let i = 0; i < sums.length; i++) {
        const heads = Math.floor(i / size);
        sums[i] = values[i % size] + term * (2 * heads - count);
        products[i] = chances[i % size] * shares[heads];
      }
      [values, chances] = [sums, products];
    }
    if (groups.length < 2) return { values, chances }; // in order already
    if (groups.every(([, count]) => count === 1)) return { values: values.sort(), chances }; // all are as likely
    const order = Uint16Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
    const sorted = (numbers) => Float64Array.from(order, (place) => numbers[place]);
    return { values: sorted(values), chances: sorted(chances) };
  }

  /** Exactly: all sums of one half of the terms against all of the other. */
  function countedTail(halves) {
    const [left, right] = halves.map(listSums);
    const beyond = new Float64Array(right.values.length + 1); // P(value number j or a later one)
    for (let j = right.values.length - 1; j >= 0; j--) beyond[j] = beyond[j + 1] + right.chances[j];
    const tie = 1e-12 * (left.values.at(-1) + right.values.at(-1)); // sums that are so near are equal
    return (x) => {
      let mass = 0;
      let j = right.values.length;
      for (let i = 0; i < left.values.length; i++) {
        while (j > 0 && left.values[i] + right.values[j - 1] > x + tie) j--;
        mass += left.chances[i] * beyond[j];
      }
      return mass;
    };
  }

  /**
   * From the transform: 1{v > 0} = 1/2 + (2/pi) sum over odd k of sin(k w v)/k for |v| < pi/w, and the mean of
   * sin(k w (sum - x)) is -sin(k w x) prod cos(k w a_i).
   */
  function wavesTail(terms) {
    const scale = Math.sqrt(total(terms.map((term) => term * term)));
    const waves = [];
    for (let k = 1; ; k += 2) {
      const blur = (BLUR * k * 2 * Math.PI) / LONGEST_WAVE;
      if (blur > 4) break;
      const frequency = (k * 2 * Math.PI) / (LONGEST_WAVE * scale);
      let height = (2 / Math.PI / k) * Math.exp(-0.5 * blur * blur);
      for (let i = 0; i < terms.length && Math.abs(height) > 1e-9; i++) height *= Math.cos(frequency * terms[i]);
      if (Math.abs(height) > 1e-9) waves.push([frequency, height]);
    }
    return (x) => {
      if (x > FARTHEST * scale) return 0;
      let tail = 0.5;
      for (const [frequency, height] of waves) tail -= height * Math.sin(frequency * x);
      return tail;
    };
  }

  // --- the two quantiles -------------------------------------------------------------------------------------------------

  /** The multiplier bootstrap: inf {x : P(sum of +-(y_i - ybar)/n > x) <= level} as a function of levels below 1/2. */
  function bootstrapLaw(y) {
    const n = y.length;
    const mean = y[0] + total(y.map((v) => v - y[0])) / n;
    const terms = y.map((v) => (v - mean) / n);
    const { tail, method } = signLaw(terms);
    const largest = total(terms.map(Math.abs));
    return { mean, method, quantile: (level) => crossing(tail, level, 0, largest) };
  }

  /**
   * Sign flips: inf {x : P(mean of a random subset > x) <= level}, the empty subset counting as infinite, at a level below
   * 1/2. A subset with signs +1 for what is in it has a mean above x if sum +-(y_i - x) > n (x - ybar). The value serves for
   * lower levels, too, down to `until`; where it is not counted that can be bought, by asking for a share of the level.
   */
  function signFlip(rewards, level, share = 1) {
    const n = rewards.length;
    const y = rewards.map((v) => v - rewards[0]); // small numbers, however far from 0 rewards are
    const found = (x, method, until) => ({ value: rewards[0] + x, method, until });
    const [low, high] = [Math.min(...y), Math.max(...y)];
    if (0.5 ** n > level) return found(Infinity, "counted", 0);
    if (low === high) return found(high, "counted", 0.5 ** n);
    const mean = total(y) / n;
    const lawAt = (x) => signLaw(y.map((v) => v - x));
    const tail = (x) => lawAt(x).tail(n * (x - mean)) + 0.5 ** n;
    const { method } = lawAt(mean + (high - mean) / Math.PI);
    if (method === "counted") {
      const x = crossing(tail, level, mean, high);
      return found(x, method, tail(x));
    }
    // In c, with x = mean + deviation c/sqrt(n - c^2), the normal quantile of the tail is nearly c itself.
    const deviation = Math.sqrt(total(y.map((v) => (v - mean) ** 2)) / n);
    const z = normalQuantile(share * level);
    let [least, most, c, x] = [0, Math.sqrt(n), Math.min(z, 0.9 * Math.sqrt(n)), NaN];
    for (let step = 0; step < 40; step++) {
      x = mean + (deviation * c) / Math.sqrt(n - c * c);
      const reached = normalQuantile(Math.max(tail(x), 1e-6));
      if (Math.abs(reached - z) < 1e-4) break;
      if (reached < z) least = c;
      else most = c;
      c *= z / reached;
      if (!(least < c && c < most)) c = 0.5 * (least + most);
    }
    return found(Math.min(x, high), method, share * level);
  }

  // --- the bounds --------------------------------------------------------------------------------------------------------

  /** The upper quantile of the mean of n random signs: c of the sharp correction. */
  function meanSignQuantile(n, level) {
    const chances = coinChances(n);
    let heads = n;
    for (let tail = chances[n]; heads > 0 && tail <= level * (1 + 1e-12); tail += chances[heads]) heads--;
    return (2 * heads - n) / n;
  }

  const hoeffdingWidth = (n, alpha, sigma) => sigma * Math.sqrt((2 * Math.log(1 / alpha)) / n);
  const practicalCorrection = (n, alpha, sigma) => hoeffdingWidth(n, alpha, sigma) / Math.sqrt(n);

  /**
   * Upper bounds of the mean at error probability alpha, with sigma the assumed scale and delta the share of alpha that the
   * correction of the sharp bound has: Hoeffding's; the bootstrap alone, with the paper's correction, and with the sharp one;
   * and the sign-flip bound. `methods` says how quantiles were found.
   */
  function upperBounds(y, alpha, sigma, delta = 0.1) {
    const n = y.length;
    const { mean, method, quantile } = bootstrapLaw(y);
    const width = quantile(alpha * (1 - delta));
    const phi = hoeffdingWidth(n, alpha, sigma);
    const flipped = signFlip(y, alpha);
    return {
      mean,
      hoeffding: mean + phi,
      naive: mean + width,
      practical: mean + width + practicalCorrection(n, alpha, sigma),
      sharp: mean + Math.min(phi, width + meanSignQuantile(n, alpha * delta) * phi),
      sign_flip: flipped.value,
      methods: { bootstrap: method, sign_flip: flipped.method },
    };
  }

  Object.assign(play, { BOUNDS, bootstrapLaw, signFlip, upperBounds, practicalCorrection, normalQuantile });
})((globalThis.bandstrap ??= {}));

// The bounds of bandstrap.bounds in plain script: the same formulas and the same ways to compute them as the library's
// multipliers/ and bounds/, for random signs. tests/play compares the numbers. Levels and sizes are those of the page:
// up to 1,000 rewards.
"use strict";
(function define(play) {
  const LOG_2 = Math.log(2);

  // --- numbers ---------------------------------------------------------------------------------------------------------

  /** The e with 2^(e - 1) <= |x| < 2^e; 0 for 0. */
  function exponentOf(x) {
    x = Math.abs(x);
    if (x === 0) return 0;
    let e = Math.floor(Math.log2(x)) + 1;
    while (x >= 2 ** e) e++;
    while (x < 2 ** (e - 1)) e--;
    return e;
  }

  /** x 2^e, in two steps: 2^e alone may be beyond all numbers. */
  function ldexp(x, e) {
    const half = Math.trunc(e / 2);
    return x * 2 ** half * 2 ** (e - half);
  }

  const maxOf = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const minOf = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);

  /** Sum in NumPy's order, so that means and residuals have the same bits. */
  function sum(a, from = 0, to = a.length) {
    const n = to - from;
    if (n > 128) {
      const half = Math.floor(n / 16) * 8;
      return sum(a, from, from + half) + sum(a, from + half, to);
    }
    let total = 0;
    let i = from;
    if (n >= 8) {
      const r = a.slice(from, from + 8);
      for (i = from + 8; i + 8 <= to; i += 8) for (let j = 0; j < 8; j++) r[j] += a[i + j];
      total = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
    }
    for (; i < to; i++) total += a[i];
    return total;
  }

  /** Mean of the rewards: of equal ones just their value, and finite where their sum overflows. */
  function mean(y) {
    const low = minOf(y);
    const high = maxOf(y);
    if (low === high) return high;
    const plain = sum(y) / y.length;
    if (Number.isFinite(plain)) return plain;
    const e = exponentOf(maxOf(y.map(Math.abs)));
    return ldexp(sum(y.map((v) => ldexp(v, -e))) / y.length, e);
  }

  // Wichura's algorithm AS 241: coefficients near the middle, in the tails and far out, numerators and denominators.
  const NEAR_MIDDLE = [
    [2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125,
      1971.5909503065514427, 133.14166789178437745, 3.387132872796366608],
    [5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867, 5394.1960214247511077,
      687.1870074920579083, 42.313330701600911252, 1],
  ];
  const TAIL = [
    [7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
      3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734],
    [1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
      0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1],
  ];
  const FAR_TAIL = [
    [2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
      0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772],
    [2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
      0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1],
  ];
  const ratioAt = ([over, under], x) => {
    const at = (coefficients) => coefficients.reduce((total, c) => total * x + c, 0);
    return at(over) / at(under);
  };

  /** The z with P(N(0,1) > z) = tail. */
  function normalQuantile(tail) {
    const q = 0.5 - tail;
    if (Math.abs(q) <= 0.425) return q * ratioAt(NEAR_MIDDLE, 0.180625 - q * q);
    const r = Math.sqrt(-Math.log(Math.min(tail, 1 - tail)));
    const z = r <= 5 ? ratioAt(TAIL, r - 1.6) : ratioAt(FAR_TAIL, r - 5);
    return q > 0 ? z : -z;
  }

  /** P(Bin(n, 1/2) = j): free of rounding up to n = 50, beyond from the middle, free of underflow. */
  function coinChances(n) {
    const mass = new Float64Array(n + 1);
    const start = n <= 50 ? 0 : n >> 1;
    mass[start] = 1;
    for (let j = start; j < n; j++) mass[j + 1] = n <= 50 ? (mass[j] * (n - j)) / (j + 1) : mass[j] * ((n - j) / (j + 1));
    for (let j = 0; j < start; j++) mass[j] = mass[n - j];
    const total = n <= 50 ? 2 ** n : mass.reduce((a, b) => a + b, 0);
    return mass.map((m) => m / total);
  }

  /** Distinct values of sorted numbers, and how often each occurs. */
  function grouped(sorted) {
    const values = [];
    const counts = [];
    sorted.forEach((v, i) => {
      if (i === 0 || v !== sorted[i - 1]) {
        values.push(v);
        counts.push(0);
      }
      counts[counts.length - 1]++;
    });
    return { values, counts };
  }

  // --- the quantile of the multiplier bootstrap: q_a = inf {x : P_w(X > x) <= a}, X = sum w_i (y_i - ybar)/n -----------

  /** (y - ybar) 2^-exponent, whose largest is near 1: nothing overflows, however large or small rewards are. */
  function scaledResiduals(y) {
    const size = exponentOf(maxOf(y.map(Math.abs)));
    const reduced = y.map((v) => ldexp(v, -size));
    const middle = sum(reduced) / y.length;
    let residuals = y.every((v) => v === y[0]) ? y.map(() => 0) : reduced.map((v) => v - middle);
    const off = sum(residuals) / y.length;
    const largest = maxOf(residuals.map(Math.abs));
    if (Math.abs(off) > 2 ** -30 * largest) residuals = residuals.map((r) => r - off);
    const rest = exponentOf(maxOf(residuals.map(Math.abs)));
    return { residuals: residuals.map((r) => ldexp(r, -rest)), exponent: size + rest };
  }

  // What is counted rather than inverted: up to so many bits of sums.
  const MOST_BITS = 24;

  /** The quantile at a tail level and how it was found; `upward`, it is never too small. */
  function bootstrapQuantile(y, level, upward = false) {
    const { residuals, exponent } = scaledResiduals(y);
    const n = y.length;
    const low = minOf(y);
    const high = maxOf(y);
    if (low !== high && y.every((v) => v === low || v === high)) {
      const highs = y.filter((v) => v === high).length;
      const gap = ldexp(high, -exponent) - ldexp(low, -exponent);
      return { value: ldexp((gap * coinQuantile(n, highs, level) * 2) / n ** 2, exponent), method: "counted" };
    }
    const terms = residuals.map((r) => Math.abs(r) / n).sort((a, b) => b - a);
    const groups = grouped(terms.filter((a) => a > 0));
    const bits = groups.counts.reduce((total, c) => total + Math.log2(c + 1), 0);
    if (bits === 0) return { value: 0, method: "counted" };
    if (bits <= MOST_BITS) return { value: ldexp(countedQuantile(groups, level), exponent), method: "counted" };
    return { value: ldexp(invertedQuantile(terms, level, upward), exponent), method: "inverted" };
  }

  /** Rewards of two values: inf {v : P((n - k) J - k M > v) <= level}, J ~ Bin(k, 1/2), M ~ Bin(n - k, 1/2). */
  function coinQuantile(n, k, level) {
    const chances = coinChances(k);
    const below = [0];
    coinChances(n - k).forEach((p, m) => below.push(below[m] + p)); // P(M < m)
    const tail = (v) => {
      let mass = 0;
      for (let j = 0; j <= k; j++) {
        const bound = Math.ceil(((n - k) * j - v) / k);
        mass += chances[j] * below[Math.min(Math.max(bound, 0), n - k + 1)];
      }
      return mass;
    };
    let low = -k * (n - k) - 1;
    let high = k * (n - k);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (tail(middle) > level) low = middle;
      else high = middle;
    }
    return high;
  }

  /** All values of sum +-a_i over some groups, ascending, and their probabilities. */
  function signLaw(groups) {
    if (groups.every(([, count]) => count === 1)) {
      const sums = subsetSums(groups.map(([term]) => 2 * term));
      const least = groups.reduce((total, [term]) => total - term, 0);
      return { values: sums.map((v) => least + v), chances: new Float64Array(sums.length).fill(1 / sums.length) };
    }
    let law = [[0, 1]];
    for (const [term, count] of groups) {
      const chances = coinChances(count);
      law = law.flatMap(([v, p]) => Array.from(chances, (chance, heads) => [v + term * (2 * heads - count), p * chance]));
    }
    law.sort((a, b) => a[0] - b[0]);
    return { values: Float64Array.from(law, (entry) => entry[0]), chances: Float64Array.from(law, (entry) => entry[1]) };
  }

  /** Exactly, half of the terms against the other half: 24 terms need two lists of 2^12 sums. */
  function countedQuantile({ values, counts }, level) {
    const halves = [[], []];
    const sizes = [0, 0];
    values
      .map((value, i) => [value, counts[i]])
      .sort((a, b) => b[1] - a[1] || b[0] - a[0])
      .forEach((group) => {
        const smaller = sizes[0] <= sizes[1] ? 0 : 1;
        halves[smaller].push(group);
        sizes[smaller] += Math.log2(group[1] + 1);
      });
    const [left, right] = halves.map(signLaw);
    const beyond = new Float64Array(right.values.length + 1); // P(R is value number j or a later one)
    for (let j = right.values.length - 1; j >= 0; j--) beyond[j] = beyond[j + 1] + right.chances[j];
    const most = left.values.at(-1) + right.values.at(-1);
    const tail = (x) => {
      let mass = 0;
      let j = right.values.length;
      for (let i = 0; i < left.values.length; i++) {
        while (j > 0 && left.values[i] + right.values[j - 1] > x) j--;
        mass += left.chances[i] * beyond[j];
      }
      return mass;
    };
    let low = -1.001 * most;
    let high = most;
    while (high - low > 1e-13 * most) {
      const middle = 0.5 * (low + high);
      if (tail(middle) > level) low = middle;
      else high = middle;
    }
    let best = low; // the largest sum up to the end of the bracket
    let j = right.values.length;
    for (let i = 0; i < left.values.length; i++) {
      while (j > 0 && left.values[i] + right.values[j - 1] > high) j--;
      if (j > 0) best = Math.max(best, left.values[i] + right.values[j - 1]);
    }
    return best;
  }

  /** K(s), K'(s), K''(s) of sum +-a_i: K = sum log cosh(s a), s >= 0. */
  function cumulants(a, s) {
    let k0 = 0;
    let k1 = 0;
    let k2 = 0;
    for (const term of a) {
      const e = Math.exp(-2 * s * term);
      k0 += s * term + Math.log1p(e) - LOG_2;
      k1 += (term * (1 - e)) / (1 + e);
      k2 += (term * term * 4 * e) / ((1 + e) * (1 + e));
    }
    return [k0, k1, k2];
  }

  /** Barndorff-Nielsen's r* = w + log(u/w)/w at s >= 0. */
  function signedRoot(s, k0, k1, k2) {
    const w = Math.sqrt(Math.max(2 * (s * k1 - k0), 0));
    if (w < 5e-3) return w;
    const u = s * Math.sqrt(k2);
    return u <= 0 ? -Infinity : w + Math.log(u / w) / w;
  }

  /** About the s with r*(s) = z, and K'(s); NaN where r* never gets there. */
  function roughSaddle(a, z, scale) {
    const near = (r) => Math.abs(r - z) <= 0.01 * (1 + z);
    if (z <= 0) return [0, 0];
    const limit = 350 / a[0];
    let low = 0;
    let s = Math.max(z, 0.1) / scale;
    if (s >= limit) s = 0.5 * limit;
    let before = -Infinity;
    let k, r;
    for (;;) {
      k = cumulants(a, s);
      r = signedRoot(s, ...k);
      if (r >= z || near(r)) break;
      if (r < before || s >= limit * (1 - 1e-9)) return [NaN, NaN];
      before = r;
      low = s;
      s = Math.min(1.3 * s, limit);
    }
    let high = s;
    for (let i = 0; i < 80 && !near(r); i++) {
      if (r >= z) high = s;
      else low = s;
      const w = Math.sqrt(Math.max(2 * (s * k[1] - k[0]), 1e-300));
      const slope = (s * k[2]) / w;
      const step = slope > 0 ? s - (r - z) / slope : low;
      s = low < step && step < high ? step : 0.5 * (low + high);
      if (high - low <= 1e-14 * high) break;
      k = cumulants(a, s);
      r = signedRoot(s, ...k);
    }
    return [s, k[1]];
  }

  // P(W < 0) for a normal W whose mean is 3.25 of its standard deviations.
  const SHIFT = 3.25;
  const MISSED = 0.0005770250423907673;
  // Terms whose phases are turned on from node to node, and whose product says whether a far node counts.
  const N_TURNED = 32;

  /** Nodes of the trapezoid rule that count, three numbers each, and a bound on the moduli of the others. */
  function fillNodes(a, c, h, deviation, most) {
    const n = a.length;
    const size = Math.max(n, N_TURNED);
    const [chance, speed] = [new Float64Array(n), new Float64Array(n)];
    const [cosine, stepCosine] = [new Float64Array(size).fill(1), new Float64Array(size).fill(1)];
    const [sine, stepSine, weight] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
    for (let i = 0; i < n; i++) {
      speed[i] = 2 * a[i];
      chance[i] = c * a[i] > 0 ? 1 / (1 + Math.exp(-c * speed[i])) : 0.5;
      stepCosine[i] = Math.cos(h * speed[i]);
      stepSine[i] = Math.sin(h * speed[i]);
      weight[i] = 2 * chance[i] * (1 - chance[i]);
    }
    const nodes = [];
    let bound = 0;
    let turned = size; // all terms, as long as nodes count one after the other
    for (let j = 1; j <= most; j++) {
      const t = h * j;
      const tiny = (0.5e-6 * t) / c;
      for (let i = 0; i < turned; i++) {
        const turnedCosine = cosine[i] * stepCosine[i] - sine[i] * stepSine[i];
        sine[i] = sine[i] * stepCosine[i] + cosine[i] * stepSine[i];
        cosine[i] = turnedCosine;
      }
      if (turned === N_TURNED) {
        let square = 1; // |1 - p + p exp(i v)|^2 = 1 - 2 p (1 - p) (1 - cos v)
        for (let i = 0; i < N_TURNED; i++) square *= 1 - weight[i] * (1 - cosine[i]);
        const modulus = Math.sqrt(Math.max(square, 0));
        if (modulus < tiny) {
          bound += (2 * modulus) / t;
          continue;
        }
      }
      let real = 1;
      let imaginary = 0;
      for (let i = 0; i < n; i++) {
        const x = 1 - chance[i] + chance[i] * (i < turned ? cosine[i] : Math.cos(t * speed[i]));
        const y = chance[i] * (i < turned ? sine[i] : Math.sin(t * speed[i]));
        const before = real;
        real = before * x - imaginary * y;
        imaginary = before * y + imaginary * x;
        if (real * real + imaginary * imaginary < tiny * tiny) break;
      }
      const modulus = Math.sqrt(real * real + imaginary * imaginary);
      if (modulus < tiny) {
        bound += (2 * modulus) / t;
        turned = N_TURNED;
        continue;
      }
      const damping = (2 * Math.exp(-0.5 * deviation * deviation * t * t)) / (c * c + t * t);
      const angle = c * deviation * deviation * t;
      const [x, y] = [damping * Math.cos(angle), damping * Math.sin(angle)];
      [real, imaginary] = [real * x - imaginary * y, real * y + imaginary * x];
      nodes.push(t, real * c + imaginary * t, imaginary * c - real * t);
    }
    return { nodes, bound };
  }

  /**
   * Quantile of sum +-a_i for more terms than can be counted, `a` descending: the transform of the sum, blurred by a normal W
   * of a thousandth of the quantile, is inverted. Within half a per cent at levels up to 0.2, whatever the sample.
   */
  function invertedQuantile(a, level, upward) {
    const z = normalQuantile(level);
    const scale = Math.sqrt(a.reduce((total, term) => total + term * term, 0));
    const most = a.reduce((total, term) => total + term, 0);
    if (!(scale > 0) || (upward && z < 0)) return 0;
    if (Math.log(level) < -LOG_2 * a.filter((term) => term > 0).length) return most;
    let [s, guess] = roughSaddle(a, z, scale);
    if (Number.isNaN(s) || guess >= most) {
      s = z / scale;
      guess = Math.min(z * scale, most);
    }
    const c = Math.max(s, 1.5 / scale);
    const [k0, , k2] = cumulants(a, c);
    const period = Math.max((Math.log(1 / level) - Math.log(1e-5)) / c, 8 * Math.sqrt(k2));
    const h = (2 * Math.PI) / period;
    const deviation = 0.001 * Math.max(guess, 0.5 * scale);
    const nMost = Math.trunc(3.5 / (deviation * h)) + 1;
    const { nodes, bound } = fillNodes(a, c, h, deviation, nMost);
    let target = Math.log(level);
    let error = 0;
    if (upward) {
      target += Math.log1p(-MISSED - 1e-6);
      const end = h * nMost * deviation;
      error = bound + ((2 / h) * Math.exp(-0.5 * end * end)) / (end * end);
    }
    const factor = k0 + 0.5 * c * c * deviation * deviation + Math.log(h / (2 * Math.PI)) - target;
    let reach = 0.05 * Math.max(guess, scale);
    // Newton's steps from the guess; where they leave what is known to hold the quantile, false position (Illinois).
    let [low, lowGap, high, highGap, side] = [-Infinity, NaN, Infinity, NaN, 0];
    let x = guess;
    for (let step = 0; step < 300; step++) {
      let total = 0;
      let slope = 0;
      for (let k = 0; k < nodes.length; k += 3) {
        const [t, u, v] = [nodes[k], nodes[k + 1], nodes[k + 2]];
        const cosine = Math.cos(t * (x + most));
        const sine = Math.sin(t * (x + most));
        total += u * cosine + v * sine;
        slope += t * (v * cosine - u * sine);
      }
      const tail = 1 / c + total + error;
      const gap = tail > 0 ? Math.log(tail) + factor - c * x : -Infinity;
      if (Math.abs(gap) <= 1e-7) break;
      if (gap > 0) [low, lowGap, highGap, side] = [x, gap, side === 1 ? 0.5 * highGap : highGap, 1];
      else [lowGap, high, highGap, side] = [side === -1 ? 0.5 * lowGap : lowGap, x, gap, -1];
      const fall = tail > 0 ? slope / tail - c : 0;
      let newton = fall < 0 && gap > -Infinity ? x - gap / fall : NaN;
      newton = Math.min(Math.max(newton, x - reach), x + reach);
      if (step < 10 && low < newton && newton < high) x = newton;
      else if (low === -Infinity || high === Infinity) {
        x = gap > 0 ? x + reach : x - reach;
        reach *= 2;
      } else if (high - low <= 1e-6 * deviation) {
        x = high;
        break;
      } else {
        const chord = highGap > -Infinity ? (low * highGap - high * lowGap) / (highGap - lowGap) : NaN;
        x = low < chord && chord < high ? chord : 0.5 * (low + high);
      }
    }
    return Math.min(upward ? x + SHIFT * deviation : x, most);
  }

  // --- the quantile of the mean of a random subset, the empty one counting as infinity ---------------------------------

  /** inf {x : P(subset mean > x) <= level} for ascending rewards near 1, or a little more, and how it was found. */
  function subsetQuantile(y, level) {
    const n = y.length;
    const top = y[n - 1];
    if (0.5 ** n > level) return { value: Infinity, method: "counted" };
    if (y[0] === top || 0.5 ** (n - 1) > level) return { value: top, method: "counted" };
    const counts = n <= 24 || (n <= 36 && level * 2 ** n < 4096);
    const lattice = latticeOf(y);
    if (lattice) {
      const q = 2 * n * n; // no two means of up to n whole numbers lie within 1/q
      const groups = grouped(lattice.m);
      const cost = groups.counts.reduce((total, c) => total * (c + 1), 1) / (maxOf(groups.counts) + 1);
      let t = NaN;
      if (lattice.m[n - 1] * q * n < 2 ** 52) {
        if (cost <= (counts ? 2 ** (n >> 1) : 20000)) t = groupedStep(groups, n, level, cost, q);
        else if (counts) t = countedStep(lattice.m.map((m) => m * q), Math.floor(level * 2 ** n) - 1);
      }
      if (!Number.isNaN(t)) {
        let fraction = t / q;
        for (let under = 1; under <= n; under++) {
          const over = Math.floor((t * under) / q);
          if (over * q > (t - 1) * under) {
            fraction = over / under;
            break;
          }
        }
        return { value: Math.min(y[0] + lattice.unit * fraction, top), method: "counted" };
      }
    }
    if (counts) {
      const unit = (top - y[0]) * 2 ** -45; // rewards on no lattice are rounded up to 45 bits
      const scaled = y.map((v) => 4 * Math.ceil((v - y[0]) / unit));
      const t = countedStep(scaled, Math.floor(level * 2 ** n) - 1);
      return { value: Math.min(y[0] + (unit * t) / 4, top), method: "counted" };
    }
    return { value: smoothedSubsetQuantile(y, level), method: "inverted" };
  }

  /** The whole numbers m and the unit with y = y[0] + unit m, or null where rewards are on no lattice. */
  function latticeOf(y) {
    const spread = y.at(-1) - y[0];
    let unit = spread;
    for (let i = 1; i < y.length; i++) {
      if (y[i] === y[i - 1]) continue;
      let large = Math.max(unit, y[i] - y[0]); // Euclid; remainders that are mere rounding count as 0
      let small = Math.min(unit, y[i] - y[0]);
      const least = 2 ** -30 * large;
      while (small > least) [large, small] = [small, Math.abs(large - small * Math.floor(large / small + 0.5))];
      unit = large;
      if (unit < 2 ** -20 * spread) return null;
    }
    unit = spread / Math.floor(spread / unit + 0.5);
    const m = y.map((v) => Math.floor((v - y[0]) / unit + 0.5));
    const largest = Math.max(Math.abs(y[0]), Math.abs(y.at(-1)));
    let noise = maxOf(y.map((v, i) => Math.abs(v - y[0] - unit * m[i])));
    if (noise > 0) noise += 5e-16 * largest;
    return noise <= 2 ** -47 * largest ? { m, unit } : null;
  }

  /** The smallest whole t >= 0 with isLow(t), which holds at `high`. */
  function smallestWhole(high, isLow) {
    let low = 0;
    let t = 0;
    for (;;) {
      if (isLow(t)) high = t;
      else low = t;
      if (!(high - low > 1)) return high;
      t = Math.floor(0.5 * (low + high));
    }
  }

  /** All subset sums, ascending. */
  function subsetSums(v) {
    let sums = new Float64Array(1);
    for (const shift of v) {
      const size = sums.length;
      const merged = new Float64Array(2 * size);
      for (let j = 0, left = 0, right = 0; j < 2 * size; j++) {
        const fromLeft = right >= size || (left < size && sums[left] <= sums[right] + shift);
        merged[j] = fromLeft ? sums[left++] : sums[right++] + shift;
      }
      sums = merged;
    }
    return sums;
  }

  /** The smallest whole t such that at most `allowed` subsets of whole numbers have a mean above t. */
  function countedStep(scaled, allowed) {
    const half = scaled.length >> 1;
    return smallestWhole(maxOf(scaled), (t) => {
      const first = subsetSums(scaled.slice(0, half).map((v) => v - t));
      const second = subsetSums(scaled.slice(half).map((v) => v - t));
      let count = 0;
      let place = second.length;
      for (const v of first) {
        while (place > 0 && v + second[place - 1] > 0) place--;
        count += second.length - place;
      }
      return count <= allowed;
    });
  }

  /** The same by the number of times each value is in, where there are few values; in steps of 1/q. */
  function groupedStep({ values, counts }, n, level, cost, q) {
    const last = counts.indexOf(maxOf(counts)); // whose numbers of times need not be tried one by one
    const masses = counts.map((count) => coinChances(count));
    const beyond = new Float64Array(counts[last] + 2);
    for (let j = counts[last]; j >= 0; j--) beyond[j] = beyond[j + 1] + masses[last][j];
    const empty = 0.5 ** n;
    const allowed = n <= 50 ? (Math.floor(level * 2 ** n) - 1) * empty : (level - empty) * (1 - (4 * n + cost) * 2 ** -52);
    const tail = (t, v, total, product) => {
      if (v === last) return tail(t, v + 1, total, product);
      if (v < values.length) {
        let mass = 0;
        for (let j = 0; j <= counts[v]; j++) mass += tail(t, v + 1, total + j * (values[v] * q - t), product * masses[v][j]);
        return mass;
      }
      const step = values[last] * q - t;
      if (step > 0) {
        const least = total > 0 ? 0 : Math.min(Math.floor(-total / step) + 1, counts[last] + 1);
        return product * beyond[least];
      }
      if (!(total > 0)) return 0;
      const most = step === 0 ? counts[last] : Math.min(Math.ceil(total / -step) - 1, counts[last]);
      return product * beyond[counts[last] - most]; // coins are the same from both ends
    };
    return smallestWhole(values.at(-1) * q, (t) => tail(t, 0, 0, 1) <= allowed);
  }

  /** Moved and scaled to [-1, 1], and inverted. */
  function smoothedSubsetQuantile(y, level) {
    const n = y.length;
    const centre = y[n >> 1];
    const scale = Math.max(y[n - 1] - centre, centre - y[0]);
    const moved = y.map((v) => (v - centre) / scale);
    const average = moved.reduce((total, v) => total + v / n, 0);
    const z = normalQuantile(level);
    let start;
    if (z > 0.1) start = saddlepointIndex(moved, average, z);
    else start = average + (z * Math.sqrt(moved.reduce((total, v) => total + (v - average) ** 2, 0))) / n;
    const x = invertedSubsetQuantile(grouped(moved), level, start);
    return Math.min(centre + (scale * x + 1e-15 * (scale + Math.abs(centre))), y[n - 1]); // what moving and scaling lost
  }

  /** An x at which the saddlepoint's r* for the tail of the subset mean is about z: where the inversion begins. */
  function saddlepointIndex(y, average, z) {
    const n = y.length;
    let low = average;
    let high = maxOf(y);
    let square = 0;
    for (const v of y) square += (v - average) * (v - average);
    const aim = Math.max(z, 1e-3) + 0.5e-4;
    let x = average + aim * Math.sqrt(square / n / Math.max(n - z * z, 1));
    if (x >= high) x = 0.5 * (low + high);
    let s = (x - average) / (square / n + (x - average) * (x - average));
    for (let step = 0; step < 150; step++) {
      let [sizes, logs, product, target, k1, k2, signs, bends] = [0, 0, 1, 0, 0, 0, 0, 0];
      for (const value of y) {
        const u = value - x;
        const v = Math.abs(u);
        const e = Math.exp(-2 * s * v);
        const d = 1 / (1 + e);
        const t = (1 - e) * d;
        const q = 4 * e * d * d;
        target -= u;
        sizes += v;
        k1 += v * t;
        k2 += v * v * q;
        signs += u < 0 ? -t : t;
        bends += u * q;
        product *= 1 + e;
        if (product > 2 ** 500) {
          logs += Math.log(product);
          product = 1;
        }
      }
      const gap = target - k1;
      const isSaddlepoint = Math.abs(gap) <= 1e-5 * target || k2 <= 1e-12 * square;
      let move = 0;
      if (isSaddlepoint || (step < 6 && Math.abs(gap) <= 0.05 * target)) {
        let k0 = s * sizes + logs + Math.log(product) - n * LOG_2;
        if (k2 > 0) k0 -= (0.5 * gap * gap) / k2;
        const r = signedRoot(s, k0, target, k2);
        if (isSaddlepoint) {
          if (Math.abs(r - aim) <= 0.4e-4) return x;
          if (r < aim) low = x;
          else high = x;
        }
        const w = Math.sqrt(Math.max(2 * (s * target - k0), 0));
        move = ((aim - r) * w) / (s * (n + signs));
        if (!(low < x + move && x + move < high)) move = 0.5 * (low + high) - x;
      }
      if (k2 > 0) s = Math.max(s + (gap + (n + signs + s * bends) * move) / k2, 0.2 * s);
      x += move;
    }
    return high;
  }

  /** K(c), K'(c), K''(c) of the sum of the values - x that are in. */
  function tilt(values, counts, x, c) {
    let k0 = 0;
    let k1 = 0;
    let k2 = 0;
    for (let i = 0; i < values.length; i++) {
      const v = values[i] - x;
      const e = Math.exp(-Math.abs(c * v));
      const p = v > 0 ? 1 / (1 + e) : e / (1 + e);
      k0 += counts[i] * (Math.max(c * v, 0) + Math.log(0.5 + 0.5 * e));
      k1 += counts[i] * v * p;
      k2 += counts[i] * v * v * p * (1 - p);
    }
    return [k0, k1, k2];
  }

  /** About the c that makes M(c)/c smallest. */
  function bestTilt(values, counts, x, start) {
    let low = 0;
    let high = Infinity;
    let c = start;
    for (let i = 0; i < 60; i++) {
      const [, k1, k2] = tilt(values, counts, x, c);
      const gap = k1 - 1 / c;
      if (gap < 0) low = c;
      else high = c;
      const step = gap / (k2 + 1 / (c * c));
      if (Math.abs(step) <= 0.02 * c) break;
      c -= step;
      if (!(low < c && c < high)) c = high === Infinity ? 2 * low : 0.5 * (low + high);
    }
    return c;
  }

  /**
   * An x with P(subset mean >= x) <= level that is close to the smallest such: the tail of the sum of values - x, moved up by a
   * narrow normal W, is computed from its transform with every error on the safe side. That widens the bound by about 0.0035
   * standard errors.
   */
  function invertedSubsetQuantile(groups, level, start) {
    const size = groups.values.length;
    let low = groups.values[0];
    let high = groups.values[size - 1];
    if (!(low < start && start < high)) start = 0.5 * (low + high);
    let stride = Math.max(Math.trunc(0.618 * size), 1); // an order whose first values are spread over all of them
    const gcd = (a, b) => (b === 0 ? a : gcd(b, a % b));
    while (gcd(stride, size) !== 1) stride++;
    const place = (i) => (i * stride + (size >> 1)) % size;
    const values = groups.values.map((_, i) => groups.values[place(i)]);
    const counts = groups.counts.map((_, i) => groups.counts[place(i)]);
    const n = counts.reduce((total, count) => total + count, 0);
    const c = bestTilt(values, counts, start, 2 / (high - low) / Math.sqrt(n));
    const scale = Math.sqrt(tilt(values, counts, start, c)[2]);
    const h = (2 * Math.PI * c) / (Math.log(1 / level) - Math.log(1e-5));
    const deviation = 0.001 * scale;
    const shift = SHIFT * deviation;
    const last = Math.trunc(4.5 / (deviation * h)) + 1;
    const near = Math.min(Math.trunc(7 / (scale * h)) + 2, last);
    const end = h * last * deviation;
    const truncated = ((2 / h) * Math.exp(-0.5 * end * end)) / (end * end);
    const lift = c * shift + 0.5 * c * c * deviation * deviation;
    const target = Math.log(level * (1 - MISSED) * (1 - 1e-9));
    const [chance, gaps, stepCosine, stepSine, cosines, sines] = Array.from({ length: 6 }, () => new Float64Array(size));
    // sum 2 Re[(M(z)/M(c))/z] over nodes, and a bound on those whose product is tiny after some of the values.
    const summedNodes = (first, final, followed) => {
      let total = 0;
      for (let i = 0; i < followed; i++) {
        cosines[i] = Math.cos(gaps[i] * h * first);
        sines[i] = Math.sin(gaps[i] * h * first);
      }
      for (let j = first; j <= final; j++) {
        const t = h * j;
        const damping = Math.exp(-0.5 * deviation * deviation * t * t);
        const angle = t * (shift + c * deviation * deviation);
        let real = damping * Math.cos(angle);
        let imaginary = damping * Math.sin(angle);
        let i = 0;
        for (; i < size && (i < followed || real * real + imaginary * imaginary > 1e-12); i++) {
          const cosine = i < followed ? cosines[i] : Math.cos(gaps[i] * t);
          const sine = i < followed ? sines[i] : Math.sin(gaps[i] * t);
          let x = 1 - chance[i] + chance[i] * cosine;
          let y = chance[i] * sine;
          for (let count = counts[i]; count > 0; count >>= 1) { // times (x + i y)^count, by squaring
            const before = real;
            const factor = x;
            if (count & 1) {
              real = before * x - imaginary * y;
              imaginary = before * y + imaginary * x;
            }
            x = factor * factor - y * y;
            y = 2 * factor * y;
          }
          if (i < followed) {
            cosines[i] = cosine * stepCosine[i] - sine * stepSine[i];
            sines[i] = cosine * stepSine[i] + sine * stepCosine[i];
          }
        }
        const square = c * c + t * t;
        if (i < size) total += 2 * Math.sqrt((real * real + imaginary * imaginary) / square);
        else total += (2 * (real * c + imaginary * t)) / square;
      }
      return total;
    };
    let best = high; // no mean exceeds the largest reward
    let far = 0;
    let isFarKnown = false;
    let isLumpy = false;
    let x = start;
    let [lastX, lastGap] = [NaN, NaN];
    for (let step = 0; step < 120; step++) {
      for (let i = 0; i < size; i++) {
        gaps[i] = values[i] - x;
        const e = Math.exp(-Math.abs(c * gaps[i]));
        chance[i] = gaps[i] > 0 ? 1 / (1 + e) : e / (1 + e);
        stepCosine[i] = Math.cos(gaps[i] * h);
        stepSine[i] = Math.sin(gaps[i] * h);
      }
      const mass = 1 / c + summedNodes(1, near, size) + truncated;
      const factor = tilt(values, counts, x, c)[0] + lift + Math.log(h / (2 * Math.PI)) - target;
      let gap = Math.log(Math.max(mass + far, 1e-3 / c)) + factor;
      if (isLumpy || (-3e-4 < gap && gap <= 0) || (!isFarKnown && Math.abs(gap) < 0.03)) {
        far = summedNodes(near + 1, last, Math.min(size, 24));
        if (!isFarKnown) {
          isFarKnown = true;
          isLumpy = Math.abs(far) > 0.01 * mass;
          low = groups.values[0];
          high = best;
        }
        gap = Math.log(Math.max(mass + far, 1e-3 / c)) + factor;
        if (gap <= 0) {
          best = Math.min(best, x);
          if (gap > -3e-4) break;
        }
      }
      if (gap > 0) low = x;
      else high = x;
      let slope = 0;
      for (let i = 0; i < size; i++) slope -= c * counts[i] * chance[i];
      if (Math.abs(gap - lastGap) > 1e-9 && (gap - lastGap) * (x - lastX) < 0) slope = (gap - lastGap) / (x - lastX);
      [lastX, lastGap] = [x, gap];
      x -= (gap + 0.5 * 3e-4) / slope;
      if (high - low < (0.01 * deviation) / n) {
        if (isLumpy) break;
        isLumpy = true;
        low = groups.values[0];
        high = best;
      }
      if (!(low < x && x < high) || step > 20) x = 0.5 * (low + high);
    }
    return best;
  }

  // --- the bounds ------------------------------------------------------------------------------------------------------

  /** The exact upper quantile of the mean of n random signs: c of the sharp correction. */
  function meanSignQuantile(n, level) {
    level *= 1 - tailRounding(n);
    let k = n;
    let mass = 0.5 ** n;
    let tail = 0;
    while (k > 0 && tail + mass <= level) {
      tail += mass;
      mass = (mass * k) / (n - k + 1);
      k--;
    }
    return (2 * k - n) / n;
  }

  const tailRounding = (n) => (n <= 50 ? 0 : 3e-15 * n);
  const hoeffdingWidth = (n, alpha, sigma) => (sigma * Math.sqrt(2 * Math.log(1 / alpha))) / Math.sqrt(n);
  const practicalCorrection = (n, alpha, sigma) => hoeffdingWidth(n, alpha, sigma) / Math.sqrt(n);

  /**
   * Upper bounds of the mean at error probability alpha, with sigma the assumed scale and delta the share of alpha that the
   * correction of the sharp bound has: Hoeffding's; the bootstrap alone, with the paper's correction, and with the sharp one;
   * and the sign-flip bound. `methods` says which quantiles were counted and which inverted.
   */
  function upperBounds(y, alpha, sigma, delta = 0.1) {
    const n = y.length;
    const centre = mean(y);
    const largest = maxOf(y.map(Math.abs));
    const level = alpha * (1 - delta);
    const phi = hoeffdingWidth(n, alpha, sigma);
    const quantile = bootstrapQuantile(y, level);
    // Counted quantiles are not too small; inverted ones are asked for once more, with errors on the safe side.
    const proved =
      quantile.method === "counted" && n <= 50 ? quantile : bootstrapQuantile(y, level * (1 - tailRounding(n)), true);
    const sharp = Math.min(phi, proved.value + meanSignQuantile(n, alpha * delta) * phi) + (n + 8) * 2 ** -52 * largest;
    const e = exponentOf(largest);
    const flipped = subsetQuantile(y.map((v) => ldexp(v, -e)).sort((a, b) => a - b), alpha);
    return {
      mean: centre,
      hoeffding: centre + phi,
      naive: centre + quantile.value,
      practical: centre + (quantile.value + practicalCorrection(n, alpha, sigma)),
      sharp: centre + sharp,
      sign_flip: ldexp(flipped.value, e),
      methods: { bootstrap: quantile.method, sign_flip: flipped.method },
    };
  }

  Object.assign(play, { upperBounds, bootstrapQuantile, practicalCorrection, normalQuantile, mean });
  (play.sources ??= []).push(define);
})((globalThis.bandstrap ??= {}));

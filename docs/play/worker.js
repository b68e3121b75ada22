// What takes long, in a thread of its own: bounds of growing samples, misses over redraws, many games. The thread is started
// from the sources of the scripts that are loaded already, because a page opened from a file may not read other files.
"use strict";
(function define(play) {
  const BOUNDS = ["hoeffding", "naive", "practical", "sharp", "sign_flip"];

  /** Bounds of the first n rewards, for each n in turn. */
  function* boundsOf({ rewards, sizes, alpha, sigma }) {
    for (const n of sizes) yield { n, bounds: play.upperBounds(rewards.slice(0, n), alpha, sigma) };
  }

  /** How often bounds are below the truth, over redraws of a sample. */
  function* missesOf({ law, n, alpha, sigma, seed, redraws }) {
    const { draw, mean } = play.LAWS[law];
    const stream = play.makeRandom(seed, "redraws");
    const misses = Object.fromEntries(BOUNDS.map((name) => [name, 0]));
    for (let drawn = 1; drawn <= redraws; drawn++) {
      const rewards = Array.from({ length: n }, () => draw(stream));
      const found = play.upperBounds(rewards, alpha, sigma);
      // A tie is no miss, and sums of rewards that tie with the truth may be a rounding below it.
      for (const name of BOUNDS) if (mean > found[name] + 1e-12 * (1 + Math.abs(mean))) misses[name]++;
      yield { drawn, misses: { ...misses } };
    }
  }

  /** Average regret of the players after each round, over games with seeds of their own. */
  function* gamesOf({ world, names, sigma, seed, rounds, games }) {
    const sums = names.map(() => new Float64Array(rounds + 1));
    const squares = names.map(() => 0);
    for (let played = 1; played <= games; played++) {
      const match = play.makeMatch(world, names, sigma, `${seed}, game ${played}`);
      while (match.round < rounds) match.step();
      match.players.forEach(({ regret }, i) => {
        regret.forEach((value, t) => (sums[i][t] += value));
        squares[i] += regret[rounds] ** 2;
      });
      const summary = names.map((_, i) => {
        const mean = sums[i][rounds] / played;
        const variance = played > 1 ? Math.max(squares[i] / played - mean * mean, 0) / (played - 1) : NaN;
        return { mean, error: Math.sqrt(variance), curve: Array.from(sums[i], (total) => total / played) };
      });
      yield { played, summary };
    }
  }

  const KINDS = { bounds: boundsOf, misses: missesOf, games: gamesOf }; // the most urgent first

  /** Does jobs a few milliseconds at a time; a new one of a kind replaces the old. `tell` hears what they found. */
  function makeWorkshop(tell) {
    const jobs = {};
    let isBusy = false;
    function work() {
      const end = Date.now() + 25;
      const unsaid = {};
      let kind;
      while (Date.now() < end && (kind = Object.keys(KINDS).find((each) => jobs[each]))) {
        const { steps, key } = jobs[kind];
        const { value, done } = steps.next();
        if (done) delete jobs[kind];
        else if (kind === "bounds") tell({ kind, key, value });
        else unsaid[kind] = { kind, key, value }; // the last says all
      }
      for (const said of Object.values(unsaid)) tell(said);
      isBusy = Object.keys(jobs).length > 0;
      if (isBusy) setTimeout(work, 0);
    }
    return ({ kind, key, told }) => {
      if (told) jobs[kind] = { key, steps: KINDS[kind](told) };
      else delete jobs[kind];
      if (!isBusy) setTimeout(work, 0);
      isBusy = true;
    };
  }

  /** A function that takes jobs; in the page itself, a little at a time, where threads are not to be had. */
  function startWorkshop(tell) {
    const source = `"use strict"; const bandstrap = (globalThis.bandstrap = {});
      ${play.sources.map((each) => `(${each})(bandstrap);`).join("\n")}
      onmessage = ({ data }) => (globalThis.take ??= bandstrap.makeWorkshop(postMessage))(data);`;
    try {
      const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      worker.onmessage = ({ data }) => tell(data);
      return (job) => worker.postMessage(job);
    } catch {
      return makeWorkshop(tell);
    }
  }

  Object.assign(play, { makeWorkshop, startWorkshop, BOUNDS });
  (play.sources ??= []).push(define);
})((globalThis.bandstrap ??= {}));

// The page: settings, plots and tables. All numbers come from bounds.js and policies.js, most of them by way of worker.js.
"use strict";
(function (play) {
  const { LAWS, WORLDS, POLICIES, BOUNDS } = play;
  const at = (id) => document.getElementById(id);
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
  const MOST = 500;
  const MOST_OWN = 1e6;
  const REDRAWS = 1000;
  const GAMES = 100;
  // Sample sizes of the slider and of the curves: all up to 40, fewer beyond.
  const SIZES = [];
  for (let n = 1; n <= MOST; n += n < 40 ? 1 : n < 100 ? 2 : 10) SIZES.push(n);

  // What each bound assumes, promises (as a multiple of alpha; 0 for nothing), and whether it holds for a law.
  const hoeffdingHolds = (law, sigma) =>
    law.safe === Infinity ? [false, "the tails are too heavy for any σ"]
      : sigma >= law.safe - 1e-12 ? [true, `σ is at least ${short(law.safe)}`]
        : [false, `σ is below ${short(law.safe)}`];
  const symmetryHolds = (law) => (law.symmetric ? [true, "the law is symmetric"] : [false, "the law is skewed"]);
  const SAYS = {
    hoeffding: {
      label: "Hoeffding", dash: "", promise: 1, holds: hoeffdingHolds,
      assumes: "Assumes sub-Gaussian rewards of scale σ, and takes nothing from the data but the mean.",
    },
    naive: {
      label: "Bootstrap alone", dash: "2 3", promise: 0, holds: () => [false, "nothing is proved at any sample size"],
      assumes: "Assumes a sample large enough to show how much rewards vary.",
    },
    practical: {
      label: "Bootstrap, paper’s correction", dash: "8 3", promise: 0, holds: () => [false, "nothing is proved, but see the misses"],
      assumes: "Adds σ√(2 log(1/α))/n, as the paper’s experiments do; for large samples.",
    },
    sharp: {
      label: "Bootstrap, sharp correction", dash: "10 3 2 3", promise: 2,
      holds: (law, sigma) => {
        const [flat, why] = hoeffdingHolds(law, sigma);
        const [even, reason] = symmetryHolds(law);
        return [flat && even, even ? why : reason];
      },
      assumes: "Assumes rewards symmetric about their mean, and Hoeffding’s scale σ; never wider than Hoeffding’s.",
    },
    sign_flip: {
      label: "Sign flips", dash: "5 5", promise: 1, holds: symmetryHolds,
      assumes: "Assumes rewards symmetric about their mean, and nothing else: no scale, no range. Infinite while 2⁻ⁿ > α.",
    },
  };

  const short = (x) => (Number.isFinite(x) ? String(+x.toPrecision(3)).replace("-", "−") : x > 0 ? "∞" : "–");
  const percent = (x) => `${(100 * x).toFixed(1)}\u00a0%`;

  // --- settings, and the address that holds them -------------------------------------------------------------------------

  const settings = {
    law: "gaussian", n: 12, alpha: 0.05, sigma: 1, seed: 1, own: new Map(),
    world: "coins", first: "ucb1", second: "bootstrapped_ucb", scale: 0.5, rounds: 1000, matchSeed: 1, t: 0,
  };

  function readAddress() {
    const told = new URLSearchParams(location.hash.slice(1));
    const number = (name, low, high, fallback) => {
      const value = told.has(name) && told.get(name) !== "" ? Number(told.get(name)) : NaN;
      return value >= low && value <= high ? value : fallback;
    };
    const choice = (name, choices, fallback) => (Object.hasOwn(choices, told.get(name) ?? "") ? told.get(name) : fallback);
    if (["law", "n", "alpha", "sigma", "seed", "own"].some((name) => told.has(name))) {
      settings.law = choice("law", LAWS, settings.law);
      settings.alpha = [0.2, 0.1, 0.05, 0.01].find((alpha) => alpha === number("alpha", 0, 1, NaN)) ?? settings.alpha;
      settings.sigma = number("sigma", 0.01, 100, LAWS[settings.law].sigma);
      settings.seed = Math.trunc(number("seed", 0, 999999999, settings.seed));
      settings.own = new Map();
      for (const pair of (told.get("own") ?? "").split(",")) {
        const [place, value] = pair.split(":").map(Number);
        if (place >= 1 && place <= MOST && Math.abs(value) <= MOST_OWN) settings.own.set(Math.trunc(place) - 1, value);
      }
      settings.n = Math.trunc(number("n", 0, MOST, settings.n));
      if (!LAWS[settings.law].draw) { // own rewards only: those without a gap between them
        let n = 0;
        while (settings.own.has(n)) n++;
        settings.n = Math.min(settings.n, n);
      } else settings.n = Math.max(settings.n, 1);
    }
    if (["world", "first", "second", "scale", "rounds", "matchseed", "t"].some((name) => told.has(name))) {
      settings.world = choice("world", WORLDS, settings.world);
      settings.first = choice("first", POLICIES, settings.first);
      settings.second = choice("second", POLICIES, settings.second);
      settings.scale = number("scale", 0.01, 100, WORLDS[settings.world].sigma);
      settings.rounds = [200, 1000, 2000].find((rounds) => rounds === number("rounds", 0, 1e9, NaN)) ?? settings.rounds;
      settings.matchSeed = Math.trunc(number("matchseed", 0, 999999999, settings.matchSeed));
      settings.t = Math.min(Math.trunc(number("t", 0, 2000, 0)), settings.rounds);
    }
    return told;
  }

  let isWriting = 0;
  function writeAddress() {
    clearTimeout(isWriting);
    isWriting = setTimeout(() => {
      const { law, n, alpha, sigma, seed, own, world, first, second, scale, rounds, matchSeed } = settings;
      const mine = [...own].map(([place, value]) => `${place + 1}:${value}`).join(",");
      const told = new URLSearchParams({ law, n, alpha, sigma, seed, ...(mine && { own: mine }) });
      const others = { world, first, second, scale, rounds, matchseed: matchSeed, t: match.round };
      for (const [name, value] of Object.entries(others)) told.set(name, value);
      history.replaceState(null, "", `#${told.toString().replaceAll("%3A", ":").replaceAll("%2C", ",")}`);
    }, 200);
  }

  // --- drawing -----------------------------------------------------------------------------------------------------------

  function element(name, attributes = {}, text = "") {
    const isDrawn = ["path", "line", "text", "g", "rect", "clipPath", "defs", "svg"].includes(name);
    const made = isDrawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  }

  /** Round numbers between two ends, about five of them. */
  function ticks(low, high) {
    const rough = (high - low) / 5;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * unit).find((size) => size >= rough);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
    return found;
  }

  /** An empty plot with axes; `x` and `y` take numbers to places. */
  function frame(svg, { xTicks, x01, low, high, xLabel, yLabel, right }) {
    const width = svg.clientWidth || 600;
    const height = svg.clientHeight || 360;
    const box = { left: 48, right: width - right, top: 22, bottom: height - 34 };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const x = (value) => box.left + x01(value) * (box.right - box.left);
    const y = (value) => box.bottom - ((value - low) / (high - low)) * (box.bottom - box.top);
    const parts = [element("clipPath", { id: `${svg.id}-clip` })];
    parts[0].append(element("rect", { x: box.left - 4, y: box.top, width: box.right - box.left + 8, height: box.bottom - box.top }));
    for (const value of ticks(low, high)) {
      parts.push(element("path", { class: "axis", d: `M${box.left} ${y(value)}H${box.right}` }));
      parts.push(element("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(Math.abs(value) < 1e-12 ? 0 : value)));
    }
    for (const value of xTicks) {
      parts.push(element("text", { x: x(value), y: box.bottom + 17, "text-anchor": "middle" }, String(value)));
    }
    parts.push(element("text", { x: (box.left + box.right) / 2, y: height - 2, "text-anchor": "middle" }, xLabel));
    parts.push(element("text", { x: 4, y: 12 }, yLabel));
    const inside = element("g", { "clip-path": `url(#${svg.id}-clip)` });
    svg.replaceChildren(...parts, inside);
    return { x, y, box, inside };
  }

  const pathOf = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

  /** Names of lines on the right, as high as the lines end, moved apart where they would overlap. */
  function nameLines(svg, ends, box) {
    ends.sort((a, b) => a.y - b.y);
    let last = box.top - 8;
    for (const end of ends) {
      last = Math.max(end.y + 4, last + 15);
      svg.append(element("text", { x: box.right + 8, y: last, style: `fill: var(--${end.colour}-text, var(--${end.colour}))` }, end.label));
    }
  }

  // --- bounds while a sample grows ---------------------------------------------------------------------------------------

  let rewards = [];
  let known = new Map(); // bounds by sample size
  let misses = null;
  let missTimer = 0;
  let samplesKey = 0;

  const take = play.startWorkshop(({ kind, key, value }) => {
    if (kind === "bounds" && key === samplesKey) {
      known.set(value.n, value.bounds);
      draw.bounds = true;
    } else if (kind === "misses" && key === missKey()) {
      misses = value;
      draw.table = true;
    } else if (kind === "games" && key === gamesKey()) {
      many = value;
      draw.match = true;
      draw.many = true;
    }
    askForFrame();
  });

  const missKey = () => [settings.law, settings.n, settings.alpha, settings.sigma, settings.seed].join();

  /** Ask for bounds that are not known yet, the present one first; and for misses once the sample has come to rest. */
  function askForBounds() {
    const sizes = SIZES.filter((n) => n < settings.n && !known.has(n));
    if (settings.n > 0 && !known.has(settings.n)) sizes.unshift(settings.n);
    if (sizes.length) {
      const told = { rewards, sizes, alpha: settings.alpha, sigma: settings.sigma };
      take({ kind: "bounds", key: samplesKey, told });
    }
    clearTimeout(missTimer);
    misses = null;
    take({ kind: "misses" });
    if (LAWS[settings.law].draw && !growing) {
      const { law, n, alpha, sigma, seed } = settings;
      missTimer = setTimeout(() => take({ kind: "misses", key: missKey(), told: { law, n, alpha, sigma, seed, redraws: REDRAWS } }), 250);
    }
  }

  /** Another sample, or the same seen by other bounds. */
  function renewSample() {
    samplesKey++;
    known = new Map();
    setSize(settings.n);
  }

  function setSize(n) {
    const least = LAWS[settings.law].draw ? 1 : 0;
    settings.n = Math.min(Math.max(n, least), MOST);
    rewards = play.sampleOf(settings.law, settings.seed, settings.n, settings.own);
    if (!LAWS[settings.law].draw && rewards.some(Number.isNaN)) {
      rewards = rewards.slice(0, rewards.findIndex(Number.isNaN));
      settings.n = rewards.length;
    }
    askForBounds();
    showSettings();
    draw.bounds = draw.table = true;
    askForFrame();
    writeAddress();
  }

  function viewOf(law) {
    const own = [...settings.own].filter(([place]) => place < settings.n).map(([, value]) => value);
    const low = Math.min(law.view[0], ...own);
    const high = Math.max(law.view[1], ...own);
    const margin = 0.06 * (high - low);
    return [low - margin, high + margin];
  }

  let view = null; // how places in the plot become rewards
  function drawBounds() {
    const svg = at("bounds-plot");
    const law = LAWS[settings.law];
    const last = [20, 50, 100, 200, MOST].find((end) => end >= settings.n);
    const [low, high] = viewOf(law);
    const isWide = svg.clientWidth > 640;
    const xTicks = [1, 2, 5, 10, 20, 50, 100, 200, 500].filter((n) => n <= last);
    const x01 = (n) => Math.log(n) / Math.log(last);
    const { x, y, box, inside } = frame(svg, {
      xTicks, x01, low, high, xLabel: "rewards seen, n", yLabel: "reward", right: isWide ? 190 : 14,
    });
    view = { low, high, box, height: svg.clientHeight };
    const dots = (keep) => rewards.map((v, i) => (keep(i) ? `M${x(i + 1).toFixed(1)} ${y(v).toFixed(1)}h0` : "")).join("");
    inside.append(element("path", { class: "dots", d: dots((i) => !settings.own.has(i)) }));
    inside.append(element("path", { class: "mine", d: dots((i) => settings.own.has(i)) }));
    let total = 0;
    inside.append(element("path", { class: "mean", d: pathOf(rewards.map((v, i) => [x(i + 1), y((total += v) / (i + 1))])) }));
    const ends = rewards.length ? [{ y: y(total / rewards.length), colour: "soft", label: "mean so far" }] : [];
    if (Number.isFinite(law.mean)) {
      inside.append(element("path", { class: "truth", d: `M${box.left} ${y(law.mean)}H${box.right}` }));
      ends.push({ y: y(law.mean), colour: "ink", label: "the truth" });
    }
    const sizes = [...known.keys()].filter((n) => n <= settings.n).sort((a, b) => a - b);
    for (const name of BOUNDS) {
      const points = sizes.map((n) => [x(n), known.get(n)[name]]).filter(([, v]) => Number.isFinite(v));
      if (!points.length) continue;
      const drawn = points.map(([px, v]) => [px, y(v)]);
      const d = drawn.length > 1 ? pathOf(drawn) : `M${drawn[0][0] - 3} ${drawn[0][1]}h6`;
      inside.append(element("path", { class: `line ${name}`, d, style: `stroke: var(--${name})`, "stroke-dasharray": SAYS[name].dash }));
      ends.push({ y: drawn.at(-1)[1], colour: name, label: SAYS[name].label });
    }
    if (isWide) nameLines(svg, ends, box);
    else if (Number.isFinite(law.mean)) {
      svg.append(element("text", { x: box.right, y: y(law.mean) + (2 * law.mean > low + high ? 14 : -5), "text-anchor": "end", style: "fill: var(--ink)" }, "the truth"));
    }
    say(at("status"), growing ? "" : describeBounds(law));
  }

  function describeBounds(law) {
    const bounds = known.get(settings.n);
    if (!settings.n) return "No rewards yet: click in the plot, or type one.";
    if (!bounds) return "Computing …";
    const values = BOUNDS.map((name) => `${SAYS[name].label} ${short(bounds[name])}`).join(", ");
    const truth = Number.isFinite(law.mean) ? `, the truth ${short(law.mean)}` : "";
    const { bootstrap, sign_flip } = bounds.methods;
    const how = bootstrap === sign_flip ? `Quantiles are ${bootstrap}.`
      : `The bootstrap’s quantile is ${bootstrap}, that of the sign flips ${sign_flip}.`;
    return `After ${settings.n} rewards: mean ${short(bounds.mean)}${truth}. Upper bounds: ${values}. ${how}`;
  }

  function say(place, text) {
    if (place.textContent !== text) place.textContent = text;
  }

  const cells = {};
  function buildTable() {
    const table = at("bounds-table");
    const row = (...parts) => {
      const made = element("div", { role: "row" });
      made.append(...parts);
      table.append(made);
      return made;
    };
    const head = ["Bound", "Now", "Promised misses", "Counted misses", "What it assumes, and whether that holds here"];
    row(...head.map((text) => element("span", { role: "columnheader" }, text))).classList.add("head");
    for (const name of BOUNDS) {
      const { label, dash, promise, assumes } = SAYS[name];
      const swatch = element("svg", { viewBox: "0 0 34 10", "aria-hidden": "true" });
      swatch.append(element("path", { d: "M0 5H34", style: `stroke: var(--${name}); stroke-width: 3`, "stroke-dasharray": dash }));
      const title = element("b", { role: "rowheader" });
      title.append(swatch, label);
      const numbers = head.slice(1, 4).map((text) => {
        const cell = element("span", { role: "cell", class: "number" });
        const shown = element("span");
        cell.append(element("span", { class: "key" }, text), shown);
        return { cell, shown };
      });
      const [now, promised, counted] = numbers.map(({ shown }) => shown);
      const says = element("span", { role: "cell", class: "says" }, `${assumes} `);
      const verdict = element("b");
      const why = element("span");
      says.append(verdict, why);
      cells[name] = { now, promised, counted, verdict, why, promise };
      row(title, ...numbers.map(({ cell }) => cell), says);
    }
  }

  function drawTable() {
    const law = LAWS[settings.law];
    const bounds = known.get(settings.n);
    for (const name of BOUNDS) {
      const { now, promised, counted, verdict, why, promise } = cells[name];
      say(now, bounds ? short(bounds[name]) : "…");
      say(promised, promise ? `at most ${percent(promise * settings.alpha)}` : `none (aim: ${percent(settings.alpha)})`);
      counted.className = "miss";
      if (!law.draw) say(counted, "needs a law");
      else if (!misses) say(counted, "…");
      else {
        const share = misses.misses[name] / misses.drawn;
        const aim = (promise || 1) * settings.alpha;
        const near = (misses.misses[name] + 2) / (misses.drawn + 4); // Agresti and Coull: an error for no misses, too
        const error = 2 * Math.sqrt((near * (1 - near)) / (misses.drawn + 4));
        const isOver = share - aim > 3 * Math.sqrt((aim * (1 - aim)) / misses.drawn);
        counted.classList.toggle("over", isOver);
        say(counted, `${percent(share)} ± ${(100 * error).toFixed(1)}${isOver ? ": too many" : ""}`);
      }
      if (law.symmetric === null) {
        say(verdict, "");
        say(why, "Of your own rewards nobody knows.");
      } else {
        const [holds, reason] = SAYS[name].holds(law, settings.sigma);
        verdict.className = holds ? "yes" : "no";
        say(verdict, holds ? "Holds here" : promise ? "Fails here" : "No promise");
        say(why, `: ${reason}.`);
      }
    }
    say(at("miss-note"), !law.draw ? "" : misses
      ? `Misses counted over ${misses.drawn} fresh samples of ${settings.n} rewards (up to ${REDRAWS}).`
      : "Misses are counted as soon as the sample rests.");
  }

  let growing = false;
  let nextGrowth = 0;
  function grow(now) {
    if (!growing || now < nextGrowth || (settings.n > 0 && !known.has(settings.n))) return; // the curve leads
    nextGrowth = now + 60;
    const next = SIZES.find((n) => n > settings.n);
    if (next === undefined) setGrowing(false);
    else setSize(next);
  }

  function setGrowing(is) {
    growing = is && Boolean(LAWS[settings.law].draw);
    if (growing && isCalm.matches) { // no motion: all at once
      growing = false;
      setSize(MOST);
    }
    pressed("grow", growing);
    if (!growing) askForBounds();
    draw.bounds = draw.table = true;
    askForFrame();
  }

  function pressed(id, is) {
    at(id).setAttribute("aria-pressed", is);
    say(at(id), is ? "Pause" : "Run");
  }

  function addOwn(value) {
    if (!(Math.abs(value) <= MOST_OWN) || settings.n >= MOST) return;
    settings.own.set(settings.n, +value.toPrecision(4));
    samplesKey++; // what is known of larger samples was of another reward in this place
    for (const n of known.keys()) if (n > settings.n) known.delete(n);
    setSize(settings.n + 1);
  }

  // --- two policies ------------------------------------------------------------------------------------------------------

  let match = { round: 0, players: [] };
  let isRunning = false;
  let many = null;
  const gamesKey = () => [settings.world, settings.first, settings.second, settings.scale, settings.rounds, settings.matchSeed].join();

  function restart(t = 0) {
    const { world, first, second, scale, matchSeed } = settings;
    match = play.makeMatch(world, [first, second], scale, matchSeed);
    while (match.round < t) match.step();
    many = null;
    take({ kind: "games" });
    say(at("many-shown"), "");
    buildArms();
    setRunning(false);
  }

  function setRunning(is) {
    isRunning = is && match.round < settings.rounds;
    if (isRunning && isCalm.matches) {
      while (match.round < settings.rounds) match.step();
      isRunning = false;
    }
    pressed("run", isRunning);
    draw.match = true;
    askForFrame();
    writeAddress();
  }

  function advance() {
    if (!isRunning) return;
    const end = performance.now() + 8; // the rest of the frame is for drawing
    const rounds = Math.ceil(settings.rounds / 300);
    for (let i = 0; i < rounds && match.round < settings.rounds && performance.now() < end; i++) match.step();
    draw.match = true;
    if (match.round >= settings.rounds) setRunning(false);
  }

  function drawMatch() {
    const svg = at("match-plot");
    const isWide = svg.clientWidth > 640;
    const averages = many ? many.summary.map(({ curve }) => curve) : [];
    const top = Math.max(1, ...match.players.map(({ regret }) => regret.at(-1)), ...averages.map((curve) => curve.at(-1)));
    const high = [1, 1.5, 2, 3, 5, 7.5].map((k) => k * 10 ** Math.floor(Math.log10(top))).find((end) => end >= top) ?? 10 * 10 ** Math.floor(Math.log10(top));
    const { x, y, box, inside } = frame(svg, {
      xTicks: ticks(0, settings.rounds), x01: (t) => t / settings.rounds, low: 0, high: 1.04 * high,
      xLabel: "round", yLabel: "regret", right: isWide ? 240 : 22,
    });
    const every = Math.max(1, Math.floor(settings.rounds / 400));
    const line = (curve) => pathOf(curve.map((v, t) => [t, v]).filter(([t]) => t % every === 0 || t === curve.length - 1)
      .map(([t, v]) => [x(t), y(v)]));
    const colours = ["first", "second"];
    averages.forEach((curve, i) => inside.append(element("path", { class: "average", d: line(curve), style: `stroke: var(--${colours[i]})` })));
    const ends = match.players.map(({ name, regret }, i) => {
      const attributes = { class: "line", d: line(regret), style: `stroke: var(--${colours[i]})` };
      inside.append(element("path", { ...attributes, "stroke-dasharray": i ? "8 3" : "" }));
      return { y: y(regret.at(-1)), colour: colours[i], label: POLICIES[name].label };
    });
    if (isWide) nameLines(svg, ends, box);
    const best = Math.max(...WORLDS[settings.world].means);
    match.players.forEach(({ policy }, i) => {
      policy.arms.forEach((arm, k) => {
        const { fill, text } = armCells[k][i];
        fill.style.width = `${match.round ? (100 * arm.pulls) / match.round : 0}%`;
        say(text, `${arm.pulls}${arm.pulls ? ` · ${arm.mean.toFixed(2)}` : ""}`);
      });
    });
    if (!isRunning) {
      const said = match.players.map(({ name, regret, choices }) =>
        `${POLICIES[name].label}: regret ${regret.at(-1).toFixed(1)}${choices.length ? `, last pulled arm ${choices.at(-1) + 1}` : ""}`);
      say(at("match-status"), `Round ${match.round} of ${settings.rounds}; the best arm earns ${short(best)} a pull. ${said.join(". ")}.`);
    }
  }

  function drawMany() {
    if (!many) return;
    const words = many.summary.map(({ mean, error }, i) =>
      `${POLICIES[[settings.first, settings.second][i]].label} ${mean.toFixed(1)}${Number.isFinite(error) ? ` ± ${(2 * error).toFixed(1)}` : ""}`);
    say(at("many-shown"), `Regret after ${settings.rounds} rounds, average of ${many.played} games (± two standard errors; dotted curves): ${words.join(", ")}.`);
  }

  let armCells = [];
  function buildArms() {
    const place = at("arms");
    const head = element("div", { role: "row", class: "note" });
    head.append(element("span", { role: "columnheader" }, "Arm"));
    for (const place of ["first", "second"]) {
      const text = `${POLICIES[settings[place]].label}: pulls · mean seen`;
      head.append(element("span", { role: "columnheader", style: `color: var(--${place})` }, text));
    }
    place.replaceChildren(head);
    armCells = WORLDS[settings.world].means.map((mean, k) => {
      const row = element("div", { role: "row" });
      row.append(element("span", { role: "rowheader" }, `${k + 1}, mean ${short(mean)}`));
      const made = ["first", "second"].map((colour) => {
        const cell = element("span", { role: "cell", class: "bar" });
        const fill = element("i", { style: `background: var(--${colour})` });
        const text = element("span");
        cell.append(fill, text);
        row.append(cell);
        return { fill, text };
      });
      place.append(row);
      return made;
    });
    const words = [...new Set([settings.first, settings.second])].map((name) => `${POLICIES[name].label}: ${POLICIES[name].formula}.`);
    say(at("formulas"), `${words.join(" ")} The arm with the highest number is pulled; n are its pulls, ȳ their mean, t the round, K the arms.`);
  }

  // --- frames ------------------------------------------------------------------------------------------------------------

  const draw = { bounds: true, table: true, match: true, many: true };
  let isAsked = false;
  function askForFrame() {
    if (!isAsked) requestAnimationFrame(paint);
    isAsked = true;
  }

  function paint(now) {
    isAsked = false;
    grow(now);
    advance();
    const wanted = { ...draw };
    Object.keys(draw).forEach((key) => (draw[key] = false));
    if (wanted.bounds) drawBounds();
    if (wanted.bounds || wanted.table) drawTable();
    if (wanted.match) drawMatch();
    if (wanted.many) drawMany();
    if (growing || isRunning) askForFrame();
  }

  function showSettings() {
    const { law, n, alpha, sigma, seed } = settings;
    Object.entries({ law, alpha, sigma, seed }).forEach(([id, value]) => (at(id).value = value));
    const slider = at("n");
    slider.max = SIZES.length - 1;
    slider.value = SIZES.filter((size) => size <= n).length - 1;
    slider.setAttribute("aria-valuetext", `${n} rewards`);
    say(at("n-shown"), String(n));
    const canDraw = Boolean(LAWS[law].draw);
    for (const id of ["draw-one", "draw-ten", "grow", "redraw", "n", "seed"]) at(id).disabled = !canDraw;
    at("drop-own").disabled = settings.own.size === 0;
    const { world, first, second, scale, rounds, matchSeed } = settings;
    Object.entries({ world, first, second, scale, rounds, "match-seed": matchSeed }).forEach(([id, value]) => (at(id).value = value));
    for (const id of ["first", "second"]) {
      for (const option of at(id).options) {
        option.disabled = POLICIES[option.value].needs === "upper" && !WORLDS[world].upper;
      }
    }
  }

  // --- what the reader does ----------------------------------------------------------------------------------------------

  const changed = (id, act) => at(id).addEventListener("change", (event) => act(event.target));
  const clicked = (id, act) => at(id).addEventListener("click", act);
  /** A number that the reader typed, if it is one that the field allows; else the field is put back. */
  const typed = (id, name, act) => changed(id, (field) => {
    if (field.value !== "" && field.reportValidity()) {
      settings[name] = Number(field.value);
      act();
    }
    showSettings();
  });

  function listen() {
    for (const id of ["bounds-form", "match-form"]) at(id).addEventListener("submit", (event) => event.preventDefault());
    changed("law", ({ value }) => {
      settings.law = value;
      settings.sigma = LAWS[value].sigma;
      settings.own = new Map();
      settings.n = LAWS[value].draw ? Math.max(settings.n, 1) : 0;
      setGrowing(false);
      renewSample();
    });
    changed("alpha", ({ value }) => {
      settings.alpha = Number(value);
      renewSample();
    });
    typed("sigma", "sigma", renewSample);
    typed("seed", "seed", renewSample);
    at("n").addEventListener("input", ({ target }) => setSize(SIZES[Number(target.value)]));
    clicked("draw-one", () => setSize(settings.n + 1));
    clicked("draw-ten", () => setSize(settings.n + 10));
    clicked("grow", () => {
      if (!growing && settings.n >= MOST) setSize(1);
      setGrowing(!growing);
    });
    clicked("redraw", () => {
      settings.seed = (settings.seed + 1) % 1e9;
      renewSample();
    });
    const takeOwn = () => {
      if (at("own").value === "" || !at("own").reportValidity()) return;
      addOwn(Number(at("own").value));
      at("own").value = "";
    };
    clicked("add-own", takeOwn);
    at("own").addEventListener("keydown", (event) => event.key === "Enter" && takeOwn());
    clicked("drop-own", () => {
      settings.own = new Map();
      renewSample();
    });
    clicked("bounds-plot", (event) => {
      const place = event.clientY - at("bounds-plot").getBoundingClientRect().top;
      const { low, high, box } = view;
      addOwn(low + ((box.bottom - place) / (box.bottom - box.top)) * (high - low));
    });

    changed("world", ({ value }) => {
      settings.world = value;
      settings.scale = WORLDS[value].sigma;
      for (const name of ["first", "second"]) {
        if (POLICIES[settings[name]].needs === "upper" && !WORLDS[value].upper) settings[name] = "ucb1";
      }
      showSettings();
      restart();
    });
    for (const id of ["first", "second"]) {
      changed(id, ({ value }) => {
        settings[id] = value;
        restart();
      });
    }
    typed("scale", "scale", restart);
    typed("match-seed", "matchSeed", restart);
    changed("rounds", ({ value }) => {
      settings.rounds = Number(value);
      restart();
    });
    clicked("step", () => {
      if (match.round < settings.rounds) match.step();
      setRunning(false);
    });
    clicked("run", () => {
      if (!isRunning && match.round >= settings.rounds) restart();
      setRunning(!isRunning);
    });
    clicked("restart", () => restart());
    clicked("new-match", () => {
      settings.matchSeed = (settings.matchSeed + 1) % 1e9;
      showSettings();
      restart();
    });
    clicked("many", () => {
      const { world, first, second, scale, rounds, matchSeed } = settings;
      const told = { world, names: [first, second], sigma: scale, seed: matchSeed, rounds, games: GAMES };
      take({ kind: "games", key: gamesKey(), told });
      say(at("many-shown"), "Playing …");
    });

    addEventListener("resize", () => {
      draw.bounds = draw.match = true;
      askForFrame();
    });
    addEventListener("hashchange", () => {
      const told = readAddress();
      setGrowing(false);
      renewSample();
      if (told.has("world")) restart(settings.t);
      at(told.has("law") ? "bounds-title" : "match-title").scrollIntoView({ behavior: isCalm.matches ? "auto" : "smooth" });
    });
  }

  /** Dark or light: as chosen here or in the documentation around this page, which keeps it by the same name; else the system's. */
  function chooseTheme() {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    let theme = system;
    try {
      const kept = localStorage.getItem("theme");
      if (kept === "dark" || kept === "light") theme = kept;
    } catch {} // a browser that keeps nothing
    const show = () => {
      document.documentElement.dataset.theme = theme;
      at("theme").setAttribute("aria-pressed", theme === "dark");
    };
    clicked("theme", () => {
      theme = theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("theme", theme === system ? "auto" : theme);
      } catch {}
      show();
    });
    show();
  }

  function start() {
    chooseTheme();
    const isAmongSources = /\/docs\/play\/[^/]*$/.test(location.pathname); // where no other page is built
    at("home").hidden = isAmongSources;
    at("home-text").hidden = !isAmongSources;
    const options = (id, entries) => at(id).append(...Object.entries(entries).map(([value, { label }]) => element("option", { value }, label)));
    options("law", LAWS);
    options("world", WORLDS);
    options("first", POLICIES);
    options("second", POLICIES);
    buildTable();
    readAddress();
    listen();
    restart(settings.t);
    renewSample();
  }

  start();
})(globalThis.bandstrap);

// The page: settings, plots and tables. All numbers come from bounds.js and policies.js.
"use strict";
(function (play) {
  const { LAWS, WORLDS, POLICIES, BOUNDS } = play;
  const at = (id) => document.getElementById(id);
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const MOST = 200;
  const REDRAWS = 1000;
  const GAMES = 100;
  // Sample sizes of the curves: all up to 40, fewer beyond.
  const SIZES = Array.from({ length: MOST }, (_, i) => i + 1).filter((n) => n <= 40 || n % 5 === 0);

  const short = (x) => (Number.isFinite(x) ? String(+x.toPrecision(3)).replace("-", "−") : "∞");
  const percent = (x) => `${(100 * x).toFixed(1)}\u00a0%`;

  // What each bound assumes, promises (as a multiple of alpha; 0 for nothing), and whether it holds for a law.
  const hoeffdingHolds = (law, sigma) =>
    law.safe === Infinity ? [false, "the tails are too heavy for any σ"]
      : sigma >= law.safe - 1e-12 ? [true, `σ is at least ${short(law.safe)}`]
        : [false, `σ is below ${short(law.safe)}`];
  const symmetryHolds = (law) => (law.symmetric ? [true, "the distribution is symmetric"] : [false, "the distribution is skewed"]);
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
      holds: (law, sigma) => (law.symmetric ? hoeffdingHolds(law, sigma) : symmetryHolds(law)),
      assumes: "Assumes rewards symmetric about their mean, and Hoeffding’s scale σ; never wider than Hoeffding’s.",
    },
    sign_flip: {
      label: "Sign flips", dash: "5 5", promise: 1, holds: symmetryHolds,
      assumes: "Assumes rewards symmetric about their mean, and nothing else: no scale, no range. Infinite while 2⁻ⁿ > α.",
    },
  };

  // --- settings: the fields of the page, which its address holds ---------------------------------------------------------

  const SAMPLE_FIELDS = ["law", "alpha", "sigma", "seed", "n"];
  const MATCH_FIELDS = ["world", "first", "second", "scale", "rounds", "matchseed"];
  const FIELDS = [...SAMPLE_FIELDS, ...MATCH_FIELDS];
  const settings = {};

  /** Take what the fields hold; one that holds nonsense is put back. */
  function readFields() {
    for (const id of FIELDS) {
      const field = at(id);
      if (field.value !== "" && field.checkValidity()) settings[id] = isNaN(field.value) ? field.value : Number(field.value);
      else field.value = settings[id];
    }
  }

  function setField(id, value) {
    at(id).value = value;
    readFields();
  }

  function readAddress() {
    const told = new URLSearchParams(location.hash.slice(1));
    if (Object.hasOwn(LAWS, told.get("law") ?? "") && !told.has("sigma")) told.set("sigma", LAWS[told.get("law")].sigma);
    if (Object.hasOwn(WORLDS, told.get("world") ?? "") && !told.has("scale")) told.set("scale", WORLDS[told.get("world")].sigma);
    if (isNaN(told.get("n") ?? NaN)) told.delete("n"); // of which a slider would make its middle
    for (const [id, value] of told) if (FIELDS.includes(id)) setField(id, value);
    return told;
  }

  let addressTimer = 0;
  function writeAddress() {
    clearTimeout(addressTimer); // a slider that moves would write it too often for some browsers
    addressTimer = setTimeout(() => history.replaceState(null, "", `#${new URLSearchParams(settings)}`), 200);
  }

  // --- plots -------------------------------------------------------------------------------------------------------------

  /** Round numbers between two ends, about five of them. */
  function ticks(low, high) {
    const rough = (high - low) / 5;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * unit).find((size) => size >= rough);
    const count = Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1;
    return Array.from({ length: count }, (_, i) => (Math.ceil(low / step - 1e-9) + i) * step);
  }

  /**
   * Lines with axes. A line has points, a class or colour, a dash, and a label: at the right, as high as the line ends, where
   * there is room; otherwise in the plot, if it is `named`.
   */
  function plot(svg, { xTicks, x01, low, high, xLabel, yLabel, room, dots = [], lines }) {
    const [width, height] = [svg.clientWidth || 600, svg.clientHeight || 360];
    const isWide = width > 640;
    const box = { left: 48, right: width - (isWide ? room : 22), top: 22, bottom: height - 34 };
    const x = (value) => (box.left + x01(value) * (box.right - box.left)).toFixed(1);
    const y = (value) => (box.bottom - ((value - low) / (high - low)) * (box.bottom - box.top)).toFixed(1);
    const text = (left, top, words, rest = "") => `<text x="${left}" y="${top}" ${rest}>${words}</text>`;
    const parts = [`<clipPath id="${svg.id}-clip"><rect x="${box.left - 4}" y="${box.top}" width="${box.right - box.left + 8}" height="${box.bottom - box.top}"/></clipPath>`];
    for (const value of ticks(low, high)) {
      parts.push(`<path class="axis" d="M${box.left} ${y(value)}H${box.right}"/>`);
      parts.push(text(box.left - 6, +y(value) + 4, short(Math.abs(value) < 1e-12 ? 0 : value), 'text-anchor="end"'));
    }
    for (const value of xTicks) parts.push(text(x(value), box.bottom + 17, value, 'text-anchor="middle"'));
    parts.push(text((box.left + box.right) / 2, height - 2, xLabel, 'text-anchor="middle"'), text(4, 12, yLabel));
    parts.push(`<g clip-path="url(#${svg.id}-clip)"><path class="dots" d="${dots.map(([u, v]) => `M${x(u)} ${y(v)}h0`).join("")}"/>`);
    for (const { points, colour, dash = "", kind = "line" } of lines) {
      const d = points.map(([u, v], i) => `${i ? "L" : "M"}${x(u)} ${y(v)}`).join("") + (points.length === 1 ? "h6" : "");
      parts.push(`<path class="${kind} ${colour}" style="stroke: var(--${colour})" stroke-dasharray="${dash}" d="${d}"/>`);
    }
    parts.push("</g>");
    const ends = lines.filter(({ label, named, points }) => label && points.length && (isWide || named));
    let last = box.top - 8; // labels are moved apart where they would overlap
    for (const { points, colour, label } of ends.sort((a, b) => b.points.at(-1)[1] - a.points.at(-1)[1])) {
      const place = +y(points.at(-1)[1]);
      last = Math.max(isWide ? place + 4 : place < 2 * box.top ? place + 14 : place - 6, last + 15);
      const style = `style="fill: var(--${colour}-text, var(--${colour}))"`;
      parts.push(isWide ? text(box.right + 8, last, label, style) : text(box.right, last, label, `${style} text-anchor="end"`));
    }
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.innerHTML = parts.join("");
  }

  // --- bounds while a sample grows ---------------------------------------------------------------------------------------

  let rewards = [];
  let known = new Map(); // bounds by sample size
  let misses = null;
  let missWork = null;
  let isGrowing = false;

  function renewSample() {
    rewards = play.sampleOf(settings.law, settings.seed, MOST);
    known = new Map();
    resize();
  }

  /** Another sample size: misses are counted once it rests. */
  function resize() {
    say("n-shown", settings.n);
    misses = missWork = null;
    if (!isGrowing) missWork = play.missesOf({ ...settings }, REDRAWS);
    changed();
  }

  const computeBounds = (n) => known.set(n, play.upperBounds(rewards.slice(0, n), settings.alpha, settings.sigma));

  function drawBounds() {
    const { n } = settings;
    const law = LAWS[settings.law];
    const last = [20, 50, 100, MOST].find((end) => end >= n);
    const margin = 0.06 * (law.view[1] - law.view[0]);
    const seen = rewards.slice(0, n);
    let sum = 0;
    const lines = [
      { points: seen.map((v, i) => [i + 1, (sum += v) / (i + 1)]), kind: "mean", colour: "soft", label: "mean so far" },
      { points: [[1, law.mean], [last, law.mean]], kind: "truth", colour: "ink", label: "the truth", named: true },
    ];
    const sizes = [...known.keys()].filter((size) => size <= n).sort((a, b) => a - b);
    for (const name of BOUNDS) {
      const points = sizes.map((size) => [size, known.get(size)[name]]).filter(([, v]) => Number.isFinite(v));
      lines.push({ points, colour: name, dash: SAYS[name].dash, label: SAYS[name].label });
    }
    plot(at("bounds-plot"), {
      xTicks: [1, 2, 5, 10, 20, 50, 100, 200].filter((size) => size <= last), x01: (size) => Math.log(size) / Math.log(last),
      low: law.view[0] - margin, high: law.view[1] + margin, xLabel: "rewards seen, n", yLabel: "reward", room: 190,
      dots: seen.map((v, i) => [i + 1, v]), lines,
    });
    const { mean, methods } = known.get(n);
    const how = methods.bootstrap === methods.sign_flip ? `Quantiles are ${methods.bootstrap}.`
      : `The bootstrap’s quantile is ${methods.bootstrap}, that of the sign flips ${methods.sign_flip}.`;
    if (!isGrowing) say("status", `After ${n} rewards: mean ${short(mean)}, the truth ${short(law.mean)}. ${how}`);
    drawTable(law);
  }

  function drawTable(law) {
    const rows = BOUNDS.map((name) => {
      const { label, dash, promise, assumes } = SAYS[name];
      const [holds, reason] = SAYS[name].holds(law, settings.sigma);
      const promised = promise ? `at most ${percent(promise * settings.alpha)}` : `none (aim: ${percent(settings.alpha)})`;
      const verdict = holds ? "Holds here" : promise ? "Fails here" : "No promise";
      const cells = [["now", "Now", short(known.get(settings.n)[name])], ["", "Promised misses", promised], ["", "Counted misses", missShare(name, promise || 1)]];
      return `<tr><th scope="row"><svg viewBox="0 0 34 10" aria-hidden="true"><path d="M0 5H34" stroke-dasharray="${dash}" style="stroke: var(--${name}); stroke-width: 3"/></svg>${label}</th>
        ${cells.map(([kind, title, value]) => `<td class="number"><span class="key">${title}</span><span class="${kind}">${value}</span></td>`).join("")}
        <td class="says">${assumes} <b class="${holds ? "yes" : "no"}">${verdict}</b>: ${reason}.</td></tr>`;
    });
    at("bounds-rows").innerHTML = rows.join("");
    say("miss-note", misses ? `Misses counted over ${misses.drawn} fresh samples of ${settings.n} rewards (up to ${REDRAWS}).`
      : "Misses are counted as soon as the sample rests.");
  }

  function missShare(name, promise) {
    if (!misses) return "…";
    const [missed, drawn] = [misses.misses[name], misses.drawn];
    const near = (missed + 2) / (drawn + 4); // Agresti and Coull: an error for no misses, too
    const error = 2 * Math.sqrt((near * (1 - near)) / (drawn + 4));
    const aim = promise * settings.alpha;
    const isOver = missed / drawn - aim > 3 * Math.sqrt((aim * (1 - aim)) / drawn);
    return `<span class="${isOver ? "over" : ""}">${percent(missed / drawn)} ± ${(100 * error).toFixed(1)}${isOver ? ": too many" : ""}</span>`;
  }

  function setGrowing(is) {
    isGrowing = is && !isCalm;
    if (is && isCalm) setField("n", MOST); // no motion: all at once
    pressed("grow", isGrowing);
    resize();
  }

  function pressed(id, is) {
    at(id).setAttribute("aria-pressed", is);
    say(id, is ? "Pause" : "Run");
  }

  function say(id, text) {
    if (at(id).textContent !== String(text)) at(id).textContent = text;
  }

  // --- two policies ------------------------------------------------------------------------------------------------------

  let match = null;
  let isRunning = false;
  let many = null;
  let manyWork = null;

  function restart() {
    const { world, first, second, scale, matchseed } = settings;
    match = play.makeMatch(world, [first, second], scale, matchseed);
    many = manyWork = null;
    say("many-shown", "");
    const names = [...new Set([first, second])].map((name) => `${POLICIES[name].label}: ${POLICIES[name].formula}.`);
    say("formulas", `${names.join(" ")} The arm with the highest number is pulled; n are its pulls, ȳ their mean, t the round.`);
    setRunning(true);
  }

  function playMany() {
    manyWork = play.gamesOf({ ...settings }, GAMES);
    say("many-shown", "Playing …");
    changed();
  }

  function setRunning(is) {
    isRunning = is && match.round < settings.rounds;
    pressed("run", isRunning);
    changed();
  }

  function drawMatch() {
    const { rounds, world } = settings;
    const averages = many ?? [];
    const top = Math.max(1, ...match.players.map(({ regret }) => regret.at(-1)), ...averages.map(({ mean }) => mean));
    const unit = 10 ** Math.floor(Math.log10(top));
    const every = Math.max(1, Math.floor(rounds / 400));
    const points = (curve) => curve.map((v, t) => [t, v]).filter(([t]) => t % every === 0 || t === curve.length - 1);
    const colours = ["first", "second"];
    plot(at("match-plot"), {
      xTicks: ticks(0, rounds), x01: (t) => t / rounds, low: 0, high: 1.04 * unit * [1, 1.5, 2, 3, 5, 7.5, 10].find((k) => k * unit >= top),
      xLabel: "round", yLabel: "regret", room: 240,
      lines: [
        ...averages.map(({ curve }, i) => ({
          points: points(curve), colour: colours[i], kind: match.round ? "average" : "line", dash: i && !match.round ? "8 3" : "",
          label: match.round ? "" : POLICIES[settings[colours[i]]].label, named: true,
        })),
        ...(averages.length && !match.round ? [] : match.players).map(({ name, regret }, i) => ({
          points: points(regret), colour: colours[i], dash: i ? "8 3" : "", label: POLICIES[name].label, named: true,
        })),
      ],
    });
    const { means } = WORLDS[world];
    const bars = (k) => match.players.map(({ policy }, i) => {
      const { pulls, mean } = policy.arms[k];
      const share = match.round ? (100 * pulls) / match.round : 0;
      return `<td class="bar"><i style="background: var(--${colours[i]}); width: ${share}%"></i><span>${pulls}${pulls ? ` · ${mean.toFixed(2)}` : ""}</span></td>`;
    }).join("");
    const heads = match.players.map(({ name }, i) => `<th scope="col" style="color: var(--${colours[i]})">${POLICIES[name].label}: pulls · mean seen</th>`);
    at("arms").innerHTML = `<tr class="note"><th scope="col">Arm</th>${heads.join("")}</tr>`
      + means.map((mean, k) => `<tr><th scope="row">${k + 1}, mean ${short(mean)}</th>${bars(k)}</tr>`).join("");
    if (!isRunning) {
      const said = match.players.map(({ name, regret }) => `${POLICIES[name].label}: regret ${regret.at(-1).toFixed(1)}`);
      say("match-status", !match.round && (many || manyWork) ? "The average of many games is below; Run plays a single one."
        : `Round ${match.round} of ${rounds}; the best arm earns ${short(Math.max(...means))} a pull. ${said.join(". ")}.`);
    }
    if (many) {
      const words = many.map(({ mean, error }, i) =>
        `${POLICIES[settings[colours[i]]].label} ${mean.toFixed(1)}${Number.isFinite(error) ? ` ± ${(2 * error).toFixed(1)}` : ""}`);
      say("many-shown", `Regret after ${rounds} rounds, average of ${many[0].games} games (± two standard errors${match.round ? "; dotted curves" : ""}): ${words.join(", ")}.`);
    }
  }

  // --- a frame at a time: what moves, what is computed, what is drawn ------------------------------------------------------

  let isAsked = false;
  let nextGrowth = 0;
  let lastDrawn = 0;

  function changed() {
    writeAddress();
    if (!isAsked) requestAnimationFrame(paint);
    isAsked = true;
  }

  function paint(now) {
    isAsked = false;
    const end = performance.now() + 12;
    const hasTime = () => performance.now() < end;
    if (isGrowing && now > nextGrowth) {
      nextGrowth = now + 60;
      const next = SIZES.find((size) => size > settings.n);
      if (next === undefined) setGrowing(false);
      else {
        setField("n", next);
        resize();
      }
    }
    if (!known.has(settings.n)) computeBounds(settings.n);
    const unknown = SIZES.filter((size) => size < settings.n && !known.has(size));
    while (unknown.length && hasTime()) computeBounds(unknown.shift());
    const pace = isCalm ? settings.rounds : Math.ceil(settings.rounds / 300);
    for (let i = 0; isRunning && i < pace && (i === 0 || hasTime()); i++) {
      match.step();
      if (match.round >= settings.rounds) setRunning(false);
    }
    while (!unknown.length && missWork && hasTime()) {
      const { value, done } = missWork.next();
      if (done) missWork = null;
      else misses = value;
    }
    while (!isRunning && manyWork && hasTime()) {
      const { value, done } = manyWork.next();
      if (done) manyWork = null;
      else many = value ?? many;
    }
    const isBusy = unknown.length > 0 || missWork || manyWork;
    if (!isBusy || isGrowing || isRunning || now - lastDrawn > 100) {
      drawBounds();
      drawMatch();
      lastDrawn = now;
    }
    if (isBusy || isGrowing || isRunning) changed();
  }

  // --- what the reader does ----------------------------------------------------------------------------------------------

  function listen() {
    const clicked = (id, act) => at(id).addEventListener("click", act);
    const more = (count) => () => {
      setField("n", Math.min(settings.n + count, MOST));
      resize();
    };
    for (const id of ["bounds-form", "match-form"]) at(id).addEventListener("submit", (event) => event.preventDefault());
    at("bounds-form").addEventListener("change", ({ target }) => {
      readFields();
      if (target.id === "law") setField("sigma", LAWS[settings.law].sigma);
      if (target.id !== "n") renewSample();
    });
    at("n").addEventListener("input", () => {
      readFields();
      resize();
    });
    clicked("draw-one", more(1));
    clicked("draw-ten", more(10));
    clicked("redraw", () => {
      setField("seed", (settings.seed + 1) % 1e9);
      renewSample();
    });
    clicked("grow", () => {
      if (!isGrowing && settings.n >= MOST) setField("n", 1);
      setGrowing(!isGrowing);
    });

    at("match-form").addEventListener("change", ({ target }) => {
      readFields();
      if (target.id === "world") setField("scale", WORLDS[settings.world].sigma);
      restart();
    });
    clicked("run", () => {
      if (!isRunning && match.round >= settings.rounds) restart();
      else setRunning(!isRunning);
    });
    clicked("step", () => {
      if (match.round < settings.rounds) match.step();
      setRunning(false);
    });
    clicked("restart", () => {
      restart();
      setRunning(false);
    });
    clicked("new-match", () => {
      setField("matchseed", (settings.matchseed + 1) % 1e9);
      restart();
    });
    clicked("many", playMany);

    addEventListener("resize", changed);
    addEventListener("storage", chooseTheme);
    addEventListener("hashchange", () => {
      const told = readAddress();
      if (SAMPLE_FIELDS.some((id) => told.has(id))) {
        setGrowing(false);
        renewSample();
      }
      if (MATCH_FIELDS.some((id) => told.has(id))) restart();
      at(told.has("law") ? "bounds-title" : "match-title").scrollIntoView({ behavior: isCalm ? "auto" : "smooth" });
    });
  }

  /** Dark or light: as chosen in the documentation around this page, which keeps it by this name; else the system's. */
  function chooseTheme() {
    let kept = null;
    try {
      kept = localStorage.getItem("theme");
    } catch {} // a browser that keeps nothing
    const isDark = kept === "dark" || (kept !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
  }

  chooseTheme();
  // Where there is no page to go home to: among the sources, of which no other is built, and within another page.
  at("home").hidden = /\/docs\/play\/[^/]*$/.test(location.pathname) || parent !== window;
  for (const [id, entries] of Object.entries({ law: LAWS, world: WORLDS, first: POLICIES, second: POLICIES })) {
    at(id).innerHTML = Object.entries(entries).map(([value, { label }]) => `<option value="${value}">${label}</option>`).join("");
  }
  at("second").value = "ucb1";
  readFields();
  const told = readAddress();
  listen();
  renewSample();
  restart();
  if (!MATCH_FIELDS.some((id) => told.has(id))) { // the average first: a single game proves little
    setRunning(false);
    playMany();
  }
})(globalThis.bandstrap);

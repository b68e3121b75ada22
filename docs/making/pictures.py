"""The pictures of the site, each drawn by the code that its page explains, for pages and for phones."""

import itertools
import json
import math
import tomllib
import warnings
from importlib.resources import files
from pathlib import Path

import grimp
import numpy as np
import polars
from matplotlib import rcParams
from matplotlib.ticker import FuncFormatter, NullFormatter
from scipy import stats

from bandstrap.bounds import bootstrap, coverage, hoeffding, sign_flip
from bandstrap.bounds.corrections import CORRECTIONS, correction_term
from bandstrap.errors import AccuracyWarning
from bandstrap.multipliers import bootstrap_quantile
from bandstrap.paper.formulas import in_symbols
from bandstrap.plots.style import COLOURS, look, looks_for, new_figure
from docs.making.curves import KEPT, LINEAR_WORLD
from docs.making.layers import LAYERS, layer_of

DOCS = Path(__file__).parents[1]
BLUE, ORANGE, GREEN, PINK = COLOURS[:4]
GREY = "#8c959f"
REVENUE = np.array([3.1, 0.4, 2.2, 5.9, 1.8, 2.7, 4.4, 0.9, 3.6, 2.5, 1.1, 3.3])
YARDSTICK = "ucb1"
WORLD_TITLES = {
    "beta": "beta rewards",
    "gaussian": "normal rewards",
    "exponential": "exponential rewards",
    LINEAR_WORLD: "linear, d = 10, 100 actions",
}
# Inches at which letters keep their size on a phone of 390 pixels, margins taken off.
PHONE = 3.75


def canvas(width, height, narrow, columns=1):
    """A figure for a page; for a phone as wide as that, with panels below one another."""
    if not narrow:
        return new_figure(width, height, columns=columns)
    return new_figure(PHONE, max(0.9 * height, 2.8) * columns if columns > 1 else max(height, 3.2), rows=columns)


def explain(figure, axis, narrow, **options):
    """The legend: in the plot, or on a phone below it."""
    if narrow:
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower left", frameon=False)
    else:
        axis.legend(frameon=False, **options)


def explain_all(figure, axis, narrow):
    """One legend for all panels: below them, or on a phone, where they are many screens, above."""
    place = "outside upper left" if narrow else "outside lower center"
    figure.legend(*axis.get_legend_handles_labels(), loc=place, frameon=False, ncols=1 if narrow else 3)


def all_signs(n):
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n)))


def histogram(values, narrow, *, beyond):
    """A histogram, with what lies beyond a value in another colour, and how many are in each bar."""
    figure, (axis,) = canvas(7, 3.2, narrow)
    counts, _, bars = axis.hist(values, bins=60, color=BLUE, alpha=0.55)
    for bar in bars:
        if bar.get_x() >= beyond:
            bar.set(color=ORANGE, alpha=0.9)
    axis.axvline(beyond, color=ORANGE)
    return figure, axis, counts


def every_sign(narrow):
    """The law of the bootstrap for twelve rewards: all 4096 sign vectors."""
    n, level = REVENUE.size, 0.05
    sums = all_signs(n) @ (REVENUE - REVENUE.mean()) / n
    quantile = bootstrap_quantile(REVENUE, level)
    figure, axis, counts = histogram(sums, narrow, beyond=quantile)
    axis.annotate(
        f"quantile {quantile:.2f}:\n5 % of the signs\nare beyond it",
        (quantile, 0.75 * counts.max()),
        xytext=(5, 0),
        textcoords="offset points",
        color=rcParams["text.color"],
        fontsize=9 if narrow else 10,
    )
    title = "12 rewards, all 4096 choices of signs"
    axis.set(xlabel="mean of signed residuals", ylabel="sign vectors")
    axis.set_title(title, fontsize=10 if narrow else 12)
    return figure


def widths(narrow):
    """Distance from the mean to each bound as the sample grows."""
    rewards = stats.truncnorm(-1, 1).rvs(400, random_state=np.random.default_rng(3))
    sizes = np.unique(np.geomspace(2, 400, 40).astype(int))
    known = {"sigma": 1.0}
    bounds = {
        "Hoeffding, sigma = 1": lambda y: hoeffding(y, 0.05, **known),
        "bootstrap, sharp": lambda y: bootstrap(y, 0.025, correction="sharp", delta=0.5, **known),
        "bootstrap, practical": lambda y: bootstrap(y, 0.05, **known),
        "sign flips, no sigma": lambda y: sign_flip(y, 0.05),
    }
    figure, (axis,) = canvas(7, 3.8, narrow)
    for i, (name, bound) in enumerate(bounds.items()):
        found = [float(bound(rewards[:n]).value) - rewards[:n].mean() for n in sizes]
        shown = np.isfinite(found)
        axis.plot(sizes[shown], np.array(found)[shown], label=name, **look(i))
    axis.set(xscale="log", yscale="log", xlabel="rewards", ylabel="upper bound less mean")
    plain_numbers(axis.xaxis, axis.yaxis)
    explain(figure, axis, narrow)
    return figure


def misses(narrow):
    """How often the naive bootstrap and the corrected ones miss."""
    sizes = [2, 3, 4, 5, 6, 8, 10, 12]
    names = {
        "bootstrap:correction=none": "no correction",
        "bootstrap:correction=practical": "practical: φ/√n",
        "bootstrap:correction=sharp": "sharp: proved, at most 2α",
        "sign_flip": "sign flips: proved, at most α",
    }
    rows = coverage("normal", sizes, 0.05, bounds=names, replications=4000, seed=1)
    figure, (axis,) = canvas(7, 3.8, narrow)
    for i, (name, label) in enumerate(names.items()):
        found = [row for row in rows if row.bound == name]
        axis.plot([row.sample_size for row in found], [row.miss_rate for row in found], label=label, **look(i))
    axis.axhline(0.05, color=GREY, linewidth=1)
    axis.text(12, 0.052, "α", ha="right", color=rcParams["text.color"])
    axis.set(xscale="log", ylim=(0, None), xlabel="normal rewards", ylabel="share of samples missed")
    axis.set_xticks(sizes)
    plain_numbers(axis.xaxis)
    explain(figure, axis, narrow)
    return figure


def corrections(narrow):
    """The factor of φ in each form of the correction."""
    sizes = np.arange(1, 201)
    names = {"theorem": "of the proof", "stated": "as printed", "sharp": "sharp", "practical": "practical"}
    figure, (axis,) = canvas(7, 3.6, narrow)
    for i, (name, label) in enumerate(names.items()):
        factors = [float(correction_term(CORRECTIONS[name], int(n), 1.0, 0.05, 0.1, n)) for n in sizes]
        axis.plot(sizes, factors, label=label, **look(i))
    axis.axhline(1.0, color=GREY, linewidth=1)
    axis.set(xscale="log", ylim=(0, 3.6), xlabel="rewards", ylabel="correction, in units of φ")
    plain_numbers(axis.xaxis)
    explain(figure, axis, narrow)
    return figure


def saturation(narrow):
    """The quantile of B = 200 draws beside the one without draws, as the level falls with the round."""
    rounds = np.unique(np.geomspace(10, 20_000, 50).astype(int))
    rewards = np.random.default_rng(5).normal(size=60)
    unit = rewards.std() / math.sqrt(rewards.size)
    rng = np.random.default_rng(6)
    levels = 0.9 / (rounds + 1)
    exact = bootstrap_quantile(rewards, levels) / unit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # of the very thing that is drawn
        options = {"method": "monte-carlo", "n_resamples": 200, "rng": rng}
        drawn = np.array([bootstrap_quantile(rewards, levels, **options) for _ in range(200)])
    low, middle, high = np.quantile(drawn / unit, [0.05, 0.5, 0.95], axis=0)
    figure, (axis,) = canvas(7, 3.8, narrow)
    axis.plot(rounds, exact, label='no draws (quantile="exact")', **look(0))
    axis.plot(rounds, middle, label="B = 200 draws: median, and 5 % to 95 %", **look(1))
    axis.fill_between(rounds, low, high, color=ORANGE, alpha=0.2, linewidth=0)
    axis.axvline(180, color=GREY, linewidth=1)
    axis.annotate(
        "from round 180 on:\nthe largest of the draws",
        (180, 1.75),
        xytext=(6, 0),
        textcoords="offset points",
        fontsize=9 if narrow else 10,
    )
    axis.set(xscale="log", xlabel="round, at level 0.9/(t + 1)", ylabel="quantile, in standard errors")
    plain_numbers(axis.xaxis)
    explain(figure, axis, narrow, loc="lower right")
    return figure


def subset_means(narrow):
    """The means of all subsets of ten rewards, and the bound."""
    rewards, alpha = REVENUE[:10], 0.05
    kept = all_signs(rewards.size) > 0
    counted = kept[kept.any(axis=1)]
    means = (counted @ rewards) / counted.sum(axis=1)
    bound = float(sign_flip(rewards, alpha).value)
    figure, axis, counts = histogram(means, narrow, beyond=bound)
    axis.axvline(rewards.mean(), color=GREEN, linestyle="--")
    beside = {"xytext": (-4, 0), "textcoords": "offset points", "ha": "right"}
    axis.annotate("mean", (rewards.mean(), 0.95 * counts.max()), **beside)
    axis.annotate(f"bound {bound:.2f}", (bound, 0.75 * counts.max()), xytext=(6, 0), textcoords="offset points")
    axis.set(xlabel="mean of a subset", ylabel="subsets")
    axis.set_title("10 rewards, the means of all 1023 subsets", fontsize=10 if narrow else 12)
    return figure


def plain_numbers(*axes):
    """10 and 100 on a logarithmic axis, not powers, and nothing in between."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}"))
        axis.set_minor_formatter(NullFormatter())


def regret(narrow, policy):
    """Regret of a policy among the others, in each world where it plays."""
    frame = polars.read_parquet(KEPT)
    own = frame.filter(policy=policy)
    played = [world for world in WORLD_TITLES if world in set(own["environment"])]
    figure, axes = canvas(3.2 * len(played) + 0.4 if len(played) > 1 else 4.6, 3.2, narrow, len(played))
    for axis, world in zip(axes, played, strict=True):
        there = frame.filter(environment=world)
        best = there.filter(round=there["round"].max())["mean"].min()
        for name in there["policy"].unique(maintain_order=True):
            curve = there.filter(policy=name)
            if name == policy:
                mean, error = curve["mean"].to_numpy(), 2 * curve["standard_error"].to_numpy()
                axis.plot(curve["round"], mean, color=ORANGE, linewidth=2.2, zorder=3)
                axis.fill_between(curve["round"], mean - error, mean + error, color=ORANGE, alpha=0.2, linewidth=0)
            elif name == YARDSTICK:
                axis.plot(curve["round"], curve["mean"], color=BLUE, linewidth=1.6, linestyle="--", zorder=2)
            else:
                axis.plot(curve["round"], curve["mean"], color=GREY, linewidth=0.6, alpha=0.7)
        highest = own.filter(environment=world)["mean"].max()
        axis.set(xlim=(0, 2000), ylim=(0, max(1.15 * highest, 6 * best)), xlabel="round", title=WORLD_TITLES[world])
        axis.title.set_fontsize(10)
    for axis in axes if narrow else axes[:1]:
        axis.set_ylabel("mean regret")
    return figure


def costs(narrow):
    """What a decision costs, and the regret it buys; on a phone names only of those that no other beats in both."""
    from docs.making import policies  # which does not need pictures

    frame = polars.read_parquet(KEPT).filter(environment="beta", round=2000)
    figure, (axis,) = canvas(8, 5.5, narrow)
    axis.set(xscale="log", yscale="log", xlabel="nanoseconds per decision", ylabel="mean regret")
    cheapest, named = math.inf, 0.0
    points = [
        in_points((policies.costs()[name], regret_)) for name, regret_ in frame.select("policy", "mean").iter_rows()
    ]
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    left = min(x for x, _ in points) - 20
    for row in frame.sort("mean").iter_rows(named=True):
        name, (cost, regret_) = row["policy"], (policies.costs()[row["policy"]], row["mean"])
        kind = list(policies.TOLD).index(policies.told(name))
        axis.plot(cost, regret_, "o", color=COLOURS[kind], markersize=5)
        text = policies.registry()[name].__name__
        if not narrow:
            away = free_offset((cost, regret_), text, taken, left)
            axis.annotate(text, (cost, regret_), away, textcoords="offset points", fontsize=7)
        elif cost < cheapest and regret_ > 1.12 * named:  # names that are no nearer than that do not overlap
            side = {"xytext": (6, -3)} if cost < 50 else {"xytext": (-6, -3), "ha": "right"}
            axis.annotate(text, (cost, regret_), textcoords="offset points", fontsize=8, **side)
            named = regret_
        cheapest = min(cheapest, cost)
    for kind, title in list(enumerate(policies.TOLD.values()))[:4]:
        axis.plot([], [], "o", color=COLOURS[kind], label=title)
    if narrow:
        axis.set_xlim(left=5)
    plain_numbers(axis.xaxis, axis.yaxis)
    explain(figure, axis, narrow, fontsize=8)
    return figure


def in_points(place):
    """Where a cost and a regret are in the picture, in points: a decade is a bit more than a hundred across, 187 up."""
    return 106 * math.log10(place[0]), 187 * math.log10(place[1])


def free_offset(place, text, taken, left):
    """Where a name has room beside its point, in points, right of a limit."""
    x, y = in_points(place)
    width = 4.2 * len(text)
    for away in range(-3, 60, 4):
        for dx, dy in ((5, away), (5, -away - 5), (-width - 5, away), (-width - 5, -away - 5)):
            box = (x + dx, y + dy, x + dx + width, y + dy + 8)
            if box[0] > left and not any(
                box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken
            ):
                taken.append(box)
                return dx, dy
    return 5, 3


def needed(arrows):
    """The arrows that do not follow from others."""
    below = {upper: {v for u, v in arrows if u == upper} for upper in {u for u, _ in arrows}}

    def reach(name):
        return below.get(name, set()).union(*(reach(other) for other in below.get(name, ())))

    return {(u, v) for u, v in arrows if not any(v in reach(w) for w in below[u] - {v})}


def imports(narrow):
    """The layers of the package, and who imports whom."""
    graph = grimp.build_graph("bandstrap", cache_dir=None)  # a cache would get into the source archive
    places = {}
    for height, layer in enumerate(reversed(LAYERS)):
        for i, name in enumerate(layer):
            places[name] = ((i - (len(layer) - 1) / 2) * (9 / max(len(layer), 4)), height)
    figure, (axis,) = new_figure(PHONE, 6.4) if narrow else new_figure(8.5, 8)
    axis.axis("off")
    arrows = {
        (layer_of(module), layer_of(imported))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    }
    down = {(u, v) for u, v in arrows if u and v and places[v][1] < places[u][1]}
    for upper, lower in sorted(needed(down)):
        start, end = places[upper], places[lower]
        bend = 0.0 if start[1] - end[1] == 1 else 0.12
        arrow = {"arrowstyle": "-|>", "color": "#8c959f", "alpha": 0.8, "linewidth": 1, "shrinkA": 12, "shrinkB": 12}
        axis.annotate("", end, start, arrowprops=arrow | {"connectionstyle": f"arc3,rad={bend}"})
    sizes = {name: sum(layer_of(module) == name for module in graph.modules) for name in places}
    for name, (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.35", "facecolor": BLUE, "edgecolor": "none"}
        text = name if sizes[name] < 2 else f"{name} ({sizes[name]})"
        axis.text(x, y, text, ha="center", va="center", fontsize=6.5 if narrow else 9, color="white", bbox=box)
    axis.set(xlim=(-4.9, 4.9), ylim=(-0.6, len(LAYERS) - 0.4))
    return figure


def figure2(narrow):
    """Figure 2 of the paper, redrawn from what ``bandstrap paper 2`` found."""
    frame = polars.read_parquet(DOCS / "figure2.parquet")
    labels = frame["curve"].unique(maintain_order=True).to_list()
    panels = tomllib.loads(files("bandstrap.paper").joinpath("figure2.toml").read_text(encoding="utf-8"))["panels"]
    looks = looks_for({curve["label"]: curve["policy"] for panel in panels for curve in panel["curves"]})
    if narrow:
        figure, axes = canvas(9, 3.2, narrow, len(panels))
    else:
        figure, axes = new_figure(9, 6.6, columns=2, rows=2)
    for axis, panel in zip(axes, panels, strict=True):
        for label in labels:
            curve = frame.filter(panel=panel["name"], curve=label)
            if curve.is_empty():
                continue
            mean, error = curve["mean"].to_numpy(), panel["band"] * curve["standard_error"].to_numpy()
            style = looks[label]
            axis.plot(curve["at"], mean, label=label, **style)
            axis.fill_between(curve["at"], mean - error, mean + error, color=style["color"], alpha=0.18, linewidth=0)
            published = curve.filter(polars.col("published").is_not_null())
            open_circle = {"color": style["color"], "markerfacecolor": "none", "clip_on": False, "zorder": 5, "ms": 5}
            axis.plot(published["at"], published["published"], "o", **open_circle)
        axis.set(xlim=(0, 2000), ylim=(0, None), xlabel="round", ylabel="mean regret")
        axis.set_title(in_symbols(panel["title"]), fontsize=10)
    axes[0].plot([], [], "o", color=GREY, markerfacecolor="none", label="published value")
    explain_all(figure, axes[0], narrow)
    return figure


def theorem(narrow):
    """The bound of the theorem above measured regret, from what ``docs/theorem.py`` keeps."""
    frame = polars.read_parquet(DOCS / "theorem.parquet")
    problems = frame["problem"].unique(maintain_order=True).to_list()
    figure, axes = canvas(9, 3.2, narrow, len(problems))
    for axis, problem in zip(axes, problems, strict=True):
        drawn = frame.filter(problem=problem)
        axis.plot(drawn["round"], drawn["bound"], color=BLUE, label="bound (theorem 1)")
        axis.plot(drawn["round"], drawn["measured"], color=BLUE, linestyle="--", label="measured mean")
        axis.plot(drawn["round"], drawn["least"], color=GREY, linestyle=":", label="least slope, times log T")
        axis.set(xscale="log", xlabel="rounds", ylabel="regret" if narrow or axis is axes[0] else "")
        axis.set_title(problem, fontsize=10)
        plain_numbers(axis.xaxis)
    explain_all(figure, axes[0], narrow)
    return figure


def drift(narrow):
    """The part of the runs on the worse arm, round by round, where the level rises, jumps, and the arms swap."""
    rows = json.loads((DOCS / "drift.json").read_text(encoding="utf-8"))["rows"]
    shown = {"rises": "all rewards rise", "jumps": "all rewards jump", "swaps": "the arms swap"}
    figure, axes = canvas(10, 3.4, narrow, columns=len(shown))
    for axis, (name, title) in zip(axes, shown.items(), strict=True):
        for i, (policy, of) in enumerate(rows[f"{name}, floor 0.05"].items()):
            axis.plot(np.arange(1, 81) * 100, of["curve"], label=policy, **look(i))
        axis.set(title=title, xlabel="round", ylim=(0, 1))
        plain_numbers(axis.xaxis)
    axes[0].set_ylabel("runs on the worse arm")
    explain_all(figure, axes[0], narrow)
    return figure


def real(name):
    """The numbers that ``docs/real_data.py`` kept of a picture."""
    return json.loads((DOCS / "real_data.json").read_text(encoding="utf-8"))[name]["drawn"]


def narrowing(axis, rows, colour, label=None):
    """An estimate and its interval as decisions come."""
    n, estimate, lower, upper = np.array(rows).T
    axis.fill_between(n, lower, upper, color=colour, alpha=0.2, linewidth=0)
    axis.plot(n, estimate, color=colour, label=label)
    axis.axhline(0.0, color=GREY, linewidth=1)
    plain_numbers(axis.xaxis)


def trial(narrow):
    """Each treatment of ACTG 175 against zidovudine alone, as patients come."""
    found = real("trial")
    figure, axes = canvas(9, 3.2, narrow, columns=len(found))
    for axis, (name, rows), colour in zip(axes, found.items(), COLOURS, strict=False):
        narrowing(axis, rows, colour)
        axis.set(
            title=name, ylim=(-0.5, 0.6), xlabel="patients", ylabel="gain, without an event" if axis is axes[0] else ""
        )
    return figure


def visits(narrow):
    """Three plans of the RAND experiment against free care, as families come in the order of the file."""
    found = real("visits")
    shown = {"25 %": "25 % to pay", "95 %": "95 % to pay", "0 %, own deductible": "own deductible"}
    figure, axes = canvas(9, 3.2, narrow, columns=len(shown))
    for axis, (name, title), colour in zip(axes, shown.items(), COLOURS, strict=False):
        narrowing(axis, found[name], colour)
        axis.set(
            title=title,
            xlim=(0, 2300),
            ylim=(-3, 5),
            xlabel="families",
            ylabel="visits fewer" if axis is axes[0] else "",
        )
    return figure


def purchases(narrow):
    """Two letters to CDNOW's customers, of which one does nothing or adds to what is spent: capped and uncapped revenue."""
    found = real("purchases")
    shown = {"no effect": "letter B does nothing", "15 % more": "letter B adds 15 %"}
    figure, axes = canvas(9, 3.4, narrow, columns=len(shown))
    for axis, (name, title) in zip(axes, shown.items(), strict=True):
        narrowing(axis, found[name], BLUE, "capped, exact")
        n, estimate, lower, upper = np.array(found[f"{name}, uncapped"]).T
        axis.plot(n, estimate, color=ORANGE, linestyle="--", label="uncapped, approximate")
        for end in (lower, upper):
            axis.plot(n, end, color=ORANGE, linestyle=":", linewidth=1)
        axis.set(title=title, ylim=(-20, 30), xlabel="customers", ylabel="dollars more" if axis is axes[0] else "")
    explain_all(figure, axes[0], narrow)
    return figure


def banners(narrow):
    """The rate of clicks on each item, had all seen it."""
    found = real("banners")
    figure, (axis,) = canvas(8, 3.6, narrow)
    places = np.arange(len(found))
    estimates, lower, upper = (np.array([row[k] for row in found]) * 100 for k in (1, 2, 3))
    axis.vlines(places, lower, upper, color=BLUE, linewidth=2)
    axis.plot(places, estimates, "o", color=ORANGE, markersize=4)
    axis.set(xlabel="items, sorted by their estimate", ylabel="clicks, per cent", ylim=(0, None))
    axis.set_xticks([])
    return figure


def routing(narrow):
    """Right answers against strong calls of each router over a grid of prices, and what it gains over the better model."""
    found = real("routing")
    figure, (plane, gains) = canvas(9.5, 4.2, narrow, columns=2)
    fixed, markers = found["fixed"], "os^D"
    ends = np.array([fixed["always weak"][0], fixed["random"][0], fixed["always strong"][0]])
    plane.plot(*ends.T, color=GREY, linestyle=":", marker="x", label="always weak, random, always strong")
    best = np.array(fixed["best for each subject"]).T
    plane.plot(*best, color=GREY, linestyle="--", label="best for each subject, in hindsight")
    gains.axhline(0.0, color=GREY, linewidth=1)
    places = np.arange(len(found["prices"]))
    for number, (name, several) in enumerate(found["routers"].items()):
        calls, right, gain = np.array(several).transpose(1, 2, 0)
        style = {"color": COLOURS[number], "marker": markers[number], "markersize": 4, "linewidth": 1, "elinewidth": 1}
        plane.errorbar(calls[0], right[0], spread(right), spread(calls), label=name, **style)
        gains.errorbar(
            places + 0.12 * (number - 1.5), gain[0], spread(gain), linestyle="none", **style | {"linewidth": 0}
        )
    plane.set(xlabel="strong calls, per cent", ylabel="right answers, per cent")
    gains.set(xlabel="price of 100 strong calls, in right answers", ylabel="gain per 100 questions")
    gains.set_xticks(places, [f"{price}" for price in found["prices"]])
    explain_all(figure, plane, narrow)
    return figure


def spread(rows):
    """How far the lower and upper ends are from the means."""
    mean, low, high = rows
    return np.array([mean - low, high - mean])

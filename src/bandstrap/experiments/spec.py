"""TOML format of an experiment, checked.

An environment may be your own data, ``"empirical:clicks.csv,arm=variant,reward=revenue"``: rewards of a CSV file that is
looked for beside the experiment, drawn with replacement. So may the distribution of a panel of bounds be,
``"empirical:clicks.csv,reward=revenue"``.

.. code-block:: toml

    title = "Two policies on a normal bandit"
    horizon = 2000          # rounds; a panel may have its own
    replications = 200      # a panel or a curve may have its own
    seed = 1                # seed of everything, 0 by default; --seed, or seed= in Python, comes before it
    checkpoints = [100, 1000, 2000]  # rounds at which regret is recorded, 200 by default; a panel may have its own
    block_size = 25         # replications that a worker is handed at a time; changes no number

    [[panels]]
    name = "a"
    title = "sigma too large by half"
    plot = "regret"         # mean regret against rounds
    band = 2                # how many standard errors the shaded band reaches to either side
    log = false             # log scale of the vertical axis
    axes = ""               # title of axes that the panels with the same words here share; titles name the curves there
    dodge = false           # curves that coincide are drawn beside each other, as markers with bars
    reading_error = 0.03    # how well published numbers could be read, as a part of them (3 % by default)
    environment = "gaussian"
    [[panels.curves]]
    label = "Bootstrapped UCB"
    policy = "bootstrapped_ucb:sigma=1.5"
    published = 74          # a published end point, if there is one; or points, [[250, 41], [1000, 63], [2000, 74]]
    [[panels.curves]]
    label = "UCB"
    policy = "ucb1:sigma=1.5"
    [[panels.curves]]
    label = "a policy of my own"
    policy = "mine.py:Mine:c=2"  # a class in a file beside this one

    [[panels]]
    name = "b"
    title = "the price of a wrong sigma"
    plot = "sweep"          # regret at the horizon against something that is varied, {sigma} below
    environment = "gaussian"
    sweep = { name = "sigma", values = [1, 2, 5, 10], label = "assumed noise scale" }
    [[panels.curves]]
    label = "UCB"
    policy = "ucb1:sigma={sigma}"

    [[panels]]
    name = "c"
    title = "rewards that are late, in batches, or never come"
    environment = "gaussian"
    delay = 200             # rounds, or a distribution of them such as "geom:p=0.005"; all three may be swept, too
    batch = 100             # rewards are learned at the ends of rounds 100, 200, ...
    lost = 0.1              # share of rewards that are never learned
    choices = true          # keep every choice of every replication; also a key of the whole file, for all its panels
    [[panels.curves]]
    label = "Thompson sampling"
    policy = "gaussian_ts"

    [[panels]]
    name = "d"              # four panels, "d-law=gaussian-n_arms=2" and so on, of four curves each
    environment = "{law}:n_arms={n_arms}"
    grid = { law = ["gaussian", "logistic"], n_arms = [2, 10] }  # every combination; numbers, words, true, lists
    [[panels.curves]]
    label = "UCB"           # three curves, "UCB, sigma = 0.5" and so on, or as you write it, "UCB({sigma})"
    policy = "ucb1:sigma={sigma}"
    grid = { sigma = [0.5, 1, 2] }
    [[panels.curves]]
    label = "Thompson sampling"
    policy = "gaussian_ts"

    [[panels]]
    name = "e"
    title = "bounds on the mean of few rewards"
    plot = "bounds"         # mean threshold against sample size, or, with show = "miss rate", how often it misses
    quantity = "width"      # what the axis says in place of threshold or miss rate
    distribution = "truncated_normal"
    sample_sizes = [1, 2, 5, 10]
    [[panels.curves]]
    label = "sign flip"
    bound = "sign_flip"
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from bandstrap.basics.calls import Call, parse_call, parse_value
from bandstrap.bounds import BOUNDS
from bandstrap.bounds.coverage import check_sample_size, coverage, resolve_distribution
from bandstrap.bounds.empirical import with_digest
from bandstrap.engine.simulator.blocks import BLOCK_SIZE, PolicyLike, checked_checkpoints
from bandstrap.engine.simulator.feedback import Feedback
from bandstrap.engine.simulator.own_file import anchored
from bandstrap.engine.work.memory import bytes_of_result, check_memory
from bandstrap.errors import InvalidInput, unknown
from bandstrap.experiments.curves import CURVES, check_curve
from bandstrap.experiments.grid import (
    NAME,
    Grid,
    GridSettings,
    combinations,
    described,
    fill,
    fill_value,
    names_in,
    panel_name,
    size,
    with_settings,
)
from bandstrap.experiments.toml import (
    Count,
    Strict,
    TomlFlag,
    TomlInteger,
    TomlNumber,
    check_names,
    first_problem,
    placed,
    read_table,
)
from bandstrap.names import NAMED_ENVIRONMENTS, NAMED_POLICIES, anchored_environment, check_game, make


class Sweep(Strict):
    """Parameter sweep: ``{name}`` stands for each of the values in the panel's policies, environment and its keys."""

    name: Annotated[str, Field(pattern=f"^{NAME}$")]
    values: Annotated[tuple[TomlNumber, ...], Field(min_length=1)]
    label: str = ""
    log: TomlFlag = False

    @model_validator(mode="after")
    def log_of_positive(self) -> Sweep:
        """Refuse a log scale of values that are not positive."""
        if self.log and min(self.values) <= 0:
            raise ValueError("the values on a log scale should be greater than 0")
        return self


Checkpoints = Annotated[tuple[Count, ...], Field(min_length=1)]

# Curves of one file, each of which is looked at before anything runs.
MOST_CURVES = 10_000


class Curve(Strict):
    """One line of a panel: a policy, or a bound; with a grid, one line for each combination."""

    label: Annotated[str, Field(min_length=1)]
    policy: str | None = None
    bound: str | None = None
    # What others published: regret at the horizon, or pairs of a place on the axis and a value.
    published: TomlNumber | tuple[tuple[TomlNumber, TomlNumber], ...] | None = None
    replications: Count | None = None
    grid: Grid | None = None
    # Of a curve that was made from a grid: its combination, and which of the panel's curves had it.
    _settings: GridSettings = PrivateAttr(default_factory=dict)
    _number: int | None = PrivateAttr(default=None)

    @property
    def settings(self) -> GridSettings:
        """Values of its own grid from which it was made."""
        return self._settings


class Panel(Strict):
    """One picture; with a grid, one for each combination."""

    name: Annotated[str, Field(pattern=r"^[\w.=-]+$")]
    title: str = ""
    plot: Literal["regret", "sweep", "bounds"] = "regret"
    curves: Annotated[tuple[Curve, ...], Field(min_length=1)]
    horizon: Count | str | None = None
    replications: Count | None = None
    # Rounds at which regret is recorded, the last one beside them; by default as the file says.
    checkpoints: Checkpoints | None = None
    environment: str | None = None
    # When rewards are learned, see :class:`bandstrap.engine.simulator.feedback.Feedback`; a text may hold a swept name.
    delay: TomlInteger | str = 0
    batch: TomlInteger | str = 1
    lost: TomlNumber | str = 0.0
    sweep: Sweep | None = None
    distribution: str | None = None
    sample_sizes: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    alpha: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.05
    show: Literal["threshold", "miss rate"] = "threshold"
    # What the axis calls that, where thresholds stand for something else.
    quantity: str = ""
    band: Annotated[TomlNumber, Field(gt=0)] = 2.0
    # Standard error of a published number that was read off a picture, as a part of it.
    reading_error: Annotated[TomlNumber, Field(ge=0, lt=1)] = 0.03
    # Whether the vertical axis has a log scale.
    log: TomlFlag = False
    # Title of axes that the panels with the same words here share; their own titles name the curves there.
    axes: str = ""
    # Whether curves that coincide are drawn beside each other, as markers with bars of standard errors.
    dodge: TomlFlag = False
    # Whether every choice of every replication is kept; by default as the file says.
    choices: TomlFlag | None = None
    grid: Grid | None = None
    _settings: GridSettings = PrivateAttr(default_factory=dict)

    @property
    def settings(self) -> GridSettings:
        """Values of its grid from which it was made."""
        return self._settings

    @property
    def drawn_on(self) -> tuple[str, str]:
        """Key of its axes: their title if it shares them, else its own name."""
        return (self.axes, "") if self.axes else ("", self.name)

    @model_validator(mode="after")
    def parts_belong_together(self) -> Panel:
        """Refuse a panel with missing or unused keys."""
        needs = {
            "regret": ("environment",),
            "sweep": ("environment", "sweep"),
            "bounds": ("distribution", "sample_sizes"),
        }[self.plot]
        for key in ("environment", "sweep", "distribution", "sample_sizes"):
            if (getattr(self, key) is None) == (key in needs):
                verb = "needs" if key in needs else "has no use for"
                raise ValueError(f"a panel with plot = {self.plot!r} {verb} the key {key!r}")
        of_play = ("horizon", "band", "delay", "batch", "lost", "choices")
        for key in of_play if self.plot == "bounds" else ("alpha", "show", "quantity"):
            if key in self.model_fields_set:
                raise ValueError(f"a panel with plot = {self.plot!r} has no use for the key {key!r}")
        if self.plot != "regret" and self.checkpoints is not None:
            raise ValueError(f"a panel with plot = {self.plot!r} has no use for the key 'checkpoints'")
        if self.sweep is not None and self.sweep.name not in names_in(*self.swept_texts()):
            raise ValueError(
                f"the swept name must stand in curly brackets, {{{self.sweep.name}}}, in the environment, a policy, or the "
                "horizon, delay, batch or lost"
            )
        numbers = {"horizon": "whole number of at least 1", "batch": "whole number of at least 1", "lost": "number"}
        for key, number in numbers.items():
            text = getattr(self, key)
            if isinstance(text, str) and names_in(text).isdisjoint(self.varied):
                raise ValueError(f"{key!r} should be a {number}, or a swept name in curly brackets")
        wanted, other = ("bound", "policy") if self.plot == "bounds" else ("policy", "bound")
        for curve in self.curves:
            if getattr(curve, wanted) is None or getattr(curve, other) is not None:
                raise ValueError(
                    f"each curve of a panel with plot = {self.plot!r} needs the key {wanted!r} and no {other!r}"
                )
        labels = [curve.label for curve in self.curves]
        if len(set(labels)) < len(labels):
            raise ValueError("the labels of a panel's curves must differ")
        self.check_grids()
        return self

    def check_grids(self) -> None:
        """Refuse a name of a grid that is unused or defined twice."""
        calls = {curve.label: (curve.policy or "") + (curve.bound or "") for curve in self.curves}
        unused = {*(self.grid or ())} - names_in(*self.swept_texts(), self.distribution, *calls.values())
        if unused:
            raise ValueError(
                f"{{{min(unused)}}}, a name of the panel's grid, must stand in its environment, distribution, horizon, "
                "delay, batch or lost, or in a policy or bound"
            )
        for curve in self.curves:
            unused = {*(curve.grid or ())} - names_in(calls[curve.label])
            if unused:
                raise ValueError(
                    f"{{{min(unused)}}}, a name of the grid of the curve {curve.label!r}, must stand in its policy or bound"
                )
            counts = Counter([*self.varied, *(curve.grid or ())])
            twice = [name for name, count in counts.items() if count > 1]
            if twice:
                raise ValueError(f"{min(twice)!r} is varied twice: by a grid, and by another grid or the sweep")
            if curve.published is not None and (self.grid or curve.grid):
                raise ValueError(f"the curve {curve.label!r} is made from a grid, which has no one published value")

    @property
    def varied(self) -> list[str]:
        """The names defined by its grid and its sweep."""
        return [*(self.grid or ()), *([self.sweep.name] if self.sweep is not None else [])]

    def swept_texts(self) -> list[str]:
        """Texts in which a swept name may appear."""
        keys = (self.environment, self.horizon, self.delay, self.batch, self.lost)
        return [*map(str, keys), *(curve.policy or "" for curve in self.curves)]


class ExperimentSpec(Strict):
    """An experiment's file: panels, and the settings they share."""

    title: str
    horizon: Count = 2000
    replications: Count = 200
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    # Of panels that show regret against rounds; by default 200, evenly spaced.
    checkpoints: Checkpoints | None = None
    # Replications that a worker is handed at a time, and that a run which is killed loses; no number depends on it.
    block_size: Count = BLOCK_SIZE
    choices: TomlFlag = False
    # How settings that a source leaves open were read; shown with the result.
    readings: tuple[str, ...] = ()
    panels: Annotated[tuple[Panel, ...], Field(min_length=1)]


def read_experiment(path: str | Path) -> ExperimentSpec:
    """Read and check a file, and expand its grids; a mistake is reported in one sentence.

    >>> from importlib.resources import files
    >>> len(read_experiment(str(files("bandstrap.experiments") / "example.toml")).panels) > 0
    True
    """
    path = Path(path)
    return prepared(read_table(path, ExperimentSpec), str(path), path.parent)


def prepared(written: ExperimentSpec, where: str, folder: Path) -> ExperimentSpec:
    """An experiment with its grids spread out and its files looked for in a folder, once all of it has been checked."""
    check_names(where, "panels", [panel.name for panel in written.panels])
    n_curves = sum(size(panel.grid) * sum(size(curve.grid) for curve in panel.curves) for panel in written.panels)
    if n_curves > MOST_CURVES:
        raise InvalidInput(f"{where}: the grids make {n_curves} curves, and a file may have {MOST_CURVES}.")
    places, panels = [], []
    for i, panel in enumerate(written.panels):
        for made in spread_panel(panel, f"{where}: panels[{i}]"):
            shown = f" ({described(made.settings, made.settings)})" if made.settings else ""
            places.append(f"{where}: panels[{i}]{shown}")
            panels.append(made)
    check_names(where, "panels", [panel.name for panel in panels])
    check_axes(where, panels)
    experiment = with_files_beside(written.model_copy(update={"panels": tuple(panels)}), folder)
    for place, panel in zip(places, experiment.panels, strict=True):
        check_panel(panel, experiment, place)
        for curve in panel.curves:  # which need not be in memory together
            alone = panel.model_copy(update={"curves": (curve,)})
            placed(place, lambda alone=alone: check_replications([alone], experiment))
    return experiment


def check_axes(where: str, panels: Iterable[Panel]) -> None:
    """Refuse panels that are to share axes and show different things on them."""
    first: dict[str, Panel] = {}
    for panel in panels:
        other = first.setdefault(panel.axes, panel)
        if panel.axes and shown_across(panel) != shown_across(other):
            raise InvalidInput(
                f"{where}: the panels {other.name!r} and {panel.name!r} share the axes {panel.axes!r}; they must have the "
                "same plot, log, dodge and band, the same label and log of a sweep, the same show and quantity of bounds."
            )


def shown_across(panel: Panel) -> tuple[object, ...]:
    """Values that panels on the same axes have in common."""
    swept = None if panel.sweep is None else (panel.sweep.label or panel.sweep.name, panel.sweep.log)
    return (panel.plot, panel.log, panel.dodge, panel.band, swept, panel.show, panel.quantity)


def spread_panel(panel: Panel, where: str) -> Iterator[Panel]:
    """The panels that a panel with grids stands for, which have none; itself, if it has none."""
    if panel.grid is None and all(curve.grid is None for curve in panel.curves):
        yield panel
        return
    for settings in combinations(panel.grid):
        given = panel.model_dump(exclude_unset=True, exclude={"grid"})
        given |= {
            key: fill_value(given[key], settings) for key in ("horizon", "delay", "batch", "lost") if key in given
        }
        for key in ("environment", "distribution"):
            if given.get(key) is not None:
                given[key] = fill(given[key], settings)
        given["name"] = panel_name(panel.name, settings)
        given["title"] = with_settings(panel.title, settings, ": ")
        curves = [(j, *made) for j, curve in enumerate(panel.curves) for made in spread_curve(curve, settings)]
        given["curves"] = [curve for _, curve, _ in curves]
        try:
            made = Panel.model_validate(given)
        except ValidationError as error:
            shown = f" ({described(settings, settings)})" if settings else ""
            raise InvalidInput(f"{where}{shown}: {first_problem(error, given, Panel)}") from None
        made._settings = settings
        for curve, (number, _, own) in zip(made.curves, curves, strict=True):
            curve._settings, curve._number = own, number
        yield made


def spread_curve(curve: Curve, around: GridSettings) -> Iterator[tuple[GridSettings, GridSettings]]:
    """The curves that a curve stands for, in a panel with some settings, and the settings of each."""
    for own in combinations(curve.grid):
        given = curve.model_dump(exclude_unset=True, exclude={"grid"})
        given |= {key: fill(given[key], around | own) for key in ("policy", "bound") if given.get(key) is not None}
        given["label"] = fill(with_settings(curve.label, own, ", "), around)
        yield given, own


def with_files_beside(experiment: ExperimentSpec, folder: Path) -> ExperimentSpec:
    """An experiment whose policies' own files, and data, are looked for beside it."""

    def found(curve: Curve) -> Curve:
        return curve if curve.policy is None else curve.model_copy(update={"policy": anchored(curve.policy, folder)})

    def world(environment: str | None) -> str | None:
        return environment and anchored_environment(environment, folder)

    def law(distribution: str | None) -> str | None:
        anchored_law = distribution and anchored_environment(distribution, folder)
        try:
            return anchored_law and with_digest(anchored_law)
        except InvalidInput:  # refused later, with its place in the file
            return anchored_law

    panels = [
        panel.model_copy(
            update={
                "curves": tuple(found(curve) for curve in panel.curves),
                "environment": world(panel.environment),
                "distribution": law(panel.distribution),
            }
        )
        for panel in experiment.panels
    ]
    return experiment.model_copy(update={"panels": tuple(panels)})


def check_panel(panel: Panel, experiment: ExperimentSpec, where: str) -> None:
    """Build everything a panel names once, so that a slip in the last panel shows before the first has run."""
    law = panel.distribution
    if law is not None:
        placed(f"{where}.distribution", lambda: resolve_distribution(law))
    for value in panel.sweep.values if panel.sweep is not None else (None,):
        rounds = placed(f"{where}.horizon", lambda value=value: resolve_horizon(panel, experiment.horizon, value))
        if panel.plot == "regret":
            placed(f"{where}.checkpoints", lambda rounds=rounds: make_checkpoints(panel, experiment, rounds))
        world = None
        if panel.environment is not None:
            world = placed(f"{where}.environment", lambda value=value: make_environment(panel, value))
        feedback = placed(where, lambda value=value: make_feedback(panel, value))
        for index, curve in enumerate(panel.curves):
            j = index if curve._number is None else curve._number
            key = "policy" if curve.policy is not None else "bound"
            make = make_policy if curve.policy is not None else make_bound
            made = placed(
                f"{where}.curves[{j}].{key}", lambda curve=curve, value=value, make=make: make(panel, curve, value)
            )
            if world is not None:
                game = functools.partial(check_game, made, world, rounds, feedback)
                placed(f"{where}.curves[{j}].policy", game)


def check_replications(panels: Iterable[Panel], experiment: ExperimentSpec, share: float = 1.0) -> int:
    """Refuse more replications than memory would hold, ``share`` of them being played; the bytes that they take."""
    needed = most = 0
    for panel in panels:
        for curve in panel.curves:
            replications = planned_replications(panel, curve, experiment, share)
            most = max(most, replications)
            for n in panel.sample_sizes or ():
                check_sample_size(n, replications)
            for value in panel.sweep.values if panel.sweep is not None else (None,) * (panel.environment is not None):
                marks = make_checkpoints(panel, experiment, resolve_horizon(panel, experiment.horizon, value))
                needed += bytes_of_result(1, replications, marks.size, make_environment(panel, value).n_arms)
    check_memory(needed, "replications", f"the experiment {experiment.title!r}", most)
    return needed


def planned_replications(panel: Panel, curve: Curve, experiment: ExperimentSpec, share: float = 1.0) -> int:
    """Number of replications of a curve: ``share`` of what is wanted, and at least twice unless one is wanted."""
    wanted = curve.replications or panel.replications or experiment.replications
    return max(min(2, wanted), round(share * wanted))


def filled(text: str, panel: Panel, value: float | None) -> str:
    """A text with the swept value in place of its name."""
    return text if panel.sweep is None or value is None else fill(text, {panel.sweep.name: value})


def make_environment(panel: Panel, value: float | None) -> Any:
    """The environment of a panel."""
    return make(filled(panel.environment or "", panel, value), NAMED_ENVIRONMENTS, "environment")


def make_feedback(panel: Panel, value: float | None) -> Feedback:
    """Feedback of a panel."""
    texts = (filled(str(given), panel, value) for given in (panel.delay, panel.batch, panel.lost))
    delay, batch, lost = (parse_value(text) for text in texts)
    return Feedback(delay, batch, lost, owner=f"the panel {panel.name!r}")


def make_policy(panel: Panel, curve: Curve, value: float | None) -> PolicyLike:
    """The policy of a curve."""
    return make(filled(curve.policy or "", panel, value), NAMED_POLICIES, "policy")


def make_bound(panel: Panel, curve: Curve, value: float | None) -> Call:
    """The call of a bound, once it has been tried on a sample of two."""
    call = parse_call(curve.bound or "")
    if call.name not in (*BOUNDS, *CURVES):
        raise unknown("bound", call.name, (*BOUNDS, *CURVES))
    if call.name in CURVES:
        check_curve(call, panel.distribution or "", panel.alpha)
    else:
        (row,) = coverage(panel.distribution or "", 2, panel.alpha, bounds=[str(call)], replications=1)
        if row.skipped:
            raise InvalidInput(f"the bound {str(call)!r} {row.skipped}.")
    return call


def resolve_horizon(panel: Panel, default: int, value: float | None) -> int:
    """The horizon of a panel at a swept value."""
    if panel.horizon is None:
        return default
    text = filled(str(panel.horizon), panel, value)
    if not text.isdecimal() or int(text) < 1:
        raise InvalidInput(f"the horizon must be a whole number of at least 1. Got {text!r} instead.")
    return int(text)


def make_checkpoints(panel: Panel, experiment: ExperimentSpec, horizon: int) -> NDArray[np.int64]:
    """The rounds at which regret of a panel is recorded; of a sweep it is the last one alone."""
    wanted = experiment.checkpoints if panel.checkpoints is None else panel.checkpoints
    return checked_checkpoints(wanted if panel.sweep is None else [horizon], horizon)

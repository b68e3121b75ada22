"""What to run: the TOML format of an experiment, checked.

An environment may be your own data, ``"empirical:clicks.csv,arm=variant,reward=revenue"``: rewards of a CSV file, found
from the folder where the command is run, and drawn with replacement.

.. code-block:: toml

    title = "Two policies on a normal bandit"
    horizon = 2000          # rounds; a panel may have its own
    replications = 200      # a panel or a curve may have its own

    [[panels]]
    name = "a"
    title = "sigma too large by half"
    plot = "regret"         # mean regret against rounds
    environment = "gaussian"
    [[panels.curves]]
    label = "Bootstrapped UCB"
    policy = "bootstrapped_ucb:sigma=1.5"
    published = 74          # a published number to compare the end point with, if there is one
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
    title = "bounds on the mean of few rewards"
    plot = "bounds"         # mean threshold against sample size, or, with show = "miss rate", how often it misses
    distribution = "truncated_normal"
    sample_sizes = [1, 2, 5, 10]
    [[panels.curves]]
    label = "sign flip"
    bound = "sign_flip"
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bandstrap.bounds import BOUNDS
from bandstrap.bounds.coverage import coverage, measure_exact, resolve_distribution
from bandstrap.calls import parse_call
from bandstrap.engine.simulate import check_horizon, named_policies
from bandstrap.environments import ENVIRONMENTS
from bandstrap.errors import InvalidInput
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from bandstrap.policies.own_file import anchored, make_from_file, parse_file_call

# Environments made of Python objects cannot be written as text.
NAMED_ENVIRONMENTS = {name: cls for name, cls in ENVIRONMENTS.items() if cls.is_called}
NAMED_POLICIES = POLICIES | LINEAR_POLICIES
# The option that a first value without a key stands for, where one is allowed: the data file.
FIRST_OPTIONS = {name: cls.first_option for name, cls in NAMED_ENVIRONMENTS.items() if cls.first_option is not None}
# Names that were given up, and are still understood.
OLD_NAMES = {"sda": "subsample_duels"}
# A curve of the distribution itself beside the bounds.
EXACT = "exact"

Count = Annotated[int, Field(ge=1, strict=True)]
Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
# What pydantic calls things, and what a writer of TOML does.
IN_TOML = {
    "valid dictionary or instance of Panel": "table",
    "valid dictionary or instance of Curve": "table",
    "valid dictionary or instance of Sweep": "table",
    "valid dictionary": "table",
    "a valid tuple": "a list",
    "Tuple should": "the list should",
    " after validation, not 0": "",
}
Table = TypeVar("Table", bound=BaseModel)


class Strict(BaseModel):
    """A table of the file: no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Sweep(Strict):
    """What is varied: ``{name}`` stands for each of the values in the panel's environment, policies and horizon."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")]
    values: Annotated[tuple[Number, ...], Field(min_length=1)]
    label: str = ""
    log: Flag = False

    @model_validator(mode="after")
    def log_of_positive(self) -> Sweep:
        """Refuse a log scale of what has no logarithm."""
        if self.log and min(self.values) <= 0:
            raise ValueError("the values on a log scale should be greater than 0")
        return self


class Curve(Strict):
    """One line of a panel: a policy, or a bound."""

    label: Annotated[str, Field(min_length=1)]
    policy: str | None = None
    bound: str | None = None
    # Regret at the horizon, or pairs of a place on the axis and a value.
    published: Number | tuple[tuple[Number, Number], ...] | None = None
    replications: Count | None = None


class Panel(Strict):
    """One picture."""

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    title: str = ""
    plot: Literal["regret", "sweep", "bounds"] = "regret"
    curves: Annotated[tuple[Curve, ...], Field(min_length=1)]
    horizon: Count | str | None = None
    replications: Count | None = None
    environment: str | None = None
    sweep: Sweep | None = None
    distribution: str | None = None
    sample_sizes: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    alpha: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.05
    show: Literal["threshold", "miss rate"] = "threshold"
    log: Flag = False

    @model_validator(mode="after")
    def parts_belong_together(self) -> Panel:
        """Refuse a panel that lacks what its kind needs or has what it has no use for."""
        needs = {
            "regret": ("environment",),
            "sweep": ("environment", "sweep"),
            "bounds": ("distribution", "sample_sizes"),
        }[self.plot]
        for key in ("environment", "sweep", "distribution", "sample_sizes"):
            if (getattr(self, key) is None) == (key in needs):
                verb = "needs" if key in needs else "has no use for"
                raise ValueError(f"a panel with plot = {self.plot!r} {verb} the key {key!r}")
        for key in ("horizon",) if self.plot == "bounds" else ("alpha", "show", "log"):
            if key in self.model_fields_set:
                raise ValueError(f"a panel with plot = {self.plot!r} has no use for the key {key!r}")
        if self.sweep is not None and not any("{" + self.sweep.name + "}" in text for text in self.swept_texts()):
            raise ValueError(
                f"the swept name must stand in curly brackets, {{{self.sweep.name}}}, in the environment, a policy or the "
                "horizon"
            )
        if isinstance(self.horizon, str) and (self.sweep is None or "{" + self.sweep.name + "}" not in self.horizon):
            raise ValueError("the horizon should be a whole number of at least 1, or a swept name in curly brackets")
        wanted, other = ("bound", "policy") if self.plot == "bounds" else ("policy", "bound")
        for curve in self.curves:
            if getattr(curve, wanted) is None or getattr(curve, other) is not None:
                raise ValueError(
                    f"each curve of a panel with plot = {self.plot!r} needs the key {wanted!r} and no {other!r}"
                )
        labels = [curve.label for curve in self.curves]
        if len(set(labels)) < len(labels):
            raise ValueError("the labels of a panel's curves must differ")
        return self

    def swept_texts(self) -> list[str]:
        """Where a swept name may appear."""
        return [self.environment or "", str(self.horizon or ""), *(curve.policy or "" for curve in self.curves)]


class Experiment(Strict):
    """A file: panels, and what they share."""

    title: str
    horizon: Count = 2000
    replications: Count = 200
    # How settings that a source leaves open were read; shown with the result.
    readings: tuple[str, ...] = ()
    panels: Annotated[tuple[Panel, ...], Field(min_length=1)]


def read_experiment(path: Path) -> Experiment:
    """Read and check a file; whatever is wrong with it is reported in one sentence."""
    experiment = with_files_beside(read_table(path, Experiment), path.parent)
    check_names(path, "panels", [panel.name for panel in experiment.panels])
    for i, panel in enumerate(experiment.panels):
        check_panel(panel, experiment.horizon, f"{path}: panels[{i}]")
    return experiment


def with_files_beside(experiment: Experiment, folder: Path) -> Experiment:
    """An experiment whose policies' own files, and data, are looked for beside it."""

    def found(curve: Curve) -> Curve:
        return curve if curve.policy is None else curve.model_copy(update={"policy": anchored(curve.policy, folder)})

    def world(environment: str | None) -> str | None:
        return environment and anchored_environment(environment, folder)

    panels = [
        panel.model_copy(
            update={
                "curves": tuple(found(curve) for curve in panel.curves),
                "environment": world(panel.environment),
            }
        )
        for panel in experiment.panels
    ]
    return experiment.model_copy(update={"panels": tuple(panels)})


def anchored_environment(text: str, folder: Path) -> str:
    """A call whose file, if it names one, is looked for in ``folder`` unless its path is absolute."""
    try:
        call = parse_call(text, FIRST_OPTIONS)
    except InvalidInput:  # refused later, with its place in the file
        return text
    file = call.options.get(FIRST_OPTIONS.get(call.name, ""))
    if not isinstance(file, str):
        return text
    return str(call._replace(options=call.options | {FIRST_OPTIONS[call.name]: str(folder / file)}))


def read_table(path: Path, model: type[Table]) -> Table:
    """A TOML file as a model says it must be."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise InvalidInput(f"{str(path)!r} is not a TOML file: {error}.") from None
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not a TOML file: {error}.") from None
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise InvalidInput(f"{path}: {first_problem(error, content, model)}") from None


def check_names(path: Path, key: str, names: Sequence[str]) -> None:
    """Refuse tables of one kind that share a name."""
    if len(set(names)) < len(names):
        raise InvalidInput(f"{path}: the names of the {key} must differ. Got {', '.join(names)} instead.")


def first_problem(error: ValidationError, content: Any, model: type[BaseModel]) -> str:
    """The first thing pydantic found, as a sentence with the key and what is allowed."""
    problem = error.errors()[0]
    # pydantic names the variant of a union it tried; only keys and positions are the user's.
    place: list[Any] = []
    value: Any = content
    for part in problem["loc"]:
        known: Any = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if part in known:
            value = value[part]
            place.append(part)
    if problem["type"] in ("missing", "extra_forbidden"):
        key = repr(problem["loc"][-1])
        table = place[:-1] if problem["type"] == "extra_forbidden" else place
        where = f" of {as_key(table)}" if table else ""
        if problem["type"] == "missing":
            return f"the key {key}{where} is missing."
        return f"unknown key {key}{where}; allowed are {', '.join(allowed_keys(table, model))}."
    message = problem["msg"].removeprefix("Value error, ")
    for theirs, ours in IN_TOML.items():
        message = message.replace(theirs, ours)
    where = f"'{as_key(place)}': " if place else ""
    shown = f" Got {value!r} instead." if not isinstance(value, dict | list) else ""
    return f"{where}{message[0].lower()}{message[1:]}.{shown}"


def allowed_keys(table: list[Any], model: type[BaseModel]) -> list[str]:
    """The keys of the table at a place in the file."""
    for key in table:
        if isinstance(key, str):
            model = inner_model(model.model_fields[key].annotation)
    return list(model.model_fields)


def inner_model(annotation: Any) -> Any:
    """The model inside an annotation such as ``tuple[Panel, ...] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := inner_model(part)) is not None), None)


def as_key(place: list[Any]) -> str:
    """``panels[0].curves[1].policy``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def check_panel(panel: Panel, horizon: int, where: str) -> None:
    """Build everything a panel names once, so that a slip in the last panel shows before the first has run."""
    if panel.distribution is not None:
        described(f"{where}.distribution", lambda: resolve_distribution(panel.distribution))
    for value in panel.sweep.values if panel.sweep is not None else (None,):
        rounds = described(f"{where}.horizon", lambda value=value: resolve_horizon(panel, horizon, value))
        world = None
        if panel.environment is not None:
            world = described(f"{where}.environment", lambda value=value: make_environment(panel, value))
        for j, curve in enumerate(panel.curves):
            key = "policy" if curve.policy is not None else "bound"
            make = make_policy if curve.policy is not None else make_bound
            made = described(
                f"{where}.curves[{j}].{key}", lambda curve=curve, value=value, make=make: make(panel, curve, value)
            )
            if world is not None:
                game = functools.partial(check_game, made, world, rounds)
                described(f"{where}.curves[{j}].policy", game)


def check_game(policy: Any, environment: Any, horizon: int) -> None:
    """Refuse a policy that cannot play that many rounds of an environment."""
    names, policies = named_policies(policy)
    check_horizon(names, policies, environment, horizon)


def described(where: str, build: Any) -> Any:
    """What ``build`` builds; a refusal names the file and the key."""
    try:
        return build()
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    except ValueError as error:  # NumPy's or SciPy's
        raise InvalidInput(f"{where}: {error}.") from None


def filled(text: str, panel: Panel, value: float | None) -> str:
    """A text with the swept value in place of its name."""
    if panel.sweep is None or value is None:
        return text
    return text.replace("{" + panel.sweep.name + "}", f"{value:.12g}")


def make_environment(panel: Panel, value: float | None) -> Any:
    """The environment of a panel."""
    return make(filled(panel.environment or "", panel, value), NAMED_ENVIRONMENTS, "environment")


def make_policy(panel: Panel, curve: Curve, value: float | None) -> Any:
    """The policy of a curve."""
    return make(filled(curve.policy or "", panel, value), NAMED_POLICIES, "policy")


def make_bound(panel: Panel, curve: Curve, value: float | None) -> Any:
    """The call of a bound, once it has been tried on a sample of two."""
    call = parse_call(curve.bound or "")
    if call.name not in (*BOUNDS, EXACT):
        known = ", ".join(repr(name) for name in (*BOUNDS, EXACT))
        raise InvalidInput(f"unknown bound {call.name!r}; known are {known}.")
    if call.name == EXACT:
        if call.options:
            raise InvalidInput(f"the bound {EXACT!r} takes no options. Got {str(call)!r} instead.")
        measure_exact(panel.distribution, 1, panel.alpha)
    else:
        (row,) = coverage(panel.distribution or "", 2, panel.alpha, bounds=[str(call)], replications=1)
        if row.skipped:
            raise InvalidInput(f"the bound {str(call)!r} {row.skipped}.")
    return call


def make(text: str, registry: dict[str, Any], kind: str) -> Any:
    """Build a policy or an environment from ``name:key=value,...``; a policy also from ``file.py:Class:key=value,...``."""
    in_file = parse_file_call(text) if kind == "policy" else None
    if in_file is not None:
        return make_from_file(in_file)
    call = parse_call(text, FIRST_OPTIONS)
    call = call._replace(name=OLD_NAMES.get(call.name, call.name))
    if call.name not in registry:
        known = ", ".join(repr(name) for name in registry)
        raise InvalidInput(f"unknown {kind} {call.name!r}; known are {known}.")
    return registry[call.name].from_call(**call.options)


def resolve_horizon(panel: Panel, default: int, value: float | None) -> int:
    """The horizon of a panel at a swept value."""
    if panel.horizon is None:
        return default
    text = filled(str(panel.horizon), panel, value)
    if not text.isdecimal() or int(text) < 1:
        raise InvalidInput(f"the horizon must be a whole number of at least 1. Got {text!r} instead.")
    return int(text)

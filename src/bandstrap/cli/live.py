"""``bandstrap live``: experiments behind real traffic, kept in a database."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bandstrap.cli.terminal import Commands, complain, print_table, say, write_json
from bandstrap.errors import brief, requirement
from bandstrap.storage import check_file

if TYPE_CHECKING:
    from bandstrap.live import Experiment
    from bandstrap.live.status import Status

app = typer.Typer(name="live", cls=Commands, no_args_is_help=True, help="Run a policy behind real traffic.")
arm = typer.Typer(name="arm", cls=Commands, no_args_is_help=True, help="Add, pause, resume or retire an arm.")
app.add_typer(arm)

Target = Annotated[str, typer.Argument(metavar="DATABASE", help="File of SQLite, or postgresql://user@host/database.")]
Name = Annotated[str, typer.Argument(help="Name of the experiment.")]
Label = Annotated[str, typer.Argument(help="Label of the arm.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Id of a decision, as 'decide' gives it.")]
Actor = Annotated[
    str | None, typer.Option(help="Who does it, for the audit trail; by default the user who runs the command.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# Settings that may be changed later, too. Left out, they have the library's defaults, or stay as they are.
Floor = Annotated[
    float | None, typer.Option(help="Share of decisions spread evenly over all arms; 0.02 if never given.")
]
Holdout = Annotated[
    float | None,
    typer.Option(help="Share of units that get the control and are never learned from; 0 if never given."),
]
Control = Annotated[
    str | None, typer.Option(help="Arm, or number of the action, that the holdout gets, and everybody in shadow mode.")
]
BurnIn = Annotated[int | None, typer.Option(help="An arm with fewer rewards is new; 20 if never given.")]
NewArmShare = Annotated[float | None, typer.Option(help="Largest share of a new arm; 0.1 if never given.")]
Mode = Annotated[
    str | None,
    typer.Option(
        help="live, or shadow: the control is served, and the policy's choice is logged; live if never given."
    ),
]
Refresh = Annotated[
    str | None, typer.Option(help="How old a worker's state may be at a decision, such as 500ms; 1s if never given.")
]


@app.command()
def create(
    target: Target,
    name: Name,
    policy: Annotated[
        str,
        typer.Option(
            help="Policy with options, such as bootstrapped_ucb_plus, 'ucb1:sigma=2' or 'lin_ucb:dimension=5'; a class in "
            "a file of your own is FILE.py:Class."
        ),
    ],
    arm: Annotated[
        list[str] | None,
        typer.Option(help="Label of an arm; given two times or more, and not for linear policies."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything; a fresh one if not given.")] = None,
    direction: Annotated[
        str | None, typer.Option(help="max, or min where rewards are costs; max if not given.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="How long rewards are waited for, such as 24h, 30m, 7d; for ever if not given.")
    ] = None,
    default_reward: Annotated[
        float | None, typer.Option(help="Learned of a decision without a reward when its window closes.")
    ] = None,
    aggregate: Annotated[
        str | None, typer.Option(help="Which of several rewards counts: first, last or sum; first if not given.")
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            help="Draws of the policy's randomness where its weights have no closed form; 1000 if not given, or 100 "
            "with a linear policy."
        ),
    ] = None,
    floor: Floor = None,
    holdout: Holdout = None,
    control: Control = None,
    burn_in: BurnIn = None,
    new_arm_share: NewArmShare = None,
    mode: Mode = None,
    refresh: Refresh = None,
    durability: Annotated[
        str | None,
        typer.Option(help="Of SQLite: full survives a power cut, normal the end of a process; full if not given."),
    ] = None,
    actor: Actor = None,
) -> None:
    """Create an experiment, or find that there is one of this name with the same settings."""
    from bandstrap import live

    options = given(
        arms=arm or None,
        seed=seed,
        direction=direction,
        window=as_duration(window),
        default_reward=default_reward,
        aggregate=aggregate,
        draws=draws,
        floor=floor,
        holdout=holdout,
        control=control if arm else as_action(control),
        burn_in=burn_in,
        new_arm_share=new_arm_share,
        mode=mode,
        refresh=as_duration(refresh),
        durability=durability,
        actor=actor,
    )
    with live.create(target, name, policy=policy, **options) as experiment:
        settings = experiment.definition
        choices = f"arms {', '.join(settings.arms)}" if settings.arms else "actions"
        say(f"{experiment.name}: {settings.policy}, {choices}, seed {settings.seed}")


@app.command()
def decide(
    target: Target,
    name: Name,
    unit: Annotated[str | None, typer.Option(help="Who or what the decision is for.")] = None,
    key: Annotated[str | None, typer.Option(help="The same key gives the same decision.")] = None,
    available: Annotated[
        list[str] | None, typer.Option(help="An arm that can be served; all by default. May be given more than once.")
    ] = None,
    actions: Annotated[
        str | None,
        typer.Option(
            help="Features of the actions for linear policies, one list per action: '[[1, 0], [0, 1]]', or a file of "
            "JSON; '-' reads standard input."
        ),
    ] = None,
    defer: Annotated[bool, typer.Option("--defer", help="The decision counts once it is activated.")] = False,
    as_json: AsJson = False,
) -> None:
    """Decide what to serve, and print the arm; its id goes to standard error, or print all of it with --json."""
    features = None if actions is None else read_actions(actions)
    with opened(target, name) as experiment:
        decision = experiment.decide(unit, available=available or None, actions=features, key=key, defer=defer)
    if as_json:
        write_json(decision._asdict())
    else:
        say(str(decision.arm))
        complain(f"decision {decision.id}, propensity {decision.propensity:.6g}, {decision.source}")


@app.command(context_settings={"ignore_unknown_options": True})  # a reward may be -1.5
def reward(
    target: Target,
    name: Name,
    decision: Id,
    value: Annotated[float, typer.Argument(help="The reward.")],
    key: Annotated[str | None, typer.Option(help="Tells apart several rewards of one decision.")] = None,
) -> None:
    """Store a reward, and print what became of it: stored, duplicate or late."""
    with opened(target, name) as experiment:
        say(experiment.reward(decision, value, key))


@app.command()
def activate(target: Target, name: Name, decision: Id) -> None:
    """Let a deferred decision count from now on."""
    with opened(target, name) as experiment:
        say("activated" if experiment.activate(decision) else "active before")


@app.command()
def change(
    target: Target,
    name: Name,
    floor: Floor = None,
    holdout: Holdout = None,
    control: Control = None,
    burn_in: BurnIn = None,
    new_arm_share: NewArmShare = None,
    mode: Mode = None,
    refresh: Refresh = None,
    actor: Actor = None,
) -> None:
    """Change settings; those left out stay as they are."""
    settings = given(
        floor=floor,
        holdout=holdout,
        burn_in=burn_in,
        new_arm_share=new_arm_share,
        mode=mode,
        refresh=as_duration(refresh),
    )
    with opened(target, name) as experiment:
        if control is not None:
            settings["control"] = as_action(control) if experiment.definition.is_linear else control
        experiment.change(actor=actor, **settings)
        say(f"version {experiment.refresh()}")


@app.command()
def status(
    target: Target,
    name: Name,
    as_json: AsJson = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures into this file; it needs no network.")
    ] = None,
) -> None:
    """Show how an experiment stands: arms, rewards, how late they come, the lift over the holdout, and changes."""
    if html is not None:
        check_file(html, "html", "bandstrap live status")
    with opened(target, name) as experiment:
        found = experiment.status()
    if html is not None:
        from bandstrap.live.page import write_status_page

        write_status_page(found, html)
    if as_json:
        write_json(found.to_dict())
    else:
        print_status(found)
        if html is not None:
            say(f"page: {html}")


@app.command()
def replay(target: Target, name: Name, as_json: AsJson = False) -> None:
    """Make every decision again from the log, and compare it with what is stored; exit code 1 if one differs."""
    with opened(target, name) as experiment:
        found = experiment.replay()
    if as_json:
        write_json(found._asdict() | {"is_identical": found.is_identical})
    else:
        say(str(found))
    if not found.is_identical:
        raise typer.Exit(1)


@app.command()
def export(
    target: Target,
    name: Name,
    path: Annotated[Path, typer.Argument(metavar="FILE.parquet", help="File to write, one row per decision.")],
) -> None:
    """Write all decisions with their rewards and propensities as a Parquet file."""
    with opened(target, name) as experiment:
        experiment.export(path)
    say(f"decisions: {path}")


# --- arms ---------------------------------------------------------------------------------------------------------------


@arm.command()
def add(target: Target, name: Name, label: Label, actor: Actor = None) -> None:
    """Add an arm; while it is new it gets a small share."""
    change_arm(target, name, lambda experiment: experiment.add_arm(label, actor=actor))


@arm.command()
def pause(target: Target, name: Name, label: Label, actor: Actor = None) -> None:
    """Serve an arm no longer, until it is resumed."""
    change_arm(target, name, lambda experiment: experiment.pause(label, actor=actor))


@arm.command()
def resume(target: Target, name: Name, label: Label, actor: Actor = None) -> None:
    """Serve again an arm that was paused."""
    change_arm(target, name, lambda experiment: experiment.resume(label, actor=actor))


@arm.command()
def retire(target: Target, name: Name, label: Label, actor: Actor = None) -> None:
    """Serve an arm never again; what is known of it is kept."""
    change_arm(target, name, lambda experiment: experiment.retire(label, actor=actor))


def change_arm(target: str, name: str, how: Callable[[Experiment], None]) -> None:
    """Change an arm, and say which version has it."""
    with opened(target, name) as experiment:
        how(experiment)
        say(f"version {experiment.refresh()}")


# --- arguments ----------------------------------------------------------------------------------------------------------


def opened(target: str, name: str) -> Experiment:
    """The experiment of this name."""
    from bandstrap import live

    return live.open(target, name)


def given(**settings: Any) -> dict[str, Any]:
    """The settings that were given."""
    return {name: value for name, value in settings.items() if value is not None}


def as_action(control: str | None) -> str | int | None:
    """A control of actions, which is a number."""
    return int(control) if control is not None and control.isdecimal() else control


def as_duration(text: str | None) -> str | float | None:
    """A length of time as the library takes it: with a unit, or a number of seconds."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def read_actions(text: str) -> Any:
    """Features of actions from JSON, in the argument itself, in a file, or on standard input."""
    owner = "bandstrap live decide"
    source = text
    if text == "-":
        source = sys.stdin.read()
    elif not text.lstrip().startswith("["):
        try:
            source = Path(text).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise requirement("actions", owner, "a file of JSON in UTF-8", brief(text)) from None
    try:
        return json.loads(source)
    except (ValueError, RecursionError):
        rule = "lists of numbers in JSON, one list per action, such as [[1, 0], [0, 1]]"
        raise requirement("actions", owner, rule, brief(source)) from None


# --- the status on a terminal -------------------------------------------------------------------------------------------


def print_status(found: Status) -> None:
    """The status in lines and tables."""
    from bandstrap.live.report import arm_table, lines_of, show_time

    for line in lines_of(found):
        say(line)
    if found.arms:
        columns = arm_table(found)
        print_table(list(columns), list(zip(*columns.values(), strict=True)))
    if found.changes:
        rows = [(each.seq, show_time(each.at), each.actor, each.what) for each in found.changes]
        print_table(("version", "time (UTC)", "by", "change"), rows)

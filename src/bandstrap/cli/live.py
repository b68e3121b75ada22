"""``bandstrap live``: experiments behind real traffic, kept in a database."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_origin, get_type_hints

import typer

from bandstrap.basics.deprecation import with_new_names
from bandstrap.cli.logs import AlphaOption
from bandstrap.cli.options import (
    AggregateName,
    DirectionName,
    DurabilityName,
    ModeName,
    OutOfRangeName,
    ScreenFormat,
    split_labels,
)
from bandstrap.cli.readout import ComparedControl, EpsilonOption, PageOption, check_page
from bandstrap.cli.terminal import Commands, complain, print_table, say, say_wrapped, write_json
from bandstrap.errors import brief, requirement

if TYPE_CHECKING:
    from bandstrap.live import AppliedChange, Experiment
    from bandstrap.live.status import Status

Body = TypeVar("Body", bound=Callable[..., Any])

HELP = "Run a policy behind real traffic."
app = typer.Typer(name="live", cls=Commands, no_args_is_help=True, rich_markup_mode=None, help=HELP)
ARM_HELP = "Add, pause, resume or retire an arm."
arm = typer.Typer(name="arm", cls=Commands, no_args_is_help=True, rich_markup_mode=None, help=ARM_HELP)
app.add_typer(arm)

Target = Annotated[
    str, typer.Argument(metavar="DATABASE", help="SQLite file, or the address postgresql://user@host/database.")
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the experiment.")]
Label = Annotated[str, typer.Argument(metavar="ARM", help="Label of the arm.")]
Id = Annotated[str, typer.Argument(metavar="DECISION", help="Id of a decision, as printed by 'decide'.")]
Actor = Annotated[
    str | None, typer.Option(help="Author of the change in the audit trail; default: the user who runs the command.")
]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Run the Python file named in the database, for a policy in your own file.")
]
Timeout = Annotated[
    str | None, typer.Option(help="Seconds, or a time such as 1m, that each transaction may take; default: 10.")
]
Wait = Annotated[
    bool, typer.Option("--wait", help="Wait until all workers follow the change, as long as their refresh.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# Settings that may be changed later, too. Left out, they have the library's defaults, or stay as they are.
Floor = Annotated[
    float | None, typer.Option(help="Share of decisions spread evenly over all arms; default when created: 0.02.")
]
Holdout = Annotated[
    float | None,
    typer.Option(
        help="Share of units that always get the control. The policy never learns from them; default when created: 0."
    ),
]
Control = Annotated[
    str | None,
    typer.Option(help="Arm, or number of the action, served to the holdout, and to everybody in shadow mode."),
]
BurnIn = Annotated[
    int | None, typer.Option(help="Number of rewards below which an arm counts as new; default when created: 20.")
]
NewArmShare = Annotated[
    float | None, typer.Option(help="Largest share of decisions for a new arm; default when created: 0.1.")
]
ModeOption = Annotated[
    ModeName | None,
    typer.Option(
        help="'live' serves the policy's choice. 'shadow' serves the control and logs the policy's choice. Default when "
        "created: live."
    ),
]
Refresh = Annotated[
    str | None,
    typer.Option(help="Largest age of a worker's state at a decision, such as 500ms; default when created: 1s."),
]


# --- commands about one experiment --------------------------------------------------------------------------------------


def address(target: Target, name: NameArgument) -> None:
    """Parameters that come first."""


def authorship(actor: Actor = None, wait: Wait = False) -> None:
    """Parameters of changes."""


def access(code: AllowCode = False, timeout: Timeout = None) -> None:
    """Parameters that come last."""


def command(group: typer.Typer, *, changes: bool = False, **settings: Any) -> Callable[[Body], Body]:
    """Make a command of a function that is given the open experiment; what it returns is printed.

    The experiment's address comes before the function's own parameters. After them come those of changes, which it
    takes as ``**who``, and how the database is opened.
    """

    def register(body: Body) -> Body:
        def run(target: str, name: str, code: bool, timeout: str | None, **options: Any) -> None:
            from bandstrap import live

            with live.open(target, name, code=code, **given(timeout=as_duration(timeout))) as experiment:
                said = body(experiment, **options)
            if said is not None:
                say(str(said))

        after = [*(parameters(authorship) if changes else []), *parameters(access)]
        signature = inspect.Signature([*parameters(address), *parameters(body), *after])
        run.__name__, run.__doc__ = body.__name__, body.__doc__
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
        group.command(**settings)(run)
        return body

    return register


def parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Parameters of a function that are options or arguments, with their types."""
    types = get_type_hints(function, localns={"Experiment": Any, "AppliedChange": Any}, include_extras=True)
    found = inspect.signature(function).parameters.values()
    return [each.replace(annotation=types[each.name]) for each in found if get_origin(types[each.name]) is Annotated]


# --- from the beginning to the end --------------------------------------------------------------------------------------


@app.command()
def create(
    target: Target,
    name: NameArgument,
    policy: Annotated[
        str,
        typer.Option(
            help="Policy with options, such as edgeworth_ucb, ucb1:sigma=2 or lin_ucb:dimension=5, or a class in your own "
            "file, FILE.py:Class."
        ),
    ],
    arms: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABELS",
            help="Labels of two or more arms, separated by commas, such as red,green. Linear policies have none.",
        ),
    ] = None,
    arm: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all random numbers; default: a fresh one, which is printed.")
    ] = None,
    direction: Annotated[
        DirectionName | None, typer.Option(help="'min' where rewards are costs; default: max.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="Time in which a reward counts, such as 30m, 24h or 7d; default: no limit.")
    ] = None,
    default_reward: Annotated[
        float | None, typer.Option(help="Reward assumed for a decision that has received none when its window closes.")
    ] = None,
    aggregate: Annotated[
        AggregateName | None,
        typer.Option(help="Reward that counts where a decision has received several; default: first."),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            help="Number of draws that estimate the arms' probabilities where they have no closed form; default: 1000, "
            "with a linear policy 100."
        ),
    ] = None,
    floor: Floor = None,
    holdout: Holdout = None,
    control: Control = None,
    burn_in: BurnIn = None,
    new_arm_share: NewArmShare = None,
    mode: ModeOption = None,
    refresh: Refresh = None,
    reward_range: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", help="Smallest and largest reward, such as 0 500; default: no limits."),
    ] = None,
    out_of_range: Annotated[
        OutOfRangeName | None,
        typer.Option(
            help="Treatment of a reward outside --reward-range: 'refuse', or 'clip' to the nearer end; default: refuse."
        ),
    ] = None,
    durability: Annotated[
        DurabilityName | None,
        typer.Option(
            help="Safety of an SQLite file: 'full' survives a power cut, 'normal' only the crash of a process; "
            "default: full."
        ),
    ] = None,
    timeout: Timeout = None,
    actor: Actor = None,
) -> None:
    """Create an experiment, or open it if one with this name and the same settings exists."""
    from bandstrap import live

    labels = with_new_names(given(arms=split_labels(arms), arm=arm or None), {"arm": "arms"}, "bandstrap live create")
    options = labels | given(
        seed=seed,
        direction=direction,
        window=as_duration(window),
        default_reward=default_reward,
        aggregate=aggregate,
        draws=draws,
        floor=floor,
        holdout=holdout,
        control=control if labels else as_action(control),
        burn_in=burn_in,
        new_arm_share=new_arm_share,
        mode=mode,
        refresh=as_duration(refresh),
        reward_range=reward_range,
        out_of_range=out_of_range,
        durability=durability,
        timeout=as_duration(timeout),
        actor=actor,
    )
    with live.create(target, name, policy=policy, **options) as experiment:
        settings = experiment.definition
        choices = f"arms {', '.join(settings.arms)}" if settings.arms else "actions"
        say(f"{experiment.name}: {settings.policy}, {choices}, seed {settings.seed}")


@app.command("list")
def list_names(target: Target, timeout: Timeout = None) -> None:
    """List the experiments of a database, one per line, and how they ended."""
    from bandstrap import live

    for each in live.overview(target, **given(timeout=as_duration(timeout))):
        say(str(each))


@command(app)
def decide(
    experiment: Experiment,
    unit: Annotated[str | None, typer.Option(help="Id of the visitor, user or order that the decision is for.")] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same key returns the same decision.")] = None,
    available: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABELS", help="Arms that can be served, separated by commas, such as red,green; default: all."
        ),
    ] = None,
    actions: Annotated[
        str | None,
        typer.Option(
            help="Features of the actions for a linear policy, one list per action: '[[1, 0], [0, 1]]', or a JSON file; "
            "'-' reads standard input."
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(
            help='Context of the visit, for a contextual policy, as JSON: \'{"device": "phone"}\', or a JSON file; '
            "'-' reads standard input."
        ),
    ] = None,
    defer: Annotated[
        bool, typer.Option("--defer", help="Ignore the decision until 'activate' is called for it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Decide what to serve, and print the arm.

    Id and propensity go to standard error; --json prints everything to standard output.
    """
    features = None if actions is None else read_actions(actions)
    seen = None if context is None else read_actions(context, "context")
    decision = experiment.decide(
        unit, available=split_labels(available), actions=features, context=seen, key=key, defer=defer
    )
    if as_json:
        write_json(decision._asdict())
    else:
        say(str(decision.arm))
        complain(f"decision {decision.id}, propensity {decision.propensity:.6g}, {decision.source}")


@command(app, context_settings={"ignore_unknown_options": True})  # a reward may be -1.5
def reward(
    experiment: Experiment,
    decision: Id,
    value: Annotated[float, typer.Argument(metavar="VALUE", help="Reward of the decision.")],
    key: Annotated[str | None, typer.Option(help="Idempotency key, for a decision with several rewards.")] = None,
) -> str:
    """Store a reward, and print the outcome: stored, duplicate or late."""
    return experiment.reward(decision, value, key)


@command(app)
def activate(experiment: Experiment, decision: Id) -> str:
    """Activate a deferred decision: from now on it counts."""
    return "activated" if experiment.activate(decision) else "active before"


@command(app, changes=True)
def change(
    experiment: Experiment,
    floor: Floor = None,
    holdout: Holdout = None,
    control: Control = None,
    burn_in: BurnIn = None,
    new_arm_share: NewArmShare = None,
    mode: ModeOption = None,
    refresh: Refresh = None,
    **who: Any,
) -> AppliedChange:
    """Change settings of an experiment; options left out keep their values."""
    settings = given(
        floor=floor,
        holdout=holdout,
        burn_in=burn_in,
        new_arm_share=new_arm_share,
        mode=mode,
        refresh=as_duration(refresh),
    )
    if control is not None:
        settings["control"] = as_action(control) if experiment.definition.is_linear else control
    return experiment.change(**settings, **who)


@command(app, changes=True)
def finish(
    experiment: Experiment,
    ship: Annotated[str, typer.Option(metavar="ARM", help="Arm that is served to all from now on.")],
    holdout: Annotated[
        float, typer.Option(help="Share of units that still get the control, to keep measuring the lift.")
    ] = 0.0,
    **who: Any,
) -> AppliedChange:
    """End an experiment: serve one arm to all. Log and evidence are kept; 'change --mode live' undoes it."""
    return experiment.finish(ship, holdout=holdout, **who)


@command(app, changes=True)
def archive(experiment: Experiment, **who: Any) -> AppliedChange:
    """Stop an experiment: it makes no further decisions. Nothing stored is lost; 'change --mode live' undoes it."""
    return experiment.archive(**who)


@command(app)
def refresh(experiment: Experiment, as_json: AsJson = False) -> None:
    """Learn all rewards that are due, for example from a cron job; workers then have less to do."""
    version = experiment.refresh()
    write_json({"version": version}) if as_json else say(f"version {version}")


@command(app, changes=True)
def void(experiment: Experiment, decision: Id, **who: Any) -> AppliedChange:
    """Withdraw the rewards of a decision; nothing is learned from it any more."""
    return experiment.void(decision, **who)


@command(app)
def status(
    experiment: Experiment,
    as_json: AsJson = False,
    html: Annotated[
        Path | None, typer.Option(help="File for a page with pictures, which can be read without a network.")
    ] = None,
) -> None:
    """Show the state of an experiment: arms, rewards and their delays, lift over the holdout, changes."""
    check_page(html, "bandstrap live status")
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


@command(app)
def readout(
    experiment: Experiment,
    control: ComparedControl = None,
    alpha: AlphaOption = 0.05,
    epsilon: EpsilonOption = None,
    format: ScreenFormat = "table",  # noqa: A002 - the flag's name
    html: PageOption = None,
) -> None:
    """Say which arm won, how sure that is, and whether to stop: at any time, and as often as you ask."""
    from bandstrap.cli.readout import tell

    check_page(html, "bandstrap live readout")
    found = experiment.readout(alpha, control=control, epsilon=epsilon)
    tell(found, format, html, experiment.name, calendar=True)


@command(app)
def replay(
    experiment: Experiment,
    deep: Annotated[
        bool, typer.Option("--deep", help="Check pages, indexes and references of the database as well.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute every decision from the log and compare it with the stored one.

    The exit code is 1 if a decision differs.
    """
    found = experiment.replay(deep=deep)
    if as_json:
        write_json(found._asdict() | {"is_identical": found.is_identical})
    else:
        say(str(found))
    if not found.is_identical:
        raise typer.Exit(1)


@command(app)
def export(
    experiment: Experiment,
    path: Annotated[Path, typer.Argument(metavar="FILE.parquet", help="File to write, with one row per decision.")],
) -> str:
    """Write all decisions, with their rewards and propensities, to a Parquet file."""
    experiment.export(path)
    return f"decisions: {path}"


@app.command()
def backup(
    target: Target,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Copy to write; the file must not exist yet.")],
) -> None:
    """Copy an SQLite file that may be in use, and check the copy."""
    from bandstrap import live

    live.backup(target, path)
    say(f"backup: {path}")


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Copy written by 'backup'.")],
    target: Annotated[str, typer.Argument(metavar="DATABASE", help="SQLite file to make; it must not exist yet.")],
) -> None:
    """Make an SQLite file from a backup, after checking it."""
    from bandstrap import live

    live.restore(path, target)
    say(f"restored: {target}")


@app.command()
def delete_unit(
    target: Target,
    name: NameArgument,
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="Unit whose name and keys are erased.")],
    privacy_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of the secret that 'bandstrap serve' hashes units with.")
    ] = None,
    timeout: Timeout = None,
) -> None:
    """Erase the name and keys of a unit; decisions, rewards and learned results stay."""
    from bandstrap import live
    from bandstrap.cli.serve import read_secret
    from bandstrap.live.erasure import hidden

    stored = unit if privacy_key is None else hidden(read_secret(privacy_key, "bandstrap live delete-unit"), unit)
    n_erased = live.delete_unit(target, name, stored, **given(timeout=as_duration(timeout)))
    say(f"erased: {n_erased} decisions")


# --- arms ---------------------------------------------------------------------------------------------------------------


@command(arm, changes=True)
def add(experiment: Experiment, label: Label, **who: Any) -> AppliedChange:
    """Add an arm; while it is new, its share is limited."""
    return experiment.add_arm(label, **who)


@command(arm, changes=True)
def pause(experiment: Experiment, label: Label, **who: Any) -> AppliedChange:
    """Stop serving an arm until it is resumed."""
    return experiment.pause(label, **who)


@command(arm, changes=True)
def resume(experiment: Experiment, label: Label, **who: Any) -> AppliedChange:
    """Serve a paused arm again."""
    return experiment.resume(label, **who)


@command(arm, changes=True)
def retire(experiment: Experiment, label: Label, **who: Any) -> AppliedChange:
    """Stop serving an arm for good; its data are kept."""
    return experiment.retire(label, **who)


# --- arguments ----------------------------------------------------------------------------------------------------------


def given(**settings: object) -> dict[str, Any]:
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


def read_actions(text: str, parameter: str = "actions") -> Any:
    """Features of actions, or a context, from JSON: in the argument itself, in a file, or on standard input."""
    owner = "bandstrap live decide"
    source = text
    if text == "-":
        source = sys.stdin.read()
    elif text.strip() and not text.lstrip().startswith(("[", "{")):
        try:
            source = Path(text).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise requirement(parameter, owner, "a file of JSON in UTF-8", brief(text)) from None
    try:
        return json.loads(source)
    except (ValueError, RecursionError):
        rule = "lists of numbers in JSON, one list per action, such as [[1, 0], [0, 1]]"
        if parameter == "context":
            rule = 'JSON, such as {"device": "phone"}'
        raise requirement(parameter, owner, rule, brief(source)) from None


# --- the status on a terminal -------------------------------------------------------------------------------------------


def print_status(found: Status) -> None:
    """The status in lines and tables."""
    from bandstrap.live.report import arm_table, lines_of, show_time

    for line in lines_of(found):
        say(line)
    if found.arms:
        columns = arm_table(found)
        print_table(list(columns), list(zip(*columns.values(), strict=True)))
        say_wrapped(found.interval.promise)
    if found.changes:
        rows = [(each.seq, show_time(each.at), each.actor, each.what) for each in found.changes]
        print_table(("version", "time (UTC)", "by", "change"), rows)

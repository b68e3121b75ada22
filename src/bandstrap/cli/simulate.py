"""``bandstrap simulate``: policies side by side on one environment."""

from __future__ import annotations

import csv
import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer

from bandstrap.cli.terminal import complain, print_table
from bandstrap.errors import InvalidInput, check_choice, check_count

# Environments made of Python objects cannot be written on a command line.
NEEDS_OBJECTS = ("arms", "empirical")


def simulate(
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy with options, such as bootstrapped_ucb:sigma=2; may be given more than once."),
    ] = None,
    environment: Annotated[
        str, typer.Option(help="An environment with options, such as bernoulli:n_arms=10 or gaussian:means=(0,1).")
    ] = "gaussian",
    horizon: Annotated[int, typer.Option(help="Rounds of a replication.")] = 2000,
    replications: Annotated[int, typer.Option(help="Number of replications.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for summary.csv, result.parquet and regret.png; made if missing.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
) -> None:
    """Play policies against an environment and print their regret.

    Every policy meets the same rewards. The same seed gives the same numbers for any number of threads.
    """
    from bandstrap.engine.simulate import simulate as run
    from bandstrap.environments import ENVIRONMENTS
    from bandstrap.policies import LINEAR_POLICIES, POLICIES

    if not policy:
        raise InvalidInput("bandstrap simulate needs at least one --policy; bandstrap list policies shows them.")
    jobs = check_count(jobs, "jobs", "bandstrap simulate") if jobs is not None else os.cpu_count() or 1
    policies = [make(text, POLICIES | LINEAR_POLICIES, "policy") for text in policy]
    world = make(environment, {k: v for k, v in ENVIRONMENTS.items() if k not in NEEDS_OBJECTS}, "environment")
    with ThreadPoolExecutor(jobs) as executor:
        result = run(policies, world, horizon=horizon, replications=replications, seed=seed, executor=executor)
    if result.n_replications < replications:
        complain(f"stopped after {result.n_replications} of {replications} replications")
    rows = result.summary()
    title = f"Regret after {horizon} rounds of {result.environment}, {result.n_replications} replications, seed {seed}"
    print_table(list(rows[0]), [list(row.values()) for row in rows], title=title)
    if out is not None:
        from bandstrap.plots.style import save_figure
        from bandstrap.storage import write_text

        result.to_parquet(out / "result.parquet")
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(out / "summary.csv", text.getvalue())
        save_figure(result.plot(), out / "regret.png")
        complain(f"wrote summary.csv, result.parquet and regret.png to {out}")


def make(text: str, registry: dict[str, Any], kind: str) -> Any:
    """Build a policy or an environment from ``name:key=value,...``."""
    from bandstrap.calls import parse_call

    call = parse_call(text)
    check_choice(call.name, kind, "bandstrap simulate", registry)
    try:
        return registry[call.name](**call.options)
    except TypeError as error:
        reason = str(error).split("__init__() ")[-1]
        raise InvalidInput(f"The {kind} {text!r} cannot be made: {reason}.") from None

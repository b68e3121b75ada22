"""``bandstrap league``: every policy on a grid of environments."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bandstrap.basics.extras import need
from bandstrap.basics.storage import check_folder
from bandstrap.cli.terminal import complain, print_table, say
from bandstrap.cli.workers import ExecutorOption, Jobs, Scheduler
from bandstrap.engine.work.workers import workers

if TYPE_CHECKING:
    from bandstrap.league import LeagueResult
    from bandstrap.league.standings import PolicyComparison


def league(
    horizon: Annotated[int, typer.Option(help="Rounds per replication.")] = 2000,
    contexts: Annotated[
        bool, typer.Option("--contexts", help="Play the league of contextual policies, on sets of data and models.")
    ] = False,
    replications: Annotated[
        int, typer.Option(help="Replications per match; slow policies may have proportionally fewer.")
    ] = 200,
    environment: Annotated[
        list[str] | None,
        typer.Option(help="Name of an environment of the league; all by default. May be given more than once."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a policy of the league, or any policy with options, in which {sigma}, {lower}, {upper}, {moment} "
            "and {raw_moment} stand for known parameters, such as 'ucb1:sigma={sigma}'; all by default. May be "
            "given more than once. A class in a file of your own is FILE.py:Class:key=value."
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy to play alongside the others, written as for --policy. May be given more than once."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 2019,
    jobs: Jobs = None,
    executor: ExecutorOption = "thread",
    scheduler: Scheduler = None,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for league.html, the tables league.parquet and overall.parquet, the heat map and finished matches."
        ),
    ] = Path("league-results"),
) -> None:
    """Play every policy on every environment, and rank them with error bars.

    A run that was stopped resumes where it was; finished parts are not computed again.
    """
    need("bandstrap league", "matplotlib", "jinja2")
    from bandstrap.experiments.api import FOLDERS
    from bandstrap.league import play_league, read_league

    chosen = read_league(contexts=contexts).choose(environment or (), policy or (), also or ())
    files = ("league.html", "league.parquet", "overall.parquet", "stability.parquet", "heatmap.svg", "heatmap.png")
    check_folder(out, "out", "bandstrap league", folders=FOLDERS, files=("plan.json", *files))
    start = time.perf_counter()
    with workers(jobs, "bandstrap league", executor, scheduler) as pool:
        sizes: dict[str, int] = {"horizon": horizon, "replications": replications, "seed": seed}
        many = {"environment": environment, "policy": policy, "also": also}
        words = ["--contexts"] * contexts
        words += [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
        words += [word for name, given in many.items() for each in given or () for word in (f"--{name}", each)]
        result = play_league(
            chosen, out, horizon=horizon, replications=replications, seed=seed, executor=pool, words=words
        )
    print_overall(result)
    print_winners(result)
    print_stability(result)
    say(f"page: {out / 'league.html'}")
    complain(f"{time.perf_counter() - start:.0f} s")
    if result.unfinished is not None:
        raise result.unfinished


def print_overall(result: LeagueResult) -> None:
    """The overall table."""
    n_all = len(result.league.counted)
    rows = [
        (
            row.policy,
            row.told,
            f"{row.n_environments} of {n_all}",
            f"{row.relative:.2f}",
            f"{row.relative_interval.low:.2f} to {row.relative_interval.high:.2f}",
            f"{row.relative_q99:.2f}",
            show_beside(row.beside),
            result.of(row.policy)[0].replications,
            round(result.cost(result.of(row.policy)), 2),
        )
        for row in result.overall
    ]
    yardstick = result.league.policies[0].name
    columns = (
        "policy",
        "told",
        "played",
        "mean / best",
        "95 % interval",
        "99th pct. / best",
        f"mean, 99th pct. / {yardstick}",
        "runs",
        "us per decision",
    )
    title = (
        f"Regret after {result.horizon} rounds relative to the best policy, geometric mean over environments; "
        f"{result.replications} replications, seed {result.seed}"
    )
    print_table(columns, rows, title=title)


def show_beside(comparison: PolicyComparison | None) -> str:
    """Both ratios to the yardstick; a dash where it was never met."""
    return "-" if comparison is None else f"{comparison.ratio:.2f}, {comparison.ratio_q99:.2f}"


def print_winners(result: LeagueResult) -> None:
    """Each environment with its best policy, and those that chance may have put behind it."""
    rows = []
    for environment in result.league.environments:
        standings = result.on(environment.name)
        if standings:
            best, *others = standings
            close = [standing.policy for standing in others if standing.rank_interval.low == 1]
            regret = f"{best.mean:.4g} ± {best.standard_error:.2g}"
            rows.append((environment.name, best.policy, regret, ", ".join(close) or "-"))
    print_table(("environment", "best", "mean regret", "perhaps as good"), rows)


def print_stability(result: LeagueResult) -> None:
    """Print the test of whether arm means are normal when play ends, where it was made."""
    rows = [
        (
            row.environment,
            row.policy,
            f"{row.misses:.3f} ± {row.misses_error:.3f}",
            f"{row.bias:.2f}",
            f"{row.distance:.3f}",
            "yes" if row.is_normal else "no",
        )
        for row in result.stability
    ]
    if rows:
        title = "Mean of the last arm when play ends: is it normal?"
        print_table(("environment", "policy", "beyond 1.96", "bias", "distance", "normal"), rows, title=title)

"""Play a league and write what it found; matches that were played before are read from the store."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.storage import write_bytes
from bandstrap.engine.simulator.blocks import Block, Played
from bandstrap.engine.simulator.tape import bytes_of_replication
from bandstrap.engine.work.executors import check_executor
from bandstrap.engine.work.memory import bytes_of_result, check_memory
from bandstrap.engine.work.pool import Unfinished
from bandstrap.engine.work.progress import announce_memory, tell
from bandstrap.errors import InvalidInput, check_count
from bandstrap.experiments.folder import CurvePoint, Folder, FolderStore, Planned, PlannedCurve, PlannedPanel
from bandstrap.experiments.runner import run_plans
from bandstrap.league.plan import Match, plan_league, rounds_on
from bandstrap.league.spec import League, lacks, make_feedback
from bandstrap.league.stability import Stability, judge, standardised_means
from bandstrap.league.standings import Interval, LeagueResults, Overall, Standing, rank_league
from bandstrap.names import NAMED_ENVIRONMENTS, make


@dataclass(frozen=True, eq=False)
class LeagueResult:
    """Result of a league.

    Attributes
    ----------
    league, horizon, replications, seed
        As given.
    standings
        One per match played, by environment and rank.
    overall
        One per policy, the best first; policies that sat out somewhere come after those that did not.
    sat_out
        Reason for each match not played, by environment and policy.
    seconds
        Core-seconds, by environment and policy.
    stability
        One per policy and environment with a test of stability, in the order of the league.
    unfinished
        Tasks that were given up; their matches are among ``sat_out``.
    """

    league: League
    horizon: int
    replications: int
    seed: int
    standings: tuple[Standing, ...]
    overall: tuple[Overall, ...]
    sat_out: dict[tuple[str, str], str]
    seconds: dict[tuple[str, str], float]
    stability: tuple[Stability, ...] = ()
    unfinished: Unfinished | None = None

    def on(self, environment: str) -> list[Standing]:
        """Standings on an environment, the best first."""
        return [standing for standing in self.standings if standing.environment == environment]

    def of(self, policy: str) -> list[Standing]:
        """Standings of a policy."""
        return [standing for standing in self.standings if standing.policy == policy]

    def absent(self, environment: str) -> dict[str, list[str]]:
        """Policies that sat out on an environment, by reason."""
        found: dict[str, list[str]] = {}
        for (place, policy), reason in self.sat_out.items():
            if place == environment:
                found.setdefault(reason, []).append(policy)
        return found

    def cost(self, standings: Sequence[Standing]) -> float:
        """Microseconds per decision, including the drawing of rewards."""
        rounds = {each.name: rounds_on(each, self.horizon) for each in self.league.environments}
        seconds = sum(self.seconds[standing.environment, standing.policy] for standing in standings)
        return 1e6 * seconds / sum(rounds[standing.environment] * standing.replications for standing in standings)

    def multiples(self, field: str) -> Floats:
        """``relative`` or ``relative_q99`` of each policy in the order of ``overall``: overall, then by environment."""
        found = {(standing.environment, standing.policy): getattr(standing, field) for standing in self.standings}
        return np.array(
            [
                [getattr(row, field), *(found.get((e.name, row.policy), np.nan) for e in self.league.environments)]
                for row in self.overall
            ]
        )


def play_league(
    league: League,
    out: Path,
    *,
    horizon: int = 2000,
    replications: int = 200,
    seed: int = 2019,
    executor: Executor | None = None,
    progress: bool = True,
    words: Sequence[str] = (),
) -> LeagueResult:
    """Play every match, and write a page, two tables and a heat map to a folder.

    They are ``league.html``, ``league.parquet`` with a row per match, ``overall.parquet`` with one per policy,
    ``stability.parquet`` where stability is tested, and ``heatmap.svg`` and ``heatmap.png``.

    Parameters
    ----------
    league
        Policies and environments; :func:`bandstrap.league.read_league` returns the league of this package.
    out
        The folder, made if missing. Finished blocks are also kept there, and not run again.
    horizon
        Rounds per replication.
    replications
        Replications per match; a policy with a ``share`` has fewer.
    seed
        Seed of all random numbers: same seed, same numbers, for any number of threads.
    executor
        Any ``concurrent.futures.Executor``; by default threads, one per core.
    progress
        Show on standard error how far it is: a bar on a terminal, else a line now and then if it takes long.
    words
        Options of ``bandstrap league`` for the same run; ``bandstrap status`` shows them as the command to resume.
    """
    check_count(horizon, "horizon", "bandstrap league")
    check_count(replications, "replications", "bandstrap league", at_least=2)
    check_count(seed, "seed", "bandstrap league", at_least=0, at_most=None)
    check_executor(executor, "bandstrap league")
    check_league(league, horizon, replications, progress=progress)
    matches = plan_league(league, horizon, replications, seed)
    if all(match.block is None for match in matches):
        raise InvalidInput(f"no policy can play: {matches[0].policy.name} {matches[0].sits_out}.")
    out.mkdir(parents=True, exist_ok=True)  # better to learn before hours of play that nothing can be written
    folder = Folder(out)
    races = races_of(matches)
    words = (
        "league",
        *(words or ("--horizon", f"{horizon}", "--replications", f"{replications}", "--seed", f"{seed}")),
    )
    title = f"League of {len(league.policies)} policies on {len(league.environments)} environments"
    planned = Planned(title=title, seed=seed, words=words, panels=tuple(race.planned() for race in races))
    ran = run_plans(races, folder, planned, executor=executor, progress=progress)
    tell("ranking and drawing", shown=progress)
    result = replace(gather(league, matches, ran.store, horizon, replications, seed), unfinished=ran.unfinished)
    if not result.standings and ran.unfinished is not None:
        raise ran.unfinished
    write_result(result, out)
    tell("", shown=progress)
    return result


@dataclass(frozen=True)
class Race:
    """The matches on one environment: a panel of the league's folder."""

    name: str
    call: str
    matches: tuple[Match, ...]

    def __iter__(self) -> Iterator[Block]:
        return (match.block for match in self.matches if match.block is not None)

    def planned(self) -> PlannedPanel:
        """Plan as the folder has it."""
        curves = tuple(
            PlannedCurve(
                label=match.policy.name,
                settings={},
                published=None,
                factor=match.factor,
                points=(CurvePoint(at=None, about=match.block.about),),
            )
            for match in self.matches
            if match.block is not None
        )
        return PlannedPanel(
            name=self.name, title=self.call, plot="regret", show="threshold", axis="round", settings={}, curves=curves
        )


def races_of(matches: Sequence[Match]) -> list[Race]:
    """The matches by environment, where any is played."""
    found: dict[str, list[Match]] = {}
    for match in matches:
        if match.block is not None:
            found.setdefault(match.environment.name, []).append(match)
    return [Race(name, several[0].environment.call, tuple(several)) for name, several in found.items()]


def check_league(league: League, horizon: int, replications: int, *, progress: bool) -> None:
    """Refuse rounds and replications that memory would not hold, before any is planned."""
    shares = sum(policy.share for policy in league.policies)
    needed = 0
    for environment in (*league.environments, *league.stability):
        if lacks(environment):
            continue
        world = make(environment.call, NAMED_ENVIRONMENTS, "environment")
        of_one = bytes_of_replication(
            world, rounds_on(environment, horizon), is_late=not make_feedback(environment).is_at_once
        )
        check_memory(of_one, "horizon", "bandstrap league", horizon)
        needed += bytes_of_result(1, replications, 1, world.n_arms)
    needed = math.ceil(shares * needed)
    check_memory(needed, "replications", "bandstrap league", replications)
    announce_memory(needed, shown=progress)


def gather(
    league: League, matches: Sequence[Match], store: FolderStore, horizon: int, replications: int, seed: int
) -> LeagueResult:
    """Read every match, and rank."""
    regret: dict[str, dict[str, Floats]] = {}
    seconds: dict[tuple[str, str], float] = {}
    sat_out: dict[tuple[str, str], str] = {}
    unranked = {environment.name for environment in league.stability}
    pulls: dict[str, dict[str, NDArray[np.int64]]] = {}
    for match in matches:
        environment, policy = match.environment.name, match.policy.name
        ranks = environment not in unranked
        played = None if match.block is None else store.whole(match.block)
        if isinstance(played, Played) and not ranks:
            pulls.setdefault(environment, {})[policy] = played.pulls
        elif isinstance(played, Played):
            regret.setdefault(environment, {})[policy] = match.factor * played.regret[:, -1]
            seconds[environment, policy] = played.seconds
        elif ranks:
            sat_out[environment, policy] = match.sits_out or "failed"
    told = {policy.name: policy.told for policy in league.policies}
    apart = frozenset(environment.name for environment in league.environments if not environment.overall)
    standings, overall = rank_league(LeagueResults(regret, told, apart))
    return LeagueResult(
        league,
        horizon,
        replications,
        seed,
        tuple(standings),
        tuple(overall),
        sat_out,
        seconds,
        tuple(judge_means(league, pulls, told, horizon, seed)),
    )


def judge_means(
    league: League,
    pulls: Mapping[str, Mapping[str, NDArray[np.int64]]],
    told: Mapping[str, str],
    horizon: int,
    seed: int,
) -> Iterator[Stability]:
    """Stability of each policy where it is tested and the policy played."""
    for environment in league.stability:
        world = make(environment.call, NAMED_ENVIRONMENTS, "environment")
        rounds = rounds_on(environment, horizon)
        played = pulls.get(environment.name, {})
        found = standardised_means(world, environment.sigma, rounds, seed, played)
        yield from (judge(environment.name, policy, told[policy], means) for policy, means in found.items())


def write_result(result: LeagueResult, out: Path) -> None:
    """Write page, table and pictures, each whole or not at all."""
    from bandstrap.league.page import write_league_page
    from bandstrap.plots.league import plot_heatmap
    from bandstrap.plots.style import save_figure

    write_parquet(result, out / "league.parquet")
    write_rows(result.overall, out / "overall.parquet")
    if result.stability:
        write_rows(result.stability, out / "stability.parquet")
    names = [row.policy for row in result.overall]
    columns = ["overall", *(environment.name for environment in result.league.environments)]
    title = f"Mean regret after {result.horizon} rounds as a multiple of the best policy's"
    figure = plot_heatmap(title, names, columns, result.multiples("relative"))
    for kind in ("svg", "png"):
        save_figure(figure, out / f"heatmap.{kind}")
    write_league_page(result, out / "league.html")


def write_parquet(result: LeagueResult, path: Path) -> None:
    """One row per match, those that were not played included; nothing that differs between two runs with one seed."""
    import polars

    rows = [as_row(standing) | {"sat_out": None} for standing in result.standings]
    told = {policy.name: policy.told for policy in result.league.policies}
    rows += [
        {"environment": environment, "policy": policy, "told": told[policy], "sat_out": reason}
        for (environment, policy), reason in result.sat_out.items()
    ]
    content = io.BytesIO()
    polars.DataFrame(rows, infer_schema_length=None).write_parquet(content)
    write_bytes(path, content.getvalue())


def write_rows(found: Sequence[Any], path: Path) -> None:
    """One row per policy overall, or per policy and environment where stability is tested."""
    import polars

    content = io.BytesIO()
    polars.DataFrame([as_row(row) for row in found], infer_schema_length=None).write_parquet(content)
    write_bytes(path, content.getvalue())


def as_row(found: Any) -> dict[str, object]:
    """A standing, or a policy's overall, with the ends of its intervals and the parts of its comparison as columns."""
    row: dict[str, object] = {}
    for field in dataclasses.fields(found):
        value = getattr(found, field.name)
        if isinstance(value, Interval):
            name = field.name.removesuffix("_interval")
            row |= {f"{name}_low": value.low, f"{name}_high": value.high}
        elif dataclasses.is_dataclass(value):
            row |= {"n_common" if name == "n_environments" else name: part for name, part in as_row(value).items()}
        elif value is not None:
            row[field.name] = value
    return row

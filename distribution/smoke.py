"""What a user does first, with the package as it is installed: needs nothing but the package and an empty folder.

``python smoke.py`` prints a line per step, and stops with a sentence at the first that goes wrong.
"""

import json
import subprocess
import sys
import time
from importlib.metadata import metadata, version
from importlib.resources import files
from pathlib import Path

HEAVY = ("numba", "matplotlib", "polars", "pydantic", "typer", "rich", "jinja2", "scipy", "psycopg")
COMMAND = Path(sys.executable).with_name("bandstrap")


def expect(holds: bool, sentence: str) -> None:
    """Stop with a sentence unless it holds."""
    if not holds:
        sys.exit(f"The installed package fails: {sentence}")


def run(*command: str | Path) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True)
    expect(
        done.returncode == 0, f"{' '.join(map(str, command))} ends with {done.returncode}: {done.stdout}{done.stderr}"
    )
    return done.stdout


def cli(*arguments: str | Path) -> str:
    """What a subcommand of bandstrap prints."""
    return run(COMMAND, *arguments)


def written(path: str, beginning: bytes = b"") -> None:
    """Stop unless a file was written, and begins as its kind does."""
    expect(Path(path).is_file() and Path(path).read_bytes().startswith(beginning), f"{path} was not written.")


def import_is_light() -> None:
    """Importing the package loads no library."""
    loaded = run(sys.executable, "-c", f"import bandstrap, sys; print(*[m for m in {HEAVY} if m in sys.modules])")
    expect(loaded.strip() == "", f"import bandstrap imports {loaded.strip()}.")


def it_is_installed() -> None:
    """The package is the one of this environment, in the version of its metadata, with types and nothing of its tests."""
    import bandstrap

    home = Path(str(bandstrap.__file__)).parent
    expect(Path(sys.prefix) in home.parents, f"{home} is not in this environment.")
    expect(bandstrap.__version__ == version("bandstrap"), "its version is not that of its metadata.")
    expect(cli("--version").split() == ["bandstrap", version("bandstrap")], "--version shows another version.")
    expect((home / "py.typed").is_file(), "py.typed is missing: type checkers would not look at it.")
    expect(not list(home.rglob("test*")) and not (home.parent / "benchmarks").exists(), "it brings tests along.")
    expect(metadata("bandstrap")["License-Expression"] == "MIT", "its metadata name no license.")


def every_file_of_data_is_there() -> None:
    """Figures, league, templates and tables: all that is not Python is found where the code looks for it."""
    for folder, names in {
        "paper": [*(f"figure{n}.toml" for n in range(1, 8)), "errata.toml", "sentences.toml", "report.html.j2"],
        "paper/ablations": ["ablations.html.j2", "correction.toml"],
        "league": ["league.toml", "league.html.j2"],
        "live": ["sqlite.sql", "postgres.sql", "status.html.j2"],
        "pages": ["page.html.j2"],
        "experiments": ["example.toml"],
    }.items():
        for name in names:
            expect(files("bandstrap").joinpath(folder, name).is_file(), f"{folder}/{name} is missing.")


def a_bound() -> None:
    """A bound on the mean of each group of a CSV file."""
    rows = [("red", 1.2), ("green", 3.4), ("red", 0.7), ("green", 2.9), ("red", 1.9), ("green", 4.1)] * 5
    Path("data.csv").write_text("variant,revenue\n" + "".join(f"{name},{value}\n" for name, value in rows))
    found = json.loads(cli("bound", "data.csv", "--column", "revenue", "--by", "variant", "--format", "json"))
    expect([row["n"] for row in found] == [15, 15], "bound counts other rows.")
    expect(all(row["lower"] < row["mean"] < row["upper"] for row in found), "an interval excludes the mean.")
    cli("compare", "data.csv", "--column", "revenue", "--by", "variant", "--control", "red")
    cli("coverage", "--distribution", "norm", "--sample-size", "5", "--alpha", "0.1", "--plot", "coverage.png")
    written("coverage.png", b"\x89PNG")


def a_race() -> None:
    """Policies against each other, plainly described and by the example of an experiment."""
    race = ["--policy", "edgeworth_ucb", "--policy", "ucb1", "--horizon", "200", "--replications", "4", "--seed", "1"]
    cli("simulate", *race, "--out", "race")
    expect(any(Path("race").iterdir()), "simulate --out writes nothing.")
    cli("init", "grid.toml")
    cli("check", "grid.toml")
    cli("simulate", "grid.toml", "--seed", "1", "--out", "results")
    cli("status", "results")
    expect(len(json.loads(cli("results", "results", "--format", "json"))) > 10, "an experiment found few rows.")


def the_paper_and_the_league() -> None:
    """A figure of the paper with its report, and a small league with its page."""
    cli("paper", "1", "--quick", "--out", "paper")
    written("paper/report.html", b"<!doctype html>")
    for names in ("policies", "environments", "bounds"):
        expect(len(cli("list", names).splitlines()) > 10, f"list {names} shows few.")


def a_policy_behind_traffic() -> None:
    """A live experiment in SQLite, from the first decision to the log."""
    where = ["shop.db", "checkout"]
    arms = ["--arm", "red", "--arm", "green"]
    cli("live", "create", *where, "--policy", "edgeworth_ucb:randomized=true", *arms, "--seed", "7")
    for visitor in range(3):
        decision = json.loads(cli("live", "decide", *where, "--key", f"u{visitor}", "--json"))
        expect(decision["arm"] in ("red", "green") and 0 < decision["propensity"] <= 1, "a decision makes no sense.")
        expect(cli("live", "reward", *where, decision["id"], "1.5").strip() == "stored", "a reward is not stored.")
    cli("live", "status", *where, "--html", "status.html")
    written("status.html", b"<!doctype html>")
    cli("live", "replay", *where)
    cli("live", "export", *where, "log.parquet")
    written("log.parquet", b"PAR1")


def main() -> None:
    """All steps, each with the seconds it took."""
    for step in (
        import_is_light,
        it_is_installed,
        every_file_of_data_is_there,
        a_bound,
        a_race,
        the_paper_and_the_league,
        a_policy_behind_traffic,
    ):
        begun = time.perf_counter()
        step()
        print(f"  {step.__name__.replace('_', ' ')}: {time.perf_counter() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()

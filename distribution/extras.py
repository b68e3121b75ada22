"""What one extra adds to the package: needs nothing but the package with that extra, and an empty folder.

``python extras.py NAME`` tries the extra of that name, and ends with a sentence if something does not work.
"""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from socket import socket

from bandstrap import UCB1, live, simulate
from bandstrap.basics.extras import EXTRAS, is_installed
from bandstrap.environments import Gaussian
from bandstrap.live import StoreError

COMMAND = Path(sys.executable).with_name("bandstrap")
SERVICE_STARTS_WITHIN = 60  # seconds


def expect(holds: bool, sentence: str) -> None:
    """Stop with a sentence unless it holds."""
    if not holds:
        sys.exit(f"The package with the extra {sys.argv[1]} fails: {sentence}")


def shop(path: str = "shop.db") -> live.Experiment:
    """A live experiment with some rewards."""
    made = live.create(path, "checkout", policy="ucb1", arms=["red", "green"], seed=7)
    for visitor in range(10):
        made.reward(made.decide(key=f"u{visitor}").id, float(visitor))
    return made


def sim() -> None:
    """Files of results: a log, a table, an experiment."""
    from bandstrap import experiments

    shop().export("log.parquet")
    expect(Path("log.parquet").read_bytes().startswith(b"PAR1"), "export writes no Parquet.")
    Path("grid.toml").write_text(
        'title = "a race"\nhorizon = 20\nreplications = 2\n[[panels]]\nname = "a"\nenvironment = "gaussian"\n'
        'curves = [{ label = "UCB", policy = "ucb1" }]\n'
    )
    experiments.run("grid.toml", out="results", seed=1)
    expect(len(experiments.results("results")) == 1, "an experiment has no results.")


def cli() -> None:
    """The command."""
    Path("data.csv").write_text("revenue\n" + "\n".join(map(str, range(12))) + "\n")
    command = [COMMAND, "bound", "data.csv", "--column", "revenue", "--format", "json"]
    done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    expect(json.loads(done.stdout)[0]["n"] == 12, f"bound prints {done.stdout}.")


def plots() -> None:
    """Pictures and pages."""
    from bandstrap.live.page import write_status_page

    simulate([UCB1()], Gaussian([0.0, 1.0]), horizon=20, replications=2, seed=0).plot().savefig("regret.png")
    expect(Path("regret.png").read_bytes().startswith(b"\x89PNG"), "plot draws nothing.")
    write_status_page(shop().status(), Path("status.html"))
    expect("data:image" in Path("status.html").read_text(encoding="utf-8"), "the page has no picture.")


def postgres() -> None:
    """A server that does not answer is told in a sentence."""
    try:
        live.open("postgresql://nobody@127.0.0.1:1/none", "checkout", timeout=1)
    except StoreError:
        return
    expect(False, "there is a PostgreSQL server at port 1.")


def serve() -> None:
    """The service answers."""
    shop().close()
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    service = subprocess.Popen([str(COMMAND), "serve", "--store", "shop.db", "--port", str(port)])
    try:
        end = time.monotonic() + SERVICE_STARTS_WITHIN
        while time.monotonic() < end and service.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                    expect(answer.status == 200, f"the service answers {answer.status}.")
                return
            except urllib.error.URLError:
                time.sleep(0.1)
        expect(False, "the service does not answer.")
    finally:
        service.terminate()
        service.wait()


def client() -> None:
    """Without a service, the client falls back."""
    from bandstrap.client import Client

    with Client("http://127.0.0.1:1", "token", timeout=0.2, attempts=1) as asking:
        decision = asking.decide("checkout", unit="u1", fallback_arm="red")
    expect((decision.arm, decision.source) == ("red", "fallback"), f"the client decides {decision}.")


def dask() -> None:
    """A simulation on workers of dask."""
    found = simulate(
        [UCB1()], Gaussian([0.0, 1.0]), horizon=20, replications=2, seed=0, executor="dask", progress=False
    )
    expect(found.regret.shape[1] == 2, "dask plays other games.")


STEPS: dict[str, Callable[[], None]] = {
    step.__name__: step for step in (sim, cli, plots, postgres, serve, client, dask)
}


def main() -> None:
    """Look at what the extra brings, and try it."""
    name = sys.argv[1]
    lacking = {module for module, extra in EXTRAS.items() if extra == name and not is_installed(module)}
    expect(not lacking, f"it does not bring {', '.join(sorted(lacking))}.")
    STEPS[name]()
    print(f"  the extra {name} works", flush=True)


if __name__ == "__main__":
    main()

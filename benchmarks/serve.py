"""A service: durable decisions a second beside requests to an empty endpoint, and what a minute of them leaves in memory.

Both applications run in processes of their own under the same settings of the server, on this machine's own address; they
are asked in turns, so that whoever else uses the machine slows both. The caller is a third process with 16 connections,
which reads of an answer no more than it must.
"""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bandstrap import live
from bandstrap.live.store import Store
from bandstrap.serve.tokens import create_token
from benchmarks.document import Row, Table

CONNECTIONS = 16
SECONDS = 3.0  # of each run
RUNS = 5
MINUTE = 60.0
GOAL = 0.6  # of the empty endpoint's requests
GROWTH = 0.1  # of its memory, that a service may grow by from the end of the first ten seconds on
PATH = "/experiments/checkout/decisions"
BODY = {"unit": "visitor-17"}
EMPTY = f"""
import fastapi, uvicorn
app = fastapi.FastAPI()

@app.post("{PATH}")
async def empty():
    return {{}}

uvicorn.run(app, host="127.0.0.1", port=PORT, access_log=False, server_header=False, log_level="warning")
"""


@contextlib.contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process, until it is not needed any more."""
    process = subprocess.Popen([sys.executable, *command])  # noqa: S603 - of this file
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def request(token: str) -> bytes:
    """A request for a decision, as it goes over the line."""
    body = json.dumps(BODY).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def ask(port: int, text: bytes, end: float, latencies: list[float]) -> None:
    """Ask by one connection, again and again, until a time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (began := time.perf_counter()) < end:
        writer.write(text)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert b" 200 " in head.split(b"\r\n", 1)[0], head
        await reader.readexactly(int(head.split(b"content-length:", 1)[1].split(b"\r", 1)[0]))
        latencies.append(time.perf_counter() - began)
    writer.close()


def load(port: int, texts: Sequence[bytes], seconds: float) -> tuple[float, list[float]]:
    """Requests a second by all connections, and how long each took."""

    async def all_at_once() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(ask(port, text, began + seconds, latencies) for text in texts))
        return time.perf_counter() - began

    latencies: list[float] = []
    spent = asyncio.run(all_at_once())
    return len(latencies) / spent, latencies


def resident(process: subprocess.Popen[bytes]) -> float:
    """Megabytes that a process has in memory."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def used(process: subprocess.Popen[bytes]) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(port: int) -> None:
    """Wait until somebody listens at a port."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens at port {port}")


def row_of(name: str, runs: list[tuple[float, list[float]]], processor: float) -> Row:
    """The median of some runs, which used so many seconds of the processor."""
    latencies = 1e3 * np.concatenate([latencies for _, latencies in runs])
    details = {"ms, median": float(np.median(latencies)), "ms, 99%": float(np.quantile(latencies, 0.99))}
    details["us of the processor a request"] = 1e6 * processor / latencies.size
    return Row(name, float(np.median([rate for rate, _ in runs])), "a second", details=details)


def tables() -> Iterator[Table]:
    """Ask both in turns; then a minute of decisions."""
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/shop.db"
        policy = "edgeworth_ucb:randomized=true"
        live.create(target, "checkout", policy=policy, arms=["red", "green", "blue"], seed=7).close()
        with Store.open(target) as store:
            # A token each: one has a limit.
            texts = [request(create_token(store, "decide")) for _ in range(CONNECTIONS)]
        ports = free_port(), free_port()
        serving = ("-m", "bandstrap", "serve", "--store", target, "--port", str(ports[1]), "--durability", "full")
        with running("-c", EMPTY.replace("PORT", str(ports[0]))) as empty, running(*serving) as service:
            for port in ports:
                wait_for(port)
                load(port, texts, 2.0)
            runs: tuple[list[tuple[float, list[float]]], ...] = ([], [])
            before_runs = used(empty), used(service)
            for _ in range(RUNS):
                for port, found in zip(ports, runs, strict=True):
                    found.append(load(port, texts, SECONDS))
            rows = [
                row_of("empty endpoint", runs[0], used(empty) - before_runs[0]),
                row_of("durable decisions", runs[1], used(service) - before_runs[1]),
            ]
            ratios = [one / other for (other, _), (one, _) in zip(*runs, strict=True)]
            ratio = Row("decisions over empty requests", float(np.median(ratios)), "", GOAL, "higher")
            ratio.details.update(lowest=min(ratios), highest=max(ratios))
            yield Table(
                f"How many durable decisions does a service give a second, by {CONNECTIONS} connections?",
                [*rows, ratio],
            )
            load(ports[1], texts, 10.0)
            before = resident(service)
            rate, latencies = load(ports[1], texts, MINUTE)
            after = resident(service)
            kept = Row("memory after a minute over before", after / before, "", 1 + GROWTH)
            kept.details.update({"MB before": before, "MB after": after, "decisions": len(latencies), "a second": rate})
            yield Table("Does a minute of decisions leave anything in memory?", [kept])

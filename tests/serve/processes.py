"""Services as processes of their own, and callers in threads that write down what was answered."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx

from bandstrap.client import Client


class Service:
    """``bandstrap serve`` as a process, which can be killed and started again at the same port."""

    def __init__(self, target, *options, log, environment=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable,
            "-m",
            "bandstrap",
            "serve",
            "--store",
            target,
            "--port",
            str(self.port),
            *options,
        ]
        self._log, self._environment = log, environment
        self.process = None

    def start(self):
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True, env=self._environment
            )
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.address}/healthz", timeout=5, trust_env=False).status_code == 200:
                    return self
            assert self.process.poll() is None, self.said()
            time.sleep(0.1)
        raise AssertionError(f"the service did not start: {self.said()}")

    def said(self):
        return self._log.read_text(encoding="utf-8")

    def kill(self):
        """End it as a power cut would; its workers with it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=60)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


class Callers:
    """Threads that ask and reward until told to stop, through whatever happens; ``answered`` is what they were told."""

    def __init__(self, address, token, experiment="checkout", n=6):
        self.answered, self.failures = [], []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._about = address, token, experiment
        self._threads = [threading.Thread(target=self._work, args=(i,), daemon=True) for i in range(n)]

    def _work(self, number):
        address, token, experiment = self._about
        rng = random.Random(number)  # noqa: S311 - not secret
        try:
            with Client(address, token, timeout=5.0, attempts=1000) as client:
                for i in range(1_000_000):
                    if self._stop.is_set():
                        return
                    decision = client.decide(experiment, f"unit {number}", key=f"{number} {i}")
                    value = float(rng.random() < 0.5) if i % 3 else None
                    told = None if value is None else client.reward(experiment, value, decision=decision.id)
                    with self._lock:
                        self.answered.append((decision, value, told))
        except BaseException as failure:
            self.failures.append(failure)
            raise

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=120)
            assert not thread.is_alive()


def check_stored(experiment, callers):
    """Every answer is stored, once, as it was told; nothing else is."""
    assert not callers.failures, callers.failures
    answered = callers.answered
    ids = [decision.id for decision, _, _ in answered]
    assert len(set(ids)) == len(ids)
    stored = experiment.store.decisions(experiment.row.id, ids)
    for (decision, _, _), row in zip(answered, stored, strict=True):
        assert row is not None, decision
        assert (experiment.state.named(row.arm), row.propensity, row.version, row.key) == (
            decision.arm,
            decision.propensity,
            decision.version,
            decision.key,
        )
    counts = experiment.store.counts(experiment.row.id)
    assert counts.decisions == len(ids)
    given = {decision.id: value for decision, value, _ in answered if value is not None}
    kept = experiment.store.ask(
        "SELECT d.id, w.value FROM live_reward w JOIN live_decision d ON d.number = w.decision WHERE w.experiment = ?",
        experiment.row.id,
    )
    assert len(kept) == len(given)
    assert dict(kept) == given
    assert {told for _, _, told in answered} <= {None, "stored", "duplicate"}
    experiment.refresh()
    found = experiment.replay()
    assert found.is_identical, found

"""A service that is killed, or loses its database, again and again under load: what was answered is stored, once."""

import os
import random
import time

import httpx
import pytest

from bandstrap import live
from bandstrap.live.store import Store
from bandstrap.serve.tokens import create_token
from postgres_server import PostgresServer
from serve.processes import Callers, Service, check_stored


def prepare(target):
    with live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7):
        pass
    with Store.open(target) as store:
        return create_token(store, "admin")


def kill_often(tmp_path, n_kills, seed):
    target, rng = str(tmp_path / "shop.db"), random.Random(seed)  # noqa: S311 - not secret
    token = prepare(target)
    service = Service(target, log=tmp_path / "log.txt")
    n_before = []
    with service, Callers(service.address, token) as callers:
        for _ in range(n_kills):
            n_before.append(len(callers.answered))
            while len(callers.answered) < n_before[-1] + 20:  # it answers again
                assert not callers.failures, callers.failures
                time.sleep(0.01)
            time.sleep(rng.random() / 2)
            service.kill()
            service.start()
    with live.open(target, "checkout") as experiment:
        check_stored(experiment, callers)
    return len(callers.answered)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_a_service_that_is_killed_fifty_times_has_stored_what_it_answered(tmp_path):
    assert kill_often(tmp_path, int(os.environ.get("BANDSTRAP_KILLS", "50")), seed=2) >= 1000


def test_a_service_that_is_stopped_or_killed_under_load_has_stored_what_it_answered(tmp_path):
    target = str(tmp_path / "shop.db")
    token = prepare(target)
    service = Service(target, log=tmp_path / "log.txt")
    with service, Callers(service.address, token) as callers:
        for end in (service.stop, service.kill):
            n_before = len(callers.answered)
            while len(callers.answered) < n_before + 100:
                assert not callers.failures, callers.failures
                time.sleep(0.01)
            assert end() in (0, -15, None)
            assert "Traceback" not in service.said()
            service.start()
    with live.open(target, "checkout") as experiment:
        check_stored(experiment, callers)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_a_server_of_postgres_that_is_restarted_under_load_is_waited_for(tmp_path):
    server, rng = PostgresServer(durable=True), random.Random(3)  # noqa: S311 - not secret
    try:
        server.start()
        target = server.new_schema()
        token = prepare(target)
        service = Service(target, "--workers", "2", "--timeout", "2s", log=tmp_path / "log.txt")
        asked = {"headers": {"Authorization": f"Bearer {token}"}, "timeout": 30, "trust_env": False}
        with service, Callers(service.address, token) as callers:
            for turn in range(6):
                n_before = len(callers.answered)
                while len(callers.answered) < n_before + 50:
                    assert not callers.failures, callers.failures
                    time.sleep(0.01)
                time.sleep(rng.random() / 2)
                (server.kill if turn % 2 else server.stop)()
                down = httpx.post(f"{service.address}/experiments/checkout/decisions", json={}, **asked)
                assert (down.status_code, down.headers["Retry-After"]) == (503, "1")
                assert down.json()["detail"].endswith(".")
                assert httpx.get(f"{service.address}/readyz", **asked).status_code == 503
                server.start()
            while httpx.get(f"{service.address}/readyz", **asked).status_code != 200:
                time.sleep(0.1)
            metrics = [httpx.get(f"{service.address}/metrics", **asked).text for _ in range(4)]
        with live.open(target, "checkout") as experiment:
            check_stored(experiment, callers)
        # Whichever worker is asked tells the numbers of both.
        count = sum(
            float(line.split()[-1])
            for line in metrics[-1].splitlines()
            if line.startswith("bandstrap_decisions_total{")
        )
        assert count >= 0.8 * len(callers.answered)
        assert "Traceback" not in service.said(), service.said()[-3000:]
    finally:
        server.stop()
        server.remove()

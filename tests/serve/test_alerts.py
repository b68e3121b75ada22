"""Alerts: what is told, what is not, how often, and what an address that fails costs."""

import dataclasses
import json
import sqlite3
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live.database import writing
from bandstrap.live.experiment import Experiment
from bandstrap.live.store import Store
from bandstrap.serve import alerts
from bandstrap.serve.alerts import PATIENCE, PAUSE, Alert, are_rewards_due, check_address, find_alerts, tell
from bandstrap.serve.app import make_app
from bandstrap.serve.hub import Hub, ServiceOptions, entropy_of, prepare
from serve.serving import serving

ALERT = Alert("checkout", "entropy_collapse", "A sentence.", 1.0)


@pytest.fixture
def post_box():
    """An address that keeps what is posted, and answers with the statuses that it is given, then with 200."""
    posted, statuses = [], []

    class Keeping(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(statuses.pop(0) if statuses else 200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Keeping)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/secret", posted, statuses
    server.shutdown()
    server.server_close()


def kinds(experiment, are_due=lambda _: True):
    readout, entropy = experiment.readout(control="red"), entropy_of(experiment)
    return {alert.kind for alert in find_alerts(experiment.status(), readout, entropy, 1.0, are_due)}


def test_each_alert_is_told_where_it_should_be_and_nowhere_else(tmp_path):
    target = str(tmp_path / "shop.db")
    with live.create(
        target, "checkout", policy="epsilon_greedy:epsilon=0.01", arms=["red", "green"], seed=7, refresh=0, floor=0.0
    ) as experiment:
        assert kinds(experiment) == set()
        ids = experiment.decide_many([None] * 99)
        assert kinds(experiment) == set()  # too early to tell
        ids += experiment.decide_many([None] * 200)
        assert kinds(experiment) == {"no_rewards"}
        assert kinds(experiment, lambda _: False) == set()
        experiment.reward_many([(one.id, 0.5) for one in ids if one.arm == "red"])
        assert "arm_without_rewards green" in kinds(experiment, lambda place: place == 1)
        assert "arm_without_rewards green" not in kinds(experiment, lambda place: place == 0)
        experiment.reward_many([(one.id, 1.0) for one in ids if one.arm == "green"])
        assert not {"no_rewards", "arm_without_rewards green"} & kinds(experiment)
        for _ in range(3):
            experiment.reward_many([(one.id, float(one.arm == "green")) for one in experiment.decide_many([None] * 50)])
        assert "entropy_collapse" in kinds(experiment)
        experiment.finish("green")  # to all, as somebody decided
        assert "entropy_collapse" not in kinds(experiment)


def test_a_verdict_and_traffic_that_depends_on_the_arm_are_told(tmp_path):
    settings = {"policy": "ucb1", "arms": ["red", "green"], "seed": 7, "refresh": 0, "floor": 0.5, "new_arm_share": 0.5}
    with live.create(str(tmp_path / "a.db"), "checkout", **settings, reward_range=(0.0, 1.0)) as experiment:
        for _ in range(15):
            made = experiment.decide_many([None] * 100)
            experiment.reward_many([(one.id, float(one.arm == "green")) for one in made])
        assert "verdict ship green" in kinds(experiment)
        broken = dataclasses.replace(
            experiment.readout(control="red").traffic, healthy=False, arm="red", log_evidence=900.0
        )
        readout = dataclasses.replace(experiment.readout(control="red"), traffic=broken, word="unhealthy")
        found = list(find_alerts(experiment.status(), readout, 0.5, 1.0, lambda _: True))
        assert [alert.kind for alert in found] == ["sample_ratio_mismatch"]


@pytest.mark.parametrize(("window", "age"), [(None, PATIENCE), (60.0, 60.0)])
def test_rewards_are_missed_when_they_should_have_come_and_for_a_day(either, window, age, monkeypatch):
    """A burst of decisions at the start of an experiment is no alert: their rewards are yet to come."""
    monkeypatch.setattr(alerts, "FEWEST", 40)
    with live.create(either, "checkout", policy="ucb1", arms=["red", "green"], seed=7, window=window) as experiment:
        keys = {arm: [str(i) for i in range(200) if drawn(experiment, str(i)) == arm] for arm in (0, 1)}
        experiment.decide_many([None] * 70, keys=keys[0][:45] + keys[1][:25])
        for arm, enough in ((None, True), (0, True), (1, False)):
            ages = (0.0, age - 5, age + 5, age + PAUSE - 5, age + PAUSE + 5)
            found = [due(experiment, window, arm, at) for at in ages]
            assert found == [False, False, enough, enough, False], arm


def drawn(experiment, key):
    """The arm that a key gets."""
    return experiment.state.choose(experiment.name, None, key, None, None).arm


def due(experiment, window, arm, age):
    """True if rewards of decisions of this age are due."""
    move(experiment.store, age)
    return are_rewards_due(experiment.store, experiment.row.id, window, arm)


@writing
def move(base, age):
    base._ask(f"UPDATE live_decision SET decided_at = {base.now} - ?", age)  # noqa: S608


@pytest.fixture
def base(tmp_path):
    """A database that a service has used."""
    with Store.open(tmp_path / "shop.db", create=True) as store:
        prepare(store)
        yield store


def test_an_alert_is_posted_once_a_day_and_again_if_it_was_not_delivered(post_box, base, tmp_path):
    address, posted, statuses = post_box
    statuses += [500]
    assert [tell(base, address, ALERT) for _ in range(3)] == [False, True, False]
    with Store.open(tmp_path / "shop.db") as other:  # of another worker, or after a start
        assert not tell(other, address, ALERT)
        assert tell(other, address, ALERT._replace(experiment="other"))
    grow_older(base, PAUSE)
    assert tell(base, address, ALERT)
    assert [one["experiment"] for one in posted] == ["checkout", "checkout", "other", "checkout"]
    assert posted[0] == {"experiment": "checkout", "kind": "entropy_collapse", "sentence": "A sentence.", "at": 1.0}


@writing
def grow_older(base, seconds):
    base._ask("UPDATE serve_alert SET at = at - ?", seconds)


def test_an_address_that_nobody_has_is_told_without_its_secrets(caplog, base):
    assert not tell(base, "http://user:password@127.0.0.1:1/secret", ALERT)
    assert "could not be posted" in caplog.text
    assert "secret" not in caplog.text
    for wrong in ("ftp://host/x", "file:///etc/passwd", "nothing", "http://"):
        with pytest.raises(InvalidInput, match="'alert_url'"):
            check_address(wrong)


def test_an_experiment_that_fails_keeps_no_chore_of_others_from_being_done(tmp_path, monkeypatch, caplog):
    target = str(tmp_path / "shop.db")
    for name in ("a", "b"):
        with live.create(target, name, policy="ucb1", arms=["red", "green"], seed=7) as experiment:
            experiment.decide("ann")
    status = Experiment.status

    def fails(self):
        if self.name == "a":
            raise InvalidInput("The policy is in a file.")
        return status(self)

    monkeypatch.setattr(Experiment, "status", fails)
    hub = Hub(ServiceOptions(target, alert_url="http://127.0.0.1:1/"))
    hub.open()
    hub.options = dataclasses.replace(hub.options, retain=1e-9)
    time.sleep(0.01)
    hub.chores.once()
    hub.close()
    with sqlite3.connect(target) as base:
        assert all(unit.startswith("erased:") for (unit,) in base.execute("SELECT unit FROM live_decision"))
    assert "The policy is in a file." in caplog.text


def test_a_service_posts_what_it_finds(post_box, tmp_path):
    address, posted, _ = post_box
    target = str(tmp_path / "shop.db")
    with live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
        experiment.decide_many([None] * 200)
        move(experiment.store, 2 * PATIENCE)
    with live.create(target, "new", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
        experiment.decide_many([None] * 200)
    with live.create(target, "linear", policy="lin_ucb:dimension=2", seed=7):
        pass
    app = make_app(ServiceOptions(target, alert_url=address))
    with serving(app) as client:
        assert client.get("/healthz").status_code == 200
        deadline = time.monotonic() + 60
        while not posted and time.monotonic() < deadline:
            time.sleep(0.05)
        app.state.hub.chores.once()
        assert [(one["experiment"], one["kind"]) for one in posted] == [("checkout", "no_rewards")]

"""The service over HTTP: who may do what, what is refused, and that everything answered is stored."""

import asyncio
import html
import json
import socket
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from bandstrap import ShareUCB, live
from bandstrap.live import StoreError
from bandstrap.live.experiment import Experiment
from bandstrap.live.store import Store
from bandstrap.serve import limits
from bandstrap.serve.app import make_app
from bandstrap.serve.desk import one_by_one
from bandstrap.serve.hub import ServiceOptions
from bandstrap.serve.problems import without_doubles
from bandstrap.serve.tokens import SCOPES, create_token, revoke_token
from command_line import runner
from serve.serving import serving

READER, DECIDER = "read", "decide"  # kinds of tokens
UNIT = "<script>alert(1)</script>"


@pytest.fixture
def service(tmp_path):
    """A service over two experiments, and tokens of every kind."""
    target = str(tmp_path / "shop.db")
    for name in ("checkout", "other"):
        live.create(target, name, policy="ucb1", arms=["red", "green"], seed=7, refresh=0).close()
    with Store.open(target) as store:
        tokens = {scope: create_token(store, scope) for scope in SCOPES}
        tokens |= {f"{scope} of checkout": create_token(store, scope, "checkout") for scope in SCOPES}
        tokens["expired"] = create_token(store, "admin", lifetime=1e-9)
        tokens["revoked"] = create_token(store, "admin")
        revoke_token(store, tokens["revoked"].split("_")[1])
    app = make_app(ServiceOptions(target))
    with serving(app) as client:
        yield SimpleNamespace(client=client, tokens=tokens, target=target, hub=app.state.hub)


def ask(service, method, path, body=None, token="admin", **headers):  # noqa: S107 - a kind of token
    if token is not None:
        headers["Authorization"] = f"Bearer {service.tokens.get(token, token)}"
    content = body if isinstance(body, bytes) else None
    return service.client.request(
        method, path, headers=headers | ({"Content-Type": "application/json"} if content is not None else {}),
        content=content, json=None if content is not None else body,
    )  # fmt: skip


def rows(service):
    """How many rows each table has."""
    with sqlite3.connect(service.target) as base:
        names = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        names = [name for name in names if name not in ("live_build", "serve_written")]  # not what was done
        return {name: base.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}  # noqa: S608


# --- who may do what ------------------------------------------------------------------------------------------------------

CALLS = [
    ("POST", "/experiments", {"name": "new", "policy": "ucb1", "arms": ["a", "b"]}, "admin"),
    ("GET", "/experiments", None, "read"),
    ("GET", "/experiments/{}", None, "read"),
    ("GET", "/experiments/{}/log", None, "read"),
    ("GET", "/experiments/{}/readout", None, "read"),
    ("PATCH", "/experiments/{}", {"floor": 0.05}, "admin"),
    ("POST", "/experiments/{}/finish", {"arm": "red"}, "admin"),
    ("DELETE", "/experiments/{}", None, "admin"),
    ("PATCH", "/experiments/{}", {"mode": "live"}, "admin"),
    ("PUT", "/experiments/{}/arms/blue", None, "admin"),
    ("DELETE", "/experiments/{}/arms/blue", None, "admin"),
    ("POST", "/experiments/{}/decisions", {"key": "k"}, "decide"),
    ("POST", "/experiments/{}/decisions", [{"key": "k"}, {"key": "l"}], "decide"),
    ("POST", "/experiments/{}/decisions/{id}/activate", None, "decide"),
    ("POST", "/experiments/{}/rewards", [{"decision": "{id}", "value": 1.0}], "reward"),
    ("POST", "/ofrep/v1/evaluate/flags/{}", {"context": {"targetingKey": "u"}}, "decide"),
    ("POST", "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "u"}}, "decide"),
    ("POST", "/experiments/{}/imports", {"key": "forced", "arm": "red", "forced": True}, "decide"),
    ("PUT", "/experiments/new", {"policy": "ucb1", "arms": ["a", "b"]}, "admin"),
    ("GET", "/experiments/{}/weights", None, "read decide"),
    ("GET", "/metrics", None, "read"),
    ("GET", "/readyz", None, "read decide reward"),
    ("GET", "/openapi.json", None, "read decide reward"),
]
# Calls of a token for one experiment that name none: what they answer is of that one, or of none.
OF_ANY = ("flags", "readyz", "openapi.json")


def test_every_route_is_opened_by_the_scopes_that_it_names_and_no_other(service):
    made = ask(service, "POST", "/experiments/checkout/decisions", {"key": "first", "defer": True}).json()["id"]
    for method, path, body, needed in CALLS:
        where = path.replace("{id}", made).replace("{}", "checkout")
        what = None if body is None else json.loads(json.dumps(body).replace("{id}", made))
        is_for_one = "{}" in path or path.endswith(OF_ANY)
        for kind in service.tokens:
            scope, _, only = kind.partition(" of ")
            got = ask(service, method, where, what, kind).status_code
            if scope in ("expired", "revoked"):
                assert got == 401, (kind, where)
            elif scope not in (*needed.split(), "admin") or (only and not is_for_one):
                assert got == 403, (kind, where)
            else:
                assert got < 300 or (got == 422 and "arms" in where), (
                    kind,
                    where,
                    got,
                )  # an arm that is there, or gone
            if only and "{}" in path:  # another experiment's
                assert (
                    ask(service, method, path.replace("{id}", made).replace("{}", "other"), what, kind).status_code
                    == 403
                )


def test_every_route_is_in_the_matrix_of_scopes(service):
    """A route that is added must be added to the matrix; one without a permission cannot be added at all."""
    document = ask(service, "GET", "/openapi.json").json()
    there = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    paths = {(method, path.replace("{}", "{name}").replace("{id}", "{decision}")) for method, path, *_ in CALLS}
    paths = {(method, path.replace("arms/blue", "arms/{arm}").replace("/new", "/{name}")) for method, path in paths}
    assert there - paths == {("GET", "/healthz")}
    assert paths - there == {("GET", "/openapi.json")}
    for method, path, _, needed in CALLS:  # the document says the same
        known = path.replace("/new", "/{name}").replace("{}", "{name}").replace("{id}", "{decision}")
        operation = document["paths"].get(known.replace("arms/blue", "arms/{arm}"), {}).get(method.lower())
        if operation is not None:
            said = {scope for way in operation["security"] for scope in way["token"]}
            assert said - {"admin"} == {*needed.split()} - {"admin"}, path
            assert set(operation["responses"]) <= {"200", "201", "default"}
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert str(limits.BODY) in document["info"]["description"]


def test_the_board_is_for_tokens_that_may_read_and_of_their_experiment(service):
    for kind in (*service.tokens, "malformed", ""):
        scope, _, only = kind.partition(" of ")
        for name in (None, "checkout", "other", "nobody"):
            address = "/ui/" if name is None else f"/ui/experiments/{name}"
            service.client.cookies.clear()
            service.client.cookies.set("bandstrap_board", service.tokens.get(kind, kind), path="/ui")
            if scope not in SCOPES:
                expected = 401
            elif scope not in (READER, "admin") or (only and name not in (None, only)):
                expected = 403
            else:
                expected = 404 if name == "nobody" else 200
            page = service.client.get(address)
            assert page.status_code == expected, (kind, address)
            if name is None and expected == 200:
                assert ("/ui/experiments/other" in page.text) is not bool(only)
            service.client.cookies.clear()
            bearer = {"Authorization": f"Bearer {service.tokens.get(kind, kind) or 'x'}"}
            assert service.client.get(address, headers=bearer).status_code == 401  # only its cookie opens the board


def test_what_is_no_token_opens_nothing(service):
    secret = service.tokens["admin"]
    id_ = secret.split("_")[1]
    wrong = [
        None,
        "x",
        "bandstrap_",
        f"bandstrap_{id_}_",
        f"bandstrap_{id_}_wrong",
        secret[:-1],
        secret + "x",
        secret.upper(),
    ]
    wrong += ["é" * 10, "bandstrap_" + "0" * 500 + "_x", "bandstrap_' OR 1=1 --_x"]
    before = rows(service)
    for token in wrong:
        header = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
        for method, path, body, _ in CALLS:
            answer = service.client.request(method, path.format("checkout", id="x"), headers=header, json=body)
            assert answer.status_code == 401, (token, path)
            if token is None:  # nothing is read of what comes without one
                broken = service.client.request(method, path.format("checkout", id="x"), content=b"{")
                assert broken.status_code == 401, path
            assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert rows(service) == before
    assert service.client.get("/healthz").status_code == 200


def test_a_revoked_token_is_refused_once_it_is_read_again(service, monkeypatch):
    assert ask(service, "GET", "/experiments", token=READER).status_code == 200
    with Store.open(service.target) as store:
        revoke_token(store, service.tokens["read"].split("_")[1])
    monkeypatch.setattr(limits, "REVOCATION", 0.0)
    assert ask(service, "GET", "/experiments", token=READER).status_code == 401


def test_secrets_are_not_stored(service):
    content = b"".join(path.read_bytes() for path in service_files(service))
    for token in service.tokens.values():
        assert token.split("_", 2)[2].encode() not in content


def service_files(service):
    from pathlib import Path

    return [path for path in Path(service.target).parent.iterdir() if path.is_file()]


def test_too_many_requests_of_one_token_are_told_when_to_come_back(service, monkeypatch):
    monkeypatch.setattr(limits, "BURST", 3.0)
    monkeypatch.setattr(limits, "RATE", 1e-6)
    codes = [ask(service, "GET", "/experiments", token=READER).status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    assert int(ask(service, "GET", "/experiments", token=READER).headers["Retry-After"]) >= 1
    assert ask(service, "GET", "/experiments").status_code == 200  # others are not concerned


def test_calls_that_would_wait_too_long_are_told_when_to_come_back(service, monkeypatch):
    monkeypatch.setattr(limits, "QUEUE", 0)
    before = rows(service)
    calls = [
        ("decisions", {}),
        ("rewards", {"decision": "x", "value": 1}),
        ("imports", {"key": "k", "arm": "red", "version": 0}),
    ]
    for path, body in calls:
        full = ask(service, "POST", f"/experiments/checkout/{path}", body)
        assert (full.status_code, full.headers["Retry-After"]) == (503, "1"), path
    flag = ask(service, "POST", "/ofrep/v1/evaluate/flags/checkout", {"context": {"targetingKey": "u"}})
    assert (flag.status_code, flag.headers["Retry-After"], rows(service)) == (503, "1", before)


def test_nothing_that_identifies_a_caller_or_a_unit_is_logged(service, caplog, monkeypatch):
    """Neither when a call fails, nor when it is refused."""
    unit, path = "ann.unmistakable", "/experiments/checkout/decisions"
    caplog.set_level("DEBUG")
    ask(service, "POST", path, {"unit": unit, "key": unit})
    ask(service, "POST", path, {"unit": unit, "available": ["x"]})
    ask(service, "POST", path, {"unit": unit}, "revoked")
    ask(service, "POST", "/experiments/checkout/rewards", {"unit": unit + "s", "value": 1.0})
    monkeypatch.setattr(Experiment, "decide_many", lambda *_, **__: [][0])
    assert ask(service, "POST", path, {"unit": unit}).status_code == 500
    assert "IndexError" in caplog.text
    for secret in (unit, *(token.split("_", 2)[2] for token in service.tokens.values())):
        assert secret not in caplog.text


# --- decisions and rewards ------------------------------------------------------------------------------------------------


def test_calls_of_many_threads_are_committed_together_and_each_is_answered_for_itself(service):
    def one(i):
        body = {"unit": f"u{i}", "key": f"k{i}"} | ({"available": ["blue"]} if i % 10 == 3 else {})
        return ask(service, "POST", "/experiments/checkout/decisions", body)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(80)))
    assert [answer.status_code for answer in answers] == [422 if i % 10 == 3 else 200 for i in range(80)]
    assert all("'available'" in answers[i].json()["detail"] for i in range(3, 80, 10))
    decisions = [answer.json() for answer in answers if answer.status_code == 200]
    wishes = [{"decision": decision["id"], "value": 1.0} for decision in decisions]
    outcomes = ask(service, "POST", "/experiments/checkout/rewards", [*wishes, {"decision": "none", "value": 1}]).json()
    assert [item.get("outcome") for item in outcomes[:-1]] == ["stored"] * 72
    assert outcomes[-1]["status"] == 404
    again = ask(service, "POST", "/experiments/checkout/rewards", wishes[0]).json()
    assert again == {"outcome": "duplicate"}
    with live.open(service.target, "checkout") as experiment:
        assert experiment.refresh() == 72
        assert experiment.replay().is_identical
        assert experiment.decide(key="k0")._asdict() == decisions[0]


def test_a_wish_that_fails_is_answered_for_itself():
    def call(wishes):
        if "poison" in wishes:
            raise KeyError("poison")
        return [wish.upper() for wish in wishes]

    found = one_by_one(call, ["a", "b", "poison", "c"])
    assert [str(each) for each in found] == ["A", "B", "'poison'", "C"]


def test_a_failure_of_one_item_leaves_the_others_their_answers(service, monkeypatch):
    decide_many = Experiment.decide_many

    def failing(self, units, **options):
        if "poison" in units:
            raise KeyError("poison")
        return decide_many(self, units, **options)

    monkeypatch.setattr(Experiment, "decide_many", failing)
    wishes = [{"unit": unit} for unit in ("a", "poison", "b")]
    answer = ask(service, "POST", "/experiments/checkout/decisions", wishes)
    found = answer.json()
    assert (answer.status_code, [each.get("unit") for each in found]) == (200, ["a", None, "b"])
    assert (found[1]["status"], "poison" in found[1]["detail"]) == (500, False)


def test_a_key_that_is_asked_for_again_has_the_unit_that_is_stored(service):
    path, key = "/experiments/checkout/decisions", {"key": "k"}
    assert ask(service, "POST", path, key | {"unit": "first"}).json()["unit"] == "first"
    assert ask(service, "POST", path, key | {"unit": "second"}).json()["unit"] == "first"


def test_the_header_is_the_key(service):
    first, second = (
        ask(service, "POST", "/experiments/checkout/decisions", {}, **{"Idempotency-Key": "k"}).json() for _ in range(2)
    )
    assert first == second
    assert first["key"] == "k"
    for body, *keys in (({"key": "l"}, "k"), ({}, "k", "l"), ([{}], "k"), ({}, ""), ({}, "x" * 501), ({}, "\xe9")):
        headers = [("Authorization", f"Bearer {service.tokens['decide']}")]
        headers += [("Idempotency-Key", key.encode("latin-1")) for key in keys]
        answer = service.client.post("/experiments/checkout/decisions", json=body, headers=headers)
        assert (answer.status_code, answer.json()["detail"][-1]) == (422, "."), (body, keys)


def test_a_reward_of_a_unit_is_that_of_its_last_decision(service):
    ids = [ask(service, "POST", "/experiments/checkout/decisions", {"unit": "u"}).json()["id"] for _ in range(3)]
    with sqlite3.connect(service.target) as base:
        for place, id_ in enumerate(ids):
            base.execute("UPDATE live_decision SET decided_at = ? WHERE id = ?", (1000.0 + min(place, 1), id_))
    send = {"unit": "u", "value": 1.0}
    ambiguous = ask(service, "POST", "/experiments/checkout/rewards", send)
    assert (ambiguous.status_code, "two decisions" in ambiguous.json()["detail"]) == (409, True)
    with sqlite3.connect(service.target) as base:
        base.execute("UPDATE live_decision SET decided_at = 1002 WHERE id = ?", (ids[0],))
    assert ask(service, "POST", "/experiments/checkout/rewards", send).json() == {"outcome": "stored"}
    with sqlite3.connect(service.target) as base:
        assert base.execute(
            "SELECT d.id FROM live_reward w JOIN live_decision d ON d.number = w.decision"
        ).fetchall() == [(ids[0],)]
    assert ask(service, "POST", "/experiments/checkout/rewards", {"unit": "nobody", "value": 1.0}).status_code == 404


def test_a_reward_of_a_unit_is_that_of_the_last_that_was_shown(service):
    path = "/experiments/checkout/decisions"
    first, second, third = (
        ask(service, "POST", path, {"unit": "u", "key": key, "defer": key != "a"}).json()["id"] for key in "abc"
    )
    with sqlite3.connect(service.target) as base:
        for place, id_ in enumerate((first, second, third)):
            base.execute("UPDATE live_decision SET decided_at = ? WHERE id = ?", (1000.0 + place, id_))

    def rewarded(unit="u"):
        key = f"{unit} {first}{second}{third}"[:20] + str(len(seen))
        answer = ask(service, "POST", "/experiments/checkout/rewards", {"unit": unit, "value": 1.0, "key": key})
        assert answer.json() == {"outcome": "stored"}
        with sqlite3.connect(service.target) as base:
            query = "SELECT d.id FROM live_reward w JOIN live_decision d ON d.number = w.decision ORDER BY w.id DESC"
            seen.append(base.execute(query).fetchone()[0])
        return seen[-1]

    seen = []
    assert rewarded() == first  # the others may never be shown
    ask(service, "POST", f"{path}/{second}/activate")
    assert rewarded() == second
    with live.create(service.target, "window", policy="ucb1", arms=["red", "green"], seed=7, window=60) as experiment:
        late, hidden = experiment.decide("v", defer=True), experiment.decide("w", defer=True)
        with sqlite3.connect(service.target) as base:
            for each in (late, hidden):
                base.execute("UPDATE live_decision SET decided_at = decided_at - 100 WHERE id = ?", (each.id,))
        experiment.activate(late.id)  # its window begins now
    for unit, status in (("v", 200), ("w", 404)):
        found = ask(service, "POST", "/experiments/window/rewards", {"unit": unit, "value": 1.0})
        assert found.status_code == status


def test_the_list_of_experiments_tells_their_arms_modes_and_weights_as_they_are(service):
    def listed():
        (found,) = (one for one in ask(service, "GET", "/experiments").json() if one["name"] == "checkout")
        status = ask(service, "GET", "/experiments/checkout").json()
        assert (found["mode"], found["arms"]) == (status["mode"], [arm["label"] for arm in status["arms"]])
        return found["mode"], [arm["weight"] for arm in status["arms"]]

    path, even = "/experiments/checkout", [pytest.approx(1 / 3)] * 3
    assert listed() == ("live", [0.5, 0.5])
    ask(service, "PUT", f"{path}/arms/blue")
    ask(service, "PATCH", path, {"control": "red", "mode": "shadow"})
    assert listed() == ("shadow", even)
    ask(service, "POST", f"{path}/finish", {"arm": "green"})
    assert listed() == ("finished", [0, 1, 0])  # whatever the policy would do
    ask(service, "DELETE", path)
    assert listed() == ("archived", [None] * 3)
    ask(service, "PATCH", path, {"mode": "live"})
    assert listed() == ("live", even)


def test_the_control_of_a_linear_policy_is_a_number_by_every_door(service):
    settings = {"policy": "lin_ucb:dimension=2", "holdout": 0.1, "seed": 1, "control": 0}
    assert ask(service, "PUT", "/experiments/new", settings).status_code == 201
    live.create(service.target, "new", **settings).close()
    assert ask(service, "PATCH", "/experiments/new", {"control": 1}).status_code == 200
    for wrong in ("1", -1, True, 0.5):
        assert ask(service, "PATCH", "/experiments/new", {"control": wrong}).status_code == 422


def test_decisions_made_elsewhere_are_stored_with_one_outcome_each(service):
    weights = ask(service, "GET", "/experiments/checkout/weights", token=DECIDER)
    assert weights.json()["salt"]
    assert "salt" not in ask(service, "GET", "/experiments/checkout/weights", token=READER).json()
    tag, path = {"If-None-Match": weights.headers["ETag"]}, "/experiments/checkout/weights"
    for known in (tag["If-None-Match"], "W/" + tag["If-None-Match"], f'"x", W/{tag["If-None-Match"]}', "*"):
        assert ask(service, "GET", path, None, "decide", **{"If-None-Match": known}).status_code == 304
    assert ask(service, "GET", path, None, "decide", **{"If-None-Match": '"x"'}).status_code == 200
    items = [{"key": "e1", "arm": arm, "version": 0} for arm in ("red", "green", "blue")]
    outcomes = ask(service, "POST", "/experiments/checkout/imports", [*items, {"key": "e2", "arm": "red"}]).json()
    assert sorted(one.get("outcome", "refused") for one in outcomes) == ["refused"] * 3 + ["stored"]
    (stored,) = [one for one in outcomes if one.get("outcome") == "stored"]
    assert (stored["source"], stored["propensity"]) == ("policy", 0.5)
    assert (
        ask(service, "POST", "/experiments/checkout/rewards", {"decision": stored["id"], "value": 1}).status_code == 200
    )
    assert ask(service, "PATCH", "/experiments/checkout", {"floor": 0.1}).status_code == 200
    assert ask(service, "GET", "/experiments/checkout/weights", None, "decide", **tag).status_code == 200


def test_what_was_served_by_force_is_counted_and_what_was_stored_instead_voided(service):
    answers = [
        ask(service, "POST", "/experiments/checkout/decisions", {"key": f"k{i}", "unit": f"u{i}"}).json()
        for i in (0, 1)
    ]
    other = {"red": "green", "green": "red"}
    arms = [answers[0]["arm"], other[answers[1]["arm"]]]
    items = [{"key": f"k{i}", "unit": f"u{i}", "arm": arm, "forced": True} for i, arm in enumerate(arms)]
    items.append({"key": "k2", "unit": "u2", "arm": "red", "forced": True})
    for word in ("forced", "duplicate"):
        outcomes = ask(service, "POST", "/experiments/checkout/imports", items).json()
        assert outcomes == [{"outcome": word}] * 3
    assert (
        ask(service, "POST", "/experiments/checkout/imports", {"key": "k", "arm": "no", "forced": True}).status_code
        == 422
    )
    with live.open(service.target, "checkout") as experiment:
        assert experiment.state.voided == {answer["id"] for answer in answers}  # whichever arm was drawn
        assert experiment.replay().is_identical
    counts = {arm: arms.count(arm) + (arm == "red") for arm in ("red", "green")}
    found = ask(service, "GET", "/experiments/checkout").json()["forced"]
    assert found == {arm: n for arm, n in counts.items() if n}
    by_unit = ask(service, "POST", "/experiments/checkout/rewards", {"unit": "u2", "value": 1.0})
    assert (by_unit.status_code, "was forced" in by_unit.json()["detail"]) == (409, True)


def test_a_body_is_json_whatever_it_is_called(service):
    """As curl calls it where nothing is said, and with a name that a proxy gave."""
    bodies = [
        ("PUT", "/experiments/new", b'{"policy": "ucb1", "arms": ["a", "b"]}'),
        ("PATCH", "/experiments/new", b'{"floor": 0.1}'),
    ]
    bodies += [("POST", "/experiments/new/decisions", b"{}")]
    bodies += [("POST", "/ofrep/v1/evaluate/flags/new", b'{"context": {"targetingKey": "u"}}')]
    token = {"Authorization": f"Bearer {service.tokens['admin']}"}
    for method, path, body in bodies:
        for kind in ("application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8", None):
            headers = token if kind is None else token | {"Content-Type": kind}
            answer = service.client.request(method, path, content=body, headers=headers)
            assert answer.is_success, (path, kind, answer.text)


def test_names_may_have_a_slash(service):
    name, arm = "a/b%2Fc", "x/y"
    ask(service, "POST", "/experiments", {"name": name, "policy": "ucb1", "arms": [arm, "z"], "refresh": 0})
    path = "/experiments/" + quote(name, safe="")
    assert ask(service, "POST", path + "/decisions", {}).json()["arm"] in (arm, "z")
    assert ask(service, "GET", path).json()["name"] == name
    assert ask(service, "PUT", path + "/arms/" + quote(arm, safe=""), {"state": "paused"}).status_code == 200
    assert ask(service, "POST", path + "/decisions", {}).json()["arm"] == "z"
    assert service.client.get("/experiments/a/b").status_code == 404


# --- what is refused ------------------------------------------------------------------------------------------------------

BODIES = rb"""
nonsense
{
{"key": NaN}
{"key": "a", "key": "b"}
{"key": 1}
{"key": ""}
[]
null
1
{"unit": "\ud800"}
{"unit": "\u0000"}
{"available": "red"}
{"available": [1]}
{"available": []}
{"defer": "yes"}
{"actions": [[1, 2]]}
{"extra": 1}
""".splitlines()
BODIES += [b"\xff\xfe", b"[" * 5000, json.dumps({"key": "x" * 501}).encode(), json.dumps([{}] * 1001).encode()]
BODIES += [b'{"key": "' + b"x" * limits.BODY + b'"}']
REWARDS = rb"""
{"decision": "x", "value": NaN}
{"decision": "x", "value": Infinity}
{"decision": "x", "value": 1e999}
{"value": 1}
{"decision": "x", "unit": "y", "value": 1}
{"decision": "x", "value": "1"}
{"decision": "x", "value": true}
{"decision": "x"}
{"decision": "x", "value": 1, "value": 2}
[]
""".splitlines()


def test_what_is_not_understood_is_refused_in_a_sentence_and_changes_nothing(service):
    before = rows(service)
    for path, bodies in (("decisions", BODIES), ("rewards", REWARDS)):
        for body in bodies:
            answer = ask(service, "POST", f"/experiments/checkout/{path}", body)
            assert 400 <= answer.status_code < 500, (body[:60], answer.text)
            assert answer.headers["Content-Type"] == "application/problem+json", body[:60]
            found = answer.json()
            assert found["status"] == answer.status_code
            assert found["detail"].endswith("."), found
    for method, path in (
        ("GET", "/experiments/nobody"),
        ("POST", "/experiments/nobody/decisions"),
        ("GET", "/nothing"),
        ("PUT", "/healthz"),
    ):
        answer = ask(service, method, path, {} if method == "POST" else None)
        assert answer.status_code in (404, 405)
        assert answer.headers["Content-Type"] == "application/problem+json"
    file = ask(service, "POST", "/experiments", {"name": "evil", "policy": "/any/x.py:Evil", "arms": ["a", "b"]})
    assert (file.status_code, rows(service)) == (403, before)


def test_a_name_given_twice_is_found_in_one_pass():
    class Name(str):
        """A name that counts how often it is compared."""

        __slots__ = ()
        n_compared = 0

        def __eq__(self, other):
            Name.n_compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    pairs = [(Name(i), 1) for i in (*range(2000), 1999)]
    with pytest.raises(ValueError, match="'1999' is given twice"):
        without_doubles(pairs)
    assert Name.n_compared < 10 * len(pairs)


def test_a_database_that_cannot_be_written_is_read(service, monkeypatch):
    monkeypatch.setattr(service.hub.store, "timeout", 0.2)
    with sqlite3.connect(service.target) as holding:
        holding.execute("BEGIN IMMEDIATE")
        assert ask(service, "GET", "/experiments").status_code == 200  # a token that was not used before
        holding.rollback()


def test_a_request_for_no_path_is_refused(service):
    address = (service.client.base_url.host, service.client.base_url.port)
    with socket.create_connection(address, timeout=30) as line:
        line.sendall(b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.recv(4096).startswith(b"HTTP/1.1 404")


def test_every_answer_says_how_it_may_be_used(service):
    for path in ("/healthz", "/ui/", "/experiments", "/nothing"):
        headers = service.client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert "script-src 'self'" in headers["Content-Security-Policy"]


def test_only_hosts_and_origins_that_are_named_are_served(tmp_path):
    target, page = str(tmp_path / "shop.db"), "https://shop.example.org"
    live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    with Store.open(target) as store:
        token = create_token(store, "decide")
    options = ServiceOptions(target, allowed_hosts=("*.example.org", "[::1]"), cors_origins=(page,))
    path = "/experiments/checkout/decisions"
    with serving(make_app(options)) as client:
        for host, is_served in (
            ("api.example.org", True),
            ("API.example.org:8000", True),
            ("a.b.example.org", True),
            ("[::1]:8000", True),
            ("example.org", False),
            ("evilexample.org", False),
            ("api.example.org.evil.com", False),
            ("", False),
            ("[", False),
        ):
            answer = client.post(path, json={}, headers={"Host": host, "Authorization": f"Bearer {token}"})
            assert answer.status_code == (200 if is_served else 400), host
            assert is_served or answer.headers["Content-Type"] == "application/problem+json"
            assert client.get("/healthz", headers={"Host": host}).status_code == 200
        known = {"Host": "api.example.org", "Access-Control-Request-Method": "POST"}
        known["Access-Control-Request-Headers"] = "authorization,idempotency-key"
        for origin in (page, "https://evil.example.com", "null"):
            asked = client.options(path, headers=known | {"Origin": origin})
            answer = client.post(path, headers={"Host": "api.example.org", "Origin": origin})
            for each in (asked, answer):
                assert (each.headers.get("Access-Control-Allow-Origin") == page) is (origin == page)
                assert "Access-Control-Allow-Credentials" not in each.headers
                assert each.headers["X-Frame-Options"] == "DENY"


def test_decisions_do_not_wait_for_reports(service, monkeypatch):
    started, over, path = threading.Semaphore(0), threading.Event(), "/experiments/checkout"

    def slow(_):
        started.release()
        assert over.wait(60)
        return SimpleNamespace(to_dict=dict)

    monkeypatch.setattr(Experiment, "readout", slow)
    with Store.open(service.target) as store:
        service.tokens |= {f"new {i}": create_token(store, "decide") for i in range(3)}
    with ThreadPoolExecutor(40) as pool:
        try:
            reports = [pool.submit(ask, service, "GET", path + "/readout") for _ in range(39)]
            assert started.acquire(timeout=60)
            for i in range(3):  # whose token is not known yet
                made = ask(service, "POST", path + "/decisions", {"unit": f"u{i}"}, f"new {i}")
                assert made.status_code == 200
            assert ask(service, "POST", path + "/rewards", {"unit": "u1", "value": 1.0}).status_code == 200
            assert ask(service, "GET", "/readyz").status_code == 200
            assert not any(report.done() for report in reports)
        finally:
            over.set()
        assert {report.result().status_code for report in reports} == {200}
    assert not started.acquire(blocking=False)  # who waited for it got the same


def test_experiments_share_connections(service, monkeypatch):
    monkeypatch.setattr(limits, "CONNECTIONS", 2)
    names = [f"shop {i}" for i in range(7)]
    for name in names:
        live.create(service.target, name, policy="ucb1", arms=["red", "green"], seed=7).close()
    with ThreadPoolExecutor(7) as pool:
        for _ in range(3):
            made = list(pool.map(lambda name: ask(service, "POST", f"/experiments/{name}/decisions", {}), names))
            assert {answer.status_code for answer in made} == {200}
        list(pool.map(lambda name: ask(service, "GET", f"/experiments/{name}"), names))
    hub = service.hub
    assert (len(hub._desks), len(hub._writing), len(hub._readers), len(hub._reading)) == (7, 1, 7, 2)
    for name in names:
        with live.open(service.target, name) as experiment:
            assert experiment.replay().decisions == 3


# --- OFREP ----------------------------------------------------------------------------------------------------------------


def test_flags_are_experiments_and_bulk_evaluation_is_deferred(service):
    body = {"context": {"targetingKey": "u", "country": "es"}}
    bulk = ask(service, "POST", "/ofrep/v1/evaluate/flags", body)
    flags = {flag["key"]: flag for flag in bulk.json()["flags"]}
    assert set(flags) == {"checkout", "other"}
    tag = bulk.headers["ETag"]
    assert ask(service, "POST", "/ofrep/v1/evaluate/flags", body, **{"If-None-Match": tag}).status_code == 304
    only = ask(service, "POST", "/ofrep/v1/evaluate/flags", body, "decide of checkout").json()["flags"]
    assert [flag["key"] for flag in only] == ["checkout"]
    with live.open(service.target, "checkout") as experiment:
        assert experiment.status().inactive == 1
        single = ask(service, "POST", "/ofrep/v1/evaluate/flags/checkout", body).json()
        assert single == flags["checkout"]
        assert (single["reason"], single["variant"] in ("red", "green")) == ("SPLIT", True)
        assert experiment.status().inactive == 0
    for wrong, code in (
        ({}, "INVALID_CONTEXT"),
        ({"context": {}}, "TARGETING_KEY_MISSING"),
        (b"{", "PARSE_ERROR"),
        (b"[NaN]", "PARSE_ERROR"),
    ):
        answer = ask(service, "POST", "/ofrep/v1/evaluate/flags/checkout", wrong)
        assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    for name in ("nothing", "JSON", "targetingKey"):
        missing = ask(service, "POST", f"/ofrep/v1/evaluate/flags/{name}", body)
        assert (missing.status_code, missing.json()["errorCode"]) == (404, "FLAG_NOT_FOUND")


def test_a_context_reaches_the_policy_by_every_route(service):
    fields = {"device": ["phone", "desktop"], "visits": {"kind": "number", "missing": "allow"}}
    with live.create(
        service.target, "shown", policy=ShareUCB(contexts=fields), arms=["red", "green"], seed=1
    ) as experiment:
        path, context = "/experiments/shown/decisions", {"device": "phone", "visits": 3}
        wishes = [{"key": "a", "context": context}, {"key": "b", "context": {"device": "desktop"}}, {"key": "c"}]
        *shown, without = ask(service, "POST", path, wishes).json()
        assert [experiment.decide(key=wish["key"], context=wish["context"]).id for wish in wishes[:2]] == [
            answer["id"] for answer in shown
        ]
        assert (without["status"], "'context'" in without["detail"]) == (422, True)
        attributes = {"targetingKey": "u", "country": "es", **context}
        flag = ask(service, "POST", "/ofrep/v1/evaluate/flags/shown", {"context": attributes}).json()
        assert flag["metadata"]["decision"] == experiment.decide("u", key="u", context=context).id
        before = rows(service)
        deep = "phone"
        for _ in range(900):
            deep = [deep]
        for wrong in ({}, {"device": "watch"}, {"device": deep}, {"device": "phone", "visits": {"a": deep}}):
            told = ask(service, "POST", "/ofrep/v1/evaluate/flags/shown", {"context": {"targetingKey": "v"} | wrong})
            assert (told.status_code, told.json()["errorCode"]) == (400, "INVALID_CONTEXT"), wrong
        for wrong in (
            {"device": "watch"},
            {"device": "phone", "more": 1},
            {"device": ["phone"]},
            {"device": "phone", "visits": 10**400},
            {"device": "phone", "visits": {"one": [1]}},
            {"device": "phone", "visits": True},
            [1, 2, "x"],
            "phone",
            {},
        ):
            assert ask(service, "POST", path, {"context": wrong}).status_code == 422
        codes = []
        for number in (b"NaN", b"1e999", b"9" * 5000):
            body = b'{"context": {"device": "phone", "visits": ' + number + b"}}"
            codes.append(ask(service, "POST", path, body).status_code)
        assert codes == [400, 400, 400]  # no finite numbers, or too long a one
        assert ask(service, "POST", "/experiments/checkout/decisions", {"context": context}).status_code == 422
        # What has no context could never be learned of.
        for arm in ("red", "green"):
            found = ask(service, "POST", "/experiments/shown/imports", {"key": "i", "arm": arm, "version": 0})
            assert (found.status_code, "context" in found.json()["detail"]) == (422, True)
        assert rows(service) == before
        assert experiment.replay().is_identical


# --- pages ----------------------------------------------------------------------------------------------------------------


def test_the_board_escapes_names_and_asks_for_a_token(service):
    ask(service, "POST", "/experiments", {"name": UNIT, "policy": "ucb1", "arms": [UNIT, "<b>"]})
    assert service.client.get("/ui/").status_code == 401
    wrong = service.client.post("/ui/login", content="token=x")
    assert wrong.status_code == 401
    entered = service.client.post("/ui/login", content=f"token={service.tokens['read']}", follow_redirects=False)
    assert entered.status_code == 303
    assert "HttpOnly" in entered.headers["Set-Cookie"]
    assert "SameSite=strict" in entered.headers["Set-Cookie"]
    page = service.client.get("/ui/").text
    one = service.client.get("/ui/experiments/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert one.status_code == 200
    for text in (page, one.text):
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text
        assert text.count("<script") == 1
    assert service.client.get("/ui/experiments/nobody").status_code == 404


def test_another_sites_page_signs_nobody_in_or_out(service):
    form = {"content": f"token={service.tokens['read']}", "follow_redirects": False}
    for path in ("/ui/login", "/ui/logout"):
        for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 303), ("none", 303)):
            answer = service.client.post(path, headers={"Sec-Fetch-Site": site}, **form)
            assert (answer.status_code, "Set-Cookie" in answer.headers) == (status, status == 303), (path, site)


def test_a_board_whose_database_fails_says_so_on_a_page(service, monkeypatch):
    service.client.post("/ui/login", content=f"token={service.tokens['read']}", follow_redirects=False)
    monkeypatch.setattr(
        service.hub.store, "experiments", lambda: (_ for _ in ()).throw(StoreError("The disk is gone."))
    )
    page = service.client.get("/ui/")
    assert (page.status_code, page.headers["Content-Type"]) == (503, "text/html; charset=utf-8")
    assert "The disk is gone." in page.text


def test_no_name_of_whatever_kind_is_code_on_a_page(service):
    """Of experiments, arms, units, keys, authors, fields of contexts and their levels."""
    attacks = ["<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\"'><svg onload=alert(3)>"]
    field, level, other = attacks
    policy = ShareUCB(contexts={field: [level, other], other: {"kind": "number"}})
    settings = {"arms": attacks, "control": other, "holdout": 0.3, "seed": 1, "refresh": 0, "actor": attacks[0]}
    with live.create(service.target, attacks[1], policy=policy, **settings) as experiment:
        contexts = [{field: [level, other][i % 2], other: i} for i in range(60)]
        names = [f"{attacks[i % 3]} {i}" for i in range(60)]
        made = experiment.decide_many(names, keys=names, contexts=contexts)
        experiment.reward_many([(each.id, i % 2, attacks[i % 3]) for i, each in enumerate(made)])
        experiment.void(made[0].id, actor=attacks[1])
        experiment.pause(attacks[0], actor=attacks[2])
        experiment.finish(attacks[1], actor=attacks[0])
    forced = {"key": attacks[0], "unit": attacks[1], "arm": attacks[2], "forced": True}
    path = quote(attacks[1], safe="")
    assert ask(service, "POST", f"/experiments/{path}/imports", forced).json() == {"outcome": "forced"}
    service.client.post("/ui/login", content=f"token={service.tokens['read']}", follow_redirects=False)
    for address in ("/ui/", f"/ui/experiments/{path}", f"/ui/experiments/{quote(attacks[0], safe='')}"):
        page = service.client.get(address)
        assert page.status_code == (404 if address.endswith("script%3E") else 200)
        assert html.escape(attacks[1]) in page.text or page.status_code == 404
        assert not [name for _, given in tags(page.text) for name in given if name.startswith("on")]
        assert [given["src"] for tag, given in tags(page.text) if tag == "script"] == ["/ui/board.js"]
        assert all(given["src"].startswith("data:") for tag, given in tags(page.text) if tag == "img")


def tags(page):
    """The tags of a page, each with its attributes."""
    found, parser = [], HTMLParser()
    parser.handle_starttag = lambda tag, given: found.append((tag, dict(given)))
    parser.handle_startendtag = parser.handle_starttag
    parser.feed(page)
    return found


def test_the_board_shows_experiments_of_more_arms_than_a_readout_compares(service):
    live.create(service.target, "wide", policy="ucb1", arms=[f"arm {i}" for i in range(65)], seed=7).close()
    service.client.post("/ui/login", content=f"token={service.tokens['read']}", follow_redirects=False)
    for address in ("/ui/", "/ui/experiments/wide"):
        page = service.client.get(address)
        assert page.status_code == 200
        assert ("arm 64" in page.text) is (address != "/ui/")
        assert "must be of an experiment" not in page.text
    assert ask(service, "GET", "/experiments/wide/readout").status_code == 422


ENDINGS = {
    "shipped": lambda experiment: experiment.finish(ship="green", holdout=0.1),
    "shipped anew": lambda experiment: experiment.finish(ship="red"),
    "back, with another control": lambda experiment: experiment.change(mode="live", holdout=0, control="green"),
    "in shadow": lambda experiment: experiment.change(mode="shadow"),
    "archived": lambda experiment: experiment.archive(),
}


def test_the_readout_is_the_same_by_every_door_however_an_experiment_ends(service, tmp_path, monkeypatch, capsys):
    """Python, HTTP, the board, the command line, and an export with its own reading."""
    run = runner(monkeypatch, capsys)
    service.client.post("/ui/login", content=f"token={service.tokens['read']}", follow_redirects=False)
    said = []
    with live.open(service.target, "checkout") as experiment:
        experiment.change(control="red")
        for name, end in ENDINGS.items():
            decisions = experiment.decide_many([f"{name} {i}" for i in range(60)])
            experiment.reward_many([(each.id, float(each.arm == "green")) for each in decisions])
            end(experiment)
            service.hub._told.clear()
            found = experiment.readout().to_dict()
            assert ask(service, "GET", "/experiments/checkout/readout").json() == found, name
            # Pictures take longest; where an experiment ended they are drawn once.
            for address in ("/ui/", "/ui/experiments/checkout") if name in ("shipped", "archived") else ("/ui/",):
                page = service.client.get(address)
                assert page.status_code == 200, name
                assert html.escape(found["sentence"]).replace("&#x27;", "&#39;") in page.text
            told = run("live", "readout", service.target, "checkout", "--format", "json").stdout
            assert json.loads(told) == found, name
            experiment.export(tmp_path / "log.parquet")
            exported = json.loads(run("readout", tmp_path / "log.parquet", "--format", "json").stdout)
            assert exported == found, name
            said.append((found["n_decisions"], found["control"], len(found["notes"])))
    assert said == [(60, "red", 3), (60, "red", 3), (60, "green", 2), (120, "green", 2), (120, "green", 2)]


def test_the_service_is_ready_only_where_it_can_write(service, monkeypatch):
    assert ask(service, "GET", "/readyz").status_code == 200
    with sqlite3.connect(service.target) as holding:
        holding.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(service.hub.store, "timeout", 0.2)
        answer = ask(service, "GET", "/readyz")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        holding.rollback()
    assert ask(service, "GET", "/readyz").status_code == 200


def test_what_was_accepted_is_stored_when_the_service_ends(tmp_path):
    target = str(tmp_path / "shop.db")
    live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    from bandstrap.serve.desk import DecisionWish, Desk

    async def gone():
        desk = Desk(opened)
        waiting = [
            asyncio.ensure_future(desk.decide([DecisionWish(None, f"k{i}", None, None, False)])) for i in range(50)
        ]
        await asyncio.sleep(0)
        await asyncio.to_thread(desk.close)
        return await asyncio.gather(*waiting)

    with live.open(target, "checkout") as opened:
        answers = asyncio.run(gone())
    with live.open(target, "checkout") as experiment:
        assert sum(experiment.status().decisions.values()) == 50 == len(answers)

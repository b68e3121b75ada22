"""Requests generated from the OpenAPI document: none fails the service, and none that is refused writes anything."""

import json
import os
import random
import sqlite3

import pytest

from bandstrap import ShareUCB, live
from bandstrap.live.store import Store
from bandstrap.serve import limits
from bandstrap.serve.app import make_app
from bandstrap.serve.hub import ServiceOptions
from bandstrap.serve.tokens import create_token
from serve.serving import serving

TEXTS = ["", "a", "red", "green", "checkout", "k1", "\x00", "\ud800", "é" * 250, "x" * 501, "<b>", "../..", "a/b"]
TEXTS += ["%2F", "' OR 1=1", "10s", "-1s", "ucb1", "edgeworth_ucb:randomized=true", "ucb1:sigma=x", "own.py:Mine"]
TEXTS += ["lin_ucb:dimension=2", "\u202e", "null"]
NUMBERS = [0, 1, -1, 0.5, 0.02, 1e308, -1e308, 1e-320, 2**53, 2**62, 2**63, 2**200, 10**400, True]
RAW = [
    b"",
    b"{",
    b"[",
    b"null",
    b"\xff",
    b'{"a": 1, "a": 2}',
    b"[NaN]",
    b"[1e999]",
    b"{}" * 3,
    b"[" * 3000,
    b'"\\ud800"',
]
# Fields of the context of the experiment "shown", and values for them.
FIELDS = {"device": ["phone", "desktop", "phone", "watch", 1], "visits": [0, 3.5, None, "x", 1e308, 10**400]}
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"]


class Generator:
    """Bodies from a schema: most of them right, some wrong in one place or in many."""

    def __init__(self, document, seed):
        self.document, self.rng = document, random.Random(seed)  # noqa: S311 - not secret
        self.often = {}  # how often an object has a field that it need not have

    def anything(self, depth=0):
        kind = self.rng.randrange(6 if depth < 3 else 4)
        if kind == 4:
            return [self.anything(depth + 1) for _ in range(self.rng.randrange(3))]
        if kind == 5:
            return {self.rng.choice(TEXTS[1:]): self.anything(depth + 1) for _ in range(self.rng.randrange(3))}
        return [self.rng.choice(TEXTS), self.rng.choice(NUMBERS), None, self.rng.random() < 0.5][kind]

    def of(self, schema, wrong):
        """A value of a schema; ``wrong`` is the chance that any place of it is something else."""
        if self.rng.random() < wrong:
            return self.anything()
        if "$ref" in schema:
            found = self.document
            for part in schema["$ref"].split("/")[1:]:
                found = found[part]
            return self.of(found, wrong)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self.of(self.rng.choice(schema[several]), wrong)
        if "enum" in schema:
            return self.rng.choice(schema["enum"])
        kind = schema.get("type")
        if "additionalProperties" in schema and not schema.get("properties"):  # a context
            return {name: self.rng.choice(values) for name, values in FIELDS.items() if self.rng.random() > wrong}
        if kind == "object":
            required, names = schema.get("required", ()), schema.get("properties", {})
            found = {
                name: self.of(part, wrong)
                for name, part in names.items()
                if (name in required and self.rng.random() > wrong) or self.rng.random() < self.often.get(name, 0.3)
            }
            return found | ({"more": 1} if self.rng.random() < wrong else {})
        if kind == "array":
            return [self.of(schema.get("items", {}), wrong) for _ in range(self.rng.choice([0, 1, 2, 3]))]
        if kind == "string":
            return self.rng.choice(TEXTS)
        if kind in ("number", "integer"):
            return self.rng.choice(NUMBERS[:6] if kind == "number" else [0, 1, 2, 100, -1, 2**60])
        return {"boolean": self.rng.random() < 0.5, "null": None}.get(kind, "x")

    def request(self):
        """A method, a path, a body and headers."""
        paths = list(self.document["paths"])
        path = self.rng.choice(paths + [path for path in paths if path.endswith(("decisions", "rewards"))] * 8)
        operations = self.document["paths"][path]
        # What ends an experiment is asked for seldom, or all others would be refused.
        methods = [method for method in operations if method != "delete" or self.rng.random() < 0.1]
        method = self.rng.choice(methods or ["put"])
        about = operations[method]
        wrong = self.rng.choice([0.0, 0.0, 0.05, 0.3])
        while "{" in path:
            start, end = path.index("{"), path.index("}")
            names = {"{name}": ["checkout"] * 5 + ["shown"] * 3 + ["new"], "{arm}": ["red", "green", "blue"]}
            known = names.get(path[start : end + 1], ["x", "0" * 32])
            word = self.rng.choice(known) if self.rng.random() > wrong else self.rng.choice(TEXTS)
            self.often = {"actions": 0.02, "available": 0.1, "context": 0.95 if word == "shown" else 0.02}
            path = path[:start] + escaped(word) + path[end + 1 :]
        schema = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        body = None
        if schema is not None or self.rng.random() < 0.1:
            body = json.dumps(self.of(schema or {}, wrong)).encode()
            if self.rng.random() < wrong:
                body = self.rng.choice([*RAW, body[: self.rng.randrange(len(body) + 1)], body * 2])
        headers = {}
        for parameter in about.get("parameters", ()):
            if self.rng.random() < 0.3:
                value = self.of(parameter["schema"], wrong)
                if parameter["in"] == "header":
                    headers[parameter["name"]] = str(value).encode("ascii", "replace").replace(b"\x00", b"?")
                elif parameter["in"] == "query":
                    path += f"?{parameter['name']}=" + "".join(
                        f"%{byte:02X}" for byte in str(value).encode(errors="replace")
                    )
        if self.rng.random() < wrong / 3:
            method = self.rng.choice(METHODS)
        return method.upper(), path, body, headers


def escaped(text):
    """A text as a part of a path, every byte of it escaped."""
    return "".join(f"%{byte:02X}" for byte in text.encode(errors="replace"))


def written(base):
    """All that is stored, but for what says only that somebody was here."""
    names = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    kept = [name for name in names if name not in ("live_build", "live_snapshot", "serve_written", "serve_token")]
    # What was stored before is learned when anybody looks, so that the log and its queue may move at any time.
    kept = [name for name in kept if name not in ("live_learned", "live_pending")]
    return {name: base.execute(f"SELECT count(*), max(rowid) FROM {name}").fetchone() for name in kept}  # noqa: S608


def send(tmp_path, n_requests, seed, monkeypatch):
    monkeypatch.setattr(limits, "RATE", 1e9)
    monkeypatch.setattr(limits, "BURST", 1e9)
    target = str(tmp_path / "shop.db")
    live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7, refresh=0).close()
    fields = {"device": ["phone", "desktop"], "visits": {"kind": "number", "missing": "allow"}}
    live.create(target, "shown", policy=ShareUCB(contexts=fields), arms=["red", "green"], seed=7, refresh=0).close()
    with Store.open(target) as store:
        token = create_token(store, "admin")
    app = make_app(ServiceOptions(target))
    statuses, n_decisions = {}, {}
    with serving(app) as client, sqlite3.connect(target) as base:
        client.headers["Authorization"] = f"Bearer {token}"
        generator = Generator(client.get("/openapi.json").json(), seed)
        before = written(base)
        for number in range(n_requests):
            if number % 50 == 49:  # what was finished or archived goes on
                for name in ("checkout", "shown"):
                    assert client.patch(f"/experiments/{name}", json={"mode": "live"}).status_code == 200
                before = written(base)
            method, path, body, headers = generator.request()
            if body is not None:
                headers["Content-Type"] = "application/json"
            answer = client.request(method, path, content=body, headers=headers)
            told = (method, path, body, headers, answer.status_code, answer.text[:300])
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            assert answer.status_code < 500, told
            after = written(base)
            if answer.status_code >= 400:
                assert after == before, told
                if method != "HEAD" and not path.startswith("/ofrep"):
                    assert answer.headers["Content-Type"] == "application/problem+json", told
                    assert answer.json()["detail"].strip().endswith((".", "?")), told
            before = after
    for name in ("checkout", "shown"):
        with live.open(target, name) as experiment:
            assert experiment.replay().is_identical
            n_decisions[name] = experiment.store.counts(experiment.row.id).decisions
    return statuses, n_decisions


def test_generated_requests_are_answered_or_refused(tmp_path, monkeypatch):
    statuses, n_decisions = send(tmp_path, 400, 1, monkeypatch)
    assert {200, 404, 422} <= set(statuses)
    assert min(n_decisions.values()) > 0, n_decisions


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_ten_thousand_generated_requests_are_answered_or_refused(tmp_path, monkeypatch):
    statuses, n_decisions = send(tmp_path, int(os.environ.get("BANDSTRAP_REQUESTS", "10000")), 2, monkeypatch)
    assert min(n_decisions.values()) >= 20, n_decisions
    assert statuses[200] >= 1000 <= sum(statuses.values()) - statuses[200]

"""The client: it repeats what may have been lost, under the same key, and falls back where nobody answers."""

import json

import httpx
import pytest

from bandstrap import client as client_module
from bandstrap.client import Client, ServiceError
from bandstrap.errors import InvalidInput

DECISION = {
    "id": "d1",
    "arm": "red",
    "key": "k",
    "source": "policy",
    "propensity": 0.5,
    "version": 3,
    "unit": "u",
    "more": 1,
}


def answering(monkeypatch, answers):
    """A client of a service that gives these answers, the bodies that it was sent, and how long it waited."""
    sent, waited = [], []
    monkeypatch.setattr(client_module.time, "sleep", waited.append)

    def answer(request):
        sent.append(json.loads(request.content or b"null"))
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return Client("http://service", "secret", transport=httpx.MockTransport(answer)), sent, waited


def test_a_call_is_repeated_with_the_same_key_until_it_is_answered(monkeypatch):
    lost = [httpx.ReadTimeout("slow"), httpx.Response(503, headers={"Retry-After": "3"}, json={"detail": "busy."})]
    client, sent, waited = answering(monkeypatch, [*lost, httpx.Response(200, json=DECISION)])
    decision = client.decide("checkout", "u")
    assert (decision.id, decision.arm, decision.propensity) == ("d1", "red", 0.5)
    assert sent[0] == sent[1] == sent[2]
    assert sent[0]["key"]
    assert waited == [0.1, 3.0]


def test_a_refusal_is_not_repeated(monkeypatch):
    client, sent, _ = answering(monkeypatch, [httpx.Response(422, json={"detail": "No such arm."})])
    with pytest.raises(InvalidInput, match="No such arm"):
        client.decide("checkout", available=["x"])
    assert len(sent) == 1


def test_where_nobody_answers_the_fallback_is_served(monkeypatch):
    client, sent, _ = answering(monkeypatch, [httpx.ConnectError("down")] * 8)
    decision = client.decide("checkout", "u", fallback_arm="green")
    assert (decision.arm, decision.source, decision.id, decision.propensity) == ("green", "fallback", "", None)
    assert len(sent) == 4
    with pytest.raises(ServiceError, match="after 4 tries: down"):
        client.decide("checkout", "u")


@pytest.mark.parametrize("wrong", [{}, {"decision": "d", "unit": "u"}])
def test_a_reward_names_one_decision(monkeypatch, wrong):
    client, sent, _ = answering(monkeypatch, [])
    with pytest.raises(InvalidInput, match="'decision' or 'unit'"):
        client.reward("checkout", 1.0, **wrong)
    for value in (float("nan"), float("inf"), "1"):
        with pytest.raises(InvalidInput, match="'value'"):
            client.reward("checkout", value, decision="d")
    assert sent == []


def test_rewards_and_activations_are_sent(monkeypatch):
    answers = [httpx.Response(200, json={"outcome": "stored"}), httpx.Response(200, json={"first": True})]
    client, sent, _ = answering(monkeypatch, answers)
    assert client.reward("checkout", 2, unit="u", key="k") == "stored"
    assert client.activate("checkout", "d1")
    assert sent == [{"unit": "u", "value": 2.0, "key": "k"}, None]

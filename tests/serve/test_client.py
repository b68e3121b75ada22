"""The client: it repeats what may have been lost, under the same key, and falls back where nobody answers."""

import asyncio
import json
import math

import httpx
import numpy as np
import pytest

from bandstrap import client as client_module
from bandstrap.client import AsyncClient, Client, ServiceError
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


def test_nobody_waits_as_long_as_a_proxy_that_is_maintained_asks_for(monkeypatch):
    busy = httpx.Response(503, headers={"Retry-After": "3600"}, json={"detail": "Maintenance."})
    client, sent, waited = answering(monkeypatch, [busy])
    assert client.decide("checkout", "u", fallback_arm="green").source == "fallback"
    assert (len(sent), waited) == (1, [])


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
    with pytest.raises(InvalidInput, match="fallback takes no reward"):
        client.reward("checkout", 1.0, decision=decision.id)
    assert client.unreported == 1


def test_a_fallback_is_reported_once_the_service_answers_again(monkeypatch):
    down = [httpx.ConnectError("down")] * 8
    back = [httpx.Response(200, json=DECISION), httpx.Response(503, json={"detail": "busy."})]
    again = [httpx.Response(200, json=DECISION), httpx.Response(200, json=[{"outcome": "forced"}] * 2)]
    client, sent, _ = answering(monkeypatch, [*down, *back, *again, httpx.Response(200, json=DECISION)])
    for key in ("a", "b"):
        client.decide("shop/1", "u", key=key, fallback_arm="green")
    reports = [{"key": key, "unit": "u", "arm": "green", "forced": True} for key in ("a", "b")]
    assert client.decide("shop/1", "u", fallback_arm="green").source == "policy"
    assert (sent[-1], client.unreported) == (reports, 2)  # it could not be told yet
    client.decide("shop/1", "u")
    assert (sent[-1], client.unreported) == (reports, 0)
    assert client.report("shop/1") == 0
    n_before = len(sent)
    client.decide("shop/1", "u")
    assert len(sent) == n_before + 1


def test_a_fallback_that_the_service_never_takes_keeps_no_other_from_being_reported(monkeypatch):
    sent, is_down = [], True

    def answer(request):
        if is_down:
            raise httpx.ConnectError("down")
        sent.append([wish["key"] for wish in json.loads(request.content)])
        is_fit = all(len(key) <= 500 for key in sent[-1])
        return httpx.Response(200, json=[]) if is_fit else httpx.Response(422, json={"detail": "key: too long."})

    client = Client("http://service", "secret", attempts=1, transport=httpx.MockTransport(answer))
    for key in ("a", "x" * 501, "b", "c"):
        client.decide("checkout", key=key, fallback_arm="red")
    is_down = False
    assert client.report("checkout") == 0
    assert sent[-1] == ["b", "c"]
    assert [keys for keys in sent if len(keys) == 1] == [["a"], ["x" * 501]]


def test_what_is_no_call_is_refused_in_a_sentence(monkeypatch):
    client, sent, _ = answering(monkeypatch, [])
    for call in (
        lambda: client.decide("checkout", context={"visits": math.nan}),
        lambda: client.decide("checkout", context={"visits": object()}),
        lambda: client.decide(5),
        lambda: client.activate("checkout", 5),
    ):
        with pytest.raises(InvalidInput, match=r"\.$"):
            call()
    assert sent == []


def test_the_client_for_asyncio_takes_the_same_steps(monkeypatch):
    async def no_sleep(seconds):
        waited.append(seconds)

    waited, paths = [], []
    monkeypatch.setattr(client_module.asyncio, "sleep", no_sleep)
    answers = [httpx.ReadTimeout("slow"), httpx.Response(200, json=DECISION)]
    answers += [httpx.Response(200, json={"outcome": "stored"}), httpx.Response(200, json={"first": True})]
    answers += [httpx.ConnectError("down")] * 4 + [httpx.Response(200, json=[{"outcome": "forced"}])]

    async def answer(request):
        paths.append(request.url.raw_path)
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    async def talk():
        async with AsyncClient("http://service", "secret", transport=httpx.MockTransport(answer)) as client:
            decision = await client.decide("a/b", "u")
            outcome = await client.reward("a/b", 1.0, decision=decision.id)
            first = await client.activate("a/b", "x/y")
            fallback = await client.decide("a/b", "u", fallback_arm="red")
            return decision.arm, outcome, first, fallback.arm, await client.report("a/b")

    assert asyncio.run(talk()) == ("red", "stored", True, "red", 0)
    assert waited == [0.1, 0.1, 0.2, 0.4]
    assert paths[3] == b"/experiments/a%2Fb/decisions/x%2Fy/activate"


def test_tasks_that_report_at_once_report_each_fallback_once_and_lose_none(monkeypatch):
    async def no_sleep(seconds):
        pass

    sleep = asyncio.sleep
    monkeypatch.setattr(client_module.asyncio, "sleep", no_sleep)
    is_down, reported, failures = True, [], [httpx.ConnectError("down")]

    async def answer(request):
        if is_down:
            raise httpx.ConnectError("down")
        await sleep(0)  # the other task's turn
        if request.url.path.endswith("imports"):
            if failures:
                raise failures.pop()
            reported.extend(wish["key"] for wish in json.loads(request.content))
            return httpx.Response(200, json=[])
        return httpx.Response(200, json=DECISION)

    async def talk():
        nonlocal is_down
        async with AsyncClient("http://service", "secret", transport=httpx.MockTransport(answer)) as client:
            for number in range(client_module.REPORTED + 1):
                await client.decide("shop", key=str(number), fallback_arm="red")
            is_down = False
            await asyncio.gather(*(client.decide("shop") for _ in range(4)))
            return await client.report("shop")

    assert asyncio.run(talk()) == 0
    assert sorted(reported, key=int) == [str(number) for number in range(client_module.REPORTED + 1)]


def test_what_others_answer_in_the_place_of_the_service_is_tried_again(monkeypatch):
    page = httpx.Response(200, html="<p>Sign in")
    busy = httpx.Response(503, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, text="busy")
    client, _, waited = answering(monkeypatch, [page, busy, httpx.Response(200, json=DECISION)])
    assert client.decide("checkout").id == "d1"
    assert waited == [0.1, 0.2]


@pytest.mark.parametrize("wrong", [{}, {"decision": "d", "unit": "u"}])
def test_a_reward_names_one_decision(monkeypatch, wrong):
    client, sent, _ = answering(monkeypatch, [])
    with pytest.raises(InvalidInput, match="'decision' or 'unit'"):
        client.reward("checkout", 1.0, **wrong)
    for value in (float("nan"), float("inf"), "1"):
        with pytest.raises(InvalidInput, match="'value'"):
            client.reward("checkout", value, decision="d")
    assert sent == []


def test_what_is_known_of_a_visit_is_sent(monkeypatch):
    client, sent, _ = answering(monkeypatch, [httpx.Response(200, json=DECISION | {"arm": 1}) for _ in range(2)])
    assert client.decide("linear", "u", key="k", actions=[(1, 2), (3, 4)]).arm == 1
    context = {"device": np.str_("phone"), "visits": np.int64(3), "share": np.float64(0.5)}
    client.decide("shown", "u", key="k", available=("red",), context=context, defer=True)
    assert sent[0] == {"unit": "u", "key": "k", "actions": [[1.0, 2.0], [3.0, 4.0]], "defer": False}
    shown = {"available": ["red"], "context": {"device": "phone", "visits": 3, "share": 0.5}, "defer": True}
    assert sent[1] == {"unit": "u", "key": "k"} | shown


def test_rewards_and_activations_are_sent(monkeypatch):
    answers = [httpx.Response(200, json={"outcome": "stored"}), httpx.Response(200, json={"first": True})]
    client, sent, _ = answering(monkeypatch, answers)
    assert client.reward("checkout", 2, unit="u", key="k") == "stored"
    assert client.activate("checkout", "d1")
    assert sent == [{"unit": "u", "value": 2.0, "key": "k"}, None]

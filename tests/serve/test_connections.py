"""Connections that never say all of it, and requests that two readers would cut differently."""

import contextlib
import socket
import time

import pytest

from bandstrap import live
from bandstrap.live import Experiment
from bandstrap.serve import limits
from serve.serving import shop_serving

PATH = "/experiments/checkout/decisions"


@pytest.fixture
def service(tmp_path):
    """An address, and the head of a request for a decision, but for its length."""
    with shop_serving(tmp_path) as (client, token, target):
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n".encode()
        yield (client.base_url.host, client.base_url.port), head, target


def read_all(line):
    """All that is answered until the connection is closed."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := line.recv(65536):
            found += part
    return found


def test_a_request_that_never_arrives_has_its_connection_closed(service, monkeypatch, caplog):
    monkeypatch.setattr(limits, "ARRIVAL", 0.1)
    address, head, target = service
    whole = head + b"Content-Length: 2\r\n\r\n{}"
    begun = {
        "nothing": b"",
        "half a head": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-",
        "half a body": head + b"Content-Length: 100\r\n\r\n{",
        "half a body of a list of flags": head.replace(PATH.encode(), b"/ofrep/v1/evaluate/flags")
        + b"Content-Length: 100\r\n\r\n{",
        "half a body of a form": b"POST /ui/login HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nt",
        "half a second request": whole + b"POST ",
        "a body of what is refused": head.replace(b"Bearer", b"Basic") + b"Content-Length: 100\r\n\r\n{",
    }
    for name, text in begun.items():
        with socket.create_connection(address, timeout=30) as line:
            line.sendall(text)
            assert (b"200 OK" in read_all(line)) is (name == "half a second request"), name
    assert not [record for record in caplog.records if record.exc_info]
    with live.open(target, "checkout") as experiment:
        assert sum(experiment.status().decisions.values()) == 1


def test_an_answer_may_take_longer_than_a_request(service, monkeypatch):
    address, head, _ = service
    decide_many = Experiment.decide_many

    def slow(*given, **options):
        time.sleep(0.5)
        return decide_many(*given, **options)

    monkeypatch.setattr(Experiment, "decide_many", slow)
    monkeypatch.setattr(limits, "ARRIVAL", 0.05)
    with socket.create_connection(address, timeout=30) as line:
        line.sendall(head + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
        assert b"200 OK" in read_all(line)


def test_a_head_without_an_end_is_not_kept(service):
    address, _, _ = service
    with socket.create_connection(address, timeout=30) as line, contextlib.suppress(OSError):
        line.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"a" * (2 * limits.BODY))
        assert b"200 OK" not in read_all(line)


def test_a_request_of_two_lengths_ends_its_connection(service):
    """A proxy that reads the other length would take the rest for a request of somebody else."""
    address, head, target = service
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(address, timeout=30) as line:
        line.sendall(head + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + smuggled)
        answer = read_all(line)
    assert (answer[:12], answer.count(b"HTTP/1.1")) == (b"HTTP/1.1 400", 1)
    with live.open(target, "checkout") as experiment:
        assert not experiment.status().decisions


def test_no_answer_leads_where_the_host_header_says(service):
    address, _, _ = service
    for path in ("/ui", "/ui/experiments/checkout/", "/experiments/", "/experiments/checkout/", "//evil.example/ui"):
        with socket.create_connection(address, timeout=30) as line:
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
            answer = read_all(line).lower()
        assert (b"\r\nlocation: /ui/\r\n" in answer) is (path == "/ui"), path
        assert b"location: http" not in answer, path

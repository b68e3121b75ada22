"""``bandstrap serve``, ``board`` and ``token`` on the command line."""

import socket

import pytest

from bandstrap import live
from bandstrap.cli.serve import listening
from command_line import runner

run = pytest.fixture(runner, name="run")


@pytest.fixture
def shop(tmp_path):
    target = str(tmp_path / "shop.db")
    live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    return target


def test_tokens_are_made_listed_and_revoked(run, shop):
    made = run("token", "create", "--store", shop, "--scope", "decide", "--experiment", "checkout", "--expires", "90d")
    assert made.returncode == 0
    token = made.stdout.strip()
    id_ = token.split("_")[1]
    listed = run("token", "list", "--store", shop).stdout
    assert id_ in listed
    assert token not in listed
    assert run("token", "revoke", "--store", shop, id_).stdout == f"revoked: {id_}\n"
    again = run("token", "revoke", "--store", shop, id_)
    assert (again.returncode, "no active token" in again.stderr) == (2, True)


WRONG = [
    (("token", "create", "--scope", "write"), "'scope'"),
    (("token", "create", "--scope", "read", "--experiment", "nobody"), "'experiment'"),
    (("token", "create", "--scope", "read", "--expires", "soon"), "'expires'"),
    (("serve", "--workers", "2"), "'workers'"),
    (("serve", "--workers", "0"), "'workers'"),
    (("serve", "--port", "70000"), "'port'"),
    (("serve", "--timeout", "never"), "'timeout'"),
    (("serve", "--host", "no.such.host.invalid"), "'host'"),
    (("serve", "--host", "192.0.2.1"), "'host'"),
    (("serve", "--allowed-host", "a*b"), "'allowed_host'"),
    (("serve", "--allowed-host", "example.org:80"), "'allowed_host'"),
    (("serve", "--cors-origin", "https://example.org/"), "'cors_origin'"),
]


def test_wrong_options_are_refused_in_a_sentence(run, shop):
    for arguments, parameter in WRONG:
        done = run(*arguments, "--store", shop)
        assert (done.returncode, done.stdout) == (2, "")
        assert parameter in done.stderr.splitlines()[-1], arguments


def test_a_port_that_is_taken_is_refused(run, shop):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for command in (("serve", "--store", shop), ("board", shop)):
            done = run(*command, "--port", port)
            assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
            assert "a free port" in done.stderr


def test_the_head_of_an_answer_does_not_wait_until_the_caller_confirms_it():
    with listening("127.0.0.1", 0, "test") as (bound, address):
        bound.listen()
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))), bound.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_board_of_nothing_is_refused_and_makes_no_file(run, tmp_path):
    done = run("board", str(tmp_path / "no.db"))
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())

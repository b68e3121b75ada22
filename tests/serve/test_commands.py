"""``bandstrap serve``, ``board`` and ``token`` on the command line."""

import pytest

from bandstrap import live
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
    assert (again.returncode, "no token" in again.stderr) == (2, True)


WRONG = [
    (("token", "create", "--scope", "write"), "'scope'"),
    (("token", "create", "--scope", "read", "--experiment", "nobody"), "'experiment'"),
    (("token", "create", "--scope", "read", "--expires", "soon"), "'expires'"),
    (("serve", "--workers", "2"), "'workers'"),
    (("serve", "--workers", "0"), "'workers'"),
    (("serve", "--port", "70000"), "'port'"),
    (("serve", "--timeout", "never"), "'timeout'"),
]


def test_wrong_options_are_refused_in_a_sentence(run, shop):
    for arguments, parameter in WRONG:
        done = run(*arguments, "--store", shop)
        assert (done.returncode, done.stdout) == (2, "")
        assert parameter in done.stderr.splitlines()[-1], arguments


def test_a_board_of_nothing_is_refused_and_makes_no_file(run, tmp_path):
    done = run("board", str(tmp_path / "no.db"))
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())

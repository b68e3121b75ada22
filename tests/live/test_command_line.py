"""``bandstrap live`` with a server, as with a file; what it says and refuses is in tests/cli."""

import json

from typer.testing import CliRunner

from bandstrap.cli.commands import app


def bandstrap(*arguments):
    done = CliRunner().invoke(app, ["live", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout.strip()


def test_what_works_with_a_file_works_with_a_server(target, tmp_path):
    bandstrap("create", target, "shop", "--policy", "ucb1", "--arms", "red,green", "--seed", 7)
    decision = json.loads(bandstrap("decide", target, "shop", "--key", "k", "--unit", "u17", "--json"))
    assert bandstrap("decide", target, "shop", "--key", "k") == decision["arm"]
    assert bandstrap("reward", target, "shop", decision["id"], "-2.5") == "stored"
    added = bandstrap("arm", "add", target, "shop", "teal", "--actor", "anna")
    assert added == "version 2; other workers follow within 1 s (their refresh)"
    page = tmp_path / "status.html"
    status = json.loads(bandstrap("status", target, "shop", "--json", "--html", page))
    assert (status["version"], status["decisions"], status["rewards"]) == (2, {"policy": 1}, 1)
    assert [arm["mean"] for arm in status["arms"]] == [
        -2.5 if arm == decision["arm"] else None for arm in ("red", "green", "teal")
    ]
    assert status["changes"][0]["actor"] == "anna"
    assert page.read_text(encoding="utf-8").count("<img") == 5
    assert bandstrap("replay", target, "shop").startswith("identical: 1 decision on 1 version")
    bandstrap("export", target, "shop", tmp_path / "log.parquet")
    assert (tmp_path / "log.parquet").stat().st_size > 0

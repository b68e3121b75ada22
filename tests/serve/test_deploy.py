"""The files of ``deploy/`` without Docker and systemd: the commands that they start are started here, as a user would."""

import json
import os
import re
import shlex
import subprocess
import sys

import httpx

from bandstrap import live
from bandstrap.live.store import Store
from bandstrap.serve.tokens import create_token
from command_line import runner
from pages import ROOT
from sampling import telling
from serve.processes import Service

DEPLOY = ROOT / "deploy"


def from_dockerfile():
    """What a container starts, its variables, and how its health is checked."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    (check,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", text, re.M)
    (start,) = re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.M)
    (options,) = re.findall(r"^CMD (\[.*\])$", text, re.M)
    variables = dict(pair.split("=", 1) for line in re.findall(r"^ENV (.*)$", text, re.M) for pair in shlex.split(line))
    assert re.search(r"^USER [1-9]\d*$", text, re.M)
    assert variables.pop("PATH").startswith("/app/bin")
    return json.loads(start) + json.loads(options), variables, json.loads(check)


def from_unit():
    """What systemd starts, and its variables."""
    lines = (DEPLOY / "bandstrap.service").read_text(encoding="utf-8").splitlines()
    settings = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    variables = dict(pair.split("=", 1) for pair in settings["Environment"].split())
    return shlex.split(settings["ExecStart"]), variables, None


@telling("read", [from_dockerfile, from_unit], [from_dockerfile])
def test_what_is_deployed_starts_answers_and_ends(read, tmp_path):
    (start, *command), variables, check = read()
    assert start.endswith("bandstrap")
    data, scratch = tmp_path / "data", tmp_path / "scratch"
    data.mkdir()
    scratch.mkdir()
    target = str(data / "shop.db")
    place = command.index("--store") + 1
    command[place] = target
    if "--host" in command:
        command[command.index("--host") + 1] = "127.0.0.1"  # not for other machines here
    variables = {name: value if not value.startswith("/") else str(scratch / name) for name, value in variables.items()}
    assert command[:2] == ["serve", "--store"]
    rest = [word for word in command[3:] if word not in ("--port", "8000")]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **variables}
    live.create(target, "checkout", policy="ucb1", arms=["a", "b"]).close()
    with Store.open(target) as store:
        token = create_token(store, "decide")
    with Service(target, *rest, log=tmp_path / "log.txt", environment=os.environ | environment) as service:
        if check is not None:
            words = [sys.executable, *(word.replace("8000", str(service.port)) for word in check[1:])]
            assert subprocess.run(words, check=False).returncode == 0
        header = {"Authorization": f"Bearer {token}"}
        path = f"{service.address}/experiments/checkout/decisions"
        assert httpx.post(path, json={}, headers=header, trust_env=False).json()["arm"] in ("a", "b")
        assert service.stop() in (0, -15)
    assert "Traceback" not in service.said()


def test_compose_starts_what_the_command_line_takes(monkeypatch, capsys):
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    (command,) = re.findall(r"command: (\[.*\])", text)
    words = json.loads(command)
    assert words[0] == "serve"
    done = runner(monkeypatch, capsys)(*words, "--port", "70000")
    assert (done.returncode, "'port'" in done.stderr) == (2, True)  # all else was understood
    for line in ("read_only: true", 'cap_drop: ["ALL"]', "no-new-privileges:true", '"127.0.0.1:8000:8000"'):
        assert line in text

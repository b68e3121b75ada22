"""The page about the service: every command, as a reader types it."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bandstrap.serve.shapes import DecisionRequest
from pages import blocks

STUBS = """
const asked = [];
const answer = { json: async () => ({ arm: "red", id: "d" }) };
const fetch = async (path, call) => { asked.push(path, call); return answer; };
let found = null;
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_page_can_be_followed(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + "echo\n".join(
        block.code for block in blocks("docs/howto/service.md") if block.language == "sh"
    )
    script = script.replace("8000", str(port)).replace("curl --silent", "curl --silent --show-error --fail")
    where = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_PROXY": "*"}
    done = subprocess.run(
        [shutil.which("bash"), "-c", script],
        cwd=tmp_path,
        env=os.environ | where,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    for expected in (
        '"status":"ok"',
        '"arm":',
        '{"outcome":"stored"}',
        '"reason":"SPLIT"',
        "bandstrap_decisions_total",
        "identical",
    ):
        assert expected in done.stdout, (expected, done.stdout, done.stderr)


def test_the_script_asks_for_what_the_service_takes():
    import quickjs

    (code,) = [block.code for block in blocks("docs/howto/service.md") if block.language == "js"]
    context = quickjs.Context()
    context.eval(STUBS + "async function main(token, visitor) {" + code + "; found = arm; }\nmain('secret', 'v17');")
    while context.execute_pending_job():
        pass
    path, call = json.loads(context.eval("JSON.stringify(asked)"))
    DecisionRequest.model_validate_json(call["body"], strict=True)
    assert (path, call["method"], context.eval("found")) == ("/experiments/checkout/decisions", "POST", "red")
    assert call["headers"]["Authorization"] == "Bearer secret"
    assert call["headers"]["Idempotency-Key"] == "v17"

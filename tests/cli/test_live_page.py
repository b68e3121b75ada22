"""The commands on docs/live.md, one after the other."""

import re
import shlex
from pathlib import Path

from bandstrap.live.weights import decision_id

PAGE = Path(__file__).parents[2] / "docs" / "live.md"


def test_the_commands_of_the_page_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^    bandstrap (live .*)$", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(lines) == 7
    for line in lines:
        done = run(*shlex.split(line.replace("ID", decision_id("checkout", "u17"))))
        assert done.returncode == 0, (line, done.stderr)
    assert {path.name for path in tmp_path.iterdir()} >= {"status.html", "log.parquet"}

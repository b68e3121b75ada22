"""The command line, in this process: a fresh one would spend most of its time on imports."""

import io
import sys
import warnings
from types import SimpleNamespace

import pytest

from bandstrap.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run ``bandstrap`` with arguments; gives what ``subprocess.run`` gives."""

    def go(*arguments, stdin=""):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            patch.setattr(sys, "argv", ["bandstrap", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            code = 0
            try:
                main()
            except SystemExit as stop:
                code = stop.code or 0
        captured = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=captured.out, stderr=captured.err)

    return go

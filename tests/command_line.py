"""The command line, in this process: a fresh one would spend most of its time on imports."""

import io
import signal
import sys
import warnings
from types import SimpleNamespace

import bandstrap.cli
from bandstrap.cli import main
from bandstrap.engine.work import progress


def runner(monkeypatch, capsys):
    """A function that runs ``bandstrap`` with arguments, and gives what ``subprocess.run`` gives."""

    def go(*arguments, stdin=""):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            patch.setattr(sys, "argv", ["bandstrap", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            patch.setattr(bandstrap.cli, "leave", sys.exit)  # the process has more tests to do
            patch.setattr(progress, "PATIENCE", float("inf"))  # a compiler that takes long is not spoken of
            before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
            code = 0
            try:
                main()
            except SystemExit as stop:
                code = stop.code or 0
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)
        captured = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=captured.out, stderr=captured.err)

    return go

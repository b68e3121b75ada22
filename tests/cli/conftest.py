"""What tests of commands share."""

import pytest

from command_line import runner


@pytest.fixture
def run(monkeypatch, capsys):
    """Run ``bandstrap`` with arguments; gives what ``subprocess.run`` gives."""
    return runner(monkeypatch, capsys)

import functools
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def examples():
    """The Python of the page."""
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.S)


@functools.cache
def printed(code):
    """What an example prints, with every warning an error; what it writes is not kept."""
    command = [sys.executable, "-W", "error", "-c", code]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    assert done.stderr == ""
    return done.stdout


def test_the_example_prints_the_numbers_its_comments_promise():
    code = next(block for block in examples() if "bandstrap.bounds" in block)
    promised = [float(number) for number in re.findall(r": (\d+\.\d+)$", code, re.M)]
    found = [float(line.split()[0]) for line in printed(code).splitlines() if line[0].isdigit()]
    assert [round(value, 2) for value in found] == promised
    assert len(promised) == 3


@pytest.mark.parametrize("code", examples(), ids=range(len(examples())))
def test_the_examples_run_without_a_warning(code):
    printed(code)


def test_the_policy_of_the_example_finds_the_best_arm():
    (pulls,) = re.findall(r"green +(\d+)", printed(examples()[0]))
    assert 800 < int(pulls) <= 1000


def test_the_first_example_is_the_policy_to_start_with():
    (name,) = re.findall(r"start\s+with\s+`(\w+)`", README.read_text())
    assert f"from bandstrap import {name}\n" in examples()[0]
    assert f"policy = {name}(" in examples()[0]


def test_rewards_may_be_late_in_the_first_example_since_its_decisions_are_spread():
    # As the page says: without randomized=True all decisions before the next reward are for one arm.
    from bandstrap import EdgeworthUCB

    assert "randomized=True" in examples()[0]
    for randomized in (True, False):
        policy = EdgeworthUCB(arms=3, randomized=randomized, rng=7)
        policy.update([0, 1, 2] * 3, [1.0, 1.4, 0.8, 1.6, 0.9, 1.2, 0.7, 1.1, 1.5])
        assert (len({policy.select() for _ in range(100)}) > 1) == randomized


def commands():
    """Every ``bandstrap ...`` of a block of commands or between backticks."""
    text = README.read_text()
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)
    blocks = "\n".join(block for language, block in fenced if not language).replace("\\\n", " ")
    inline = re.findall(r"`(bandstrap [a-z].*?)`", re.sub(r"```.*?```", "", text, flags=re.S))
    return [line for line in [*blocks.splitlines(), *inline] if line.startswith("bandstrap ")]


def test_there_are_commands():
    assert {shlex.split(line)[1] for line in commands()} >= {"bound", "coverage", "simulate", "list", "paper"}


def test_the_policies_of_the_commands_can_be_made(monkeypatch):
    from bandstrap.names import NAMED_POLICIES, make

    texts = re.findall(r"--policy (\S+)", "\n".join(commands()))
    assert len(texts) >= 2
    monkeypatch.chdir(README.parent / "docs")  # where the file of the example is
    for text in texts:
        assert make(text, NAMED_POLICIES, "policy").label.startswith(text.split(":")[0])

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_prints_the_numbers_its_comments_promise():
    code = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)[1]
    promised = [float(number) for number in re.findall(r": (\d+\.\d+)$", code, re.M)]
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    printed = [float(line.split()[0]) for line in done.stdout.splitlines() if line[0].isdigit()]
    assert [round(value, 2) for value in printed] == promised
    assert len(promised) == 3


def test_the_policy_of_the_example_finds_the_best_arm():
    code = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)[0]
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert 800 < int(done.stdout) <= 1000

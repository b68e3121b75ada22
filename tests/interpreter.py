"""A fresh interpreter, which has imported and compiled nothing yet."""

import os
import subprocess
import sys
import textwrap


def printed(code, **environment):
    """What ``code`` prints there, without a word on standard error."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=os.environ | {name: str(value) for name, value in environment.items()},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()

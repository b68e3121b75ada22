"""Odd values, texts that were damaged, and what must become of them."""

import contextlib
import datetime
import io
import math
import os
import re
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from bandstrap.basics.text import visible
from bandstrap.cli import main
from bandstrap.errors import LONGEST, AccuracyWarning, AssumptionWarning, InvalidInput, SlowWarning

TIMES = float(os.environ.get("BANDSTRAP_FUZZ", "1"))
SEED = int(os.environ.get("BANDSTRAP_FUZZ_SEED", "0"))

# Pieces of text that mean something somewhere.
PIECES = (
    *":,=.()[]{}'\"\\#$%&;|<>-+_ \t\n\r\0\x1b\x7f",
    *(
        "\u202e",
        "\u2028",
        "\ufeff",
        "\U0001f600",
        "\u0660",
        "\x1b[31m",
        "\x1b]0;title\x07",
        "$\\frac$",
        "{{",
        "%s",
        "../",
    ),
    *(
        "true",
        "false",
        "none",
        "None",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "5e-324",
        "1.7e308",
        "-1",
        "0",
        "0.5",
        "1_000",
        "0x1f",
    ),
    *(
        "9" * 400,
        "9" * 5000,
        "0x" + "f" * 9000,
        "(" * 300,
        "[" * 300,
        "[[",
        "]]",
        '"""',
        "'''",
        "x" * 3000,
        "a=b,",
        "file.py:X",
    ),
)
# Values for any parameter. Large whole numbers are left out: a size that does not fit is tested by itself.
ODD_VALUES = (
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, 0.05, -0.0, 1e-300, 5e-324, 1e-9, 1e100, 1e300, 1.7e308, -1e308),
    *(
        math.inf,
        -math.inf,
        math.nan,
        "",
        "abc",
        "1",
        "max",
        "practical",
        "\x1b[31m\n",
        "x" * 5000,
        b"ab",
        bytearray(b"a"),
    ),
    *([], [1], [0.1, 0.2], [[1, 2], [3]], [[0.1, 0.2], [0.3, 0.4]], [None], ["a"], [math.nan, 1.0], [1.7e308] * 2),
    *((0, 1), (1, 0), (0, 0), (-1.7e308, 1.7e308), (0.2, 0.8), (), {}, {"a": [1.0, 2.0]}, {1, 2}, range(3)),
    *(np.float64(0.3), np.float32(0.3), np.int64(2), np.bool_(True), np.array([0.1, 0.9]), np.array([]), np.array("a")),
    *(np.array([[1.0, 2.0]]), np.array(None), np.datetime64("2020-01-01"), np.timedelta64(5, "s"), np.ma.masked),
    *(np.ma.array([1.0, 2.0], mask=[0, 1]), np.zeros((2, 0)), 1j, Decimal("0.1"), Decimal("nan"), Fraction(1, 3)),
    *(datetime.date(2020, 1, 1), object(), ..., NotImplemented, iter([1.0]), -(10**400)),
)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def stream(*name):
    """Random numbers for one test."""
    return np.random.default_rng([SEED, *map(ord, "".join(map(str, name)))])


def rounds(n):
    """How many inputs to make where ``n`` are made by default."""
    return range(math.ceil(n * TIMES))


def pick(rng, things):
    return things[int(rng.integers(len(things)))]


def damaged(rng, text, most=4):
    """Text with a few places cut out, doubled, swapped, filled with something else, or with another number."""
    for _ in range(rng.integers(1, most + 1)):
        first, last = sorted(int(i) for i in rng.integers(0, len(text) + 1, 2))
        last = min(last, first + int(rng.integers(1, 40)))
        kind = rng.integers(6)
        numbers = list(NUMBER.finditer(text))
        if kind == 0:
            text = text[:first] + text[last:]
        elif kind == 1:
            text = text[:last] + text[first:]
        elif kind == 2:
            text = text[:first] + text[first:last][::-1] + text[last:]
        elif kind == 3 and numbers:
            place = pick(rng, numbers)
            text = text[: place.start()] + pick(rng, PIECES) + text[place.end() :]
        else:
            text = text[:first] + pick(rng, PIECES) + text[first:]
    return text


def damaged_bytes(rng, content):
    """The same of bytes, some of which may be no text at all."""
    if rng.random() < 0.5:
        return damaged(rng, content.decode()).encode("utf-8", "surrogatepass")
    array = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        if array:
            array[int(rng.integers(len(array)))] = int(rng.integers(256))
    return bytes(array)


def check_sentence(message, longest=LONGEST):
    """One line of bounded length that can be shown anywhere."""
    assert message.strip()
    assert len(message) <= longest
    assert visible(message) == message


def outcome(call, *values, **options):
    """What a call returns; ``None`` where it refuses in a sentence. Anything else it raises, warnings too, is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (AccuracyWarning, AssumptionWarning, SlowWarning):  # which are ours, and say so
            warnings.simplefilter("ignore", kind)
        warnings.filterwarnings("ignore", r"EdgeworthUCB\(hall=True\)", DeprecationWarning)
        try:
            return call(*values, **options)
        except InvalidInput as refusal:
            check_sentence(str(refusal))
            return None


def command(*arguments, stdin=b""):
    """Run the command line in this process: exit code 0 or 2, no traceback, nothing that steers a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code = 0
    before = sys.argv, sys.stdin
    sys.argv = ["bandstrap", *map(str, arguments)]
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        sys.argv, sys.stdin = before
    done = SimpleNamespace(code=code, out=out.buffer.getvalue().decode(), err=err.buffer.getvalue().decode())
    err.flush()
    done.err = err.buffer.getvalue().decode()
    assert code in (0, 2), done
    assert (code == 2) <= (done.out == ""), done
    assert visible(done.err, keep="\n") == done.err
    assert len(done.err) < 5 * LONGEST
    return done

"""Grids: a table of an experiment that is made once for every combination of some values.

``grid = { sigma = [0.5, 1, 2], law = ["gaussian", "logistic"] }`` makes six tables. In their texts ``{sigma}`` and
``{law}`` stand for the values; the name that is written first varies slowest.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from bandstrap.basics.calls import fingerprint, format_value, parse_value

NAME = r"[A-Za-z_]\w*"
# Characters of a value that the name of a panel shows; a longer one is told from others by a fingerprint.
LONGEST_PART = 40


GridValue = bool | int | float | str | tuple["GridValue", ...]


def check_value(value: object) -> GridValue:
    """Refuse a value that cannot be written in a call; lists become tuples."""
    if isinstance(value, list):
        return tuple(check_value(item) for item in value)
    if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("a value of a grid should be a finite number, a text, true or false, or a list of these")
    return value


def check_values(values: tuple[GridValue, ...]) -> tuple[GridValue, ...]:
    """Refuse values of which two are written alike, such as 1 and 1.0."""
    counts = Counter(written(value) for value in values)
    text, count = counts.most_common(1)[0]
    if count > 1:
        raise ValueError(f"the values of a grid should differ, and {text} is there more than once")
    return values


Values = Annotated[
    tuple[Annotated[Any, AfterValidator(check_value)], ...], Field(min_length=1), AfterValidator(check_values)
]
Grid = Annotated[dict[Annotated[str, Field(pattern=f"^{NAME}$")], Values], Field(min_length=1)]
# One combination of a grid's values.
GridSettings = dict[str, Any]


def written(value: object) -> str:
    """A value as a call has it: a number reads back as itself, and a text is put in as it is.

    >>> written(0.1 + 0.2), written(2.0), written((0, 1)), written(True), written("gaussian")
    ('0.30000000000000004', '2', '(0,1)', 'true', 'gaussian')
    """
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else format_value(value)


def combinations(grid: Mapping[str, tuple[GridValue, ...]] | None) -> Iterator[GridSettings]:
    """Every combination of a grid's values, the first name varying slowest; one of none where there is no grid.

    >>> list(combinations({"a": (1, 2), "b": ("x", "y")}))
    [{'a': 1, 'b': 'x'}, {'a': 1, 'b': 'y'}, {'a': 2, 'b': 'x'}, {'a': 2, 'b': 'y'}]
    """
    names = list(grid or ())
    return (dict(zip(names, values, strict=True)) for values in itertools.product(*(grid or {}).values()))


def size(grid: Mapping[str, tuple[GridValue, ...]] | None) -> int:
    """Number of combinations, without making them."""
    return math.prod(len(values) for values in (grid or {}).values())


def names_in(*texts: object) -> set[str]:
    """The names that stand in curly brackets.

    >>> sorted(names_in("{law}:n_arms={n}", 5))
    ['law', 'n']
    """
    return {name for text in texts for name in re.findall(rf"\{{({NAME})\}}", str(text))}


def fill(text: str, settings: GridSettings) -> str:
    """A text with values in place of their names, all at once, so that a value may hold brackets itself.

    >>> fill("{law}:n_arms={n},{other}", {"law": "gaussian", "n": 3})
    'gaussian:n_arms=3,{other}'
    """
    return re.sub(
        rf"\{{({NAME})\}}", lambda found: written(settings[found[1]]) if found[1] in settings else found[0], text
    )


def fill_value(given: object, settings: GridSettings) -> Any:
    """Value of a numeric key after its names are filled in: a number, where that is what it then is."""
    if not isinstance(given, str) or names_in(given).isdisjoint(settings):
        return given
    return parse_value(fill(given, settings))


def described(settings: GridSettings, names: Iterable[str]) -> str:
    """``sigma = 0.5, law = gaussian``."""
    return ", ".join(f"{name} = {written(settings[name])}" for name in names)


def with_settings(text: str, settings: GridSettings, between: str) -> str:
    """A label or title: its names filled in, and those it does not mention told behind it.

    >>> with_settings("UCB", {"sigma": 0.5}, ", "), with_settings("UCB({sigma})", {"sigma": 0.5}, ", ")
    ('UCB, sigma = 0.5', 'UCB(0.5)')
    """
    rest = described(settings, [name for name in settings if name not in names_in(text)])
    return between.join(part for part in (fill(text, settings), rest) if part)


def panel_name(name: str, settings: GridSettings) -> str:
    """The name of a panel at a combination, fit for a file's.

    >>> panel_name("a", {"distribution": "gaussian", "n": 2})
    'a-distribution=gaussian-n=2'
    """
    return "-".join([name, *(f"{key}={part_of_name(written(value))}" for key, value in settings.items())])


def part_of_name(text: str) -> str:
    """A value as it is, if a file's name may hold it, else what may be held of it and a fingerprint."""
    if re.fullmatch(rf"[\w.-]{{1,{LONGEST_PART}}}", text):
        return text
    clean = re.sub(r"[^\w.-]+", "_", text)
    return f"{clean[:LONGEST_PART]}_{fingerprint(text.encode())}"

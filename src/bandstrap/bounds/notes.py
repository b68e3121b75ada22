"""Notes on the bounds of several groups: what is said of many is said once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bandstrap.basics.text import listed

# What rewards without the name of a group are called.
NO_GROUP = "rows without a group"
# So many groups are named.
MOST_NAMED = 3
NUMBER = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?")


def of_groups(notes: Mapping[str, Sequence[str]], minus: str = "") -> list[str]:
    """Sentences on groups, each with the groups it is on; of those that differ in numbers and names alone, the first.

    ``minus`` says what follows their names.

    >>> of_groups({"red": ["they fall (p = 0.01)"], "blue": [], "green": ["they fall (p = 0.002)"]})
    ['red, green, for example red: they fall (p = 0.01)']
    """
    kinds: dict[str, dict[str, str]] = {}
    for group, sentences in notes.items():
        itself = re.compile(rf"(?<!\w){re.escape(group)}(?!\w)")
        for sentence in sentences:
            kinds.setdefault(NUMBER.sub("#", itself.sub("#", sentence)), {})[group] = sentence
    return [told(members, minus) for members in kinds.values()]


def told(members: Mapping[str, str], minus: str) -> str:
    """One sentence for several groups that have the same one, or nearly."""
    first, sentence = next(iter(members.items()))
    groups = listed((group or NO_GROUP for group in members), MOST_NAMED) + minus
    example = "" if len(set(members.values())) == 1 else f", for example {first or NO_GROUP}"
    return f"{groups}{example}: {sentence}"

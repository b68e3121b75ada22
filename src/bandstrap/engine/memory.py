"""How much memory a simulation needs, known before it begins."""

from __future__ import annotations

import os

from bandstrap.errors import requirement

WORD = 8  # bytes per number


def bytes_of_tape(n_arms: int, horizon: int, n_features: int = 0) -> int:
    """Bytes that one replication holds at a time.

    The rewards, as many again that a policy may remember, what is chosen in each round and its number, and, where actions
    have ``n_features`` features that change from round to round, these and their means.

    >>> bytes_of_tape(5, 2000)
    192000
    """
    of_actions = n_arms * (n_features + 1) if n_features else 0
    return WORD * horizon * (2 * n_arms + 2 + of_actions)


def bytes_of_result(n_policies: int, replications: int, n_checkpoints: int, n_arms: int) -> int:
    """Bytes of the regret at checkpoints and the pulls of each arm, of all replications."""
    return WORD * n_policies * replications * (n_checkpoints + n_arms)


def memory_of_machine() -> float:
    """Bytes of memory in the machine; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not a Unix-like system
        return float("inf")


def check_memory(needed: int, parameter: str, owner: str, received: object) -> None:
    """Refuse what would need more memory than the machine has, which must never be tried."""
    there = memory_of_machine()
    if needed > there:
        rule = f"small enough for the {there / 1e9:.3g} GB of memory there are"
        raise requirement(parameter, owner, rule, f"{received}, which takes {needed / 1e9:.3g} GB,")

"""What the fields of a state are declared to be, put to the test: see ``fields.py``."""

import numpy as np

from bandstrap.policies.states.fields import as_lists, declared_leaves, is_declared


def facts(state) -> list[tuple[str, list[bytes]]]:
    """The content of all fields that a choice must leave alone."""
    return [
        (name, [np.asarray(row).tobytes() for row in values])
        for name, field, values in declared_leaves(state)
        if field.kind == "fact"
    ]


def forget(state, new) -> None:
    """Take away what need not be saved: what can be recomputed is as in a new state, and scratch is not a number."""
    for (_, field, values), (_, _, fresh) in zip(declared_leaves(state), declared_leaves(new), strict=True):
        if field.kind == "scratch":
            fresh = np.full_like(np.asarray(fresh), np.nan)
        if field.kind in ("scratch", "recomputable"):
            values[... if isinstance(values, np.ndarray) else slice(None)] = (
                fresh if isinstance(values, np.ndarray) else np.asarray(fresh).tolist()
            )


def in_form(state, compiled: bool):
    """A state as a live policy keeps it."""
    return state if compiled else as_lists(state)


def check_declarations(make_state) -> None:
    """Every field is declared, and grows if and only if it says so, but for those that have no room at all."""
    few, many = make_state(16), make_state(32)
    assert is_declared(few)
    for (name, field, short), (_, _, long) in zip(declared_leaves(few), declared_leaves(many), strict=True):
        assert field.grows == (short.shape != long.shape) or (field.grows and short.size == 0), name
        assert field.form == "array" or not field.grows or field.form == "rows", name

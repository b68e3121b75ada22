"""What linear policies know, flat, for comparisons."""

import copy

import numpy as np

# Rows that may have more room than observations fill.
ROOMY = {"known": ("features", "pulls", "means", "squares"), "observed": ("labels", "rewards")}


def flat(state, path=()) -> dict[str, np.ndarray]:
    """The arrays of a state by name, lists of the online object included, without unused room."""
    found = {}
    for name, value in state._asdict().items():
        if isinstance(value, tuple):
            found |= flat(value, (*path, name))
            continue
        array = np.array(value)
        if path and name in ROOMY.get(path[-1], ()):
            array = array[: state.size[0]]
        found[".".join((*path, name))] = array
    return found


def same_states(one, other) -> bool:
    """Equal bits in all arrays."""
    first, second = flat(one), flat(other)
    return first.keys() == second.keys() and all(
        first[key].shape == second[key].shape and first[key].tobytes() == second[key].tobytes() for key in first
    )


def snapshot(policy):
    """Everything a live policy knows, to be compared by ``==`` later."""
    inner = ("_state", "rng", "kernel", "_lock", "_machine")
    known = {key: value for key, value in vars(policy).items() if key not in inner}
    arrays = {} if policy._state is None else flat(policy._state)
    numbers = {key: (value.shape, value.tobytes()) for key, value in arrays.items()}
    return copy.deepcopy((known, numbers, policy.rng.bit_generator.state))

"""A live policy as JSON, in a dictionary or a file, and back: it continues exactly as the original would.

What is saved is all that a decision may depend on: the policy's class and settings, its direction, its arms or the number
of features, what it counts, its state, and its generator. Settings are saved even where they are defaults, so that a
release with other defaults reads the same policy. Whether it ran as machine code is saved too, and no part of the state:
who reads it may say otherwise.

Nothing that is read can run code, with one exception that a user asks for: a policy out of a file of Python named by the
user (``mine.py:Mine``) is found again in the file of that name.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar, cast

import numpy as np

from bandstrap.basics.storage import NO_SEAL, Damaged, Json, as_path, check_seal, has_seal, seal, write_bytes
from bandstrap.errors import LARGEST_COUNT, InvalidInput, brief, requirement
from bandstrap.policies.contextual.contextual_policy import CONTEXTUAL_POLICIES
from bandstrap.policies.kernels.turns import FROM_THE_START, Turns
from bandstrap.policies.linear.linear_policy import LINEAR_POLICIES, LinearPolicy
from bandstrap.policies.online.live_policy import LivePolicy
from bandstrap.policies.online.own_file import class_in_file
from bandstrap.policies.online.policy import FIRST_ROOM, POLICIES, Policy
from bandstrap.policies.saving.json_values import (
    Unreadable,
    Unwritable,
    read_array,
    read_generator,
    read_value,
    write_generator,
    write_value,
)
from bandstrap.policies.saving.saved_state import read_field, read_state, write_state
from bandstrap.policies.states.fields import as_lists, is_declared

P = TypeVar("P", bound=LivePolicy)
FORMAT = "bandstrap policy"
VERSION = 1
# What a policy of arms counts of each arm, and what it knows of those that are handed out before it can compare them.
LISTS = ("told", "waiting", "since", "attempts")
TURNS = ("waiting", "since", "attempts", "decisions", "end")
KEYS = (
    "format",
    "version",
    "bandstrap",
    "policy",
    "settings",
    "direction",
    "compiled",
    "plays",
    "counts",
    "state",
    "rng",
)


# --- files --------------------------------------------------------------------------------------------------------------


def save(policy: LivePolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy to a file; see :meth:`bandstrap.Policy.save`."""
    place = as_path(path, "path", f"{type(policy).__name__}.save")
    text = json.dumps({**to_dict(policy), "seal": NO_SEAL}, allow_nan=False)
    write_bytes(place, seal(text.encode()))


def load(path: str | os.PathLike[str], *, compiled: bool | None = None) -> Policy | LinearPolicy:
    """Read a saved policy, which continues exactly as the original would.

    Parameters
    ----------
    path
        A file that :meth:`bandstrap.Policy.save` wrote.
    compiled
        Run ``select`` and ``update`` as machine code; default: as when the policy was saved.

    Returns
    -------
    Policy or LinearPolicy
        It has the class, settings, arms, rewards and generator of the saved policy. A generator that was shared is no
        longer shared.

    Notes
    -----
    Your own policy class is found if its module has been imported. A class given as ``file.py:Class`` is found if the file
    is still in its place. A damaged or edited file is refused, and so is a file in a format that this release does not
    know.

    Examples
    --------
    >>> import bandstrap
    >>> from tempfile import TemporaryDirectory
    >>> policy = bandstrap.UCB1(arms=["red", "green"], rng=0)
    >>> policy.update(["red", "green"], [0.2, 0.9])
    >>> with TemporaryDirectory() as folder:
    ...     policy.save(f"{folder}/policy.json")
    ...     again = bandstrap.load(f"{folder}/policy.json")
    >>> again
    UCB1(arms=['red', 'green'])
    >>> again.select()
    'green'
    """
    place = as_path(path, "path", "load")
    data = place.read_bytes()
    try:
        check_seal(data)
        saved = json.loads(data)
    except Damaged:
        reason = "it is damaged" if has_seal(data) else "it is another file, or damaged"
        raise InvalidInput(f"{place} is not a saved policy: {reason}.") from None
    except (ValueError, RecursionError):  # under a seal, so that somebody else's program wrote it
        raise InvalidInput(f"{place} is not a saved policy: it is another file.") from None
    if isinstance(saved, dict):
        saved.pop("seal", None)
    check_compiled(compiled, "load")
    try:
        return cast("Policy | LinearPolicy", read_policy(saved, compiled, LivePolicy))
    except Unreadable as error:
        raise InvalidInput(f"{place} cannot be loaded: it must be {error}.") from None
    except InvalidInput as error:
        raise InvalidInput(f"{place} cannot be loaded: {error}") from error


# --- dictionaries -------------------------------------------------------------------------------------------------------


def to_dict(policy: LivePolicy) -> dict[str, Json]:
    """All that a live policy knows, made of what JSON has; see :meth:`bandstrap.Policy.to_dict`."""
    owner = type(policy).__name__
    if not hasattr(policy, "_lock"):
        raise requirement("arms", owner, "given to save it", "none")
    with policy._lock:
        policy._settle()
        settings = {name: policy.setting(name) for name in type(policy).parameters()}
        for parameter, value in settings.items():
            if callable(value):
                raise requirement(parameter, owner, "no function of a policy that is to be saved", "a function")
        try:
            return {
                "format": FORMAT,
                "version": VERSION,
                "bandstrap": release(),
                "policy": name_of(policy),
                "settings": {name: write_value(value) for name, value in settings.items()},
                "direction": policy.direction,
                "compiled": policy.compiled,
                "plays": write_plays(policy),
                "counts": write_counts(policy),
                "state": None if policy._state is None else write_state(policy._state, getattr(policy, "_growing", ())),
                "rng": write_generator(policy.rng),
            }
        except Unwritable as error:
            raise InvalidInput(
                f"This {owner} cannot be saved: it holds {error}. Labels and settings must be texts, numbers, truth "
                "values, None or tuples of these; states must be tuples of arrays of numbers; generators must be "
                "NumPy's."
            ) from None


def from_dict(kind: type[P], saved: object, compiled: bool | None) -> P:
    """The policy of class ``kind``, or of one derived from it, that :func:`to_dict` was given."""
    owner = f"{kind.__name__}.from_dict"
    check_compiled(compiled, owner)
    try:
        return read_policy(saved, compiled, kind)
    except Unreadable as error:
        raise InvalidInput(f"The 'saved' parameter of {owner} must be {error}.") from None


def check_compiled(compiled: object, owner: str) -> None:
    """Refuse what is neither a truth value nor left open."""
    if compiled is not None and not isinstance(compiled, bool):
        raise requirement("compiled", owner, "True, False or None", brief(compiled))


def read_policy(saved: object, compiled: bool | None, kind: type[P]) -> P:
    """A policy, live; nothing is compiled before all is checked."""
    saved = check_form(saved)
    cls, origin = class_of(saved["policy"])
    if not issubclass(cls, kind):
        raise Unreadable(f"a {kind.__name__}; got a {cls.__name__}")
    settings = {name: read_value(value) for name, value in entries(saved, "settings").items()}
    for name in settings:
        if name not in cls.parameters():
            raise Unreadable(f"a policy with settings of {cls.__name__}; got {brief(name)}, which it does not have")
    was_compiled = saved["compiled"]
    if type(was_compiled) is not bool:
        raise Unreadable(f"a policy whose 'compiled' is true or false; got {brief(was_compiled)}")
    rng = read_generator(saved["rng"])
    about = settings | {"direction": read_value(saved["direction"])}
    read: Callable[..., Any] = read_policy_of_arms if cls.plays != "actions" else read_linear_policy
    policy: P = read(cls, about, saved, was_compiled if compiled is None else compiled)
    policy.rng = rng
    if origin is not None:
        policy.origin = origin
    return policy


def check_form(saved: object) -> Mapping[str, object]:
    """Check what is saved: an error if it is no policy, or one in another format."""
    if not isinstance(saved, Mapping) or type(saved.get("format")) is not str or saved["format"] != FORMAT:
        raise Unreadable(f"the result of to_dict() of a policy; got {brief(saved)}")
    version = saved.get("version")
    if type(version) is not int or version != VERSION:
        theirs = f"format {brief(version)} of bandstrap {brief(saved.get('bandstrap'))}"
        raise Unreadable(f"in format {VERSION}, the one that this bandstrap {release()} knows; got {theirs}")
    if {*saved} != {*KEYS}:
        missing, more = (sorted(map(str, names)) for names in ({*KEYS} - {*saved}, {*saved} - {*KEYS}))
        wrong = f"one without {missing[0]!r}" if missing else f"one with {brief(more[0])}"
        raise Unreadable(f"a policy with the keys that to_dict() gives; got {wrong}")
    return saved


@functools.cache
def release() -> str:
    """The version of this package."""
    from importlib.metadata import version

    return version("bandstrap")


# --- which policy -------------------------------------------------------------------------------------------------------


def name_of(policy: LivePolicy) -> str:
    """Name by which a policy's class is found: its name if it is one of ours, else its file or its module."""
    cls = type(policy)
    if policy.origin is not None:
        return policy.origin
    return cls.name if is_ours(cls) else f"{cls.__module__}.{cls.__qualname__}"


def is_ours(cls: type) -> bool:
    """Return whether a class belongs to this package."""
    return cls.__module__.partition(".")[0] == "bandstrap"


def class_of(name: object) -> tuple[type[LivePolicy], str | None]:
    """The class that is meant by a name, and the name where it says in which file the class is."""
    if isinstance(name, str):
        known: dict[str, type[LivePolicy]] = {**POLICIES, **LINEAR_POLICIES, **CONTEXTUAL_POLICIES}
        known |= {f"{cls.__module__}.{cls.__qualname__}": cls for cls in derived(LivePolicy) if not is_ours(cls)}
        if name in known:
            return known[name], None
        found = class_in_file(name)
        if found is not None and issubclass(found, LivePolicy):
            return found, name
    raise Unreadable(f"a policy of bandstrap, of a class that has been imported, or of a file; got {brief(name)}")


def derived(cls: type[LivePolicy]) -> list[type[LivePolicy]]:
    """All classes derived from one; of two with the same name, the one defined last comes last."""
    return [found for child in cls.__subclasses__() for found in (child, *derived(child))]


# --- what it knows ------------------------------------------------------------------------------------------------------


def write_plays(policy: LivePolicy) -> dict[str, Json]:
    """The arms of a policy, or the number of features of its actions."""
    if isinstance(policy, Policy):
        return {key: [write_value(label) for label in getattr(policy, key)] for key in ("arms", "retired")}
    return {"dimension": getattr(policy, "dimension", None)}


def write_counts(policy: LivePolicy) -> dict[str, Json]:
    """Write the number of rewards, those of each arm with their mean, and the arms handed out in the first turns."""
    counts: dict[str, Json] = {"rewards": policy.n_rewards}
    if isinstance(policy, Policy):
        counts |= {"told": [*policy._counts], "means": [*policy._means], **asdict(policy._turns)}
    return counts


def read_counts(saved: Mapping[str, object], names: list[str]) -> tuple[int, dict[str, object]]:
    """Read the number of rewards of a policy and its other counts."""
    counts = entries(saved, "counts", names)
    n_rewards = counts["rewards"]
    if type(n_rewards) is not int or not 0 <= n_rewards <= LARGEST_COUNT:
        raise Unreadable(f"a policy whose number of rewards is a whole number of at least 0; got {brief(n_rewards)}")
    return n_rewards, counts


def read_tallies(counts: Mapping[str, object], n_arms: int) -> tuple[list[int], list[float], Turns]:
    """Read the number of rewards of each arm, their means, and the arms handed out in turns."""
    lists = {name: read_array(counts[name], (n_arms,), np.dtype(np.int64)).tolist() for name in LISTS}
    for name, numbers in lists.items():
        if min(numbers) < (FROM_THE_START if name == "since" else 0):
            raise Unreadable(f"a policy whose {name!r} are counts; got {min(numbers)}")
    numbers_of_decisions = []
    for name in ("decisions", "end"):
        number = counts[name]
        if type(number) is not int or not -1 <= number <= LARGEST_COUNT:
            raise Unreadable(f"a policy whose {name!r} is a number of decisions; got {brief(number)}")
        numbers_of_decisions.append(number)
    means = read_array(counts["means"], (n_arms,), np.dtype(np.float64)).tolist()
    told = lists.pop("told")
    return told, means, Turns(*lists.values(), *numbers_of_decisions)


def read_policy_of_arms(
    cls: type[Policy], about: dict[str, Any], saved: Mapping[str, object], compiled: bool
) -> Policy:
    """A policy of arms: its arms, those handed out without a reward yet, its state."""
    plays = entries(saved, "plays", ["arms", "retired"])
    n_rewards, counts = read_counts(saved, ["rewards", "told", "means", *TURNS])
    arms, retired = plays["arms"], plays["retired"]
    if type(arms) is not list or not arms:
        raise Unreadable(f"a policy with a list of arms; got {brief(arms)}")
    if type(retired) is not list:
        raise Unreadable(f"a policy with a list of retired arms; got {brief(retired)}")
    arms, retired = [read_value(label) for label in arms], [read_value(label) for label in retired]
    described = cls(**about)
    template = described.start(len(described._labels(arms)), FIRST_ROOM, np.random.default_rng(0))
    growing, _, _ = described._long_fields()
    state = read_state(saved["state"], template, growing, compiled or not is_declared(template), cls.__name__)
    if not compiled:
        state = as_lists(state)
    if is_declared(state) and sum(state.pulls) != n_rewards:
        raise Unreadable(f"a policy whose pulls are as many as its {n_rewards} rewards; got {sum(state.pulls)}")
    if (is_declared(state) or described.kernel.choose is None) and sorted(state.order) != list(range(len(arms))):
        raise Unreadable(
            f"a policy whose 'order' has each of {len(arms)} arms once; got {brief([*map(int, state.order)])}"
        )
    if min(state.pulls) < 0:
        raise Unreadable(f"a policy whose 'pulls' are counts; got {min(state.pulls)}")
    told, means, turns = read_tallies(counts, len(arms))
    policy = cls(**about, arms=arms, rng=0, compiled=compiled)
    policy._counts, policy._means, policy._turns = told, means, turns
    policy._state = state
    policy._rows = policy._rows_of(state)
    policy.n_rewards = n_rewards
    policy._is_ready = policy._all_ready(state.pulls, policy._active)
    try:
        for label in retired:
            policy.retire(label)
    except InvalidInput:
        raise Unreadable(f"a policy whose retired arms are some of its arms; got {brief(retired)}") from None
    return policy


def read_linear_policy(
    cls: type[LinearPolicy], about: dict[str, Any], saved: Mapping[str, object], compiled: bool
) -> LinearPolicy:
    """A linear policy: the number of features and the state, which it may both lack before the first actions."""
    dimension = entries(saved, "plays", ["dimension"])["dimension"]
    n_rewards, _ = read_counts(saved, ["rewards"])
    if dimension is not None and (type(dimension) is not int or not 1 <= dimension <= LARGEST_COUNT):
        raise Unreadable(f"a policy whose dimension is a whole number or null; got {brief(dimension)}")
    if (saved["state"] is None and n_rewards > 0) or (saved["state"] is not None and dimension is None):
        raise Unreadable(
            "a policy with both a state and a dimension, or with neither and no rewards; got only one of them"
        )
    state = None
    if saved["state"] is not None and dimension is not None:
        described = cls(**about, dimension=dimension)
        template = described.start(dimension, FIRST_ROOM, np.random.default_rng(0))
        state = read_field(saved["state"], template, "state")
    policy = cls(**about, dimension=dimension, rng=0, compiled=compiled)
    if state is not None:
        policy._params = policy.make_params(None)
        policy._state = state if compiled else as_lists(state)
    policy.n_rewards = n_rewards
    return policy


def entries(saved: Mapping[str, object], key: str, names: list[str] | None = None) -> dict[str, object]:
    """An object inside ``saved``, with these names if they are given."""
    values = saved[key]
    if type(values) is not dict or (names is not None and values.keys() != {*names}):
        having = f" with {', '.join(names)}" if names is not None else ""
        raise Unreadable(f"a policy whose {key!r} are an object{having}; got {brief(values)}")
    return values

"""Policies and environments by the names that the command line, experiments and the league call them by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bandstrap.basics.calls import parse_call
from bandstrap.engine.simulator.feedback import AT_ONCE, Feedback
from bandstrap.engine.simulator.own_file import anchored, parse_file_call
from bandstrap.engine.simulator.simulate import check_horizon, named_policies
from bandstrap.engine.simulator.tape import EnvironmentLike
from bandstrap.environments import CONTEXTUAL_ENVIRONMENTS, ENVIRONMENTS
from bandstrap.environments import own_file as own_environments
from bandstrap.errors import InvalidInput, unknown
from bandstrap.policies import CONTEXTUAL_POLICIES, LINEAR_POLICIES, POLICIES
from bandstrap.policies.online import own_file as own_policies

# Environments made of Python objects cannot be written as text.
NAMED_ENVIRONMENTS = {name: cls for name, cls in (ENVIRONMENTS | CONTEXTUAL_ENVIRONMENTS).items() if cls.is_called}
NAMED_POLICIES = POLICIES | LINEAR_POLICIES | CONTEXTUAL_POLICIES
# The option that a first value without a key stands for, where one is allowed: the data file.
FIRST_OPTIONS = {name: cls.first_option for name, cls in NAMED_ENVIRONMENTS.items() if cls.first_option is not None}
# The first option of an environment that changes another, which is a call in its turn.
INNER = "environment"
# What makes something of a class in a user's own file.
FROM_FILE = {"policy": own_policies.make_policy, "environment": own_environments.make_environment}
# Names that were given up, and are still understood.
OLD_NAMES = {"sda": "subsample_duels"}


def make(text: str, registry: dict[str, Any], kind: str) -> Any:
    """Build a policy or an environment from ``name:key=value,...`` or from ``file.py:Class:key=value,...``."""
    in_file = parse_file_call(text)
    if in_file is not None:
        return FROM_FILE[kind](in_file)
    call = parse_call(text, FIRST_OPTIONS)
    call = call._replace(name=OLD_NAMES.get(call.name, call.name))
    if call.name not in registry:
        raise unknown(kind, call.name, registry)
    options = call.options
    if FIRST_OPTIONS.get(call.name) == INNER and isinstance(options.get(INNER), str):
        options = options | {INNER: make(options[INNER], registry, kind)}
    return registry[call.name].from_call(**options)


def anchored_environment(text: str, folder: Path) -> str:
    """A call whose file, of code or of data, is looked for in ``folder`` unless its path is absolute.

    So is that of an environment inside another's call.
    """
    try:
        if parse_file_call(text) is not None:
            return anchored(text, folder)
        call = parse_call(text, FIRST_OPTIONS)
    except InvalidInput:  # refused later, with its place in the file
        return text
    first = FIRST_OPTIONS.get(call.name, "")
    value = call.options.get(first)
    if not isinstance(value, str):
        return text
    found = anchored_environment(value, folder) if first == INNER else str(folder / value)
    return str(call._replace(options=call.options | {first: found}))


def check_game(policy: object, environment: EnvironmentLike, horizon: int, feedback: Feedback = AT_ONCE) -> None:
    """Refuse a policy that cannot play that many rounds of an environment."""
    names, policies = named_policies(policy)
    check_horizon(names, policies, environment, horizon, feedback)

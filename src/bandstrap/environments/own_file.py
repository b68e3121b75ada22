"""Environments in a user's own file: ``path/mine.py:Mine:key=value``, wherever an environment is named in text."""

from __future__ import annotations

from bandstrap.engine.simulator.own_file import FileCall, find_class, made
from bandstrap.environments.environment import Environment
from bandstrap.errors import InvalidInput


def make_environment(call: FileCall) -> Environment:
    """The environment that a call describes."""
    environment: Environment = made(find_class(call, "environment", is_environment), call)
    if not hasattr(environment, "n_arms"):
        raise InvalidInput(f"{environment.origin} cannot be played: its __init__ does not call super().__init__.")
    return environment


def is_environment(thing: type) -> bool:
    """Return whether a class can be played on: an :class:`Environment` that draws rewards, or a reward table of them."""
    if not issubclass(thing, Environment):
        return False
    return thing.draw_rewards is not Environment.draw_rewards or thing.tape is not Environment.tape

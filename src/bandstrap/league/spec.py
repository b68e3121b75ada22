"""TOML format of a league, checked: policies, environments, and the parameters that each policy is given.

.. code-block:: toml

    [[environments]]
    name = "clicks"
    call = "bernoulli:mean_range=(0.01,0.1)"
    sigma = 0.43      # truths a policy may be told: noise scale,
    lower = 0.0       # ends of the range, where there is one,
    upper = 1.0
    moment = 0.09     # bounds on the variance
    raw_moment = 0.1  # and on the mean square
    rounds = 846      # the most rounds that are played, such as the rows of a set; the horizon by default
    needs = "sklearn" # a package without which nobody plays here
    delay = 200       # rounds that rewards are late by, or a distribution such as "geom:p=0.005"; 0 by default
    batch = 100       # rewards are learned at the ends of rounds 100, 200, ...; of every round by default
    lost = 0.1        # share of rewards that are never learned; 0 by default

    [[policies]]
    name = "UCB1"
    call = "ucb1:sigma={sigma}"  # braces are filled in from the environment
    told = "sigma"
    share = 0.5       # part of the replications played; 1 by default
    needs = "vowpalwabbit"  # a package without which the policy sits out
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from bandstrap.basics.extras import is_installed
from bandstrap.engine.simulator.feedback import Feedback, as_learned
from bandstrap.engine.simulator.own_file import anchored
from bandstrap.errors import InvalidInput, unknown
from bandstrap.experiments.toml import Strict, TomlInteger, TomlNumber, check_names, placed, read_table
from bandstrap.names import NAMED_ENVIRONMENTS, anchored_environment, make
from bandstrap.policies import CONTEXTUAL_POLICIES, POLICIES

# Who may play.
PLAYERS = POLICIES | CONTEXTUAL_POLICIES
# What a policy of each kind may be told.
TOLD = {
    "nothing": (),
    "sigma": ("sigma",),
    "range": ("lower", "upper"),
    "moment": ("moment", "raw_moment"),
    "as written": (),
}
TRUTHS = tuple(truth for truths in TOLD.values() for truth in truths)
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
LeagueName = Annotated[str, Field(min_length=1)]


class LeagueEnvironment(Strict):
    """An environment, and the truths about it."""

    name: LeagueName
    call: str
    sigma: Positive
    moment: Positive
    raw_moment: Positive
    lower: TomlNumber | None = None
    upper: TomlNumber | None = None
    # The same rewards mapped from [lower, upper] to [0, 1].
    unit: str | None = None
    # When rewards are learned.
    delay: TomlInteger | str = 0
    batch: TomlInteger = 1
    lost: TomlNumber = 0.0
    rounds: Annotated[TomlInteger, Field(gt=0)] | None = None
    # Whether it counts in the means over environments.
    overall: bool = True
    needs: str = ""

    @model_validator(mode="after")
    def range_has_two_ends(self) -> LeagueEnvironment:
        """Refuse half a range, an empty one, and a unit version of none."""
        if (self.lower is None) != (self.upper is None):
            raise ValueError("an environment has both 'lower' and 'upper' or neither")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError("'lower' must be less than 'upper'")
        if self.unit is not None and self.upper is None:
            raise ValueError("'unit' needs 'lower' and 'upper'")
        return self

    @property
    def shown(self) -> str:
        """Environment as text."""
        return as_learned(self.call, make_feedback(self))

    @property
    def width(self) -> float:
        """Length of the range; 1 where there is none."""
        return 1.0 if self.lower is None or self.upper is None else self.upper - self.lower


class LeaguePolicy(Strict):
    """A policy as a template, and what kind of truth fills it."""

    name: LeagueName
    call: str
    told: Literal["nothing", "sigma", "range", "moment", "as written"]
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    needs: str = ""

    @model_validator(mode="after")
    def is_told_what_it_asks_for(self) -> LeaguePolicy:
        """Refuse a template that asks for other truths than ``told`` says."""
        for truth in asked(self.call):
            if truth not in TRUTHS:
                known = ", ".join(f"{{{name}}}" for name in TRUTHS)
                raise ValueError(f"unknown truth {{{truth}}} in {self.call!r}; known are {known}")
            if truth not in TOLD[self.told]:
                raise ValueError(f"a policy with told = {self.told!r} cannot ask for {{{truth}}}")
        if self.told in ("sigma", "moment") and not asked(self.call):
            wanted = " or ".join(f"{{{name}}}" for name in TOLD[self.told])
            raise ValueError(f"a policy with told = {self.told!r} must ask for {wanted}")
        return self


class League(Strict):
    """A league's file: policies, environments, and unranked environments in which means of arms are tested."""

    environments: Annotated[tuple[LeagueEnvironment, ...], Field(min_length=1)]
    policies: Annotated[tuple[LeaguePolicy, ...], Field(min_length=1)]
    stability: tuple[LeagueEnvironment, ...] = ()

    @property
    def counted(self) -> tuple[LeagueEnvironment, ...]:
        """The environments in the overall means."""
        return tuple(one for one in self.environments if one.overall) or self.environments

    def choose(
        self, environments: Sequence[str] = (), policies: Sequence[str] = (), also: Sequence[str] = ()
    ) -> League:
        """Part of the league: environments by name, policies by name or as calls of their own; all by default.

        Policies in ``also``, written in the same way, are added to the others. Stability is tested only if no environments
        are named.
        """
        worlds = {environment.name: environment for environment in self.environments}
        for name in environments:
            if name not in worlds:
                raise unknown("environment", name, worlds, " of the league")
        members = {policy.name: policy for policy in self.policies}
        wanted = dict.fromkeys([*(policies or members), *also])
        return League(
            environments=tuple(worlds[name] for name in dict.fromkeys(environments)) or self.environments,
            policies=tuple(members.get(text) or guest(text) for text in wanted),
            stability=() if environments else self.stability,
        )


def asked(template: str) -> list[str]:
    """The truths a template asks for."""
    return re.findall(r"\{(\w*)\}", template)


def guest(call: str) -> LeaguePolicy:
    """A policy that has no line in the file: told what its braces ask for, and otherwise taken as written."""
    wanted = asked(call)
    told: Any = next((kind for kind, truths in TOLD.items() if wanted and set(wanted) <= set(truths)), "as written")
    try:
        policy = LeaguePolicy(name=call, call=call, told=told)
    except ValueError:
        known = ", ".join(f"{{{name}}}" for name in TRUTHS)
        raise InvalidInput(
            f"the policy {call!r} asks for more than one kind of truth, or for none of {known}."
        ) from None
    make(fill(call, dict.fromkeys(TRUTHS, 1.0)), PLAYERS, "policy")
    return policy


def fill(template: str, truths: dict[str, float]) -> str:
    """A call with the truths in place of their names."""
    return re.sub(r"\{(\w+)\}", lambda match: f"{truths[match[1]]:.12g}", template)


def read_league(path: Path | None = None, *, contexts: bool = False) -> League:
    """Read and check a league; default: the package's league of arms, or with ``contexts`` that of contextual policies.

    A mistake is reported in one sentence.

    >>> "MOSS" in [policy.name for policy in read_league().policies]
    True
    """
    path = path or Path(str(files("bandstrap.league") / ("contexts.toml" if contexts else "league.toml")))
    league = read_table(path, League)
    policies = [policy.model_copy(update={"call": anchored(policy.call, path.parent)}) for policy in league.policies]
    worlds, steady = (
        tuple(
            environment.model_copy(update={"call": anchored_environment(environment.call, path.parent)})
            for environment in several
        )
        for several in (league.environments, league.stability)
    )
    league = league.model_copy(update={"policies": tuple(policies), "environments": worlds, "stability": steady})
    check_names(path, "environments", [environment.name for environment in (*worlds, *steady)])
    check_names(path, "policies", [policy.name for policy in league.policies])
    for i, environment in enumerate(league.environments):
        placed(f"{path}: environments[{i}]", lambda environment=environment: check_environment(environment))
    for i, environment in enumerate(league.stability):
        placed(f"{path}: stability[{i}]", lambda environment=environment: check_stability(environment))
    for i, policy in enumerate(league.policies):
        call = fill(policy.call, dict.fromkeys(TRUTHS, 1.0))
        placed(f"{path}: policies[{i}].call", lambda call=call: make(call, PLAYERS, "policy"))
    return league


def lacks(part: LeagueEnvironment | LeaguePolicy) -> str:
    """Reason why an environment or a policy cannot be played: a package that is not installed; empty if nothing does."""
    return f"needs {part.needs}" if part.needs and not is_installed(part.needs) else ""


def make_feedback(environment: LeagueEnvironment) -> Feedback:
    """Feedback of an environment."""
    owner = f"the environment {environment.name!r}"
    return Feedback(environment.delay, environment.batch, environment.lost, owner=owner)


def check_stability(environment: LeagueEnvironment) -> None:
    """Refuse rewards that are not those of arms with a mean and a scale that stay, learned at once."""
    check_environment(environment)
    world = make(environment.call, NAMED_ENVIRONMENTS, "environment")
    if world.tape(1, np.random.default_rng(0))[0].ndim == 2 or not make_feedback(environment).is_at_once:
        raise InvalidInput("stability needs constant means and rewards without delay.")


def check_environment(environment: LeagueEnvironment) -> None:
    """Refuse rewards outside the stated range, and a unit version whose rewards are not the same mapped to [0, 1]."""
    make_feedback(environment)
    if lacks(environment):
        return
    world = make(environment.call, NAMED_ENVIRONMENTS, "environment")
    if "arms" not in world.offers:
        raise InvalidInput(f"the environment {environment.call!r} offers no arms.")
    if environment.lower is None or environment.upper is None:
        return
    low, high = world.support
    if low < environment.lower or high > environment.upper:
        raise InvalidInput(
            f"rewards of {environment.call!r} lie in [{low:g}, {high:g}], "
            f"outside the range [{environment.lower:g}, {environment.upper:g}] stated."
        )
    if environment.unit is not None:
        unit = make(environment.unit, NAMED_ENVIRONMENTS, "environment")
        # Two reward tables of one stream differ by the map alone, if the distributions do.
        tapes = (made.tape(4, np.random.default_rng(0)) for made in (world, unit))
        for ours, mapped in zip(*tapes, strict=True):
            if ours.shape != mapped.shape or not np.allclose((ours - environment.lower) / environment.width, mapped):
                raise InvalidInput(
                    f"{environment.unit!r} is not {environment.call!r} mapped from "
                    f"[{environment.lower:g}, {environment.upper:g}] to [0, 1]."
                )

"""Settings of an experiment, checked when it is created: lengths of time, policies, and what may be changed later."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bandstrap.errors import InvalidInput, brief, check_choice, check_count, check_number, is_number, requirement
from bandstrap.live.settle import Aggregate, Settle

if TYPE_CHECKING:  # policies are loaded when an experiment is made, not when the package is imported
    from bandstrap.policies.online.described import Described, Direction
    from bandstrap.policies.online.live_policy import LivePolicy

Mode = Literal["live", "shadow"]
OutOfRange = Literal["refuse", "clip"]

OWNER = "live.create"
# The version of a definition as it is written.
FORMAT = 1
# Settings, or what is to become of them, by name.
SettingValues = dict[str, Any]
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d|w)")
# Bytes of a label, and of the names and keys that a database keeps an index of.
LONGEST_LABEL = 200
LONGEST_KEY = 1000
# Defaults of arms: with fewer rewards one is new, and what such a one gets at most.
BURN_IN = 20
NEW_ARM_SHARE = 0.1
# Default draws of a policy's own randomness: weights of arms serve all decisions of a version, those of actions one.
DRAWS = 1000
DRAWS_FOR_ACTIONS = 100
# More draws than this would not make the weights noticeably finer, and decisions would wait for them.
MOST_DRAWS = 1_000_000
# What may be changed while an experiment runs.
CHANGEABLE = ("floor", "holdout", "control", "burn_in", "new_arm_share", "mode", "refresh")
# Of these, what concerns arms that are new.
OF_ARMS = ("burn_in", "new_arm_share")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything an experiment's decisions follow from, but for its log.

    ``policy`` is a call as the command line takes it, ``arms`` are those it began with, times are in seconds.
    """

    policy: str
    direction: Direction
    arms: tuple[str, ...]
    seed: int
    window: float | None
    default_reward: float | None
    aggregate: Aggregate
    draws: int
    floor: float
    holdout: float
    control: str | int | None
    burn_in: int
    new_arm_share: float
    mode: Mode
    refresh: float
    reward_range: tuple[float, float] | None = None
    out_of_range: OutOfRange = "refuse"

    @property
    def is_linear(self) -> bool:
        """True if actions come with each decision; otherwise there are arms."""
        return not self.arms

    @functools.cached_property
    def is_contextual(self) -> bool:
        """True if a context comes with each decision, beside the arms."""
        return bool(self.arms) and plays_of(self.policy) == "contexts"

    @property
    def has_context(self) -> bool:
        """True if something comes with each decision that is stored with it: actions, or a context."""
        return self.is_linear or self.is_contextual

    @property
    def changeable(self) -> tuple[str, ...]:
        """Names of the settings that may be changed while the experiment runs."""
        return tuple(name for name in CHANGEABLE if not (self.is_linear and name in OF_ARMS))

    @property
    def settle(self) -> Settle:
        """Rule that says when a decision is settled, and by which of its rewards."""
        return Settle(self.window, self.aggregate, self.default_reward)

    def within_range(self, reward: object, parameter: str, owner: str) -> object:
        """A reward inside the range of the experiment: refused or moved to the nearer end otherwise.

        What is no number is left to the policy to refuse.
        """
        if self.reward_range is None or not is_number(reward):
            return reward
        low, high = self.reward_range
        value = check_number(reward, parameter, owner)
        if low <= value <= high:
            return value
        if self.out_of_range == "refuse":
            raise requirement(parameter, owner, f"inside the experiment's reward_range [{low:g}, {high:g}]", value)
        return min(max(value, low), high)

    def make_policy(self, rng: np.random.Generator) -> LivePolicy:
        """The policy before the first reward; where it is in a file, the file is run."""
        description = described(self.policy)
        if getattr(description, "plays", None) not in (("actions",) if self.is_linear else ("arms", "contexts")):
            raise InvalidInput(
                f"The policy {brief(self.policy)} does not fit the definition, which has {len(self.arms)} arms."
            )
        live = {} if self.is_linear else {"arms": self.arms}
        options: SettingValues = description.settings() | {"direction": self.direction, "rng": rng} | live
        policy = type(description)(**options)
        policy.origin = description.origin
        return policy

    @property
    def file(self) -> str | None:
        """The file of Python that has the policy; none for policies of bandstrap."""
        from bandstrap.engine.simulator.own_file import parse_file_call

        call = parse_file_call(self.policy)
        return None if call is None else call.file

    def to_json(self) -> str:
        """The definition as text, from which :meth:`from_json` makes it again."""
        return json.dumps({"format": FORMAT} | dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """The definition that was written; one that is not ours, or of a later format, is refused.

        Nothing that it names is loaded. A policy in a file must have an absolute path: a relative one is another file in
        another folder.
        """
        try:
            values = json.loads(text)
            form = values.pop("format")
            settings = check_settings("a definition", **values) if form == FORMAT else None
            file = None if settings is None else settings.file
        except InvalidInput as error:
            raise InvalidInput(f"The definition of an experiment cannot be read: {error}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InvalidInput(f"The definition of an experiment cannot be read: {brief(text)}.") from None
        if settings is None:
            raise InvalidInput(
                f"The definition of an experiment has format {brief(form)}; this version reads {FORMAT}."
            )
        if file is not None and not Path(file).is_absolute():
            raise InvalidInput(
                f"The definition of an experiment must name the file of its policy by an absolute path. Got {brief(file)}."
            )
        return settings

    def changed(self, arms: Sequence[str], changes: SettingValues, owner: str) -> Settings:
        """The settings after a change of some of them, checked against the ``arms`` that are active."""
        for name in changes:
            if name not in CHANGEABLE:
                raise InvalidInput(f"{owner} cannot change {brief(name)}; it changes {', '.join(CHANGEABLE)}.")
        values = {name: getattr(self, name) for name in CHANGEABLE} | changes
        if self.is_linear:
            refuse_for_actions(owner, **{name: changes.get(name) for name in OF_ARMS})
        return dataclasses.replace(self, **check_changeable(owner, None if self.is_linear else arms, **values))


def make_settings(
    *,
    policy: object,
    arms: Sequence[str] | None,
    seed: int,
    direction: Direction | None,
    window: str | float | timedelta | None,
    default_reward: float | None,
    aggregate: Aggregate,
    draws: int | None,
    floor: float,
    holdout: float,
    control: str | int | None,
    burn_in: int | None,
    new_arm_share: float | None,
    mode: Mode,
    refresh: str | float | timedelta,
    reward_range: tuple[float, float] | None,
    out_of_range: OutOfRange,
) -> Settings:
    """Check what :func:`bandstrap.live.create` is told, or has by default."""
    call, direction = read_policy(policy, direction)
    description = described(call)
    refuse_unfit(description)
    is_linear = description.plays == "actions"
    labels = check_actions(description, arms) if is_linear else check_arms(arms)
    if is_linear:
        refuse_for_actions(OWNER, burn_in=burn_in, new_arm_share=new_arm_share)
        burn_in, new_arm_share = 0, 1.0
    if draws is None:
        draws = DRAWS_FOR_ACTIONS if is_linear else DRAWS
    settings = check_settings(
        OWNER,
        policy=call,
        direction=direction,
        arms=labels,
        seed=seed,
        window=None if window is None else check_duration(window, "window", OWNER, positive=True),
        default_reward=default_reward,
        aggregate=aggregate,
        draws=draws,
        floor=floor,
        holdout=holdout,
        control=control,
        burn_in=BURN_IN if burn_in is None else burn_in,
        new_arm_share=NEW_ARM_SHARE if new_arm_share is None else new_arm_share,
        mode=mode,
        refresh=refresh,
        reward_range=reward_range,
        out_of_range=out_of_range,
    )
    trial = settings.make_policy(np.random.default_rng(0))  # refuses what a policy with arms cannot be told
    for end in settings.reward_range or ():
        trial.check_reward(end, "reward_range", OWNER)
    if default_reward is not None:
        settings = dataclasses.replace(
            settings, default_reward=trial.check_reward(default_reward, "default_reward", OWNER)
        )
    if aggregate == "sum":
        refuse_sums(trial)
    return settings


def check_settings(
    owner: str,
    *,
    policy: object,
    direction: object,
    arms: object,
    seed: object,
    window: object,
    default_reward: object,
    aggregate: object,
    draws: object,
    reward_range: object = None,  # definitions of earlier versions have none
    out_of_range: object = "refuse",
    **changeable: object,
) -> Settings:
    """Settings, given or read from a database, each checked as far as that is possible without the policy."""
    from bandstrap.policies.online.described import Direction

    labels = () if isinstance(arms, tuple | list) and not arms else check_arms(arms)
    if not isinstance(policy, str):
        raise requirement("policy", owner, "a text", brief(policy))
    settings = Settings(
        policy=policy,
        direction=check_choice(direction, "direction", owner, get_args(Direction)),
        arms=labels,
        seed=check_count(seed, "seed", owner, at_least=0),
        window=None if window is None else check_number(window, "window", owner, above=0),
        default_reward=None if default_reward is None else check_number(default_reward, "default_reward", owner),
        aggregate=check_choice(aggregate, "aggregate", owner, get_args(Aggregate)),
        draws=check_count(draws, "draws", owner, at_most=MOST_DRAWS),
        **check_changeable(owner, labels or None, **changeable),
        reward_range=check_range(reward_range, owner),
        out_of_range=check_choice(out_of_range, "out_of_range", owner, get_args(OutOfRange)),
    )
    if settings.reward_range is None and settings.out_of_range != "refuse":
        raise requirement("reward_range", owner, "given with out_of_range='clip'", "none")
    if settings.default_reward is not None:
        dataclasses.replace(settings, out_of_range="refuse").within_range(default_reward, "default_reward", owner)
    if settings.window is None and not settings.settle.on_arrival:
        reason = f"aggregate={aggregate!r}" if aggregate != "first" else f"default_reward={default_reward!r}"
        raise requirement("window", owner, f"given with {reason}, which is learned when it closes", "none")
    return settings


def check_changeable(
    owner: str,
    arms: Sequence[str] | None,
    *,
    floor: object,
    holdout: object,
    control: object,
    burn_in: object,
    new_arm_share: object,
    mode: object,
    refresh: object,
) -> SettingValues:
    """Check the settings that may be changed later, each alone and together; ``arms`` are ``None`` for actions."""
    floor = check_share(floor, "floor", owner)
    holdout = check_share(holdout, "holdout", owner)
    share = check_number(new_arm_share, "new_arm_share", owner, above=0)
    if share > 1:
        raise requirement("new_arm_share", owner, "at most 1", share)
    if floor > share:
        raise requirement("floor", owner, f"at most new_arm_share ({share:g}), which a new arm must not exceed", floor)
    mode = check_choice(mode, "mode", owner, get_args(Mode))
    if control is None:
        if holdout > 0 or mode == "shadow":
            reason = "holdout" if holdout > 0 else "mode='shadow'"
            raise requirement("control", owner, f"given with {reason}, where it is what is served", "none")
    elif arms is None:
        control = check_count(control, "control", owner, at_least=0)
    elif not isinstance(control, str) or control not in arms:
        raise requirement("control", owner, f"one of the active arms {list(arms)[:20]}", brief(control))
    return {
        "floor": floor,
        "holdout": holdout,
        "control": control,
        "burn_in": check_count(burn_in, "burn_in", owner, at_least=0),
        "new_arm_share": share,
        "mode": mode,
        "refresh": check_duration(refresh, "refresh", owner),
    }


def check_range(value: object, owner: str) -> tuple[float, float] | None:
    """Two numbers, the first below the second."""
    if value is None:
        return None
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise requirement("reward_range", owner, "two numbers, the smallest and the largest reward", brief(value))
    low, high = (check_number(end, "reward_range", owner) for end in value)
    if not low < high:
        raise requirement("reward_range", owner, "two numbers, the first below the second", brief(value))
    return low, high


def check_share(value: object, parameter: str, owner: str) -> float:
    """A number in ``[0, 1)``."""
    number = check_number(value, parameter, owner)
    if not 0 <= number < 1:
        raise requirement(parameter, owner, "in [0, 1)", number)
    return number


def check_duration(value: object, parameter: str, owner: str, *, positive: bool = False) -> float:
    """Seconds, not negative: a number, a ``timedelta``, or text such as ``"30m"``.

    >>> check_duration("1.5h", "window", "live.create")
    5400.0
    """
    rule = "a length of time such as '24h', '30m', '1s' or '7d', or a number of seconds"
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, str):
        match = DURATION.fullmatch(value.strip())
        if match is None:
            raise requirement(parameter, owner, rule, brief(value))
        value = float(match["number"]) * SECONDS[match["unit"]]
    if not is_number(value):
        raise requirement(parameter, owner, rule, brief(value))
    if positive:
        return check_number(value, parameter, owner, above=0)
    return check_number(value, parameter, owner, at_least=0)


def check_text(value: object, parameter: str, owner: str, longest: int = LONGEST_KEY) -> str:
    """Text that every database takes: not empty, not too long, and of characters that can be written."""
    try:
        is_fit = isinstance(value, str) and "\0" not in value and 0 < len(value.encode()) <= longest
    except UnicodeEncodeError:  # half of a surrogate pair
        is_fit = False
    if not is_fit:
        rule = f"a text of 1 to {longest} bytes in UTF-8, without null characters"
        raise requirement(parameter, owner, rule, brief(value))
    return str(value)


def check_arms(arms: object) -> tuple[str, ...]:
    """Two or more different labels."""
    rule = "two or more different labels, each a text"
    if isinstance(arms, str) or not isinstance(arms, Sequence | np.ndarray):
        raise requirement("arms", OWNER, rule, "none" if arms is None else brief(arms))
    labels = tuple(check_text(label, "arms", OWNER, LONGEST_LABEL) for label in arms)
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise requirement("arms", OWNER, rule, brief(list(labels)))
    return labels


def check_actions(description: LivePolicy, arms: object) -> tuple[str, ...]:
    """No arms, and the number of features: decisions of several workers must agree on it before the first reward."""
    name = type(description).__name__
    if arms is not None:
        raise requirement(
            "arms", OWNER, f"left out with {name}, which is given actions with each decision", brief(arms)
        )
    if getattr(description, "dimension", None) is None:
        rule = f"given in a live experiment, as in '{description.name}:dimension=5'"
        raise requirement("dimension", name, rule, "none")
    return ()


def refuse_for_actions(owner: str, **settings: object) -> None:
    """Refuse settings of arms where actions come with each decision."""
    for name, value in settings.items():
        if value is not None:
            raise requirement(
                name, owner, "left out with a linear policy, which has no arms that are new", brief(value)
            )


def refuse_sums(policy: LivePolicy) -> None:
    """Refuse to add up rewards whose sum may leave the policy's range."""
    low, high = policy.support
    if -math.inf < low < 0 or 0 < high < math.inf:
        rule = f"'first' or 'last' with {type(policy).__name__}, whose rewards lie in [{low:g}, {high:g}], unlike their sum"
        raise requirement("aggregate", OWNER, rule, "'sum'")


# --- policies -----------------------------------------------------------------------------------------------------------


def read_policy(policy: object, direction: Direction | None) -> tuple[str, Direction]:
    """The call, in one way of writing it, and the direction of a policy given as text or as an object without arms."""
    from bandstrap.policies.online.described import Described, Direction

    if direction is not None:
        direction = check_choice(direction, "direction", OWNER, get_args(Direction))
    if isinstance(policy, str):
        description = described(policy)
        if not isinstance(description, Described):
            raise unfit(
                policy, "one of bandstrap's, or of a class derived from bandstrap.Policy: others cannot be stored"
            )
        return call_of(description), direction or "max"
    if getattr(policy, "needs_pickle", False):
        raise unfit(policy, "one that can be stored: this one needs pickle, which runs code when it is read")
    if not isinstance(policy, Described):
        raise unfit(policy, "a name with options such as 'ucb1:sigma=2', or a policy without arms")
    if policy.arms or vars(policy).get("n_rewards"):
        raise unfit(policy, "without arms and rewards; the experiment has its own")
    if direction is not None and direction != policy.direction:
        raise requirement("direction", OWNER, f"that of the policy, {policy.direction!r}", repr(direction))
    if callable(getattr(policy, "alpha", None)):
        raise unfit(policy, "one whose alpha is a rule or a number: a function cannot be stored")
    call = call_of(policy)
    try:
        twin = described(call)
        is_same = type(twin) is type(policy) and call_of(twin) == call
    except InvalidInput:
        is_same = False
    if not is_same:
        raise unfit(policy, "one that its name and options describe; a class of your own is named as 'file.py:Class'")
    return call, policy.direction


def described(call: str) -> LivePolicy:
    """The policy without arms that a call describes; a file that it names is found from anywhere."""
    from bandstrap.engine.simulator.own_file import anchored
    from bandstrap.names import NAMED_POLICIES, make

    return make(anchored(call, Path.cwd()), NAMED_POLICIES, "policy")


@functools.lru_cache(maxsize=256)
def plays_of(call: str) -> str:
    """Kind of choices of the policy of a call: arms, arms in contexts, or actions."""
    return described(call).plays


def call_of(description: Described) -> str:
    """The call that makes a policy again, without its direction."""
    from bandstrap.basics.calls import Call

    options = {name: value for name, value in description.settings().items() if name != "direction"}
    return str(Call(description.origin or description.name, options))


def refuse_unfit(description: Described) -> None:
    """Refuse policies whose choices follow from more than the rewards learned, or take too long."""
    if getattr(description, "forced_exploration", False):
        raise unfit(description, "without forced_exploration, which counts the rounds of one process")
    if description.name == "linear_bootstrapped_ucb" and getattr(description, "quantile", None) != "streaming":
        raise unfit(
            description, "given quantile=streaming: fresh resamples take tens of milliseconds with each decision"
        )


def unfit(policy: object, rule: str) -> InvalidInput:
    """The refusal of a policy."""
    return requirement("policy", OWNER, rule, brief(getattr(policy, "label", policy)))


# --- two definitions ----------------------------------------------------------------------------------------------------


def first_difference(stored: Settings, given: Settings) -> str | None:
    """The first setting in which two definitions differ."""
    for field in dataclasses.fields(Settings):
        if getattr(stored, field.name) != getattr(given, field.name):
            return field.name
    return None

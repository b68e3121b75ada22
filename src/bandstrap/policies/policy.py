"""What every policy shares: the registry, the online object, the checks."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine import play
from bandstrap.engine.kernel import Kernel
from bandstrap.errors import check_choice, check_number, requirement
from bandstrap.policies.schedule import Schedule, make_schedule

POLICIES: dict[str, type[Policy]] = {}


class Policy:
    """A bandit policy: described to the simulator without arms, live with them.

    Parameters
    ----------
    arms
        Labels of the arms (any hashables), or their number. Without arms the object only describes a policy to
        :func:`bandstrap.simulate`.
    rng
        Generator or seed of the policy's own randomness, ties included.
    direction
        ``"max"`` (default) or ``"min"`` for rewards that are costs.

    Notes
    -----
    Rewards may come late and in any order: ``select`` may be called again before ``update``. Arms without a reward are
    handed out first, each once.
    """

    kernel: ClassVar[Kernel]
    name: ClassVar[str]
    # The interval rewards must lie in; a policy with a range says so here or per object.
    support: tuple[float, float] = (-np.inf, np.inf)
    # Pulls of each arm before scores are compared.
    n_initial: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        POLICIES[cls.name] = cls

    def __init__(
        self,
        *,
        arms: int | Sequence[Hashable] | None = None,
        rng: np.random.Generator | int | None = None,
        direction: str = "max",
    ) -> None:
        self.direction = check_choice(direction, "direction", type(self).__name__, ("max", "min"))
        self.arms: tuple[Hashable, ...] = ()
        if arms is None:
            if rng is not None:
                raise requirement("rng", type(self).__name__, "left out unless 'arms' is given", repr(rng))
            return
        self.arms = self._labels(arms)
        self._index = {label: i for i, label in enumerate(self.arms)}
        self.rng = np.random.default_rng(rng)
        self.n_rewards = 0
        self._params = self.make_params(None)
        self._state = as_lists(self.start(len(self.arms), 16, self.rng))
        # Arms handed out but without a reward yet; kept until every arm has had its initial pulls.
        self._waiting = [0] * len(self.arms)
        self._is_ready = False

    # -- what a policy file provides ------------------------------------------------------------------------------

    def make_params(self, horizon: int | None) -> Any:
        """Numbers for the kernel, as a NamedTuple."""
        raise NotImplementedError

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> Any:
        """State before the first reward; ``capacity`` rewards an arm must fit where the policy keeps them."""
        raise NotImplementedError

    # -- shared by simulator and online use -------------------------------------------------------------------------

    def start(self, n_arms: int, capacity: int, rng: np.random.Generator) -> Any:
        """A new state; the order that breaks ties is drawn here, once."""
        return self.make_state(n_arms, capacity, rng.permutation(n_arms))

    def transform(self, reward: float) -> float:
        """The reward as the kernel sees it: larger is better."""
        if self.direction == "max":
            return reward
        low, high = self.support
        return low + high - reward if np.isfinite(low) and np.isfinite(high) else -reward

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Names and defaults of the policy's own parameters."""
        signature = inspect.signature(cls.__init__).parameters.values()
        return {p.name: p.default for p in signature if p.kind is p.KEYWORD_ONLY and p.name not in ONLINE_ONLY}

    def settings(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        return {
            name: getattr(self, name) for name, default in self.parameters().items() if getattr(self, name) != default
        }

    @property
    def label(self) -> str:
        """Name and settings in one word, as the command line takes it."""
        from bandstrap.calls import Call

        return str(Call(self.name, self.settings()))

    def __repr__(self) -> str:
        items = self.settings()
        if self.arms:
            items["arms"] = list(self.arms)
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in items.items())})"

    # -- online ----------------------------------------------------------------------------------------------------

    def select(self) -> Any:
        """The arm to pull next."""
        self._need_arms("select")
        if not self._is_ready:
            arm = self._initial_arm()
            if arm >= 0:
                self._waiting[arm] += 1
                return self.arms[arm]
        return self.arms[play.select(self.kernel, self._round_params(), self._state, self.n_rewards + 1, self.rng)]

    def update(self, arm: Any, reward: Any) -> None:
        """Take in the reward of an arm, or equally long sequences of arms and rewards; all of them or none."""
        self._need_arms("update")
        if isinstance(reward, float | int) and self._is_label(arm):
            pairs = [(self._index[arm], self._check_reward(reward))]
        else:
            arms, rewards = self._pairs(arm, reward)
            pairs = [(self._arm_index(a), self._check_reward(r)) for a, r in zip(arms, rewards, strict=True)]
        for index, value in pairs:
            self._make_room(index)
            self.n_rewards += 1
            play.learn(self.kernel, self._params, self._state, index, self.transform(value), self.n_rewards, self.rng)
            if not self._is_ready:
                self._waiting[index] = max(self._waiting[index] - 1, 0)
                self._is_ready = min(self._state.pulls) >= self.n_initial

    def copy(self) -> Policy:
        """An independent twin that will go on exactly as this one would."""
        return copy.deepcopy(self)

    def _initial_arm(self) -> int:
        """The arm handed out least while some lack their initial pulls; -1 once scores can be compared."""
        handed = [pulls + waiting for pulls, waiting in zip(self._state.pulls, self._waiting, strict=True)]
        least = min(handed)
        if least < self.n_initial or min(self._state.pulls) == 0:
            return handed.index(least)
        return -1

    def _round_params(self) -> Any:
        """Parameters of this round: those of the start, unless the error probability is the user's function."""
        if callable(getattr(self, "alpha", None)):
            self._params = self.make_params(None)
        return self._params

    def _make_room(self, arm: int) -> None:
        """Double what holds rewards when an arm has filled it."""
        rows = {name: getattr(self._state, name) for name in GROWING if name in self._state._fields}
        full = {name: row for name, row in rows.items() if len(row) and self._state.pulls[arm] >= row.shape[1]}
        if full:
            doubled = {name: np.concatenate([row, np.zeros_like(row)], axis=1) for name, row in full.items()}
            self._state = self._state._replace(**doubled)

    def _labels(self, arms: int | Sequence[Hashable]) -> tuple[Hashable, ...]:
        owner = type(self).__name__
        rule = "a positive number or a non-empty sequence of different hashable labels"
        if isinstance(arms, int | np.integer) and not isinstance(arms, bool):
            if arms < 1:
                raise requirement("arms", owner, rule, repr(arms))
            return tuple(range(int(arms)))
        if isinstance(arms, str) or not isinstance(arms, Sequence | np.ndarray | range):
            raise requirement("arms", owner, rule, repr(arms))
        labels = tuple(arms)
        try:
            distinct = len(set(labels))
        except TypeError:
            raise requirement("arms", owner, rule, repr(arms)) from None
        if not labels or distinct < len(labels):
            raise requirement("arms", owner, rule, repr(arms))
        return labels

    def _pairs(self, arms: Any, rewards: Any) -> tuple[list[Any], list[Any]]:
        """Equally long lists of arms and rewards."""
        owner = f"{type(self).__name__}.update"
        if np.ndim(rewards) == 0 and self._is_label(arms):
            return [arms], [rewards]
        if np.ndim(rewards) == 0 or isinstance(arms, str) or not isinstance(arms, Sequence | np.ndarray):
            raise requirement("arm", owner, f"one of {list(self.arms)[:20]}", repr(arms))
        arms, rewards = list(arms), list(rewards)
        if len(arms) != len(rewards):
            rule = "as long as 'arm' when both are sequences"
            raise requirement("reward", owner, rule, f"{len(rewards)} rewards for {len(arms)} arms")
        return arms, rewards

    def _is_label(self, arm: Any) -> bool:
        try:
            return arm in self._index
        except TypeError:  # not hashable
            return False

    def _arm_index(self, label: Any) -> int:
        if not self._is_label(label):
            known = f"one of {list(self.arms)[:20]}"
            raise requirement("arm", f"{type(self).__name__}.update", known, repr(label))
        return self._index[label]

    def _check_reward(self, reward: Any) -> float:
        owner = f"{type(self).__name__}.update"
        value = check_number(float(reward) if isinstance(reward, bool | np.bool_) else reward, "reward", owner)
        low, high = self.support
        if not low <= value <= high:
            raise requirement("reward", owner, f"inside [{low:g}, {high:g}]", value)
        return value

    def _need_arms(self, method: str) -> None:
        if not self.arms:
            raise requirement("arms", type(self).__name__, f"given to call {method}()", "none")

    # -- checks for the constructors ---------------------------------------------------------------------------------

    @classmethod
    def positive(cls, value: Any, parameter: str) -> float:
        """A finite number above 0."""
        return check_number(value, parameter, cls.__name__, above=0)

    def set_schedule(self, alpha: Any, tau: float, horizon: int | None) -> None:
        """Keep the parameters of the schedule, checked."""
        self.alpha, self.tau, self.horizon = alpha, tau, horizon
        if not callable(alpha):
            make_schedule(alpha, tau, horizon or 2, type(self).__name__)

    def schedule_for(self, horizon: int | None) -> Schedule:
        """The schedule the kernel follows; a simulation's ``horizon`` fills in a missing one."""
        owner = type(self).__name__
        alpha = self.alpha
        if callable(alpha):
            if not self.arms:
                raise requirement("alpha", owner, "a rule or a number in a simulation", "a callable")
            alpha = alpha(self.n_rewards + 1) if hasattr(self, "n_rewards") else 0.5
        return make_schedule(alpha, self.tau, self.horizon or horizon, owner)


# What holds a number for each reward of an arm: its rewards, or their running sums.
GROWING = ("history", "running")
# What stays an array online: long rows that compiled-style loops slice.
KEPT_AS_ARRAYS = (*GROWING, "kept", "residuals", "tails")


def as_lists(state: Any) -> Any:
    """A state whose arrays are lists, which plain Python reads and writes several times faster, with the same numbers."""
    return type(state)(
        *(value if name in KEPT_AS_ARRAYS else value.tolist() for name, value in state._asdict().items())
    )


ONLINE_ONLY = tuple(inspect.signature(Policy.__init__).parameters)

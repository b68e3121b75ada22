"""What every policy of arms shares: the registry and the online object."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Hashable, Sequence
from typing import Any, ClassVar, Self, TypedDict, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine import play
from bandstrap.engine.memory import check_memory, length
from bandstrap.errors import requirement
from bandstrap.policies.described import Described, Direction, Randomness, Rewards, has_axes
from bandstrap.policies.moments import no_rewards
from bandstrap.registry import register

POLICIES: dict[str, type[Policy]] = {}
# What an arm takes online, in bytes, whatever the policy: its label and where it is found, and a few numbers.
BYTES_PER_ARM = 200
# The arms' number, or their labels.
Arms = int | Sequence[Hashable] | NDArray[Any]


class Online(TypedDict, total=False):
    """What the constructor of every policy of arms takes beside the policy's own parameters; see :class:`Policy`."""

    arms: Arms | None
    rng: Randomness
    direction: Direction


class Policy(Described):
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

    # What the simulator must hand it: arms alone, or the features of actions.
    plays: ClassVar[str] = "arms"
    # Pulls of each arm before scores are compared.
    n_initial: int = 1

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register(POLICIES, cls.name, cls)

    def __init__(
        self,
        *,
        arms: Arms | None = None,
        rng: Randomness = None,
        direction: Direction = "max",
    ) -> None:
        super().__init__(direction)
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
        self._growing = self._growing_fields()
        self._state = as_lists(self.start(len(self.arms), 16, self.rng), self._growing)
        # Arms handed out but without a reward yet; kept until every arm has had its initial pulls.
        self._waiting = [0] * len(self.arms)
        self._is_ready = False

    # -- what a policy file provides ------------------------------------------------------------------------------

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> Any:
        """State before the first reward: by default the pulls, mean and squared deviations that ``moments.learn`` keeps.

        ``capacity`` rewards per arm must fit where a policy keeps them; an array that is longer for a larger capacity
        grows online.
        """
        return no_rewards(n_arms, order)

    # -- shared by simulator and online use -------------------------------------------------------------------------

    def start(self, n_arms: int, capacity: int, rng: np.random.Generator) -> Any:
        """A new state; the order that breaks ties is drawn here, once."""
        self.check_size(n_arms)
        state = self.make_state(n_arms, capacity, rng.permutation(n_arms))
        needed = ("pulls", "order") if self.kernel.choose is None else ("pulls",)
        for field in needed:
            if field not in getattr(state, "_fields", ()):
                rule = f"a NamedTuple with the field {field!r}, which the {type(self).__name__}'s kernel is played with"
                raise requirement("state", f"{type(self).__name__}.make_state", rule, repr(state))
        return state

    def __repr__(self) -> str:
        items = self.settings()
        if self.arms:
            items["arms"] = list(self.arms)
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in items.items())})"

    # -- online ----------------------------------------------------------------------------------------------------

    def select(self) -> Any:  # a label of the user's, whose type is not known here
        """The arm to pull next."""
        self._need_arms("select")
        if not self._is_ready:
            arm = self._initial_arm()
            if arm >= 0:
                self._waiting[arm] += 1
                return self.arms[arm]
        return self.arms[
            play.select(self.kernel, self.round_params(self._params), self._state, self.n_rewards + 1, self.rng)
        ]

    def update(self, arm: Hashable | Sequence[Hashable] | NDArray[Any], reward: Rewards) -> None:
        """Take in the reward of an arm, or equally long sequences of arms and rewards; all of them or none."""
        self._need_arms("update")
        if isinstance(reward, float | int) and self._is_label(arm):
            pairs = [(self._index[arm], self.check_reward(reward))]
        else:
            arms, rewards = self._pairs(arm, reward)
            pairs = [(self._arm_index(a), self.check_reward(r)) for a, r in zip(arms, rewards, strict=True)]
        for index, value in pairs:
            self._make_room(index)
            self.n_rewards += 1
            play.learn(self.kernel, self._params, self._state, index, self.transform(value), self.n_rewards, self.rng)
            if not self._is_ready:
                self._waiting[index] = max(self._waiting[index] - 1, 0)
                self._is_ready = min(self._state.pulls) >= self.n_initial

    def copy(self) -> Self:
        """An independent twin that will go on exactly as this one would."""
        return copy.deepcopy(self)

    def _initial_arm(self) -> int:
        """The arm handed out least while some lack their initial pulls; -1 once scores can be compared."""
        handed = [pulls + waiting for pulls, waiting in zip(self._state.pulls, self._waiting, strict=True)]
        least = min(handed)
        if least < self.n_initial or min(self._state.pulls) == 0:
            return handed.index(least)
        return -1

    def _growing_fields(self) -> tuple[str, ...]:
        """The fields that hold a number for each reward of an arm: those that are longer for a larger capacity."""
        states = [self.make_state(1, capacity, np.zeros(1, dtype=np.int64)) for capacity in (1, 2)]
        shapes = [{name: getattr(value, "shape", ()) for name, value in state._asdict().items()} for state in states]
        return tuple(name for name in shapes[0] if shapes[0][name] != shapes[1][name])

    def _make_room(self, arm: int) -> None:
        """Double what holds rewards when an arm has filled it."""
        rows = {name: getattr(self._state, name) for name in self._growing}
        full = {name: row for name, row in rows.items() if self._state.pulls[arm] >= row.shape[1]}
        if full:
            doubled = {name: np.concatenate([row, np.zeros_like(row)], axis=1) for name, row in full.items()}
            self._state = self._state._replace(**doubled)

    def _labels(self, arms: Arms) -> tuple[Hashable, ...]:
        owner = type(self).__name__
        rule = "a positive number or a non-empty sequence of different hashable labels"
        if isinstance(arms, int | np.integer) and not isinstance(arms, bool):
            if arms < 1:
                raise requirement("arms", owner, rule, repr(arms))
            check_memory(BYTES_PER_ARM * int(arms), "arms", owner, int(arms))
            return tuple(range(int(arms)))
        if isinstance(arms, str) or not isinstance(arms, Sequence | np.ndarray | range):
            raise requirement("arms", owner, rule, repr(arms))
        check_memory(BYTES_PER_ARM * length(arms), "arms", owner, length(arms))
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
        if not has_axes(rewards) and self._is_label(arms):
            return [arms], [rewards]
        if not has_axes(rewards) or isinstance(arms, str) or not isinstance(arms, Sequence | np.ndarray):
            raise requirement("arm", owner, f"one of {list(self.arms)[:20]}", repr(arms))
        arms, rewards = list(arms), list(rewards)
        if len(arms) != len(rewards):
            rule = "as long as 'arm' when both are sequences"
            raise requirement("reward", owner, rule, f"{len(rewards)} rewards for {len(arms)} arms")
        return arms, rewards

    def _is_label(self, arm: Any) -> TypeGuard[Hashable]:
        try:
            return arm in self._index
        except TypeError:  # not hashable
            return False

    def _arm_index(self, label: Any) -> int:
        if not self._is_label(label):
            known = f"one of {list(self.arms)[:20]}"
            raise requirement("arm", f"{type(self).__name__}.update", known, repr(label))
        return self._index[label]

    def _need_arms(self, method: str) -> None:
        if not self.arms:
            raise requirement("arms", type(self).__name__, f"given to call {method}()", "none")


# What stays an array online in our own states: long rows, and what NumPy works on as a whole.
KEPT_AS_ARRAYS = ("kept", "residuals", "tails", "known", "observed", "factors", "generators")


def as_lists(state: Any, kept: Collection[str] = ()) -> Any:
    """A state whose arrays are lists, which plain Python reads and writes several times faster, with the same numbers.

    A state from outside the package stays as it is: its functions may use arrays as a whole.
    """
    if not type(state).__module__.startswith("bandstrap."):
        return state

    def converted(name: str, value: Any) -> Any:
        if name in KEPT_AS_ARRAYS or name in kept:
            return value
        return as_lists(value) if isinstance(value, tuple) else value.tolist()

    return type(state)(*(converted(name, value) for name, value in state._asdict().items()))


Policy.online_only = tuple(inspect.signature(Policy.__init__).parameters)

"""Base of every linear policy: the registry and the online object."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.registry import register
from bandstrap.basics.seeds import make_generator
from bandstrap.engine.compiler import steps
from bandstrap.engine.compiler.refusals import ARM, KERNEL_ERRORS, NOBODY, Place, learning, refusal
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import InvalidInput, check_count, read_numbers, requirement
from bandstrap.policies.kernels.restricted import duplicate
from bandstrap.policies.linear.known_actions import doubled, is_full
from bandstrap.policies.linear.ridge import predictions
from bandstrap.policies.online.described import Direction, Randomness, Rewards, has_axes
from bandstrap.policies.online.journal import put_back_whole, save_whole
from bandstrap.policies.online.live_policy import LivePolicy
from bandstrap.policies.online.policy import FIRST_ROOM
from bandstrap.policies.online.probabilities import by_drawing, copy_of
from bandstrap.policies.online.table import ActionRow, ArmTable
from bandstrap.policies.states.fields import StateTuple, as_lists, changed_by_learning, is_declared, leaves, replaced

LINEAR_POLICIES: dict[str, type[LinearPolicy]] = {}

# Squares of products of a feature and an estimate, which may be as large as a reward, are summed and must not overflow.
LARGEST_NUMBER = 1e50


class LinearOnline(TypedDict, total=False):
    """Options of every linear policy beside its own parameters; see :class:`LinearPolicy`."""

    dimension: int | None
    rng: Randomness
    direction: Direction
    compiled: bool


class LinearPolicy(LivePolicy):
    """A policy for linear bandits: selects one of several actions, each given by its features.

    Parameters
    ----------
    dimension
        Number of features; default: that of the first actions or observations.
    rng
        Generator, seed or ``SeedSequence`` of the policy's own randomness.
    direction
        ``"max"`` (default) or ``"min"`` for rewards that are costs.
    compiled
        Run ``select`` and ``update`` as machine code, with exactly the same choices; off by default, see
        :class:`bandstrap.Policy`.

    Notes
    -----
    Actions may change from round to round, in number and in features. Rewards may come late and in any order. Ties go to
    the action that comes first.

    An update happens completely or not at all, and threads may share a policy, as described for :class:`bandstrap.Policy`.
    After a fork, each process needs its own generator.
    """

    plays: ClassVar[str] = "actions"
    # Whether it makes sense only where the same actions are on offer each time.
    needs_same_actions: ClassVar[bool] = False
    changing: ClassVar[tuple[str, ...]] = ("n_rewards", "dimension", "_params", "_state")
    largest_reward: ClassVar[float] = LARGEST_NUMBER
    # No action is forced at the start: the ridge makes every score finite.
    n_initial: ClassVar[int] = 0
    # Rounds at the start in which actions are drawn at random.
    random_rounds: int = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register(LINEAR_POLICIES, cls.name, cls)

    def __init__(
        self,
        *,
        dimension: int | None = None,
        rng: Randomness = None,
        direction: Direction = "max",
        compiled: bool = False,
    ) -> None:
        super().__init__(direction)
        self.compiled = self._check_compiled(compiled)
        self.dimension = None if dimension is None else check_count(dimension, "dimension", type(self).__name__)
        self.check_size(self.dimension or 1)
        self._go_live(rng, self.compiled)
        self._params = None
        self._state = None
        if self._machine is not None:  # for any state: types do not depend on the number of features
            nobody = np.random.default_rng(0)
            state = self.start(self.dimension or 1, FIRST_ROOM, nobody)
            self._machine.hold(self.kernel, self.make_params(None), state, nobody)

    def make_state(self, dimension: int, capacity: int, rng: np.random.Generator) -> StateTuple:
        """State before the first reward, with room for ``capacity`` rewards if the policy keeps them."""
        raise NotImplementedError

    def estimates(self, state: Any, actions: Floats) -> Floats | None:
        """Estimated mean reward of each action; by ridge regression, if the state holds one."""
        return predictions(np.asarray(state.regression.theta), actions) if hasattr(state, "regression") else None

    def widths(self, params: Any, state: Any, actions: Floats, round_: int) -> Floats | None:
        """Distance from the estimate of each action to its bound; ``None`` if the policy compares no bounds."""
        return None

    def reseeded(self, state: Any, rng: np.random.Generator) -> Any:
        """The state with its own random generators, if any, restarted."""
        return state

    def check_size(self, size: int) -> None:
        """Refuse a number of features whose matrix exceeds memory."""
        check_memory(2 * WORD * size**2, "dimension", type(self).__name__, size)

    def start(self, dimension: int, capacity: int, rng: np.random.Generator) -> StateTuple:
        """A new state."""
        self.check_size(dimension)
        return self.make_state(dimension, capacity, rng)

    # -- online ----------------------------------------------------------------------------------------------------

    def select(self, actions: ArrayLike) -> int:
        """Choose one of the actions, one per row; return its index."""
        matrix = self._features(actions, "actions", "select", 2)
        with self._lock:
            self._settle()
            state = self._begin(matrix.shape[1])
            return self._choice(self.round_params(self._params), state, matrix, self.rng)

    def weights(self, actions: ArrayLike, draws: int = 1000, *, rng: Randomness = None) -> Floats:
        """The probability of each of the actions, one per row, to be selected now; nothing changes.

        Parameters
        ----------
        actions
            Features of the actions, one action per row.
        draws
            Number of simulated choices, if the policy draws random numbers. The probabilities are then relative
            frequencies, with a standard error of at most ``0.5/sqrt(draws)``. Otherwise they are exact.
        rng
            Generator or seed of the simulated choices; by default a copy of the policy's generator.

        Examples
        --------
        >>> from bandstrap import LinUCB
        >>> policy = LinUCB(width=0.5)
        >>> policy.update([[1.0, 0.0], [0.0, 1.0]], [0.2, 0.9])
        >>> policy.weights([[1.0, 0.0], [0.0, 1.0]]).tolist()
        [0.0, 1.0]
        """
        matrix = self._features(actions, "actions", "weights", 2)
        draws = check_count(draws, "draws", self._owner("weights"))
        own = None if rng is None else make_generator(rng, self._owner("weights"), "rng")
        with self._lock:
            self._settle()
            if self.n_rewards < self.random_rounds:
                return np.full(len(matrix), 1.0 / len(matrix))
            twin = copy_of(self.rng)
            params = self.make_params(None) if self._state is None else self.round_params(self._params)
            if self._state is None:
                state = self.start(matrix.shape[1], FIRST_ROOM, twin)
                state = state if self.compiled else as_lists(state)
            else:
                state = duplicate(self._state)
            generator = twin if own is None else own
            before = generator.bit_generator.state
            state = self.reseeded(state, generator)
            beginning = [] if is_declared(state) else [(values, save_whole(values)) for _, values in leaves(state)]

            def select(rng: np.random.Generator) -> int:
                for values, content in beginning:
                    put_back_whole(values, content)
                return self._choice(params, state, matrix, rng)

            return np.array(by_drawing(select, len(matrix), draws, generator, before))

    def table(self, actions: ArrayLike) -> ArmTable[ActionRow]:
        """Table of the actions, one per row: an estimate of its mean reward, and its index.

        Returns
        -------
        list
            A row for each action, with ``action``, ``estimate`` and ``index``; prints as a table. The index is the bound
            that the next choice compares: an upper bound, or a lower one if rewards are costs, see the table's
            ``index_is``. It is ``None`` if actions are drawn at random.

        Examples
        --------
        >>> from bandstrap import LinUCB
        >>> policy = LinUCB(width=0.5)
        >>> policy.update([[1.0, 0.0], [0.0, 1.0]], [0.25, 1.0])
        >>> policy.table([[1.0, 0.0], [0.0, 1.0]])
        action  estimate  upper bound
             0     0.125     0.478553
             1       0.5     0.853553
        """
        matrix = self._features(actions, "actions", "table", 2)
        with self._lock:
            self._settle()
            params = self.make_params(None) if self._state is None else self.round_params(self._params)
            state = self.start(matrix.shape[1], FIRST_ROOM, copy_of(self.rng)) if self._state is None else self._state
            estimates = self.estimates(state, matrix)
            widths = self.widths(params, duplicate(state), matrix, self.n_rewards + 1)
        means: list[float | None] = [None] * len(matrix)
        bounds = means
        if estimates is not None:
            means = [self.transform(value) for value in estimates.tolist()]
            if widths is not None and self.n_rewards >= self.random_rounds:
                bounds = [self.transform(value) for value in (estimates + widths).tolist()]
        rows = [ActionRow(i, mean, bound) for i, (mean, bound) in enumerate(zip(means, bounds, strict=True))]
        return ArmTable(rows, "upper bound" if self.direction == "max" else "lower bound")

    def _choice(self, params: object, state: StateTuple, actions: Floats, rng: np.random.Generator) -> int:
        """The action that is chosen in this round."""
        machine, round_ = self._machine, self.n_rewards + 1
        at: Place = [NOBODY, round_] if machine is None else machine.at
        try:
            if machine is None:
                return steps.select_action(self.kernel, params, state, actions, round_, rng, at)
            return machine.select(self.kernel, params, state, rng, actions, round_)
        except InvalidInput:  # it cannot be compiled
            raise
        except KERNEL_ERRORS as error:
            raise refusal(self, error, (at[ARM], round_), range(len(actions))) from error

    def update(self, action: ArrayLike, reward: Rewards) -> None:
        """Learn the reward of an action given by its features, or of several, one per row; all of them or none."""
        several: Collection[object] = reward if has_axes(reward) else [reward]
        many = several is reward
        rows = self._features(action, "action", "update", 2 if many else 1)
        rewards = [self.check_reward(r) for r in several]
        rows = rows if many else rows[None]
        if len(rows) != len(rewards):
            rule = "of the same length as 'action' when both are sequences"
            raise requirement("reward", self._owner("update"), rule, f"{len(rewards)} rewards for {len(rows)} actions")
        with self._lock:
            self._settle()
            self._take_in(rows, rewards)

    def _take_in(self, rows: Floats, rewards: list[float]) -> None:
        """Take in the rewards of actions, all or none."""
        attributes = self.n_rewards, self.dimension, self._params, self._state
        drawn = self.rng.bit_generator.state if self._state is None or self.draws_in_update() else None
        changing = () if self._state is None else changed_by_learning(self._state)
        saved = [(values, save_whole(values)) for values in changing]
        self._undo = attributes, drawn, saved, {}
        try:
            self._begin(rows.shape[1])
            for row, value in zip(rows, rewards, strict=True):
                self._make_room()
                self.n_rewards += 1
                reward = self.transform(value)
                try:
                    self._learn(row, reward)
                except InvalidInput:  # it cannot be compiled
                    raise
                except KERNEL_ERRORS as error:
                    raise refusal(self, error, (learning(0), self.n_rewards), ()) from error
            self._undo = None
        except BaseException:
            self._take_back()
            raise

    def _learn(self, features: Floats, reward: float) -> None:
        """Take in the reward of one action, the latest that is counted."""
        game = self.kernel, self._params, self._state
        if self._machine is not None:
            self._machine.learn(*game, self.rng, features, reward, self.n_rewards)
        else:  # plain Python reads a list's numbers several times faster than an array's
            steps.learn(*game, features.tolist(), reward, self.n_rewards, self.rng)

    def _begin(self, dimension: int) -> StateTuple:
        """Make the state once the number of features is known; all is made before any of it is kept."""
        if self._state is None:
            params = self.make_params(None)
            state = self.start(dimension, FIRST_ROOM, self.rng)
            self._params, self.dimension = params, dimension
            self._state = state if self.compiled else as_lists(state)
        return self._state

    def _make_room(self) -> None:
        """Double what holds observations when it is full."""
        state = self._state
        if state is None:
            return
        for name, rows in zip(state._fields, state, strict=True):
            if is_full(rows):
                state = self._state = replaced(state, {name: doubled(rows)})

    def _features(self, values: object, parameter: str, method: str, ndim: int) -> Floats:
        rule = "a vector of features" if ndim == 1 else "a non-empty matrix of features, one action per row"
        array = read_numbers(values, parameter, self._owner(method), rule, kinds="biuf")
        if array.ndim != ndim or array.size == 0:
            raise requirement(parameter, self._owner(method), rule, f"shape {array.shape}")
        wrong = ~(np.abs(array) <= LARGEST_NUMBER)
        if wrong.any():
            rule = f"made of finite numbers no larger than {LARGEST_NUMBER:g}"
            raise requirement(parameter, self._owner(method), rule, float(array[wrong].flat[0]))
        if self.dimension is not None and array.shape[-1] != self.dimension:
            rule = f"made of {self.dimension} features per action"
            raise requirement(parameter, self._owner(method), rule, array.shape[-1])
        return array

    def _owner(self, method: str) -> str:
        return f"{type(self).__name__}.{method}"


LinearPolicy.online_only = tuple(inspect.signature(LinearPolicy.__init__).parameters)

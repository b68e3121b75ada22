"""Base of every policy of arms: the registry and the online object."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypedDict, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.basics.registry import register
from bandstrap.basics.seeds import make_generator
from bandstrap.engine.compiler import steps
from bandstrap.engine.compiler.refusals import ARM, KERNEL_ERRORS, NOBODY, Place, learning, refusal
from bandstrap.engine.work.memory import check_memory, length
from bandstrap.errors import InvalidInput, brief, check_count, is_whole, requirement
from bandstrap.policies.kernels.restricted import changes, duplicate, part_of, what_choices_depend_on, with_another_arm
from bandstrap.policies.kernels.turns import Turns
from bandstrap.policies.online.described import Direction, Randomness, Rewards, has_axes
from bandstrap.policies.online.journal import ChangedRows, SavedRows, put_back_whole, save_whole
from bandstrap.policies.online.live_policy import LivePolicy
from bandstrap.policies.online.probabilities import by_drawing, copy_of, is_same
from bandstrap.policies.online.table import ArmRow, ArmTable
from bandstrap.policies.online.table import Label as Label
from bandstrap.policies.states.fields import (
    Entries,
    PolicyState,
    as_lists,
    declared_leaves,
    is_declared,
    leaves,
    replaced,
)
from bandstrap.policies.states.moments import no_rewards

POLICIES: dict[str, type[Policy]] = {}
# What an arm takes online, in bytes, whatever the policy: its label and where it is found, and a few numbers.
BYTES_PER_ARM = 200
# The arms' number, or their labels.
ArmLabels = int | Sequence[Label] | AnyArray
# Labels of the arms that can be chosen.
Available = Sequence[Hashable] | AbstractSet[Hashable] | AnyArray
# Most rewards are one of these; the union of them would be made anew with every call.
ONE_NUMBER = (float, int)
# Rewards of an arm that fit into a new live policy where it keeps them; rows double when they are full.
FIRST_ROOM = 16
# Labels that a refusal lists.
MOST_SHOWN = 20


class Online(TypedDict, Generic[Label], total=False):
    """Options of every policy of arms beside its own parameters; see :class:`Policy`."""

    arms: ArmLabels[Label] | None
    rng: Randomness
    direction: Direction
    compiled: bool


class IndexBounds(TypedDict):
    """Row of ``bounds()`` for an arm: pulls, mean, and the bound that the next choice compares."""

    pulls: int
    mean: float
    index: float


class NoBounds:
    """Tells who looks for ``bounds()``, which :class:`bandstrap.BootstrappedUCB` has, what every policy has."""

    def __get__(self, policy: object, owner: type) -> NoReturn:
        rest = "table() shows the pulls, mean and index of each arm."
        raise AttributeError(f"{owner.__name__} has no bounds(): {rest}")


class Policy(LivePolicy, Generic[Label]):
    """A bandit policy: without arms a description for the simulator, with arms a live policy.

    Parameters
    ----------
    arms
        Labels of the arms (any hashables), or their number. Without arms the object only describes a policy to
        :func:`bandstrap.simulate`.
    rng
        Generator, seed or ``SeedSequence`` of the policy's own randomness, ties included. A generator is used directly, so
        other users of the same generator share its random numbers.
    direction
        ``"max"`` (default) or ``"min"`` for rewards that are costs.
    compiled
        Run ``select`` and ``update`` as machine code, with exactly the same choices. Slow policies become about ten times
        faster. Off by default: a policy in plain Python never waits for a compiler. A compiled policy waits when it is
        made: some seconds the first time, and a moment once the code is on the disk. If a compiled policy keeps every
        reward, each arm has memory for as many rewards as the arm with the most.

    Notes
    -----
    Rewards may come late, in any order, or never: ``select`` may be called again before ``update``. Arms are selected in
    turn until every arm has its initial rewards, one for most policies. If only some arms have theirs, turns continue for
    ten more rounds plus twice the number of earlier decisions. After that the policy selects among the arms that have them.
    Any other arm, and an arm added later (:meth:`add_arm`), is selected at once and then after 1, 3, 7, 15, ... decisions.
    So a missing reward does not block the policy, and a new arm with late rewards is selected ten times in the first
    thousand decisions.

    An update, or a batch of updates, happens completely or not at all, even if an exception such as ``KeyboardInterrupt``
    interrupts it. An interrupted ``select`` loses no rewards, but may have used random numbers, or may have cut a round of
    duels short. A call of the policy from a signal handler during an update is refused.

    Threads may share a policy: calls wait for one another. Processes may not. After a fork, each child has a copy of the
    policy and its generator, so all draw the same numbers. Give each its own generator,

    >>> import numpy as np
    >>> from bandstrap import UCB1
    >>> seeds = np.random.SeedSequence(7).spawn(4)  # one for each worker
    >>> worker = UCB1(arms=3, rng=0).copy()
    >>> worker.rng = np.random.default_rng(seeds[2])  # in worker 2, before its first decision

    and fork while no other thread uses the policy.

    A reward larger than ``1e150`` in absolute value is refused: sums of squares, which many policies keep, would overflow.
    The simulator accepts any finite reward, and results with such rewards may be ``nan``.
    """

    plays: ClassVar[str] = "arms"
    arms: tuple[Label, ...] = ()
    changing: ClassVar[tuple[str, ...]] = ("n_rewards", "_is_ready", "_state", "_rows")
    steps: ClassVar[tuple[str, ...]] = ("_take_in", "_write_back", "_grow")
    # Whether indices are bounds on the mean, in its units, from above; of costs, from below.
    indices_are_bounds: ClassVar[bool] = False
    if not TYPE_CHECKING:  # type checkers say themselves that there is no such method
        bounds = NoBounds()
    # Pulls of each arm before scores are compared.
    n_initial: int = 1
    _state: PolicyState

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.plays == Policy.plays:
            register(POLICIES, cls.name, cls)

    def __init__(
        self,
        *,
        arms: ArmLabels[Label] | None = None,
        rng: Randomness = None,
        direction: Direction = "max",
        compiled: bool = False,
    ) -> None:
        super().__init__(direction)
        self.compiled = self._check_compiled(compiled)
        if arms is None:
            for parameter, value in (("rng", rng), ("compiled", compiled or None)):
                if value is not None:
                    raise requirement(parameter, type(self).__name__, "left out unless 'arms' is given", brief(value))
            return
        self.arms = self._labels(arms)
        self._index: dict[Hashable, int] = {label: i for i, label in enumerate(self.arms)}
        self._go_live(rng, self.compiled)
        self._params = self.make_params(None)
        self._growing, self._by_arm, self._across = self._long_fields()
        state = self.start(len(self.arms), FIRST_ROOM, self.rng)
        self._state = state if self.compiled else as_lists(state)
        self.retired: tuple[Hashable, ...] = ()
        # The numbers of the arms that are not.
        self._active = list(range(len(self.arms)))
        # How often an arm's reward was told, and their mean.
        self._counts = [0] * len(self.arms)
        self._means = [0.0] * len(self.arms)
        self._turns = Turns.of(len(self.arms))
        # Whether all of these arms have the rewards that the policy begins with.
        self._is_ready = self.n_initial <= 0
        self._draws = self.draws_in_update()
        self._rows = self._rows_of(self._state)
        if self._machine is not None:
            self._machine.hold(self.kernel, self._params, self._state, self.rng)

    # -- what a policy file provides ------------------------------------------------------------------------------

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> PolicyState:
        """State before the first reward: by default the pulls, mean and squared deviations that ``moments.learn`` keeps.

        A policy that keeps rewards needs room for ``capacity`` per arm; arrays whose length depends on ``capacity`` grow
        online.
        """
        return no_rewards(n_arms, order)

    def exact_weights(self, params: Any, state: Any, round_: int) -> Sequence[float] | None:
        """The probability of each arm of a state in a round, if there is a formula; by default there is none.

        Without a formula, :meth:`weights` simulates the choice many times.
        """
        return None

    def indices(self, params: Any, state: Any, round_: int, rng: np.random.Generator) -> Sequence[float] | None:
        """The index of each arm of a state in a round; ``None`` if there is no index, or if it is random.

        The default is the scores, unless they are drawn from ``rng`` or do not exist.
        """
        if self.kernel.choose is not None:
            return None
        before = rng.bit_generator.state
        scores = self._scores(params, state, round_, rng)
        return scores if is_same(before, rng.bit_generator.state) else None

    def _scores(self, params: object, state: PolicyState, round_: int, rng: np.random.Generator) -> list[float]:
        """The score of each arm in the units of rewards, drawn as the next choice draws it; NaN where the kernel fails."""
        scores = [math.nan] * len(state.pulls)
        with contextlib.suppress(*KERNEL_ERRORS):
            shared = steps.prepare(self.kernel, params, state, round_)
            for arm in state.order:
                with contextlib.suppress(*KERNEL_ERRORS):
                    score = steps.score(self.kernel, params, state, arm, shared, rng)
                    scores[arm] = float(self.in_rewards(score, shared))
        return scores

    def in_rewards(self, score: float, shared: Any) -> float:
        """A score in the units of rewards, by default unchanged; ``shared`` is the result of ``prepare``."""
        return score

    # -- shared by simulator and online use -------------------------------------------------------------------------

    def start(self, n_arms: int, capacity: int, rng: np.random.Generator) -> PolicyState:
        """A new state, with a random tie-breaking order that never changes."""
        self.check_size(n_arms)
        state = self.make_state(n_arms, capacity, rng.permutation(n_arms))
        needed = ("pulls", "order") if self.kernel.choose is None else ("pulls",)
        for field in needed:
            if field not in getattr(state, "_fields", ()):
                rule = f"a NamedTuple with the field {field!r}, which the {type(self).__name__}'s kernel is played with"
                raise requirement("state", f"{type(self).__name__}.make_state", rule, brief(state))
        return state

    # -- online ----------------------------------------------------------------------------------------------------

    def select(self, available: Available | None = None) -> Label:
        """The arm to pull next.

        Parameters
        ----------
        available
            Labels of the arms to choose from. The policy then ignores the other arms, except in the round number, which
            counts all rewards learned. By default all arms are available.
        """
        self._need_arms("select")
        with self._lock:
            if self._undo is not None:
                self._settle()
            among = self._among(available, "select")
            if not self._is_ready:
                arm, among = self._next(among)
                self._turns.hand_out(arm, self.n_initial, among)
                if arm >= 0:
                    return self.arms[arm]
            if among is not None and len(among) == len(self.arms):
                among = None
            params = self.round_params(self._params)
            if among is None:
                return self.arms[self._choice(params, self._state, self.arms, self.rng)]
            part = self._part(among)
            arm = among[self._choice(params, part, [self.arms[arm] for arm in among], self.rng)]
            self._write_back(part, among)
            return self.arms[arm]

    def weights(
        self, draws: int = 1000, *, available: Available | None = None, rng: Randomness = None
    ) -> dict[Label, float]:
        """The probability of each arm to be selected now; nothing changes, the policy's generator included.

        Parameters
        ----------
        draws
            Number of simulated choices, if the policy draws random numbers and has no formula. The probabilities are then
            relative frequencies, with a standard error of at most ``0.5/sqrt(draws)``.
        available
            Labels of the arms to choose from, as in :meth:`select`; the probability of any other is 0.
        rng
            Generator or seed of the simulated choices. By default a copy of the policy's generator, so the first simulated
            choice equals the next ``select()``.

        Notes
        -----
        The probabilities are exact if a choice draws no random numbers, as with confidence bounds. They are also exact for
        policies with a formula, such as :class:`bandstrap.EpsilonGreedy` and :class:`bandstrap.MaillardSampling`. While
        arms are selected in turn, the next one has probability 1.

        Examples
        --------
        >>> from bandstrap import EpsilonGreedy
        >>> policy = EpsilonGreedy(arms=["a", "b", "c"], epsilon=0.3, rng=0)
        >>> policy.update(["a", "b", "c"], [0.2, 0.9, 0.4])
        >>> policy.weights()
        {'a': 0.1, 'b': 0.8, 'c': 0.1}
        >>> policy.weights(available=["a", "c"])
        {'a': 0.15, 'b': 0.0, 'c': 0.85}
        """
        self._need_arms("weights")
        draws = check_count(draws, "draws", f"{type(self).__name__}.weights")
        generator = None if rng is None else make_generator(rng, f"{type(self).__name__}.weights", "rng")
        with self._lock:
            self._settle()
            among = self._among(available, "weights") or self._active
            if not self._is_ready:
                initial, among = self._next(among)
                among = among if initial < 0 else [initial]
            weights = dict.fromkeys((self.arms[arm] for arm in self._active), 0.0)
            if len(among) == 1:
                shares: Sequence[float] = [1.0]
            else:
                state = self._state if len(among) == len(self.arms) else self._part(among)
                shares = self._shares(state, [self.arms[arm] for arm in among], draws, generator)
            weights.update(zip((self.arms[arm] for arm in among), shares, strict=True))
            return weights

    def _shares(
        self, state: PolicyState, labels: Sequence[Hashable], draws: int, rng: np.random.Generator | None
    ) -> Sequence[float]:
        """The probability of each arm of a state, which stays as it is."""
        params = self.round_params(self._params)
        exact = self.exact_weights(params, state, self.n_rewards + 1)
        if exact is not None:
            return exact
        state = duplicate(state)
        beginning = [(values, save_whole(values)) for values in what_choices_depend_on(state)]

        def select(rng: np.random.Generator) -> int:
            for values, content in beginning:
                put_back_whole(values, content)
            return self._choice(params, state, labels, rng)

        return by_drawing(select, len(state.pulls), draws, copy_of(self.rng) if rng is None else rng)

    def _choice(self, params: object, state: PolicyState, labels: Sequence[Hashable], rng: np.random.Generator) -> int:
        """The arm of a state that is chosen in this round; its arms have these labels."""
        machine, round_ = self._machine, self.n_rewards + 1
        at: Place = [NOBODY, round_] if machine is None else machine.at
        try:
            if machine is None:
                return steps.select(self.kernel, params, state, round_, rng, at)
            return machine.select(self.kernel, params, state, rng, round_)
        except InvalidInput:  # it cannot be compiled
            raise
        except KERNEL_ERRORS as error:
            raise refusal(self, error, (at[ARM], round_), labels) from error

    def _part(self, arms: list[int]) -> PolicyState:
        return part_of(self._state, arms, self._by_arm, self._across)

    def _write_back(self, part: PolicyState, arms: list[int]) -> None:
        """Keep what a choice among some arms has changed; all of it or nothing."""
        found = changes(self._state, part, arms, self._by_arm, self._across)
        if not found:
            return
        attributes = tuple(getattr(self, name) for name in self.changing)
        self._undo = attributes, None, [(values, save_whole(values)) for values, _, _ in found], {}
        try:
            for values, key, entries in found:
                values[key] = entries
            self._undo = None
        except BaseException:
            self._take_back()
            raise

    def _among(self, available: Available | None, method: str) -> list[int] | None:
        """The numbers of the arms that are available and not retired, in ascending order; None if all are."""
        if available is None:
            return self._active if self.retired else None
        owner = f"{type(self).__name__}.{method}"
        if not (is_several(available) or isinstance(available, AbstractSet)) or len(available) == 0:
            raise requirement("available", owner, "a non-empty collection of labels of arms", brief(available))
        for label in available:
            if not self._is_label(label):
                raise requirement("available", owner, f"made of labels out of {self._known_labels()}", brief(label))
            if label in self.retired:
                raise requirement("available", owner, "made of labels of arms that are not retired", brief(label))
        among = sorted({self._index[label] for label in available})
        if len(among) < len(available):
            raise requirement("available", owner, "made of different labels", brief(available))
        return among if len(among) < len(self.arms) else None

    def _next(self, among: list[int] | None) -> tuple[int, list[int]]:
        """The arm to hand out while some lack their first rewards, or -1 and those to choose from."""
        return self._turns.next(self._state.pulls, self.n_initial, self._active if among is None else among)

    def _all_ready(self, pulls: Entries, arms: Sequence[int]) -> bool:
        return all(pulls[arm] >= self.n_initial for arm in arms)

    def add_arm(self, label: Hashable) -> None:
        """Add an arm without rewards; the other arms keep their state.

        Its place in the tie-breaking order is drawn from the policy's generator. Until its first rewards arrive, it is
        selected from time to time, with growing intervals, and the policy selects among the others. See the notes of
        :class:`bandstrap.Policy`.

        Examples
        --------
        >>> from bandstrap import UCB1
        >>> policy = UCB1(arms=["red", "green"], rng=0)
        >>> policy.update(["red", "green"], [0.2, 0.9])
        >>> policy.add_arm("blue")
        >>> [policy.select() for _ in range(9)]
        ['blue', 'blue', 'green', 'blue', 'green', 'green', 'green', 'blue', 'green']
        """
        self._need_arms("add_arm")
        owner = f"{type(self).__name__}.add_arm"
        try:
            is_known = label in self._index
        except TypeError:
            raise requirement("label", owner, "hashable", brief(label)) from None
        with self._lock:
            self._settle()
            if is_known or label in self._index:
                raise requirement("label", owner, "a label that no arm has had, including retired arms", brief(label))
            self._grow(label)

    def _grow(self, label: Hashable) -> None:
        """Make room for another arm; all changes at once, at the end, in one step."""
        attributes = tuple(getattr(self, name) for name in self.changing)
        self._undo = attributes, self.rng.bit_generator.state, [], {}
        try:
            new = len(self.arms)
            fresh = self.start(new + 1, FIRST_ROOM, self.rng)
            place = list(fresh.order).index(new) if "order" in fresh._fields else 0
            fresh = fresh if self.compiled else as_lists(fresh)
            state = with_another_arm(self._state, fresh, place, self._by_arm, self._across)
            turns = self._turns.with_another(self._state.pulls, self._active)
            counts, means = [*self._counts, 0], [*self._means, 0.0]
            active = [*self._active, new]
            vars(self).update(
                arms=(*self.arms, label),
                _index=self._index | {label: new},
                _active=active,
                _counts=counts,
                _means=means,
                _turns=turns,
                _is_ready=self._all_ready(state.pulls, active),
                _state=state,
                _rows=self._rows_of(state, turns, counts, means),
                _undo=None,
            )
        except BaseException:
            self._take_back()
            raise

    def retire(self, label: Hashable) -> None:
        """Stop selecting an arm for good; its data are kept, and its late rewards are still learned.

        Its label cannot be reused, and the last arm cannot be retired.

        Examples
        --------
        >>> from bandstrap import UCB1
        >>> policy = UCB1(arms=["red", "green", "blue"], rng=0)
        >>> policy.update(["red", "green", "blue"], [0.2, 0.9, 0.1])
        >>> policy.retire("green")
        >>> policy.select()
        'red'
        >>> policy.retired
        ('green',)
        """
        self._need_arms("retire")
        owner = f"{type(self).__name__}.retire"
        if not self._is_label(label):
            raise requirement("label", owner, f"one of {self._known_labels()}", brief(label))
        with self._lock:
            self._settle()
            if label in self.retired:
                raise requirement("label", owner, "an arm that is not retired", brief(label))
            if len(self._active) == 1:
                raise requirement("label", owner, "an arm other than the last one not retired", brief(label))
            active = [arm for arm in self._active if arm != self._index[label]]
            vars(self).update(
                retired=(*self.retired, label), _active=active, _is_ready=self._all_ready(self._state.pulls, active)
            )

    def table(self) -> ArmTable[ArmRow[Label]]:
        """Table of the arms: pulls, mean, index, and whether it is retired; nothing changes.

        Returns
        -------
        list
            A row for each arm, with ``arm``, ``pulls``, ``mean``, ``index`` and ``retired``; prints as a table. The index
            is the number that the next choice compares. A confidence bound is given in the units of rewards: an upper
            bound, or a lower one if rewards are costs, see the table's ``index_is``. The mean is ``None`` without rewards.
            The index is ``None`` if arms are drawn at random, if the arm lacks its first rewards, or if it is retired.

        Examples
        --------
        >>> from bandstrap import UCB1
        >>> policy = UCB1(arms=["red", "green"], sigma=0.5, rng=0)
        >>> policy.update(["red", "green", "green"], [0.25, 0.75, 0.5])
        >>> policy.table()
          arm  pulls   mean  upper bound
          red      1   0.25      1.14706
        green      2  0.625      1.25932
        >>> policy.table()[1].mean
        0.625
        """
        self._need_arms("table")
        with self._lock:
            self._settle()
            pulls = self._state.pulls
            found = self._of_ready_arms(self.indices)
            rows = [
                ArmRow(
                    label,
                    int(pulls[arm]),
                    self._means[arm] if self._counts[arm] else None,
                    self._shown(found.get(arm)),
                    label in self.retired,
                )
                for arm, label in enumerate(self.arms)
            ]
        bound = "upper bound" if self.direction == "max" else "lower bound"
        return ArmTable(rows, bound if self.indices_are_bounds else "index")

    def _of_ready_arms(self, indices: Callable[..., Sequence[float] | None]) -> dict[int, float]:
        """The indices, as ``indices`` works them out, of the arms that the next choice would compare."""
        ready = [arm for arm in self._active if self._state.pulls[arm] >= max(self.n_initial, 1)]
        if not ready:
            return {}
        part = duplicate(self._state if len(ready) == len(self.arms) else self._part(ready))
        part = as_lists(part) if self.compiled else part
        found = indices(self.round_params(self._params), part, self.n_rewards + 1, copy_of(self.rng))
        return {} if found is None else dict(zip(ready, found, strict=True))

    def _index_bounds(self) -> dict[Hashable, IndexBounds]:
        """Rows of ``bounds()`` for a policy whose scores are bounds."""
        self._need_arms("bounds")
        with self._lock:
            self._settle()
            found = self._of_ready_arms(self._scores)
            nothing = dict.fromkeys(self._active, math.inf if self.direction == "max" else -math.inf)
            return {
                label: IndexBounds(
                    pulls=int(self._state.pulls[arm]),
                    mean=self._means[arm] if self._counts[arm] else math.nan,
                    index=float(self.transform(found[arm])) if arm in found else nothing.get(arm, math.nan),
                )
                for arm, label in enumerate(self.arms)
            }

    def _shown(self, index: float | None) -> float | None:
        """An index in the user's direction."""
        if index is None:
            return None
        return float(self.transform(index) if self.indices_are_bounds else index)

    def update(self, arm: Hashable | Sequence[Hashable] | AnyArray, reward: Rewards) -> None:
        """Learn the reward of an arm, or sequences of arms and rewards of equal length; all of them or none."""
        self._need_arms("update")
        if isinstance(reward, ONE_NUMBER) and self._is_label(arm):
            pairs = [(self._index[arm], self.check_reward(reward))]
        else:
            arms, rewards = self._pairs(arm, reward)
            pairs = [(self._arm_index(a), self.check_reward(r)) for a, r in zip(arms, rewards, strict=True)]
        with self._lock:
            if self._undo is not None:
                self._settle()
            self._take_in(pairs)

    def _take_in(self, pairs: list[tuple[int, float]], contexts: Sequence[Floats] | None = None) -> None:
        """Take in the rewards of arms, all or none, each with its context if there are any."""
        rows, machine = self._rows, self._machine
        attributes = self.n_rewards, self._is_ready, self._state, rows
        saved: dict[int, SavedRows] = {}
        whole = [(values, save_whole(values)) for values in rows.whole] if rows.whole else []
        self._undo = attributes, self.rng.bit_generator.state if self._draws else None, whole, saved
        try:
            for i, (index, value) in enumerate(pairs):
                if contexts is not None:
                    self._show(contexts[i])
                if index not in saved:  # of the rows that would be put back: longer ones may be in use by now
                    saved[index] = rows.save(index)
                if self._growing:
                    self._make_room(index)
                self.n_rewards += 1
                reward = self.transform(value)
                try:
                    if machine is not None:
                        machine.learn(self.kernel, self._params, self._state, self.rng, index, reward, self.n_rewards)
                    else:
                        steps.learn(self.kernel, self._params, self._state, index, reward, self.n_rewards, self.rng)
                except InvalidInput:  # it cannot be compiled
                    raise
                except KERNEL_ERRORS as error:
                    raise refusal(self, error, (learning(index), self.n_rewards), self.arms) from error
                count = self._counts[index] + 1
                self._counts[index] = count
                self._means[index] += (value - self._means[index]) / count
                if not self._is_ready:
                    waiting = self._turns.waiting
                    waiting[index] = max(waiting[index] - 1, 0)
                    self._is_ready = self._all_ready(self._state.pulls, self._active)
            self._undo = None
        except BaseException:
            self._take_back()
            raise

    def _show(self, context: Floats) -> None:
        """Write a context where the kernel reads it, if it reads any."""

    def _long_fields(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """The fields with a number per reward; those with an entry or a row per arm; and those with a column per arm."""

        def shapes(n_arms: int, capacity: int) -> dict[str, tuple[int, ...]]:
            state = self.make_state(n_arms, capacity, np.arange(n_arms))
            may_grow.update(name for name, field, _ in declared_leaves(state) if field.grows or not is_declared(state))
            return {name: getattr(value, "shape", ()) for name, value in leaves(state)}

        may_grow: set[str] = set()
        few, longer, more = shapes(1, 1), shapes(1, 2), shapes(2, 1)
        growing = tuple(name for name in few if name in may_grow and few[name] != longer[name])
        by_arm = tuple(name for name in few if few[name][:1] != more[name][:1])
        across = tuple(name for name in few if few[name] != more[name] and name not in by_arm)
        return growing, by_arm, across

    def _rows_of(
        self,
        state: PolicyState,
        turns: Turns | None = None,
        counts: list[int] | None = None,
        means: list[float] | None = None,
    ) -> ChangedRows:
        """Rows in which state and counts, by default the policy's own, keep what an update may change."""
        # Where nothing is declared ``learn`` may change anything, but of what grows with the rewards its arm's row.
        places = (self._by_arm, self._across) if is_declared(state) else (self._growing,)
        rows = ChangedRows(state, *places)
        rows.numbers += [(turns or self._turns).waiting, counts or self._counts, means or self._means]
        return rows

    def _make_room(self, arm: int) -> None:
        """Double what holds an arm's rewards when they fill it."""
        n = self._state.pulls[arm]
        for name in self._growing:
            rows = getattr(self._state, name)
            if isinstance(rows, list):
                if rows and n >= len(rows[arm]):
                    rows[arm] = np.concatenate([rows[arm], np.zeros_like(rows[arm])])
            elif n >= rows.shape[1]:
                check_memory(3 * rows.nbytes, "arms", type(self).__name__, len(rows))
                doubled = np.concatenate([rows, np.zeros_like(rows)], axis=1)
                self._state = replaced(self._state, {name: doubled})
                self._rows = self._rows_of(self._state)

    def _labels(self, arms: ArmLabels[Label]) -> tuple[Any, ...]:
        owner = type(self).__name__
        rule = "a positive number or a non-empty sequence of different hashable labels"
        if is_whole(arms):
            if arms < 1:
                raise requirement("arms", owner, rule, brief(arms))
            check_memory(BYTES_PER_ARM * int(arms), "arms", owner, int(arms))
            return tuple(range(int(arms)))
        if not is_several(arms):
            raise requirement("arms", owner, rule, brief(arms))
        check_memory(BYTES_PER_ARM * length(arms), "arms", owner, length(arms))
        labels = tuple(arms)
        try:
            distinct = len(set(labels))
        except TypeError:
            raise requirement("arms", owner, rule, brief(arms)) from None
        if not labels or distinct < len(labels):
            raise requirement("arms", owner, rule, brief(arms))
        return labels

    def _pairs(self, arms: object, rewards: object) -> tuple[list[object], list[object]]:
        """Equally long lists of arms and rewards."""
        owner = f"{type(self).__name__}.update"
        if not has_axes(rewards) and self._is_label(arms):
            return [arms], [rewards]
        if not has_axes(rewards) or not is_several(arms):
            raise requirement("arm", owner, f"one of {self._known_labels()}", brief(arms))
        if len(arms) != len(rewards):
            rule = "of the same length as 'arm' when both are sequences"
            raise requirement("reward", owner, rule, f"{len(rewards)} rewards for {len(arms)} arms")
        return list(arms), list(rewards)

    def _known_labels(self) -> str:
        """The labels of the arms as a refusal shows them: the first of many."""
        more = ["..."] if len(self.arms) > MOST_SHOWN else []
        return f"[{', '.join([*map(brief, self.arms[:MOST_SHOWN]), *more])}]"

    def _is_label(self, arm: object) -> TypeGuard[Hashable]:
        try:
            return arm in self._index
        except TypeError:  # not hashable
            return False

    def _arm_index(self, label: object) -> int:
        if not self._is_label(label):
            raise requirement("arm", f"{type(self).__name__}.update", f"one of {self._known_labels()}", brief(label))
        return self._index[label]

    def _need_arms(self, method: str) -> None:
        if not self.arms:
            raise requirement("arms", type(self).__name__, f"given to call {method}()", "none")


def is_several(arms: object) -> TypeGuard[Sequence[Hashable]]:
    """Return whether these are arms one after the other; text is a single one."""
    if isinstance(arms, np.ndarray):
        return arms.ndim > 0
    return isinstance(arms, Sequence) and not isinstance(arms, str)


Policy.online_only = tuple(inspect.signature(Policy.__init__).parameters)

"""Base of every contextual policy: registry, contexts, models, and the online object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.registry import register
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import brief, check_choice, check_count, check_flag, requirement
from bandstrap.policies.contextual.contexts import Contexts, read_features
from bandstrap.policies.contextual.regressions import (
    N_SCALED,
    ORIGIN,
    State,
    leader,
    look_at_all,
    start_regressions,
)
from bandstrap.policies.linear.linear_policy import LARGEST_NUMBER
from bandstrap.policies.online.described import Randomness, Rewards, has_axes
from bandstrap.policies.online.journal import ChangedRows
from bandstrap.policies.online.policy import Available, Label, Online, Policy
from bandstrap.policies.online.probabilities import in_whole_parts
from bandstrap.policies.online.table import ArmRow, ArmTable
from bandstrap.policies.states.fields import PolicyState

CONTEXTUAL_POLICIES: dict[str, type[ContextualPolicy[Any]]] = {}

ArmModel = Literal["disjoint", "shared", "hybrid"]
Ridge = Literal["shrunk", "textbook"]
# What a context is: a mapping from fields to values, or numbers.
Context = Mapping[str, object] | ArrayLike
# The penalty of the intercept where coefficients shrink to the mean of all rewards.
INTERCEPT_PENALTY = 2.0


class ContextualOnline(Online[Label], total=False):
    """Options of every contextual policy beside its own parameters; see :class:`ContextualPolicy`."""

    contexts: Contexts | Mapping[str, object] | str | int | None
    model: ArmModel
    features: Sequence[Sequence[float]] | None
    ridge: Ridge
    standardise: bool


class ContextualPolicy(Policy[Label]):
    r"""A policy of labelled arms that gets a context with each decision.

    Parameters
    ----------
    contexts
        Form of a context: :class:`bandstrap.Contexts`, a table or JSON for it, or the number of features. Needed with
        ``arms``; in a simulation the environment knows it.
    model
        ``"disjoint"`` (default): each arm has coefficients of its own. ``"shared"``: all arms have the same, for the
        context and its products with the arm's ``features``. ``"hybrid"``: both; an arm's own coefficients are its
        differences from the shared ones.
    features
        Features of each arm, in the order of arms, for ``"shared"`` and ``"hybrid"``; no arm without features can be added
        later.
    ridge
        ``"shrunk"`` (default): penalty ``d/5`` for each of ``d`` coefficients and 2 for the intercept, after subtraction of
        the mean of all rewards. So an arm without rewards counts as an average one. ``"textbook"``: penalty 1, shrunk to 0.
    standardise
        Divide features, less their means, by their standard deviations (default). These are computed from the first learned
        contexts, and updated after 2, 4, 8, ..., 128 of them. False: features are used unchanged.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    There are no forced pulls at the start, and ties are broken by an order that is drawn once. A reward is learned with the
    context of its decision, even if it comes late.
    """

    plays: ClassVar[str] = "contexts"
    online_only: ClassVar[tuple[str, ...]] = Policy.online_only
    kept_as: ClassVar[dict[str, str]] = {"contexts": "declared"}
    largest_reward: ClassVar[float] = LARGEST_NUMBER
    n_initial: int = 0
    # Whether a choice draws random numbers.
    is_random: bool = False
    # Those of a bootstrap.
    n_replicates: int = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register(CONTEXTUAL_POLICIES, cls.name, cls)

    def __init__(
        self,
        *,
        contexts: Contexts | Mapping[str, object] | str | int | None = None,
        model: ArmModel = "disjoint",
        features: Sequence[Sequence[float]] | None = None,
        ridge: Ridge = "shrunk",
        standardise: bool = True,
        **online: Any,
    ) -> None:
        owner = type(self).__name__
        self.schema = None if contexts is None or isinstance(contexts, int) else Contexts.of(contexts)
        self.dimension = check_count(contexts, "contexts", owner) if isinstance(contexts, int) else None
        if self.schema is not None:
            self.dimension = self.schema.width
        self.model = check_choice(model, "model", owner, get_args(ArmModel))
        self.ridge = check_choice(ridge, "ridge", owner, get_args(Ridge))
        self.standardise = check_flag(standardise, "standardise", owner)
        self.features = None if features is None else self._checked_features(features)
        if (self.features is None) != (model == "disjoint") and model != "hybrid":
            rule = "left out unless the model is shared or hybrid" if self.features else "given with the shared model"
            raise requirement("features", owner, rule, "none" if self.features is None else brief(features))
        if online.get("arms") is not None and self.dimension is None:
            raise requirement("contexts", owner, "given with arms: the form of a context", "none")
        super().__init__(**online)
        if self.arms:
            self._check_number_of_features(len(self.arms))

    @property
    def declared(self) -> str | int | None:
        """The parameter ``contexts`` as text, or as a number."""
        return self.dimension if self.schema is None else self.schema.to_json()

    def _checked_features(self, features: object) -> tuple[tuple[float, ...], ...]:
        from bandstrap.errors import read_numbers

        owner, rule = type(self).__name__, "finite numbers, as many for each arm, or left out"
        array = read_numbers(features, "features", owner, rule, kinds="biuf")
        if array.ndim != 2 or array.size == 0 or not (np.abs(array) <= LARGEST_NUMBER).all():
            raise requirement("features", owner, rule, brief(features))
        return tuple(tuple(row) for row in array.tolist())

    def _check_number_of_features(self, n_arms: int) -> None:
        if self.features is not None and len(self.features) != n_arms:
            rule = f"a row for each of {n_arms} arms"
            raise requirement("features", type(self).__name__, rule, f"{len(self.features)} rows")

    # -- the state -------------------------------------------------------------------------------------------------

    def start(self, n_arms: int, capacity: int, rng: np.random.Generator, dimension: int | None = None) -> State:
        """A new state for contexts with this number of features; default: the declared number."""
        d = 1 + (dimension or self.dimension or 1)
        if dimension is not None:  # a simulation's
            self._check_number_of_features(n_arms)
        return self.make_state_for(d, n_arms, rng.permutation(n_arms), rng)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> PolicyState:
        """State before the first reward, of contexts as they were declared."""
        return self.make_state_for(1 + (self.dimension or 1), n_arms, order, np.random.default_rng(0))

    def _n_codes(self) -> int:
        return 0 if self.model == "disjoint" else 1 + (len(self.features[0]) if self.features else 0)

    def make_state_for(self, d: int, n_arms: int, order: NDArray[np.int64], rng: np.random.Generator) -> State:
        """State before the first reward for ``d`` coefficients; ``rng`` draws the initial replicates."""
        numbers = n_arms * d * d if self.model == "disjoint" else (n_arms + 4) * (2 * d * self._n_codes()) ** 2
        check_memory(2 * WORD * numbers, "contexts", type(self).__name__, d - 1)
        is_scaled = np.zeros(d)
        if self.standardise:
            is_scaled[1:] = 1.0 if self.schema is None else self.schema.is_scaled
        is_shrunk = self.ridge == "shrunk"
        penalties = np.full(d, d / 5.0 if is_shrunk else 1.0)
        penalties[0] = INTERCEPT_PENALTY if is_shrunk else 1.0
        codes = np.ones((n_arms, self._n_codes()))
        if self.features is not None:
            codes[:, 1:] = [self.features[arm % len(self.features)] for arm in range(n_arms)]
        own_size = 0 if self.model == "shared" else d
        return start_regressions(
            order, is_scaled, np.sqrt(penalties), own_size, codes, self.n_replicates, is_shrunk, rng
        )

    def _rows_of(self, state: Any, *others: Any, **named: Any) -> ChangedRows:
        """Rows of the state that an update may change: anywhere while scales are being found, which takes all in
        again.
        """
        if self.n_rewards <= N_SCALED and self.standardise:
            by_arm, self._by_arm = self._by_arm, ()
            try:
                return super()._rows_of(state, *others, **named)
            finally:
                self._by_arm = by_arm
        return super()._rows_of(state, *others, **named)

    # -- online ----------------------------------------------------------------------------------------------------

    def read_context(self, context: object, owner: str, parameter: str = "context") -> Floats:
        """The numbers of a context."""
        owner = f"{type(self).__name__}.{owner}" if "." not in owner else owner
        if context is None:
            raise requirement(parameter, owner, "given: what is known when the decision is made", "none")
        if self.schema is not None:
            return self.schema.encode(context, parameter, owner)
        return read_features(context, self.dimension or 0, parameter, owner)

    def select(self, available: Available | None = None, *, context: Context | None = None) -> Label:
        """The arm to pull next in a context.

        Parameters
        ----------
        available
            Labels of the arms to choose from, as in :meth:`bandstrap.Policy.select`.
        context
            Context of the decision, as declared by ``contexts``.
        """
        self._need_arms("select")
        numbers = self.read_context(context, "select")
        with self._lock:
            self._settle()
            self._show(numbers)
            return super().select(available)

    def weights(
        self,
        draws: int = 1000,
        *,
        available: Available | None = None,
        rng: Randomness = None,
        context: Context | None = None,
    ) -> dict[Label, float]:
        """The probability of each arm to be selected now in a context; the sum is 1 exactly. Nothing changes.

        Parameters
        ----------
        draws, available, rng
            See :meth:`bandstrap.Policy.weights`; every contextual policy has a formula, so there are no random draws.
        context
            Context of the decision.
        """
        self._need_arms("weights")
        numbers = self.read_context(context, "weights")
        with self._lock:
            self._settle()
            self._show(numbers)
            weights = super().weights(draws, available=available, rng=rng)
            return dict(zip(weights, in_whole_parts(list(weights.values()))[1], strict=True))

    def update(
        self,
        arm: Any,
        reward: Rewards,
        *,
        context: Context | Sequence[Context] | None = None,
    ) -> None:
        """Learn the reward of an arm in a context, or sequences of the three of equal length; all of them or none."""
        self._need_arms("update")
        if has_axes(reward):
            rule = "a sequence with a context for each reward"
            owner = f"{type(self).__name__}.update"
            if context is None or isinstance(context, Mapping | str) or not has_axes(context):
                raise requirement("context", owner, rule, brief(context))
            several: list[Any] = list(context)
            arms, rewards = self._pairs(arm, reward)
            if len(several) != len(rewards):
                raise requirement("context", owner, rule, f"{len(several)} contexts for {len(rewards)} rewards")
        else:
            several = [context]
            arms, rewards = self._pairs(arm, reward)
        pairs = [(self._arm_index(a), self.check_reward(r)) for a, r in zip(arms, rewards, strict=True)]
        seen = [self.read_context(one, "update") for one in several]
        with self._lock:
            self._settle()
            self._take_in(pairs, seen)
            if self._rows.whole and self.n_rewards > N_SCALED:
                self._rows = self._rows_of(self._state)

    def add_arm(self, label: Any) -> None:
        """Add an arm, known only by the coefficients that all arms share; see :meth:`bandstrap.Policy.add_arm`."""
        if self.features is not None:
            rule = "left out if arms without features are added later"
            raise requirement("features", type(self).__name__, rule, f"{len(self.features)} rows")
        super().add_arm(label)

    def table(self, *, context: Context | None = None) -> ArmTable[ArmRow[Label]]:
        """Table of the arms: pulls, mean, and with a ``context`` the index that the choice in it compares."""
        self._need_arms("table")
        numbers = None if context is None else self.read_context(context, "table")
        with self._lock:
            self._settle()
            found: Sequence[float] | None = None
            if numbers is not None:
                self._show(numbers)
                found = self.indices(self.round_params(self._params), self._state, self.n_rewards + 1, self.rng)
            rows = [
                ArmRow(
                    label,
                    int(self._state.pulls[arm]),
                    self._means[arm] if self._counts[arm] else None,
                    None if found is None or label in self.retired else self._shown(found[arm]),
                    label in self.retired,
                )
                for arm, label in enumerate(self.arms)
            ]
        return ArmTable(rows, "index")

    def predict(self, context: Context) -> dict[Label, float]:
        """The mean reward of each arm in a context, as the regression predicts it."""
        self._need_arms("predict")
        numbers = self.read_context(context, "predict")
        with self._lock:
            self._settle()
            self._show(numbers)
            state: Any = self._state
            look_at_all(state)
            values = [self.transform(float(state.totals[ORIGIN] + fit)) for fit in state.fits]
            return dict(zip(self.arms, values, strict=True))

    def indices(self, params: Any, state: Any, round_: int, rng: np.random.Generator) -> Sequence[float] | None:
        """The index of each arm in the context of the state; ``None`` if arms are drawn."""
        if self.is_random or self.kernel.prepare is None:
            return None
        self.kernel.prepare(params, state, round_)
        return [float(score + state.totals[ORIGIN]) for score in state.scores]

    def _show(self, numbers: Floats) -> None:
        """Write a context where the kernel reads it."""
        state: Any = self._state
        state.context[:] = numbers

    def exact_weights(self, params: Any, state: Any, round_: int) -> Sequence[float] | None:
        """Probability 1 for the arm with the highest score, if scores are not drawn."""
        if self.is_random or self.kernel.prepare is None:
            return None
        self.kernel.prepare(params, state, round_)
        best = leader(state)
        return [float(arm == best) for arm in range(len(state.pulls))]

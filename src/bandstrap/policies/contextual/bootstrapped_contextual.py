"""Bootstrapped upper confidence bounds for any estimator that can be fitted with weights."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn, Protocol, Self, get_args

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.calls import Call
from bandstrap.basics.seeds import make_generator
from bandstrap.errors import InvalidInput, brief, check_choice, check_count, check_number, requirement
from bandstrap.policies.contextual.contexts import Contexts, read_features
from bandstrap.policies.contextual.contextual_policy import Context
from bandstrap.policies.contextual.regressions import find_noise
from bandstrap.policies.contextual.replicates import Replicates, takes
from bandstrap.policies.contextual.share_ucb import deviation, index_at, information, level
from bandstrap.policies.online.described import Direction, Randomness, Rewards, has_axes
from bandstrap.policies.online.policy import is_several

BootstrapWeights = Literal["exponential", "poisson"]
# Rewards that an arm without any seems to have: the penalty of the intercept of ShareUCB.
PRIOR_REWARDS = 2.0
LARGEST_REWARD = 1e150


class Regressor(Protocol):
    """A regression of rewards on contexts, as scikit-learn has them; a classifier also has ``predict_proba``."""

    def predict(self, x: Any, /) -> Any:
        """The prediction for each row."""


class SeenArms(NamedTuple):
    """State that the index of :class:`bandstrap.ShareUCB` needs, in a context."""

    pulls: list[int]
    squares: list[float]
    leverages: list[float]
    fits: list[float]


class BootstrappedContextual:
    r"""Bootstrapped upper confidence bounds for any estimator: the spread of its replicates at the context.

    .. math:: f_k + \sqrt{\max\Bigl(u_k, \frac{s_k^2}{N_k + 2}\Bigr)\, \nu_k \bigl(e^{z_k^2/\nu_k} - 1\bigr)}, \qquad
              u_k = \frac1B \sum_b (f_{kb}(x) - f_k(x))^2

    for the prediction :math:`f_k` of the arm's estimator, and those of ``B`` replicates. In a replicate an observation has
    a random weight that never changes. Where :class:`bandstrap.ShareUCB` has a leverage :math:`v_k`, this has
    :math:`u_k/s_k^2`; the level, the variance :math:`s_k^2` and its degrees of freedom follow by the same formulas.
    Replicates of few rewards hardly differ, so the variance of an arm is at least that of a mean of :math:`N_k + 2`
    rewards. An arm without rewards counts as an average one. This is the paper's idea beyond linear models.

    Assumes that weights of mean and variance 1 move the estimator as far as noise does. Prefer it if means are not linear
    and a suitable estimator is available. For linear means, :class:`bandstrap.ContextualBootstrappedUCB` does the same in a
    thousandth of the time.

    Parameters
    ----------
    estimator
        An object with ``predict``, and ``partial_fit(X, y)`` or ``fit(X, y)``, as in scikit-learn. Each arm and replicate
        has a copy. One with ``predict_proba`` is a classifier, for rewards that are 0 or 1.
    arms
        Labels of the arms, or their number. Without arms the object describes a policy to :func:`bandstrap.simulate`.
    contexts
        Form of a context: :class:`bandstrap.Contexts`, a table or JSON for it, or a number of features; default: the length
        of the first context. Estimators get the numbers unchanged.
    replicates
        :math:`B`. With 30 the spread has an error of about an eighth.
    weights
        ``"exponential"`` (default), for an estimator that takes ``sample_weight``; or ``"poisson"``: whole numbers; an
        estimator without ``sample_weight`` gets that many copies of an observation.
    refit
        ``"partial"`` (default): each reward is learned at once, by ``partial_fit``. ``"every=100"``: estimators are fitted
        anew when an arm has 1, 2, 4, 8, ... rewards, and then after every hundred; all are kept.
    rng, direction
        As in :class:`bandstrap.Policy`.

    Notes
    -----
    It plays in this process and in simulations, in Python. It cannot be saved or used in ``live``, because estimators can
    be stored only by pickle, which runs code when it is read. An update that fails half-way is not undone. The weights of
    an observation follow from the policy's seed and the observation's number alone.

    Examples
    --------
    >>> import numpy as np
    >>> class Averages:  # the mean reward of all contexts with the same first number
    ...     def fit(self, X, y, sample_weight):
    ...         own = {key: X[:, 0] == key for key in set(X[:, 0])}
    ...         self.of = {key: np.average(y[rows], weights=sample_weight[rows]) for key, rows in own.items()}
    ...     def predict(self, X):
    ...         return np.array([self.of.get(key, 0.0) for key in X[:, 0]])
    >>> from bandstrap import BootstrappedContextual
    >>> policy = BootstrappedContextual(Averages(), ["red", "blue"], refit="every=10", rng=0)
    >>> for t in range(80):
    ...     policy.update(["red", "blue"][t % 2], float(t % 4 in (0, 3)), context=[t // 2 % 2])
    >>> policy.select(context=[0]), policy.select(context=[1])
    ('red', 'blue')

    References
    ----------
    .. [1] Hao, Abbasi-Yadkori, Wen, Cheng. Bootstrapping Upper Confidence Bound. NeurIPS 2019.
    .. [2] Rubin. The Bayesian bootstrap. Annals of Statistics 9, 1981: exponential weights.
    .. [3] Oza, Russell. Online bagging and boosting. AISTATS 2001: Poisson weights.
    """

    plays = "contexts"
    needs_pickle = True
    support = (-np.inf, np.inf)
    arms: tuple[Hashable, ...] = ()
    retired: tuple[Hashable, ...] = ()

    def __init__(
        self,
        estimator: Regressor,
        arms: int | Sequence[Hashable] | None = None,
        *,
        contexts: Contexts | Mapping[str, object] | str | int | None = None,
        replicates: int = 30,
        weights: BootstrapWeights = "exponential",
        refit: str = "partial",
        rng: Randomness = None,
        direction: Direction = "max",
    ) -> None:
        owner = type(self).__name__
        self.estimator = estimator
        self.replicates = check_count(replicates, "replicates", owner, at_least=2, at_most=10_000)
        self.weighting = check_choice(weights, "weights", owner, get_args(BootstrapWeights))
        self.direction = check_choice(direction, "direction", owner, get_args(Direction))
        self.refit = refit
        self._every = read_refit(refit, owner)
        self._check_estimator(owner)
        self.schema = None if contexts is None or isinstance(contexts, int) else Contexts.of(contexts)
        self.dimension = check_count(contexts, "contexts", owner) if isinstance(contexts, int) else None
        if self.schema is not None:
            self.dimension = self.schema.width
        self._given = self.dimension
        if arms is not None:
            self._begin(arms, make_generator(rng, owner, "rng"))
        elif rng is not None:
            raise requirement("rng", owner, "left out unless 'arms' is given", brief(rng))

    def _check_estimator(self, owner: str) -> None:
        method = "partial_fit" if self._every is None else "fit"
        fitting = getattr(self.estimator, method, None)
        if isinstance(self.estimator, type) or not callable(fitting) or not hasattr(self.estimator, "predict"):
            rule = f"an object with {method} and predict, which refit={self.refit!r} needs"
            raise requirement("estimator", owner, rule, brief(self.estimator))
        if self.weighting == "exponential" and not takes(fitting, "sample_weight"):
            rule = f"'poisson' with {type(self.estimator).__name__}, whose {method} takes no sample_weight"
            raise requirement("weights", owner, rule, repr(self.weighting))

    def _begin(self, arms: object, rng: np.random.Generator) -> None:
        owner = type(self).__name__
        rule = "a positive number or a non-empty sequence of different hashable labels"
        if isinstance(arms, int) and not isinstance(arms, bool) and arms > 0:
            labels: tuple[Hashable, ...] = tuple(range(arms))
        elif is_several(arms) and all(isinstance(label, Hashable) for label in arms):
            labels = tuple(arms)
        else:
            labels = ()
        if not labels or len(set(labels)) < len(labels):
            raise requirement("arms", owner, rule, brief(arms))
        self.rng = rng
        self._seed = int(rng.integers(2**63))
        self.arms, self.retired = (), ()
        self._of: dict[Hashable, Replicates] = {}
        self._squares: dict[Hashable, float] = {}
        self._order: dict[Hashable, float] = {}
        self.n_rewards, self._sum = 0, 0.0
        for label in labels:
            self.add_arm(label)

    def reset(self, n_arms: int, rng: np.random.Generator) -> None:
        """A new start with numbered arms, for the simulator."""
        self.dimension = self._given
        self._begin(n_arms, rng)

    @property
    def label(self) -> str:
        """Name and settings as text."""
        usual = inspect.signature(type(self)).parameters
        given = {"replicates": self.replicates, "weights": self.weighting, "refit": self.refit}
        told = {name: value for name, value in given.items() if value != usual[name].default}
        return str(Call("bootstrapped_contextual", {"estimator": type(self.estimator).__name__} | told))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"

    # -- deciding --------------------------------------------------------------------------------------------------

    def select(self, available: Sequence[Hashable] | None = None, *, context: Context | None = None) -> Hashable:
        """The arm with the highest index in a context, out of all or of those ``available``."""
        found = self.indices(available, context=context)
        return max(found, key=lambda label: (found[label], -self._order[label]))

    def weights(
        self, *, available: Sequence[Hashable] | None = None, context: Context | None = None
    ) -> dict[Hashable, float]:
        """Probability of each arm to be selected now: 1 for one arm, 0 for the others."""
        chosen = self.select(available, context=context)
        return {label: float(label == chosen) for label in self.arms if label not in self.retired}

    def indices(
        self, available: Sequence[Hashable] | None = None, *, context: Context | None = None
    ) -> dict[Hashable, float]:
        """The index of each arm in a context, in the units of rewards, with costs negated."""
        labels = self._among(available)
        seen = self._look(self._read(context, "select"), labels)
        noise, total = find_noise(seen), information(seen)
        arms = range(len(labels))
        return {labels[arm]: index_at(seen, arm, noise, level(seen, arm, total)) for arm in arms}

    def predict(self, context: Context) -> dict[Hashable, float]:
        """The mean reward of each arm in a context, as its estimator predicts it."""
        numbers, sign = self._read(context, "predict"), self._sign
        return {label: sign * self._predicted(label, numbers)[0] for label in self.arms}

    def _look(self, numbers: Floats, labels: Sequence[Hashable]) -> Any:
        """Parts of the index: spread over noise is leverage."""
        pulls = [self._of[label].n for label in labels]
        seen: Any = SeenArms(
            pulls, [self._squares[label] for label in labels], [1.0] * len(labels), [0.0] * len(labels)
        )
        noise = find_noise(seen)
        for arm, label in enumerate(labels):
            seen.fits[arm], spread = self._predicted(label, numbers)
            s = deviation(seen, arm, noise)
            seen.leverages[arm] = max(spread / (s * s), 1.0 / (pulls[arm] + PRIOR_REWARDS))
        return seen

    def _predicted(self, label: Hashable, numbers: Floats) -> tuple[float, float]:
        """Prediction and spread; without rewards the mean of all."""
        if self._of[label].n == 0:
            return (self._sum / self.n_rewards if self.n_rewards else 0.0), 0.0
        return self._of[label].predict(numbers)

    # -- learning --------------------------------------------------------------------------------------------------

    def update(self, arm: Any, reward: Rewards, *, context: Context | Sequence[Context] | None = None) -> None:
        """Learn the reward of an arm in a context, or equally long sequences of the three."""
        owner = f"{type(self).__name__}.update"
        if has_axes(reward):
            rule = "a sequence with an arm, a reward and a context for each"
            if not is_several(arm) or not has_axes(context) or not len(arm) == len(reward) == len(context):
                raise requirement("context", owner, rule, brief(context))
            several: list[tuple[Any, Any, Any]] = list(zip(arm, reward, context, strict=True))
        else:
            several = [(arm, reward, context)]
        checked = [(self._known(a, owner), self._value(r, owner), self._read(x, "update")) for a, r, x in several]
        for label, value, numbers in checked:
            self._learn(label, value, numbers)

    def _learn(self, label: Hashable, value: float, numbers: Floats) -> None:
        if self.n_rewards > 0:  # the first reward is its own prediction
            seen = self._look(numbers, [label])
            self._squares[label] += (value - seen.fits[0]) ** 2 / (1.0 + seen.leverages[0])
        self._of[label].add(numbers, value, self.n_rewards)
        self.n_rewards += 1
        self._sum += value

    @property
    def _sign(self) -> float:
        return 1.0 if self.direction == "max" else -1.0

    def _value(self, reward: object, owner: str) -> float:
        value = check_number(float(reward) if isinstance(reward, bool | np.bool_) else reward, "reward", owner)
        if abs(value) > LARGEST_REWARD:
            raise requirement("reward", owner, f"no larger than {LARGEST_REWARD:g} in size", value)
        if hasattr(self.estimator, "predict_proba"):
            if value not in (0.0, 1.0):
                raise requirement("reward", owner, "0 or 1 with a classifier", value)
            return value if self.direction == "max" else 1.0 - value
        return self._sign * value

    def _read(self, context: object, method: str) -> Floats:
        """The numbers of a context."""
        owner = f"{type(self).__name__}.{method}"
        if not self.arms:
            raise requirement("arms", type(self).__name__, f"given to call {method}()", "none")
        if context is None:
            raise requirement("context", owner, "given: the features known when the decision is made", "none")
        if self.schema is not None:
            return self.schema.encode(context, "context", owner)
        if self.dimension is None and has_axes(context):
            self.dimension = len(context)
        return read_features(context, self.dimension or 0, "context", owner)

    def _weights_of(self, number: int) -> Floats:
        """The weights of an observation in all replicates."""
        rng = np.random.default_rng([self._seed, number])
        if self.weighting == "poisson":
            return rng.poisson(1.0, self.replicates).astype(np.float64)
        return rng.exponential(1.0, self.replicates)

    # -- arms ------------------------------------------------------------------------------------------------------

    def add_arm(self, label: Hashable) -> None:
        """Add an arm without rewards."""
        if label in self._of:
            raise requirement("label", f"{type(self).__name__}.add_arm", "one that no arm has had", brief(label))
        self._of[label] = Replicates(lambda: copy.deepcopy(self.estimator), self._weights_of, self._every)
        self._squares[label], self._order[label] = 0.0, float(self.rng.random())
        self.arms += (label,)

    def retire(self, label: Hashable) -> None:
        """Stop selecting an arm for good; its rewards still count."""
        self._known(label, f"{type(self).__name__}.retire")
        if len(self.arms) - len({*self.retired, label}) < 1:
            raise requirement("label", f"{type(self).__name__}.retire", "not the last arm", brief(label))
        self.retired = (*self.retired, label)

    def _known(self, label: Any, owner: str) -> Hashable:
        if not isinstance(label, Hashable) or label not in self._of:
            raise requirement("arm", owner, f"one of {brief(list(self.arms))}", brief(label))
        return label

    def _among(self, available: object) -> list[Hashable]:
        owner = f"{type(self).__name__}.select"
        active = [label for label in self.arms if label not in self.retired]
        if available is None:
            if not self.arms:
                raise requirement("arms", type(self).__name__, "given to call select()", "none")
            return active
        if not isinstance(available, Sequence | set | frozenset) or isinstance(available, str) or not available:
            raise requirement("available", owner, "a non-empty collection of labels of arms", brief(available))
        if any(label not in active for label in available):
            raise requirement("available", owner, f"made of labels out of {brief(active)}", brief(available))
        return [label for label in active if label in available]

    # -- what it cannot --------------------------------------------------------------------------------------------

    def save(self, path: object = None) -> NoReturn:
        """Refuse to save: estimators can be stored only by pickle."""
        raise InvalidInput(
            f"{type(self).__name__} cannot be saved: its estimators would need pickle, which runs code when it is read. "
            "Keep the rewards with their contexts, and learn them again."
        )

    to_dict = save

    def copy(self) -> Self:
        """An independent copy in this process."""
        return copy.deepcopy(self)


def read_refit(refit: object, owner: str) -> int | None:
    """After how many rewards estimators are fitted anew; ``None`` for ``"partial"``."""
    if refit == "partial":
        return None
    match = re.fullmatch(r"every=([1-9]\d{0,8})", refit) if isinstance(refit, str) else None
    if match is None:
        raise requirement("refit", owner, "'partial', or 'every=' and a number such as 'every=100'", brief(refit))
    return int(match[1])

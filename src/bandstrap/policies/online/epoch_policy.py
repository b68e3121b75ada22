"""Base of policies that can remove a common change of all arms, or forget."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import brief, check_count, check_number, requirement
from bandstrap.policies.kernels import epoch_moments
from bandstrap.policies.kernels.epochs import ArmSums, Params, with_epochs
from bandstrap.policies.online.journal import ChangedRows
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.epochs import ALWAYS, NEVER, TESTED, EpochSettings
from bandstrap.policies.states.fields import PolicyState, declared_leaves

# When epochs are swept: always, never, or if a test finds that the level of all rewards changes.
WhenSwept = bool | Literal["auto"]


class EpochOptions(Online[Label], total=False):
    """Options of such policies beside their own parameters; see :class:`EpochPolicy`."""

    epochs: WhenSwept
    epoch_length: int
    discount: float


class KernelOfEpochs:
    """The kernel of a policy: a plain one, and one made of it for objects with epochs, by default by sums of moments."""

    def __init__(self, plain: Kernel, sums: ArmSums = epoch_moments.SUMS) -> None:
        self._plain, self._sums = plain, sums

    def __get__(self, policy: EpochPolicy[Any] | None, cls: type) -> Kernel:
        if policy is None or not policy.has_epochs:
            return self._plain
        return with_epochs(self._plain, self._sums)


class EpochPolicy(Policy[Label]):
    """A policy that can remove a common change of all arms, or forget old rewards.

    Parameters
    ----------
    epochs
        For rewards whose common level changes, such as purchases in a market that moves. Rewards are divided into epochs,
        and arms are compared only within epochs, by least squares with one effect per epoch. So a change of level is not
        mistaken for a difference between arms whose shares changed at the same time. ``True`` always does so, which costs
        regret if nothing changes; ``"auto"`` does so only while a test finds that the level changes. Off by default.
    epoch_length
        Rewards in an epoch, in the order in which they are learned. The level should change little within an epoch, and
        most epochs should contain at least two arms.
    discount
        Discount factor for arms whose order changes: at the end of each epoch the weight of all past rewards is multiplied
        by it. 1 (default) or less. About ``1/(1 - discount)`` epochs are remembered. It costs regret if nothing changes.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.
    """

    online_only: ClassVar[tuple[str, ...]] = Policy.online_only
    # Until it is known, while an object is made.
    has_epochs: bool = False

    def __init__(
        self,
        *,
        epochs: WhenSwept = False,
        epoch_length: int = 100,
        discount: float = 1.0,
        **online: Unpack[Online[Label]],
    ) -> None:
        owner = type(self).__name__
        if not (isinstance(epochs, bool | np.bool_) or (isinstance(epochs, str) and epochs == "auto")):
            raise requirement("epochs", owner, "true, false or 'auto'", brief(epochs))
        self.epochs: WhenSwept = epochs if isinstance(epochs, str) else bool(epochs)
        self.epoch_length = check_count(epoch_length, "epoch_length", owner, at_least=2)
        self.discount = check_number(discount, "discount", owner, above=0)
        if self.discount > 1:
            raise requirement("discount", owner, "a number above 0 and at most 1", self.discount)
        self.has_epochs = self.epochs is not False or self.discount < 1
        super().__init__(**online)

    @property
    def epoch_settings(self) -> EpochSettings:
        rule = TESTED if self.epochs == "auto" else ALWAYS if self.epochs else NEVER
        return EpochSettings(rule, self.epoch_length, self.discount)

    def with_epochs(self, params: Any) -> Any:
        """Parameters of the kernel, from those of the plain one."""
        if not self.has_epochs:
            return params
        return Params(params, self.epoch_settings, float(self.n_initial))

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> PolicyState:
        """State before the first reward: moments, and those of epochs if there are any."""
        if self.has_epochs:
            return epoch_moments.no_rewards(n_arms, order)
        return super().make_state(n_arms, capacity, order)

    def _long_fields(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """The same; and which of them every reward may change for all arms."""
        found = super()._long_fields()
        state = self.make_state(1, 1, np.arange(1))
        self._of_all = {name for name, field, _ in declared_leaves(state) if field.learned == "all"}
        return found

    def _rows_of(self, state: PolicyState, *counts: Any) -> ChangedRows:
        """Entries of the state that an update of one arm changes; the rest is saved whole."""
        if not self.has_epochs:
            return super()._rows_of(state, *counts)
        turns, told, means = counts or (self._turns, self._counts, self._means)
        places = ([name for name in names if name not in self._of_all] for names in (self._by_arm, self._across))
        rows = ChangedRows(state, *places)
        rows.numbers += [turns.waiting, told, means]
        return rows

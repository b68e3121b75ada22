"""Live part of a policy of arms or actions: its generator, its lock, its journal, its machine code."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from bandstrap.basics.seeds import make_generator
from bandstrap.engine.compiler.machine import Machine
from bandstrap.errors import brief, requirement
from bandstrap.policies.online.described import Described, Randomness
from bandstrap.policies.online.journal import (
    ChangedRows,
    OwnLock,
    Undo,
    put_back_whole,
    refuse_inside_update,
    uses_generator,
)
from bandstrap.policies.states.fields import StateTuple


class LivePolicy(Described):
    """A policy that decides and learns, one call at a time; updates happen completely or not at all (``journal.py``)."""

    # Attributes that an update may give another value.
    changing: ClassVar[tuple[str, ...]]
    # Methods that change something that is written down before.
    steps: ClassVar[tuple[str, ...]] = ("_take_in",)
    _params: object
    _state: StateTuple | None
    _rows: ChangedRows

    def _go_live(self, rng: Randomness, compiled: bool) -> None:
        """Be ready for decisions and rewards."""
        self.rng = make_generator(rng, type(self).__name__, "rng")
        self.n_rewards = 0
        self._lock = OwnLock()
        self._undo: Undo | None = None
        self._machine = Machine(self.plays, self.name) if compiled else None

    def _check_compiled(self, compiled: object) -> bool:
        """Return whether steps are to be compiled: a plain truth value, because no command line or file has a word
        for it.
        """
        if not isinstance(compiled, bool):
            raise requirement("compiled", type(self).__name__, "True or False", brief(compiled))
        return compiled

    def copy(self) -> Self:
        """An independent copy that continues exactly as this policy would; labels of arms are shared, not copied."""
        if not hasattr(self, "_lock"):  # a description
            return copy.deepcopy(self)
        with self._lock:
            self._settle()
            return copy.deepcopy(self, {id(label): label for label in self.arms})

    def to_dict(self) -> dict[str, Any]:
        """The complete state of the policy, as a dictionary for JSON.

        It contains class, settings, direction, arms or the number of features, counts, state and generator. A policy
        restored by :meth:`from_dict` continues exactly as this policy would. Labels of arms must be texts, numbers,
        booleans, ``None``, or tuples of these, and no setting may be a function.
        """
        from bandstrap.policies.saving import saved as saving  # which imports this module

        return saving.to_dict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], *, compiled: bool | None = None) -> Self:
        """Restore a policy from :meth:`to_dict`, of this class or a subclass.

        It runs as machine code if the original did, unless ``compiled`` says otherwise. Input that is not of the form of
        :meth:`to_dict` is refused. Numbers of the right form are accepted even if no rewards could have led to them: only
        use input that you trust.
        """
        from bandstrap.policies.saving import saved as saving  # which imports this module

        policy: Self = saving.from_dict(cls, saved, compiled)
        return policy

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file, for :func:`bandstrap.load`.

        The file is JSON, see :meth:`to_dict`, with a checksum that shows any damage. It is written to a temporary file,
        flushed to the disk, and renamed, so an existing file is replaced completely or not at all.
        """
        from bandstrap.policies.saving import saved as saving  # which imports this module

        saving.save(self, path)

    def draws_in_update(self) -> bool:
        """Return whether learning a reward draws random numbers."""
        return uses_generator(self.kernel.learn)

    def _settle(self) -> None:
        """Take back an update that was interrupted, and whose taking back was interrupted as well."""
        if self._undo is not None:
            refuse_inside_update([getattr(type(self), step).__code__ for step in self.steps], self)
            self._take_back()

    def _take_back(self) -> None:
        """Make everything as it was before the update under way, if there is one."""
        if self._undo is None:
            return
        attributes, drawn, whole, rows_of_arms = self._undo
        for name, value in zip(self.changing, attributes, strict=True):
            setattr(self, name, value)
        for values, content in whole:
            put_back_whole(values, content)
        for arm, rows in rows_of_arms.items():
            self._rows.put_back(arm, rows)
        if drawn is not None:
            self.rng.bit_generator.state = drawn
        self._undo = None

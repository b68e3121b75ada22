"""State and parameters of a live policy, held for compiled code as one pointer; importing this module imports numba.

Every call of compiled code takes its arguments apart. For the parameters, the arrays and the generator of a policy this
takes longer than a decision: 12 us for bootstrapped UCB. So they are taken apart once, and what comes of it is kept. The
arrays stay where they are, and those of Python are the same.
"""

from __future__ import annotations

from typing import Any

from numba.experimental import structref
from numba.types import StructRef, unliteral


@structref.register
class HeldType(StructRef):
    """The type of :class:`Held` for compiled code, which depends on those of its parts."""

    def preprocess_fields(self, fields: Any) -> Any:
        """The values of numbers are no part of it."""
        return tuple((name, unliteral(kind)) for name, kind in fields)

    @property
    def key(self) -> Any:
        """Identity of the type: the types of its parts, because two classes of states may have one name."""
        return type(self), tuple(self.field_dict.items())


class Held(structref.StructRefProxy):
    """The pointer, and who counts those that have it."""

    __slots__ = ()


structref.define_proxy(Held, HeldType, ["params", "state", "rng", "at"])


def hold(params: Any, state: Any, rng: Any, at: Any) -> Any:
    """Take parameters, state, generator and the place of the kernel apart; to be compiled."""
    return Held(params, state, rng, at)

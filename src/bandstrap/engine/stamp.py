"""What numba must be told: the type of a kernel; importing this module imports numba.

The class must live at module level: numba pickles the types of a cached signature, and a class defined in a function
would come back as another class, which never equals the one in use, so that the cache would never hit.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import NativeValue, models, overload, register_model, typeof_impl, unbox

from bandstrap.engine import play
from bandstrap.engine.kernel import Kernel

# Kernels that numba has met, by digest: how a type finds its functions.
_kernels: dict[str, Kernel] = {}


class KernelType(types.Type):
    """Type of one policy's kernel, named after the policy and the identity of its functions."""

    def __init__(self, kernel_name: str, digest: str) -> None:
        self.kernel_name = kernel_name
        self.digest = digest
        super().__init__(name=f"{kernel_name}@{digest}")

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return _kernels[self.digest]


register_model(KernelType)(models.OpaqueModel)


@typeof_impl.register(Kernel)
def typeof_kernel(value: Kernel, context: Any) -> KernelType:
    """Tell numba the type of a kernel."""
    _kernels.setdefault(value.identity.digest, value)
    return KernelType(value.name, value.identity.digest)


@unbox(KernelType)
def unbox_kernel(kind: KernelType, value: Any, context: Any) -> Any:
    """Pass a kernel into compiled code: it carries nothing."""
    return NativeValue(context.context.get_dummy_value())


@overload(play.learn, strict=False, inline="always")  # annotations may differ
def overload_learn(kernel: Any, params: Any, state: Any, arm: Any, reward: Any, round_: Any, rng: Any) -> Any:
    """Compile a call of the kernel's ``learn``."""
    leaf = kernel.kernel.learn

    return lambda kernel, params, state, arm, reward, round_, rng: leaf(params, state, arm, reward, round_, rng)


@overload(play.select, strict=False, inline="always")  # annotations may differ
def overload_select(kernel: Any, params: Any, state: Any, round_: Any, rng: Any) -> Any:
    """Compile the kernel's own choice, or the highest score."""
    chooser = kernel.kernel.choose
    if chooser is None:
        highest_score = play.highest_score
        return lambda kernel, params, state, round_, rng: highest_score(kernel, params, state, round_, rng)

    return lambda kernel, params, state, round_, rng: chooser(params, state, round_, rng)


@overload(play.select_action, strict=False, inline="always")  # annotations may differ
def overload_select_action(kernel: Any, params: Any, state: Any, actions: Any, round_: Any, rng: Any) -> Any:
    """Compile a linear kernel's choice."""
    chooser: Any = kernel.kernel.choose
    return lambda kernel, params, state, actions, round_, rng: chooser(params, state, actions, round_, rng)


@overload(play.prepare, strict=False, inline="always")  # annotations may differ
def overload_prepare(kernel: Any, params: Any, state: Any, round_: Any) -> Any:
    """Compile a call of the kernel's ``prepare``."""
    leaf: Any = kernel.kernel.prepare
    return lambda kernel, params, state, round_: leaf(params, state, round_)


@overload(play.score, strict=False, inline="always")  # annotations may differ
def overload_score(kernel: Any, params: Any, state: Any, arm: Any, shared: Any, rng: Any) -> Any:
    """Compile a call of the kernel's ``score``."""
    leaf: Any = kernel.kernel.score
    return lambda kernel, params, state, arm, shared, rng: leaf(params, state, arm, shared, rng)

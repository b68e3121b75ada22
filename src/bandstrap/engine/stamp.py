"""The numba type of the :data:`~bandstrap.engine.kernel.SOURCES` stamp; importing this module imports numba.

The class must live at module level: numba pickles the types of a cached signature, and a class defined in a function
would come back as another class, which never equals the one in use, so that the cache would never hit.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from bandstrap.engine.kernel import Sources, source_digest


class SourcesType(types.Type):
    """Type of the stamp, named after the digest of the package's sources."""

    def __init__(self) -> None:
        super().__init__(name=f"bandstrap@{source_digest()}")


register_model(SourcesType)(models.OpaqueModel)


@typeof_impl.register(Sources)
def typeof_sources(value: Sources, context: Any) -> SourcesType:
    """Tell numba the type of a stamp."""
    return SourcesType()


@unbox(SourcesType)
def unbox_sources(kind: SourcesType, value: Any, context: Any) -> Any:
    """Pass a stamp into compiled code: it carries nothing."""
    return NativeValue(context.context.get_dummy_value())

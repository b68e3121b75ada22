"""The forms of the second-order correction, by name; :func:`bandstrap.bounds.bootstrap` says what they are."""

from __future__ import annotations

from typing import Literal, get_args

Correction = Literal["practical", "theorem", "stated", "sharp", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
# The forms that theorem 1 proves.
PROVED: tuple[Correction, ...] = ("theorem", "sharp")

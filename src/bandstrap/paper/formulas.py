"""One spelling of formulas: texts of claims, figures and errata as the report and the pictures show them.

Sources spell formulas as a keyboard does, ``sqrt(log(1/alpha)/n)``, or with symbols, ``√(log(1/α)/n)``. A reader sees
symbols: Greek letters, roots, norms; and in the report subscripts and superscripts.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

    from bandstrap.experiments.panels import PanelData

GREEK = dict(
    zip(
        ("alpha", "beta", "gamma", "delta", "lambda", "mu", "sigma", "tau", "theta", "phi", "psi"),
        "αβγδλμστθφψ",
        strict=True,
    )
)
# Whole words, indices allowed (mu_1); neither names of parameters (theta_bound, beta=2) nor parts of names (beta-ts).
GREEK_WORD = re.compile(rf"(?<![a-zA-Z0-9.-])(?<![a-zA-Z]{{2}}_)({'|'.join(GREEK)})(?![a-zA-Z0-9(=-]|_[a-zA-Z]{{2}})")
# In this order.
SYMBOLS: tuple[tuple[str, str], ...] = (
    (r"(?<=[\dα-ω])(?<![_^][\dα-ω]) (?=[α-ω])", ""),
    (r"(?<=\d) ?%", "\u00a0%"),
    (r"\bfloor\((\w) (\w)\)", r"⌊\1\2⌋"),
    (r"\bybar\b", "ȳ"),
    (r"\|\|", "‖"),
    (r"<=", "≤"),
    (r">=", "≥"),
    (r"\+-", "±"),
    (r"(?<=_)inf\b", "∞"),
    (r"\bsqrt\((\w)\)", r"√\1"),
    (r"\bsqrt\(", "√("),
    # A minus between operands, or before one; a hyphen joins words.
    (r"(?<=[\w)\]]) - (?=[\w(√])", " − "),
    (r"(?:(?<=[\s(\[{^/])(?<!=\()|^)-(?=[\d.]|\w\b)", "−"),
)
# A computer's power of ten; what stays together at the end of a line: both sides of a relation, a name and its number.
SCIENTIFIC = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d{1,3})\b")
NUMBERED = r"figures?|footnotes?|sections?|theorems?|lemmas?|remarks?|supplements?|equations?|eq\.|gap"
TOGETHER: tuple[tuple[str, str], ...] = (
    (r" ([=<>≤≥±≈]) (?=\S)", "\u00a0\\1\u00a0"),
    (rf"(?i)\b({NUMBERED}) (?=\d|[A-F]\b|\()", "\\1\u00a0"),
)
UP, RAISED = "−+0123456789niT", "⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹ⁿⁱᵀ"
DOWN, LOWERED = "+0123456789", "₊₀₁₂₃₄₅₆₇₈₉"
NUMBER = r"[−-]?\d+(?:\.\d+)?"
# Braces or brackets, one pair of braces inside allowed.
GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
# After a letter alone, with its accent, or after a norm; letters of names and options of calls are none.
BASE = r"(?<![A-Za-z_])(?:max|argmin|UCB|[^\W\d_])[\u0300-\u036f]?|[Α-ω]|‖|\)"
SUBSCRIPT = re.compile(rf"({BASE})_(?:{GROUP}|((?:[A-Za-z0-9α-ω]{{1,2}}|∞)\*?)(?![A-Za-z0-9_=α-ω]))")
# Parentheses, two pairs of them inside allowed.
BRACKETED = r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
SUPERSCRIPT = re.compile(rf"\^(?:{GROUP}|{BRACKETED}|({NUMBER}|[−-]?[^\W\d_]\b\*?))")


def in_symbols(text: str) -> str:
    r"""A text with symbols in place of their names, for pictures.

    >>> in_symbols("level 2/T^2, beta = 1/2, sqrt(n) >= ||a||_inf")
    'level 2/T², β\xa0=\xa01/2, √n\xa0≥\xa0‖a‖_∞'
    """
    raised = str.maketrans(UP, RAISED)
    return re.sub(rf"\^({NUMBER}|n\b)", lambda found: found[1].replace("-", "−").translate(raised), with_symbols(text))


def with_symbols(text: str) -> str:
    """A text with symbols in place of their names, but for what is raised or lowered; lines do not end in formulas."""
    text = GREEK_WORD.sub(lambda found: GREEK[found[1]], text)
    text = SCIENTIFIC.sub(lambda found: f"{found[1]}·10^{int(found[2])}".removeprefix("1·"), text)
    for pattern, symbol in (*SYMBOLS, *TOGETHER):
        text = re.sub(pattern, symbol, text)
    return text


def typeset(text: str) -> Markup:
    """A text as HTML, its formulas with symbols, subscripts and superscripts; what is between backticks is code.

    >>> print(typeset("q_alpha is at most n^(1/4) & ||a||_beta* for a_1, sub_weibull(beta=2)"))
    q<sub>α</sub> is at most n<sup>1/4</sup> &amp; ‖a‖<sub>β*</sub> for a<sub>1</sub>, sub_weibull(beta=2)
    """
    from markupsafe import Markup, escape

    from bandstrap.basics.text import visible

    shown = visible(str(text), keep="\n\t")  # what a template lacks is refused by str
    parts = re.split("`([^`]+)`", shown)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else Markup(raised_and_lowered(str(escape(with_symbols(part)))))  # noqa: S704 - escaped
        for i, part in enumerate(parts)
    )


def raised_and_lowered(text: str) -> str:
    """Subscripts and superscripts of escaped text as elements; those inside others stay inside."""
    text = SUBSCRIPT.sub(lambda f: f"{f[1]}<sub>{raised_and_lowered(f[2] or f[3])}</sub>", text)
    text = SUPERSCRIPT.sub(lambda f: f"<sup>{raised_and_lowered(f[1] or f[2] or f[3])}</sup>", text)
    text = re.sub(f"[{RAISED}]+", lambda f: f"<sup>{f[0].translate(str.maketrans(RAISED, UP))}</sup>", text)
    return re.sub(f"[{LOWERED}]+", lambda f: f"<sub>{f[0].translate(str.maketrans(LOWERED, DOWN))}</sub>", text)


def panel_in_symbols(panel: PanelData) -> PanelData:
    """A panel with symbols in its title, its labels and the names of its axes."""
    spec = panel.panel
    curves = tuple(
        dataclasses.replace(one, curve=one.curve.model_copy(update={"label": in_symbols(one.label)}))
        for one in panel.curves
    )
    sweep = spec.sweep and spec.sweep.model_copy(update={"label": in_symbols(spec.sweep.label or spec.sweep.name)})
    texts = {key: in_symbols(getattr(spec, key)) for key in ("title", "axes", "quantity")}
    update = {**texts, "sweep": sweep, "curves": tuple(one.curve for one in curves)}
    return dataclasses.replace(panel, panel=spec.model_copy(update=update), curves=curves)

"""One spelling of formulas: keyboards' and symbols alike become symbols, and names of code stay what they are."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bandstrap.experiments import read_experiment
from bandstrap.paper.claims import CLAIMS
from bandstrap.paper.formulas import GREEK, in_symbols, typeset
from bandstrap.paper.reproduce import CHAPTERS, errata, paper_file
from bandstrap.paper.sentences import read_sentences
from sampling import each


@each(
    ("written", "symbols", "html"),
    [
        ("sqrt(log(1/alpha)/n)", "√(log(1/α)/n)", "√(log(1/α)/n)"),
        ("phi/sqrt(n)", "φ/√n", "φ/√n"),
        ("level 2/T^2", "level 2/T²", "level 2/T<sup>2</sup>"),
        ("2 alpha, 2α", "2α, 2α", "2α, 2α"),
        ("||a||_inf <= ||a||_beta*", "‖a‖_∞\xa0≤\xa0‖a‖_β*", "‖a‖<sub>∞</sub>\xa0≤\xa0‖a‖<sub>β*</sub>"),
        ("(1 - mu_1) mu_2 (T - 2)", "(1 − μ_1) μ_2 (T − 2)", "(1 − μ<sub>1</sub>) μ<sub>2</sub> (T − 2)"),
        ("(log T)^(1/beta)", "(log T)^(1/β)", "(log T)<sup>1/β</sup>"),
        ("(1 + x)^(−(n−1)/2)", None, "(1 + x)<sup>−(n−1)/2</sup>"),
        ("T^(1 − c log(1/(1 − p)))", None, "T<sup>1 − c log(1/(1 − p))</sup>"),
        ("1/(t log^tau t)", "1/(t log^τ t)", "1/(t log<sup>τ</sup> t)"),
        ("n⁻¹ Σ w_i, ‖a‖₂", "n⁻¹ Σ w_i, ‖a‖₂", "n<sup>−1</sup> Σ w<sub>i</sub>, ‖a‖<sub>2</sub>"),
        ("q_{α/2}(y_{b_k} − ȳ_{b_k})", None, "q<sub>α/2</sub>(y<sub>b<sub>k</sub></sub> − ȳ<sub>b<sub>k</sub></sub>)"),
        ("‖x‖_{V_t^{-1}}", None, "‖x‖<sub>V<sub>t</sub><sup>−1</sup></sub>"),
        ("X_tᵀX_t", None, "X<sub>t</sub><sup>T</sup>X<sub>t</sub>"),
        ("Σ w_i² ≤ max_i(4C_β)", None, "Σ w<sub>i</sub><sup>2</sup>\xa0≤\xa0max<sub>i</sub>(4C<sub>β</sub>)"),
        ("exp(-n^2) < 1", "exp(−n²)\xa0<\xa01", "exp(−n<sup>2</sup>)\xa0&lt;\xa01"),
        ("log(2/(alpha delta)), C_β σ", "log(2/(αδ)), C_β σ", "log(2/(αδ)), C<sub>β</sub> σ"),
        ("floor(B alpha) ybar", "⌊Bα⌋ ȳ", "⌊Bα⌋ ȳ"),
        ("UCB_k(t), vμ_k, ΣΔ_k", None, "UCB<sub>k</sub>(t), vμ<sub>k</sub>, ΣΔ<sub>k</sub>"),
        ("argmin_{x ∈ D_t}", None, "argmin<sub>x ∈ D<sub>t</sub></sub>"),
        # Powers of ten as a computer writes them, and per cent with and without a space.
        (
            "3.7e-19, 1e100, 2e-05",
            "3.7·10⁻¹⁹, 10¹⁰⁰, 2·10⁻⁵",
            "3.7·10<sup>−19</sup>, 10<sup>100</sup>, 2·10<sup>−5</sup>",
        ),
        ("model e5, x2e3", "model e5, x2e3", "model e5, x2e3"),
        ("12% of 5 %", "12\xa0% of 5\xa0%", "12\xa0% of 5\xa0%"),
        # What belongs together stays on one line.
        ("n = 5, 1.0 ± 0.1", "n\xa0=\xa05, 1.0\xa0±\xa00.1", "n\xa0=\xa05, 1.0\xa0±\xa00.1"),
        ("Figure 2 (a), eq. (D.1)", "Figure\xa02 (a), eq.\xa0(D.1)", "Figure\xa02 (a), eq.\xa0(D.1)"),
        ("`alpha=1/T^2`, beta `", None, "<code>alpha=1/T^2</code>, β `"),
        ("like T^0.88, above T^0.5", None, "like T<sup>0.88</sup>, above T<sup>0.5</sup>"),
        # Neither words nor code are formulas.
        (
            "Beta bandits, beta-ts, sub-Gaussian",
            "Beta bandits, beta-ts, sub-Gaussian",
            "Beta bandits, beta-ts, sub-Gaussian",
        ),
        ("sub_weibull(beta=2), theta_bound, n_arms=2", None, "sub_weibull(beta=2), theta_bound, n_arms=2"),
        ("support=(-1,1)", "support=(-1,1)", "support=(-1,1)"),
        ("<b>&</b>", "<b>&</b>", "&lt;b&gt;&amp;&lt;/b&gt;"),
        ("", "", ""),
    ],
)
def test_formulas(written, symbols, html):
    assert str(typeset(written)) == html
    if symbols is not None:
        assert in_symbols(written) == symbols


def texts():
    for claim in CLAIMS:
        yield claim.says
    for item in errata():
        yield from (item["printed"], item["reading"], re.sub("`[^`]*`", "", item["code"]))
    for sentence in read_sentences():
        yield from (sentence.says, sentence.reason)
    for name in CHAPTERS:
        experiment = read_experiment(Path(paper_file(f"{name}.toml")))
        yield from (experiment.title, *experiment.readings)
        for panel in experiment.panels:
            yield from (panel.title, panel.axes, panel.quantity, *(curve.label for curve in panel.curves))


def test_no_formula_of_the_paper_keeps_the_spelling_of_a_keyboard():
    code = re.compile(r"[\w.]+\([^()]*=[^()]*\)|\S*\w=\S+|\w{2,}_\w+(_\w+)*")
    for text in texts():
        shown = re.sub("<[^>]*>", "", str(typeset(code.sub("", text))))
        assert not re.search(rf"\b({'|'.join(GREEK)}|sqrt)\b|<=|>=|\|\||\^|\w_\w", shown), text


@given(st.text())
def test_any_text_is_escaped_and_elements_are_balanced(text):
    html = str(typeset(text))
    assert not re.search(r"<(?!/?(su[bp]|code)>)", html)
    for element in ("sub", "sup", "code"):
        assert html.count(f"<{element}>") == html.count(f"</{element}>")
    in_symbols(text)

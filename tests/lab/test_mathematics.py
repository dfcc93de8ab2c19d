"""A formula in LaTeX becomes Unicode text for a terminal and MathML for the page."""

from xml.etree import ElementTree

import pytest

from lemmata.lab.mathematics import plain
from lemmata.lab.page.formulas import show

SAID = {
    r"\alpha_*^{-2} \propto N_{50}": "α_*⁻² ∝ N₅₀",
    r"T=\Theta(\eta^{-3/5}\alpha_*^{-1})": "T = Θ(η^(-3/5) α_*⁻¹)",
    r"-1\le -x - y": "-1 ≤ -x - y",
    r"\frac{a+b}{2c}x": "(a + b)/(2c) x",
    r"\left|\frac{1}{B}\sum_i y_i\right| \ge \sqrt{\log B/B}": "|1/B Σᵢyᵢ| ≥ √(log B/B)",
    r"\lVert W_{O,i}\rVert^2 \le C_1^*": "‖W_(O,i)‖² ≤ C₁*",
    r"\sum_{l\in\mathcal{S}_*}a_l\to 1-\eta^C": "Σ_(l∈𝒮_*) aₗ → 1 - η^C",
    r"\mathrm{err}_{\text{trained}} < \mathrm{err}_{\text{frozen}}": "err_trained < err_frozen",
    r"\text{share of runs} \ge 0.95": "share of runs ≥ 0.95",
    r"\widetilde{O}(\epsilon^{-1}),\ \hat{x}'": "Õ(ε⁻¹), x̂′",
    r"2\log t + \lambda_{\min}(H^{\top})": "2 log t + λ_min(Hᵀ)",
    r"c'(1-\zeta)": "c′(1 - ζ)",
    r"e^{u_\mu}-\frac13\log\frac{a}{b}": "e^(u_μ) - 1/3 log(a/b)",
    r"\sum_{i\notin\mathrm{step}\,k}s_i": "Σ_(i∉step k) sᵢ",
    r"\mathrm{tr}F = x^12": "tr F = x¹2",
    r"\{x_1, x_{k+1}\}": "{x₁, xₖ₊₁}",
    "T ∝ η^-1": "T ∝ η^-1",
    "": "",
}  # fmt: skip


@pytest.mark.parametrize("latex", SAID)
def test_a_terminal_shows_a_formula_as_unicode_text(latex: str) -> None:
    assert plain(latex) == SAID[latex]


@pytest.mark.parametrize("latex", ["{", "}", "\\", "x^", r"\frac{a}", r"\text{", r"\sqrt", "_{_}", r"\nosuch{x}"])
def test_what_is_no_latex_is_shown_and_never_raises(latex: str) -> None:
    assert isinstance(plain(latex), str)
    assert show(latex, whole=True)


@pytest.mark.parametrize("latex", [latex for latex in SAID if latex and latex.isascii()])
def test_a_page_shows_a_formula_as_mathml(latex: str) -> None:
    assert ElementTree.fromstring(show(latex, whole=True)).tag.endswith("math")


@pytest.mark.parametrize("latex", [r"\nosuch x", "{", "x^", "T ∝ η^-1"])
def test_what_cannot_be_converted_stands_as_escaped_code(latex: str) -> None:
    element = ElementTree.fromstring(show(latex, whole=True))
    assert (element.tag, element.text, len(element)) == ("code", latex, 0)


def test_a_page_needs_no_escaping_of_signs() -> None:
    text = "".join(ElementTree.fromstring(show(r"x < y > z \& w & v", whole=True)).itertext())
    assert text == "x<y>z&w&v"


def test_no_formula_is_nothing() -> None:
    assert show("  ") == ""


def test_functions_stand_apart_and_bars_close() -> None:
    assert show(r"2\log B", whole=True).count("<mspace") == 2
    assert show(r"\log(B)", whole=True).count("<mspace") == 0
    assert show(r"\log_2B", whole=True).count("<mspace") == 0
    assert show(r"\frac{\ln n}{m}", whole=True).count("<mspace") == 1
    assert show("|x|", whole=True).count('lspace="0" rspace="0"') == 2
    assert '<mo lspace="0" rspace="0.25em">:</mo>' in show(r"\{i: x\}", whole=True)
    assert "<mo>∖</mo>" in show(r"A\setminus B", whole=True)


def test_primes_are_not_made_smaller() -> None:
    assert "msup" not in show("x'", whole=True)
    assert [child.tag for child in ElementTree.fromstring(show("x_1'", whole=True))[0][0]] == ["msub", "mo"]
    assert "".join(ElementTree.fromstring(show(r"\frac{1}{\alpha'_2}", whole=True)).itertext()) == "1α2′"

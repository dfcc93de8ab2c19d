"""Formulas on the page: LaTeX becomes MathML that holds no tag and no attribute but its own."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lemmata.lab.page.formulas import ALLOWED, ATTRIBUTES, NoFormula, convert, prose, show, symbols_of


def parse(formula: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{convert(formula).lines.replace('<wbr>', '')}</div>")


def test_latex_becomes_mathml() -> None:
    found = parse(r"\alpha_*^{-2} \le \frac{1}{N}")
    assert [element.tag for element in found.iter() if element.tag in ("math", "msubsup", "mfrac")] == [
        "math", "msubsup", "math", "mfrac",
    ]  # fmt: skip
    assert "".join(found.itertext()) == "α*−2≤1N"


@pytest.mark.parametrize(("formula", "lines"), [
    (r"f(x = 1, y) = g + h, \quad x \in [0, 1]", ["f(x=1,y)", "=g+h,", "", "x∈[0,1]"]),
    (r"f^2 + 1 \le (1 - x)^2, \quad y = -2 + x", ["f2+1", "≤(1−x)2,", "", "y=−2", "+x"]),
    (r"\Pr(\text{the first of these} \le 1, \text{the second of these} > 2) = 1",
     ["Pr(the first of these", "≤1,", "the second of these", ">2)", "=1"]),
])  # fmt: skip
def test_a_line_ends_before_a_relation_and_inside_brackets_only_where_it_is_long(
    formula: str, lines: list[str]
) -> None:
    pieces = convert(formula).lines.split("<wbr>")
    said = ["".join(ElementTree.fromstring(piece).itertext()) for piece in pieces]
    assert [each.replace("\N{NO-BREAK SPACE}", " ") for each in said] == lines


@pytest.mark.parametrize("formula", [
    "T ∝ η^-1", r"\frac{1}", r"\frac{1", r"\nosuch{x}", "x^", r"{", r"\left( x", r"\begin{matrix} 1",
])  # fmt: skip
def test_what_cannot_be_converted_is_shown_as_text(formula: str) -> None:
    with pytest.raises(NoFormula):
        convert(formula)
    assert str(show(formula)).startswith("<code>")


@pytest.mark.parametrize("formula", [
    r"\text{<script>alert(1)</script>}", r"\href{javascript:alert(1)}{x}", r"\style{background:url(http://a)}{b}",
    r"\class{evil}{x}", r'\color{red" onclick="alert(1)}y', r"a < b & c > d", r"\mathrm{&lt;img src=x onerror=1&gt;}",
    r"\text{&#60;img src=x&#62;}", r"\unicode{<b>}",
])  # fmt: skip
def test_no_text_of_a_formula_becomes_a_tag_or_an_attribute(formula: str) -> None:
    clean(str(show(formula)))


def clean(shown: str) -> None:
    """Nothing but MathML, or text."""
    for element in ElementTree.fromstring(f"<div>{shown.replace('<wbr>', '')}</div>").iter():
        assert element.tag in ALLOWED | {"div", "code"}
        assert set(element.attrib) <= ATTRIBUTES


@given(st.text(alphabet=r"\{}_^&<>\"'=ab1 frtexhls;#()", max_size=30))
def test_whatever_is_written_is_shown_and_does_nothing(formula: str) -> None:
    clean(str(show(formula)))


def test_the_symbols_of_a_formula_are_found_as_settings_spell_them() -> None:
    assert symbols_of(r"\alpha_*^{-2} \eta + M_1 \log N_{50}") == {"α_*", "η", "M_1", "log", "N_50"}
    assert symbols_of("T ∝ η^-1") == frozenset()
    assert symbols_of("") == frozenset()


@pytest.mark.parametrize(("text", "said"), [
    ("α_*^-2 and T_0.", "α<sub>*</sub><sup>−2</sup> and T<sub>0</sub>."),
    ("mηλ_max ≤ 2", "mηλ<sub>max</sub> ≤ 2"),
    ("relevant_fraction, file_1, N_{50}", "relevant_fraction, file_1, N<sub>50</sub>"),
    ("e^{g'} < n^2.", "e<sup>g&#39;</sup> &lt; n<sup>2</sup>."),
    ("‖v‖^(-1/2), eᵀv_2, χ²_k", "‖v‖<sup>−1/2</sup>, eᵀv<sub>2</sub>, χ²<sub>k</sub>"),
    ("below 1e-3", "below 0.001"),
])  # fmt: skip
def test_indices_and_exponents_of_sentences_are_set_as_such(text: str, said: str) -> None:
    assert str(prose(text)) == said

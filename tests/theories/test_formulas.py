"""Every claim of every registered theory has its formula in LaTeX, and it can be read on the page and in a terminal."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from lemmata.lab import registry
from lemmata.lab.claims import Claim
from lemmata.lab.mathematics import plain
from lemmata.lab.page.formulas import show

THEORIES = [card["name"] for card in registry.cards()]


def claims_of(theory: str) -> Iterator[Claim]:
    yield from registry.load(theory).claims.values()


@pytest.mark.parametrize("theory", THEORIES)
def test_every_claim_has_a_formula_in_plain_latex(theory: str) -> None:
    wrong = [claim.name for claim in claims_of(theory) if not claim.formula or not claim.formula.isascii()]
    assert wrong == []
    assert [claim.name for claim in claims_of(theory) if "$" in claim.formula] == []


@pytest.mark.parametrize("theory", THEORIES)
def test_every_formula_becomes_mathml_without_a_command_left(theory: str) -> None:
    for claim in claims_of(theory):
        element = ElementTree.fromstring(show(claim.formula, whole=True))
        assert element.tag == "math", claim.name
        assert "".join(element.itertext()).strip(), claim.name


@pytest.mark.parametrize("theory", THEORIES)
def test_every_formula_reads_as_one_line_of_text_in_a_terminal(theory: str) -> None:
    for claim in claims_of(theory):
        assert re.search(r"\\|\n|\{\}|\(\)|_$|\^$", plain(claim.formula)) is None, claim.name
        assert plain(claim.formula).strip(), claim.name


@pytest.mark.parametrize("theory", THEORIES)
def test_brackets_of_every_formula_are_paired(theory: str) -> None:
    for claim in claims_of(theory):
        bare = claim.formula.replace(r"\{", "").replace(r"\}", "")
        assert bare.count("{") == bare.count("}"), claim.name
        assert claim.formula.count(r"\{") == claim.formula.count(r"\}"), claim.name
        # a half-open interval would be an exception to make here
        assert claim.formula.count("(") == claim.formula.count(")"), claim.name
        assert claim.formula.count("[") == claim.formula.count("]"), claim.name
        assert claim.formula.count(r"\lVert") == claim.formula.count(r"\rVert"), claim.name
        assert claim.formula.count(r"\langle") == claim.formula.count(r"\rangle"), claim.name
        assert claim.formula.count("|") % 2 == 0, claim.name

"""Every theory at the preset smoke: what it costs, and that every claim is judged."""

from __future__ import annotations

import pytest
from smoke import each_theory

PROGRAMS = {
    "exp_regression": 60,
    "graph_transformer": 45,
    "icl": 32,
    "teacher_student": 45,
    "vit": 65,
}
"""Programs that the verification of a theory may compile at smoke: compiling is most of its bill."""
NEW = 50
"""The same for any further theory."""


@pytest.mark.parametrize("name", each_theory())
def test_a_theory_keeps_its_budget_of_programs_and_judges_every_claim(name, smoke):
    found = smoke(name)
    counted = {piece or "(outside pieces)": len(seconds) for piece, seconds in found.count.pieces.items()}
    assert found.count.programs <= PROGRAMS.get(name, NEW), counted
    assert [row.claim for row in found.rows] == list(found.theory.claims)
    assert not [row.claim for row in found.rows if "Error" in row.note]

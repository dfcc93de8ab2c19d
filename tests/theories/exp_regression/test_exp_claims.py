"""The claims register: what is declared, and that all come out as expected in the world of the specification."""

import pytest
from exp_world import (
    ALONE,
    CLAIMS,
    CONTROLS_READ,
    READING,
    REGISTER,
    WORLD,
)

from lemmata.lab.claims import FAILS, HOLDS, examine


def test_the_claims_of_the_theory_are_the_rows_of_the_register():
    assert list(REGISTER) != []
    assert set(CLAIMS) == set(REGISTER)


@pytest.mark.parametrize("name", REGISTER)
def test_a_claim_is_declared_as_the_register_says(name):
    claim = CLAIMS[name]
    kind, reads, expected, controls = REGISTER[name]
    assert claim.kind == kind
    assert claim.expected == expected
    assert set(claim.reads) == reads | CONTROLS_READ.get(name, set())
    assert len(claim.reads) == len(set(claim.reads))
    assert [claim.expected_of(control) for control in claim.controls] == controls
    assert claim.reference
    assert claim.statement.endswith(".")
    assert all(control.case for control in claim.controls)


def test_what_is_printed_wrongly_stands_beside_what_is_right():
    failing = {name for name, row in REGISTER.items() if row[2] == FAILS}
    twins = {
        "q5-entrywise", "q8-first-order", "q8-second-order-sign", "q9-radius", "q11-second-order", "q20-exponential",
        "q20-laurent-massart",
    }  # fmt: skip
    assert failing == twins
    for name in failing:
        assert "as printed" in CLAIMS[name].reference
        corrected = "q8-decomposition-corrected" if name.startswith("q8") else f"{name}-corrected"
        assert REGISTER[corrected][2] == HOLDS
        assert CLAIMS[corrected].source == "corrected"
        assert CLAIMS[corrected].corrects == ("q8-second-order-sign" if name.startswith("q8") else name)


# Claims without data


@pytest.mark.parametrize("seed", [0, 12345])
@pytest.mark.parametrize("name", ALONE)
def test_a_claim_without_data_and_its_controls_come_out_as_expected(name, seed):
    finding = examine(CLAIMS[name], {}, seed)
    assert finding.verdict.outcome == REGISTER[name][2], finding.verdict.note
    assert [verdict.outcome for _, verdict in finding.controls] == REGISTER[name][3]


@pytest.mark.parametrize("name", READING)
def test_in_the_world_of_the_specification_a_claim_and_its_controls_come_out_as_expected(name):
    # no claim looks at an experiment that it does not declare
    finding = examine(CLAIMS[name], {read: WORLD[read] for read in CLAIMS[name].reads})
    assert finding.verdict.outcome == REGISTER[name][2], finding.verdict.note
    for control, verdict in finding.controls:
        assert verdict.outcome == CLAIMS[name].expected_of(control), (control.case, verdict.note)


def test_the_world_has_every_experiment_that_a_claim_reads():
    assert {name for claim in CLAIMS.values() for name in claim.reads} == set(WORLD)

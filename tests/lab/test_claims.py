"""Claims and their controls: a judge that does not look at its evidence is found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Claim, Control, Datasets, NotApplicable, Verdict, examine
from lemmata.lab.intervals import CannotFit
from lemmata.lab.judges import all_of, at_least, at_most, increasing, within

DATA = {
    "sweep": xr.Dataset(
        {
            "trained": (("x", "seed"), [[1.0, 1.1, 0.9], [2.0, 2.1, 1.9], [4.0, 4.1, 3.9]]),
            "frozen": (("x", "seed"), [[1.5, 1.6, 1.4], [1.5, 1.6, 1.4], [1.5, 1.6, 1.4]]),
        },
        coords={"x": [1.0, 2.0, 4.0]},
    )
}


def read(name: str, at: float | None = None, sign: float = 1.0) -> Callable[[Datasets], Any]:
    """Evidence: one variable of the sweep."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        values = sign * datasets["sweep"][name]
        return values if at is None else values.sel(x=at, drop=True)

    return evidence


def refuse(reason: Exception) -> Callable[[Datasets], Any]:
    def evidence(datasets: Datasets) -> Any:
        raise reason

    return evidence


TRUE = Claim(
    name="t1-large",
    reference="Theorem 1",
    kind="bound",
    statement="Trained, the value at 4 is at least 3.",
    judge=at_least(3),
    evidence=read("trained", 4),
    controls=(Control("frozen", read("frozen", 4)), Control("at 1", read("trained", 1))),
    reads=("sweep",),
)
FALSE = Claim(
    name="t2-small",
    reference="Theorem 2",
    kind="bound",
    statement="Trained, the value at 4 is at most 3.",
    judge=at_most(3),
    evidence=read("trained", 4),
    controls=(Control("frozen", read("frozen", 4), HOLDS),),
    reads=("sweep",),
    expected=FAILS,
)


def always(outcome: str) -> Callable[[Any], Verdict]:
    return lambda evidence: Verdict(outcome, ">=", 1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("claim", [TRUE, FALSE], ids=lambda claim: claim.name)
def test_an_honest_judge_is_as_expected_on_claim_and_controls(claim):
    finding = examine(claim, DATA)
    assert finding.verdict.outcome == claim.expected
    assert [verdict.outcome for _, verdict in finding.controls] == [control.expected for control in claim.controls]
    assert finding.as_expected


@pytest.mark.parametrize("claim", [TRUE, FALSE], ids=lambda claim: claim.name)
@pytest.mark.parametrize("outcome", [HOLDS, FAILS, INCONCLUSIVE])
def test_a_judge_that_always_says_the_same_is_caught(claim, outcome):
    assert not examine(replace(claim, judge=always(outcome)), DATA).as_expected


@pytest.mark.parametrize("outcome", [HOLDS, FAILS, INCONCLUSIVE])
def test_a_claim_expected_to_be_undecided_catches_constant_judges_too(outcome):
    claim = replace(
        TRUE,
        judge=at_least(2, fails_if="all"),
        evidence=lambda data: data["sweep"].trained.isel(x=[0, 2]),
        controls=(Control("frozen", read("frozen", 4)),),
        expected=INCONCLUSIVE,
    )
    assert examine(claim, DATA).as_expected
    assert not examine(replace(claim, judge=always(outcome)), DATA).as_expected


def test_a_judge_with_its_sign_turned_is_caught():
    assert not examine(replace(TRUE, judge=at_most(3)), DATA).as_expected
    assert not examine(replace(FALSE, judge=at_least(3)), DATA).as_expected
    rising = replace(
        TRUE, kind="ordering", judge=increasing("x"), evidence=read("trained"),
        controls=(Control("falling", read("trained", sign=-1)),),
    )  # fmt: skip
    assert examine(rising, DATA).as_expected

    def turned(evidence: xr.DataArray) -> Verdict:
        return rising.judge(-evidence)

    assert not examine(replace(rising, judge=turned), DATA).as_expected


def test_a_judge_that_reads_another_data_set_is_caught():
    constant = at_least(3)(DATA["sweep"].trained.sel(x=4))
    assert not examine(replace(TRUE, judge=lambda evidence: constant), DATA).as_expected


@pytest.mark.parametrize("wrong", [HOLDS, INCONCLUSIVE])
def test_a_control_that_comes_out_wrong_is_the_one_reported(wrong):
    evidence = {
        HOLDS: read("trained", 4),
        INCONCLUSIVE: refuse(NotApplicable("not converged")),
    }[wrong]
    controls = (*TRUE.controls, Control("broken", evidence), Control("also fine", read("trained", 2)))
    finding = examine(replace(TRUE, controls=controls), DATA)
    control, verdict = finding.worst_control
    assert (control.case, verdict.outcome) == ("broken", wrong)
    assert finding.verdict.outcome == HOLDS
    assert not finding.as_expected


def test_with_every_control_right_the_first_is_reported():
    control, verdict = examine(TRUE, DATA).worst_control
    assert (control.case, verdict.outcome, verdict.measured) == ("frozen", FAILS, pytest.approx(1.5))


def test_a_wrong_verdict_with_right_controls_is_not_as_expected():
    finding = examine(replace(TRUE, evidence=read("trained", 2)), DATA)
    assert [verdict.outcome for _, verdict in finding.controls] == [FAILS, FAILS]
    assert not finding.as_expected


@pytest.mark.parametrize("reason", [NotApplicable("not converged in 2 seeds"), CannotFit("two points are needed")])
def test_evidence_that_cannot_be_taken_is_inconclusive_with_the_reason(reason):
    finding = examine(replace(TRUE, evidence=refuse(reason)), DATA)
    assert (finding.verdict.outcome, finding.verdict.note) == (INCONCLUSIVE, str(reason))
    assert not finding.as_expected


def test_a_reason_may_come_from_the_judge_as_well():
    def judge(evidence: Any) -> Verdict:
        raise CannotFit("vacuous here")

    finding = examine(replace(TRUE, judge=judge), DATA)
    assert (finding.verdict.outcome, finding.verdict.note) == (INCONCLUSIVE, "vacuous here")


def test_any_other_error_is_not_a_verdict():
    with pytest.raises(ZeroDivisionError):
        examine(replace(TRUE, evidence=refuse(ZeroDivisionError())), DATA)
    with pytest.raises(AssertionError):
        examine(replace(TRUE, judge=always("supported")), DATA)


def test_evidence_that_is_nan_is_inconclusive_in_a_claim_and_in_a_control():
    empty = {"sweep": DATA["sweep"] * np.nan}
    finding = examine(TRUE, empty)
    assert finding.verdict.outcome == INCONCLUSIVE
    assert {verdict.outcome for _, verdict in finding.controls} == {INCONCLUSIVE}
    assert not finding.as_expected


def test_a_combined_claim_is_judged_part_by_part():
    claim = replace(
        TRUE,
        judge=all_of(end=at_least(3), start=within(0.5, 1.5)),
        evidence=lambda data: {"end": read("trained", 4)(data), "start": read("trained", 1)(data)},
        controls=(
            Control("wrong end", lambda data: {"end": read("frozen", 4)(data), "start": read("trained", 1)(data)}),
            Control("wrong start", lambda data: {"end": read("trained", 4)(data), "start": read("trained", 4)(data)}),
        ),
    )
    assert examine(claim, DATA).as_expected


def drawn(datasets: Datasets) -> float:
    """Evidence of its own: one random number."""
    return float(np.random.default_rng(datasets.seed).uniform())


CHANCE = replace(
    TRUE, judge=at_least(0), evidence=drawn, controls=(Control("negative", lambda data: -drawn(data)),), reads=()
)


def test_evidence_draws_from_the_seed_of_the_verification():
    measured = [examine(CHANCE, {}, seed).verdict.measured for seed in (0, 1, 1000)]
    assert measured == [np.random.default_rng(seed).uniform() for seed in (0, 1, 1000)]
    assert examine(CHANCE, {}).verdict.measured == measured[0]


def test_a_control_draws_from_the_same_seed_as_its_claim():
    finding = examine(CHANCE, {}, 7)
    assert finding.verdict.measured is not None
    assert finding.worst_control[1].measured == -finding.verdict.measured


def test_evidence_sees_the_data_sets_beside_the_seed():
    seen = []
    examine(replace(TRUE, evidence=lambda data: seen.append(data) or read("trained", 4)(data)), DATA, 3)
    assert seen[0] == DATA
    assert seen[0].seed == 3
    assert Datasets().seed == 0


@pytest.mark.parametrize(
    "controls",
    [(), (Control("the same again", read("trained", 4), HOLDS),)],
    ids=["none", "none that differs"],
)
def test_a_claim_without_a_control_that_must_differ_is_refused(controls):
    with pytest.raises(AssertionError, match="t1-large has no control that its judge must answer differently"):
        replace(TRUE, controls=controls)


def test_a_claim_of_unknown_kind_or_expectation_is_refused():
    with pytest.raises(AssertionError, match="t1-large: kind law"):
        replace(TRUE, kind="law")
    with pytest.raises(AssertionError):
        replace(TRUE, expected="supported")

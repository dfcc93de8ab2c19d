"""Claims and their controls: a judge that does not look at its evidence is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import xarray as xr

import lemmata as lm
from lemmata.lab.claims import (
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    Claim,
    Control,
    Evidence,
    Gate,
    NotApplicable,
    Verdict,
    examine,
)
from lemmata.lab.errors import UserError
from lemmata.lab.intervals import CannotFit
from lemmata.lab.judges import all_of, at_least, at_most, decreasing, increasing, within

DATA = {
    "sweep": xr.Dataset(
        {
            "trained": (("x", "seed"), [[1.0, 1.1, 0.9], [2.0, 2.1, 1.9], [4.0, 4.1, 3.9]]),
            "frozen": (("x", "seed"), [[1.5, 1.6, 1.4], [1.5, 1.6, 1.4], [1.5, 1.6, 1.4]]),
        },
        coords={"x": [1.0, 2.0, 4.0]},
    )
}


@lm.evidence("sweep")
def read(data: xr.Dataset, name: str = "trained", at: float | None = 4, sign: float = 1.0) -> xr.DataArray:
    """One variable of the sweep.

    At one place, or everywhere.
    """
    values = sign * data[name]
    return values if at is None else values.sel(x=at, drop=True)


@lm.evidence("sweep")
def refuse(data: xr.Dataset, reason: Exception) -> Any:
    raise reason


FROZEN = Control("frozen", name="frozen")


def claim(evidence: Evidence, judge: Any, *controls: Control, **given: Any) -> Claim:
    expected = given.pop("expected", HOLDS)
    made = Claim("t1-large", "Theorem 1", given.pop("kind", "bound"), **given).states("A statement.")
    return made.judged(evidence, judge, *controls, expected=expected)


TRUE = claim(read(), at_least(3), FROZEN, Control("at 1", at=1))
FALSE = claim(read(), at_most(3), FROZEN, expected=FAILS)


def judged_by(claim: Claim, judge: Any) -> Claim:
    """The same claim with another judge."""
    same = Claim(claim.name, claim.reference, claim.kind).states(claim.statement)
    return same.judged(claim.evidence, judge, *claim.controls, expected=claim.expected)


def always(outcome: str) -> Callable[[Any], Verdict]:
    return lambda evidence: Verdict(outcome, ">=", 1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("claim", [TRUE, FALSE], ids=["true", "false"])
def test_an_honest_judge_is_as_expected_on_claim_and_controls(claim):
    finding = examine(claim, DATA)
    assert finding.verdict.outcome == claim.expected
    assert [verdict.outcome for _, verdict in finding.controls] == [
        claim.expected_of(control) for control in claim.controls
    ]
    assert finding.as_expected


@pytest.mark.parametrize("claim", [TRUE, FALSE], ids=["true", "false"])
@pytest.mark.parametrize("outcome", [HOLDS, FAILS, INCONCLUSIVE])
def test_a_judge_that_always_says_the_same_is_caught(claim, outcome):
    assert not examine(judged_by(claim, always(outcome)), DATA).as_expected


@lm.evidence("sweep")
def pair(data: xr.Dataset) -> xr.DataArray:
    return data.trained.isel(x=[0, 2])


@pytest.mark.parametrize("outcome", [HOLDS, FAILS, INCONCLUSIVE])
def test_a_claim_expected_to_be_undecided_catches_constant_judges_too(outcome):
    some = claim(
        pair(), at_least(2, fails_if="all"), Control("frozen", read("frozen"), expected=FAILS), expected=INCONCLUSIVE
    )
    assert examine(some, DATA).as_expected
    assert not examine(judged_by(some, always(outcome)), DATA).as_expected


def test_a_judge_with_its_sign_turned_is_caught():
    assert not examine(judged_by(TRUE, at_most(3)), DATA).as_expected
    assert not examine(judged_by(FALSE, at_least(3)), DATA).as_expected
    rising = claim(read(at=None), increasing("x"), Control("falling", sign=-1.0), kind="ordering")
    assert examine(rising, DATA).as_expected
    assert not examine(judged_by(rising, lambda evidence: rising.judge(-evidence)), DATA).as_expected


def test_a_judge_that_reads_another_data_set_is_caught():
    constant = at_least(3)(DATA["sweep"].trained.sel(x=4))
    assert not examine(judged_by(TRUE, lambda evidence: constant), DATA).as_expected


@pytest.mark.parametrize("wrong", [HOLDS, INCONCLUSIVE])
def test_a_control_that_comes_out_wrong_is_the_one_reported(wrong):
    broken = {HOLDS: read(), INCONCLUSIVE: refuse(NotApplicable("not converged"))}[wrong]
    finding = examine(claim(read(), at_least(3), FROZEN, Control("broken", broken), Control("also fine", at=2)), DATA)
    control, verdict = finding.worst_control
    assert (control.case, verdict.outcome) == ("broken", wrong)
    assert finding.verdict.outcome == HOLDS
    assert not finding.as_expected


def test_with_every_control_right_the_first_is_reported():
    control, verdict = examine(TRUE, DATA).worst_control
    assert (control.case, verdict.outcome, verdict.measured) == ("frozen", FAILS, pytest.approx(1.5))


def test_a_wrong_verdict_with_right_controls_is_not_as_expected():
    finding = examine(claim(read(at=2), at_least(3), FROZEN, Control("at 1", at=1)), DATA)
    assert [verdict.outcome for _, verdict in finding.controls] == [FAILS, FAILS]
    assert not finding.as_expected


@pytest.mark.parametrize("reason", [NotApplicable("not converged in 2 seeds"), CannotFit("two points are needed")])
def test_evidence_that_cannot_be_taken_is_inconclusive_with_the_reason(reason):
    finding = examine(claim(refuse(reason), at_least(3), Control("frozen", read("frozen"))), DATA)
    assert (finding.verdict.outcome, finding.verdict.note) == (INCONCLUSIVE, str(reason))
    assert not finding.as_expected


@pytest.mark.parametrize(
    ("judge", "wanted"),
    [
        (at_least(3), (">=", 3, None, None)),
        (at_most(3, by="every"), ("<=", 3, None, None)),
        (within(1, 3, predicted=2), ("in", 2, 1, 3)),
        (within({"a": (1, 3), "b": (2, 4)}), ("in", None, None, None)),
        (increasing("x"), ("increasing", 0, None, None)),
        (increasing("x", slack=0.5), ("increasing", -0.5, None, None)),
        (decreasing("x", slack=0.5), ("decreasing", 0.5, None, None)),
        (lm.equal(0.1), ("==", 0, None, 0.1)),
        (lm.stating(at_most(3)), ("<=", 3, None, None)),
        (all_of(slope=within(1, 3), fit=at_least(0.9)), ("in", None, 1, 3)),
    ],
)
def test_where_nothing_could_be_judged_the_verdict_still_says_what_must_be_so(judge, wanted):
    vacuous = refuse(NotApplicable("vacuous"))
    verdict = examine(judged_by(claim(vacuous, at_least(3), Control("no less", vacuous)), judge), DATA).verdict
    assert (verdict.relation, verdict.predicted, verdict.accept_low, verdict.accept_high) == wanted
    assert (verdict.outcome, verdict.measured, verdict.statistic) == (INCONCLUSIVE, None, "none")
    assert verdict.rule


def test_a_reason_may_come_from_the_judge_as_well():
    def judge(evidence: Any) -> Verdict:
        raise CannotFit("vacuous here")

    finding = examine(judged_by(TRUE, judge), DATA)
    assert (finding.verdict.outcome, finding.verdict.note) == (INCONCLUSIVE, "vacuous here")


def test_any_other_error_is_not_a_verdict():
    with pytest.raises(ZeroDivisionError):
        examine(claim(refuse(ZeroDivisionError()), at_least(3), Control("frozen", read("frozen"))), DATA)
    with pytest.raises(AssertionError):
        examine(judged_by(TRUE, always("supported")), DATA)


def test_evidence_that_is_nan_is_inconclusive_in_a_claim_and_in_a_control():
    empty = {"sweep": DATA["sweep"] * np.nan}
    finding = examine(TRUE, empty)
    assert finding.verdict.outcome == INCONCLUSIVE
    assert {verdict.outcome for _, verdict in finding.controls} == {INCONCLUSIVE}
    assert not finding.as_expected


@lm.evidence("sweep")
def ends(data: xr.Dataset, end: str = "trained", start: float = 1) -> dict[str, xr.DataArray]:
    return {"end": data[end].sel(x=4), "start": data.trained.sel(x=start)}


def test_a_combined_claim_is_judged_part_by_part():
    both = all_of(end=at_least(3), start=within(0.5, 1.5))
    assert examine(
        claim(ends(), both, Control("wrong end", end="frozen"), Control("wrong start", start=4)), DATA
    ).as_expected


@lm.fact
def drawn(sign: float = 1.0, *, seed: int) -> float:
    """One random number."""
    return sign * float(np.random.default_rng(seed).uniform())


CHANCE = claim(drawn(), at_least(0), Control("negative", sign=-1.0))


def test_evidence_draws_from_the_seed_of_the_verification():
    measured = [examine(CHANCE, {}, seed).verdict.measured for seed in (0, 1, 1000)]
    assert measured == [np.random.default_rng(seed).uniform() for seed in (0, 1, 1000)]
    assert examine(CHANCE, {}).verdict.measured == measured[0]


def test_a_control_draws_from_the_same_seed_as_its_claim():
    finding = examine(CHANCE, {}, 7)
    assert finding.verdict.measured is not None
    assert finding.worst_control[1].measured == -finding.verdict.measured


def test_evidence_has_a_name_words_and_arguments_and_says_what_it_reads_once():
    taken = read("frozen", sign=2.0)
    assert (taken.name, taken.reads, taken.words) == ("read", ("sweep",), "One variable of the sweep.")
    assert taken.arguments == {"name": "frozen", "sign": 2.0}
    assert taken.value("at") == 4
    assert float(taken(DATA).isel(seed=0)) == 3.0
    assert float(taken.changed(at=1)({"sweep": 2 * DATA["sweep"]}).isel(seed=1)) == 6.4
    assert read.of("other")().reads == ("other",)
    with pytest.raises(UserError, match="no argument nmae"):
        read(nmae="frozen")


def test_evidence_may_compute_in_float64():
    @lm.evidence(precision="float64")
    def third() -> Any:
        import jax.numpy as jnp

        return jnp.asarray(1.0) / 3

    assert third()({}).dtype == np.float64


def test_a_claim_reads_what_its_controls_read_too_and_says_which_argument_a_control_changes():
    other = claim(read(), at_least(3), FROZEN, Control("elsewhere", read.of("other")("frozen")))
    assert other.reads == ("sweep", "other")
    assert other.changed_by(other.controls[0]) == {"name": ("trained", "frozen")}
    assert other.changed_by(other.controls[1]) is None


def test_a_control_must_give_the_opposite_unless_it_says_otherwise():
    assert [TRUE.expected_of(control) for control in TRUE.controls] == [FAILS, FAILS]
    assert FALSE.expected_of(FROZEN) == HOLDS
    undecided = Control("frozen", expected=INCONCLUSIVE, name="frozen")
    assert claim(read(), at_least(3), undecided).expected_of(undecided) == INCONCLUSIVE
    with pytest.raises(UserError, match="does not say which outcome"):
        claim(read(), at_least(3), FROZEN, expected=INCONCLUSIVE)


INTACT = Gate("not converged", lambda data: data.trained >= 2, intact={"x": [2.0, 4.0], "absent": "a"})


def test_a_gate_looks_at_the_intact_cells_of_what_the_claim_reads_and_stops_claim_and_controls():
    passed = claim(read(), at_least(3), FROZEN, gate=Gate("small", lambda data: data.trained >= 0.5))
    assert examine(passed, DATA).as_expected
    assert examine(
        claim(read(), at_least(3), FROZEN, gate=Gate("x", lambda d: d.trained > 1.8, {"x": [2.0, 4.0]})), DATA
    ).as_expected
    stopped = examine(claim(read(), at_least(3), FROZEN, gate=INTACT), DATA)
    assert (stopped.verdict.outcome, stopped.verdict.note) == (INCONCLUSIVE, "not converged")
    assert stopped.controls[0][1].note == "not converged"
    lacking = examine(claim(read(), at_least(3), FROZEN, gate=Gate("x", lambda d: d.trained > 0, {"x": 9.0})), DATA)
    assert lacking.verdict.note == "not in this preset: x = 9.0"


@pytest.mark.parametrize(
    "controls",
    [(), (Control("the same again", read(), expected=HOLDS),)],
    ids=["none", "none that differs"],
)
def test_a_claim_without_a_control_that_must_differ_is_refused(controls):
    with pytest.raises(UserError, match="t1-large has no control that its judge must answer differently"):
        claim(read(), at_least(3), *controls)


def test_what_is_no_claim_is_refused_in_one_sentence():
    with pytest.raises(UserError, match="t1-large has the kind 'law'; allowed: identity"):
        claim(read(), at_least(3), FROZEN, kind="law")
    with pytest.raises(UserError, match="no control"):
        claim(read(), at_least(3), FROZEN, expected="supported")
    with pytest.raises(UserError, match="the source 'us'"):
        claim(read(), at_least(3), FROZEN, source="us")
    with pytest.raises(UserError, match="is no evidence"):
        claim(lambda datasets: 1.0, at_least(3), FROZEN)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match="'frozen' needs an argument"):
        Control("frozen")


def test_who_says_so_is_told():
    assert TRUE.source == "paper"
    assert claim(read(), at_least(3), FROZEN, corrects="t0").source == "corrected"
    assert claim(read(), at_least(3), FROZEN, source="derived").source == "derived"


def test_a_theory_refuses_a_claim_that_says_nothing_or_is_not_judged():
    from lemmata.lab.theory import Theory

    @lm.simulation(lm.Variable("height", (), "h", "height"))
    def nothing(problem: lm.Setting, key: jax.Array) -> dict[str, float]:
        return {"height": 0.0}

    card = dict.fromkeys(("name", "title", "authors", "question", "answer"), "x") | {"headlines": []}
    silent = Claim("t2", "Theorem 2", "bound")
    unjudged = Claim("t3", "Theorem 3", "bound").states("It is so.")
    for incomplete in (silent, unjudged):
        with pytest.raises(UserError, match=f"{incomplete.name} is not complete"):
            Theory(card, lm.Setting, nothing, [], [incomplete])

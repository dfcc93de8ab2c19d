"""Claims that read no experiment: closed forms and draws come out as the register says, a wrong formula does not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Datasets, Evidence, examine
from lemmata.theories import vit
from lemmata.theories.vit import theorem
from lemmata.theories.vit.bounds import alpha_threshold_nd, cap_probability, margin_lower_bound
from lemmata.theories.vit.claims import dynamics, iterations, neurons, samples

CLAIMS = {claim.name: claim for claim in vit.theory.claims.values() if not claim.reads}

# The rows of the register that read nothing: claim, kind, expected outcome, outcomes of the controls

REGISTER = {
    "v5-bound-ratio": ("identity", HOLDS, [FAILS]),
    "v10-cap-probability": ("identity", HOLDS, [FAILS]),
    "v12-recursion-log": ("limit", HOLDS, [FAILS]),
    "v12-recursion-rate": ("limit", HOLDS, [FAILS]),
    "v13-increment": ("bound", FAILS, [HOLDS]),
    "v13-increment-corrected": ("bound", HOLDS, [FAILS]),
    "v16-margin": ("identity", HOLDS, [FAILS]),
    "v17-condition": ("identity", HOLDS, [FAILS]),
    "v17-finite-batch": ("bound", HOLDS, [FAILS]),
    "v18-sign-average": ("bound", HOLDS, [FAILS]),
    "v23-share": ("identity", FAILS, [HOLDS]),
    "v23-share-corrected": ("identity", HOLDS, [FAILS]),
}
DRAWN = [
    "v10-cap-probability", "v13-increment", "v13-increment-corrected", "v16-margin", "v17-finite-batch",
    "v18-sign-average",
]  # fmt: skip


def outcome(name: str, evidence: Evidence, seed: int = 0) -> str:
    """What the claim's judge says of other evidence."""
    return examine(replace(CLAIMS[name], evidence=evidence), {}, seed).verdict.outcome


def test_every_row_of_the_register_that_reads_nothing_is_a_claim():
    assert set(CLAIMS) == set(REGISTER)


@pytest.mark.parametrize("name", REGISTER)
def test_a_claim_is_declared_as_the_register_says(name):
    claim = CLAIMS[name]
    assert (claim.kind, claim.expected, [control.expected for control in claim.controls]) == REGISTER[name]
    assert claim.reads == ()
    assert claim.reference
    assert claim.formula
    assert claim.statement.endswith(".")


@pytest.mark.parametrize("name", ["v13-increment", "v23-share"])
def test_a_claim_that_fails_as_stated_stands_beside_its_corrected_twin(name):
    assert CLAIMS[name].statement.startswith("As stated")
    assert CLAIMS[f"{name}-corrected"].statement.startswith("Corrected")


@pytest.mark.parametrize("seed", [0, 1000, 2000])
@pytest.mark.parametrize("name", REGISTER)
def test_a_claim_and_its_controls_come_out_as_registered(name, seed):
    finding = examine(CLAIMS[name], {}, seed)
    assert finding.verdict.outcome == CLAIMS[name].expected, finding.verdict.note
    assert [verdict.outcome for _, verdict in finding.controls] == REGISTER[name][2]


@pytest.mark.parametrize("name", DRAWN)
def test_draws_follow_the_seed(name):
    first, again, other = (examine(CLAIMS[name], {}, seed).verdict for seed in (3, 3, 4))
    assert first == again
    assert (first.measured, first.note) != (other.measured, other.note)


def test_the_inputs_of_the_conditions_follow_the_seed():
    first, again, other = (CLAIMS["v17-condition"].evidence(Datasets({}, seed))["measured"] for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


# V10 and V18


def test_the_shares_of_the_caps_are_those_of_the_formula_and_not_of_one_two_per_cent_off():
    assert outcome("v10-cap-probability", neurons._cap(1.02)) == FAILS
    assert outcome("v10-cap-probability", neurons._cap(0.98)) == FAILS


def test_a_cap_of_another_colatitude_is_told_apart(monkeypatch):
    monkeypatch.setattr(neurons, "cap_probability", lambda width, phi: cap_probability(width, phi - 0.01))
    assert examine(CLAIMS["v10-cap-probability"], {}).verdict.outcome == FAILS


def test_the_mean_of_fair_signs_deviates_as_often_as_the_binomial_distribution_says():
    found = CLAIMS["v18-sign-average"].evidence(Datasets())
    for batch in (16, 64, 256):
        most = math.floor(batch / 2 * (1 - math.sqrt(math.log(batch) / batch)))
        exact = 2 * bdtr(float(most), batch, 0.5)
        assert abs(float(found.sel(B=batch)) - exact) < 4 * math.sqrt(exact / 1e5)


def test_a_coin_that_leans_a_little_is_found_out_by_the_largest_batch():
    verdict = examine(replace(CLAIMS["v18-sign-average"], evidence=theorem._deviations(0.6)), {}).verdict
    assert (verdict.outcome, verdict.predicted) == (FAILS, 0.125)


# V12


def test_the_altered_recursion_of_the_control_is_what_its_name_says():
    square, reached = 1.0, {}
    for step in range(1, 10**4 + 1):
        square *= 1 + 0.1 * math.exp(-2 * square + 0.2 * math.sqrt(square))
        reached[step] = square
    altered = dynamics._fast_decay()
    for steps in (10**3, 10**4):
        assert float(altered.sel(steps=steps)) == pytest.approx(reached[steps], rel=1e-12)


def test_the_logarithm_must_fall_and_stay_above_one():
    log = np.log(0.1 * dynamics._squares().steps)
    name = "v12-recursion-log"
    assert outcome(name, dynamics._logarithm(lambda: 1.2 * log + 1)) == HOLDS
    assert outcome(name, dynamics._logarithm(lambda: 1.2 * log)) == FAILS
    assert outcome(name, dynamics._logarithm(lambda: 1.2 * log - 0.5)) == FAILS
    assert outcome(name, dynamics._logarithm(lambda: 0.9 * log + 0.5)) == FAILS


@pytest.mark.parametrize(("shift", "expected"), [(0.0, HOLDS), (-0.2, FAILS), (0.2, FAILS)])
def test_the_rate_is_that_of_the_recursion(shift, expected):
    """A logit off by 0.2 changes 1 - p by a fifth; the product then leaves [1, 1.4] on one side."""
    assert outcome("v12-recursion-rate", dynamics._rate(lambda: dynamics._squares() + shift)) == expected


def test_attention_that_stays_away_from_one_has_no_rate():
    assert outcome("v12-recursion-rate", dynamics._rate(lambda: 0 * dynamics._squares() + 6.79)) == FAILS


# V13


def test_the_printed_increment_with_the_exact_logit_step_is_tight():
    """With e^{K q²} - 1 in place of K the smallest ratio is (n_1 e^{g'} + n_0) / (n_1 e^g + n_0), just above 1."""
    exact = lambda growth, square: np.expm1(growth * square)  # noqa: E731
    ratios = dynamics._increments(0.3, 3.0, exact)(Datasets())
    assert ((ratios > 1) & (ratios < 1 + 1e-4)).all()
    above = lambda growth, square: (1 + 1e-4) * exact(growth, square)  # noqa: E731
    assert outcome("v13-increment", dynamics._increments(0.3, 3.0, above)) == FAILS


def test_the_stated_increment_fails_by_the_square_of_the_smallest_norm():
    ratios = CLAIMS["v13-increment"].evidence(Datasets())
    assert ratios.values == pytest.approx([0.09, 0.09], rel=0.02)


@pytest.mark.parametrize("token", [0, -1], ids=["relevant", "other"])
def test_the_rise_of_relevant_and_the_fall_of_other_tokens_are_both_judged(monkeypatch, token):
    softmax = dynamics._softmax

    def stuck(logits: np.ndarray) -> np.ndarray:
        weights = softmax(logits)
        weights[:, token] = 0.01
        return weights

    monkeypatch.setattr(dynamics, "_softmax", stuck)
    assert examine(CLAIMS["v13-increment-corrected"], {}).verdict.outcome == FAILS


def test_the_softmax_of_a_block_changes_by_the_closed_form_of_a_finite_step():
    relevant, others, before, after = 12, 38, 0.7, 1.3
    chosen = (np.arange(50) < relevant)[None]
    change = dynamics._softmax(chosen * after) - dynamics._softmax(chosen * before)
    start, end = (relevant * math.exp(g) + others for g in (before, after))
    step = (math.exp(after) - math.exp(before)) / (start * end)
    assert change[0, 0] == pytest.approx(others * step, rel=1e-12)
    assert change[0, -1] == pytest.approx(-relevant * step, rel=1e-12)


# V16


def margin(alpha, p, error, eta, t, powers=(6, 3, 3, 5, 2, 1, 1, 2), parts=(64, 4)):
    """(A.51) by its exponents and divisors."""
    a, b, c, d, e, f, g, h = powers
    first = alpha**a * p**b / parts[0] * eta**c * t**d
    total = first + alpha**e * p**f * (alpha * p / parts[1] - error) * eta**g * t**h
    return total


def test_a_margin_written_out_once_more_agrees():
    assert outcome("v16-margin", iterations._margins(margin)) == HOLDS


@pytest.mark.parametrize("place", range(8))
def test_no_exponent_of_the_margin_may_change(place):
    powers = [6, 3, 3, 5, 2, 1, 1, 2]
    powers[place] += 1
    judge = CLAIMS["v16-margin"].judge
    changed = iterations._margins(lambda *args, **named: margin(*args, **named, powers=powers))(Datasets())
    intact = iterations._margins(margin_lower_bound)(Datasets())
    assert judge({"numbers": intact["numbers"], "random": changed["random"]}).outcome == FAILS
    # the oracle's numbers are taken at eta = 1 and 0.01, so they see every exponent as well
    assert judge({"numbers": changed["numbers"], "random": intact["random"]}).outcome == FAILS


@pytest.mark.parametrize("parts", [(32, 4), (64, 5)])
def test_no_factor_of_the_margin_may_change(parts):
    changed = iterations._margins(lambda *args, **named: margin(*args, **named, parts=parts))
    assert outcome("v16-margin", changed) == FAILS


def test_the_random_margins_are_of_both_kinds():
    for seed in (0, 1000, 2000):
        values = CLAIMS["v16-margin"].evidence(Datasets({}, seed))["random"]["measured"]
        assert 10 <= np.sum(np.asarray(values) < 0) <= 60


# V17


def test_the_inputs_are_fractions_and_errors_of_the_theorem():
    given = theorem._problems(0)
    np.testing.assert_allclose(given["alpha"] + given["confusion"] + given["neutral"], 1, rtol=1e-12)
    assert all((values >= 0).all() for values in given.values())
    assert (given["tau"] <= np.minimum(given["sigma"], given["delta"])).all()
    assert given["sigma"].max() < 0.2
    assert given["delta"].max() < 0.5


def test_the_condition_is_often_true_and_often_false():
    truth = CLAIMS["v17-condition"].evidence(Datasets())["predicted"]
    assert truth.size > 0.99 * 10**5
    assert 0.3 < np.mean(truth) < 0.7


@pytest.mark.parametrize(
    "threshold",
    [
        lambda nd, sigma, delta, tau: (1 - nd) / (1 + np.exp(-delta) * (1 - sigma - tau)),
        lambda nd, sigma, delta, tau: (1 - nd) / (1 + np.exp(-delta - tau) * (1 - sigma)),
        lambda nd, sigma, delta, tau: (1 - nd) / (2 + np.exp(-delta - tau) * (1 - sigma - tau)),
        lambda nd, sigma, delta, tau: alpha_threshold_nd(nd, sigma, delta, tau) + 1e-3,
    ],
    ids=["no noise in the exponent", "no noise in the factor", "another constant", "shifted"],
)
def test_another_threshold_is_another_condition(threshold):
    assert outcome("v17-condition", theorem._equivalence(threshold)) == FAILS


def test_inputs_on_the_boundary_are_left_out(monkeypatch):
    edge = {"alpha": 0.25, "confusion": 0.25, "neutral": 0.5, "sigma": 0.0, "delta": 0.0, "tau": 0.0}
    monkeypatch.setattr(theorem, "_problems", lambda seed: {name: np.array([value]) for name, value in edge.items()})
    assert outcome("v17-condition", CLAIMS["v17-condition"].evidence) == INCONCLUSIVE


def test_the_finite_batch_condition_is_met_often_enough_to_be_refuted():
    for seed in (0, 1000, 2000):
        labels = CLAIMS["v17-finite-batch"].evidence(Datasets({}, seed)).batch.values
        counts = [int(label.split("(")[1].split()[0]) for label in labels]
        assert counts[0] > 400
        assert counts[0] < counts[1] < counts[2]


def test_a_finite_batch_condition_that_is_hardly_ever_met_decides_nothing(monkeypatch):
    given = theorem._problems(0)
    monkeypatch.setattr(theorem, "_problems", lambda seed: given | {"alpha": given["alpha"] / 2})
    verdict = examine(CLAIMS["v17-finite-batch"], {}).verdict
    assert verdict.outcome == INCONCLUSIVE
    assert "only 0 inputs for B = 16" in verdict.note


def test_a_single_exception_refutes_the_finite_batch_condition(monkeypatch):
    slack = theorem._slack

    def one_off(**given: Any) -> Any:
        values = slack(**given)
        values[np.argmax(given["alpha"] - given["confusion"] - given["sigma"] - given["delta"])] = -0.1
        return values

    monkeypatch.setattr(theorem, "_slack", one_off)
    assert examine(CLAIMS["v17-finite-batch"], {}).verdict.outcome == FAILS


# V23


def test_the_parameters_are_counted_on_the_network():
    assert samples._count() == {"output": 10000, "value": 100, "key": 100, "query": 100}
    assert CLAIMS["v23-share"].evidence(Datasets()) == pytest.approx(100 * 200 / 10300)


def test_the_count_follows_every_size(monkeypatch):
    sizes = {"DIMENSION": 7, "VALUE_WIDTH": 8, "KEY_WIDTH": 9, "NEURONS": 11}
    for name, size in sizes.items():
        monkeypatch.setattr(samples, name, size)
    evidence = CLAIMS["v23-share-corrected"].evidence(Datasets())
    assert evidence == {"measured": [88 + 56 + 126, 126], "predicted": [88 + 56 + 126, 126]}


def test_a_share_between_a_half_and_one_and_a_half_per_cent_rounds_to_one():
    for share, expected in ((0.51, HOLDS), (1.49, HOLDS), (0.49, FAILS), (1.51, FAILS)):
        assert outcome("v23-share", lambda datasets, share=share: share) == expected


def test_one_parameter_more_is_noticed(monkeypatch):
    counted = samples._count()
    monkeypatch.setattr(samples, "_count", lambda: counted | {"query": counted["query"] + 1})
    assert CLAIMS["v23-share-corrected"].evidence(Datasets())["measured"] == [10301, 201]
    assert examine(CLAIMS["v23-share-corrected"], {}).verdict.outcome == FAILS

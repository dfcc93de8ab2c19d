"""Claims that read no experiment: closed forms and draws come out as the register says, a wrong formula does not."""

from __future__ import annotations

import math
import types
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.special import bdtr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, examine
from lemmata.theories import vit
from lemmata.theories.vit import theorem
from lemmata.theories.vit.bounds import alpha_threshold_nd, cap_probability
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


def outcome(name: str, **arguments: Any) -> str:
    """What the claim's judge says of its evidence, with other values of some arguments."""
    claim = CLAIMS[name]
    return claim.judge(claim.evidence.changed(**arguments)({})).outcome


def test_every_row_of_the_register_that_reads_nothing_is_a_claim():
    assert set(CLAIMS) == set(REGISTER)


@pytest.mark.parametrize("name", REGISTER)
def test_a_claim_is_declared_as_the_register_says(name):
    claim = CLAIMS[name]
    assert (claim.kind, claim.expected, [claim.expected_of(control) for control in claim.controls]) == REGISTER[name]
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
    first, again, other = (CLAIMS["v17-condition"].evidence({}, seed)["measured"] for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


# V10 and V18


def test_the_shares_of_the_caps_are_those_of_the_formula_and_not_of_one_two_per_cent_off():
    assert outcome("v10-cap-probability", factor=1.02) == FAILS
    assert outcome("v10-cap-probability", factor=0.98) == FAILS


def test_a_cap_of_another_colatitude_is_told_apart(monkeypatch):
    monkeypatch.setattr(neurons, "cap_probability", lambda width, phi: cap_probability(width, phi - 0.01))
    assert examine(CLAIMS["v10-cap-probability"], {}).verdict.outcome == FAILS


def test_the_mean_of_fair_signs_deviates_as_often_as_the_binomial_distribution_says():
    found = CLAIMS["v18-sign-average"].evidence({})
    for batch in (16, 64, 256):
        most = math.floor(batch / 2 * (1 - math.sqrt(math.log(batch) / batch)))
        exact = 2 * bdtr(float(most), batch, 0.5)
        assert abs(float(found.sel(B=batch)) - exact) < 4 * math.sqrt(exact / 1e5)


def test_a_coin_that_leans_a_little_is_found_out_by_the_largest_batch():
    claim = CLAIMS["v18-sign-average"]
    verdict = claim.judge(claim.evidence.changed(positive=0.6)({}))
    assert (verdict.outcome, verdict.predicted) == (FAILS, 0.125)


# V12


def test_the_altered_recursion_of_the_control_is_what_its_name_says():
    square, reached = 1.0, {}
    for step in range(1, 10**4 + 1):
        square *= 1 + 0.1 * math.exp(-2 * square + 0.2 * math.sqrt(square))
        reached[step] = square
    altered = dynamics._squares(2.0)
    for steps in (10**3, 10**4):
        assert float(altered.sel(steps=steps)) == pytest.approx(reached[steps], rel=1e-12)


@pytest.mark.parametrize(
    ("slope", "shift", "expected"), [(1.2, 1, HOLDS), (1.2, 0, FAILS), (1.2, -0.5, FAILS), (0.9, 0.5, FAILS)]
)
def test_the_logarithm_must_fall_and_stay_above_one(monkeypatch, slope, shift, expected):
    log = np.log(0.1 * dynamics._squares(1.0).steps)
    monkeypatch.setattr(dynamics, "_squares", lambda decay: slope * log + shift)
    assert outcome("v12-recursion-log") == expected


@pytest.mark.parametrize(("shift", "expected"), [(0.0, HOLDS), (-0.2, FAILS), (0.2, FAILS)])
def test_the_rate_is_that_of_the_recursion(monkeypatch, shift, expected):
    """A logit off by 0.2 changes 1 - p by a fifth; the product then leaves [1, 1.4] on one side."""
    squares = dynamics._squares(1.0)
    monkeypatch.setattr(dynamics, "_squares", lambda decay: squares + shift)
    assert outcome("v12-recursion-rate") == expected


def test_attention_that_stays_away_from_one_has_no_rate(monkeypatch):
    squares = dynamics._squares(1.0)
    monkeypatch.setattr(dynamics, "_squares", lambda decay: 0 * squares + 6.79)
    assert outcome("v12-recursion-rate") == FAILS


# V13


def test_the_printed_increment_with_the_exact_logit_step_is_tight():
    """With e^{K q²} - 1 in place of K the smallest ratio is (n_1 e^{g'} + n_0) / (n_1 e^g + n_0), just above 1."""
    ratios = dynamics.increments(0.3, 3.0, exponential=True)({})
    assert ((ratios > 1) & (ratios < 1 + 1e-4)).all()
    assert CLAIMS["v13-increment"].judge(ratios / (1 + 1e-4)).outcome == FAILS


def test_the_stated_increment_fails_by_the_square_of_the_smallest_norm():
    ratios = CLAIMS["v13-increment"].evidence({})
    assert ratios.values == pytest.approx([0.09, 0.09], rel=0.02)


@pytest.mark.parametrize("token", [0, -1], ids=["relevant", "other"])
def test_the_rise_of_relevant_and_the_fall_of_other_tokens_are_both_judged(monkeypatch, token):
    softmax = special.softmax

    def stuck(logits: np.ndarray, axis: int) -> np.ndarray:
        weights = softmax(logits, axis=axis)
        weights[:, token] = 0.01
        return weights

    monkeypatch.setattr(special, "softmax", stuck)
    assert examine(CLAIMS["v13-increment-corrected"], {}).verdict.outcome == FAILS


def test_the_softmax_of_a_block_changes_by_the_closed_form_of_a_finite_step():
    relevant, others, before, after = 12, 38, 0.7, 1.3
    chosen = (np.arange(50) < relevant)[None]
    change = special.softmax(chosen * after, axis=1) - special.softmax(chosen * before, axis=1)
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


def test_a_margin_written_out_once_more_agrees(monkeypatch):
    monkeypatch.setattr(iterations, "margin_lower_bound", margin)
    assert outcome("v16-margin") == HOLDS


@pytest.mark.parametrize("place", range(8))
def test_no_exponent_of_the_margin_may_change(monkeypatch, place):
    powers = [6, 3, 3, 5, 2, 1, 1, 2]
    powers[place] += 1
    judge = CLAIMS["v16-margin"].judge
    intact = iterations.margins()({})
    monkeypatch.setattr(iterations, "margin_lower_bound", partial(margin, powers=powers))
    changed = iterations.margins()({})
    assert judge({"numbers": intact["numbers"], "random": changed["random"]}).outcome == FAILS
    # the oracle's numbers are taken at eta = 1 and 0.01, so they see every exponent as well
    assert judge({"numbers": changed["numbers"], "random": intact["random"]}).outcome == FAILS


@pytest.mark.parametrize("parts", [(32, 4), (64, 5)])
def test_no_factor_of_the_margin_may_change(monkeypatch, parts):
    monkeypatch.setattr(iterations, "margin_lower_bound", partial(margin, parts=parts))
    assert outcome("v16-margin") == FAILS


def test_the_random_margins_are_of_both_kinds():
    for seed in (0, 1000, 2000):
        values = CLAIMS["v16-margin"].evidence({}, seed)["random"]["measured"]
        assert 10 <= np.sum(np.asarray(values) < 0) <= 60


# V17


def test_the_inputs_are_fractions_and_errors_of_the_theorem():
    given = theorem.random_problems(0)
    assert (given["alpha"] + given["confusion"] <= 1).all()
    assert all((values >= 0).all() for values in given.values())
    assert (given["tau"] <= np.minimum(given["sigma"], given["delta"])).all()
    assert given["sigma"].max() < 0.2
    assert given["delta"].max() < 0.5


def test_the_condition_is_often_true_and_often_false():
    truth = CLAIMS["v17-condition"].evidence({})["predicted"]
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
def test_another_threshold_is_another_condition(monkeypatch, threshold):
    monkeypatch.setattr(theorem, "alpha_threshold_nd", types.SimpleNamespace(function=threshold))
    assert outcome("v17-condition") == FAILS


def test_inputs_on_the_boundary_are_left_out(monkeypatch):
    edge = {"alpha": 0.25, "confusion": 0.25, "sigma": 0.0, "delta": 0.0, "tau": 0.0}
    monkeypatch.setattr(
        theorem, "random_problems", lambda seed: {name: np.array([value]) for name, value in edge.items()}
    )
    assert examine(CLAIMS["v17-condition"], {}).verdict.outcome == INCONCLUSIVE


def test_the_finite_batch_condition_is_met_often_enough_to_be_refuted():
    for seed in (0, 1000, 2000):
        labels = CLAIMS["v17-finite-batch"].evidence({}, seed).batch.values
        counts = [int(label.split("(")[1].split()[0]) for label in labels]
        assert counts[0] > 400
        assert counts[0] < counts[1] < counts[2]


def test_a_finite_batch_condition_that_is_hardly_ever_met_decides_nothing(monkeypatch):
    given = theorem.random_problems(0)
    monkeypatch.setattr(theorem, "random_problems", lambda seed: given | {"alpha": given["alpha"] / 2})
    verdict = examine(CLAIMS["v17-finite-batch"], {}).verdict
    assert verdict.outcome == INCONCLUSIVE
    assert "only 0 inputs for B = 16" in verdict.note


def test_a_single_exception_refutes_the_finite_batch_condition(monkeypatch):
    slack = theorem.condition_slack

    def one_off(**given: Any) -> Any:
        values = slack(**given)
        values[np.argmax(given["alpha"] - given["confusion"] - given["sigma"] - given["delta"])] = -0.1
        return values

    monkeypatch.setattr(theorem, "condition_slack", one_off)
    assert examine(CLAIMS["v17-finite-batch"], {}).verdict.outcome == FAILS


# V23


def test_the_parameters_are_counted_on_the_network():
    assert samples._count() == {"output": 10000, "value": 100, "key": 100, "query": 100}
    assert CLAIMS["v23-share"].evidence({}) == pytest.approx(100 * 200 / 10300)


def test_the_count_follows_every_size(monkeypatch):
    sizes = {"dimension": 7, "value_width": 8, "key_width": 9, "neurons": 11}
    monkeypatch.setattr(samples, "SIZES", sizes)
    evidence = CLAIMS["v23-share-corrected"].evidence({})
    assert evidence == {"measured": [88 + 56 + 126, 126], "predicted": [88 + 56 + 126, 126]}


def test_a_share_between_a_half_and_one_and_a_half_per_cent_rounds_to_one():
    for share, expected in ((0.51, HOLDS), (1.49, HOLDS), (0.49, FAILS), (1.51, FAILS)):
        assert CLAIMS["v23-share"].judge(share).outcome == expected


def test_one_parameter_more_is_noticed(monkeypatch):
    counted = samples._count()
    monkeypatch.setattr(samples, "_count", lambda: counted | {"query": counted["query"] + 1})
    assert CLAIMS["v23-share-corrected"].evidence({})["measured"] == [10301, 201]
    assert examine(CLAIMS["v23-share-corrected"], {}).verdict.outcome == FAILS

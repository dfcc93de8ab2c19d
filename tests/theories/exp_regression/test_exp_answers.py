"""Every judge tells true data from false ones: one thing is changed in the world of the specification."""

import numpy as np
import pytest
from exp_world import (
    CLAIMS,
    READING,
    REGISTER,
    WORLD,
    X2,
    X3,
    X5,
    X6,
    X9,
    F,
    H,
    U,
    change,
    inf,
    nan,
)

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, examine

# Claim, data set, variable, value, where, what the claim must answer

C, J = {"init": "coupled"}, {"init": "independent"}
WIDE, MIDDLE = {"problem": "n=20, d=20"}, {"problem": "n=10, d=5"}
NARROW = {**C, **WIDE, "neurons": 64}
X1, X7, XO, Q3, Q6 = "x1-kernel", "x7-activations", "x2-orthonormal", "q3-montecarlo", "q6-perturbation"
RAISED = [
    ("q2-projection-union", "q2-tails", "projection", 5.7, {"neurons": 16384, "seed": range(11)}, F),
    ("q2-projection-union", "q2-tails", "projection", 5.7, {"neurons": 16384, "seed": range(10)}, H),
    ("q2-projection-paper", "q2-tails", "projection", 23.1, {"neurons": 64, "seed": 3}, F),
    ("q2-projection-constant", "q2-tails", "projection", 4.61, {"neurons": 64, "seed": range(11)}, F),
    ("q2-projection-constant", "q2-tails", "projection", 4.5, {"neurons": 16384}, F),
    ("q2-moved-projection", Q6, "moved_projection", 1 + 2e-9, {"factor": 1.0, "seed": 1}, F),
    ("q2-moved-projection", Q6, "moved_projection", 1 + 5e-10, {"factor": 1.0, "seed": 1}, H),
    ("q2-exponentials", Q6, "moved_exponential", 1.01, {"factor": 1.0, "shift": "random"}, F),
    ("q2-difference", Q6, "difference", 1.01, {"factor": 1.0, "radius": 9e-3}, F),
    ("q2-exponential-difference", Q6, "exponential_difference", 1.1, {"factor": 1.0, "seed": 0}, F),
    ("q3-kernel-exp", Q3, "estimate", lambda v: v + 6e-4, {"activation": "exp", "point": 0, "other": 1}, F),
    ("q3-kernel-exp", Q3, "estimate", lambda v: v + 6e-4, {"activation": "relu"}, H),
    ("q3-kernel-cosh", Q3, "estimate", lambda v: v - 7e-4, {"activation": "cosh", "weight_scale": 0.5}, F),
    ("q3-kernel-sinh", Q3, "estimate", lambda v: v - 7e-4, {"activation": "sinh", "weight_scale": 0.25}, F),
    ("q3-kernel-relu", Q3, "estimate", lambda v: v + 6e-4, {"activation": "relu", "point": 2, "other": 2}, F),
    ("q5-entrywise", X1, "entry_error", 1e-4, {"neurons": 10_000, "weight_scale": 0.25}, H),
    ("q5-entrywise", X1, "entry_error", 1e-4, {"neurons": 100, "weight_scale": 0.25}, F),
    ("q5-entrywise-corrected", X1, "entry_error", 10.0, {"neurons": 1000, "weight_scale": 0.25, "seed": range(3)}, F),
    ("q5-entrywise-corrected", X1, "entry_error", 10.0, {"neurons": 1000, "weight_scale": 0.25, "seed": range(2)}, H),
    ("q5-entrywise-corrected", X1, "entry_error", 1e6, {"weight_scale": 1.0}, H),
    ("q5-weyl", "q5-width", "kernel_least", 0.74, {"weight_scale": 0.05, "seed": 7}, F),
    ("q5-weyl", "q5-width", "kernel_least", 0.1, {"weight_scale": 1.0}, H),
    ("q5-weyl", X1, "kernel_least", 0.74, {"neurons": 10_000}, F),
    ("q5-width-draw", "q5-width", "kernel_error", 0.3, {"weight_scale": 0.05, "seed": range(11)}, F),
    ("q5-width-draw", "q5-width", "kernel_least", 0.7, {"weight_scale": 0.05, "seed": range(11)}, F),
    ("q5-width-draw", "q5-width", "kernel_least", 0.7, {"weight_scale": 0.05, "seed": range(10)}, H),
    ("q6-frobenius", Q6, "frobenius_change", 1.1, {"factor": 1.0, "radius": 9e-4, "seed": 2}, F),
    ("q6-frobenius", Q6, "frobenius_change", 1.1, {"factor": 1.0, "radius": 9e-3}, H),
    ("q6-entrywise", Q6, "entry_change", 1.1, {"factor": 1.0, "radius": 1e-4, "shift": "random"}, F),
    ("q6-equality", Q6, "pair_change", 1 - 2e-10, {"factor": 1.0, "radius": 1e-4, "shift": "pair"}, F),
    ("q7-zero-output", "q7-initial", "outputs", 1e-17, {**C, "seed": 3, "point": 1}, F),
    ("q7-initial-loss", "q7-initial", "error_square", lambda v: v + 1e-15, {**C, "seed": 3}, F),
    ("q7-independent-variance", "q7-initial", "outputs", lambda v: 2 * v, {**J, "point": 2, "neurons": 64}, F),
    ("q8-first-order", X5, "decomposition_first", 1e-11, J, H),
    ("q8-first-order", X5, "decomposition_first", 1e-11, C, F),
    ("q8-second-order-sign", X5, "decomposition_second", 1e-11, J, H),
    ("q8-decomposition-corrected", X2, "decomposition", 2e-10, {**J, "seed": 3, "neurons": 64}, F),
    ("q8-decomposition-corrected", X5, "decomposition", 2e-10, {**C, "seed": 3}, F),
    ("q8-decomposition-corrected", X6, "decomposition", 2e-10, {"step_constant": 3.0, "seed": 0}, F),
    ("q8-decomposition-corrected", X6, "decomposition", 2e-10, {"step_constant": 4.0}, H),
    ("q9-first-order-bound", X2, "first_order", 1.01, {**C, "seed": 3, "neurons": 64}, F),
    ("q9-first-order-bound", X2, "first_order", -inf, {"neurons": 64}, H),
    ("q9-first-order-bound", X2, "first_order", -inf, {}, U),
    ("q10-asymmetric", X2, "asymmetric", 1.01, {**C, "seed": 3, "mask": "signs"}, F),
    ("q11-second-order-corrected", X2, "second_order", 1.01, {**J, "seed": 0}, F),
    ("q11-second-order-corrected", X5, "second_order", 1.01, {**J, "seed": 0}, F),
    ("q12-third-term", X2, "third_order", 1.01, {"seed": 0, "neurons": 4096}, F),
    ("q12-third-term", X2, "third_order", -inf, {}, U),
    ("q12-third-term-stated", X2, "third_order_stated", 1.01, {"seed": 0, "neurons": 4096}, F),
    ("q13-gradient-norm", X5, "gradient_norm", 1.01, {"seed": 2, "neurons": 64}, F),
    ("q13-gradient-norm", X2, "gradient_norm", 1.01, {"seed": 2, "neurons": 64}, F),
    ("q14-step", "q16-theory", "step_length", 0.0101, {"seed": 4}, F),
    ("q14-step", X9, "error_norm", 1.1, {"seed": 4, "problem": "n=1, σ=0.2"}, F),
    ("q15-drift-bound", X2, "drift_ratio", 1.1, {**C, "neurons": 256, "seed": 0}, F),
    ("q15-drift-bound", X2, "drift_ratio", 1.1, {**J}, H),
    ("q15-drift-bound", X2, "drift_ratio", 1.1, {**C, "neurons": 64}, H),
    ("q15-drift-bound", X3, "drift_ratio", 1.1, {"scale": "one", "seed": 2, "neurons": 128}, F),
    ("q15-drift-bound", X3, "drift_ratio", 1.1, {"scale": "inv_sqrt_m"}, H),
    ("q15-drift-bound", X3, "kernel_kept", 0.4, {}, U),
    ("q15-drift-bound", X3, "contraction", 1.1, {}, U),
    ("q15-lazy-drift", X3, "lazy_error", 0.02, {"scale": "one", "neurons": 128, "seed": 4}, F),
    ("q15-lazy-drift-width", X3, "lazy_error", lambda v: 20 * v, {"scale": "one", "neurons": 8192}, F),
    ("q15-lazy-drift-width", X3, "lazy_error", 0.0, {"scale": "one", "neurons": 8192, "seed": 0}, U),
    ("q16-contraction-dis", X2, "contraction", 1 + 2e-9, {**C, "rate_of": "H(0)", "neurons": 64, "seed": 9}, F),
    ("q16-contraction-dis", X2, "contraction", 1 + 2e-9, {**J, "rate_of": "H(0)"}, H),
    ("q16-contraction-dis", X2, "contraction", 5.0, {**C, "rate_of": "limit"}, H),
    ("q16-contraction-dis", "q16-samplers", "contraction", 1.01, {"rate_of": "H(0)", "data_law": "teacher"}, F),
    ("q16-contraction-dis", "q16-theory", "contraction", 1 + 1e-11, {"rate_of": "H(0)", "seed": 1}, F),
    ("q16-contraction-dis", "q16-samplers", "contraction", 1 + 1e-11, {"rate_of": "H(0)", "seed": 1}, H),
    ("q16-contraction-dis", X6, "contraction", 1.01, {"rate_of": "H(0)", "step_constant": 1.0, "seed": 1}, F),
    ("q16-contraction-dis", X6, "contraction", 1.01, {"rate_of": "H(0)", "step_constant": 1.5}, H),
    ("q16-contraction-cts", X2, "contraction", 1.01, {**C, "rate_of": "limit", "neurons": 1024, "seed": 1}, F),
    ("q16-contraction-cts", X2, "contraction", 9.0, {**C, "rate_of": "limit", "neurons": 64}, H),
    ("q16-contraction-cts", X2, "kernel_kept", 0.49, {**C, "neurons": [256, 1024]}, U),
    ("q16-contraction-cts", X2, "kernel_kept", 0.49, {**C, "neurons": 256}, H),
    ("q16-contraction-cts", X2, "kernel_kept", nan, C, U),
    # a run in which a bound without a hypothesis was not judged is no run that meets it
    ("q8-decomposition-corrected", X2, "decomposition", nan, {"neurons": 64, "seed": 0}, U),
    ("q13-gradient-norm", X2, "gradient_norm", nan, {"neurons": 64, "seed": 0}, U),
    ("q16-contraction-dis", X2, "contraction", nan, {**C, "neurons": 64, "seed": 0}, U),
    ("q16-contraction-cts", X2, "contraction", nan, {**C, "neurons": 256, "seed": 0}, U),
    ("q16-contraction-narrow", X2, "kernel_kept", 0.9, {**NARROW, "seed": range(5)}, H),
    ("q16-contraction-narrow", X2, "kernel_kept", 0.9, {**NARROW, "seed": range(4)}, U),
    ("q16-contraction-narrow", X2, "kernel_kept", 0.9, {**C, "neurons": 64, "problem": "n=6, d=6"}, U),
    ("q17-hitting", X2, "reached_step", inf, {**C, "neurons": 256, "seed": 0}, F),
    ("q17-hitting", X2, "reached_step", 701.0, {**C, "neurons": 256, "seed": 0}, F),
    ("q17-hitting", X2, "reached_step", inf, {**C, "neurons": 64}, H),
    ("q17-hitting", X2, "predicted_steps", 20_001.0, C, U),
    ("q17-hitting", X2, "kernel_kept", 0.4, C, U),
    ("q17-paper-width", "x8-vacuity", "log_width", 5.0, {}, U),
    ("q18-deviation", X2, "linear_deviation", 2e-3, {**C, "neurons": 1024, **MIDDLE, "seed": range(6)}, F),
    ("q18-deviation", X2, "linear_deviation", 2e-3, {**C, "neurons": 1024, **MIDDLE, "seed": range(4)}, H),
    ("q18-deviation", X2, "linear_deviation", 0.5, {**C, "neurons": 256}, H),
    ("q18-deviation", X2, "linear_deviation", nan, {**C, "neurons": 1024, "seed": 0}, U),
    ("q18-slope", X2, "linear_deviation", lambda v: 100 * v, {**C, "neurons": 4096, **WIDE}, F),
    ("q18-slope", X2, "linear_deviation", nan, {**C, "neurons": 1024}, U),
    ("q21-limit", "q21-flow", "flow_error", 2e-6, {"variant": "c=0.001", "formula": "exact", "seed": 3}, F),
    ("q21-limit", "q21-flow", "flow_error", 2e-6, {"variant": "c=0.01", "formula": "exact"}, H),
    ("q21-order", "q21-flow", "flow_error", 2e-6, {"variant": "c=0.01", "formula": "exact", "seed": 3}, F),
    ("q21-line", "q21-flow", "flow_across", 1e-11, {"variant": "c=0.1", "seed": 3}, F),
    ("q21-decoupling", XO, "separate_difference", 1e-11, {"data_law": "orthonormal", "seed": 0}, F),
    ("q21-decoupling", XO, "separate_difference", 1e-11, {"data_law": "orthonormal", "step_constant": 0.05}, H),
    ("x1-ratio", X1, "kernel_error", lambda v: 1.12 * v, {"neurons": 1000, "weight_scale": 0.5}, F),
    ("x1-ratio", X1, "kernel_error", lambda v: 2 * v, {"weight_scale": 1.0}, H),
    ("x1-slope", X1, "kernel_error", lambda v: 2 * v, {"neurons": 10_000, "weight_scale": 0.25}, F),
    ("x3-mean", X3, "drift", lambda v: 3 * v, {"neurons": 8192, "scale": "one", "statistic": "mean"}, F),
    ("x3-mean", X3, "drift", lambda v: 3 * v, {"neurons": 8192, "scale": "one", "statistic": "median"}, H),
    ("x3-mean", X3, "drift", 9.0, {"record": 1}, H),
    ("x3-median", X3, "drift", lambda v: 3 * v, {"neurons": 8192, "scale": "one", "statistic": "median"}, F),
    ("x3-max", X3, "drift", lambda v: v / 3, {"neurons": 8192, "scale": "one", "statistic": "max"}, F),
    ("x3-max", X3, "drift", 0.0, {"scale": "one", "neurons": 128, "record": 3, "seed": 0}, U),
    ("x4-frontier-n", "x4-frontier-n", "reached_step", inf, {"samples": 20}, U),
    ("x4-frontier-n", "x4-frontier-n", "reached_step", 501.0, {"samples": 10}, U),
    ("x4-frontier-n", "x4-frontier-n", "reached_step", inf, {"samples": 20, "variant": ["32", "64", "128"]}, H),
    ("x4-frontier-lambda", "x4-frontier-lambda", "reached_step", inf, {"pair_angle": 0.25}, U),
    ("x4-frontier-lambda", "x4-frontier-lambda", "limit_least", lambda v: v**0.2, {}, H),
    ("x5-converge", X5, "reached_step", inf, {**J, "seed": 4, "neurons": 64}, F),
    ("x5-converge", X5, "reached_step", 5001.0, {**C, "seed": 4, "neurons": 64}, F),
    ("x5-drift-ratio", X5, "drift", 0.05, {**J, "statistic": "max", "record": 3, "neurons": 256, "seed": range(6)}, F),
    ("x5-drift-ratio", X5, "drift", 0.05, {**J, "statistic": "max", "record": 3, "neurons": 256, "seed": range(4)}, H),
    ("x5-drift-ratio", X5, "drift", 0.05, {**J, "statistic": "max", "record": 3, "neurons": 64}, H),
    ("x5-not-lazy", X5, "drift", 0.29, {**J, "statistic": "max", "record": 3, "neurons": 64, "seed": range(6)}, F),
    ("x5-not-lazy", X5, "drift", 0.29, {**J, "statistic": "mean"}, H),
    ("x6-monotone", X6, "peak_ratio", 1.02, {"step_constant": 1.9, "neurons": 64, "seed": 5}, F),
    ("x6-monotone", X6, "diverged", 1.0, {"step_constant": 0.5, "neurons": 64, "seed": 5}, F),
    ("x6-catapult", X6, "diverged", 1.0, {"step_constant": 3.0, "neurons": 1024, "seed": 5}, F),
    ("x6-catapult", X6, "final_ratio", 2e-3, {"step_constant": 2.5, "seed": 5}, F),
    ("x6-catapult", X6, "peak_ratio", 1.0, {"step_constant": 2.1, "seed": 0}, F),
    ("x6-catapult", X6, "diverged", 0.0, {"step_constant": 4.0}, H),
    ("x6-flattening", X6, "end_largest", 27.0, {"step_constant": 3.0, "seed": 0}, F),
    ("x6-flattening", X6, "end_largest", 90.0, {"step_constant": 4.0}, H),
    ("x7-floor-relu", X7, "final_square", 0.397, {"activation": "relu", "pair": "parallel", "seed": 0}, F),
    ("x7-floor-cosh", X7, "final_square", 0.612, {"activation": "cosh", "pair": "antipodal", "seed": 0}, F),
    ("x7-floor-sinh", X7, "final_square", 0.12, {"activation": "sinh", "pair": "antipodal", "seed": 0}, F),
    ("x7-exp", X7, "reached_step", inf, {"activation": "exp", "pair": "parallel", "seed": 4}, F),
    ("x7-exp", X7, "reached_step", inf, {"activation": "cosh"}, H),
    ("x9-reached", X9, "reached_step", inf, {"problem": "n=1, σ=0.2", "seed": 4}, F),
    ("x9-reached", X9, "reached_step", 1001.0, {"problem": "n=2, σ=0.05", "seed": 4}, F),
    ("x9-contraction", X9, "contraction", 1.01, {"rate_of": "limit", "problem": "n=2, σ=0.05", "seed": 4}, F),
    ("x9-contraction", X9, "contraction", 1.01, {"rate_of": "H(0)"}, H),
    ("x9-drift", X9, "largest_drift", 1.1e-3, {"problem": "n=2, σ=0.05", "seed": 0}, F),
    ("x9-drift", X9, "drift_bound", 2e-3, {"problem": "n=2, σ=0.05", "seed": 0}, F),
    ("x9-step", X9, "step_length", 0.0101, {"problem": "n=2, σ=0.05", "seed": 0}, F),
    ("x9-kernel", X9, "kernel_error", 0.26, {"problem": "n=2, σ=0.05", "seed": 0}, F),
    ("x9-hitting", X9, "reached_step", 260.0, {"problem": "n=1, σ=0.2", "seed": 2}, F),
    ("x9-hitting", X9, "reached_step", 240.0, {"problem": "n=1, σ=0.2", "seed": 2}, F),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "variable", "value", "where", "outcome"),
    RAISED,
    ids=[f"{row[0]}-{i}" for i, row in enumerate(RAISED)],
)
def test_a_claim_answers_to_one_change_in_its_data(name, data, variable, value, where, outcome):
    finding = examine(CLAIMS[name], change(data, variable, value, **where))
    assert finding.verdict.outcome == outcome, finding.verdict.note


def test_every_claim_that_reads_data_is_changed_so_that_it_answers_otherwise():
    otherwise = {row[0] for row in RAISED if row[5] != REGISTER[row[0]][2]}
    # the tight case of q11 does not look at data, and no data can make a width of 10^41 runnable
    assert set(READING) - otherwise == {"q11-second-order", "q17-paper-width"}


@pytest.mark.parametrize("name", [name for name in READING if name not in ("q11-second-order", "q17-paper-width")])
def test_where_nothing_was_measured_a_claim_does_not_hold(name):
    claim = CLAIMS[name]
    empty = {key: WORLD[key].map(lambda values: values * nan) for key in claim.reads}
    assert examine(claim, empty).verdict.outcome != HOLDS


def test_what_cannot_be_run_is_called_vacuous_with_what_is_usable_instead():
    note = examine(CLAIMS["q17-paper-width"], WORLD).verdict.note
    assert note.startswith("vacuous here")
    assert "10^41.0 neurons" in note
    assert "5000 neurons" in note


@pytest.mark.parametrize(
    ("width", "steps", "outcome"),
    [(3.0, 2.5, HOLDS), (3.0, 2.0, FAILS), (nan, 2.5, FAILS), (3.0, nan, FAILS), (5.0, 2.5, U), (41.0, 2.5, U)],
)
def test_printed_numbers_that_can_be_run_are_judged_by_runs_and_numbers_that_are_none_fail(width, steps, outcome):
    asked = WORLD["x8-vacuity"]
    asked = asked.assign(log_width=asked.log_width * 0 + width, log_iterations=asked.log_width * 0 + steps)
    finding = examine(CLAIMS["q17-paper-width"], WORLD | {"x8-vacuity": asked})
    assert finding.verdict.outcome == outcome
    assert finding.controls[0][1].outcome == HOLDS


@pytest.mark.parametrize(("steps", "outcome"), [(2.9, FAILS), (4.0, U)])
def test_runs_that_end_before_the_printed_number_of_steps_decide_nothing(steps, outcome):
    asked, never = WORLD["x8-vacuity"], change("q16-theory", "reached_step", inf)
    asked = asked.assign(log_width=asked.log_width * 0 + 3, log_iterations=asked.log_width * 0 + steps)
    found = examine(CLAIMS["q17-paper-width"], WORLD | never | {"x8-vacuity": asked}).verdict
    assert found.outcome == outcome
    assert ("end before that" in found.note) == (outcome == U)


def test_the_share_of_gated_runs_is_reported_by_width():
    note = examine(CLAIMS["q16-contraction-cts"], WORLD).verdict.note
    for label in ("256 (100% gated)", "1024 (100% gated)", "4096 (100% gated)"):
        assert label in note
    some = change(X2, "kernel_kept", 0.8, init="coupled", neurons=64, seed=range(3))
    assert "64 (30% gated)" in examine(CLAIMS["q16-contraction-cts"], some).verdict.note
    few = examine(CLAIMS["q16-contraction-narrow"], WORLD).verdict
    assert "conditions not met" in few.note


def test_the_control_of_the_gated_contraction_looks_at_the_gate_of_the_intact_run():
    claim = CLAIMS["q16-contraction-cts"]
    # the run with c = 2.5 leaves the gate: still judged
    ungated = change(X6, "kernel_kept", 0.1, step_constant=2.5)
    assert examine(claim, ungated).controls[0][1].outcome == FAILS
    none = change(X6, "kernel_kept", 0.1, step_constant=0.5)
    assert examine(claim, none).controls[0][1].outcome == INCONCLUSIVE


def test_a_singular_kernel_that_predicts_nothing_is_no_success_of_the_frontier():
    # T is infinite where the kernel is singular; a run that never arrives has not arrived "within T"
    singular = change("x4-frontier-n", "predicted_steps", inf)
    finding = examine(CLAIMS["x4-frontier-n"], singular)
    assert finding.controls[0][1].outcome == INCONCLUSIVE
    never = singular["x4-frontier-n"].assign(reached_step=WORLD["x4-frontier-n"].reached_step * inf)
    assert examine(CLAIMS["x4-frontier-n"], singular | {"x4-frontier-n": never}).verdict.outcome == INCONCLUSIVE


def test_a_steep_frontier_fails_and_a_flat_one_holds():
    # widths 4, 32, 256 for n = 5, 10, 20: exponent 3
    data = WORLD["x4-frontier-n"]
    labels = [str(label) for label in data.variant.values]
    m = np.array([float(label) if label.isdigit() else 0 for label in labels])
    least = np.array([4.0, 32.0, 256.0])
    hits = np.where(m[None, :, None] >= least[:, None, None], 100.0, inf) + np.zeros(data.reached_step.shape)
    steep = data.assign(reached_step=(data.reached_step.dims, hits))
    verdict = examine(CLAIMS["x4-frontier-n"], {"x4-frontier-n": steep}).verdict
    assert verdict.outcome == FAILS
    assert verdict.measured == pytest.approx(3.0)
    # 90 % of the seeds suffice, 85 % do not
    for missing, outcome in ((2, HOLDS), (3, INCONCLUSIVE)):
        lost = change("x4-frontier-n", "reached_step", inf, samples=20, seed=range(missing))
        assert examine(CLAIMS["x4-frontier-n"], lost).verdict.outcome == outcome

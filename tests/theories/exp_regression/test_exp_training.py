"""Training of the exponential network: section 8's numbers, symmetries, layouts, stops, divergence, the paper's η."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exp_runs import (
    FIRST,
    RUNS,
    SECOND,
    SEED,
    SMALL,
    STOPPING,
    TWO_POINTS,
    constants,
    plain_kernel,
    plain_limit,
    plain_outputs,
    plain_path,
    simulated,
    started,
    trained,
)

import lemmata as lm
from lemmata.lab.ensemble import CPU, GPU, simulate_runs
from lemmata.lab.errors import UserError
from lemmata.lab.precision import numerics
from lemmata.networks.kernels import Spectrum
from lemmata.theories.exp_regression.data import draw
from lemmata.theories.exp_regression.decomposition import take_step
from lemmata.theories.exp_regression.network import initialise
from lemmata.theories.exp_regression.probes import linear_square
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.training import fit, simulate, train

# The numbers of section 8


def test_the_first_step_of_the_two_point_network_has_the_specified_output_and_error():
    found = simulated(TWO_POINTS)
    np.testing.assert_array_equal(found["step"], np.arange(101))
    np.testing.assert_array_equal(found["outputs"][0], 0)
    np.testing.assert_allclose(found["outputs"][1], [0.02915837, 0.00592915], atol=5e-9)
    assert found["square"][0] == 0.3125
    assert found["square"][1] == pytest.approx(0.28719157, abs=5e-9)
    assert found["eta"] == 0.01


def test_a_hundred_steps_of_the_two_point_network_end_at_the_specified_values():
    found = simulated(TWO_POINTS)
    np.testing.assert_allclose(found["outputs"][-1], [0.47307257, -0.20485539], atol=5e-9)
    assert found["final_square"] == pytest.approx(0.00276312, abs=5e-9)
    assert found["start_least"] == pytest.approx(0.52818667, abs=5e-9)
    assert found["start_largest"] == pytest.approx(2.34296191, abs=5e-9)
    assert found["limit_least"] == pytest.approx(4.41723664, abs=5e-9)
    assert found["limit_largest"] == pytest.approx(10.36087555, abs=5e-9)


def test_the_practical_step_of_the_two_point_network_is_as_specified():
    found = simulated(TWO_POINTS.replace(step="practical", step_constant=0.5))
    assert found["eta"] == pytest.approx(0.05335127, abs=5e-9)
    assert found["square"][100] == pytest.approx(2.12206e-12, rel=1e-5)


def two_point_terms(eta: float) -> Any:
    with numerics("float64"):
        problem = TWO_POINTS.problem()
        data = draw(problem, jax.random.key(0))
        weights, head = initialise(problem, jax.random.key(0))
        return jax.device_get(jax.jit(take_step)(weights, head, data.x, data.y, jnp.asarray(eta))[0])


def test_the_three_terms_of_the_first_step_are_as_specified():
    terms = two_point_terms(0.01)
    assert terms.first == pytest.approx(-0.02619364, abs=5e-9)
    assert terms.second == pytest.approx(-1.577933e-7, rel=1e-6)
    assert terms.third == pytest.approx(8.853652e-4, rel=1e-6)
    assert terms.square + terms.first + terms.second + terms.third == pytest.approx(terms.next_square, rel=1e-14)


def test_the_quadratic_terms_of_a_pair_cancel_in_the_first_step():
    assert two_point_terms(0.01).second / 0.01**3 == pytest.approx(-0.157793, abs=5e-7)
    assert two_point_terms(0.04).second / 0.04**3 == pytest.approx(-0.157798, abs=5e-7)


def test_the_linearised_error_is_that_of_explicit_matrix_powers():
    found = simulated(TWO_POINTS)
    x, y, W, _, _ = started(TWO_POINTS)
    H = plain_kernel(x, W)
    for t in (0, 1, 7, 100):
        e = np.linalg.matrix_power(np.eye(2) - 4 * 0.01 * H, t) @ -y
        assert found["linear_square"][t] == pytest.approx(e @ e, rel=1e-12)
        np.testing.assert_allclose(found["linear_mode_residual"][t] ** 2 @ np.ones(2), e @ e, rtol=1e-12)
    with numerics("float64"):
        start = Spectrum(*np.linalg.eigh(H))
        direct = jax.jit(linear_square)(start, np.asarray(0.04), -y, np.asarray(7))
    e = np.linalg.matrix_power(np.eye(2) - 0.04 * H, 7) @ -y
    assert float(direct) == pytest.approx(e @ e, rel=1e-12)
    np.testing.assert_allclose(found["mode_value"], np.linalg.eigvalsh(H), rtol=1e-12)


def test_residuals_by_eigenvector_have_the_length_of_the_residual():
    found = simulated(TWO_POINTS)
    np.testing.assert_allclose(np.sum(found["mode_residual"] ** 2, axis=1), found["square"], rtol=1e-12)
    x, _, W0, _, _ = started(TWO_POINTS)
    vectors = np.linalg.eigh(plain_kernel(x, W0))[1]
    projected = (found["outputs"] - [0.5, -0.25]) @ vectors
    np.testing.assert_allclose(abs(found["mode_residual"]), abs(projected), rtol=1e-9, atol=1e-15)


# Symmetries


def test_the_members_of_a_pair_move_oppositely_in_the_first_step_and_only_then():
    start = trained(SMALL.replace(steps=0)).state.weights
    once = trained(SMALL.replace(steps=1)).state.weights
    twice = trained(SMALL.replace(steps=2)).state.weights
    assert np.abs(once - start).max() > 1e-3
    np.testing.assert_array_equal(start[:, FIRST], start[:, SECOND])
    np.testing.assert_allclose(once[:, FIRST] + once[:, SECOND], 2 * start[:, SECOND], rtol=0, atol=1e-15)
    assert np.abs(twice[:, FIRST] + twice[:, SECOND] - 2 * start[:, SECOND]).max() > 1e-6


def test_with_a_coupled_start_the_opposite_targets_exchange_the_members_of_every_pair():
    x, y, _, _, _ = started(SMALL)
    given = SMALL.replace(data_law="given", inputs=x, targets=y)
    one, other = trained(given), trained(given.replace(targets=-y))
    assert np.abs(one.state.weights[:, FIRST] - one.state.weights[:, SECOND]).max() > 1e-2
    np.testing.assert_allclose(other.state.weights[:, FIRST], one.state.weights[:, SECOND], rtol=0, atol=1e-14)
    np.testing.assert_allclose(other.state.weights[:, SECOND], one.state.weights[:, FIRST], rtol=0, atol=1e-14)
    np.testing.assert_allclose(other.state.outputs, -one.state.outputs, rtol=0, atol=1e-14)


# Programs, layouts, precision


def test_the_room_for_neurons_does_not_change_a_run():
    narrow = simulated(STOPPING.replace(stop="never"), SEED)
    wide = simulated(STOPPING.replace(stop="never", neuron_room=128), SEED)
    assert narrow.keys() == wide.keys()
    # the masks of Q10 are drawn for the whole room
    for key in narrow.keys() - {"asymmetric"}:
        np.testing.assert_allclose(wide[key], narrow[key], rtol=1e-7, atol=1e-13, err_msg=key)


def test_stacked_and_single_runs_agree_to_rounding():
    plain = STOPPING.replace(track="loss")
    runs = [(plain, 0), (plain, SEED)] + [(plain.replace(step_constant=c), SEED) for c in (2.4, 60.0)]
    stacked = simulate_runs(simulate, runs, GPU, "float64")
    single = simulate_runs(simulate, runs, CPU, "float64")
    assert [float(found["diverged"]) for found in single] == [0, 0, 0, 1]
    for one, two in zip(stacked, single, strict=True):
        assert one.keys() == two.keys()
        for key in one:
            np.testing.assert_allclose(one[key], two[key], rtol=1e-6, atol=1e-12, err_msg=key)


def test_single_precision_agrees_with_double_to_a_thousandth_over_fifty_steps():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((10, 10))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y, half = rng.uniform(-1, 1, 10), rng.standard_normal((512, 10))
    W, a = np.repeat(half, 2, axis=0).T, np.tile([1.0, -1.0], 512)
    eta = 0.5 / (1024 * np.linalg.eigvalsh(plain_kernel(x, W))[-1])
    setting = Setting(
        data_law="given", inputs=x, targets=y, init="given", weights=W.T, output_signs=a, neurons=1024, step="given",
        step_size=eta, steps=50, records=51, stop="never", track="points",
    )  # fmt: skip
    exact = []
    for _ in range(51):
        exact.append(plain_outputs(x, W, a, 1.0))
        W = W - eta * a * (x.T @ ((exact[-1] - y)[:, None] * np.exp(x @ W)))
    (rough,) = simulate_runs(simulate, [(setting, 0)], CPU, "float32")
    assert rough["outputs"].dtype == np.float32
    np.testing.assert_array_equal(rough["step"], np.arange(51))
    assert np.abs(exact[50] - exact[0]).max() > 0.1
    np.testing.assert_allclose(rough["outputs"], exact, rtol=0, atol=1e-3)
    assert np.abs(rough["outputs"] - exact).max() > 1e-8


def test_every_result_is_double_precision_and_declared():
    declared = {variable.name for variable in simulate.variables}
    returned = set()
    for setting in (SMALL, TWO_POINTS, SMALL.replace(compare="separate"), SMALL.replace(compare="flow")):
        found = simulated(setting)
        returned |= found.keys()
        assert {key: value.dtype for key, value in found.items()} == dict.fromkeys(found, np.dtype("float64"))
    assert returned == declared


def test_the_training_of_other_stops_steps_horizons_and_tied_points_is_the_same_program():
    simulated(SMALL)
    before = train.count_programs()
    for change in ({"stop": "tolerance"}, {"step": "theory"}, {"horizon": "predicted"}, {"pair": "antipodal"}):
        simulated(SMALL.replace(**change))
    assert train.count_programs() == before


# Where a run ends


def test_a_run_that_stops_at_the_tolerance_ends_with_the_first_step_that_meets_it():
    found = simulated(STOPPING, SEED)
    x, y, _, a, kappa = started(STOPPING, SEED)
    path = plain_path(STOPPING, SEED, float(found["eta"]), 400)
    squares = np.array([np.sum((plain_outputs(x, W, a, kappa) - y) ** 2) for W in path])
    first = int(np.argmax(squares <= 1e-3))
    assert 5 < first < 400
    steps = found["step"][~np.isnan(found["step"])]
    assert found["reached_step"] == steps[-1] == first
    assert len(steps) < STOPPING.records
    assert found["final_square"] == pytest.approx(squares[first], rel=1e-9)
    assert found["final_square"] <= 1e-3 < squares[first - 1]
    assert found["square"][len(steps) - 1] == found["final_square"]


def test_a_run_that_goes_on_hits_the_tolerance_at_the_same_step():
    stopped = simulated(STOPPING, SEED)
    for stop, end in (("never", 400), ("rounding", None)):
        found = simulated(STOPPING.replace(stop=stop), SEED)
        assert found["reached_step"] == stopped["reached_step"]
        last = found["step"][~np.isnan(found["step"])][-1]
        if end is None:
            assert found["final_square"] <= 1e-20
            assert stopped["reached_step"] < last < 400
        else:
            assert last == end


def test_a_run_that_starts_within_the_tolerance_hits_it_at_step_zero():
    x, y, _, _, _ = started(SMALL)
    given = STOPPING.replace(data_law="given", inputs=x, targets=y / 100)
    found = simulated(given)
    assert found["initial_square"] < 1e-3
    assert found["reached_step"] == 0
    assert found["predicted_steps"] == 0
    assert np.nanmax(found["step"]) == 0


def test_a_tolerance_that_is_not_met_is_never_hit():
    found = simulated(STOPPING.replace(steps=3), SEED)
    assert found["final_square"] > 1e-3
    assert found["reached_step"] == math.inf


def test_the_predicted_horizon_is_the_formula_between_its_floor_and_its_cap():
    predicted = SMALL.replace(horizon="predicted", steps=20_000)
    known = constants(predicted, SEED)
    x, y, W0, _, _ = started(SMALL, SEED)
    rate = 0.5 / np.linalg.eigvalsh(plain_kernel(x, W0))[-1]
    T = math.ceil(2 / (rate * np.linalg.eigvalsh(plain_limit(x))[0]) * math.log(y @ y / 1e-3))
    assert known.predicted_steps == known.steps == T
    assert constants(predicted.replace(least_steps=T + 50), SEED).steps == T + 50
    assert constants(predicted.replace(steps=T - 2), SEED).steps == T - 2
    assert constants(SMALL, SEED).steps == 40
    found = simulated(predicted, SEED)
    assert found["step"][-1] == T
    assert found["predicted_steps"] == T


def test_frozen_weights_stay_where_they_are():
    found = simulated(SMALL.replace(trained=0), SEED)
    np.testing.assert_array_equal(found["drift"], 0)
    np.testing.assert_array_equal(found["square"], found["initial_square"])
    np.testing.assert_array_equal(found["kernel_change"], 0)
    assert found["reached_step"] == math.inf
    assert found["diverged"] == 0


# Divergence

HUGE = {
    "far beyond the edge": SMALL.replace(step_constant=60.0),
    "overflow at once": SMALL.replace(step="given", step_size=1e6),
    "overflow of the weights": SMALL.replace(step="given", step_size=1e300),
}


@pytest.mark.parametrize("case", HUGE)
def test_a_diverging_run_is_frozen_at_its_last_accepted_state(case):
    setting = HUGE[case]
    found = simulated(setting, SEED)
    x, y, W0, a, kappa = started(setting, SEED)
    W, done, square0 = W0, 0, y @ y
    with np.errstate(all="ignore"):
        while True:
            gradient = kappa * a * (x.T @ ((plain_outputs(x, W, a, kappa) - y)[:, None] * np.exp(x @ W)))
            after = W - float(found["eta"]) * gradient
            square = np.sum((plain_outputs(x, after, a, kappa) - y) ** 2)
            if not square <= 1e8 * square0:
                break
            W, done = after, done + 1
            assert done < 40
    assert found["diverged"] == 1
    steps = found["step"][~np.isnan(found["step"])]
    assert steps[-1] == done
    expected = np.sum((plain_outputs(x, W, a, kappa) - y) ** 2)
    assert found["final_square"] == pytest.approx(expected, rel=1e-9)
    assert found["largest_drift"] == pytest.approx(np.linalg.norm(W - W0, axis=0).max(), rel=1e-9)
    assert found["square"][len(steps) - 1] == found["final_square"]
    optional = {variable.name for variable in simulate.variables if variable.optional}
    for key in found.keys() - optional - {"reached_step"}:
        kept = found[key][: len(steps)] if "record" in simulate.variable(key).dims else found[key]
        assert np.all(np.isfinite(kept)), key
    assert not any(np.any(np.isposinf(found[key])) for key in optional & found.keys() - {"contraction"})


def test_a_single_run_that_diverges_is_an_error_that_names_the_step_constant():
    with pytest.raises(UserError, match=r"diverged after step \d+.*smaller.*step_constant = 60"):
        fit(HUGE["far beyond the edge"], SEED)
    found = fit(SMALL, SEED)
    assert found["final_square"] == simulated(SMALL, SEED)["final_square"]


def test_growth_below_the_guard_is_not_divergence():
    found = simulated(RUNS["catapult"], SEED)
    assert found["peak_ratio"] > 1.5
    assert found["diverged"] == 0


# The paper's step size


@pytest.mark.parametrize("source", ["paper", "union", "empirical"])
def test_the_theory_step_is_the_formula_with_the_chosen_bound_on_projections(source):
    setting = SMALL.replace(step="theory", projection_source=source, tail_constant=1.5, failure_probability=0.02)
    x, _, W0, _, _ = started(setting, SEED)
    B = {
        "paper": 1.5 * math.sqrt(math.log(2 / 0.02)),
        "union": math.sqrt(2 * math.log(2 * 16 * 2 / 0.02)),
        "empirical": np.abs(x @ W0).max(),
    }[source]
    known = constants(setting, SEED)
    lam = np.linalg.eigvalsh(plain_limit(x))[0]
    assert pytest.approx(B, rel=1e-12) == known.B
    assert known.eta == pytest.approx(0.01 * lam / (16 * 4 * math.exp(4 * B)), rel=1e-10)
    assert known.rate == pytest.approx(16 * known.eta, rel=1e-14)


def test_the_documents_radius_and_drift_use_the_bound_of_the_chosen_source():
    setting = SMALL.replace(step="theory", projection_source="union")
    found = simulated(setting, SEED)
    x, y, _, _, _ = started(setting, SEED)
    lam = np.linalg.eigvalsh(plain_limit(x))[0]
    B = math.sqrt(2 * math.log(2 * 16 * 2 / 0.05))
    R = 0.01 * lam / (2 * math.exp(2 * B))
    assert found["ball_radius"] == pytest.approx(R, rel=1e-9)
    D = 8 / lam * math.exp(B + R) * math.sqrt(2) / 16 * np.linalg.norm(y)
    assert found["drift_bound"] == pytest.approx(D, rel=1e-9)


def test_on_a_numerically_singular_kernel_the_theory_step_is_zero_and_nothing_is_predicted():
    known = constants(
        Setting(samples=20, dimension=2, neurons=16, neuron_room=16, step="theory", projection_source="empirical")
    )
    assert known.limit.singular
    assert known.eta == 0
    assert known.predicted_steps == math.inf
    practical = constants(Setting(samples=20, dimension=2, neurons=16, neuron_room=16))
    assert practical.eta > 0
    assert practical.predicted_steps == math.inf


def test_a_run_on_crowded_points_says_that_its_kernel_is_singular_and_stays_put():
    x, y, _, _, _ = started(SMALL)
    x = np.stack([x[0], x[0] + 1e-9 * x[1]]) / (1 + 1e-8)
    found = simulated(
        SMALL.replace(data_law="given", inputs=x, targets=y, step="theory", projection_source="empirical")
    )
    assert found["singular"] == 1
    assert found["limit_condition"] == math.inf
    assert found["eta"] == 0
    assert found["predicted_steps"] == math.inf
    assert np.nanmax(found["drift"]) == 0
    assert found["diverged"] == 0
    assert simulated(SMALL)["singular"] == 0
    values = np.linalg.eigvalsh(plain_limit(started(SMALL)[0]))
    assert simulated(SMALL)["limit_condition"] == pytest.approx(values[-1] / values[0], rel=1e-9)


def test_the_second_order_change_is_recorded_by_point_and_its_product_with_the_error_is_half_of_the_second_term():
    t = lm.trained(simulate, SMALL.replace(track="points"))
    v_2, errors = t.records.second_order_change.values, t.records.outputs.values - t.data.y
    np.testing.assert_allclose(
        2 * np.sum(errors * v_2, axis=1), t.records.terms.sel(term="C_2"), rtol=1e-9, atol=1e-300
    )
    np.testing.assert_allclose(np.linalg.norm(v_2, axis=1), t.records.second_order_norm, rtol=1e-12)

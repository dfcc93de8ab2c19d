"""One run by training or by the exact theory: the same variables, the same numbers where theory says so."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
import math
from typing import Any

import jax
import numpy as np
import pytest
from ts_cases import SLOPES, near, small_setting

from lemmata.lab.errors import UserError
from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.theories.teacher_student import bounds
from lemmata.theories.teacher_student.data import draw_sample
from lemmata.theories.teacher_student.dynamics import follow as times
from lemmata.theories.teacher_student.dynamics.follow import event_steps, record_steps
from lemmata.theories.teacher_student.dynamics.reduced import Task, task_of
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import make_teacher
from lemmata.theories.teacher_student.training import OUTPUTS, SCALARS, simulate

FIELDS: dict[str, Any] = {
    "steps": 300,
    "records": 14,
    "batch": 5,
    "test_samples": 7,
    "track": "outputs",
    "token_room": 9,
}
"""One set of sizes, so that all runs of a dynamics are one program."""


@functools.cache
def run(dynamics: str, kind: str = "gcn", seed: int = 1, **fields: Any) -> dict[str, np.ndarray]:
    """A run, without the records that it has room for and does not use."""
    setting = small_setting(kind, **{**FIELDS, "dynamics": dynamics, **fields})
    found = jax.device_get(simulate(setting, seed))
    used = np.isfinite(found["step"]) | (found["diverged"] == 1)
    along = {variable.name for variable in simulate.variables if variable.dims[:1] == ("record",)}
    return {name: values[used] if name in along else values for name, values in found.items()}


def teacher_of(kind: str = "gcn", seed: int = 1, **fields: Any) -> Any:
    return make_teacher(small_setting(kind, **{**FIELDS, **fields}), seed)


# The four dynamics


def test_every_dynamics_leaves_the_declared_variables_in_one_layout() -> None:
    runs = [run(dynamics) for dynamics in ("population", "recursion", "limit", "online")]
    declared = {variable.name: variable for variable in simulate.variables}
    for found in runs:
        assert set(found) == set(declared)
        assert {n: v.shape for n, v in found.items()} == {n: v.shape for n, v in runs[0].items()}
        for name, variable in declared.items():
            assert found[name].ndim == len(variable.dims), name
            assert found[name].dtype == np.float64, name
            if variable.dims == ("record",) and not variable.optional:
                assert np.isfinite(found[name]).all(), name
        assert (found["step"] == runs[0]["step"]).all()
        assert found["diverged"] == 0


def test_without_outputs_only_the_scalars_are_left() -> None:
    for dynamics in ("recursion", "limit"):
        found = run(dynamics, track="scalars")
        assert set(found) == {v.name for v in simulate.variables} - {v.name for v in OUTPUTS}
        for variable in SCALARS:
            np.testing.assert_array_equal(found[variable.name], run(dynamics)[variable.name])


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_every_output_has_the_precision_of_the_run(precision: str) -> None:
    # the recursion is followed in float64 whatever the run is in
    setting = small_setting(**{**FIELDS, "dynamics": "recursion"})
    with numerics(precision):
        found = jax.device_get(simulate.run(setting.problem(), jax.random.key(1), simulate.prepared(setting, 1)))
    assert {value.dtype for value in found.values()} == {np.dtype(precision)}
    exact = run("recursion")
    np.testing.assert_allclose(found["value"], exact["value"], rtol=1e-7 if precision == "float32" else 0)
    np.testing.assert_allclose(found["support_logit"], exact["support_logit"], rtol=2e-7)


def test_online_training_in_single_precision_has_single_outputs() -> None:
    setting = small_setting(**{**FIELDS, "dynamics": "online", "steps": 5})
    with numerics("float32"):
        found = jax.device_get(simulate.run(setting.problem(), jax.random.key(1), simulate.prepared(setting, 1)))
    assert {value.dtype for value in found.values()} == {np.dtype("float32")}


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("kind", ["gcn", "sts", "supports"])
def test_population_descent_is_the_recursion(kind: str, slope: float) -> None:
    full, exact = (run(d, kind, negative_slope=slope) for d in ("population", "recursion"))
    for name in ("value", "support_logit", "rest_logit", "gap", "score", "mass", "odds", "excess", "quasi_scale"):
        np.testing.assert_allclose(full[name], exact[name], rtol=1e-11, atol=1e-14, err_msg=name)
    for name in ("score_error", "value_error", "batch_excess", "ood_batch", "ood_clean", "rolled_cosine", "part_norm"):
        np.testing.assert_allclose(full[name], exact[name], rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(full["cosine"][1:], 1, rtol=1e-13)
    np.testing.assert_allclose(full["row_cosine"][1:], 1, rtol=1e-13)
    for name in ("off_values", "off_scores", "support_spread", "rest_spread", "worst_values", "worst_scores"):
        assert np.max(full[name]) < 1e-13, name
        assert np.max(exact[name]) == 0, name
    np.testing.assert_allclose(full["score_map"], exact["score_map"], rtol=1e-11)
    # it has moved far enough to tell
    assert exact["gap"][-1] > 1e-3
    assert exact["value"][-1] > 0.9


def test_a_defect_shows_in_the_worst_distance_from_the_recursion() -> None:
    broken = run("population", "supports", defect="uneven_weights")
    assert broken["worst_scores"] >= broken["off_scores"].max() > 1e-4


@pytest.mark.parametrize("slope", [1.0, 0.0])
def test_the_limit_is_off_the_recursion_by_the_order_of_the_step(slope: float) -> None:
    off = []
    for step_size, steps in ((0.04, 250), (0.02, 500)):
        fields = {"negative_slope": slope, "step_size": step_size, "steps": steps, "track": "scalars"}
        exact, limit = (run(d, spacing="even", **fields) for d in ("recursion", "limit"))
        assert (exact["step"] == limit["step"]).all()
        off.append(np.abs(exact["value"] - limit["value"]).max())
    assert 1e-5 < off[1] < 0.6 * off[0] < 0.03


def test_temperature_changes_the_speed_of_attention_alone() -> None:
    cold, warm = (run("recursion", temperature=t, steps=2, spacing="even") for t in (1, 2))
    np.testing.assert_allclose(cold["value"], warm["value"], rtol=1e-12)
    assert cold["gap"][-1] == near(4 * warm["gap"][-1], 1e-12)
    full = run("population", temperature=2.0, steps=2, spacing="even")
    np.testing.assert_allclose(full["gap"], warm["gap"], rtol=1e-10, atol=1e-16)


# Starts and frozen parts


@pytest.mark.parametrize("dynamics", ["population", "recursion"])
@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_the_first_step_follows_its_convention(dynamics: str, slope: float) -> None:
    one: dict[str, Any] = {"steps": 1, "negative_slope": slope}
    found = run(dynamics, start="slope", **one)
    assert found["value"][-1] == near(0.05 * (1 + slope) / 2, 1e-12)
    half = run(dynamics, start="slope", kink=0.5, **one)
    assert half["value"][-1] == near(0.05 * (1 + slope) / 4, 1e-12)
    a = (1 + slope**2) / 2
    D, K = 6, 3
    r = math.sqrt((D - K) / K)
    scale = ((1 + slope) ** 2 / 4 + (1 - slope) ** 2 / (2 * math.pi) * (r + math.atan(1 / r))) / a
    assert run(dynamics, start="limit", **one)["value"][-1] == near(0.05 * a * scale, 1e-12)


@pytest.mark.parametrize("dynamics", ["population", "recursion", "online"])
def test_with_slope_zero_at_zero_nothing_ever_moves(dynamics: str) -> None:
    found = run(dynamics, start="slope", kink=0.0, negative_slope=0.0, steps=20)
    assert (found["value"] == 0).all()
    assert (found["gap"] == 0).all()


@pytest.mark.parametrize("dynamics", ["population", "recursion", "limit", "online"])
def test_a_run_starts_where_it_is_told(dynamics: str) -> None:
    found = run(dynamics, start_scale=0.7, start_gap=1.5)
    assert found["value"][0] == near(0.7, 1e-12)
    assert found["gap"][0] == near(1.5, 1e-12)
    p = 1 / (3 + 3 * math.exp(-1.5))
    assert found["score"][0] == near(p, 1e-12)
    assert found["mass"][0] == near(1 - 3 * p, 1e-12)
    assert found["odds"][0] == near((1 - 3 * p) / (3 * p), 1e-12)
    assert found["gap"][-1] != found["gap"][0]


@pytest.mark.parametrize("dynamics", ["population", "recursion", "limit", "online"])
def test_frozen_parts_rest(dynamics: str) -> None:
    attention = run(dynamics, train_attention=0.0)
    assert np.abs(attention["gap"]).max() < 1e-14
    assert attention["value"][-1] > 0.5
    values = run(dynamics, train_values=0.0, start_scale=1.0)
    np.testing.assert_allclose(values["value"], 1, rtol=1e-12)
    assert values["gap"][-1] > 1e-3


# Online SGD


def sgd(weights: Any, teacher: Any, sample: Any, slope: float, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """One step by hand, sample by sample, for the positions-only student."""
    W, A = (np.array(w) for w in weights)
    P, D = teacher.positions, len(teacher.scores)
    logits = P.T @ A @ P / math.sqrt(D)
    S = np.exp(logits) / np.exp(logits).sum(axis=0)
    x, y = np.asarray(sample.inputs), np.asarray(sample.labels)
    N = x.shape[1]
    dW, dS = np.zeros_like(W), np.zeros_like(S)
    for n in range(N):
        u = W @ x[:, n] @ S
        r = (np.where(u >= 0, u, slope * u) - y[:, n]) * np.where(u >= 0, 1.0, slope)
        dW += r @ (x[:, n] @ S).T / N
        dS += (W @ x[:, n]).T @ r / N
    dL = S * (dS - (S * dS).sum(axis=0))
    return W - eta * dW, A - eta * P @ dL @ P.T / math.sqrt(D)


@pytest.mark.parametrize("slope", [1.0, 0.1])
def test_online_steps_are_those_of_the_batches_of_the_key(slope: float) -> None:
    kind = "supports"
    found = run("online", kind, negative_slope=slope, steps=3, spacing="even", label_noise=0.5)
    with numerics("float64"):
        teacher = teacher_of(kind)
        weights: Any = (np.zeros_like(teacher.values), np.zeros_like(teacher.scores))
        for t in range(3):
            key = jax.random.fold_in(stream(jax.random.key(1), "batch"), t)
            weights = sgd(weights, teacher, draw_sample(key, teacher, 5, slope, 0.5), slope, 0.05)
            C1 = np.sum(weights[0] * teacher.values) / 5.0
            assert found["value"][t + 1] == near(C1, 1e-10)
            assert found["part_norm"][t + 1, 0] == near(np.linalg.norm(weights[0]), 1e-10)
            assert found["part_norm"][t + 1, 5] == pytest.approx(np.linalg.norm(weights[1]), rel=1e-9, abs=1e-15)
    P = teacher.positions
    logits = P.T @ weights[1] @ P / math.sqrt(6)
    scores = np.exp(logits) / np.exp(logits).sum(axis=0)
    np.testing.assert_allclose(found["score_map"][:6, :6], scores, rtol=1e-12)
    assert found["support_logit"][-1] == near((P.T @ weights[1] @ P)[teacher.scores > 0].mean(), 1e-8)


def test_the_mean_of_the_first_online_step_is_the_population_step() -> None:
    # one large batch stands for many seeds
    starts: dict[str, Any] = {
        "start_scale": 0.6,
        "start_gap": 1.0,
        "steps": 1,
        "negative_slope": 0.0,
        "label_noise": 0.0,
    }
    exact, found = run("population", **starts), run("online", **starts, batch=4000, track="scalars")
    for name in ("value", "gap"):
        moved, expected = (r[name][1] - r[name][0] for r in (found, exact))
        assert moved == pytest.approx(expected, rel=0.15), name
        assert abs(expected) > 1e-4


@pytest.mark.parametrize("student", ["full", "standard", "factored"])
def test_other_students_train_and_report_their_blocks(student: str) -> None:
    found = run("online", student=student, initial_scale=0.1, steps=40, spacing="even")
    norms = found["part_norm"]
    assert norms.shape == (14, 6)
    if student == "factored":
        assert (norms[:, 1:5] == 0).all()
        assert np.isfinite(found["excess"]).all()
    else:
        assert (norms > 0).all()
        assert np.isnan(found["excess"]).all()
        if student == "full":  # entries of standard deviation 0.1
            np.testing.assert_allclose(norms[0, 2:], 0.1 * np.sqrt([9, 18, 18, 36]), rtol=0.6)
    assert found["batch_excess"][-1] < found["batch_excess"][0]
    assert norms[-1, 0] > norms[0, 0]
    assert found["diverged"] == 0
    np.testing.assert_allclose(found["score_map"][:6, :6].sum(axis=0), 1, rtol=1e-12)


# What is recorded besides


def test_the_floor_is_that_of_the_calculator() -> None:
    found = run("online", negative_slope=0.1, label_noise=0.3)
    expected = bounds.noise_floor(
        outputs=2, dimension=3, batch=5, label_noise=0.3, tokens=6, support=3, strength=5.0, slope=0.1, step_size=0.05
    )
    assert found["noise_floor"] == near(expected, 1e-12)


def test_scores_are_stored_in_the_corner_of_a_matrix_with_room() -> None:
    for dynamics in ("population", "recursion", "online"):
        found = run(dynamics, "supports")
        for name in ("score_map", "target_map"):
            assert found[name].shape == (9, 9)
            assert np.isnan(found[name][6:]).all()
            assert np.isnan(found[name][:, 6:]).all()
        np.testing.assert_array_equal(found["target_map"][:6, :6], teacher_of("supports").scores)
        np.testing.assert_allclose(found["score_map"][:6, :6].sum(axis=0), 1, rtol=1e-12)
    exact = run("recursion", "supports")
    inside = exact["target_map"][:6, :6] > 0
    np.testing.assert_allclose(exact["score_map"][:6, :6][inside], exact["score"][-1], rtol=1e-12)


def test_the_rolled_cosine_is_that_of_the_teacher_with_its_columns_moved_on() -> None:
    V = teacher_of().values
    rolled = V[:, [2, 0, 1]]
    expected = np.sum(V * rolled) / np.sum(V**2)
    np.testing.assert_allclose(run("recursion")["rolled_cosine"][1:], expected, rtol=1e-12)


def test_losses_on_test_data_are_means_over_their_samples() -> None:
    found = run("population", "supports", negative_slope=0.1, label_noise=0.5)
    teacher = teacher_of("supports")
    with numerics("float64"):
        clean_key, shifted_key = jax.random.split(stream(jax.random.key(1), "test"))
        clean = draw_sample(clean_key, teacher, 7, 0.1, 0.0)
        shifted = draw_sample(shifted_key, teacher, 7, 0.1, 0.5, "exponential")
        target = np.asarray(draw_sample(shifted_key, teacher, 7, 0.1, 0.0, "exponential").labels)
        clean, shifted = jax.device_get((clean, shifted))
    S, C1 = found["score_map"][:6, :6], found["value"][-1]

    def answer(x: Any) -> np.ndarray:
        u = np.einsum("mf,fnt,ti->mni", C1 * teacher.values, np.asarray(x), S)
        return np.where(u >= 0, u, 0.1 * u)

    half = lambda difference: 0.5 * np.sum(np.asarray(difference) ** 2) / 7  # noqa: E731
    assert found["batch_excess"][-1] == near(half(answer(clean.inputs) - clean.labels), 1e-9)
    given = answer(shifted.inputs)
    assert found["ood_clean"][-1] == near(half(given - target), 1e-9)
    assert found["ood_batch"][-1] == near(half(shifted.labels - given) - half(shifted.labels - target), 1e-9)


def test_events_and_sizes_stand_beside_every_run() -> None:
    found = run("recursion", tokens=9, negative_slope=0.1, track="scalars")
    V = teacher_of(tokens=9).values
    assert [float(found[n]) for n in ("token_count", "support_count", "slope", "eta")] == [9, 3, 0.1, 0.05]
    assert found["squared_norm"] == near(5.0, 1e-12)
    assert found["row_norms"] == near(np.linalg.norm(V, axis=1).sum(), 1e-12)
    assert found["separation"] == near(5 / (3 * 81), 1e-12)
    assert (found["fitted_step"], found["escape_step"]) == event_steps(Task(9.0, 3.0, float(np.sum(V**2)), 0.1, 0.05))


def test_a_run_that_leaves_the_finite_numbers_is_flagged_and_frozen() -> None:
    fields: dict[str, Any] = {"step_size": 500.0, "steps": 500}
    for dynamics in ("population", "recursion"):
        found = run(dynamics, **fields)
        assert found["diverged"] == 1
        assert np.isnan(found["step"][-1])
        assert np.isnan(found["value"][-1])
        assert found["step"][0] == 0


# Times


@pytest.mark.parametrize(("slope", "escape"), [(1.0, 117420), (0.1, 237029), (0.0, 247322)])
def test_the_recursion_escapes_when_the_oracle_says(slope: float, escape: int) -> None:
    fitted, found = event_steps(Task(64.0, 2.0, 4.0, slope, 0.02))
    assert abs(found - escape) <= 1
    a = (1 + slope**2) / 2
    assert fitted == pytest.approx(math.log(0.05) / math.log(1 - 0.02 * a), rel=0.02)


def test_events_are_the_first_steps_of_their_conditions() -> None:
    fitted, escape = event_steps(Task(9.0, 3.0, 5.0, 0.0, 0.05))
    fields: dict[str, Any] = {"tokens": 9, "negative_slope": 0.0, "track": "scalars", "spacing": "even"}
    for event, passed in (
        (fitted, lambda r: r["value"][-1] >= 0.95 * r["quasi_scale"][-1]),
        (escape, lambda r: 6 * r["score"][-1] >= 1),
    ):
        assert passed(run("recursion", steps=int(event), **fields))
        assert not passed(run("recursion", steps=int(event) - 1, **fields))


def test_with_few_tokens_the_escape_is_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert event_steps(Task(6.0, 3.0, 5.0, 0.0, 0.05))[1] == 0
    task = Task(9.0, 3.0, 5.0, 1.0, 0.05)
    exact = event_steps(task)
    monkeypatch.setattr(times, "LONGEST", 1)
    limit = event_steps.__wrapped__(task)  # beyond the longest run: by the continuous limit
    assert limit == pytest.approx(exact, rel=0.05)
    assert limit != exact


def steps_of(escape: float = 0.0, **fields: Any) -> list[int]:
    setting = Setting(**{"dynamics": "recursion", "strength": 4.0, **fields})
    return record_steps(setting, task_of(setting, 4.0), escape).tolist()


def test_records_are_spaced_as_asked() -> None:
    assert steps_of(steps=1000, records=5) == [0, 1, 10, 100, 1000]
    assert steps_of(steps=9, records=4, spacing="even") == [0, 3, 6, 9]
    assert steps_of(steps=2, records=5, spacing="even") == [0, 1, 2, -1, -1]
    tenths = [0, 10, 30, 60, *range(100, 1001, 100)]
    assert steps_of(steps=1000, records=15, spacing="tenths") == [*tenths, -1]
    decade = [0, 100, 126, 158, 200, 251, 300, 316, 398, 400, -1]
    assert steps_of(escape=300.4, steps=400, records=11, spacing="decades") == decade
    assert steps_of(escape=math.inf, steps=110, records=4, spacing="decades") == [0, 100, 110, -1]
    assert steps_of(steps=0, records=2) == [0, -1]
    assert steps_of(steps=1000, records=2) == [0, 1000]
    assert steps_of(steps=1000, records=3) == [0, 1, 1000]


def test_time_can_be_counted_in_escapes() -> None:
    assert steps_of(escape=50.3, escapes=3.0, records=3, spacing="even") == [0, 76, 151]
    assert steps_of(escape=100.0, escapes=1e4, first_escape=1e2, records=6) == [0, 10**4, 31623, 10**5, 316228, 10**6]
    # without an escape the unit is KD²/(η‖V*‖²)
    unit = 5 * 10**2 / (0.05 * 4)
    assert steps_of(tokens=10, support=5, teacher="cnn", escapes=2.0, records=2, spacing="even") == [0, 2 * unit]


def test_too_many_records_or_steps_are_refused() -> None:
    with pytest.raises(UserError, match="records = 5"):
        steps_of(steps=10_000, records=5, spacing="decades")
    with pytest.raises(UserError, match="dynamics=limit"):
        steps_of(escape=1e6, escapes=1e4, records=5)
    assert steps_of(escape=1e6, escapes=1e4, records=3, dynamics="limit")[-1] == 10**10

"""Other data: outputs on the pattern, responses by their definitions, losses as plain means, formulas and bounds."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ts_cases import near

from lemmata.lab.errors import UserError
from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.theories.teacher_student import bounds
from lemmata.theories.teacher_student.data import LAWS, draw_inputs
from lemmata.theories.teacher_student.dynamics.follow import event_steps
from lemmata.theories.teacher_student.dynamics.limit import follow_limit
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task, from_gap, gap, pattern, step
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.studies import escape as study
from lemmata.theories.teacher_student.transfer.setting import TransferSetting
from lemmata.theories.teacher_student.transfer.training import prepare_student, simulate

FIELDS: dict[str, Any] = {
    "dynamics": "limit", "teacher": "cnn", "tokens": 6, "support": 2, "dimension": 3, "outputs": 2,
    "value_law": "positive", "strength": 5.0, "test_inputs": 750, "noise_draws": 300, "batch": 20, "label_noise": 0.5,
    "whole_path": False,
}  # fmt: skip
KEPT = (1.0, 1e2, 1e3, 2e3, 1e4)


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


def setting_of(**fields: Any) -> TransferSetting:
    return TransferSetting(**{**FIELDS, **fields})


@functools.cache
def run(seed: int = 0, **fields: Any) -> dict[str, np.ndarray]:
    return jax.device_get(simulate(setting_of(**fields), seed))


@functools.cache
def outputs(record: int, law: str, slope: float, response: str, seed: int = 0) -> dict[str, np.ndarray]:
    """Student, teacher and responses in full matrices, on the inputs of the key."""
    setting = setting_of(test_law=law, negative_slope=slope)
    prepared = prepare_student(setting, seed)
    teacher: Any = prepared.teacher
    assert prepared.path is not None
    key = jax.random.key(seed)
    x = np.asarray(jax.jit(draw_inputs, static_argnums=(1, 2))(stream(key, "test"), law, (3, 750, 6)))
    task = Task(6.0, 2.0, float(prepared.events["squared_norm"]), slope, 0.05)
    state = Scalars(*(float(leaf[record]) for leaf in prepared.path))
    p = 1 / (2 + 4 * math.exp(-float(gap(task, state))))
    S = np.where(teacher.scores > 0, p, (1 - 2 * p) / 4)
    act = lambda u: np.where(u >= 0, u, slope * u)  # noqa: E731
    mapped = np.einsum("mf,fnt->mnt", teacher.values, x)
    student, target = act(state.value * mapped @ S), act(mapped @ teacher.scores)
    free = np.asarray(jax.random.normal(stream(key, "noise"), target.shape))
    inside = mapped @ (teacher.scores > 0)
    outside = mapped @ (teacher.scores == 0)
    if response == "independent":
        given = free
    elif response == "teacher":
        given = target + 0.5 * free
    elif response == "exact":
        difference = target - student
        given = target + 100.0 * difference / math.sqrt(np.sum(difference**2) / 750)
    else:
        rho = abs(1 / 2 - state.value * p) * 4 / (state.value * (1 - 2 * p))
        event = abs(outside) >= np.maximum(2 * rho * abs(inside), 1)
        given = target + (1 if response == "worst_printed" else -1) * np.sign(outside) * event
    return {"student": student, "target": target, "given": given, "inputs": x}


@pytest.mark.parametrize("response", ["teacher", "independent", "worst", "worst_printed", "exact"])
@pytest.mark.parametrize(("law", "slope"), [("exponential", 1.0), ("gaussian", 0.1)])
def test_losses_are_means_over_all_inputs_of_the_outputs_in_full_matrices(
    law: str, slope: float, response: str
) -> None:
    # 750 inputs are not a multiple of a block
    found = run(test_law=law, negative_slope=slope, response=response)
    for record in (1, 3):
        full = outputs(record, law, slope, response)
        given, target, student = full["given"], full["target"], full["student"]
        halves = np.sum((target - student) ** 2, axis=(0, 2)) / 2
        assert found["half_gap"][record] == near(halves.mean(), 1e-9)
        assert found["half_gap_error"][record] == near(halves.std() / math.sqrt(750), 1e-6)
        off = np.sum((given - target) ** 2) / 750
        assert found["teacher_gap"][record] == near(off, 1e-9)
        excess = np.sum((given - student) ** 2) / 1500 - off / 2
        assert found["ood_excess"][record] == near(excess, 1e-7)
        second = max(
            np.sum(full["inputs"] ** 2, axis=0).mean(axis=0).max(), np.sum(given**2, axis=0).mean(axis=0).max()
        )
        assert found["moment"][record] == near(second, 1e-9)


def test_records_are_the_times_that_claims_look_at() -> None:
    short, long = run(test_law="gaussian"), run(test_law="gaussian", whole_path=True)
    escape, fitted = float(short["escape_step"]), float(short["fitted_step"])
    times = short["step"][np.isfinite(short["step"])]
    np.testing.assert_allclose(times, [0, *(escape * k for k in KEPT)], rtol=1e-6)
    steps = long["step"][np.isfinite(long["step"])]
    assert short["step"].shape == long["step"].shape
    assert (np.diff(steps) > 0).all()
    late = np.geomspace(1e2, 1e4, 20) * escape
    early = np.geomspace(fitted / 10, 1e2 * escape, 30)
    for wanted in (0, fitted, *late, *early, *(escape * k for k in KEPT)):
        assert np.isclose(steps, wanted, rtol=1e-6).any(), wanted
    assert len(steps) == 1 + 1 + 30 + 20 + 5 - 3  # 10²T* three times, 10⁴T* twice
    assert np.isnan(short["ood_excess"][len(times) :]).all()
    assert np.isfinite(short["ood_excess"][: len(times)]).all()
    assert (fitted, escape) == event_steps(Task(6.0, 2.0, float(short["squared_norm"]), 1.0, 0.05))


def test_the_student_is_the_continuous_limit() -> None:
    found = run(test_law="gaussian")
    task = Task(6.0, 2.0, float(found["squared_norm"]), 1.0, 0.05)
    path = follow_limit(task, found["step"][:6])
    np.testing.assert_allclose(found["value"][:6], path.value, rtol=1e-6)
    np.testing.assert_allclose(found["score"][:6], pattern(task, path.gap).score, rtol=1e-6)


def test_the_exact_worst_case_costs_exactly_its_bound() -> None:
    for slope, law in ((1.0, "exponential"), (0.1, "gaussian")):
        found = run(test_law=law, negative_slope=slope, response="exact")
        used = slice(0, 6)
        np.testing.assert_allclose(found["teacher_gap"][used], 100.0**2, rtol=1e-9)
        limit = found["half_gap"] + 100.0 * np.sqrt(2 * found["half_gap"])
        np.testing.assert_allclose(found["ood_excess"][used], limit[used], rtol=1e-10)


def test_the_sign_of_the_worst_case_decides_who_loses() -> None:
    for slope in (1.0, 0.1):
        law = "exponential" if slope == 1.0 else "gaussian"
        minus, plus = (run(test_law=law, negative_slope=slope, response=r) for r in ("worst", "worst_printed"))
        assert (minus["ood_excess"][2:6] > 0).all()
        assert (plus["ood_excess"][3:6] < 0).all()


@pytest.mark.parametrize("law", LAWS)
def test_the_formula_is_the_mean_for_every_law(law: str) -> None:
    found = run(test_law=law)
    used = slice(0, 6)
    off = abs(found["half_gap"] - found["formula"][:, 0])[used] / found["half_gap_error"][used]
    assert (off < 4).all()
    mean = {"exponential": 1.0, "correlated": 0.5}.get(law, 0.0)
    V = prepare_student(setting_of(test_law=law), 0).teacher.values  # pyright: ignore[reportOptionalMemberAccess]
    term = 3 * np.sum((V.sum(axis=1) * mean) ** 2) * (1 - found["value"]) ** 2
    np.testing.assert_allclose(
        (found["formula"][:, 0] - found["formula"][:, 1])[used], term[used], rtol=1e-9, atol=1e-12
    )
    # the bounds of row B
    assert (2 * found["half_gap"] <= found["gap_bound"])[used].all()
    assert (found["teacher_gap"] <= found["teacher_gap_bound"])[used].all()
    task = Task(6.0, 2.0, 5.0, 1.0, 0.05)
    at = pattern(task, follow_limit(task, found["step"][1:6]).gap)
    np.testing.assert_allclose(
        found["gap_bound"][1:6], bounds.gap_bound(task, found["moment"][1:6], found["value"][1:6], at), rtol=1e-5
    )
    np.testing.assert_allclose(found["teacher_gap_bound"][used], 2 * 6 * found["moment"][used] * 6, rtol=1e-9)
    promise = bounds.epsilon_at(task, found["moment"][used], 2e3 * float(found["escape_step"]))
    np.testing.assert_allclose(found["promise"][used], promise, rtol=1e-9)


def test_the_noise_of_a_batch_has_the_spread_of_its_cross_term() -> None:
    ratios = [
        float(run(test_law="exponential", negative_slope=s, label_noise=n)["noise_ratio"])
        for s, n in ((1.0, 0.5), (0.1, 2.0))
    ]
    for ratio in ratios:
        assert ratio == pytest.approx(1, abs=4.5 / math.sqrt(2 * 300))


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"dynamics": "recursion"}, "dynamics"), ({"tokens": 4}, "support"), ({"test_inputs": 19}, "test_inputs")],
)
def test_what_the_exact_student_cannot_do_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        setting_of(**fields)


# Rates of the escape


@pytest.mark.parametrize("slope", [1.0, 0.0])
def test_rates_are_those_of_the_recursion(slope: float) -> None:
    setting = Setting(
        tokens=40, support=2, dimension=2, outputs=2, value_law="two_rows", strength=4.0, step_size=1e-3,
        negative_slope=slope, dynamics="limit", teacher="supports",
    )  # fmt: skip
    found = study.escape_rates(setting, 0)
    judged = [study.LEVELS.index(level) for level in ("1.1/D", "1.9/D", "2.1/D", "0.4/K")]
    np.testing.assert_allclose(found["score"][judged], [1.1 / 40, 1.9 / 40, 2.1 / 40, 0.2], rtol=1e-12)
    task = Task(40.0, 2.0, 4.0, slope, 1e-3)
    for p, value, rate in zip(found["score"], found["value"], found["rate"], strict=True):
        c = math.log(38 * p / (1 - 2 * p))
        moved = step(task, from_gap(task, value, c))
        rise = float(pattern(task, gap(task, moved)).score) - p
        assert rate == near(rise, 2e-3)
    assert (found["value"] > 0.9).all()
    assert [float(found[n]) for n in ("token_count", "support_count", "eta", "squared_norm", "separation")] == (
        pytest.approx([40, 2, 1e-3, 4, 4 / (2 * 1600)])
    )
    assert jnp.isfinite(found["rate"]).all()

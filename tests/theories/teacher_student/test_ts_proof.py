"""Every step against the proof: the numbers of the checks by the formulas of the specification, and what is kept."""

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
from ts_cases import SLOPES, iterate, near

from lemmata.lab.precision import numerics
from lemmata.theories.teacher_student.dynamics.follow import event_steps
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.studies.proof import (
    ALLOWED,
    FAR,
    FORMS,
    Check,
    Extremes,
    check_run,
    checks_of,
    extended,
)
from lemmata.theories.teacher_student.training import simulate

TINY: dict[str, Any] = {
    "tokens": 12, "support": 2, "dimension": 2, "outputs": 2, "value_law": "two_rows", "strength": 60.0,
    "teacher": "supports", "steps": 400, "records": 14,
}  # fmt: skip
NORMS = math.sqrt(54.0) + math.sqrt(6.0)


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


@functools.cache
def compiled_checks() -> Any:
    return jax.jit(checks_of)


def checks_at(*given: Any) -> dict[str, Check]:
    return compiled_checks()(*jax.tree.map(lambda number: jnp.asarray(number, float), given))


def formulas(D: float, K: float, M: float, kappa: float, eta: float, state: Any) -> dict[str, float]:
    """Section 5 at a state (C_1, C_2, C_3)."""
    C1, C2, C3 = state
    c = (C2 + C3) / math.sqrt(D)
    p = 1 / (K + (D - K) * math.exp(-c))
    delta = (D - K) * math.exp(-c) * p
    Q = D * K * p**2 - 2 * K * p + 1
    a, even, bent = (1 + kappa**2) / 2, (1 + kappa) ** 2 / 4, (1 - kappa) ** 2 / (2 * math.pi)
    A = K * p**2 * (even + bent * math.atan2(math.sqrt(K * (D - K)) * p, delta))
    B = bent * math.sqrt(K / (D - K)) * p * delta
    F1 = a * Q / (D - K)
    star = (A + B) / (K * p * F1)
    h = A / (A + B) * (1 - K * p) / (K * p * (D * p - 1))
    alpha = (C1 / star - 1) / h
    J = (A + B) / (K * p)
    excess = 0.5 * M * D * (a * (C1**2 * Q / (D - K) + 1 / K) - 2 * C1 * J)
    return {"C1": C1, "p": p, "delta": delta, "Q": Q, "A": A, "B": B, "star": star, "h": h, "alpha": alpha,
            "excess": excess, "C2": C2, "C3": C3}  # fmt: skip


def beyond(number: float, bound: float) -> float:
    """How far above its bound, relative to that: inequalities whose sides both vanish are of no size of their own."""
    return (number - bound) / abs(bound)


def expected(
    D: float, K: float, M: float, kappa: float, eta: float, norms: float, t: float, now: Any, then: Any
) -> Any:
    """The numbers of the checks from 6.2: claimed, broken."""
    f, g = (formulas(D, K, M, kappa, eta, s) for s in (now, then))
    p, delta, Q, star, C1 = f["p"], f["delta"], f["Q"], f["star"], f["C1"]
    dp = g["p"] - p
    grown = g["C2"] + g["C3"] - f["C2"] - f["C3"]
    x = grown / math.sqrt(D)
    a = (1 + kappa**2) / 2
    rise = eta * C1 * M * math.sqrt(D) * delta**2 * (1 - f["alpha"]) * f["A"] / (K * (D - K) * K * p * Q)
    quotient = grown * K * (D - K) * Q / (eta * M * math.sqrt(D) * p * delta**2 * star)
    cap = eta * M * D / (K**2 * (D - K)) * math.sqrt((D + 1) / (D * K))
    drop = 1 - g["star"] / star
    width = f["A"] / (f["A"] + f["B"]) * 2 * D * K * p * dp / (K**2 * p**2 * (D * p - 1) ** 2)
    lost = 1 - g["h"] / f["h"]
    start = formulas(D, K, M, kappa, eta, (0.0, 1e-9, 1e-9))["star"]
    limit = 2 / D * delta + delta**2 / K
    off = abs(p * C1 - 1 / K)
    upper = D * K * M / 2 * (1 / K - C1 * p) ** 2 + D * C1**2 * (1 - K * p) ** 2 / (2 * (D - K)) * M
    lower = M * D * (1 - K * p) ** 2 / (16 * (D - K))
    slow = eta * M * star * f["A"] * delta**3 / (K**2 * (D - K) * Q)
    doubled = (2 * C1 / star - 1) / f["h"]
    return {
        "score_range": (max(1 - D * p, -delta),) * 2, "score_rise": (-dp / p,) * 2,
        "logit_sign": (max(-g["C2"], -g["C3"]),) * 2, "value_sign": (-C1,) * 2,
        "value_bound": (C1 / math.sqrt((D + 1) / K) - 1,) * 2, "deviation": (f["alpha"], doubled),
        "early": (C1 / star - 1, 2 * C1 / star - 1),
        "increment": (abs(grown / rise - 1), abs(grown / (rise * norms / M) - 1)),
        "quotient_high": (quotient, quotient * M / norms), "quotient_low": (-quotient, -quotient * M / norms),
        "increment_upper": (beyond(dp / p, D**2 / (D**2 - 1) * delta * x), beyond(dp / p, delta * x / 2)),
        "increment_lower": (beyond(-dp / p, -delta * x / 2),) * 2,
        "increment_exact": (abs(dp - delta * g["p"] * (1 - math.exp(-x))) / p,
                            abs(dp - delta * g["p"] * (1 - math.exp(-grown))) / p),
        "logit_step": (grown / cap - 1, grown / (0.01 * cap) - 1),
        "value_drop": (beyond(drop, 3 * D * K * p * dp / Q), drop),
        "width_drop": (beyond(lost, width / f["h"]), lost),
        "value_rise": (beyond(-drop, 1.5 * (D - K + K * star) / (Q - K * dp) * dp / star), -drop),
        "value_path": (abs(C1 / (start * (1 - (1 - eta * a) ** t)) - 1),) * 2,
        "plateau": (p * D / (1 + D**-0.25) - 1,) * 2, "scale_high": (star,) * 2, "scale_low": (-star,) * 2,
        "value_lower": (max(0.95, 1 - 0.8 * f["h"]) - C1 / star,) * 2,
        "product": (off / limit - 1, off / (0.05 * limit) - 1),
        "upper": (f["excess"] / upper - 1, f["excess"] / (0.99 * upper) - 1),
        "upper_equal": (abs(f["excess"] / upper - 1),) * 2,
        "lower": (lower / f["excess"] - 1, 16 * lower / f["excess"] - 1),
        "slow": (abs(dp / slow - 1), abs(dp * delta**3 / slow - 1)),
        "largest_value": (C1,) * 2,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_the_checks_are_the_formulas_of_the_specification(seed: int) -> None:
    rng = np.random.default_rng(seed)
    D, K = float(rng.integers(8, 60)), float(rng.integers(1, 4))
    M, kappa, eta, norms, t = float(rng.uniform(1, 9)), float(rng.choice(SLOPES)), 0.05, 2.3, 7.0
    gap = rng.uniform(0.5, 2.5) * math.sqrt(D)
    now = (float(rng.uniform(0.5, 2)), gap * (1 - K / D), gap * K / D)
    then = (now[0] + 0.01, now[1] + 0.03, now[2] + 0.011)
    seen = checks_at(Task(D, K, M, kappa, eta), norms, 5.0, 9.0, t, Scalars(*now), Scalars(*then))
    numbers = expected(D, K, M, kappa, eta, norms, t, now, then)
    assert set(seen) == set(ALLOWED) == {*numbers, "logit_rise"}
    for name, pair in numbers.items():
        assert [float(seen[name].claimed), float(seen[name].broken)] == pytest.approx(pair, rel=1e-8, abs=1e-11), name
    assert float(seen["logit_rise"].claimed) == pytest.approx(
        max((a - b) / b for a, b in zip(now[1:], then[1:], strict=True))
    )
    # falling back is a violation
    back = checks_at(Task(D, K, M, kappa, eta), norms, 5.0, 9.0, t, Scalars(*then), Scalars(*now))
    for name in ("logit_rise", "score_rise"):
        assert float(back[name].claimed) > 1e-4


def test_a_check_looks_at_the_steps_that_it_is_about() -> None:
    task = Task(12.0, 2.0, 5.0, 0.0, 0.05)
    state, start = Scalars(1.0, 2.0, 0.4), Scalars(0.0, 0.0, 0.0)

    def applying(t: float, now: Scalars, then: Scalars) -> set[str]:
        seen = checks_at(task, 1.0, 5.0, 9.0, t, now, then)
        return {name for name in seen if bool(seen[name].applies)} - {"early"}

    next_state = state._replace(support=state.support + 0.01)
    always = {"score_range", "value_bound", "increment_exact", "logit_step", "upper", "upper_equal", "largest_value"}
    after_the_first = {"score_rise", "logit_sign", "logit_rise", "value_sign"}
    rising = {"increment_upper", "increment_lower", "value_drop", "value_rise"}
    phase_one = {"plateau", "scale_high", "scale_low"}
    begun = after_the_first | {"deviation", "increment"}
    fit = {"quotient_high", "quotient_low", "value_lower", "slow"}
    assert applying(0.0, start, start) == always | phase_one
    assert applying(3.0, state, state) == always | phase_one | begun | {"value_path"}
    begun |= rising | {"width_drop"}  # where the score moves
    assert applying(3.0, state, next_state) == always | phase_one | begun | {"value_path"}
    assert applying(6.0, state, next_state) == always | begun | fit
    assert applying(9.0, state, next_state) == always | begun | fit | {"product", "lower"}
    # C_1 ≤ C_1* is asked while p ≤ 1/(2√(πDK)), which D = 40, K = 1 starts below
    for gap, early in ((0.1, True), (9.0, False)):
        state = Scalars(1.0, gap, 0.0)
        seen = checks_at(Task(40.0, 1.0, 5.0, 0.0, 0.05), 1.0, 5.0, 9.0, 1.0, state, state)
        assert bool(seen["early"].applies) == early


def test_the_largest_numbers_are_kept_with_the_first_step_above_what_is_allowed() -> None:
    count = len(ALLOWED)
    kept = Extremes(np.full((count, 2), -FAR), np.full(count, FAR), np.zeros(count), np.zeros((count, 2)))
    quiet = {name: Check(False, 9e9, 9e9) for name in ALLOWED}
    rows = [
        (0, {"slow": Check(True, 0.01, 0.5), "early": Check(True, float("nan"), 1.0)}),
        (1, {"slow": Check(False, 7.0, 7.0)}),
        (2, {"slow": Check(True, 0.03, 0.2)}),
        (3, {"slow": Check(True, 0.02, float("inf"))}),
        (4, {"plateau": Check(True, float("nan"), 0.1)}),
    ]
    for t, seen in rows:
        kept = extended(kept, t, quiet | seen)
    i, j, k = (list(ALLOWED).index(name) for name in ("slow", "early", "plateau"))
    np.testing.assert_allclose(kept.worst[i], [0.03, FAR])
    assert (kept.violated_step[i], kept.counted[i]) == (2, 3)
    assert (kept.worst[j, 0], kept.worst[j, 1], kept.counted[j], kept.violated_step[j]) == (-FAR, 1.0, 1, FAR)
    assert (np.delete(kept.counted, [i, j, k]) == 0).all()
    # 0/0 before anything has moved is none lost; later it is
    assert kept.lost[k].tolist() == [1, 0]
    assert np.delete(kept.lost, k, axis=0).sum() == 0


@functools.cache
def checked(**fields: Any) -> dict[str, np.ndarray]:
    return jax.device_get(check_run(Setting(**{**TINY, "dynamics": "recursion", **fields}), 0))


@pytest.mark.parametrize("slope", [1.0, 0.0])
def test_a_run_keeps_the_extremes_of_all_its_steps(slope: float) -> None:
    found = checked(negative_slope=slope)
    task = Task(12.0, 2.0, 60.0, slope, 0.05)
    fitted, escape = event_steps(task)
    assert 0 < fitted < escape < 400
    path = iterate(task, 401)
    states = [Scalars(*(float(leaf[t]) for leaf in path)) for t in range(402)]
    # all steps at once
    now, then = (Scalars(*(np.asarray(leaf) for leaf in zip(*states[i : i + 401], strict=True))) for i in (0, 1))
    seen = jax.device_get(checks_at(task, NORMS, fitted, escape, np.arange(401.0), now, then))
    for i, name in enumerate(ALLOWED):
        applies = np.broadcast_to(seen[name].applies, 401)
        assert found["counted"][i] == applies.sum(), name
        for j, case in enumerate(("claimed", "broken")):
            numbers = np.where(applies, getattr(seen[name], case), np.nan)
            if np.isnan(numbers).all():
                assert np.isnan(found["worst"][i, j])
            else:
                assert found["worst"][i, j] == pytest.approx(np.nanmax(numbers), rel=1e-9, abs=1e-12), name
        above = np.flatnonzero(np.nan_to_num(np.where(applies, seen[name].claimed, -1e300), nan=-1e300) > ALLOWED[name])
        if name not in ("upper_equal", "increment_exact", "increment"):  # of the size of rounding
            assert found["violated_step"][i] == (above[0] if above.size else np.inf), name
    np.testing.assert_array_equal(found["step"], simulate(Setting(**TINY, dynamics="recursion"), 0)["step"])


def test_broken_cases_are_above_what_is_allowed_and_claimed_ones_are_not() -> None:
    found = checked(strength=1.4, steps=13_000, negative_slope=1.0, step_size=0.05)  # χ = 0.0049
    at = {name: i for i, name in enumerate(ALLOWED)}
    worst = {name: dict(zip(FORMS, found["worst"][i], strict=True)) for name, i in at.items()}
    for name in ("deviation", "increment", "increment_upper", "increment_exact", "logit_step", "value_drop",
                 "width_drop", "value_rise", "product", "upper", "lower", "slow"):  # fmt: skip
        assert worst[name]["claimed"] <= ALLOWED[name] < worst[name]["broken"], name
        assert found["violated_step"][at[name]] == np.inf, name
    for name in ("score_range", "logit_sign", "logit_rise", "value_sign", "value_bound", "plateau", "value_lower"):
        assert worst[name]["claimed"] <= ALLOWED[name], name
    assert worst["score_rise"]["claimed"] < 0


def test_the_twin_in_full_matrices_sees_what_the_recursion_sees() -> None:
    one, two = checked(negative_slope=0.0), checked(negative_slope=0.0, dynamics="population")
    for name in ("value", "score", "mass", "support_logit", "rest_logit", "excess"):
        np.testing.assert_allclose(two[name], one[name], rtol=1e-10, atol=1e-13, err_msg=name)
    np.testing.assert_array_equal(one["counted"], two["counted"])
    for name in ("deviation", "value_lower", "slow", "product", "lower", "largest_value", "quotient_high"):
        i = list(ALLOWED).index(name)
        np.testing.assert_allclose(two["worst"][i], one["worst"][i], rtol=1e-6, err_msg=name)
    assert two["escape_step"] == one["escape_step"] == near(event_steps(Task(12.0, 2.0, 60.0, 0.0, 0.05))[1], 0)


def test_the_first_step_follows_the_same_convention_as_elsewhere() -> None:
    for start in ("limit", "slope"):
        setting = Setting(**{**TINY, "dynamics": "recursion", "negative_slope": 0.0, "start": start})
        ours, theirs = check_run(setting, 0), simulate(setting, 0)
        np.testing.assert_allclose(ours["value"], theirs["value"], rtol=1e-12)
    assert float(ours["value"][1]) > 0

"""The value scale C_1* as a formula of p, D, K and κ (P4, P10, P18'), and the increments written with it (P7)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most, equal, within
from lemmata.lab.simulation import generator
from lemmata.theories.teacher_student.dynamics.reduced import Task, at_score, f3_parts
from lemmata.theories.teacher_student.gaussian import f1, f2, f3, f4, f5

SLOPES = (0.0, 0.1, 0.5, 1.0)
SUPPORTS = (1, 2, 5, 20)
RATIOS = (1.05, 1.5, 2.0, 2.5, 4.5, 6.0, 13.0, 20.0, 64.0, 100.0, 400.0, 1000.0, 10_000.0)
"""D/K of the grids, D rounded to an integer; D = K is left out."""
POINTS = 400
FINE = 4001
ROUNDING = 1e-12
DRAWS = 1000

Grid = Float[np.ndarray, " point"]


def cells(least: float = 1.0, largest: float = math.inf) -> Iterable[tuple[int, int]]:
    """The pairs (D, K) of the grid with D/K beyond `least` and up to `largest`."""
    for K in SUPPORTS:
        for D in sorted({round(ratio * K) for ratio in RATIOS}):
            if K < D and least < D / K <= largest:
                yield D, K


def value_scale(tokens: Any, support: Any, p: Any, slope: Any, mean_square: Callable[..., Any] = f1) -> Any:
    """C_1* = F_3 / (Kp F_1) from the Gaussian expectations at the variances of section 5."""
    inside, outside = support * p**2, (1 - support * p) ** 2 / (tokens - support)
    return f3(inside, outside, slope) / (support * p * mean_square(inside + outside, slope))


def scores(tokens: int, support: int, low: float = 0.0, high: float = math.inf, points: int = POINTS) -> Grid:
    """Log-spaced p in [1/D, 1/K], between `low` and `high`; both ends included."""
    ends = max(low, 1 / tokens), min(high, 1 / support)
    grid = np.geomspace(*ends, points)
    grid[0], grid[-1] = ends
    return grid


# P4: 1 ≤ C_1* < √(D/K)


def _value_range(
    slopes: Sequence[float] = SLOPES, mean_square: Callable[..., Any] = f1, only_end: bool = False
) -> Evidence:
    """The least C_1* and the largest C_1* √(K/D) over the grid, or at p = 1/K only."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        least, largest = [], []
        for slope in slopes:
            found = []
            for D, K in cells():
                p = np.array([1 / K]) if only_end else scores(D, K)
                C = value_scale(D, K, p, slope, mean_square)
                found.append((C.min(), C.max() * math.sqrt(K / D)))
            least.append(min(low for low, _ in found))
            largest.append(max(high for _, high in found))
        return {
            "least": xr.DataArray(least, coords={"κ": list(slopes)}),
            "largest": xr.DataArray(largest, coords={"κ": list(slopes)}),
        }

    return evidence


def _printed_own(a: Any, slope: float) -> Any:
    """F_1 with the printed leaky constant (1+κ)²/2 (9.8)."""
    return (1 + slope) ** 2 / 2 * a


# P7: the increments of C_2 and C_3


class Draws(NamedTuple):
    """Random states (D, K, κ, p, α) and C_1 written with α."""

    tokens: Any
    support: Any
    slope: Any
    p: Any
    deviation: Any
    value: Any
    A: Any
    column_square: Any
    """Q"""

    @property
    def delta(self) -> Any:
        return 1 - self.support * self.p

    @property
    def variances(self) -> tuple[Any, Any, Any]:
        """D - K, and the variances of one summand on the support and off it."""
        rest = self.tokens - self.support
        return rest, self.p**2, (self.delta / rest) ** 2


def draw_states(seed: int) -> Draws:
    """D ≤ 200, K < D, κ in [0, 1], α in [-3, 1), p in (1/D, 1/K).

    p leaves out a hundredth of its range at either end: C_1 grows like α/(Dp - 1) at the lower one, where F_{2,1} and
    pF_1 cancel, and the second identity divides by δ; an absolute 1e-12 would then measure rounding.
    """
    rng = generator(seed, "states")
    D = rng.integers(2, 201, DRAWS)
    K = rng.integers(1, D)
    slope, alpha = rng.random(DRAWS), rng.uniform(-3, 1, DRAWS)
    p = 1 / D + rng.uniform(0.01, 0.99, DRAWS) * (1 / K - 1 / D)
    task = Task(D, K, 1.0, slope, 1.0)
    at = at_score(task, p)
    A, B = f3_parts(task, at)
    unit = A / (A + B) * (1 - K * p) / (K * p * (D * p - 1))
    value = (1 + alpha * unit) * value_scale(D, K, p, slope)
    return Draws(D, K, slope, p, alpha, value, A, at.column_square)


def _support_sides(sign: float = -1.0) -> Evidence:
    """Both sides of the first identity; `sign` stands before pF_1."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        s = draw_states(datasets.seed)
        K, p, kappa = s.support, s.p, s.slope
        rest, inside, outside = s.variances
        F1, F21 = f1(K * inside + rest * outside, kappa), f2(inside, outside, kappa)
        F3, F4 = f3(K * inside, rest * outside, kappa), f4(inside, (K - 1) * inside, rest * outside, kappa)
        left = F4 / p - F3 - K * s.value * (F21 + sign * p * F1)
        return {"measured": left, "predicted": s.delta**2 * (1 - s.deviation) * s.A / (K * p * s.column_square)}

    return evidence


def _off_support_sides(sign: float = -1.0) -> Evidence:
    """Both sides of the second identity; `sign` stands before (D-K)F_{2,2}/δ."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        s = draw_states(datasets.seed)
        K, p, kappa, delta = s.support, s.p, s.slope, s.delta
        rest, inside, outside = s.variances
        F1, F22 = f1(K * inside + rest * outside, kappa), f2(outside, inside, kappa)
        F3, F5 = f3(K * inside, rest * outside, kappa), f5(K * inside, outside, (rest - 1) * outside, kappa)
        left = F3 / (K * p) - rest * F5 / (K * p * delta) - s.value * (F1 + sign * rest * F22 / delta)
        return {"measured": left, "predicted": delta * (1 - s.deviation) * s.A / (K * p * s.column_square)}

    return evidence


# P10: C_1* as a function of p


def _least_step(direction: int, least: float, ends: Callable[[int, int], tuple[float, float]]) -> Evidence:
    """The smallest relative step of C_1* between neighbours of the grid, in this direction, for D/K > `least`."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        found = []
        for slope in SLOPES:
            steps = []
            for D, K in cells(least):
                C = value_scale(D, K, scores(D, K, *ends(D, K)), slope)
                steps.append(np.min(direction * np.diff(np.log(C))))
            found.append(float(min(steps)))
        return xr.DataArray(found, coords={"κ": list(SLOPES)})

    return evidence


RISING, FALLING = 4 * math.pi, 4.0


def _rise_end(D: int, K: int) -> float:
    """1/(2√(πDK)), below which C_1* rises."""
    return 1 / (2 * math.sqrt(math.pi * D * K))


def _fall_start(D: int, K: int) -> float:
    """2/√(DK), above which it falls."""
    return 2 / math.sqrt(D * K)


def _whole(D: int, K: int) -> tuple[float, float]:
    return 0.0, math.inf


def peak(tokens: int, support: int, slope: float) -> tuple[float, float]:
    """Where C_1* is largest in [1/D, 1/K], and its value there: bounded optimisation over ln p."""
    from scipy.optimize import minimize_scalar

    ends = math.log(1 / tokens), math.log(1 / support)
    fall = lambda log_p: -value_scale(tokens, support, math.exp(log_p), slope)  # noqa: E731
    found: Any = minimize_scalar(fall, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return math.exp(found.x), -found.fun


def rises_after_fall(values: Float[np.ndarray, " point"]) -> int:
    """How often a sequence rises again after it fell: 0 if it has one peak."""
    up = np.diff(values) > 0
    return int(np.sum(up[1:] & ~up[:-1]))


def identity_peak(tokens: int, support: int) -> tuple[float, float]:
    """1/√(DK) and ½(1 + √(D/K)): the peak for κ = 1."""
    return 1 / math.sqrt(tokens * support), (1 + math.sqrt(tokens / support)) / 2


def _turns(slopes: Sequence[float], places: Iterable[tuple[int, int]]) -> int:
    """The most rises after a fall on a fine grid, over these slopes and pairs (D, K)."""
    return max(
        rises_after_fall(value_scale(D, K, scores(D, K, points=FINE), slope)) for D, K in places for slope in slopes
    )


def _identity_peak(slope: float = 1.0) -> Evidence:
    """Rises after a fall for every κ; at this κ, the relative errors of the identity's position and value."""

    def evidence(datasets: Datasets) -> dict[str, float]:
        position, value = [], []
        for D, K in cells():
            found, expected = peak(D, K, slope), identity_peak(D, K)
            position.append(abs(found[0] / expected[0] - 1))
            value.append(abs(found[1] / expected[1] - 1))
        return {"turns": float(_turns(SLOPES, cells())), "position": max(position), "value": max(value)}

    return evidence


def _relu_peak(factor: float = 1.0) -> Evidence:
    """κ = 0: rises after a fall, and the peak of `factor` C_1* relative to the identity's, at its extremes."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        places = [(D, K) for D, K in cells(largest=1000.0) if D / K >= 2.5]
        found = np.array([np.array(peak(D, K, 0.0)) / identity_peak(D, K) for D, K in places])
        extremes = [("least", found.min(0)), ("largest", found.max(0))]
        position, value = (
            xr.DataArray([float(part[i]) for _, part in extremes], coords={"over D/K": [name for name, _ in extremes]})
            for i in (0, 1)
        )
        return {"turns": float(_turns((0.0,), places)), "position": position, "value": factor * value}

    return evidence


# P18'


def _product(slope: float) -> Evidence:
    """Kp C_1* = F_3/F_1 on the grid, against the formula of the identity."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        measured, predicted = [], []
        for D, K in cells():
            p = scores(D, K)
            measured.append(K * p * value_scale(D, K, p, slope))
            predicted.append(1 / (1 + K * (1 - K * p) ** 2 / ((D - K) * (K * p) ** 2)))
        return {"measured": np.concatenate(measured), "predicted": np.concatenate(predicted)}

    return evidence


CLAIMS = (
    Claim(
        name="p4-value-scale",
        reference="Lemma C.3",
        kind="bound",
        statement="The quasi-stationary value scale lies between 1 and √(D/K) at every score, on a grid of p, D, K, κ.",
        formula="1 ≤ C_1* < √(D/K) for 1/D ≤ p ≤ 1/K",
        evidence=_value_range(),
        judge=all_of(least=at_least(1 - ROUNDING), largest=at_most(1.0, strict=True)),
        controls=(
            Control("F_1 with the printed leaky constant, κ = 0.1, p = 1/K", _value_range((0.1,), _printed_own, True)),
        ),
    ),
    Claim(
        name="p7-support-identity",
        reference="Lemma C.7, first identity",
        kind="identity",
        statement="The bracket that drives C_2 is a product, whatever C_1, in 1000 random states with D ≤ 200: "
        "absolute error below 1e-12.",
        formula="F_4/p - F_3 - KC_1(F_{2,1} - pF_1) = δ²(1-α)A / (KpQ)",
        evidence=_support_sides(),
        judge=equal(ROUNDING),
        controls=(Control("plus sign before pF_1", _support_sides(1.0)),),
    ),
    Claim(
        name="p7-off-support-identity",
        reference="Lemma C.7, second identity",
        kind="identity",
        statement="The bracket that drives C_3 is a product too, in the same 1000 states: absolute error below 1e-12.",
        formula="F_3/(Kp) - (D-K)F_5/(Kpδ) - C_1(F_1 - (D-K)F_{2,2}/δ) = δ(1-α)A / (KpQ)",
        evidence=_off_support_sides(),
        judge=equal(ROUNDING),
        controls=(Control("plus sign before (D-K)F_{2,2}/δ", _off_support_sides(1.0)),),
    ),
    Claim(
        name="p10-rise",
        reference="Lemma C.10",
        kind="ordering",
        statement="C_1* rises with p below 1/(2√(πDK)), for every κ and D > 4πK of the grid: least relative step.",
        formula="C_1* increases on [1/D, 1/(2√(πDK))]",
        evidence=_least_step(1, RISING, lambda D, K: (0.0, _rise_end(D, K))),
        judge=at_least(0.0, strict=True),
        controls=(Control("increases on all of [1/D, 1/K]", _least_step(1, RISING, _whole)),),
    ),
    Claim(
        name="p10-fall",
        reference="Lemma C.16",
        kind="ordering",
        statement="C_1* falls with p above 2/√(DK), for every κ and D > 4K of the grid: least relative step.",
        formula="C_1* decreases on [2/√(DK), 1/K]",
        evidence=_least_step(-1, FALLING, lambda D, K: (_fall_start(D, K), math.inf)),
        judge=at_least(0.0, strict=True),
        controls=(Control("decreases on all of [1/D, 1/K]", _least_step(-1, FALLING, _whole)),),
    ),
    Claim(
        name="p10-peak-identity",
        reference="Lemmas C.10 and C.16, derived",
        kind="identity",
        statement="C_1* has one peak in p for every κ; for κ = 1 it is at 1/√(DK), to a relative 1e-3, with the value "
        "½(1 + √(D/K)), to 1e-6.",
        formula="max C_1* = ½(1 + √(D/K)) at p = 1/√(DK) for κ = 1",
        evidence=_identity_peak(),
        judge=all_of(turns=at_most(0.0), position=at_most(1e-3), value=at_most(1e-6)),
        controls=(Control("κ = 0 judged by the identity's peak", _identity_peak(0.0)),),
    ),
    Claim(
        name="p10-peak-relu",
        reference="Lemmas C.10 and C.16, derived",
        kind="bound",
        statement="For ReLU and 2.5 ≤ D/K ≤ 1000 the one peak of C_1* is earlier than the identity's, by a factor of "
        "at least 0.80, and higher, by at most 8.5 %.",
        formula="κ = 0: √(DK) argmax C_1* in [0.80, 1], max C_1* / (½(1 + √(D/K))) in [1, 1.085]",
        evidence=_relu_peak(),
        judge=all_of(turns=at_most(0.0), position=within(0.80, 1.0), value=within(1.0, 1.085)),
        controls=(Control("peak of 2C_1*", _relu_peak(2.0)),),
    ),
    Claim(
        name="p18a-identity",
        reference="Lemma C.18, derived",
        kind="identity",
        statement="For the identity the weight KpC_1* that values and attention together give to the support is 1 less "
        "a term of the squared odds off it, exactly: on a grid of p, D, K, to a relative 1e-12.",
        formula="κ = 1: KpC_1* = [1 + Kδ² / ((D-K)(Kp)²)]^{-1}",
        evidence=_product(1.0),
        judge=equal(ROUNDING, relative=True),
        controls=(Control("κ = 0", _product(0.0)),),
    ),
)

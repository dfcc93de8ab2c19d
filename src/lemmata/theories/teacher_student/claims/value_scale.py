"""The value scale C_1* as a formula of p, D, K and κ (P4, P10, P18'), and the increments written with it (P7)."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

import lemmata as lm
from lemmata.theories.teacher_student.dynamics.reduced import Task, at_score, f3_parts
from lemmata.theories.teacher_student.gaussian import f1, f2, f3, f4, f5
from lemmata.theories.teacher_student.measures import Slopes

SLOPES = (0.0, 0.1, 0.5, 1.0)
SUPPORTS = (1, 2, 5, 20)
RATIOS = (1.05, 1.5, 2.0, 2.5, 4.5, 6.0, 13.0, 20.0, 64.0, 100.0, 400.0, 1000.0, 10_000.0)
"""D/K of the grids, D rounded to an integer; D = K is left out."""
POINTS, FINE, DRAWS, ROUNDING = 400, 4001, 1000, 1e-12

Grid = Float[np.ndarray, " point"]


def places(least: float = 1.0, largest: float = math.inf) -> Iterable[tuple[int, int]]:
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


def by_slope(slopes: Slopes, value: Callable[[float], float]) -> xr.DataArray:
    """One number for every κ."""
    return xr.DataArray([float(value(slope)) for slope in slopes], coords={"κ": list(slopes)})


@lm.fact
def value_range(slopes: Slopes = SLOPES, printed: bool = False, only_end: bool = False) -> dict[str, xr.DataArray]:
    """The least C_1* and the largest C_1* √(K/D) over the grid, or at p = 1/K; F_1 as it is or as printed (9.8)."""

    def scale(D: int, K: int, slope: float) -> Any:
        mean_square = (lambda a, slope: (1 + slope) ** 2 / 2 * a) if printed else f1
        return value_scale(D, K, np.array([1 / K]) if only_end else scores(D, K), slope, mean_square)

    def largest(slope: float) -> float:
        return max(scale(D, K, slope).max() * math.sqrt(K / D) for D, K in places())

    least = by_slope(slopes, lambda slope: min(scale(D, K, slope).min() for D, K in places()))
    return {"least": least, "largest": by_slope(slopes, largest)}


class States(NamedTuple):
    """Random states (D, K, κ, p, α), C_1 written with α, A and Q."""

    tokens: Any
    support: Any
    slope: Any
    p: Any
    deviation: Any
    value: Any
    A: Any
    column_square: Any

    @property
    def delta(self) -> Any:
        return 1 - self.support * self.p

    @property
    def predicted(self) -> Any:
        """δ(1-α)A/(KpQ)"""
        return self.delta * (1 - self.deviation) * self.A / (self.support * self.p * self.column_square)

    @property
    def summands(self) -> tuple[Any, ...]:
        """D - K, F_1, F_{2,1}, F_{2,2}, F_3, F_4, F_5, from the variances of one summand on the support and off it."""
        K, rest, kappa = self.support, self.tokens - self.support, self.slope
        inside, outside = self.p**2, (self.delta / rest) ** 2
        F1, F3 = f1(K * inside + rest * outside, kappa), f3(K * inside, rest * outside, kappa)
        F4 = f4(inside, (K - 1) * inside, rest * outside, kappa)
        F5 = f5(K * inside, outside, (rest - 1) * outside, kappa)
        return rest, F1, f2(inside, outside, kappa), f2(outside, inside, kappa), F3, F4, F5


def draw_states(seed: int) -> States:
    """D ≤ 200, K < D, κ in [0, 1], α in [-3, 1), p in (1/D, 1/K).

    p leaves out a hundredth of its range at either end: C_1 grows like α/(Dp - 1) at the lower one, where F_{2,1} and
    pF_1 cancel, and the second identity divides by δ; an absolute 1e-12 would then measure rounding.
    """
    rng = lm.generator(seed, "states")
    D = rng.integers(2, 201, DRAWS)
    K = rng.integers(1, D)
    slope, alpha = rng.random(DRAWS), rng.uniform(-3, 1, DRAWS)
    p = 1 / D + rng.uniform(0.01, 0.99, DRAWS) * (1 / K - 1 / D)
    task = Task(D, K, 1.0, slope, 1.0)
    at = at_score(task, p)
    A, B = f3_parts(task, at)
    unit = A / (A + B) * (1 - K * p) / (K * p * (D * p - 1))
    value = (1 + alpha * unit) * value_scale(D, K, p, slope)
    return States(D, K, slope, p, alpha, value, A, at.column_square)


@lm.fact
def support_sides(sign: float = -1.0, *, seed: int) -> dict[str, Any]:
    """Both sides of the first identity; `sign` stands before pF_1."""
    s = draw_states(seed)
    _, F1, F21, _, F3, F4, _ = s.summands
    left = F4 / s.p - F3 - s.support * s.value * (F21 + sign * s.p * F1)
    return {"measured": left, "predicted": s.delta * s.predicted}


@lm.fact
def off_support_sides(sign: float = -1.0, *, seed: int) -> dict[str, Any]:
    """Both sides of the second identity; `sign` stands before (D-K)F_{2,2}/δ."""
    s = draw_states(seed)
    rest, F1, _, F22, F3, _, F5 = s.summands
    left = (F3 - rest * F5 / s.delta) / (s.support * s.p) - s.value * (F1 + sign * rest * F22 / s.delta)
    return {"measured": left, "predicted": s.predicted}


@lm.fact
def least_step(direction: int, least: float, whole: bool = False, reach: float = 1.0) -> xr.DataArray:
    """The smallest relative step of C_1* between neighbours of the grid, rising (1) or falling (-1), for D/K > `least`.

    It rises up to 1/(2√(πDK)) and falls from 2/√(DK) on; `reach` multiplies that end, `whole` takes all of [1/D, 1/K].
    """

    def ends(D: int, K: int) -> tuple[float, float]:
        low, high = 2 * reach / math.sqrt(D * K), reach / (2 * math.sqrt(math.pi * D * K))
        return (0.0, math.inf) if whole else (0.0, high) if direction > 0 else (low, math.inf)

    def smallest(slope: float) -> float:
        scales = (value_scale(D, K, scores(D, K, *ends(D, K)), slope) for D, K in places(least))
        return min(np.min(direction * np.diff(np.log(scale))) for scale in scales)

    return by_slope(SLOPES, smallest)


def peak(tokens: int, support: int, slope: float) -> tuple[float, float]:
    """Where C_1* is largest in [1/D, 1/K], and its value there: bounded optimisation over ln p."""
    from scipy.optimize import minimize_scalar

    def fall(log_p: float) -> float:
        return -value_scale(tokens, support, math.exp(log_p), slope)

    ends = math.log(1 / tokens), math.log(1 / support)
    least: Any = minimize_scalar(fall, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return math.exp(least.x), -least.fun


def rises_after_fall(values: Grid) -> int:
    """How often a sequence rises again after it fell: 0 if it has one peak."""
    up = np.diff(values) > 0
    return int(np.sum(up[1:] & ~up[:-1]))


def identity_peak(D: int, K: int) -> tuple[float, float]:
    """The peak for κ = 1."""
    return 1 / math.sqrt(D * K), (1 + math.sqrt(D / K)) / 2


def turns(slopes: Slopes, where: Iterable[tuple[int, int]]) -> float:
    """The most rises after a fall on a fine grid, over these slopes and pairs (D, K)."""
    fine = (value_scale(D, K, scores(D, K, points=FINE), slope) for D, K in where for slope in slopes)
    return float(max(rises_after_fall(scale) for scale in fine))


@lm.fact
def off_identity_peak(slope: float = 1.0) -> dict[str, float]:
    """Rises after a fall for every κ; at this κ, the relative errors of the identity's position and value."""
    off = np.array([abs(np.divide(peak(D, K, slope), identity_peak(D, K)) - 1) for D, K in places()])
    return {"turns": turns(SLOPES, places()), "position": off[:, 0].max(), "value": off[:, 1].max()}


@lm.fact
def relu_peak(factor: float = 1.0) -> dict[str, Any]:
    """κ = 0: rises after a fall, and the peak of `factor` C_1* relative to the identity's, at its extremes."""
    wide = [(D, K) for D, K in places(largest=1000.0) if D / K >= 2.5]
    ratios = np.array([np.divide(peak(D, K, 0.0), identity_peak(D, K)) for D, K in wide])
    coords = {"over D/K": ["least", "largest"]}
    position, value = (xr.DataArray([each.min(), each.max()], coords=coords) for each in ratios.T)
    return {"turns": turns((0.0,), wide), "position": position, "value": factor * value}


@lm.fact
def product(slope: float = 1.0) -> dict[str, Any]:
    """Kp C_1* = F_3/F_1 on the grid, against the formula of the identity."""
    measured, predicted = [], []
    for D, K in places():
        p = scores(D, K)
        measured.append(K * p * value_scale(D, K, p, slope))
        predicted.append(1 / (1 + K * (1 - K * p) ** 2 / ((D - K) * (K * p) ** 2)))
    return {"measured": np.concatenate(measured), "predicted": np.concatenate(predicted)}


POSITIVE = lm.at_least(0.0, strict=True)
CLAIMS = (
    lm.Claim("p4-value-scale", "Lemma C.3", "bound")
    .states("The quasi-stationary value scale lies between 1 and √(D/K) at every score, on a grid of p, D, K, κ.")
    .in_symbols(r"1 \le C_1^* < \sqrt{D/K} \quad (1/D\le p\le1/K)")
    .judged(
        value_range(),
        lm.all_of(least=lm.at_least(1 - ROUNDING), largest=lm.at_most(1.0, strict=True)),
        lm.Control("F_1 with the printed leaky constant, κ = 0.1, p = 1/K", slopes=(0.1,), printed=True, only_end=True),
    ),
    lm.Claim("p7-support-identity", "Lemma C.7, first identity", "identity")
    .states("""The bracket that drives C_2, the logits on the support, is a product, whatever C_1, in 1000 random states
        with D ≤ 200: absolute error below 1e-12.""")
    .in_symbols(r"\frac{F_4}{p}-F_3-KC_1(F_{2,1}-pF_1) = \frac{\delta^2(1-\alpha)A}{KpQ}")
    .judged(support_sides(), lm.equal(ROUNDING), lm.Control("plus sign before pF_1", sign=1.0)),
    lm.Claim("p7-off-support-identity", "Lemma C.7, second identity", "identity")
    .states("""The bracket that drives C_3, the logits off the support, is a product, whatever C_1, in 1000 random
        states with D ≤ 200: absolute error below 1e-12.""")
    .in_symbols(r"""\frac{F_3}{Kp}-\frac{(D-K)F_5}{Kp\delta}-C_1\left(F_1-\frac{(D-K)F_{2,2}}{\delta}\right) =
        \frac{\delta(1-\alpha)A}{KpQ}""")
    .judged(off_support_sides(), lm.equal(ROUNDING), lm.Control("plus sign before (D-K)F_{2,2}/δ", sign=1.0)),
    lm.Claim("p10-rise", "Lemma C.10", "ordering")
    .states("C_1* rises with p below 1/(2√(πDK)), for every κ and D > 4πK of the grid: least relative step.")
    .in_symbols(r"\frac{dC_1^*}{dp} > 0 \quad \left(\frac{1}{D}\le p\le\frac{1}{2\sqrt{\pi DK}}\right)")
    .judged(least_step(1, 4 * math.pi), POSITIVE, lm.Control("increases on all of [1/D, 1/K]", whole=True)),
    lm.Claim("p10-fall", "Lemma C.16", "ordering")
    .states("C_1* falls with p above 2/√(DK), for every κ and D > 4K of the grid: least relative step.")
    .in_symbols(r"\frac{dC_1^*}{dp} < 0 \quad \left(\frac{2}{\sqrt{DK}}\le p\le\frac{1}{K}\right)")
    .judged(least_step(-1, 4.0), POSITIVE, lm.Control("decreases on all of [1/D, 1/K]", whole=True)),
    lm.Claim("p10-peak-identity", "Lemmas C.10 and C.16, derived", "identity", source="derived")
    .states("""C_1* has one peak in p for every κ; for κ = 1 it is at 1/√(DK), to a relative 1e-3, with the value ½(1 +
        √(D/K)), to 1e-6.""")
    .in_symbols(r"\max_pC_1^* = \frac{1}{2}(1+\sqrt{D/K}) \text{ at } p = \frac{1}{\sqrt{DK}} \quad (\kappa=1)")
    .judged(
        off_identity_peak(),
        lm.all_of(turns=lm.at_most(0.0), position=lm.at_most(1e-3), value=lm.at_most(1e-6)),
        lm.Control("κ = 0 judged by the identity's peak", slope=0.0),
    ),
    lm.Claim("p10-peak-relu", "Lemmas C.10 and C.16, derived", "bound", source="derived")
    .states("""For ReLU and 2.5 ≤ D/K ≤ 1000 the one peak of C_1* is earlier than the identity's, by a factor of at
        least 0.80, and higher, by at most 8.5 %.""")
    .in_symbols(r"""0.80 \le \sqrt{DK}\,p_{\max} \le 1,\ 1 \le \frac{C_1^*(p_{\max})}{(1+\sqrt{D/K})/2} \le 1.085 \quad
        (\kappa=0)""")
    .judged(
        relu_peak(),
        lm.all_of(turns=lm.at_most(0.0), position=lm.within(0.80, 1.0), value=lm.within(1.0, 1.085)),
        lm.Control("peak of 2C_1*", factor=2.0),
    ),
    lm.Claim("p18a-identity", "Lemma C.18, derived", "identity", source="derived")
    .states("""For the identity the weight KpC_1* that values and attention together give to the support is 1 less a
        term of the squared odds off it, exactly: on a grid of p, D, K, to a relative 1e-12.""")
    .in_symbols(r"KpC_1^* = \left[1+\frac{K\delta^2}{(D-K)(Kp)^2}\right]^{-1} \quad (\kappa=1)")
    .judged(product(), lm.equal(ROUNDING, relative=True), lm.Control("κ = 0", slope=0.0)),
)

"""The paper's calculators (section 4), in logarithms: with C > 10 the factor e^{4B} alone is about 10^37.

`ln_...` are the formulas; they take NumPy or JAX numbers and serve the training as well. The calculators give log10.
Constants that the paper leaves open are 1. They are for the exponential activation with output scale 1. What is called
`of_B` are the further arguments of `projection_bound`: delta, sigma, C, projection_source, B.
"""

import math
from typing import Any, NamedTuple

import numpy as np

import lemmata as lm
from lemmata.lab.arrays import library_of

RUNNABLE = 1e7
"""More neurons or steps than this cannot be run."""
PROJECTION_SOURCES = ("paper", "union", "empirical")

_N = lm.parameter(10, "n", "data points", low=1, integer=True)
_M = lm.parameter(1024, "m", "width", low=1)
_LAMBDA = lm.parameter(
    math.exp(2), "λ", "least eigenvalue of the kernel (orthonormal data: e^{2σ²})", low=0, open_ends="low"
)
_SIGMA = lm.parameter(1.0, "σ", "standard deviation of the initial weights", low=0, open_ends="low")
_DELTA = lm.parameter(0.05, "δ", "failure probability", low=0, high=0.1, open_ends="low")
_EPSILON = lm.parameter(1e-3, "ε", "wanted squared error", low=0, high=0.1, open_ends="low high")
_C = lm.parameter(10.0, "C", "constant of the paper's B", low=0, open_ends="low")
_B = lm.parameter(1.0, "B", "largest projection, for projection_source=empirical", low=0)
_SOURCE = lm.option("paper", "where B comes from", *PROJECTION_SOURCES)
_INIT = lm.option("coupled", "initialisation", "coupled", "independent")
_OF_B: Any = {"delta": _DELTA, "sigma": _SIGMA, "C": _C, "projection_source": _SOURCE, "B": _B}
_PROJECTIONS: Any = {"n": _N, "m": _M, **_OF_B}
_RUN: Any = {"logarithmic": True, "limit": RUNNABLE}


def _log10(natural: Any) -> Any:
    return natural / math.log(10)


@lm.bound("Definition 6.1; union bound", **_PROJECTIONS)
def projection_bound(n: Any, m: Any, delta: Any, sigma: Any, C: Any, projection_source: str, B: Any) -> Any:
    """B with |<w_r, x_i>| ≤ B: `paper` C σ √ln(n/δ); `union` σ √(2 ln(2mn/δ)); `empirical` the given one."""
    xp = library_of(n, m, delta, sigma, C, B)
    if projection_source == "paper":
        return C * sigma * xp.sqrt(xp.log(n / delta))
    return sigma * xp.sqrt(2 * xp.log(2 * m * n / delta)) if projection_source == "union" else B


@lm.bound(
    "Lemma 6.2, corrected",
    "up to this width the paper's B holds for all neurons at once",
    logarithmic=True,
    n=_N,
    delta=_DELTA,
    C=_C,
)
def tail_width(n: Any, delta: Any, C: Any) -> Any:
    """log10 of the largest m for which the `paper` B is guaranteed: ½ (n/δ)^{C²/2-1}."""
    return _log10((np.asarray(C, float) ** 2 / 2 - 1) * np.log(n / np.asarray(delta)) - math.log(2))


def ln_step_size(n: Any, m: Any, lam: Any, B: Any) -> Any:
    """ln of η = 0.01 λ / (m n² e^{4B})."""
    xp = library_of(n, m, lam, B)
    return xp.log(lam) + math.log(0.01) - xp.log(m) - 2 * xp.log(n) - 4 * B


def ln_radius(n: Any, lam: Any, B: Any, power: int = 2) -> Any:
    """ln of R = 0.01 λ / (n e^{power B}): 1 as printed, 2 as Lemma 6.7 needs it (erratum 5)."""
    xp = library_of(n, lam, B)
    return xp.log(lam) + math.log(0.01) - xp.log(n) - power * B


def ln_drift(n: Any, m: Any, lam: Any, B: Any, R: Any, error: Any) -> Any:
    """ln of D = 8 λ^-1 e^{B+R} √n/m ‖y - F(0)‖ (Lemma 7.2 with its factor m, erratum 6)."""
    return library_of(n, m, lam, B, R, error).log(8 * n**0.5 * error / (lam * m)) + B + R


def step_count(rate: Any, lam: Any, square: Any, epsilon: Any) -> Any:
    """T = ⌈2 / (m η λ) ln(‖y - F(0)‖²/ε)⌉, 0 if ‖y - F(0)‖² ≤ ε already; rate = m η."""
    xp = library_of(rate, lam, square, epsilon)
    return xp.ceil(2 / (rate * lam) * xp.log(xp.maximum(square / epsilon, 1.0)))


def _practical_step(n: Any, m: Any, lam: Any, **_: Any) -> str:
    return f"usable instead: c/(m λ_max(H(0))), on orthonormal data {0.5 / (m * lam):.3g} at c = 0.5"


@lm.bound("Lemma 9.2", logarithmic=True, remark=_practical_step, lam=_LAMBDA, **_PROJECTIONS)
def step_size(n: Any, m: Any, lam: Any, **of_B: Any) -> Any:
    """log10 of the paper's step size η = 0.01 λ / (m n² e^{4B})."""
    return _log10(ln_step_size(n, m, lam, projection_bound(n, m, **of_B)))


def _practical_steps(lam: Any, square: Any, epsilon: Any, **_: Any) -> str:
    usable = step_count(0.5 / lam, lam, square, epsilon)
    return f"usable instead: with the step c/(m λ_max), c = 0.5, orthonormal data need at most {usable:.0f} steps"


_SQUARE = lm.parameter(10.0, "‖y - F(0)‖²", "initial squared error (at most n)", low=0)


@lm.bound("Theorem 7.1", **_RUN, remark=_practical_steps, lam=_LAMBDA, square=_SQUARE, epsilon=_EPSILON, **_PROJECTIONS)
def iterations(n: Any, m: Any, lam: Any, square: Any, epsilon: Any, **of_B: Any) -> Any:
    """log10 of T = ⌈2 / (m η λ) ln(‖y - F(0)‖²/ε)⌉ with the paper's step; -inf where no step is needed.

    It is 200 λ^-2 n² e^{4B} ln(·): independent of m unless B contains it.
    """
    natural = np.log(m * np.asarray(lam, float)) + ln_step_size(n, m, lam, projection_bound(n, m, **of_B))
    decades = np.log(np.asarray(square, float) / epsilon)
    with np.errstate(divide="ignore"):
        exact = np.log(2 * np.maximum(decades, 0.0)) - natural
        # past 2^53 a ceiling changes nothing
        return _log10(np.where(exact < 30, np.log(np.ceil(np.exp(np.minimum(exact, 30)) - 1e-9)), exact))[()]


@lm.bound(
    "Claim 9.3 as printed",
    "fails its own budget 3nRe^{2B} ≤ λ/4 once e^B > 25/3",
    logarithmic=True,
    lam=_LAMBDA,
    **_PROJECTIONS,
)
def ball_radius(n: Any, lam: Any, m: Any, **of_B: Any) -> Any:
    """log10 of R = 0.01 λ / (n e^B)."""
    return _log10(ln_radius(n, lam, projection_bound(n, m, **of_B), 1))


@lm.bound("Claim 9.3, corrected", logarithmic=True, lam=_LAMBDA, **_PROJECTIONS)
def ball_radius_consistent(n: Any, lam: Any, m: Any, **of_B: Any) -> Any:
    """log10 of R = 0.01 λ / (n e^{2B}), which keeps 3nRe^{2B} ≤ λ/4."""
    return _log10(ln_radius(n, lam, projection_bound(n, m, **of_B), 2))


def _usable_drift(n: Any, lam: Any, m: Any, error: Any, R: Any, **of_B: Any) -> str:
    within = drift_bound(n, m, lam, error, R, **of_B) < ball_radius_consistent(n, lam, m, **of_B)
    usable = "usable: projection_source=empirical with the B of a run"
    return f"D < R as the proof needs it: {'yes' if within else 'no'}; {usable}"


@lm.bound(
    "Lemma 7.2, corrected",
    logarithmic=True,
    remark=_usable_drift,
    lam=_LAMBDA,
    error=lm.parameter(math.sqrt(10), "‖y - F(0)‖", "initial error (at most √n)", low=0, open_ends="low"),
    R=lm.parameter(0.0, "R", "largest drift", low=0),
    **_PROJECTIONS,
)
def drift_bound(n: Any, m: Any, lam: Any, error: Any, R: Any, **of_B: Any) -> Any:
    """log10 of D = 8 λ^-1 e^{B+R} √n/m ‖y - F(0)‖."""
    return _log10(ln_drift(n, m, lam, projection_bound(n, m, **of_B), R, error))


class Width(NamedTuple):
    """The explicit sufficient width: m, the B and R that belong to it, and which condition decides."""

    ln_m: float
    B: float
    R: float
    active: str
    conditions: dict[str, bool]
    """Whether D < R, R < 10^-3 and R ≤ 1 ≤ B; the last two are conveniences of the proof (erratum 16)."""


def explicit_width(
    n: int,
    lam: float,
    delta: float = 0.05,
    sigma: float = 1.0,
    error: float | None = None,
    init: str = "coupled",
    **of_B: Any,
) -> Width:
    """The smallest even m that meets every listed condition of the proof, R = 0.01 λ/(n e^{2B}), ‖y‖ = `error` or √n:

    8 λ^-2 n² e^{4B} ln(2n²/δ) [Hoeffding; 16 for coupled pairs], 8 e^{B+R} √n ‖y‖ / (λR) [D < R],
    (10/R) ln(3n²/δ) [serves only the printed proof of Lemma 6.7]. The `union` B contains m: iterated from m = 2.
    """
    error = math.sqrt(n) if error is None else error
    pairs = 16 if init == "coupled" else 8
    wanted = math.log(2)
    while True:
        ln_m = wanted
        if of_B.get("projection_source") == "union":  # at a width that may be beyond floating point
            B = sigma * math.sqrt(2 * (ln_m + math.log(2 * n / delta)))
        else:
            B = float(projection_bound(n, 1.0, delta, sigma, **of_B))
        ln_R = float(ln_radius(n, lam, B))
        R = math.exp(ln_R)
        # ln of the width that each condition asks for
        asked = {
            "Hoeffding": math.log(pairs * n**2 * math.log(2 * n**2 / delta)) - 2 * math.log(lam) + 4 * B,
            "D < R": math.log(8 * math.sqrt(n) * error) - math.log(lam) + B + R - ln_R,
            "Lemma 6.7's printed proof": math.log(10 * math.log(3 * n**2 / delta)) - ln_R,
        }
        most = max(asked.values())
        # the smallest even integer that is at least e^most; past 2^53 parity means nothing
        wanted = math.log(2 * max(1, math.ceil(math.exp(most) / 2 - 1e-9))) if most < 36 else most
        if not wanted > ln_m * (1 + 1e-15):  # this width meets what it asks for, which can be less than it
            break
    ln_D = float(ln_drift(n, 1.0, lam, B, R, error)) - ln_m
    met = {"D < R": ln_D < ln_R, "R < 1e-3": R < 1e-3, "R ≤ 1 ≤ B": R <= 1 <= B}
    return Width(ln_m, B, R, max(asked, key=asked.__getitem__), met)


def orthonormal_variance(n: int, sigma: float) -> float:
    """Σ_ij Var_ij of one neuron's kernel on orthonormal points: n (e^{8σ²} - e^{4σ²}); inf beyond floating point."""
    exponent = 4 * np.square(sigma)
    return n * np.exp(exponent) * np.expm1(exponent)


def _usable_width(n: int, lam: float, sigma: float, **given: Any) -> str:
    usable = float(width_for_kernel.function(1.0, lam, orthonormal_variance(n, sigma)))
    if not math.isfinite(usable):
        return "width_for_kernel is beyond floating point too: use a smaller σ"
    return f"usable instead: width_for_kernel, on orthonormal data {usable:.6g} neurons"


def _explicit_remark(**inputs: Any) -> str:
    width = explicit_width(**inputs)
    met = ", ".join(f"{name}: {'yes' if yes else 'no'}" for name, yes in width.conditions.items())
    return f"decided by {width.active}; B = {width.B:.6g}, R = {width.R:.6g}; {met}; {_usable_width(**inputs)}"


@lm.bound(
    "Lemma 9.2; Theorem 7.1 prints the logarithm squared",
    "the constant that the paper does not give is 1 unless set",
    **_RUN,
    remark=_usable_width,
    lam=_LAMBDA,
    constant=lm.parameter(1.0, "c", "leading constant", low=0, open_ends="low"),
    log_power=lm.parameter(
        1, "", "power of the logarithm: 1 (Lemma 9.2) or 2 (Theorem 7.1)", low=1, high=2, integer=True
    ),
    **_PROJECTIONS,
)
def required_width(n: Any, lam: Any, delta: Any, m: Any, constant: Any, log_power: Any, **of_B: Any) -> Any:
    """log10 of m = c λ^-2 n² e^{4B} ln(n/δ)^power. (`m` enters only through the union bound's B.)"""
    B = projection_bound(n, m, delta, **of_B)
    ln_m = np.log(constant) + 2 * np.log(n) - 2 * np.log(np.asarray(lam, float)) + 4 * B
    return _log10(ln_m + log_power * np.log(np.log(n / np.asarray(delta))))


@lm.bound("the listed conditions of the proof", **_RUN, remark=_explicit_remark, n=_N, lam=_LAMBDA, **_OF_B, init=_INIT)
def required_width_explicit(n: int, lam: float, init: str, **of_B: Any) -> float:
    """log10 of the smallest even m that meets every explicit inequality in which m stands, with ‖y‖ ≤ √n; the remark
    says which other conditions are met (see `explicit_width`)."""
    return _log10(explicit_width(n, lam, init=init, **of_B).ln_m)


@lm.bound(
    "exact variance of a product of log-normals",
    inner=lm.parameter(1.0, "<x_i, x_j>", "inner product of the two points", low=-1, high=1),
    square_sum=lm.parameter(4.0, "‖x_i + x_j‖²", "squared norm of their sum", low=0, high=4),
    m=_M,
    sigma=_SIGMA,
    init=_INIT,
)
def kernel_mc_std(inner: Any, square_sum: Any, m: Any, sigma: Any, init: str) -> Any:
    """Standard deviation of H^dis_ij: √(G² (e^{2σ²s} - e^{σ²s}) / m_eff), m_eff = m or, in pairs, m/2."""
    exponent = np.asarray(sigma, float) ** 2 * square_sum
    effective = np.asarray(m, float) / (2 if init == "coupled" else 1)
    return np.abs(inner) * np.sqrt(np.exp(exponent) * np.expm1(exponent) / effective)


_VARIANCE = lm.parameter(10 * (math.exp(8) - math.exp(4)), "Σ Var_ij", "summed variances of one neuron's kernel", low=0)


@lm.bound(
    "exact variance with Markov's inequality: rigorous, needs no B",
    p=lm.parameter(1.0, "p", "allowed probability of a kernel error above λ/4", low=0, high=1, open_ends="low"),
    lam=_LAMBDA,
    variance=_VARIANCE,
    init=_INIT,
)
def width_for_kernel(p: Any, lam: Any, variance: Any, init: str = "coupled") -> Any:
    """Smallest even m with RMS ‖H^dis - H^cts‖_F ≤ √p λ/4: m_eff ≥ 16 Σ_ij G² (e^{2σ²s_+} - e^{σ²s_+}) / (p λ²).

    The sum over the entries is `lemmata.networks.kernels.kernel_variance(...).sum()`.
    """
    effective = 16 * np.asarray(variance, float) / (np.asarray(p, float) * np.asarray(lam, float) ** 2)
    neurons = effective * (2 if init == "coupled" else 1)
    return np.maximum(2 * np.ceil(neurons / 2 - 1e-9), 2.0)[()]


@lm.bound("n^{o(1)} = e^{4B}", logarithmic=True, delta=_DELTA, sigma=_SIGMA, C=_C)
def crossing(delta: Any, sigma: Any, C: Any) -> Any:
    """log10 of the n from which e^{4B} < n: ln n = 8C²σ² + √(64C⁴σ⁴ + 16C²σ² ln(1/δ))."""
    square = (np.asarray(C, float) * sigma) ** 2
    return _log10(8 * square + np.sqrt(64 * square**2 - 16 * square * np.log(delta)))


BOUNDS = tuple(each for each in globals().values() if isinstance(each, lm.Bound))
"""Every calculator of this file, in reading order."""

"""The width that suffices, against the number of points and against λ (X4); and statements about the calculators alone:
the radius (Q9), iterations without m (Q18), n^{o(1)} (Q19)."""

import math
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.bounds import crossing, iterations, ln_radius, projection_bound
from lemmata.theories.exp_regression.measures import frontier


@lm.evidence("x4-frontier-n")
def exponent(data: xr.Dataset, along: str, trained: int = 1) -> xr.DataArray:
    """The exponent of the width that suffices, in n or, along the angle of the pairs, in 1/λ (mean over seeds)."""
    edge = frontier(data, trained)
    if not np.isfinite(edge).all():
        raise lm.NotApplicable(f"the frontier lies above the grid at some {along}")
    x = data.samples if along == "samples" else 1 / data.limit_least.mean(("seed", "variant"))
    return lm.log_slopes(edge, along, x)


def _claim(name: str, along: str, quantity: str, formula: str) -> lm.Claim:
    return (
        lm.Claim(name, "Theorem 1.1, experiment X4", "bound")
        .states(f"The width at which 90 % of the seeds reach ε within T grows at most like the square of {quantity}.")
        .in_symbols(formula)
        .judged(
            exponent.of(name)(along), lm.at_most(2.0), lm.Control("frozen weights", trained=0, expected=lm.INCONCLUSIVE)
        )
    )


DELTA = 0.1


def _fourfold(ln_n: float | np.ndarray, C: float) -> float | np.ndarray:
    """4B in terms of ln n, which may be far beyond floating point: 4C √(ln n - ln δ), σ = 1."""
    return 4 * C * np.sqrt(ln_n - math.log(DELTA))


@lm.fact
def kernel_budget(power: int, sigma: float = 1.0) -> float:
    """log10 of 3nRe^{2B} / (λ/4) with R = 0.01λ/(n e^{power B}), at n = 10, δ = 0.05, C = 10, orthonormal data."""
    lam = math.exp(2 * sigma**2)
    B = float(projection_bound(10, sigma=sigma))
    left = math.log(3 * 10) + float(ln_radius(10, lam, B, power)) + 2 * B
    return (left - math.log(lam / 4)) / math.log(10)


@lm.fact
def step_counts(projection_source: str = "empirical") -> dict[str, float]:
    """T at widths 64 to 65536: how much it varies, and its largest value over ⌈200 λ^-2 n² e^{4B} ln(n/ε)⌉."""
    n, lam, epsilon = 10, math.exp(2), 1e-3
    logs = [iterations(n, m, lam, n, epsilon, projection_source=projection_source, B=1.0) for m in 4 ** np.arange(3, 9)]
    limit = math.ceil(200 * n**2 * math.exp(4) * math.log(n / epsilon) / lam**2)
    counts = [round(10 ** float(log)) for log in logs]
    return {"varies": float(max(counts) - min(counts)), "limit": max(counts) / limit}


@lm.fact
def crossings(delta: bool = True) -> dict[str, Any]:
    """ln n from which e^{4B} < n: by bracketing, and in closed form, with δ or without."""
    from scipy.optimize import brentq

    constants = (1.0, 2.0, 10.0)
    closed = [float(crossing(DELTA, 1.0, C)) * math.log(10) if delta else 16 * C**2 for C in constants]
    roots = [brentq(lambda ln_n, C=C: _fourfold(ln_n, C) - ln_n, 1.0, 1e6, xtol=1e-9) for C in constants]
    return {"measured": roots, "predicted": closed}


@lm.fact
def decay(power: float = 0.5) -> dict[str, xr.DataArray | float]:
    """4B/ln n at ln n = 10, ..., 10⁶, and at the last times (ln n)^power, less 4C."""
    ln_n, C = 10.0 ** np.arange(1, 7), 10.0
    ratio = xr.DataArray(_fourfold(ln_n, C) / ln_n, coords={"ln_n": ln_n})
    return {"falls": ratio, "limit": float(ratio[-1] * ln_n[-1] ** power) - 4 * C}


CLAIMS = (
    _claim("x4-frontier-n", "samples", "the number of points", r"m_{90\,\%} \propto n^k, \quad k \le 2"),
    _claim("x4-frontier-lambda", "pair_angle", "1/λ", r"m_{90\,\%} \propto \lambda^{-k}, \quad k \le 2"),
    lm.Claim("q9-radius", "Claim 9.3, as printed", "bound")
    .states("""With R = 0.01λ/(ne^B) the kernel may move by at most λ/4: 3nRe^{2B} ≤ λ/4 at n = 10, δ = 0.05, C = 10, σ
        = 1.""")
    .in_symbols(r"3nRe^{2B} \le \frac{\lambda}{4}, \quad R = \frac{0.01\lambda}{ne^B}")
    .judged(kernel_budget(1), lm.at_most(0.0), lm.Control("σ = 0.05, where e^B < 25/3", sigma=0.05), expected=lm.FAILS),
    lm.Claim("q9-radius-corrected", "Claim 9.3, corrected", "bound", corrects="q9-radius")
    .states("""Corrected: with R = 0.01λ/(ne^{2B}) the kernel may move by at most λ/4: 3nRe^{2B} ≤ λ/4 at n = 10, δ =
        0.05, C = 10, σ = 1.""")
    .in_symbols(r"3nRe^{2B} \le \frac{\lambda}{4}, \quad R = \frac{0.01\lambda}{ne^{2B}}")
    .judged(kernel_budget(2), lm.at_most(0.0), lm.Control("the printed R", power=1)),
    lm.Claim("q18-iterations", "Theorem 7.1", "identity")
    .states("""With the paper's step and B = 1, T is the same for m = 64, ..., 65536 and at most ⌈200 λ^-2 n² e^{4B}
        ln(n/ε)⌉.""")
    .in_symbols(r"T(m) = T(m') \le \lceil200\lambda^{-2}n^2e^{4B}\ln(n/\epsilon)\rceil")
    .judged(
        step_counts(),
        lm.all_of(varies=lm.at_most(0.0), limit=lm.at_most(1.0)),
        lm.Control("the union bound's B, which contains m", projection_source="union"),
    ),
    lm.Claim("q19-crossing", "Theorem 1.1, n^{o(1)}", "identity", source="derived")
    .states("The n at which e^{4B} falls below n, by bracketing, is its closed form to 1e-6, for C = 1, 2, 10.")
    .in_symbols(r"e^{4B} = n \Leftrightarrow \ln n = 8C^2\sigma^2+\sqrt{64C^4\sigma^4+16C^2\sigma^2\ln(1/\delta)}")
    .judged(crossings(), lm.equal(1e-6, relative=True), lm.Control("δ ignored", delta=False)),
    lm.Claim("q19-decay", "Theorem 1.1, n^{o(1)}", "limit")
    .states("e^{4B} is n^{o(1)}: 4B/ln n falls strictly, only like 4Cσ/√ln n.")
    .in_symbols(r"\frac{4B}{\ln n} \text{ decreases},\ \frac{4B}{\sqrt{\ln n}} \to 4C\sigma")
    .judged(
        decay(),
        lm.all_of(falls=lm.decreasing("ln_n", by="value"), limit=lm.within(-1e-3, 1e-3, predicted=0.0)),
        lm.Control("like 1/ln n", power=1.0),
    ),
)

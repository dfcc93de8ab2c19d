"""Statements about the calculators alone: the radius (Q9), iterations without m (Q18), n^{o(1)} (Q19)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_most, decreasing, equal, within
from lemmata.theories.exp_regression.bounds import crossing, iterations, ln_radius, projection_bound

WIDTHS = [64, 256, 1024, 4096, 16384, 65536]
CONSTANTS = (1.0, 2.0, 10.0)
DELTA = 0.1


def _budget(power: int, sigma: float = 1.0) -> Evidence:
    """log10 of 3nRe^{2B} / (λ/4) with R = 0.01λ/(n e^{power B}), at n = 10, δ = 0.05, C = 10, orthonormal data."""

    def evidence(datasets: Datasets) -> float:
        lam = math.exp(2 * sigma**2)
        B = float(projection_bound(10, sigma=sigma))
        left = math.log(3 * 10) + float(ln_radius(10, lam, B, power)) + 2 * B
        return (left - math.log(lam / 4)) / math.log(10)

    return evidence


def _radius_claim(name: str, reference: str, statement: str, power: int, expected: str, control: Control) -> Claim:
    return Claim(
        name=name,
        reference=reference,
        kind="bound",
        statement=statement,
        formula="log10(3nRe^{2B} / (λ/4)) ≤ 0",
        evidence=_budget(power),
        judge=at_most(0.0),
        expected=expected,
        controls=(control,),
    )


def _iterations(source: str) -> Evidence:
    """T at widths 64 to 65536: how much it varies, and its largest value over ⌈200 λ^-2 n² e^{4B} ln(n/ε)⌉."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        n, lam, epsilon = 10, math.exp(2), 1e-3
        logs = [float(iterations(n, m, lam, n, epsilon, projection_source=source, B=1.0)) for m in WIDTHS]
        limit = math.ceil(200 * n**2 * math.exp(4) * math.log(n / epsilon) / lam**2)
        counts = [round(10**log) for log in logs]
        return {"varies": float(max(counts) - min(counts)), "limit": max(counts) / limit}

    return evidence


def _crossing(ignored: bool = False) -> Evidence:
    """ln n from which e^{4B} < n: by bracketing, and in closed form."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        from scipy.optimize import brentq

        found, closed = [], []
        for C in CONSTANTS:
            # B in terms of ln n, which may be far beyond floating point: 4C √(ln n - ln δ) = ln n
            gap = lambda ln_n, C=C: 4 * C * math.sqrt(ln_n - math.log(DELTA)) - ln_n  # noqa: E731
            found.append(brentq(gap, 1.0, 1e6, xtol=1e-9))
            closed.append(16 * C**2 if ignored else float(crossing(DELTA, 1.0, C)) * math.log(10))
        return {"measured": found, "predicted": closed}

    return evidence


def _decay(power: float) -> Evidence:
    """4B/ln n at ln n = 10, ..., 10⁶, and at the last times (ln n)^power, relative to 4C."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        ln_n = 10.0 ** np.arange(1, 7)
        C = 10.0
        ratio = xr.DataArray(4 * C * np.sqrt(ln_n - math.log(DELTA)) / ln_n, coords={"ln_n": ln_n})
        return {"falls": ratio, "limit": float(ratio[-1] * ln_n[-1] ** power) - 4 * C}

    return evidence


CLAIMS = (
    _radius_claim(
        "q9-radius",
        "Claim 9.3, as printed",
        "With R = 0.01λ/(ne^B) the kernel may move by at most λ/4: 3nRe^{2B} ≤ λ/4 at n = 10, δ = 0.05, C = 10, σ = 1.",
        1,
        FAILS,
        Control("σ = 0.05, where e^B < 25/3", _budget(1, 0.05), HOLDS),
    ),
    _radius_claim(
        "q9-radius-corrected",
        "Claim 9.3, erratum 5",
        "With R = 0.01λ/(ne^{2B}) the kernel may move by at most λ/4, at the same values.",
        2,
        HOLDS,
        Control("the printed R", _budget(1)),
    ),
    Claim(
        name="q18-iterations",
        reference="Theorem 7.1",
        kind="identity",
        statement="With the paper's step and B = 1, T is the same for m = 64, ..., 65536 and at most "
        "⌈200 λ^-2 n² e^{4B} ln(n/ε)⌉.",
        evidence=_iterations("empirical"),
        judge=all_of(varies=at_most(0.0), limit=at_most(1.0)),
        controls=(Control("the union bound's B, which contains m", _iterations("union")),),
    ),
    Claim(
        name="q19-crossing",
        reference="Theorem 1.1, n^{o(1)}",
        kind="identity",
        statement="The n at which e^{4B} falls below n, by bracketing, is its closed form to 1e-6, for C = 1, 2, 10.",
        formula="ln n = 8C²σ² + √(64C⁴σ⁴ + 16C²σ² ln(1/δ))",
        evidence=_crossing(),
        judge=equal(1e-6, relative=True),
        controls=(Control("δ ignored", _crossing(ignored=True)),),
    ),
    Claim(
        name="q19-decay",
        reference="Theorem 1.1, n^{o(1)}",
        kind="limit",
        statement="e^{4B} is n^{o(1)}: 4B/ln n falls strictly, only like 4Cσ/√ln n.",
        evidence=_decay(0.5),
        judge=all_of(falls=decreasing("ln_n"), limit=within(-1e-3, 1e-3, predicted=0.0)),
        controls=(Control("like 1/ln n", _decay(1.0)),),
    ),
)

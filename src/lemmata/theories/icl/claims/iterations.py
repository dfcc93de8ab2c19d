"""The exponents of the iteration count (P2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm

_GRID = np.array([4.0, 6, 8, 12, 16])
PATTERNS_SLOPE = float(np.polyfit(np.log(_GRID), np.log(_GRID * np.sqrt(np.log(_GRID))), 1)[0])
"""The exponent of M_1 √log M_1 on the grid of p2-patterns: 1.25."""


@lm.evidence()
def exponent(data: xr.Dataset, along: str, reverse: bool = False, law: float | None = None) -> xr.DataArray:
    """The exponent of T* in the axis, one per seed; law: residuals put on that exponent."""
    times = data.reached_step
    if reverse:
        times = times.assign_coords({along: times[along].values[::-1]})
    return lm.log_slopes(times if law is None else lm.on_law(times, along, law), along)


def _near(value: float, half: float = 0.25) -> Any:
    return lm.within(value - half, value + half, predicted=value)


ETA = exponent.of("p2-eta")("step_size")
ALPHA = exponent.of("p2-alpha")("fraction")
BETA = exponent.of("p2-beta")("pattern_norm")
PATTERNS = exponent.of("p2-patterns")("relevant_patterns")
WIDTH = exponent.of("p2-width")("neurons")
ON_BETA = lm.Control("T* put on β^(-2/3)", law=-2 / 3)
ON_PATTERNS = lm.Control("T* put on M_1 √log M_1", law=PATTERNS_SLOPE)
ON_WIDTH = lm.Control("T* put on a constant", law=0.0)

CLAIMS = (
    lm.Claim("p2-iterations-eta", "(6.10)", "scaling")
    .states("The number of iterations is inversely proportional to the step size.")
    .in_symbols(r"T^* \propto \eta^{-1}")
    .judged(ETA, _near(-1.0, 0.15), lm.Control("η values in reversed order", reverse=True)),
    lm.Claim("p2-iterations-alpha", "(6.10)", "scaling")
    .states("The number of iterations grows as α^(-2/3) when decisive contexts become rare.")
    .in_symbols(r"T^* \propto \alpha^{-2/3}")
    .judged(ALPHA, _near(-2 / 3), lm.Control("α values in reversed order", reverse=True)),
    lm.Claim("p2-iterations-beta", "(6.10)", "scaling")
    .states("As stated: the number of iterations grows as β^(-2/3) when patterns become short.")
    .in_symbols(r"T^* \propto \beta^{-2/3}")
    .judged(BETA, _near(-2 / 3), ON_BETA, expected=lm.FAILS),
    lm.Claim("p2-iterations-beta-corrected", "(6.10), corrected", "scaling", corrects="p2-iterations-beta")
    .states("Corrected: the number of iterations falls with β, with an exponent between -2.3 and -1.4.")
    .in_symbols(r"T^* \propto \beta^k, \quad -2.3 \le k \le -1.4")
    .judged(BETA, lm.within(-2.3, -1.4), ON_BETA),
    lm.Claim("p2-iterations-patterns", "(6.10)", "scaling")
    .states("As stated: the number of iterations grows as M_1 √log M_1, exponent 1.25 on the grid.")
    .in_symbols(r"T^* \propto M_1\sqrt{\log M_1}")
    .judged(PATTERNS, _near(PATTERNS_SLOPE), ON_PATTERNS, expected=lm.FAILS),
    lm.Claim("p2-iterations-patterns-corrected", "(6.10), corrected", "scaling", corrects="p2-iterations-patterns")
    .states("Corrected: the number of iterations grows with M_1, with an exponent between 0.2 and 0.8.")
    .in_symbols(r"T^* \propto M_1^k, \quad 0.2 \le k \le 0.8")
    .judged(PATTERNS, lm.within(0.2, 0.8), ON_PATTERNS),
    lm.Claim("p2-iterations-width", "(6.10)", "scaling")
    .states("As stated: the number of iterations does not depend on the width m.")
    .in_symbols(r"T^* \propto m^0")
    .judged(WIDTH, _near(0.0), ON_WIDTH, expected=lm.FAILS),
    lm.Claim("p2-iterations-width-corrected", "(6.10), corrected", "scaling", corrects="p2-iterations-width")
    .states("""Corrected: with output weights ±1/m the number of iterations grows with m, with an exponent between 0.6
        and 1.2.""")
    .in_symbols(r"T^* \propto m^k, \quad 0.6 \le k \le 1.2")
    .judged(WIDTH, lm.within(0.6, 1.2), ON_WIDTH),
)

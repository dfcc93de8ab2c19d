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


def _claim(
    name: str,
    statement: str,
    of: Any,
    judge: Any,
    control: lm.Control,
    formula: str,
    expected: str = lm.HOLDS,
    **more: Any,
) -> lm.Claim:
    reference = "(6.10), corrected" if "corrects" in more else "(6.10)"
    return (
        lm.Claim(name, reference, "scaling", **more)
        .states(statement)
        .in_symbols(formula)
        .judged(of, judge, control, expected=expected)
    )


_ETA = exponent.of("p2-eta")("step_size")
_ALPHA = exponent.of("p2-alpha")("fraction")
_BETA = exponent.of("p2-beta")("pattern_norm")
_PATTERNS = exponent.of("p2-patterns")("relevant_patterns")
_WIDTH = exponent.of("p2-width")("neurons")
_ON_BETA = lm.Control("T* put on β^(-2/3)", law=-2 / 3)
_ON_PATTERNS = lm.Control("T* put on M_1 √log M_1", law=PATTERNS_SLOPE)
_ON_WIDTH = lm.Control("T* put on a constant", law=0.0)


def _near(value: float, half: float = 0.25) -> Any:
    return lm.within(value - half, value + half, predicted=value)


CLAIMS = (
    _claim(
        "p2-iterations-eta",
        "The number of iterations is inversely proportional to the step size.",
        _ETA,
        _near(-1.0, 0.15),
        lm.Control("η values in reversed order", reverse=True),
        r"T^* \propto \eta^{-1}",
    ),
    _claim(
        "p2-iterations-alpha",
        "The number of iterations grows as α^(-2/3) when decisive contexts become rare.",
        _ALPHA,
        _near(-2 / 3),
        lm.Control("α values in reversed order", reverse=True),
        r"T^* \propto \alpha^{-2/3}",
    ),
    _claim(
        "p2-iterations-beta",
        "As stated: the number of iterations grows as β^(-2/3) when patterns become short.",
        _BETA,
        _near(-2 / 3),
        _ON_BETA,
        r"T^* \propto \beta^{-2/3}",
        expected=lm.FAILS,
    ),
    _claim(
        "p2-iterations-beta-corrected",
        "Corrected: the number of iterations falls with β, with an exponent between -2.3 and -1.4.",
        _BETA,
        lm.within(-2.3, -1.4),
        _ON_BETA,
        r"T^* \propto \beta^k, \quad -2.3 \le k \le -1.4",
        corrects="p2-iterations-beta",
    ),
    _claim(
        "p2-iterations-patterns",
        "As stated: the number of iterations grows as M_1 √log M_1, exponent 1.25 on the grid.",
        _PATTERNS,
        _near(PATTERNS_SLOPE),
        _ON_PATTERNS,
        r"T^* \propto M_1\sqrt{\log M_1}",
        expected=lm.FAILS,
    ),
    _claim(
        "p2-iterations-patterns-corrected",
        "Corrected: the number of iterations grows with M_1, with an exponent between 0.2 and 0.8.",
        _PATTERNS,
        lm.within(0.2, 0.8),
        _ON_PATTERNS,
        r"T^* \propto M_1^k, \quad 0.2 \le k \le 0.8",
        corrects="p2-iterations-patterns",
    ),
    _claim(
        "p2-iterations-width",
        "As stated: the number of iterations does not depend on the width m.",
        _WIDTH,
        _near(0.0),
        _ON_WIDTH,
        r"T^* \propto m^0",
        expected=lm.FAILS,
    ),
    _claim(
        "p2-iterations-width-corrected",
        "Corrected: with output weights ±1/m the number of iterations grows with m, with an exponent between 0.6 "
        "and 1.2.",
        _WIDTH,
        lm.within(0.6, 1.2),
        _ON_WIDTH,
        r"T^* \propto m^k, \quad 0.6 \le k \le 1.2",
        corrects="p2-iterations-width",
    ),
)

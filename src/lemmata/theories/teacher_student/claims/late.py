"""The late phase beyond Theorem 3.1: score and odds (P18), the bound of Theorem 3.2 (T4), no logarithm (C1)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student.measures import around, extremes, multiples
from lemmata.theories.teacher_student.theorem import FROZEN, RIGID, dimension_claims, over_law, rate_claim


@lm.evidence("t3-late")
def growth(data: xr.Dataset, curve: str = "measured") -> xr.DataArray:
    """excess · T at 10⁴ T* over its value at 10² T*, or that of a curve (log T)/T at the same times."""
    data = lm.cells(data, frozen="none")
    logarithm = xr.apply_ufunc(np.log, data.step.where(data.step > 0))
    scaled, clock = data.excess * data.step if curve == "measured" else logarithm, multiples(data)
    return extremes(lm.at(scaled, clock, 1e4) / lm.at(scaled, clock, 1e2))


LATE_MASS = r"(D-K)\sqrt{\frac{K}{2a_\kappa\eta\lVert V^*\rVert_F^2T}}"
CLAIMS = (
    rate_claim("p18-time", "Lemma C.18", "The missing score 1/K - p", "off_support", -0.5, 0.02),
    *dimension_claims(
        "p18-dimension", "Lemma C.18", "At fixed ηT and K, 1/K - p", "off_support", (2.0, 0.2), (1.0, 0.1)
    ),
    lm.Claim("p18a-off-support", "P18', derived", "limit", source="derived")
    .states("The mass off the support is (D - K)√(K/(2a_κη‖V*‖²T)): to 3 % at 10³T*, to 1 % at 10⁴T*.")
    .in_symbols(rf"\delta \simeq {LATE_MASS}")
    .judged(
        over_law("mass", moments={"10³T*": 1e3, "10⁴T*": 1e4}),
        lm.within({"10³T*": (0.97, 1.03), "10⁴T*": (0.99, 1.01)}, by="every", predicted=1.0),
        lm.Control("values frozen at V*", frozen="values"),
    ),
    lm.Claim("p18a-odds", "P18', derived", "limit", source="derived")
    .states("The odds off the support are (D - K)√(K/(2a_κη‖V*‖²T)), to 1 % at 10³T*.")
    .in_symbols(rf"o = \frac{{\delta}}{{Kp}} \simeq {LATE_MASS}")
    .judged(over_law("odds"), around(1.0, 0.01), RIGID),
    lm.Claim("p18a-value", "P18', derived", "limit", source="derived")
    .states("C_1 exceeds 1 by the odds off the support, to 2 % at 10³T*.")
    .in_symbols(r"C_1-1 \simeq o, \quad o = \frac{\delta}{Kp}")
    .judged(over_law("overshoot"), around(1.0, 0.02), FROZEN),
    rate_claim("p18a-product", "P18', derived", "|pC_1 - 1/K|", "product", -1.0, 0.03),
    *dimension_claims(
        "t4-epsilon-dimension",
        "Theorem 3.2",
        "The time from which the bound on the out-of-distribution excess is below ε",
        "epsilon",
        (6.0, 0.6),
        (4.0, 0.1),
    ),
    lm.Claim("c1-no-log", "comparison with earlier work", "comparison")
    .states("""The excess loss falls as 1/T, not as (log T)/T: excess · T at 10⁴T* is 0.93 to 1.02 times its value at
        10²T*.""")
    .in_symbols(r"0.93 \le \frac{10^4T^*\cdot\mathrm{Excess}(10^4T^*)}{10^2T^*\cdot\mathrm{Excess}(10^2T^*)} \le 1.02")
    .judged(
        growth(), lm.within(0.93, 1.02, by="every", predicted=1.0), lm.Control("a curve (log T)/T", curve="logarithm")
    ),
)

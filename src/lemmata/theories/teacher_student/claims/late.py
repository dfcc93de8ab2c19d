"""The late phase: rates in T, their constants, and their powers of D (P18, T1 to T3, T4, C1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import within
from lemmata.lab.measures import log_slopes, on_law, stack
from lemmata.theories.teacher_student.bounds import late_mass
from lemmata.theories.teacher_student.gaussian import mean_square_slope
from lemmata.theories.teacher_student.measures import (
    at_fixed_time,
    at_multiple,
    late_slope,
    passage,
    product_gap,
    task_of,
)

LATE, DIMENSION = "t3-late", "t3-dimension"
BENT = [0.1, 0.0]
Read = Callable[[xr.Dataset], xr.DataArray]

QUANTITIES: dict[str, Read] = {
    "off_support": lambda data: data.mass / data.support_count,
    "score_error": lambda data: data.score_error,
    "value_error": lambda data: data.value_error,
    "excess": lambda data: data.excess,
    "product": lambda data: abs(product_gap(data)),
}
"""What is followed: 1/K - p = δ/K, ‖S - S*‖, ‖W_V - V*‖/‖V*‖, the excess loss, |1/K - pC_1|."""


def _cells(datasets: Datasets, frozen: str, slopes: Sequence[float] | None) -> xr.Dataset:
    data = datasets[LATE].sel(frozen=frozen)
    return data if slopes is None else data.sel(negative_slope=slopes)


def _rate(quantity: str, frozen: str = "none", slopes: Sequence[float] | None = None) -> Evidence:
    """The least and the largest exponent in T over [10², 10⁴] T*, over sizes and activations."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _cells(datasets, frozen, slopes)
        return _ends(late_slope(QUANTITIES[quantity](data), data))

    return evidence


def _ends(values: xr.DataArray) -> xr.DataArray:
    """The least and the largest over all cells."""
    dims = [dim for dim in values.dims if dim != "seed"]
    ends = {"least": values.min(dims, skipna=False), "largest": values.max(dims, skipna=False)}
    return stack(ends, "cell")


def _ratio(read: Read, multiple: float, frozen: str = "none") -> Evidence:
    """The least and the largest ratio at a multiple of T*."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _cells(datasets, frozen, None)
        return _ends(at_multiple(read(data), data, multiple))

    return evidence


def _scores_over_law(data: xr.Dataset) -> xr.DataArray:
    D, K = data.token_count, data.support_count
    pace = 2 * mean_square_slope(data.slope) * data.eta * data.squared_norm * data.step
    return data.score_error / (D * np.sqrt((D - K) / pace))


def _excess_over_law(data: xr.Dataset) -> xr.DataArray:
    D, K = data.token_count, data.support_count
    return 4 * data.eta * data.step * data.excess / (K * D * (D - K))


def _mass_over_law(data: xr.Dataset) -> xr.DataArray:
    return data.mass / late_mass(task_of(data), data.step)


def _off_support(frozen: str) -> Evidence:
    """δ over its law at 10³ T* and, its distance from 1 tripled, at 10⁴ T*, where the claim is three times sharper."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        early, late = (_ratio(_mass_over_law, multiple, frozen)(datasets) for multiple in (1e3, 1e4))
        return stack({"10³T*": early, "10⁴T*, distance from 1 tripled": 1 + 3 * (late - 1)}, "time")

    return evidence


def _logarithm(steps: xr.DataArray) -> xr.DataArray:
    return xr.apply_ufunc(np.log, steps.where(steps > 0))


def _growth(law: Callable[[xr.DataArray], xr.DataArray] | None = None) -> Evidence:
    """excess · T at 10⁴ T* over its value at 10² T*; `law` puts another curve on the same times."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _cells(datasets, "none", None)
        scaled = data.excess * data.step if law is None else law(data.step)
        return _ends(at_multiple(scaled, data, 1e4) / at_multiple(scaled, data, 1e2))

    return evidence


def _powers(read: Callable[[Datasets], xr.DataArray], law: float | None = None) -> Evidence:
    """The exponent in D for every κ; `law` puts the residuals on that exponent first."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        values = read(datasets)
        slopes = [float(slope) for slope in values.negative_slope]
        parts = {f"κ={slope:g}": values.sel(negative_slope=slope, drop=True) for slope in slopes}
        if law is not None:
            parts = {name: on_law(part, "tokens", law) for name, part in parts.items()}
        return stack({name: log_slopes(part, "tokens") for name, part in parts.items()}, "activation")

    return evidence


def _fixed(quantity: str) -> Callable[[Datasets], xr.DataArray]:
    return lambda datasets: QUANTITIES[quantity](at_fixed_time(datasets[DIMENSION]))


def _late_claim(
    name: str, reference: str, kind: str, statement: str, formula: str, evidence: Evidence, centre: float,
    low: float, high: float, control: Control,
) -> Claim:  # fmt: skip
    return Claim(
        name=name, reference=reference, kind=kind, statement=statement, formula=formula, reads=(LATE,),
        evidence=evidence, judge=within(low, high, by="every", predicted=centre), controls=(control,),
    )  # fmt: skip


def _rate_claim(
    name: str, reference: str, what: str, quantity: str, exponent: float, width: float, control: Control
) -> Claim:
    return _late_claim(
        name, reference, "scaling", f"{what} falls as T^{exponent:g} over [10², 10⁴] T*, all sizes and activations.",
        f"exponent {exponent:g} ± {width:g}", _rate(quantity), exponent, exponent - width, exponent + width, control,
    )  # fmt: skip


def _constant_claim(
    name: str, reference: str, statement: str, formula: str, read: Read, low: float, high: float, control: str
) -> Claim:
    return _late_claim(
        name, reference, "limit", statement, formula, _ratio(read, 1e3), 1.0, low, high,
        Control(f"{control} frozen", _ratio(read, 1e3, control)),
    )  # fmt: skip


def _dimension_claims(
    name: str, reference: str, what: str, read: Callable[[Datasets], xr.DataArray], printed: float,
    printed_width: float, corrected: float, width: float,
) -> tuple[Claim, Claim]:  # fmt: skip
    """The power of D as printed, and as corrected by erratum 2."""

    def claim(suffix: str, source: str, power: float, around: float, expected: str, control: Control) -> Claim:
        return Claim(
            name=name + suffix, reference=f"{reference}, {source}", kind="scaling",
            statement=f"{what} grows as D^{power:g}.", formula=f"exponent in D {power:g} ± {around:g}",
            reads=(DIMENSION,), evidence=_powers(read),
            judge=within(power - around, power + around, by="every", predicted=power),
            expected=expected, controls=(control,),
        )  # fmt: skip

    law = Control("the residuals on the printed law", _powers(read, printed), HOLDS)
    # judged against the printed power, the corrected one is off by their difference
    moved = Control(f"judged against {printed:g}", lambda data: _powers(read)(data) - (printed - corrected))
    return (
        claim("", "as printed", printed, printed_width, FAILS, law),
        claim("-corrected", "erratum 2", corrected, width, HOLDS, moved),
    )


FROZEN = "attention frozen"
CLAIMS = (
    _rate_claim("p18-time", "Lemma C.18", "The missing score 1/K - p", "off_support", -0.5, 0.02,
                Control(FROZEN, _rate("off_support", "attention"))),
    *_dimension_claims("p18-dimension", "Lemma C.18", "At fixed ηT and K, 1/K - p", _fixed("off_support"),
                       2.0, 0.2, 1.0, 0.1),
    _late_claim(
        "p18a-off-support", "P18', derived", "limit",
        "The mass off the support is (D - K)√(K/(2a_κη‖V*‖²T)): to 3 % at 10³T*, to 1 % at 10⁴T*.",
        "δ ≃ (D-K)√(K/(2a_κη‖V*‖²T))", _off_support("none"), 1.0, 0.97, 1.03,
        Control("values frozen at V*", _off_support("values")),
    ),
    _constant_claim(
        "p18a-odds", "P18', derived", "The odds off the support obey the same law, to 1 % at 10³T*.",
        "o = δ/(Kp) ≃ (D-K)√(K/(2a_κη‖V*‖²T))",
        lambda data: data.odds / late_mass(task_of(data), data.step), 0.99, 1.01, "values",
    ),
    _constant_claim(
        "p18a-value", "P18', derived", "C_1 exceeds 1 by the odds off the support, to 2 % at 10³T*.",
        "(C_1 - 1)/o in 1 ± 0.02", lambda data: (data.value - 1) / data.odds, 0.98, 1.02, "attention",
    ),
    _rate_claim("p18a-product", "P18', derived", "|pC_1 - 1/K|", "product", -1.0, 0.03,
                Control(FROZEN, _rate("product", "attention"))),
    _rate_claim("t1-rate", "Theorem 3.1(1)", "The error ‖S - S*‖_F of the scores", "score_error", -0.5, 0.02,
                Control(FROZEN, _rate("score_error", "attention"))),
    _constant_claim(
        "t1-constant", "Theorem 3.1(1), derived", "‖S - S*‖_F is D√((D-K)/(2a_κη‖V*‖²T)), to 3 % at 10³T*.",
        "‖S - S*‖_F ≃ D√((D-K)/(2a_κη‖V*‖²T))", _scores_over_law, 0.97, 1.03, "values",
    ),
    *_dimension_claims("t1-dimension", "Theorem 3.1(1)", "At fixed ηT and K, ‖S - S*‖_F", _fixed("score_error"),
                       2.5, 0.25, 1.5, 0.05),
    _rate_claim("t2-rate", "Theorem 3.1(2)", "The error ‖W_V - V*‖_F of the values", "value_error", -0.5, 0.02,
                Control("attention frozen, κ = 0, 0.1", _rate("value_error", "attention", BENT))),
    _constant_claim(
        "t2-constant", "Theorem 3.1(2), derived", "‖W_V - V*‖_F is the odds times ‖V*‖_F, to 2 % at 10³T*.",
        "‖W_V - V*‖_F/(o‖V*‖_F) in 1 ± 0.02", lambda data: data.value_error / data.odds, 0.98, 1.02, "attention",
    ),
    *_dimension_claims("t2-dimension", "Theorem 3.1(2)", "At fixed ηT and K, ‖W_V - V*‖_F", _fixed("value_error"),
                       2.0, 0.2, 1.0, 0.1),
    _rate_claim("t3-rate", "Theorem 3.1(3)", "The excess loss", "excess", -1.0, 0.02,
                Control(FROZEN, _rate("excess", "attention"))),
    _constant_claim(
        "t3-constant", "Theorem 3.1(3), derived",
        "The excess loss is KD(D-K)/(4ηT), whatever κ, M and V*: to [0.99, 1.02] at 10³T*.",
        "4ηT · excess/(KD(D-K))", _excess_over_law, 0.99, 1.02, "attention",
    ),
    *_dimension_claims("t3-dimension", "Theorem 3.1(3)", "At fixed ηT and K, the excess loss", _fixed("excess"),
                       4.0, 0.4, 2.0, 0.05),
    *_dimension_claims("t4-epsilon-dimension", "Theorem 3.2",
                       "The time from which the bound on the out-of-distribution excess is below ε",
                       lambda datasets: passage(datasets[DIMENSION]),
                       6.0, 0.6, 4.0, 0.1),
    _late_claim(
        "c1-no-log", "comparison with earlier work", "comparison",
        "The excess loss falls as 1/T, not as (log T)/T: excess · T is the same at 10⁴T* and at 10²T*.",
        "ratio in [0.93, 1.02]", _growth(), 1.0, 0.93, 1.02, Control("a curve (log T)/T", _growth(_logarithm)),
    ),
)  # fmt: skip

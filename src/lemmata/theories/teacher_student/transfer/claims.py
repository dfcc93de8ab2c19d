"""Out of distribution: the bound (T4, B), worst cases (T5, T6), and independent noise (T7)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_least, at_most, within
from lemmata.lab.measures import stack
from lemmata.theories.teacher_student.measures import at_multiple, late_slope, multiples, over_slopes
from lemmata.theories.teacher_student.transfer.setting import TransferSetting
from lemmata.theories.teacher_student.transfer.training import LATE, MIDDLE, PROMISED

OOD = "t5-ood"
ALIKE = ["exponential", "gaussian", "uniform", "student_t", "rademacher", "correlated"]
"""Laws with independent, equally distributed columns and the teacher's responses."""
BATCH = TransferSetting.declaration("batch").default


def _largest(values: xr.DataArray) -> xr.DataArray:
    """Over records and activations, by law and seed."""
    return over_slopes(values.max("record"))


def _right_side(data: xr.Dataset) -> xr.DataArray:
    """½Δ² + ΔR with both at their bounds."""
    return data.gap_bound / 2 + np.sqrt(data.gap_bound * data.teacher_gap_bound)


def _limit(data: xr.Dataset) -> xr.DataArray:
    """½Δ² + ΔR of the sample."""
    return data.half_gap + np.sqrt(2 * data.half_gap * data.teacher_gap)


def _promise(multiple: float) -> Evidence:
    """The right side of B at a multiple of T* over the ε whose T_ε is 2·10³T*."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[OOD]
        ratio = at_multiple(_right_side(data) / data.promise, data, multiple)
        cells = ["test_data", "negative_slope"]
        return stack({"least": ratio.min(cells), "largest": ratio.max(cells)}, "cell")

    return evidence


def _kept(datasets: Datasets) -> xr.DataArray:
    """Excess over ε at T_ε, by law."""
    data = datasets[OOD]
    return over_slopes(at_multiple(data.ood_excess / data.promise, data, PROMISED))


def _without_cross_term(datasets: Datasets) -> xr.DataArray:
    """Excess over ½Δ² of the exact worst case."""
    data = datasets[OOD].sel(test_data="exact")
    return over_slopes(at_multiple(data.ood_excess / data.half_gap, data, PROMISED))


def _cross_term(datasets: Datasets) -> xr.DataArray:
    data = datasets[OOD]
    return _largest(data.ood_excess / _limit(data))


def _student_gap(factor: float) -> Evidence:
    return lambda datasets: _largest(2 * datasets[OOD].half_gap / (factor * datasets[OOD].gap_bound))


def _teacher_gap(factor: float, law: str | None = None) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[OOD] if law is None else datasets[OOD].sel(test_data=law)
        return _largest(data.teacher_gap / (factor * data.teacher_gap_bound))

    return evidence


def _least_late(law: str) -> Evidence:
    """The least excess over [10², 10⁴] T*."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[OOD].sel(test_data=law)
        times = multiples(data)
        late = (times >= LATE[0] * (1 - 1e-6)) & (times <= LATE[1] * (1 + 1e-6))
        return data.ood_excess.where(late).min("record")

    return evidence


def _slope(law: str, variable: str) -> Evidence:
    """The exponent in T over [10², 10⁴] T*, by activation and seed."""
    return lambda datasets: late_slope(datasets[OOD].sel(test_data=law)[variable], datasets[OOD].sel(test_data=law))


def _half(slope: float) -> Evidence:
    """excess/δ at 10³T* over that of κ = 1."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[OOD].sel(test_data="worst")
        scaled = at_multiple(data.ood_excess / data.mass, data, MIDDLE)
        return scaled.sel(negative_slope=slope, drop=True) / scaled.sel(negative_slope=1.0, drop=True)

    return evidence


def _exact(doubled: float = 1.0) -> Evidence:
    """|excess / (½Δ² + RΔ) - 1| of the exact worst case."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[OOD].sel(test_data="exact")
        expected = data.half_gap + doubled * np.sqrt(2 * data.half_gap * data.teacher_gap)
        return _largest(abs(data.ood_excess / expected - 1))

    return evidence


def _formula(datasets: Datasets) -> xr.DataArray:
    """Distance of ½Δ² from its formula in standard errors, κ = 1, the largest over records, by law."""
    data = datasets[OOD].sel(test_data=ALIKE, negative_slope=1.0)
    off = abs(data.half_gap - data.formula.sel(terms="all", drop=True)) / data.half_gap_error
    return off.max("record")


def _formula_without_mean(datasets: Datasets) -> xr.DataArray:
    data = datasets[OOD].sel(test_data="exponential", negative_slope=1.0)
    off = abs(data.half_gap - data.formula.sel(terms="without_mean", drop=True)) / data.half_gap_error
    return off.isel(record=data.value.fillna(-np.inf).argmax("record"))


def _bump(law: str) -> Evidence:
    """The largest clean excess between t_1 and T*, over its value at t_1; κ = 1."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[OOD].sel(test_data=law, negative_slope=1.0)
        between = (data.step >= data.fitted_step * (1 - 1e-6)) & (data.step <= data.escape_step * (1 + 1e-6))
        first = data.half_gap.isel(record=between.argmax("record"))
        return data.half_gap.where(between).max("record") / first

    return evidence


CLAIMS = (
    Claim(
        name="t4-epsilon-formula",
        reference="Theorem 3.2, corrected",
        kind="comparison",
        statement="At T_ε = KD(D-K)²ξ/(a_κη(√(R²+2ε)-R)²) the bound on the out-of-distribution excess is ε, to 2 %.",
        formula="right side of B at T_ε over ε in [0.98, 1.02]",
        reads=(OOD,),
        evidence=_promise(PROMISED),
        judge=within(0.98, 1.02, by="every", predicted=1.0),
        controls=(Control("at T_ε/2", _promise(PROMISED / 2)),),
    ),
    Claim(
        name="t4-excess",
        reference="Theorem 3.2",
        kind="bound",
        statement="At T_ε the out-of-distribution excess is at most ε, for every law, response and seed.",
        formula="excess / ε ≤ 1",
        reads=(OOD,),
        evidence=_kept,
        judge=at_most(1.0, by="every"),
        controls=(Control("the exact worst case against ½Δ² alone", _without_cross_term),),
    ),
    Claim(
        name="b-ood-cross-term",
        reference="proof of Theorem 3.2",
        kind="bound",
        statement="The out-of-distribution excess is at most ½Δ² + ΔR, for every law, record and seed.",
        formula="excess / (½Δ² + ΔR) ≤ 1 + 1e-9",
        reads=(OOD,),
        evidence=_cross_term,
        judge=at_most(1 + 1e-9, by="every"),
        controls=(Control("the exact worst case against ½Δ² alone", _without_cross_term),),
    ),
    Claim(
        name="b-ood-student-gap",
        reference="proof of Theorem 3.2",
        kind="bound",
        statement="Student and teacher differ by at most Δ² ≤ 2Dξ‖V*‖²[K²(1/K-C_1p)² + C_1²δ²].",
        formula="Δ² over its bound ≤ 1",
        reads=(OOD,),
        evidence=_student_gap(1.0),
        judge=at_most(1.0, by="every"),
        controls=(Control("the bound times 0.001", _student_gap(1e-3)),),
    ),
    Claim(
        name="b-ood-teacher-gap",
        reference="proof of Theorem 3.2",
        kind="bound",
        statement="Responses and teacher differ by at most R² ≤ 2Dξ(1 + ‖V*‖²).",
        formula="R² over its bound ≤ 1",
        reads=(OOD,),
        evidence=_teacher_gap(1.0),
        judge=at_most(1.0, by="every"),
        controls=(Control("the bound times 0.01, independent responses", _teacher_gap(1e-2, "independent")),),
    ),
    Claim(
        name="t5-worst-case",
        reference="Section D, as printed",
        kind="ordering",
        statement="With the printed sign, Ỹ = f* + sign(u_out) on A, the student loses more than the teacher at every "
        "record of [10², 10⁴] T*.",
        formula="excess > 0",
        reads=(OOD,),
        evidence=_least_late("worst_printed"),
        judge=at_least(0.0, by="every", strict=True),
        expected=FAILS,
        controls=(Control("minus sign", _least_late("worst"), HOLDS),),
    ),
    Claim(
        name="t5-worst-case-corrected",
        reference="Section D, erratum 4",
        kind="ordering",
        statement="With the minus sign, Ỹ = f* - sign(u_out) on A, the student loses more than the teacher at every "
        "record of [10², 10⁴] T*, for every activation and seed.",
        formula="excess > 0",
        reads=(OOD,),
        evidence=_least_late("worst"),
        judge=at_least(0.0, by="every", strict=True),
        controls=(Control("plus sign", _least_late("worst_printed")),),
    ),
    Claim(
        name="t5-slope",
        reference="Section D",
        kind="scaling",
        statement="Against the worst-case response the excess falls as T^(-1/2), so that the rate of the bound is met.",
        formula="exponent -0.5 ± 0.03",
        reads=(OOD,),
        evidence=_slope("worst", "ood_excess"),
        judge=within(-0.53, -0.47, by="every", predicted=-0.5),
        controls=(Control("the clean excess", _slope("worst", "half_gap")),),
    ),
    Claim(
        name="t5-relu-half",
        reference="Section D",
        kind="comparison",
        statement="With ReLU the worst-case excess over δ is half of that with the identity, at 10³T*.",
        formula="ratio in [0.47, 0.53]",
        reads=(OOD,),
        evidence=_half(0.0),
        judge=within(0.47, 0.53, by="every", predicted=0.5),
        controls=(Control("κ = 1 over itself", _half(1.0)),),
    ),
    Claim(
        name="t6-exact-worst-case",
        reference="T6, derived",
        kind="identity",
        statement="The response f* + R(f* - TF)/Δ costs exactly ½Δ² + RΔ.",
        formula="relative difference ≤ 1e-10",
        reads=(OOD,),
        evidence=_exact(),
        judge=at_most(1e-10, by="every"),
        controls=(Control("R doubled on one side", _exact(2.0)),),
    ),
    Claim(
        name="t7-slope",
        reference="Figure 2(b), as stated",
        kind="scaling",
        statement="On exponential inputs with the teacher's responses the excess falls as T^(-1/2).",
        formula="exponent -0.5 ± 0.05",
        reads=(OOD,),
        evidence=_slope("exponential", "half_gap"),
        judge=within(-0.55, -0.45, by="every", predicted=-0.5),
        expected=FAILS,
        controls=(Control("the exact worst case", _slope("exact", "ood_excess"), HOLDS),),
    ),
    Claim(
        name="t7-slope-corrected",
        reference="T7, derived; erratum 10",
        kind="scaling",
        statement="On exponential inputs with the teacher's responses the excess falls as 1/T, for every activation "
        "and seed.",
        formula="exponent -1 ± 0.03",
        reads=(OOD,),
        evidence=_slope("exponential", "half_gap"),
        judge=within(-1.03, -0.97, by="every", predicted=-1.0),
        controls=(Control("the exact worst case", _slope("exact", "ood_excess")),),
    ),
    Claim(
        name="t7-identity-formula",
        reference="T7, derived",
        kind="identity",
        statement="For κ = 1 and independent columns of mean μ and covariance Σ, ½Δ² has a closed form; the sample is "
        "within 4 standard errors at every record.",
        formula="½Δ² = D/2 Σ_m [v_mᵀΣv_m (K(1/K-C_1p)² + C_1²δ²/(D-K)) + (v_mᵀμ)²(1-C_1)²]",
        reads=(OOD,),
        evidence=_formula,
        judge=at_most(4.0, by="every"),
        controls=(Control("the term of the mean left out, at the largest C_1", _formula_without_mean),),
    ),
    Claim(
        name="t7-batch-noise",
        reference="T7, derived",
        kind="comparison",
        statement="A fixed noisy batch of N pairs adds a term of spread σ_ξΔ_N/√N to the excess.",
        formula="spread over 400 noise draws over it in [0.75, 1.25]",
        reads=(OOD,),
        evidence=lambda datasets: datasets[OOD].noise_ratio.sel(test_data="exponential"),
        judge=within(0.75, 1.25, by="every", predicted=1.0),
        controls=(
            Control(
                "√N left out", lambda datasets: datasets[OOD].noise_ratio.sel(test_data="exponential") / BATCH**0.5
            ),
        ),
    ),
    Claim(
        name="t7-bump",
        reference="T7, derived",
        kind="ordering",
        statement="On inputs with a mean, and κ = 1, the clean excess rises in phase 2, while C_1 overshoots, to at "
        "least 1.5 times its value at t_1.",
        formula="max over [t_1, T*] / value at t_1 ≥ 1.5",
        reads=(OOD,),
        evidence=_bump("exponential"),
        judge=at_least(1.5, by="every"),
        controls=(Control("centred inputs", _bump("gaussian")),),
    ),
)

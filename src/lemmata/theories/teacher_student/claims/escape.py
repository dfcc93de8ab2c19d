"""The second phase: how its end T* scales (P17), and how fast the score escapes from 1/D (C2)."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_most, within
from lemmata.lab.measures import log_slopes
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import Task
from lemmata.theories.teacher_student.gaussian import mean_square_slope

ESCAPE, PHASES = "p17-escape", "c2-phases"
SWEEPS = {
    "norm": ["λ=0.25", "λ=0.5", "λ=1"],
    "step": ["η=0.0125", "η=0.025", "η=0.05"],
    "rows": ["M=1", "M=2", "M=4"],
    "ratio": ["D=20, K=D/20", "D=40, K=D/20", "D=80, K=D/20", "D=160, K=D/20"],
    "dimension": ["D=40, K=1", "D=100, K=1", "D=320, K=1", "D=1000, K=1"],
}
"""The labels of the cells of every sweep."""
ALL, BENT = [1.0, 0.1, 0.0], [0.1, 0.0]
"""κ of all activations, and of those that are not the identity."""


def _exponent(sweep: str, along: str, slopes: list[float]) -> Evidence:
    """The exponent of T* in a variable of the data, along one sweep, for every κ."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[ESCAPE].sel(variant=SWEEPS[sweep], negative_slope=slopes)
        x = np.sqrt(data.squared_norm) if along == "norm" else data[along]
        by = data.escape_step.assign_coords(variant=x.isel(seed=0, negative_slope=0, drop=True).values)
        return log_slopes(by, "variant")

    return evidence


def _scaling(
    name: str, statement: str, formula: str, evidence: Evidence, centre: float, width: float, control: Control,
    *, reference: str = "Lemma C.17", expected: str = HOLDS,
) -> Claim:  # fmt: skip
    return Claim(
        name=name,
        reference=reference,
        kind="scaling",
        statement=statement,
        formula=formula,
        reads=(ESCAPE,),
        evidence=evidence,
        judge=within(centre - width, centre + width, by="every", predicted=centre),
        expected=expected,
        controls=(control,),
    )


def _shifted(evidence: Evidence, by: float) -> Evidence:
    """The same exponents seen from another claimed one: judged against c + by, they miss c by -by."""
    return lambda datasets: evidence(datasets) - by


def _escape_exponent(slopes: list[float]) -> Evidence:
    """d ln Δp / d ln p at p = 2/D, D = 400."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        rate = datasets[PHASES].sel(size="D=400", negative_slope=slopes).rate
        above, below = rate.sel(level="2.1/D", drop=True), rate.sel(level="1.9/D", drop=True)
        return np.log(above / below) / math.log(2.1 / 1.9)

    return evidence


def _cubic_growth(slopes: list[float]) -> Evidence:
    """How much KΔp/(η‖V*‖²p³) at p = 1.1/D grows from D/K = 400 to 10⁴; K and η are the same."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[PHASES].sel(level="1.1/D", negative_slope=slopes)
        scaled = data.rate / (data.squared_norm * data.score**3)
        return scaled.sel(size="D=10000", drop=True) / scaled.sel(size="D=400", drop=True)

    return evidence


def _second_half(slopes: list[float], factor: bool) -> Evidence:
    """dp/dt at p = 0.4/K over η‖V*‖²δ³/(K³D²p), times a_κ unless κ = 1; K = 1 and η = 0.05 in this experiment."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[PHASES].sel(size="D=400", level="0.4/K", negative_slope=slopes, drop=True)
        eta, K, D = data.eta, data.support_count, data.token_count
        expected = eta * data.squared_norm * (1 - K * data.score) ** 3 / (K**3 * D**2 * data.score)
        # a_1 = 1, so the identity needs no case of its own
        return data.rate / (expected * (mean_square_slope(data.negative_slope) if factor else 1.0))

    return evidence


def prefactor(ratio: float, slope: float) -> float:
    """φ(D/K, κ) = ηT* ‖V*‖² / (KD²) on the slow manifold, at K = 1."""
    task = Task(ratio, 1, 1.0, slope, 1.0)
    return escape_integral(task) * float(task.separation)


def _prefactor_limit(limits: dict[float, float]) -> Evidence:
    """φ(10^9, κ) over its limit."""
    return lambda datasets: xr.DataArray(
        [prefactor(1e9, slope) / limit for slope, limit in limits.items()], coords={"κ": list(limits)}
    )


NORM = _exponent("norm", "norm", ALL)
CLAIMS = (
    _scaling(
        "p17-norm",
        "T* falls as the inverse of the sum of the norms of the rows of V*, when V* is scaled.",
        "T* ∝ (Σ‖v_m‖)^-1 under V* → λV*, -1 ± 0.1",
        _exponent("norm", "row_norms", ALL),
        -1.0,
        0.1,
        Control("unit rows, M = 1, 2, 4", _exponent("rows", "row_norms", ALL), HOLDS),
        reference="Lemma C.17, as printed",
        expected=FAILS,
    ),
    _scaling(
        "p17-norm-corrected",
        "T* falls as the inverse square of the Frobenius norm of V*.",
        "T* ∝ ‖V*‖_F^-2, -2 ± 0.02",
        NORM,
        -2.0,
        0.02,
        Control("judged against -1", _shifted(NORM, 1.0)),
        reference="Lemma C.17, erratum 3",
    ),
    _scaling(
        "p17-step-size",
        "T* falls as the inverse of the step size.",
        "T* ∝ η^-1, -1 ± 0.02",
        _exponent("step", "eta", ALL),
        -1.0,
        0.02,
        Control("judged against -2", _shifted(_exponent("step", "eta", ALL), -1.0)),
    ),
    _scaling(
        "p17-fixed-ratio",
        "At a fixed ratio D/K = 20, T* grows as D³.",
        "T* ∝ D³ at D/K = 20, 3 ± 0.05",
        _exponent("ratio", "token_count", ALL),
        3.0,
        0.05,
        Control("judged against 4", _shifted(_exponent("ratio", "token_count", ALL), 1.0)),
    ),
    _scaling(
        "p17-dimension-identity",
        "At fixed K = 1 and κ = 1, T* grows as D².",
        "T* ∝ D² at K = 1, 2 ± 0.1",
        _exponent("dimension", "token_count", [1.0]),
        2.0,
        0.1,
        Control("judged against 4", _shifted(_exponent("dimension", "token_count", [1.0]), 2.0)),
    ),
    _scaling(
        "p17-dimension-relu",
        "At fixed K = 1 and κ = 0, 0.1, T* grows as D² with a prefactor that still falls: exponent 1.75 to 2.05.",
        "T* ∝ D^b at K = 1, b in [1.75, 2.05]",
        _exponent("dimension", "token_count", BENT),
        1.9,
        0.15,
        Control("the sweep at fixed D/K", _exponent("ratio", "token_count", BENT)),
    ),
    Claim(
        name="p17-prefactor-limit",
        reference="Lemma C.17, derived",
        kind="limit",
        statement="The time of escape in units of KD²/(η‖V*‖²) tends to 1 for the identity and to 1/(1+κ²) for κ < 1 "
        "as D/K grows: its ratio to the limit at D/K = 10^9 is within 1 % of 1.",
        formula="φ(D/K, κ) → 1 (κ = 1), 1/(1+κ²) (κ = 0, 0.1, 0.5)",
        evidence=_prefactor_limit({1.0: 1.0} | {slope: 1 / (1 + slope**2) for slope in (0.0, 0.1, 0.5)}),
        judge=within(0.99, 1.01, predicted=1.0),
        controls=(Control("limit 1 for κ = 0.5", _prefactor_limit({0.5: 1.0})),),
    ),
    Claim(
        name="c2-escape-identity",
        reference="proof of Lemma C.17",
        kind="scaling",
        statement="For κ = 1 the score escapes cubically: the exponent of its growth at p = 2/D is 2.96 for D = 400.",
        formula="d ln Δp / d ln p = 2.96 ± 0.1",
        reads=(PHASES,),
        evidence=_escape_exponent([1.0]),
        judge=within(2.86, 3.06, by="every", predicted=2.96),
        controls=(Control("ReLU", _escape_exponent([0.0])),),
    ),
    Claim(
        name="c2-cubic-upper",
        reference="Lemma C.17, as printed",
        kind="bound",
        statement="Also for κ = 0, 0.1 the growth of the score is at most of order p³: KΔp/(η‖V*‖²p³) at p = 1.1/D "
        "grows by less than 1.5 from D/K = 400 to 10⁴.",
        formula="Δp ≤ c η‖V*‖²p³/K",
        reads=(PHASES,),
        evidence=_cubic_growth(BENT),
        judge=at_most(1.5, by="every", strict=True),
        expected=FAILS,
        controls=(Control("κ = 1", _cubic_growth([1.0]), HOLDS),),
    ),
    Claim(
        name="c2-escape-corrected",
        reference="erratum 9",
        kind="scaling",
        statement="For κ = 0, 0.1 the score escapes quadratically: the exponent at p = 2/D is 2.2 for D = 400.",
        formula="d ln Δp / d ln p = 2.2 ± 0.1",
        reads=(PHASES,),
        evidence=_escape_exponent(BENT),
        judge=within(2.1, 2.3, by="every", predicted=2.2),
        controls=(Control("κ = 1", _escape_exponent([1.0])),),
    ),
    Claim(
        name="c2-second-half",
        reference="C2, derived",
        kind="comparison",
        statement="Later in the escape, at p = 0.4/K, the score grows as η‖V*‖²δ³/(K³D²p), times a_κ for κ < 1.",
        formula="dp/dt over it in 1 ± 0.05",
        reads=(PHASES,),
        evidence=_second_half(ALL, True),
        judge=within(0.95, 1.05, by="every", predicted=1.0),
        controls=(Control("without a_κ, ReLU", _second_half([0.0], False)),),
    ),
)

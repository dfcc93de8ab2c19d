"""Inequalities and identities of the proof at every step from 0 to 3T* of the reference runs (P3 to P16, P18'', T3a).

`studies.proof` keeps the largest number of every check; a claim bounds it, and its control is the same check broken on
purpose or another run. Where the paper needs separated phases, a run with χ > 0.005 has no verdict.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import HOLDS, INCONCLUSIVE, Claim, Control, Datasets, Evidence, Judge
from lemmata.lab.judges import at_most, within
from lemmata.lab.measures import stack
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import Task
from lemmata.theories.teacher_student.gaussian import mean_square_slope
from lemmata.theories.teacher_student.measures import over_slopes, separated, task_of
from lemmata.theories.teacher_student.studies.proof import ALLOWED, SLACK

ALONG = "p3-along-run"
RUNS = ["R1", "R2", "R3"]
WIDE, FAST = {"variant": ["wide"], "negative_slope": [1.0]}, {"variant": ["fast"], "negative_slope": [1.0]}
UNSTABLE = {"variant": ["unstable"], "negative_slope": [1.0]}
IDENTITY = {"variant": RUNS, "negative_slope": [1.0]}


def largest(*checks: str, form: str = "claimed", gate: bool = False, **cells: Any) -> Evidence:
    """The largest number of these checks over the activations, by run; `gate`: only of separated phases."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[ALONG].sel({"variant": RUNS, **cells})
        data = separated(data) if gate else data
        found = {check: over_slopes(data.worst.sel(check=check, form=form, drop=True)) for check in checks}
        return stack(found, "check") + 0.0  # no negative zero

    return evidence


def _inequality(
    name: str, reference: str, statement: str, formula: str, checks: tuple[str, ...], control: Control,
    *, kind: str = "bound", allowed: float = SLACK, strict: bool = False, gate: bool = False, **cells: Any,
) -> Claim:  # fmt: skip
    """A row that asks the largest number of its checks to be at most what is allowed."""
    return Claim(
        name=name,
        reference=reference,
        kind=kind,
        statement=statement,
        formula=formula,
        reads=(ALONG,),
        evidence=largest(*checks, gate=gate, **cells),
        judge=at_most(allowed, by="every", strict=strict),
        controls=(control,),
    )


def _broken(case: str, *checks: str, **cells: Any) -> Control:
    return Control(case, largest(*checks, form="broken", **cells))


def _quotients(form: str = "claimed", gate: bool = True, **cells: Any) -> Evidence:
    """The least and the largest quotient of P8b."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        low, high = (largest(f"quotient_{end}", form=form, gate=gate, **cells)(datasets) for end in ("low", "high"))
        return stack({"least": -low.isel(check=0, drop=True), "largest": high.isel(check=0, drop=True)}, "quotient")

    return evidence


def _phase_one(gate: bool = True, **cells: Any) -> Evidence:
    """|t_1 - t̂_1| / (0.02 t̂_1 + 1)."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[ALONG].sel({"variant": RUNS, **cells})
        data = separated(data) if gate else data
        expected = math.log(0.05) / np.log1p(-data.eta * mean_square_slope(data.slope))
        return over_slopes(abs(data.fitted_step - expected) / (0.02 * expected + 1))

    return evidence


def _flatness(gate: bool = True, **cells: Any) -> Evidence:
    """max / min of C_1* over t ≤ t_1."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[ALONG].sel({"variant": RUNS, **cells})
        data = separated(data) if gate else data
        worst = data.worst.sel(form="claimed", drop=True)
        return over_slopes(-worst.sel(check="scale_high", drop=True) / worst.sel(check="scale_low", drop=True))

    return evidence


def _upper(form: str) -> Evidence:
    """How far the excess is above its upper bound, and for κ = 1 from equality."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[ALONG].sel(variant=RUNS)
        if form == "broken":
            data = data.sel(negative_slope=[1.0])
        above = over_slopes(data.worst.sel(check="upper", form=form, drop=True))
        apart = data.worst.sel(check="upper_equal", form="claimed", negative_slope=1.0, drop=True)
        return stack({"above": above, "κ=1, apart": apart}, "excess")

    return evidence


def _quadrature(slow: bool) -> Evidence:
    """ηT* minus the integral over the slow manifold."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[ALONG].sel(variant=RUNS)
        integral = xr.apply_ufunc(lambda *task: escape_integral(Task(*task), slow), *task_of(data)[:5], vectorize=True)
        return data.eta * data.escape_step - integral

    return evidence


def _overshoot(slope: float) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[ALONG].sel(variant=RUNS, negative_slope=slope)
        reached = data.worst.sel(check="largest_value", form="claimed", drop=True)
        return reached / (0.5 * (1 + np.sqrt(data.token_count / data.support_count)))

    return evidence


def _quotient_claim(name: str, reference: str, statement: str, judge: Judge, control: Control) -> Claim:
    return Claim(
        name=name, reference=reference, kind="bound", statement=statement, reads=(ALONG,), evidence=_quotients(),
        formula="(ΔC_2 + ΔC_3) K(D-K)Q / (η‖V*‖² √D p δ² C_1*)", judge=judge, controls=(control,),
    )  # fmt: skip


CLAIMS = (
    Claim(
        name="p3-attention-monotone",
        reference="Lemma C.2",
        kind="ordering",
        statement="1/D ≤ p < 1/K, and p grows at every step from t = 1 on.",
        formula="1/D ≤ p(t) < p(t+1) < 1/K",
        reads=(ALONG,),
        evidence=largest("score_range", "score_rise"),
        judge=at_most({"score_range": SLACK, "score_rise": 0.0}, by="every", strict=True),
        controls=(Control("a step of twice the limit of stability", largest("score_range", "score_rise", **UNSTABLE)),),
    ),
    _inequality(
        "p3-logit-monotone", "Lemma C.2", "C_2 and C_3 are not negative and never fall.", "0 ≤ C(t) ≤ C(t+1)",
        ("logit_sign", "logit_rise"),
        Control("a step of twice the limit of stability", largest("logit_sign", "logit_rise", **UNSTABLE)),
        kind="ordering",
    ),
    _inequality(
        "p3-value-sign", "Lemma C.2", "C_1 is never negative.", "C_1 ≥ 0", ("value_sign",),
        Control("a step of twice the limit of stability", largest("value_sign", **UNSTABLE)),
    ),
    _inequality(
        "p5-value-bound", "Lemma C.4", "C_1 stays between 0 and √((D+1)/K).", "0 ≤ C_1 ≤ √((D+1)/K)",
        ("value_sign", "value_bound"),
        Control("a step of twice the limit of stability", largest("value_sign", "value_bound", **UNSTABLE)),
    ),
    _inequality(
        "p6-deviation-upper", "Lemma C.5", "C_1 is above C_1* by at most four fifths of the proof's unit.", "α ≤ 4/5",
        ("deviation",), _broken("the recorded C_1 doubled", "deviation"), allowed=ALLOWED["deviation"] + SLACK,
    ),
    _inequality(
        "p6-early-below", "Lemma C.5", "C_1 ≤ C_1* while p ≤ 1/(2√(πDK)), on R1 and R2 (R3 starts above).",
        "C_1 ≤ C_1*", ("early",), _broken("the recorded C_1 doubled", "early", variant=["R1", "R2"]),
        variant=["R1", "R2"],
    ),
    _inequality(
        "p8-logit-increment", "Lemma C.7, derived", "The growth of C_2 + C_3 has a closed form, to 1e-9 of its size.",
        "ΔC_2 + ΔC_3 = ηC_1‖V*‖²√D δ²(1-α)A / (K(D-K) KpQ)", ("increment",),
        _broken("Σ‖v_m‖ in the place of ‖V*‖²", "increment"), kind="identity", allowed=ALLOWED["increment"],
    ),
    _quotient_claim(
        "p8b-increment-range", "(C.33)",
        "From t_1 on the growth of C_2 + C_3 over its order stays in [19/200, 9(4π+1)/10].",
        within(19 / 200, ALLOWED["quotient_high"], by="every"),
        Control("R1 with attention frozen", _quotients(variant=["frozen"])),
    ),
    _quotient_claim(
        "p8b-increment-sharp", "(C.33), derived",
        "From t_1 on the growth of C_2 + C_3 over its order stays in [0.23, 1.01].",
        within(0.23, 1.01, by="every"),
        Control("Σ‖v_m‖ in the place of ‖V*‖², κ = 1", _quotients("broken", negative_slope=[1.0])),
    ),
    _inequality(
        "p9-increment-bounds", "Lemma C.9", "The growth of p lies between pδx/2 and D²/(D²-1) pδx where x ≤ D^-2, "
        "which every step of the reference runs obeys.", "pδx/2 ≤ Δp ≤ D²/(D²-1) pδx, x = (ΔC_2 + ΔC_3)/√D",
        ("increment_upper", "increment_lower"), _broken("the upper factor one half", "increment_upper"),
    ),
    _inequality(
        "p9-increment-exact", "Lemma C.9, derived", "The growth of p follows exactly from that of the gap.",
        "Δp = δ p(t+1) (1 - e^{-x}), to 1e-12 p", ("increment_exact",),
        _broken("x without the division by √D", "increment_exact"), kind="identity",
    ),
    _inequality(
        "p9b-logit-step", "Lemma C.9", "One step moves C_2 + C_3 by at most the proof's bound.",
        "ΔC_2 + ΔC_3 ≤ η‖V*‖²D/(K²(D-K)) √((D+1)/(DK))", ("logit_step",), _broken("the bound times 0.01", "logit_step"),
    ),
    _inequality(
        "p11-value-drop", "Lemma C.11", "C_1* falls by at most a share 3DKpΔp/Q in a step.",
        "C_1*(t+1) ≥ (1 - 3DKpΔp/Q) C_1*(t)", ("value_drop",), _broken("the constant 3 set to 0", "value_drop"),
    ),
    _inequality(
        "p12-width-drop", "Lemma C.12", "The unit h of the deviation falls by at most the proof's bound in a step.",
        "h(t+1) ≥ h(t) - A/(A+B) 2DKpΔp/(K²p²(Dp-1)²)", ("width_drop",),
        _broken("the constant 2 set to 0", "width_drop"),
    ),
    Claim(
        name="p13-phase-one-length",
        reference="Lemma C.13",
        kind="scaling",
        statement="Phase 1 ends at t_1 = ln 0.05 / ln(1 - ηa_κ), to 2 % and one step.",
        formula="|t_1 - t̂_1| ≤ 0.02 t̂_1 + 1",
        reads=(ALONG,),
        evidence=_phase_one(),
        judge=at_most(1.0, by="every"),
        controls=(Control("χ = 0.1", _phase_one(gate=False, **WIDE)),),
    ),
    _inequality(
        "p13-value-path", "Lemma C.13, derived", "In phase 1 C_1 follows C_1*(1/D)(1 - (1 - ηa_κ)^t), to 1 %.",
        "C_1(t) ≈ C_1*(1/D) (1 - (1 - ηa_κ)^t)", ("value_path",), Control("χ = 0.1", largest("value_path", **WIDE)),
        kind="limit", allowed=ALLOWED["value_path"], gate=True,
    ),
    _inequality(
        "p13-plateau", "Lemma C.13", "In phase 1 p stays below (1 + D^(-1/4))/D.", "p ≤ (1 + D^(-1/4))/D",
        ("plateau",), Control("χ = 0.1", largest("plateau", **WIDE)), gate=True,
    ),
    Claim(
        name="p14-flat-scale",
        reference="Lemma C.14",
        kind="bound",
        statement="In phase 1 C_1* hardly moves: its largest value is at most 0.975/0.95 of its least.",
        formula="0.975 C_1*(t') ≥ 0.95 C_1*(t'') for t', t'' ≤ t_1",
        reads=(ALONG,),
        evidence=_flatness(),
        judge=at_most(0.975 / 0.95, by="every"),
        controls=(Control("χ = 0.1", _flatness(gate=False, **WIDE)),),
    ),
    _inequality(
        "p15-value-lower", "Lemma C.15", "From t_1 on C_1 is at most 5 %, and four fifths of the proof's unit, below "
        "C_1*.", "C_1 ≥ max{0.95, 1 - 4h/5} C_1*", ("value_lower",),
        Control("‖V*‖² = 160, χ = 0.0195", largest("value_lower", **FAST)), gate=True,
    ),
    Claim(
        name="p15-conditions",
        reference="Lemmas C.13 to C.15",
        kind="comparison",
        statement="Where χ > 0.005 the phases are not separated, and the rows P13 to P15 say nothing.",
        reads=(ALONG,),
        evidence=largest("value_lower", gate=True, variant=["wide", "fast"], negative_slope=[1.0]),
        judge=at_most(SLACK, by="every"),
        expected=INCONCLUSIVE,
        controls=(Control("R2", largest("value_lower", gate=True, variant=["R2"]), HOLDS),),
    ),
    _inequality(
        "p16-value-rise", "Lemma C.16", "C_1* rises by at most 3(D-K+KC_1*)Δp / (2(Q-KΔp)) in a step.",
        "C_1*(t+1) ≤ C_1*(t) + 3(D-K+KC_1*)Δp/(2(Q-KΔp))", ("value_rise",),
        _broken("the constant 3/2 set to 0", "value_rise"),
    ),
    Claim(
        name="p17-quadrature",
        reference="Lemma C.17, derived",
        kind="comparison",
        statement="ηT* exceeds the integral over the slow manifold by the length of phase 1.",
        formula="ηT* - ∫ K²(D-K)Q/(‖V*‖²C_1*Aδ³) dp in [1.5, 6.5]",
        reads=(ALONG,),
        evidence=_quadrature(True),
        judge=within(1.5, 6.5, by="every"),
        controls=(Control("the integral with C_1* = 1", _quadrature(False)),),
    ),
    _inequality(
        "p18b-product-bound", "(C.35)", "From T* on pC_1 is close to 1/K.", "|pC_1 - 1/K| ≤ 2δ/D + δ²/K", ("product",),
        _broken("the bound times 0.05", "product"), gate=True,
    ),
    Claim(
        name="t3a-upper",
        reference="proof of Theorem 3.1",
        kind="bound",
        statement="The excess loss is at most the loss of the identity's form, and equal to it for κ = 1.",
        formula="excess ≤ DK‖V*‖²/2 (1/K - C_1p)² + DC_1²δ²‖V*‖²/(2(D-K))",
        reads=(ALONG,),
        evidence=_upper("claimed"),
        judge=at_most(ALLOWED["upper"], by="every"),
        controls=(Control("the bound times 0.99, κ = 1", _upper("broken")),),
    ),
    _inequality(
        "t3a-lower", "proof of Theorem 3.1", "From T* on the excess loss is at least ‖V*‖²Dδ²/(16(D-K)).",
        "excess ≥ ‖V*‖²D(1-Kp)²/(16(D-K))", ("lower",), _broken("the bound times 16", "lower"),
        allowed=ALLOWED["lower"],
    ),
    _inequality(
        "c2-slow-manifold", "6.1, derived", "From t_1 on p grows as on the slow manifold C_1 = C_1*(p), to 2 %, where "
        "p ≥ 1.1/D.", "Δp = η‖V*‖²C_1*Aδ³/(K²(D-K)Q)", ("slow",), _broken("the formula without δ³", "slow"),
        kind="comparison", allowed=ALLOWED["slow"], gate=True,
    ),
    Claim(
        name="c2-overshoot",
        reference="proof of Theorem 3.1, derived",
        kind="limit",
        statement="For κ = 1 C_1 overshoots to (1 + √(D/K))/2, to 1 %.",
        formula="max C_1 / ((1 + √(D/K))/2) in 1 ± 0.01",
        reads=(ALONG,),
        evidence=_overshoot(1.0),
        judge=within(0.99, 1.01, by="every", predicted=1.0),
        controls=(Control("ReLU", _overshoot(0.0)),),
    ),
)  # fmt: skip

"""The pattern of 6.1 in full matrices (P1, P2, T1, C2), and the proof at every step to 3T* (P3 to P16, P18'', T3a).

`studies.proof` keeps the largest number of every check; a claim bounds it, and its control is the same check broken on
purpose or another run. Where the paper needs separated phases, runs with χ > 0.005 have no verdict.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import Task
from lemmata.theories.teacher_student.gaussian import mean_square_slope
from lemmata.theories.teacher_student.measures import Labels, Slopes, around, over_slopes, task_of
from lemmata.theories.teacher_student.studies.proof import ALLOWED, SLACK
from lemmata.theories.teacher_student.teachers import DEFECTS
from lemmata.theories.teacher_student.theorem import phases_separate

TEACHERS = ["cnn", "regular", "sts", "supports"]
NAMES = ("value", "support_logit", "rest_logit", "score")


def worst(values: xr.DataArray) -> xr.DataArray:
    """The largest over cells and records, one a seed."""
    return values.max([dim for dim in values.dims if dim != "seed"])


@lm.evidence("p1-pattern")
def residual(data: xr.Dataset, defect: str = "") -> xr.DataArray:
    """The largest distance of W_V and S from the pattern at any step; of a defect, where it is least visible."""
    if defect:
        data = lm.cells(data, variant=defect, negative_slope=[1.0, 0.0])
        return np.maximum(data.worst_values, data.worst_scores).min(["negative_slope", "positions"])
    data = lm.cells(data, variant=TEACHERS)
    return lm.stack({"values": worst(data.worst_values), "scores": worst(data.worst_scores)}, "of")


@lm.evidence("p1-pattern", "p3-along-run")
def against_recursion(data: xr.Dataset, along: xr.Dataset, variants: Labels = TEACHERS) -> xr.DataArray:
    """The largest difference of full matrices and the recursion: every teacher, and the twin of R1 to 3T*."""
    pairs = [(lm.cells(data, variant=list(variants)), lm.cells(data, variant="recursion"))]
    if variants == TEACHERS:
        pairs.append((lm.cells(along, variant="twin").isel(seed=0), lm.cells(along, variant="R1").isel(seed=0)))

    def largest(difference: Callable[[xr.Dataset, xr.Dataset], xr.DataArray]) -> xr.DataArray:
        each = xr.broadcast(*(worst(difference(full, exact)) for full, exact in pairs))
        return xr.concat(each, "pair", coords="minimal", compat="override").max("pair")

    apart = {name: largest(lambda full, exact, name=name: abs(full[name] - exact[name])) for name in NAMES}
    apart["excess, relative"] = largest(lambda full, exact: abs(full.excess / exact.excess - 1))
    return lm.stack(apart, "of")


@lm.evidence("p1-pattern")
def spread(data: xr.Dataset, variants: Labels = TEACHERS) -> xr.DataArray:
    """(largest - smallest) / largest over teachers and bases, the largest over records."""
    data = lm.cells(data, variant=list(variants))

    def relative(values: xr.DataArray) -> xr.DataArray:
        high, low = values.max(["variant", "positions"]), values.min(["variant", "positions"])
        # C_1 = 0 at the start, in all of them
        return worst(xr.where(high == low, 0.0, (high - low) / abs(high)))

    return lm.stack({name: relative(data[name]) for name in ("value", "score", "excess")}, "of")


@lm.evidence("p1-pattern")
def off_direction(data: xr.Dataset, variants: Labels = TEACHERS) -> xr.DataArray:
    """1 - cos(W_V, V*) at its largest from the first step on."""
    data = lm.cells(data, variant=list(variants))
    return worst((1 - data.cosine).where(data.step >= 1))


@lm.evidence("p1-pattern")
def off_norm(data: xr.Dataset, variants: Labels = TEACHERS) -> xr.DataArray:
    """‖S - S*‖_F against Dδ/√(K(D - K)), relative, at records with Kp < 0.99."""
    data = lm.cells(data, variant=list(variants))
    D, K = data.token_count, data.support_count
    formula = D * data.mass / np.sqrt(K * (D - K))
    return worst(abs(data.score_error / formula - 1).where(K * data.score < 0.99))


EQUAL_SUM = lm.Control("the same Σ‖v_m‖ and another ‖V*‖²", variants=["cnn", "equal_sum"])
UNEVEN = lm.Control("uneven weights of the teacher", variants=["uneven_weights"])
UNEQUAL = lm.Control("features of unequal variance", variants=["coloured_inputs"])
ROUNDING = lm.at_most(1e-10, by="every", strict=True)

RUNS, SLOPES = ("R1", "R2", "R3"), (1.0, 0.1, 0.0)
SEPARATED = lm.Gate(
    "conditions not met: χ is above 0.005, and phases 1 and 2 are not separated",
    lambda data: phases_separate(data.separation),
    intact={"variant": RUNS},
)
UNSTABLE = lm.Control("a step of twice the limit of stability", variant=["unstable"], slopes=[1.0])
FROZEN = lm.Control("R1 with attention frozen", variant=["frozen"])
WIDE = lm.Control("χ = 0.1", variant=["wide"], slopes=[1.0])
SMALL_STEPS = ("increment_upper", "increment_lower")


def broken(case: str, **changed: Any) -> lm.Control:
    """The control in which a check is broken on purpose."""
    return lm.Control(case, form="broken", **changed)


@lm.evidence("p3-along-run")
def largest(
    data: xr.Dataset,
    *,
    checks: Labels,
    form: str = "claimed",
    variant: Labels = RUNS,
    slopes: Slopes = SLOPES,
    separated_only: bool = False,
) -> xr.DataArray:
    """The largest number of these checks at any step, over the activations."""
    cells = lm.cells(data, variant=variant, negative_slope=slopes, check=list(checks), form=form)
    if separated_only and not bool(phases_separate(cells.separation).all()):
        raise lm.NotApplicable(SEPARATED.reason)
    return over_slopes(cells.worst) + 0.0  # no negative zero


@lm.evidence("p3-along-run")
def small_steps(
    data: xr.Dataset,
    form: str = "claimed",
    checks: Labels = SMALL_STEPS,
    variant: Labels = RUNS,
    slopes: Slopes = SLOPES,
) -> tuple[Any, str]:
    """The largest number of these checks at steps with x ≤ D^-2, and which share of the steps is skipped."""
    data = lm.cells(data, variant=variant, negative_slope=slopes)
    cells = lm.cells(data, check=list(checks), form=form)
    looked, all_steps = (lm.cells(data, check=f"increment_{name}").counted for name in ("upper", "exact"))
    if not bool((looked > 0).all()):
        raise lm.NotApplicable("every step of some run is skipped: x > D^-2")
    skipped = float((1 - looked / all_steps).max())
    return over_slopes(cells.worst) + 0.0, f"at most {skipped:.2%} of the steps of a run are skipped"


@lm.evidence("p3-along-run")
def quotient(data: xr.Dataset, form: str = "claimed", variant: Labels = RUNS, slopes: Slopes = SLOPES) -> xr.DataArray:
    """The least and the largest quotient of the growth of C_2 + C_3 and its order."""
    worst = over_slopes(lm.cells(data, variant=variant, negative_slope=slopes, form=form).worst)
    ends = {"least": -lm.cells(worst, check="quotient_low"), "largest": lm.cells(worst, check="quotient_high")}
    return lm.stack(ends, "quotient") + 0.0


@lm.evidence("p3-along-run")
def first_phase(data: xr.Dataset, variant: Labels = RUNS, slopes: Slopes = SLOPES) -> xr.DataArray:
    """|t_1 - t̂_1| / (0.02 t̂_1 + 1)."""
    data = lm.cells(data, variant=variant, negative_slope=slopes)
    expected = math.log(0.05) / np.log1p(-data.eta * mean_square_slope(data.slope))
    return over_slopes(abs(data.fitted_step - expected) / (0.02 * expected + 1))


@lm.evidence("p3-along-run")
def flatness(data: xr.Dataset, variant: Labels = RUNS, slopes: Slopes = SLOPES) -> xr.DataArray:
    """The largest C_1* over the least, for t ≤ t_1."""
    worst = lm.cells(data, variant=variant, negative_slope=slopes, form="claimed").worst
    return over_slopes(-lm.cells(worst, check="scale_high") / lm.cells(worst, check="scale_low"))


@lm.evidence("p3-along-run")
def above_identity(data: xr.Dataset, form: str = "claimed", slopes: Slopes = SLOPES) -> xr.DataArray:
    """How far the excess is above its upper bound, relative to that, and for κ = 1 from equality."""
    worst = lm.cells(data, variant=RUNS).worst
    above = over_slopes(lm.cells(worst, check="upper", form=form, negative_slope=slopes))
    apart = lm.cells(worst, check="upper_equal", form="claimed", negative_slope=1.0)
    return lm.stack({"above": above, "κ=1, apart": apart}, "excess")


@lm.evidence("p3-along-run")
def phase_one_offset(data: xr.Dataset, slow: bool = True) -> xr.DataArray:
    """ηT* less the integral over the slow manifold; `slow=False` puts C_1* = 1 in it."""
    data = lm.cells(data, variant=RUNS)
    integral = xr.apply_ufunc(lambda *task: escape_integral(Task(*task), slow), *task_of(data)[:5], vectorize=True)
    return data.eta * data.escape_step - integral


@lm.evidence("p3-along-run")
def overshoot(data: xr.Dataset, slope: float = 1.0) -> xr.DataArray:
    """The largest C_1 over (1 + √(D/K))/2."""
    data = lm.cells(data, variant=RUNS, negative_slope=slope, check="largest_value", form="claimed")
    return data.worst / (0.5 * (1 + np.sqrt(data.token_count / data.support_count)))


def met(*checks: str, variant: Labels = RUNS) -> tuple[lm.Evidence, Any]:
    """The largest number of each of these checks, and the judge that it is at most what the check allows."""
    limits = {check: ALLOWED[check] for check in checks}
    return largest(checks=list(checks), variant=variant), lm.at_most(limits, by="every")


DOUBLED, PRINTED = broken("the recorded C_1 doubled"), "Σ‖v_m‖ in the place of ‖V*‖²"
CLAIMS = (
    lm.Claim("p1-pattern", "Lemmas C.2, C.4, C.8", "identity")
    .states("""From zero, W_V = C_1V* and S has two values, p on the supports and δ/(D - K) off them, at every step of
        population gradient descent, for every teacher, activation and basis of positions.""")
    .in_symbols(r"W_V = C_1V^*,\ S_{ji} = p\ (j\in G^i),\ S_{ji} = \frac{\delta}{D-K}\ (j\notin G^i)")
    .judged(residual(), ROUNDING, *(lm.Control(f"defect {name}", defect=name) for name in DEFECTS)),
    lm.Claim("p1-recursion", "Lemma C.2", "identity")
    .states("""Population gradient descent in full matrices and the recursion of three scalars are one: C_1, C_2, C_3, p
        agree to 1e-10 and the excess loss to 1e-10 of its size.""")
    .in_symbols(r"""(C_1,C_2,C_3,p,\mathrm{Excess})_{\text{full matrices}} =
        (C_1,C_2,C_3,p,\mathrm{Excess})_{\text{recursion}}""")
    .judged(against_recursion(), ROUNDING, lm.Control("softmax over rows, token selection", variants=["row_softmax"])),
    lm.Claim("p2-universality", "P2, derived", "identity", source="derived")
    .states("With the same D, K, κ, η and ‖V*‖² all teachers and all bases have the same C_1, p and excess loss.")
    .in_symbols(r"(C_1,p,\mathrm{Excess})(t) \text{ depend on } D,K,\kappa,\eta,\lVert V^*\rVert_F^2 \text{ alone}")
    .judged(spread(), lm.at_most(1e-9, by="every", strict=True), EQUAL_SUM),
    lm.Claim("t1-identity", "Theorem 3.1(1)", "identity")
    .states("The error of the scores is Dδ/√(K(D - K)), in full matrices while Kp < 0.99.")
    .in_symbols(r"\lVert S-S^*\rVert_F = \frac{D(1-Kp)}{\sqrt{K(D-K)}}")
    .judged(off_norm(), lm.at_most(1e-10, by="every"), UNEVEN),
    lm.Claim("c2-cosine", "Figure 2(c)", "identity", source="figure")
    .states("W_V points along V* from the first step on.")
    .in_symbols(r"\cos(W_V,V^*) = 1 \quad (t\ge1)")
    .judged(off_direction(), lm.at_most(1e-12, by="every"), UNEQUAL),
    lm.Claim("p3-attention-monotone", "Lemma C.2", "ordering")
    .states("The score p on the supports lies in [1/D, 1/K), and grows at every step from t = 1 on.")
    .in_symbols(r"\frac{1}{D} \le p(t) < p(t+1) < \frac{1}{K}")
    .judged(
        largest(checks=["score_range", "score_rise"]),
        lm.at_most({"score_range": SLACK, "score_rise": 0.0}, by="every", strict=True),
        UNSTABLE,
    ),
    lm.Claim("p3-logit-monotone", "Lemma C.2", "ordering")
    .states("The logit scales C_2, on the supports, and C_3, off them, are not negative and never fall, from t = 1 on.")
    .in_symbols(r"0 \le C_2(t) \le C_2(t+1),\ 0 \le C_3(t) \le C_3(t+1)")
    .judged(*met("logit_sign", "logit_rise"), UNSTABLE),
    lm.Claim("p3-value-sign", "Lemma C.2", "bound")
    .states("The component C_1 of the values along V* is never negative from t = 1 on (it starts at 0).")
    .in_symbols(r"C_1 \ge 0")
    .judged(*met("value_sign"), UNSTABLE),
    lm.Claim("p5-value-bound", "Lemma C.4", "bound")
    .states("The component C_1 of the values along V* stays between 0 and √((D+1)/K).")
    .in_symbols(r"0 \le C_1 \le \sqrt{(D+1)/K}")
    .judged(*met("value_sign", "value_bound"), UNSTABLE),
    lm.Claim("p6-deviation-upper", "Lemma C.5", "bound")
    .states("""The value scale C_1 exceeds its quasi-stationary value C_1* by at most four fifths of the proof's unit
        (far from tight).""")
    .in_symbols(r"\alpha \le \frac{4}{5}, \quad C_1 = (1+\alpha h)C_1^*")
    .judged(*met("deviation"), UNSTABLE, DOUBLED),
    lm.Claim("p6-early-below", "Lemma C.5", "bound")
    .states("""The value scale C_1 is at most its quasi-stationary value C_1* while the score p ≤ 1/(2√(πDK)), on the
        reference runs R1 and R2 (R3 starts above that score).""")
    .in_symbols(r"p \le \frac{1}{2\sqrt{\pi DK}} \Rightarrow C_1 \le C_1^*")
    .judged(*met("early", variant=["R1", "R2"]), DOUBLED),
    lm.Claim("p8-logit-increment", "Lemma C.7, derived", "identity", source="derived")
    .states("""The growth of the two logit scales C_2 + C_3 in a step has a closed form, to 1e-9 of its size, of which
        rounding of the difference takes half.""")
    .in_symbols(r"""\Delta C_2+\Delta C_3 = \frac{\eta C_1\lVert
        V^*\rVert_F^2\sqrt{D}\,\delta^2(1-\alpha)A}{K(D-K)\,KpQ}""")
    .judged(*met("increment"), broken(PRINTED)),
    lm.Claim("p8b-increment-range", "(C.33)", "bound", gate=SEPARATED)
    .states("From t_1 on the growth of the logit scales C_2 + C_3 over its order stays in [19/200, 9(4π+1)/10].")
    .in_symbols(r"""\frac{19}{200} \le \frac{(\Delta C_2+\Delta C_3)K(D-K)Q}{\eta\lVert
        V^*\rVert_F^2\sqrt{D}\,p\,\delta^2C_1^*} \le \frac{9(4\pi+1)}{10}""")
    .judged(quotient(), lm.within(19 / 200, ALLOWED["quotient_high"], by="every"), FROZEN),
    lm.Claim("p8b-increment-sharp", "(C.33), derived", "bound", source="derived", gate=SEPARATED)
    .states("From t_1 on the growth of the logit scales C_2 + C_3 over its order stays in [0.23, 1.01].")
    .in_symbols(r"""0.23 \le \frac{(\Delta C_2+\Delta C_3)K(D-K)Q}{\eta\lVert V^*\rVert_F^2\sqrt{D}\,p\,\delta^2C_1^*}
        \le 1.01""")
    .judged(quotient(), lm.within(0.23, 1.01, by="every"), FROZEN, broken(f"{PRINTED}, κ = 1", slopes=[1.0])),
    lm.Claim("p9-increment-bounds", "Lemma C.9", "bound")
    .states("""The growth of the score p lies between pδx/2 and D²/(D²-1) pδx at every step in which the gap of the
        logits grows by x ≤ D^-2: how far it is beyond one of them, relative to that (the share of the other steps is
        reported).""")
    .in_symbols(r"""\frac{p\delta x}{2} \le \Delta p \le \frac{D^2}{D^2-1}p\delta x, \quad x = \frac{\Delta C_2+\Delta
        C_3}{\sqrt{D}}""")
    .judged(
        small_steps(),
        lm.stating(lm.at_most({check: ALLOWED[check] for check in SMALL_STEPS}, by="every")),
        UNSTABLE,
        broken("the upper factor one half", checks=["increment_upper"]),
    ),
    lm.Claim("p9-increment-exact", "Lemma C.9, derived", "identity", source="derived")
    .states("The growth of the score p follows exactly from the growth of the logit gap, to 1e-12 of p.")
    .in_symbols(r"\Delta p = \delta\,p(t+1)(1-e^{-x}), \quad x = \frac{\Delta C_2+\Delta C_3}{\sqrt{D}}")
    .judged(*met("increment_exact"), broken("x without the division by √D")),
    lm.Claim("p9b-logit-step", "Lemma C.9", "bound")
    .states("One step moves the two logit scales C_2 + C_3 by at most the proof's bound.")
    .in_symbols(r"\Delta C_2+\Delta C_3 \le \frac{\eta\lVert V^*\rVert_F^2D}{K^2(D-K)}\sqrt{\frac{D+1}{DK}}")
    .judged(*met("logit_step"), broken("the bound times 0.01")),
    lm.Claim("p11-value-drop", "Lemma C.11", "bound")
    .states("""The quasi-stationary value scale C_1* falls by at most a share 3DKpΔp/Q in a step: how far it falls
        beyond that, relative to it.""")
    .in_symbols(r"C_1^*(t+1) \ge \left(1-\frac{3DKp\Delta p}{Q}\right)C_1^*(t)")
    .judged(*met("value_drop"), UNSTABLE, broken("the constant 3 set to 0")),
    lm.Claim("p12-width-drop", "Lemma C.12", "bound")
    .states("""The proof's unit h of the deviation of C_1 from C_1* falls by at most its bound in a step: how far it
        falls beyond that, relative to it.""")
    .in_symbols(r"h(t+1) \ge h(t)-\frac{A}{A+B}\frac{2DKp\Delta p}{K^2p^2(Dp-1)^2}")
    .judged(*met("width_drop"), UNSTABLE, broken("the constant 2 set to 0")),
    lm.Claim("p13-phase-one-length", "Lemma C.13", "scaling", gate=SEPARATED)
    .states("Phase 1 ends at t_1 = ln 0.05 / ln(1 - ηa_κ), to 2 % and one step.")
    .in_symbols(r"|t_1-\hat{t}_1| \le 0.02\,\hat{t}_1+1, \quad \hat{t}_1 = \frac{\ln0.05}{\ln(1-\eta a_\kappa)}")
    .judged(first_phase(), lm.at_most(1.0, by="every"), WIDE),
    lm.Claim("p13-value-path", "Lemma C.13, derived", "limit", source="derived", gate=SEPARATED)
    .states("In phase 1 the value scale C_1 follows C_1*(1/D)(1 - (1 - ηa_κ)^t), to 1 %.")
    .in_symbols(r"C_1(t) \simeq C_1^*(1/D)\,(1-(1-\eta a_\kappa)^t)")
    .judged(*met("value_path"), WIDE),
    lm.Claim("p13-plateau", "Lemma C.13", "bound", gate=SEPARATED)
    .states("In phase 1 the score p stays below (1 + D^(-1/4))/D.")
    .in_symbols(r"p \le \frac{1+D^{-1/4}}{D} \quad (t\le t_1)")
    .judged(*met("plateau"), WIDE),
    lm.Claim("p14-flat-scale", "Lemma C.14", "bound", gate=SEPARATED)
    .states("""In phase 1 the quasi-stationary value scale C_1* hardly moves: its largest value is at most 0.975/0.95
        of its least.""")
    .in_symbols(r"0.975\,C_1^*(t') \ge 0.95\,C_1^*(t'') \quad (t',t''\le t_1)")
    .judged(flatness(), lm.at_most(0.975 / 0.95, by="every"), WIDE),
    lm.Claim("p15-value-lower", "Lemma C.15", "bound", gate=SEPARATED)
    .states("From t_1 on the value scale C_1 is at most 5 %, and four fifths of the proof's unit, below C_1*.")
    .in_symbols(r"C_1 \ge \max\{0.95,\,1-4h/5\}\,C_1^* \quad (t\ge t_1)")
    .judged(*met("value_lower"), lm.Control("‖V*‖² = 160, χ = 0.0195", variant=["fast"], slopes=[1.0])),
    lm.Claim("p15-conditions", "Lemmas C.13 to C.15", "comparison", source="derived")
    .states("Where χ > 0.005 the phases are not separated, and the lower bound on C_1 of Lemma C.15 says nothing.")
    .in_symbols(r"\chi \le 0.005 \Rightarrow C_1 \ge \max\{0.95,\,1-4h/5\}\,C_1^*")
    .judged(
        largest(checks=["value_lower"], variant=["wide", "fast"], slopes=[1.0], separated_only=True),
        lm.at_most(SLACK, by="every"),
        lm.Control("R2", variant=["R2"], slopes=SLOPES, expected=lm.HOLDS),
        expected=lm.INCONCLUSIVE,
    ),
    lm.Claim("p16-value-rise", "Lemma C.16", "bound")
    .states("""The quasi-stationary value scale C_1* rises by at most 3(D-K+KC_1*)Δp / (2(Q-KΔp)) in a step: how far it
        rises beyond that, relative to it.""")
    .in_symbols(r"C_1^*(t+1) \le C_1^*(t)+\frac{3(D-K+KC_1^*)\Delta p}{2(Q-K\Delta p)}")
    .judged(*met("value_rise"), UNSTABLE, broken("the constant 3/2 set to 0")),
    lm.Claim("p17-quadrature", "Lemma C.17, derived", "comparison", source="derived")
    .states("""The time of escape ηT* exceeds the integral over the slow manifold by the length of phase 1, between 1.5
        and 6.5.""")
    .in_symbols(r"1.5 \le \eta T^*-\int\frac{K^2(D-K)Q}{\lVert V^*\rVert_F^2C_1^*A\delta^3}\,dp \le 6.5")
    .judged(phase_one_offset(), lm.within(1.5, 6.5, by="every"), lm.Control("the integral with C_1* = 1", slow=False)),
    lm.Claim("p18b-product-bound", "(C.35)", "bound", gate=SEPARATED)
    .states("From T* on the weight pC_1 differs from 1/K by at most 2δ/D + δ²/K, δ = 1 - Kp the mass off the support.")
    .in_symbols(r"\left|pC_1-\frac{1}{K}\right| \le \frac{2\delta}{D}+\frac{\delta^2}{K} \quad (t\ge T^*)")
    .judged(*met("product"), broken("the bound times 0.05")),
    lm.Claim("t3a-upper", "proof of Theorem 3.1", "bound")
    .states("The excess loss is at most the loss of the identity's form, and equal to it for κ = 1.")
    .in_symbols(r"""\mathrm{Excess} \le \frac{DK\lVert
        V^*\rVert_F^2}{2}\left(\frac{1}{K}-C_1p\right)^2+\frac{DC_1^2\delta^2\lVert V^*\rVert_F^2}{2(D-K)}""")
    .judged(
        above_identity(), lm.at_most(ALLOWED["upper"], by="every"), broken("the bound times 0.99, κ = 1", slopes=[1.0])
    ),
    lm.Claim("t3a-lower", "proof of Theorem 3.1", "bound")
    .states("From T* on the excess loss is at least ‖V*‖²Dδ²/(16(D-K)).")
    .in_symbols(r"\mathrm{Excess} \ge \frac{\lVert V^*\rVert_F^2D(1-Kp)^2}{16(D-K)} \quad (t\ge T^*)")
    .judged(*met("lower"), broken("the bound times 16")),
    lm.Claim("c2-slow-manifold", "6.1, derived", "comparison", source="derived", gate=SEPARATED)
    .states("From t_1 on the score p grows as on the slow manifold C_1 = C_1*(p), to 2 %, where p ≥ 1.1/D.")
    .in_symbols(r"\Delta p \simeq \frac{\eta\lVert V^*\rVert_F^2C_1^*A\delta^3}{K^2(D-K)Q}")
    .judged(*met("slow"), WIDE, broken("the formula without δ³")),
    lm.Claim("c2-overshoot", "proof of Theorem 3.1, derived", "limit", source="derived")
    .states("For κ = 1 the value scale C_1 overshoots to (1 + √(D/K))/2, to 1 %.")
    .in_symbols(r"\max_tC_1 \simeq \frac{1}{2}(1+\sqrt{D/K})")
    .judged(overshoot(), around(1.0, 0.01), lm.Control("ReLU", slope=0.0)),
)

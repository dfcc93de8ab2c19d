"""The pattern of 6.1 in full matrices (P1), the same for every teacher (P2), its norm (T1) and its direction (C2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student.teachers import DEFECTS

TEACHERS = ["cnn", "regular", "sts", "supports"]
EXTREMES = [1.0, 0.0]
"""κ of the cells with a defect."""
NAMES = ("value", "support_logit", "rest_logit", "score")


def worst(values: xr.DataArray) -> xr.DataArray:
    """The largest over cells and records, one a seed."""
    return values.max([dim for dim in values.dims if dim != "seed"])


@lm.evidence("p1-pattern")
def residual(data: xr.Dataset, defect: str = "") -> xr.DataArray:
    """The largest distance of W_V and S from the pattern at any step; of a defect, where it is least visible."""
    if defect:
        data = lm.cells(data, variant=defect, negative_slope=EXTREMES)
        return np.maximum(data.worst_values, data.worst_scores).min(["negative_slope", "positions"])
    data = lm.cells(data, variant=TEACHERS)
    return lm.stack({"values": worst(data.worst_values), "scores": worst(data.worst_scores)}, "of")


@lm.evidence("p1-pattern", "p3-along-run")
def against_recursion(data: xr.Dataset, along: xr.Dataset, variants: Sequence[str] = TEACHERS) -> xr.DataArray:
    """The largest difference of full matrices and the recursion: every teacher, and the twin of R1 to 3T*."""
    pairs = [(lm.cells(data, variant=list(variants)), lm.cells(data, variant="recursion"))]
    if variants == TEACHERS:
        pairs.append((lm.cells(along, variant="twin").isel(seed=0), lm.cells(along, variant="R1").isel(seed=0)))

    def largest(difference: Callable[[xr.Dataset, xr.Dataset], xr.DataArray]) -> xr.DataArray:
        each = xr.broadcast(*(worst(difference(full, exact)) for full, exact in pairs))
        return xr.concat(each, "pair", coords="minimal", compat="override").max("pair")

    apart = {name: largest(lambda full, exact, name=name: abs(full[name] - exact[name])) for name in NAMES}
    return lm.stack(
        apart | {"excess, relative": largest(lambda full, exact: abs(full.excess / exact.excess - 1))}, "of"
    )


@lm.evidence("p1-pattern")
def spread(data: xr.Dataset, variants: Sequence[str] = TEACHERS) -> xr.DataArray:
    """(largest - smallest) / largest over teachers and bases, the largest over records."""
    data = lm.cells(data, variant=list(variants))

    def relative(values: xr.DataArray) -> xr.DataArray:
        high, low = values.max(["variant", "positions"]), values.min(["variant", "positions"])
        # C_1 = 0 at the start, in all of them
        return worst(xr.where(high == low, 0.0, (high - low) / abs(high)))

    return lm.stack({name: relative(data[name]) for name in ("value", "score", "excess")}, "of")


@lm.evidence("p1-pattern")
def off_direction(data: xr.Dataset, variants: Sequence[str] = TEACHERS) -> xr.DataArray:
    """1 - cos(W_V, V*) at its largest from the first step on."""
    data = lm.cells(data, variant=list(variants))
    return worst((1 - data.cosine).where(data.step >= 1))


@lm.evidence("p1-pattern")
def off_norm(data: xr.Dataset, variants: Sequence[str] = TEACHERS) -> xr.DataArray:
    """‖S - S*‖_F against Dδ/√(K(D - K)), relative, at records with Kp < 0.99."""
    data = lm.cells(data, variant=list(variants))
    D, K = data.token_count, data.support_count
    formula = D * data.mass / np.sqrt(K * (D - K))
    return worst(abs(data.score_error / formula - 1).where(K * data.score < 0.99))


EQUAL_SUM = lm.Control("the same Σ‖v_m‖ and another ‖V*‖²", variants=["cnn", "equal_sum"])
UNEVEN = lm.Control("uneven weights of the teacher", variants=["uneven_weights"])
UNEQUAL = lm.Control("features of unequal variance", variants=["coloured_inputs"])
ROUNDING = lm.at_most(1e-10, by="every", strict=True)
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
)

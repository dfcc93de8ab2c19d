"""The pattern of 6.1 in full matrices (P1), the same for every teacher (P2), its norm (T1) and its direction (C2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_most
from lemmata.lab.measures import stack
from lemmata.theories.teacher_student.teachers import DEFECTS

PATTERN, ALONG = "p1-pattern", "p3-along-run"
TEACHERS = ["cnn", "regular", "sts", "supports"]
EXTREMES = [1.0, 0.0]
"""κ of the cells with a defect."""


def _worst(values: xr.DataArray) -> xr.DataArray:
    """The largest over cells and records, one a seed."""
    return values.max([dim for dim in values.dims if dim != "seed"])


def _residuals(datasets: Datasets) -> xr.DataArray:
    """The largest distances from the pattern at any step."""
    data = datasets[PATTERN].sel(variant=TEACHERS)
    return stack({"values": _worst(data.worst_values), "scores": _worst(data.worst_scores)}, "of")


def _defect(name: str) -> Evidence:
    """The residual of a broken variant, where it is least visible."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[PATTERN].sel(variant=name, negative_slope=EXTREMES)
        residual = stack({"values": data.worst_values, "scores": data.worst_scores}, "of").max("of")
        return residual.min(["negative_slope", "positions"])

    return evidence


def _against_recursion(variants: list[str]) -> Evidence:
    """Full matrices against the recursion: every teacher, and the twin of R1 to 3T*."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[PATTERN]
        pairs = [(data.sel(variant=variants), data.sel(variant="recursion"))]
        if variants == TEACHERS:
            along = datasets[ALONG]
            pairs.append((along.sel(variant="twin").isel(seed=0), along.sel(variant="R1").isel(seed=0)))
        names = ("value", "support_logit", "rest_logit", "score")
        found = {name: _largest(pairs, lambda full, exact, name=name: abs(full[name] - exact[name])) for name in names}
        found["excess, relative"] = _largest(pairs, lambda full, exact: abs(full.excess / exact.excess - 1))
        return stack(found, "of")

    return evidence


def _largest(
    pairs: list[tuple[xr.Dataset, xr.Dataset]], difference: Callable[[xr.Dataset, xr.Dataset], xr.DataArray]
) -> xr.DataArray:
    worst = [_worst(difference(full, exact)) for full, exact in pairs]
    return xr.concat(xr.broadcast(*worst), "pair").max("pair")


def _spread(variants: list[str]) -> Evidence:
    """(largest - smallest) / largest over teachers and bases, the largest over records."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[PATTERN].sel(variant=variants)

        def relative(values: xr.DataArray) -> xr.DataArray:
            high, low = values.max(["variant", "positions"]), values.min(["variant", "positions"])
            # C_1 = 0 at the start, in all of them
            return _worst(xr.where(high == low, 0.0, (high - low) / abs(high)))

        return stack({name: relative(data[name]) for name in ("value", "score", "excess")}, "of")

    return evidence


def _off_direction(variants: list[str]) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[PATTERN].sel(variant=variants)
        return _worst((1 - data.cosine).where(data.step >= 1))

    return evidence


def _norm_identity(variants: list[str]) -> Evidence:
    """‖S - S*‖_F against Dδ/√(K(D - K)), relative, at records with Kp < 0.99."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[PATTERN].sel(variant=variants)
        D, K = data.token_count, data.support_count
        formula = D * data.mass / np.sqrt(K * (D - K))
        return _worst(abs(data.score_error / formula - 1).where(K * data.score < 0.99))

    return evidence


CLAIMS = (
    Claim(
        name="p1-pattern",
        reference="Lemmas C.2, C.4, C.8",
        kind="identity",
        statement="From zero, W_V = C_1V* and S has two values, p on the supports and δ/(D - K) off them, at "
        "every step of population gradient descent, for every teacher, activation and basis of positions.",
        formula="max|W_V - C_1V*|, max|S - pattern| < 1e-10",
        reads=(PATTERN,),
        evidence=_residuals,
        judge=at_most(1e-10, by="every", strict=True),
        controls=tuple(Control(f"defect {name}", _defect(name)) for name in DEFECTS),
    ),
    Claim(
        name="p1-recursion",
        reference="Lemma C.2",
        kind="identity",
        statement="Population gradient descent in full matrices and the recursion of three scalars are one: C_1, C_2, "
        "C_3, p agree to 1e-10 and the excess loss to 1e-10 of its size.",
        reads=(PATTERN, ALONG),
        evidence=_against_recursion(TEACHERS),
        judge=at_most(1e-10, by="every", strict=True),
        controls=(Control("softmax over rows, token selection", _against_recursion(["row_softmax"])),),
    ),
    Claim(
        name="p2-universality",
        reference="P2, derived",
        kind="identity",
        statement="With the same D, K, κ, η and ‖V*‖² all teachers and all bases have the same C_1, p and excess loss.",
        formula="relative differences < 1e-9",
        reads=(PATTERN,),
        evidence=_spread(TEACHERS),
        judge=at_most(1e-9, by="every", strict=True),
        controls=(Control("the same Σ‖v_m‖ and another ‖V*‖²", _spread(["cnn", "equal_sum"])),),
    ),
    Claim(
        name="t1-identity",
        reference="Theorem 3.1(1)",
        kind="identity",
        statement="The error of the scores is Dδ/√(K(D - K)), in full matrices while Kp < 0.99.",
        formula="‖S - S*‖_F = D(1 - Kp)/√(K(D - K)), relative 1e-10",
        reads=(PATTERN,),
        evidence=_norm_identity(TEACHERS),
        judge=at_most(1e-10, by="every"),
        controls=(Control("uneven weights of the teacher", _norm_identity(["uneven_weights"])),),
    ),
    Claim(
        name="c2-cosine",
        reference="Figure 2(c)",
        kind="identity",
        statement="W_V points along V* from the first step on.",
        formula="1 - cos(W_V, V*) ≤ 1e-12 for t ≥ 1",
        reads=(PATTERN,),
        evidence=_off_direction(TEACHERS),
        judge=at_most(1e-12, by="every"),
        controls=(Control("features of unequal variance", _off_direction(["coloured_inputs"])),),
    ),
)

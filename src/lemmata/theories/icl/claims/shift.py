"""Out of domain: shifted patterns (P5), and attention on them (the second part of P7)."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Evidence
from lemmata.lab.judges import all_of, at_least, at_most
from lemmata.theories.icl.measures import cells, of_experiment

LARGE = ["45", "20", "6.35"]
"""Angles of branch A with S_1 ≥ 1."""
LARGE_BOTH = [*LARGE, "70", "83.65"]
ZERO, ZERO_B, LEAST, OUTSIDE = "-45", "135", "-135", "defect"
INTACT = {"variant": ["U=1", "U=5"]}
"""The training sets that satisfy Condition 6.3.2."""


def _shift(
    take: Callable[[xr.Dataset], object], shifts: list[str], variant: str = "U=1", moment: str = "end"
) -> Evidence:
    def chosen(data: xr.Dataset) -> object:
        return take(cells(data, variant=variant, moment=moment, shift=shifts))

    return of_experiment("p5-shift", chosen, INTACT)


def _error(data: xr.Dataset) -> xr.DataArray:
    return data.shift_error


def _hinge(data: xr.Dataset) -> xr.DataArray:
    return data.shift_hinge


def _sharpness(data: xr.Dataset) -> xr.DataArray:
    return data.shift_concentration


def _first_error(data: xr.Dataset) -> xr.DataArray:
    """Of queries with μ'_1."""
    return data.query_error.isel(odr_pattern=0, drop=True)


def _lifted(zero: str) -> Evidence:
    """Hinge on queries with μ'_1 at the angle that stands for S_1 = 0, less that at every angle with S_1 ≥ 1."""

    def take(data: xr.Dataset) -> xr.DataArray:
        hinge = data.query_hinge.isel(odr_pattern=0, drop=True)
        return hinge.sel(shift=zero, drop=True) - hinge.sel(shift=LARGE_BOTH)

    return _shift(take, [ZERO, *LARGE_BOTH])


def _spread(narrow: str) -> Evidence:
    """Total sign error at S_1 = 0: trained on few tasks less trained on all, and of the latter."""

    def take(data: xr.Dataset) -> dict[str, xr.DataArray]:
        error = cells(data, moment="end", shift=ZERO).shift_error
        wide = error.sel(variant="U=5", drop=True)
        return {"difference": error.sel(variant=narrow, drop=True) - wide, "spread": wide}

    return of_experiment("p5-shift", take, INTACT)


def _concentration(moment: str) -> Evidence:
    """Attention on same-pattern contexts and its rise since the start, trained on the cycle."""

    def take(data: xr.Dataset) -> dict[str, xr.DataArray]:
        found = cells(data, variant="U=1", shift=LARGE).shift_concentration
        value = found.sel(moment=moment, drop=True)
        return {"value": value, "rise": value - found.sel(moment="start", drop=True)}

    return of_experiment("p5-shift", take, INTACT)


_READS = ("p5-shift",)

CLAIMS = (
    Claim(
        name="p5-sign",
        reference="Theorem 6.3.4",
        kind="bound",
        statement="Patterns out of domain with coefficient sums S_j ≥ 1 are classified with at most 1 % error (branch "
        "A, S_1 = 1.28, 1.16, 1.00).",
        reads=_READS,
        evidence=_shift(_error, LARGE),
        judge=at_most(0.01),
        controls=(Control("trained on 3 tasks", _shift(_error, LARGE, "3 tasks")),),
    ),
    Claim(
        name="p5-outside-span",
        reference="Theorem 6.3.4",
        kind="bound",
        statement="It needs patterns in the span of the relevant ones: there the error is at most 1 %.",
        reads=_READS,
        evidence=_shift(_error, ["45"]),
        judge=at_most(0.01),
        controls=(Control("patterns in the span of the irrelevant ones", _shift(_error, [OUTSIDE])),),
    ),
    Claim(
        name="p5-coefficient-sum",
        reference="Theorem 6.3.4",
        kind="ordering",
        statement="The coefficient sum decides the hinge loss of its pattern: with S_1 = 0 the loss on queries with "
        "μ'_1 is larger by at least 0.15 than at every S_1 ≥ 1.",
        reads=_READS,
        evidence=_lifted(ZERO),
        judge=at_least(0.15),
        controls=(Control("20 degrees presented as S_1 = 0", _lifted("20")),),
    ),
    Claim(
        name="p5-hinge",
        reference="Theorem 6.3.4",
        kind="bound",
        statement="As stated: with the M_1 tasks of one cycle the hinge loss out of domain is at most 0.05 for S_j ≥ "
        "1.",
        reads=_READS,
        evidence=_shift(_hinge, LARGE),
        judge=at_most(0.05),
        expected=FAILS,
        controls=(Control("trained on all tasks (U = 5)", _shift(_hinge, LARGE, "U=5"), HOLDS),),
    ),
    Claim(
        name="p5-hinge-corrected",
        reference="Theorem 6.3.4, corrected",
        kind="bound",
        statement="Corrected: trained on every task (U = 5) it is.",
        reads=_READS,
        evidence=_shift(_hinge, LARGE, "U=5"),
        judge=at_most(0.05),
        controls=(Control("trained on one cycle (U = 1)", _shift(_hinge, LARGE)),),
    ),
    Claim(
        name="p5-attention",
        reference="Theorem 6.3.4, Proposition 6.4.1",
        kind="comparison",
        statement="The errors at S_1 = 0 come from attention trained on one cycle: trained on all tasks they vanish "
        "(difference at least 0.015, and at most 0.005 left).",
        reads=_READS,
        evidence=_spread("U=1"),
        judge=all_of(difference=at_least(0.015), spread=at_most(0.005)),
        controls=(Control("U = 5 in both places", _spread("U=5")),),
    ),
    Claim(
        name="p5-sign-unneeded",
        reference="Theorem 6.3.4",
        kind="bound",
        statement="S_1 ≥ 1 is not needed for the sign: with S_1 = 0 queries with μ'_1 are classified with at most 1 % "
        "error on both branches.",
        reads=_READS,
        evidence=_shift(_first_error, [ZERO, ZERO_B]),
        judge=at_most(0.01),
        controls=(Control("S_1 = -1.28", _shift(_first_error, [LEAST])),),
    ),
    Claim(
        name="p7-concentration-shifted",
        reference="Corollary 6.4.3",
        kind="limit",
        statement="Out of domain, S_1 ≥ 1, attention concentrates too: at least 0.8 on contexts with the query's "
        "pattern, and 0.3 more than at the start.",
        reads=_READS,
        evidence=_concentration("end"),
        judge=all_of(value=at_least(0.8), rise=at_least(0.3)),
        controls=(Control("weights of step 0", _concentration("start")),),
    ),
    Claim(
        name="p7-concentration-spread",
        reference="Corollary 6.4.3",
        kind="limit",
        statement="Trained on every task (U = 5) it reaches at least 0.97.",
        reads=_READS,
        evidence=_shift(_sharpness, LARGE, "U=5"),
        judge=at_least(0.97),
        controls=(Control("trained on one cycle (U = 1)", _shift(_sharpness, LARGE)),),
    ),
)

"""Pruning: small neurons are harmless, large ones are not (P10), also out of domain (figure 6.5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Evidence
from lemmata.lab.judges import at_least, at_most
from lemmata.lab.measures import stack
from lemmata.theories.icl import bounds
from lemmata.theories.icl.measures import DEFAULT, cells, of_default, of_experiment

RATES = ["0.1", "0.2", "0.3", "0.5"]
EPSILON = 0.05
_SHARES = {"M1": DEFAULT.patterns, "alpha": DEFAULT.fraction, "alpha_test": DEFAULT.test_fraction}
UPPER = float(bounds.pruning_upper(eps=EPSILON, **_SHARES))
LOWER = {rate: float(bounds.pruning_lower(R=float(rate), eps=EPSILON, **_SHARES)) for rate in RATES}


def _pruned(order: str, rates: list[str] = RATES) -> Callable[[xr.Dataset], xr.DataArray]:
    return lambda data: data.pruned_hinge.sel(order=order, rate=rates, drop=True)


def _rise(data: xr.Dataset, exchanged: bool = False) -> xr.DataArray:
    """The rise of the hinge after pruning the smallest 20 %, and exactly the small neurons.

    `exchanged`: the largest 20 % and 30 % (about as many as there are small ones) instead.
    """
    before = data.pruned_hinge.sel(order="smallest", rate="0", drop=True)
    largest = data.pruned_hinge.sel(order="largest", drop=True)
    smallest = data.pruned_hinge.sel(order="smallest", rate="0.2", drop=True)
    after = {
        "20 %": largest.sel(rate="0.2", drop=True) if exchanged else smallest,
        "all small": largest.sel(rate="0.3", drop=True) if exchanged else data.large_hinge,
    }
    return stack(after, "pruned") - before


def _formula(order: str) -> Callable[[xr.Dataset], xr.DataArray]:
    """|hinge - max{0, 1 - F (1 - R m/|L|)}| after pruning a share R of all neurons, F the mean margin before."""

    def take(data: xr.Dataset) -> xr.DataArray:
        rate = xr.DataArray([float(r) for r in RATES], coords={"rate": RATES}, dims="rate")
        left = 1 - rate / data.pruned_large_share
        return abs(_pruned(order)(data) - np.maximum(0, 1 - data.unseen_margin * left))

    return take


def _order(first: str, last: str) -> Callable[[xr.Dataset], xr.DataArray]:
    """Hinge of random in L less the one that should be smaller, and of the one that should be larger less it."""

    def take(data: xr.Dataset) -> xr.DataArray:
        middle = _pruned("random large")(data)
        return stack(
            {f"over {first}": middle - _pruned(first)(data), f"{last} over it": _pruned(last)(data) - middle}, "pair"
        )

    return take


def _raised(what: str, order: str, rate: str) -> Evidence:
    """The rise of hinge or error after pruning, α' = 0.8."""

    def take(data: xr.Dataset) -> xr.DataArray:
        values = cells(data, test_fraction=0.8, order=order)[what]
        return values.sel(rate=rate, drop=True) - values.sel(rate="0", drop=True)

    return of_experiment("f65-pruning", take)


def _by_alpha(*alphas: float) -> Evidence:
    """Steps of the error of the pruned network (smallest 20 %) from one α' to the next."""

    def take(data: xr.Dataset) -> xr.DataArray:
        error = cells(data, test_fraction=list(alphas), order="smallest", rate="0.2").pruned_error
        at = [error.sel(test_fraction=alpha, drop=True) for alpha in alphas]
        steps = zip(alphas[:-1], alphas[1:], at[:-1], at[1:], strict=True)
        return stack({f"{a:g} over {b:g}": before - after for a, b, before, after in steps}, "step")

    return of_experiment("f65-pruning", take)


_READS = ("p1-default",)

CLAIMS = (
    Claim(
        name="p10-harmless",
        reference="Theorem 6.3.7",
        kind="bound",
        statement="Pruning small neurons is harmless: the hinge rises by at most 0.01 without the smallest 20 %, and "
        "without exactly the small ones.",
        reads=_READS,
        evidence=of_default(_rise),
        judge=at_most(0.01),
        controls=(Control("largest first", of_default(lambda data: _rise(data, exchanged=True))),),
    ),
    Claim(
        name="p10-formula",
        reference="Theorem 6.3.7, P10",
        kind="comparison",
        statement="Pruning a share R of neurons, random large ones, scales the output down: the hinge is max{0, 1 - "
        "F(1 - Rm/|L|)} within 0.05.",
        formula="hinge = max{0, 1 - F(1 - R m/|L|)}",
        reads=_READS,
        evidence=of_default(_formula("random large")),
        judge=at_most(0.05, by="mean"),
        controls=(Control("smallest first in place of random", of_default(_formula("smallest"))),),
    ),
    Claim(
        name="p10-order",
        reference="Theorem 6.3.7",
        kind="ordering",
        statement="Smallest first costs no more than random large ones, and these no more than largest first, at "
        "every rate.",
        reads=_READS,
        evidence=of_default(_order("smallest", "largest")),
        judge=at_least(0.0),
        controls=(Control("largest and smallest exchanged", of_default(_order("largest", "smallest"))),),
    ),
    Claim(
        name="p10-upper",
        reference="(E.107)",
        kind="bound",
        statement="Without the small neurons the hinge is below the proof's bound (ε = 0.05).",
        reads=_READS,
        evidence=of_default(lambda data: data.large_hinge),
        judge=at_most(UPPER),
        controls=(Control("largest half pruned instead", of_default(_pruned("largest", ["0.5"]))),),
    ),
    Claim(
        name="p10-lower",
        reference="(E.109)",
        kind="bound",
        statement="Without a share R of neurons, random large ones, it is above the proof's bound (ε = 0.05).",
        reads=_READS,
        evidence=of_default(_pruned("random large")),
        judge=at_least(LOWER),
        controls=(Control("smallest first in place of random", of_default(_pruned("smallest"))),),
    ),
    Claim(
        name="f65a-harmless",
        reference="Figure 6.5(a)",
        kind="bound",
        statement="Out of domain pruning the smallest 15 % raises the hinge by at most 0.03.",
        reads=("f65-pruning",),
        evidence=_raised("pruned_hinge", "smallest", "0.15"),
        judge=at_most(0.03),
        controls=(Control("largest first", _raised("pruned_hinge", "largest", "0.15")),),
    ),
    Claim(
        name="f65a-error-rises",
        reference="Figure 6.5(a)",
        kind="bound",
        statement="As reported: pruning the smallest half raises the classification error by at least 0.02.",
        reads=("f65-pruning",),
        evidence=_raised("pruned_error", "smallest", "0.5"),
        judge=at_least(0.02),
        expected=FAILS,
        controls=(Control("largest first at rate 0.8", _raised("pruned_error", "largest", "0.8"), HOLDS),),
    ),
    Claim(
        name="f65a-error-rises-corrected",
        reference="Figure 6.5(a), corrected",
        kind="bound",
        statement="Corrected: it raises the hinge loss by at least 0.1; the sign stays.",
        reads=("f65-pruning",),
        evidence=_raised("pruned_hinge", "smallest", "0.5"),
        judge=at_least(0.1),
        controls=(Control("smallest first at rate 0.15", _raised("pruned_hinge", "smallest", "0.15")),),
    ),
    Claim(
        name="f65b-context-order",
        reference="Figure 6.5(b)",
        kind="ordering",
        statement="The pruned network (smallest 20 %) is better with more decisive contexts: error at α' = 0.2 > 0.4 "
        "> 0.8.",
        reads=("f65-pruning",),
        evidence=_by_alpha(0.2, 0.4, 0.8),
        judge=at_least(0.0, strict=True),
        controls=(Control("α' values reversed", _by_alpha(0.8, 0.4, 0.2)),),
    ),
)

"""Pruning: small neurons are harmless, large ones are not (P10), also out of domain (figure 6.5)."""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.icl import bounds
from lemmata.theories.icl.measures import DEFAULT, learnt

RATES = ["0.1", "0.2", "0.3", "0.5"]
_SHARES = (0.05, DEFAULT.patterns, DEFAULT.fraction, DEFAULT.test_fraction)
"""ε, M_1, α and α' of the proof's bounds."""
UPPER = float(bounds.pruning_upper(*_SHARES))
LOWER = {rate: float(bounds.pruning_lower(float(rate), *_SHARES)) for rate in RATES}


def _pruned(data: xr.Dataset, order: str, rate: str | list[str] = RATES) -> xr.DataArray:
    """The hinge after pruning so many neurons of the intact network in this order."""
    return lm.cells(data, variant="intact", order=order, rate=rate).pruned_hinge


@lm.evidence("p1-default")
def rise(data: xr.Dataset, first: str = "smallest") -> xr.DataArray:
    """The rise of the hinge after pruning the smallest 20 %, and exactly the small neurons.

    first: with "largest", the largest 20 % and 30 % (about as many as there are small ones) instead.
    """
    small = lm.cells(data, variant="intact").large_hinge if first == "smallest" else _pruned(data, first, "0.3")
    pruned = lm.stack({"20 %": _pruned(data, first, "0.2"), "all small": small}, "pruned")
    return pruned - _pruned(data, "smallest", "0")


@lm.evidence("p1-default")
def off_formula(data: xr.Dataset, order: str = "random large") -> xr.DataArray:
    """|hinge - max{0, 1 - F (1 - R m/|L|)}| after pruning a share R of all neurons, F the mean margin before."""
    intact = lm.cells(data, variant="intact")
    rate = xr.DataArray([float(r) for r in RATES], coords={"rate": RATES}, dims="rate")
    left = 1 - rate / intact.pruned_large_share
    return abs(_pruned(data, order) - np.maximum(0, 1 - intact.unseen_margin * left))


@lm.evidence("p1-default")
def order_gaps(data: xr.Dataset, first: str = "smallest", last: str = "largest") -> xr.DataArray:
    """Hinge of random in L less the one that should be smaller, and of the one that should be larger less it."""
    middle = _pruned(data, "random large")
    below, above = middle - _pruned(data, first), _pruned(data, last) - middle
    return lm.stack({f"over {first}": below, f"{last} over it": above}, "pair")


@lm.evidence("p1-default")
def hinge_of_large(data: xr.Dataset, pruned: str = "small") -> xr.DataArray:
    """The hinge without the small neurons, or without the largest half, over the proof's bound."""
    small = lm.cells(data, variant="intact").large_hinge
    return (small if pruned == "small" else _pruned(data, "largest", "0.5")) / UPPER


@lm.evidence("p1-default")
def hinge_after(data: xr.Dataset, order: str = "random large") -> xr.DataArray:
    """The hinge without a share R of neurons."""
    return _pruned(data, order)


@lm.evidence("f65-pruning")
def shifted_rise(data: xr.Dataset, what: str, rate: str, order: str = "smallest") -> xr.DataArray:
    """The rise of hinge or error out of domain after pruning, α' = 0.8."""
    values = lm.cells(data, test_fraction=0.8, order=order)[f"pruned_{what}"]
    return lm.cells(values, rate=rate) - lm.cells(values, rate="0")


@lm.evidence("f65-pruning")
def shifted_rises(data: xr.Dataset, rate: str = "0.5") -> dict[str, xr.DataArray]:
    """The rise of hinge and of error out of domain after pruning the smallest first, α' = 0.8."""
    return {what: shifted_rise.function(data, what, rate) for what in ("hinge", "error")}


@lm.evidence("f65-pruning")
def steps_of_alpha(data: xr.Dataset, alphas: tuple[float, ...] = (0.2, 0.4, 0.8)) -> xr.DataArray:
    """Steps of the error of the pruned network (smallest 20 %) from one α' to the next."""
    error = lm.cells(data, order="smallest", rate="0.2").pruned_error
    at = {alpha: lm.cells(error, test_fraction=alpha) for alpha in alphas}
    return lm.stack({f"{a:g} over {b:g}": at[a] - at[b] for a, b in itertools.pairwise(alphas)}, "step")


INSTEAD = lm.Control("smallest first in place of random", order="smallest")

CLAIMS = (
    learnt("p10-harmless", "Theorem 6.3.7", "bound")
    .states("""Pruning small neurons is harmless: the hinge rises by at most 0.01 without the smallest 20 %, and without
        exactly the small ones.""")
    .in_symbols(r"\ell_{\text{pruned}}-\ell \le 0.01")
    .judged(rise(), lm.at_most(0.01), lm.Control("largest first", first="largest")),
    learnt("p10-formula", "Theorem 6.3.7, P10", "comparison", source="derived")
    .states("""Pruning a share R of neurons, random large ones, scales the output down: the hinge is max{0, 1 - F(1 -
        Rm/|L|)} within 0.05.""")
    .in_symbols(r"\ell_R = \max\{0,\ 1-\bar{F}(1-Rm/|\mathcal{L}|)\}")
    .judged(off_formula(), lm.at_most(0.05, by="mean"), INSTEAD),
    learnt("p10-order", "Theorem 6.3.7", "ordering")
    .states("""Pruning the smallest neurons first costs no more hinge loss than pruning random large ones, and this no
        more than pruning the largest first, at every rate.""")
    .in_symbols(r"\ell_{\text{smallest first}}(R) \le \ell_{\text{random large}}(R) \le \ell_{\text{largest first}}(R)")
    .judged(
        order_gaps(), lm.at_least(0.0), lm.Control("largest and smallest exchanged", first="largest", last="smallest")
    ),
    learnt("p10-upper", "(E.107)", "bound")
    .states("""Without the small neurons the hinge is below the proof's bound (E.107) with ε = 0.05, which is far from
        tight: their ratio is at most 1.""")
    .in_symbols(r"""\ell_{\text{large only}} \le 1-\left(1-\frac{2}{\alpha'M_1}\right)\frac{1-\epsilon}{1-2/(\alpha
        M_1)}(1-M_1^{-1/2})""")
    .judged(hinge_of_large(), lm.at_most(1.0), lm.Control("largest half pruned instead", pruned="largest half")),
    learnt("p10-lower", "(E.109)", "bound")
    .states("""Without a share R of neurons, random large ones, the hinge is above the proof's bound (E.109) with ε =
        0.05.""")
    .in_symbols(r"\ell_R \ge 1-\left(1-\frac{2}{\alpha'M_1}\right)\frac{1+\epsilon}{1-2/(\alpha M_1)}(1-R)")
    .judged(hinge_after(), lm.at_least(LOWER), INSTEAD),
    learnt("f65a-harmless", "Figure 6.5(a)", "bound", source="figure")
    .states("Out of domain pruning the smallest 15 % raises the hinge by at most 0.03.")
    .in_symbols(r"\ell_{\text{out}}(15\,\%)-\ell_{\text{out}}(0) \le 0.03")
    .judged(shifted_rise("hinge", "0.15"), lm.at_most(0.03), lm.Control("largest first", order="largest")),
    learnt("f65a-error-rises", "Figure 6.5(a)", "bound", source="figure")
    .states("As reported: out of domain, pruning the smallest half raises the classification error by at least 0.02.")
    .in_symbols(r"\mathrm{err}_{\text{out}}(50\,\%)-\mathrm{err}_{\text{out}}(0) \ge 0.02")
    .judged(
        shifted_rise("error", "0.5"),
        lm.at_least(0.02),
        lm.Control("largest first at rate 0.8", order="largest", rate="0.8"),
        expected=lm.FAILS,
    ),
    learnt("f65a-error-rises-corrected", "Figure 6.5(a), corrected", "bound", corrects="f65a-error-rises")
    .states("""Corrected: out of domain, pruning the smallest half raises the hinge loss by at least 0.1, and the
        classification error by less than 0.02.""")
    .in_symbols(r"""\ell_{\text{out}}(50\,\%)-\ell_{\text{out}}(0) \ge 0.1,\
        \mathrm{err}_{\text{out}}(50\,\%)-\mathrm{err}_{\text{out}}(0) < 0.02""")
    .judged(
        shifted_rises(),
        lm.all_of(hinge=lm.at_least(0.1), error=lm.at_most(0.02, strict=True)),
        lm.Control("smallest first at rate 0.15", rate="0.15"),
    ),
    learnt("f65b-context-order", "Figure 6.5(b)", "ordering", source="figure")
    .states("""Out of domain the pruned network (without the smallest 20 %) errs less with more decisive contexts: more
        at α' = 0.2 than at 0.4, and there more than at 0.8.""")
    .in_symbols(r"""\mathrm{err}_{\text{out}}(\alpha'=0.2) > \mathrm{err}_{\text{out}}(\alpha'=0.4) >
        \mathrm{err}_{\text{out}}(\alpha'=0.8)""")
    .judged(steps_of_alpha(), lm.at_least(0.0, strict=True), lm.Control("α' values reversed", alphas=(0.8, 0.4, 0.2))),
)

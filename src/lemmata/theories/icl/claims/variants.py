"""Variants: two heads (P17), classes of two patterns (P18)."""

from __future__ import annotations

import xarray as xr

import lemmata as lm
from lemmata.theories.icl.measures import FROZEN, learnt

SHARP = 0.85
"""A head concentrates from here on."""


@lm.evidence("p17-heads")
def heads_errors(data: xr.Dataset, variant: str = "independent") -> dict[str, xr.DataArray]:
    """Error and hinge on unseen tasks of a network with two heads."""
    data = lm.cells(data, variant=variant)
    return {"error": data.unseen_error, "hinge": data.unseen_hinge}


@lm.evidence("p17-heads")
def better_head(data: xr.Dataset, variant: str = "independent") -> xr.DataArray:
    """Attention of the better head on contexts with the query's pattern."""
    return lm.cells(data, variant=variant).concentration.max("head", skipna=False)


@lm.evidence("p17-heads")
def sharp_share(data: xr.Dataset, variant: str = "independent") -> lm.Estimate:
    """The share of runs in which both heads put at least 0.85 on contexts with the query's pattern."""
    weaker = lm.cells(data, variant=variant).concentration.min("head", skipna=False)
    if weaker.isnull().any():
        return lm.Estimate(float("nan"), -float("inf"), float("inf"), "share")
    return lm.share_interval(int((weaker >= SHARP).sum()), weaker.size)


def _classes(data: xr.Dataset, attention: str, length: str = "20") -> xr.Dataset:
    return lm.cells(data, test_length=length, attention=attention)


@lm.evidence("p18-classes")
def errors_beyond_matches(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """The error less the share of prompts without a match."""
    data = _classes(data, attention)
    return data.unseen_error - data.unseen_no_match


@lm.evidence("p18-classes")
def classes_attention(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """Attention on contexts with the query's pattern."""
    return _classes(data, attention).concentration.isel(head=0)


@lm.evidence("p18-classes")
def long_error(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """The error with 60 contexts."""
    return _classes(data, attention, "60").unseen_error


BOTH_FROZEN = lm.Control("both heads frozen", variant="frozen")

CLAIMS = (
    learnt("p17-error", "E.2.2", "limit")
    .states("Two heads solve unseen tasks as one does: error at most 0.005, hinge at most 0.02.")
    .in_symbols(r"\mathrm{err}_{\text{unseen}} \le 0.005,\ \ell_{\text{unseen}} \le 0.02 \quad (H=2)")
    .judged(heads_errors(), lm.all_of(error=lm.at_most(0.005), hinge=lm.at_most(0.02)), BOTH_FROZEN),
    learnt("p17-each-head", "E.2.2", "limit")
    .states("""As stated: each head concentrates on contexts with the query's pattern: both reach at least 0.85 in at
        least 95 % of the runs.""")
    .in_symbols(r"\Pr(\min_hA_h \ge 0.85) \ge 0.95, \quad A_h = \sum_{s\in\mathcal{N}_*}\mathrm{attn}_s^{(h)}")
    .judged(
        sharp_share(),
        lm.at_least(0.95, by="value"),
        lm.Control("equal blocks of W_O at the start", variant="equal"),
        expected=lm.FAILS,
    ),
    learnt("p17-each-head-corrected", "E.2.2, corrected", "limit", corrects="p17-each-head")
    .states("""Corrected: the better of two heads concentrates on contexts with the query's pattern: at least 0.95 in
        every seed.""")
    .in_symbols(r"\max_hA_h \ge 0.95, \quad A_h = \sum_{s\in\mathcal{N}_*}\mathrm{attn}_s^{(h)}")
    .judged(better_head(), lm.at_least(0.95, by="every"), BOTH_FROZEN),
    learnt("p18-error", "E.2.3", "bound")
    .states("With two patterns in each class only prompts without a match go wrong: the error is at most their share.")
    .in_symbols(r"\mathrm{err}_{\text{unseen}} \le \Pr(\mathcal{N}_*=\emptyset)")
    .judged(errors_beyond_matches(), lm.at_most(0.0), FROZEN),
    learnt("p18-concentration", "E.2.3", "limit")
    .states("""With two patterns in each class attention concentrates on contexts with the query's pattern: at least
        0.95.""")
    .in_symbols(r"\sum_{s\in\mathcal{N}_*}\mathrm{attn}_s \ge 0.95")
    .judged(classes_attention(), lm.at_least(0.95), FROZEN),
    learnt("p18-long", "E.2.3", "limit")
    .states("With two patterns in each class and 60 contexts the error on unseen tasks is at most 0.002.")
    .in_symbols(r"\mathrm{err}_{\text{unseen}} \le 0.002 \quad (l_{ts}=60)")
    .judged(long_error(), lm.at_most(0.002), FROZEN),
)

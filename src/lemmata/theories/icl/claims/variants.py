"""Variants: two heads (P17), classes of two patterns (P18)."""

from __future__ import annotations

from dataclasses import replace

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
def head_attention(data: xr.Dataset, head: str, variant: str = "independent") -> xr.DataArray:
    """Attention of the weaker or of the better head on contexts with the query's pattern."""
    attention = lm.cells(data, variant=variant).concentration
    return attention.min("head") if head == "weaker" else attention.max("head")


def every_head(weaker: xr.DataArray) -> lm.Verdict:
    """Holds if the weaker head concentrates in every seed, fails if in two or more it does not."""
    verdict = lm.at_least(SHARP, by="every")(weaker)
    below = int((weaker < SHARP).sum())
    measured = not bool(weaker.isnull().any())
    outcome = lm.FAILS if below >= 2 else lm.HOLDS if below == 0 and measured else lm.INCONCLUSIVE
    note = f"{verdict.note}; a head below it in {below} of {weaker.sizes['seed']} seeds"
    return replace(verdict, outcome=outcome, note=note)


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
    .judged(heads_errors(), lm.all_of(error=lm.at_most(0.005), hinge=lm.at_most(0.02)), BOTH_FROZEN),
    learnt("p17-each-head", "E.2.2", "limit")
    .states("As stated: each head concentrates on contexts with the query's pattern (at least 0.85 in both).")
    .judged(
        head_attention("weaker"),
        every_head,
        lm.Control("equal blocks of W_O at the start", variant="equal"),
        expected=lm.FAILS,
    ),
    learnt("p17-each-head-corrected", "E.2.2, corrected", "limit", corrects="p17-each-head")
    .states("Corrected: the better head does (at least 0.95 in every seed); the other stops when the hinge is solved.")
    .judged(head_attention("better"), lm.at_least(0.95, by="every"), BOTH_FROZEN),
    learnt("p18-error", "E.2.3", "bound")
    .states("With two patterns in each class only prompts without a match go wrong: the error is at most their share.")
    .judged(errors_beyond_matches(), lm.at_most(0.0), FROZEN),
    learnt("p18-concentration", "E.2.3", "limit")
    .states("... attention concentrates on contexts with the query's pattern: at least 0.95.")
    .judged(classes_attention(), lm.at_least(0.95), FROZEN),
    learnt("p18-long", "E.2.3", "limit")
    .states("... and with 60 contexts the error is at most 0.002.")
    .judged(long_error(), lm.at_most(0.002), FROZEN),
)

"""Variants: two heads (P17), classes of two patterns (P18)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Claim, Control, Evidence, Verdict
from lemmata.lab.judges import all_of, at_least, at_most
from lemmata.theories.icl.measures import of_experiment

SHARP = 0.85
"""A head concentrates from here on."""


def _heads(take: Callable[[xr.Dataset], object], variant: str = "independent") -> Evidence:
    return of_experiment(
        "p17-heads", lambda data: take(data.sel(variant=variant, drop=True)), {"variant": "independent"}
    )


def _both(data: xr.Dataset) -> dict[str, xr.DataArray]:
    return {"error": data.unseen_error, "hinge": data.unseen_hinge}


def _every_head(weaker: xr.DataArray) -> Verdict:
    """Holds if the weaker head concentrates in every seed, fails if in two or more it does not."""
    verdict = at_least(SHARP, by="every")(weaker)
    below = int((weaker < SHARP).sum())
    measured = not bool(weaker.isnull().any())
    outcome = FAILS if below >= 2 else HOLDS if below == 0 and measured else INCONCLUSIVE
    note = f"{verdict.note}; a head below it in {below} of {weaker.sizes['seed']} seeds"
    return replace(verdict, outcome=outcome, note=note)


def _classes(take: Callable[[xr.Dataset], xr.DataArray], length: str, attention: str = "trained") -> Evidence:
    chosen = lambda data: take(data.sel(test_length=length, attention=attention, drop=True))  # noqa: E731
    return of_experiment("p18-classes", chosen, {"attention": "trained"})


def _beyond_matches(data: xr.Dataset) -> xr.DataArray:
    return data.unseen_error - data.unseen_no_match


def _sharpness(data: xr.Dataset) -> xr.DataArray:
    return data.concentration.isel(head=0)


_FROZEN = "frozen attention"

CLAIMS = (
    Claim(
        name="p17-error",
        reference="E.2.2",
        kind="limit",
        statement="Two heads solve unseen tasks as one does: error at most 0.005, hinge at most 0.02.",
        reads=("p17-heads",),
        evidence=_heads(_both),
        judge=all_of(error=at_most(0.005), hinge=at_most(0.02)),
        controls=(Control("both heads frozen", _heads(_both, "frozen")),),
    ),
    Claim(
        name="p17-each-head",
        reference="E.2.2",
        kind="limit",
        statement="As stated: each head concentrates on contexts with the query's pattern (at least 0.85 in both).",
        reads=("p17-heads",),
        evidence=_heads(lambda data: data.concentration.min("head")),
        judge=_every_head,
        expected=FAILS,
        controls=(
            Control(
                "equal blocks of W_O at the start", _heads(lambda data: data.concentration.min("head"), "equal"), HOLDS
            ),
        ),
    ),
    Claim(
        name="p17-each-head-corrected",
        reference="E.2.2, corrected",
        kind="limit",
        statement="Corrected: the better head does (at least 0.95 in every seed); the other stops when the hinge is "
        "solved.",
        reads=("p17-heads",),
        evidence=_heads(lambda data: data.concentration.max("head")),
        judge=at_least(0.95, by="every"),
        controls=(Control("both heads frozen", _heads(lambda data: data.concentration.max("head"), "frozen")),),
    ),
    Claim(
        name="p18-error",
        reference="E.2.3",
        kind="bound",
        statement="With two patterns in each class only prompts without a match go wrong: the error is at most their "
        "share.",
        reads=("p18-classes",),
        evidence=_classes(_beyond_matches, "20"),
        judge=at_most(0.0),
        controls=(Control(_FROZEN, _classes(_beyond_matches, "20", "frozen")),),
    ),
    Claim(
        name="p18-concentration",
        reference="E.2.3",
        kind="limit",
        statement="... attention concentrates on contexts with the query's pattern: at least 0.95.",
        reads=("p18-classes",),
        evidence=_classes(_sharpness, "20"),
        judge=at_least(0.95),
        controls=(Control(_FROZEN, _classes(_sharpness, "20", "frozen")),),
    ),
    Claim(
        name="p18-long",
        reference="E.2.3",
        kind="limit",
        statement="... and with 60 contexts the error is at most 0.002.",
        reads=("p18-classes",),
        evidence=_classes(lambda data: data.unseen_error, "60"),
        judge=at_most(0.002),
        controls=(Control(_FROZEN, _classes(lambda data: data.unseen_error, "60", "frozen")),),
    ),
)

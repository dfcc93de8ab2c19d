"""Variants and comparisons: two heads (P17), classes of two patterns (P18), baselines (6.4), pruning (6.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Claim, Control, Datasets, Evidence, Verdict
from lemmata.lab.judges import all_of, at_least, at_most, equal
from lemmata.lab.measures import stack
from lemmata.theories.icl.baselines import BASELINES
from lemmata.theories.icl.claims.common import cells, of_experiment

SHARP = 0.85
"""A head concentrates from here on."""


def _heads(take: Callable[[xr.Dataset], object], start: str = "independent") -> Evidence:
    return of_experiment("p17-heads", lambda data: take(data.sel(start=start, drop=True)), {"start": "independent"})


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


def _classes(take: Callable[[xr.Dataset], xr.DataArray], test: str, attention: str = "trained") -> Evidence:
    chosen = lambda data: take(data.sel(test=test, attention=attention, drop=True))  # noqa: E731
    return of_experiment("p18-classes", chosen, {"attention": "trained"})


def _beyond_matches(data: xr.Dataset) -> xr.DataArray:
    return data.unseen_error - data.unseen_no_match


def _sharpness(data: xr.Dataset) -> xr.DataArray:
    return data.concentration.isel(head=0)


def _advantage(alpha: float, domain: str, *lengths: int) -> Evidence:
    """Error of the network less 0.7 times that of the best baseline (lowest mean over seeds) at every length."""

    def take(data: xr.Dataset) -> xr.DataArray:
        error = cells(data, test_fraction=alpha, test_contexts=list(lengths), domain=domain).prompt_error
        rivals = error.sel(predictor=list(BASELINES))
        best = rivals.isel(predictor=rivals.mean("seed").argmin("predictor"), drop=True)
        return error.sel(predictor="one-layer", drop=True) - 0.7 * best

    return of_experiment("f64-baselines", take)


def _nearest(domain: str) -> Evidence:
    """1-NN errors on prompts with a match."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        wrong = datasets["f64-baselines"].prompt_error_match.sel(domain=domain, predictor="1-NN")
        return {"measured": wrong.values, "predicted": 0.0}

    return evidence


def _oracle(factor: float) -> Evidence:
    """Standard errors between the pooled error of the oracle and factor (1-α')^l."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["f64-oracle-law"]
        law = factor * (1 - data.test_fraction) ** data.test_contexts
        return abs(data.oracle_error.mean("seed") - law) / np.sqrt(law * (1 - law) / data.prompts.sum("seed"))

    return evidence


def _rise(what: str, order: str, rate: str) -> Evidence:
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


_IN, _OUT = "in-domain", "out of domain"
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
    Claim(
        name="f64-advantage",
        reference="Figure 6.4(b)",
        kind="comparison",
        statement="Out of domain at α' = 0.6 the network needs fewer contexts than any baseline: its error is below "
        "0.7 times that of the best at l = 10 and 20.",
        reads=("f64-baselines",),
        evidence=_advantage(0.6, _OUT, 10, 20),
        judge=at_most(0.0, strict=True),
        controls=(Control("in domain, l = 5", _advantage(0.6, _IN, 5)),),
    ),
    Claim(
        name="f64-no-advantage",
        reference="Figure 6.4(a)",
        kind="comparison",
        statement="As reported: at α' = 0.8 it has no such advantage (out of domain, l = 10).",
        reads=("f64-baselines",),
        evidence=_advantage(0.8, _OUT, 10),
        judge=at_least(0.0),
        expected=FAILS,
        controls=(Control("in domain, l = 5", _advantage(0.8, _IN, 5), HOLDS),),
    ),
    Claim(
        name="f64-nearest",
        reference="oracle O10",
        kind="identity",
        statement="In domain the nearest neighbour never errs when a context holds the query's pattern.",
        reads=("f64-baselines",),
        evidence=_nearest(_IN),
        judge=equal(0.0),
        controls=(Control("out of domain, K' = 5", _nearest(_OUT)),),
    ),
    Claim(
        name="f64-oracle",
        reference="3.5, derived",
        kind="identity",
        statement="The oracle predictor errs with probability (1-α')^l / 2 (evidence: standard errors off, at most 4).",
        formula="error = (1-α')^l / 2",
        reads=("f64-oracle-law",),
        evidence=_oracle(0.5),
        judge=at_most(4.0),
        controls=(Control("the law without the factor 1/2", _oracle(1.0)),),
    ),
    Claim(
        name="f65a-harmless",
        reference="Figure 6.5(a)",
        kind="bound",
        statement="Out of domain pruning the smallest 15 % raises the hinge by at most 0.03.",
        reads=("f65-pruning",),
        evidence=_rise("pruned_hinge", "smallest", "0.15"),
        judge=at_most(0.03),
        controls=(Control("largest first", _rise("pruned_hinge", "largest", "0.15")),),
    ),
    Claim(
        name="f65a-error-rises",
        reference="Figure 6.5(a)",
        kind="bound",
        statement="As reported: pruning the smallest half raises the classification error by at least 0.02.",
        reads=("f65-pruning",),
        evidence=_rise("pruned_error", "smallest", "0.5"),
        judge=at_least(0.02),
        expected=FAILS,
        controls=(Control("largest first at rate 0.8", _rise("pruned_error", "largest", "0.8"), HOLDS),),
    ),
    Claim(
        name="f65a-error-rises-corrected",
        reference="Figure 6.5(a), corrected",
        kind="bound",
        statement="Corrected: it raises the hinge loss by at least 0.1; the sign stays.",
        reads=("f65-pruning",),
        evidence=_rise("pruned_hinge", "smallest", "0.5"),
        judge=at_least(0.1),
        controls=(Control("smallest first at rate 0.15", _rise("pruned_hinge", "smallest", "0.15")),),
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

"""The network against classical predictors, and the law of the oracle (figure 6.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_least, at_most, equal
from lemmata.theories.icl.measures import cells, of_experiment
from lemmata.theories.icl.studies.predictors import BASELINES


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


_IN, _OUT = "in-domain", "out of domain"

CLAIMS = (
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
)

"""The network against classical predictors, and the law of the oracle (figure 6.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.icl.measures import learnt
from lemmata.theories.icl.studies.predictors import BASELINES


@lm.evidence("f64-baselines")
def advantage(data: xr.Dataset, alpha: float, lengths: list[int], domain: str = "out of domain") -> xr.DataArray:
    """Error of the network less 0.7 times that of the best baseline (lowest mean over seeds) at every length."""
    error = lm.cells(data, test_fraction=alpha, test_contexts=lengths, domain=domain).prompt_error
    rivals = error.sel(predictor=list(BASELINES))
    best = rivals.isel(predictor=rivals.mean("seed").argmin("predictor"), drop=True)
    return error.sel(predictor="one-layer", drop=True) - 0.7 * best


@lm.evidence("f64-baselines")
def nearest_errors(data: xr.Dataset, domain: str = "in-domain") -> dict[str, Any]:
    """1-NN errors on prompts with a match."""
    return {"measured": data.prompt_error_match.sel(domain=domain, predictor="1-NN").values, "predicted": 0.0}


@lm.evidence("f64-oracle-law")
def off_law(data: xr.Dataset, factor: float = 0.5) -> lm.Uncertain:
    """The pooled error of the oracle less factor (1-α')^l, with the standard error of the latter."""
    law = factor * (1 - data.test_fraction) ** data.test_contexts
    error = np.sqrt(law * (1 - law) / data.prompts.sum("seed"))
    return lm.Uncertain(data.oracle_error.mean("seed") - law, error)


SHORT = lm.Control("in domain, l = 5", domain="in-domain", lengths=[5])

CLAIMS = (
    learnt("f64-advantage", "Figure 6.4(b)", "comparison", source="figure")
    .states("""Out of domain at α' = 0.6 the network is more sample efficient than any baseline: at l = 10 and 20 its
        error is below 0.7 times that of the best.""")
    .in_symbols(r"""\mathrm{err}_{\text{network}} < 0.7\,\min_{\text{baselines}}\mathrm{err} \quad (\alpha'=0.6,\
        l_{ts}=10,20)""")
    .judged(advantage(0.6, [10, 20]), lm.at_most(0.0, strict=True), SHORT),
    learnt("f64-no-advantage", "Figure 6.4(a)", "comparison", source="figure")
    .states("""As reported, in a figure that does not say in which domain: at α' = 0.8 the network is not more sample
        efficient than the baselines. Out of domain, at l = 10, its error is at least 0.7 times that of the best
        baseline.""")
    .in_symbols(r"""\mathrm{err}_{\text{network}} \ge 0.7\,\min_{\text{baselines}}\mathrm{err} \quad (\alpha'=0.8,\
        l_{ts}=10)""")
    .judged(advantage(0.8, [10]), lm.at_least(0.0), SHORT, expected=lm.FAILS),
    lm.Claim("f64-nearest", "oracle O10", "identity", source="derived")
    .states("In domain the nearest neighbour never errs when a context holds the query's pattern.")
    .in_symbols(r"\Pr(\text{nearest neighbour errs} \mid \mathcal{N}_*\ne\emptyset) = 0")
    .judged(nearest_errors(), lm.equal(0.0), lm.Control("out of domain, K' = 5", domain="out of domain")),
    lm.Claim("f64-oracle", "3.5, derived", "identity", source="derived")
    .states("The oracle predictor errs with probability (1-α')^l / 2: the difference is 0 within 4 standard errors.")
    .in_symbols(r"\mathrm{err}_{\text{oracle}} = \frac{1}{2}(1-\alpha')^{l_{ts}}")
    .judged(
        off_law(), lm.within(0.0, 0.0, predicted=0.0, se=4), lm.Control("the law without the factor 1/2", factor=1.0)
    ),
)

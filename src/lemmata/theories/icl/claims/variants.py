"""Variants: two heads (P17), classes of two patterns (P18). Rivals: classical predictors, the oracle (figure 6.4)."""

from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.icl.measures import FROZEN, learnt
from lemmata.theories.icl.studies.predictors import BASELINES

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


@lm.evidence("p18-classes")
def errors_beyond_matches(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """The error less the share of prompts without a match."""
    data = lm.cells(data, test_length="20", attention=attention)
    return data.unseen_error - data.unseen_no_match


@lm.evidence("p18-classes")
def classes_attention(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """Attention on contexts with the query's pattern."""
    return lm.cells(data, test_length="20", attention=attention).concentration.isel(head=0)


@lm.evidence("p18-classes")
def long_error(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """The error with 60 contexts."""
    return lm.cells(data, test_length="60", attention=attention).unseen_error


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


BOTH_FROZEN = lm.Control("both heads frozen", variant="frozen")
SHORT = lm.Control("in domain, l = 5", domain="in-domain", lengths=[5])

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

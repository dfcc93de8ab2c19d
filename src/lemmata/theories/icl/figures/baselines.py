"""The network against classical predictors, and the law of the oracle (figure 6.4)."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata import figures as draw
from lemmata.theories.icl.figures.contexts import LENGTH

LAW = r"oracle, exact: $(1-\alpha')^l/2$"


def baselines(data: xr.Dataset) -> Figure:
    """Error of every predictor by length, in and out of domain, and errors despite a match; a column for each α'."""
    alphas, domains, lengths = data.test_fraction.values, data.domain.values, data.test_contexts.values
    figure, axes = draw.panels(len(alphas) * (len(domains) + 1), rows=len(domains) + 1)
    rivals, oracle = data.prompt_error.drop_sel(predictor="oracle"), data.prompt_error.sel(predictor="oracle")
    share = (data.prompt_error_match / (1 - data.prompt_no_match)).sel(predictor=["one-layer", "1-NN"])
    for column, alpha in enumerate(alphas):
        for row, domain in enumerate(domains):
            ax, cell = axes[row * len(alphas) + column], {"test_fraction": alpha, "domain": domain}
            draw.curves(ax, rivals.sel(cell), "test_contexts", "predictor")
            ax.lines[0].set(linewidth=3)
            how = {"linestyle": "none", "color": "black", "marker": "x"}
            draw.curves(ax, oracle.sel(cell), "test_contexts", label="oracle", **how)
            draw.predicted(ax, 0.5 * (1 - alpha) ** lengths, LAW, lengths)
            draw.finish(ax, rf"{domain}, $\alpha'$ = {alpha:g}", "sign error", LENGTH, legend=3)
        ax = axes[len(domains) * len(alphas) + column]
        for domain, line in zip(domains, ("-", ":"), strict=False):
            cell = share.sel(test_fraction=alpha, domain=domain)
            draw.curves(
                ax, cell, "test_contexts", "predictor", f"{{}}, {domain}", {"1-NN": draw.PURPLE}, linestyle=line
            )
        draw.predicted(ax, 0.0, "exact: 1-NN in-domain never errs")
        title = rf"errors although there is a match, $\alpha'$ = {alpha:g}"
        draw.finish(ax, title, "sign error given a match", LENGTH)
    for ax in axes:
        draw.loss_scale(ax)
        draw.numbers(ax, lengths)
    return figure


def oracle(data: xr.Dataset) -> Figure:
    """The error of the oracle predictor by length, a line for every α', beside its law."""
    figure, (ax,) = draw.panels(1)
    lengths = data.test_contexts
    draw.curves(ax, data.oracle_error, "test_contexts", "test_fraction", r"oracle, $\alpha'$ = {}", linestyle="none")
    for i, alpha in enumerate(data.test_fraction.values):
        law = 0.5 * (1 - alpha) ** lengths
        draw.predicted(ax, law, None if i else r"exact: $(1-\alpha')^l/2$", lengths)
        draw.predicted(ax, 2 * law, None if i else "control: without the factor 1/2", lengths, **draw.CLAIMED)
    draw.loss_scale(ax)
    draw.numbers(ax, lengths)
    draw.finish(ax, "the oracle predictor and its law", "sign error, in-domain", LENGTH)
    return figure

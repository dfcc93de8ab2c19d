"""The network against classical predictors, and the law of the oracle (figure 6.4)."""

from __future__ import annotations

import itertools

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, ORANGE, PREDICTED, colour, legend_below, log_numbers, panels
from lemmata.theories.icl.figures import CLAIM, along, error_scale, predict
from lemmata.theories.icl.figures.contexts import LENGTH

PREDICTOR_STYLES = {
    "one-layer": {"color": BLUE, "linewidth": 2.2, "zorder": 4},
    "oracle": {"color": "black", "linestyle": ":", "linewidth": 1.3},
}


def baselines(data: xr.Dataset) -> Figure:
    """Error of every predictor by length, a panel for every domain and α'; beside them the errors despite a match."""
    fractions, lengths = data.test_fraction.values, data.test_contexts.values
    domains = [str(domain) for domain in data.domain.values]
    columns = len(fractions) + 1
    figure, axes = panels(columns * len(domains), rows=len(domains), width=5.4, height=4.2)
    for place, (domain, alpha) in enumerate((d, a) for d in domains for a in fractions):
        ax = axes[place + place // len(fractions)]
        part = data.sel(test_fraction=alpha, domain=domain)
        for i, name in enumerate(map(str, data.predictor.values)):
            how = {"color": colour(i - 1), **PREDICTOR_STYLES.get(name, {})}
            label = "one-layer transformer" if name == "one-layer" else name
            along(ax, lengths, part.prompt_error.sel(predictor=name), label, how.pop("color"), **how)
        ax.plot(lengths, 0.5 * (1 - alpha) ** lengths, label=r"oracle, exact: $(1-\alpha')^l/2$", **PREDICTED)
        error_scale(ax, 1e-3, 0.7)
        log_numbers(ax, lengths, LENGTH)
        ax.set_ylabel("sign error")
        ax.set_title(rf"{domain}, $\alpha'$ = {alpha:g}: every predictor", fontsize=10)
    for i, domain in enumerate(domains):
        _matched(axes[(i + 1) * columns - 1], data.sel(domain=domain), domain)
    for ax in axes:
        legend_below(ax, 3)
    return figure


def _matched(ax: Axes, data: xr.Dataset, domain: str) -> None:
    """The share of errors among prompts that have a context with the query's pattern, for 1-NN and the transformer."""
    share = data.prompt_error_match / (1 - data.prompt_no_match)
    for name, color in (("1-NN", ORANGE), ("one-layer", BLUE)):
        for alpha, style in zip(data.test_fraction.values, itertools.cycle(("-", ":", "-."))):
            part = share.sel(test_fraction=alpha, predictor=name)
            label = rf"{name}, $\alpha'$ = {alpha:g}"
            along(ax, data.test_contexts.values, part, label, color, linestyle=style)
    predict(ax, 0.0, "exact: 0 for 1-NN" if domain == "in-domain" else "exact in-domain: 0 for 1-NN")
    error_scale(ax, 1e-3, 0.7)
    log_numbers(ax, data.test_contexts.values, LENGTH)
    ax.set_ylabel("sign error given a match")
    ax.set_title(f"{domain}: errors although there is a match", fontsize=10)


def oracle(data: xr.Dataset) -> Figure:
    """The error of the oracle predictor by length, a line for every α', beside its law."""
    figure, axes = panels(1, width=6.0, height=4.2)
    ax, lengths = axes[0], data.test_contexts.values
    for i, alpha in enumerate(data.test_fraction.values):
        part = data.oracle_error.sel(test_fraction=alpha)
        along(ax, lengths, part, rf"oracle, $\alpha'$ = {alpha:g}", colour(i), linestyle="none")
        law = 0.5 * (1 - alpha) ** lengths
        ax.plot(lengths, law, label=r"exact: $(1-\alpha')^l/2$" if i == 0 else None, **PREDICTED)
        words = "control: without the factor 1/2" if i == 0 else None
        ax.plot(lengths, 2 * law, label=words, **CLAIM)
    error_scale(ax, 1e-3, 1.3)
    log_numbers(ax, lengths, LENGTH)
    ax.set_ylabel("sign error, in-domain")
    ax.set_title("the oracle predictor and its law", fontsize=10)
    legend_below(ax)
    return figure

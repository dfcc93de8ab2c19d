"""What the trained network can do: context lengths (P4), shifted patterns (P5), baselines (6.4), pruning (6.5)."""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PREDICTED,
    colour,
    from_zero,
    legend_below,
    log_numbers,
    panels,
    strip,
)
from lemmata.theories.icl.figures.common import CLAIM, ORDERS, along, chosen, error_scale, names, predict, summary
from lemmata.theories.icl.figures.lengths import LENGTH, contexts
from lemmata.theories.icl.figures.moved import shift

__all__ = ["baselines", "contexts", "oracle", "pruning", "shift"]

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


def pruning(data: xr.Dataset) -> Figure:
    """Hinge and sign error out of domain by pruning rate and order; by α' after pruning 20 %; norms of the neurons."""
    figure, axes = panels(4, rows=2, width=6.0, height=4.2)
    here = chosen(data, "test_fraction", 0.8)
    alpha = f"{float(here.test_fraction):g}"
    rates = data.rate.values.astype(float)
    for ax, what in zip(axes, ("hinge", "error"), strict=False):
        values = here[f"pruned_{what}"]
        for name, (words, color) in ORDERS.items():
            along(ax, rates, values.sel(order=name), words, color)
        start = float(summary(values.sel(order="smallest").isel(rate=0))[0])
        predict(ax, start, "without pruning")
        ax.axvline(
            0.15, color=GREY, linestyle=":", linewidth=1.3, label="document: harmless below, error rises beyond 15 %"
        )
        ax.set_xlabel("share of all neurons that is pruned")
    axes[0].set_ylabel("hinge loss, out of domain")
    axes[0].set_title(rf"hinge loss after pruning ($\alpha'$ = {alpha})", fontsize=10)
    axes[0].set_ylim(0, 1.15)
    axes[1].set_ylabel("sign error, out of domain")
    axes[1].set_title(rf"sign error after pruning ($\alpha'$ = {alpha})", fontsize=10)
    error_scale(axes[1])
    _by_fraction(axes[2], data)
    _norms(axes[3], here)
    for ax in axes:
        legend_below(ax)
    return figure


def _by_fraction(ax: Axes, data: xr.Dataset) -> None:
    """Figure 6.5(b): the model without its smallest 20 % by α'."""
    alphas = data.test_fraction.values
    rates = [str(rate) for rate in data.rate.values]
    rate = "0.2" if "0.2" in rates else rates[0]
    for i, alpha in enumerate(alphas):
        cell = data.sel(test_fraction=alpha, order="smallest")
        label = f"smallest {100 * float(rate):g} % pruned" if i == 0 else None
        strip(ax, i - 0.15, cell.pruned_error.sel(rate=rate), BLUE, label, width=0.1)
        strip(ax, i + 0.2, cell.pruned_error.isel(rate=0), GREY, "not pruned" if i == 0 else None, width=0.1)
    middle = summary(data.pruned_error.sel(order="smallest", rate=rate))[0]
    words = r"means; document: fall with $\alpha'$"
    ax.plot(np.arange(len(alphas)) - 0.15, middle, color=BLUE, linewidth=0.8, label=words)
    predict(ax, 0.0, r"document: about 0 at large $\alpha'$")
    names(ax, [rf"$\alpha'$ = {alpha:g}" for alpha in alphas], "decisive share of the testing contexts")
    from_zero(ax)
    ax.set_ylabel("sign error, out of domain")
    ax.set_title("error of the pruned network", fontsize=10)


def _norms(ax: Axes, data: xr.Dataset) -> None:
    """Sorted row norms of W_O, mean over seeds."""
    norms, low, high = summary(data.output_norm)
    share = (np.arange(norms.size) + 0.5) / norms.size
    ax.bar(share, norms, width=1 / norms.size, color=GREEN, alpha=0.75, label=r"$\|W_{O,i}\|$, mean over seeds")
    ax.fill_between(share, low, high, step="mid", color="black", alpha=0.25, linewidth=0, label="interval over seeds")
    ax.axvline(0.15, label="document: the small ones, about 15 %", **PREDICTED)
    ax.set_xlim(0, 1)
    from_zero(ax)
    ax.set_xlabel("neurons, smallest to largest (share of all)")
    ax.set_ylabel(r"row norm $\|W_{O,i}\|$")
    ax.set_title("norms of the neurons", fontsize=10)

"""Pruning: in domain (P10, panels of the default run) and out of domain (figure 6.5)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.errors import UserError
from lemmata.lab.figures import BLUE, GREEN, GREY, PREDICTED, from_zero, legend_below, panels, strip
from lemmata.theories.icl.bounds import pruning_lower, pruning_upper
from lemmata.theories.icl.figures import DEFAULT, ORDERS, along, chosen, error_scale, names, predict, summary

EPSILON = 0.05
"""ε of the proof-level pruning bounds."""


def in_domain(ax: Axes, data: xr.Dataset, what: str) -> None:
    """Hinge loss or sign error after pruning by order and rate; for the hinge with the formula and the bounds."""
    rates = data.rate.values.astype(float)
    for name, (words, color) in ORDERS.items():
        along(ax, rates, data[f"pruned_{what}"].sel(order=name), words, color)
    share = data.pruned_large_share
    small = 1 - summary(share)[0]
    cost = summary(data[f"large_{what}"])[0]
    ax.plot(small, cost, "D", color="black", markersize=5, label=r"exactly the small neurons $\mathcal{L}^c$")
    if what == "hinge":
        rate = xr.DataArray(rates, dims="rate")
        formula = np.maximum(0, 1 - data.unseen_margin * (1 - rate / share)).where(rate <= share)
        words = r"formula, random large: $\max\{0,1-\bar F(1-Rm/|\mathcal{L}|)\}$"
        ax.plot(rates, summary(formula)[0], label=words, **PREDICTED)
        _bounds(ax, rates, float(small), data.sizes["pattern"])
        from_zero(ax)
        ax.set_ylabel("hinge loss, unseen tasks")
        ax.set_title("hinge loss after pruning")
    else:
        predict(ax, 0.0, "paper: speaks of the hinge only")
        error_scale(ax)
        ax.set_ylabel("sign error, unseen tasks")
        ax.set_title("sign error after pruning")
    ax.set_xlabel("share $R$ of all neurons that is pruned")


def _bounds(ax: Axes, rates: np.ndarray, small: float, patterns: int) -> None:
    """The bounds of the proof with all constants, where they exist and say something."""
    shares = {"alpha": DEFAULT.fraction, "alpha_test": DEFAULT.test_fraction, "M1": patterns, "eps": EPSILON}
    try:
        lower, upper = pruning_lower(R=rates, **shares), float(pruning_upper(**shares))
    except UserError:
        return
    says = np.where(lower > 0, lower, np.nan)
    words = rf"paper (E.109): random large at least, $\epsilon$ = {EPSILON}"
    ax.plot(rates, says, color="black", linestyle=":", linewidth=1, label=words)
    label = rf"paper (E.107): without $\mathcal{{L}}^c$ at most {upper:.2f}"
    ax.plot(small, upper, "v", color="black", markersize=6, label=label)


def out_of_domain(data: xr.Dataset) -> Figure:
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
            0.15, color=GREY, linestyle=":", linewidth=1.3, label="paper: harmless below, error rises beyond 15 %"
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
    words = r"means; paper: fall with $\alpha'$"
    ax.plot(np.arange(len(alphas)) - 0.15, middle, color=BLUE, linewidth=0.8, label=words)
    predict(ax, 0.0, r"paper: about 0 at large $\alpha'$")
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
    ax.axvline(0.15, label="paper: the small ones, about 15 %", **PREDICTED)
    ax.set_xlim(0, 1)
    from_zero(ax)
    ax.set_xlabel("neurons, smallest to largest (share of all)")
    ax.set_ylabel(r"row norm $\|W_{O,i}\|$")
    ax.set_title("norms of the neurons", fontsize=10)

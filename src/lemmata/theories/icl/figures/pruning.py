"""Pruning: in domain (P10, a panel of the default run) and out of domain (figure 6.5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.lab.judges import level_of

RATE = "share $R$ of all neurons that is pruned"
BOUNDED = ("0.1", "0.2", "0.3", "0.5")
"""The rates at which the lower bound is claimed."""


def in_domain(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Hinge loss after pruning by order and rate, with the formula and the bounds of the proof."""
    rates, share = data.rate.values.astype(float), data.pruned_large_share
    draw.curves(ax, data.pruned_hinge, "rate", "order", "pruned: {}", x=rates)
    small = float(1 - share.mean())
    words = r"pruned: the small ones $\mathcal{L}^c$"
    ax.plot(small, data.large_hinge.mean(), "*", color="black", markersize=10, label=words)
    rate = xr.DataArray(rates, dims="rate")
    formula = np.maximum(0, 1 - data.unseen_margin * (1 - rate / share)).where(rate <= share)
    draw.predicted(ax, formula.mean("seed"), r"formula: $(1-\bar F(1-Rm/|\mathcal{L}|))_+$", rates)
    draw.claimed(ax, claims["p10-upper"], words=r"paper (E.107) at $\mathcal{L}^c$", at=small, half=0.06)
    least = [level_of(claims["p10-lower"].judge, label=rate)[0] for rate in BOUNDED]
    words = "paper (E.109): random large, at least"
    draw.predicted(ax, least, words, [float(rate) for rate in BOUNDED], linestyle=":", linewidth=2)
    draw.from_zero(ax, 1.05)
    draw.finish(ax, "hinge loss after pruning", "hinge loss, unseen tasks", RATE)


def out_of_domain(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Hinge and sign error out of domain by pruning rate and order; by α' after pruning 20 %; norms of the neurons."""
    figure, axes = draw.panels(4, rows=2)
    dense, rates = data.isel(test_fraction=-1), data.rate.values.astype(float)
    for ax, what, unit in zip(axes, ("hinge", "error"), ("hinge loss", "sign error"), strict=False):
        values = dense[f"pruned_{what}"]
        draw.curves(ax, values - values.sel(rate="0"), "rate", "order", "pruned: {}", x=rates)
        draw.predicted(ax, 0.0, "not pruned")
        draw.moment(ax, 0.15, "paper: harmless below 15 %", height=0.9)
        title = rf"rise of the {unit} by pruning ($\alpha'$ = {float(dense.test_fraction):g})"
        draw.finish(ax, title, f"rise of the {unit}, out of domain", RATE, legend=0)
    draw.claimed(axes[0], claims["f65a-harmless"], words="claimed, smallest 15 %", at=0.15, half=0.06)
    draw.claimed(axes[0], claims["f65a-error-rises-corrected"], words="corrected, smallest half", at=0.5, half=0.06)
    draw.claimed(axes[1], claims["f65a-error-rises"], words="claimed, smallest half", at=0.5, half=0.06)
    draw.from_zero(axes[0], 1.15)
    draw.loss_scale(axes[1])
    axes[1].set_ylim(bottom=-1e-3)
    for ax in axes[:2]:
        draw.finish(ax)
    smallest = data.pruned_error.sel(order="smallest")
    shown = lm.stack({"smallest 20 % pruned": smallest.sel(rate="0.2"), "not pruned": smallest.sel(rate="0")}, "model")
    draw.groups(axes[2], shown, "test_fraction", "model", "{} (points: seeds)")
    draw.predicted(axes[2], 0.0, r"paper: falls with $\alpha'$, to about 0")
    draw.from_zero(axes[2])
    across = r"decisive share of the testing contexts $\alpha'$"
    draw.finish(axes[2], "error of the pruned network", "sign error, out of domain", across)
    share = (np.arange(data.sizes["neuron"]) + 0.5) / data.sizes["neuron"]
    label = "mean over seeds (points: seeds)"
    draw.curves(axes[3], dense.output_norm, "neuron", label=label, color=draw.GREEN, x=share, marker="", linewidth=2)
    draw.moment(axes[3], 0.15, "paper: the small ones, about 15 %")
    draw.from_zero(axes[3])
    across = "neurons, smallest to largest (share of all)"
    draw.finish(axes[3], "norms of the neurons", r"row norm $\|W_{O,i}\|$", across)
    return figure

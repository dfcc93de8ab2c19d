"""Panels of the default run about single neurons: norms, directions, pruning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from lemmata.lab.errors import UserError
from lemmata.lab.figures import BLUE, GREY, ORANGE, PREDICTED, dodge, from_zero, strip
from lemmata.lab.measures import at_end
from lemmata.theories.icl.bounds import pruning_lower, pruning_upper
from lemmata.theories.icl.figures.common import DEFAULT, ORDERS, along, error_scale, predict, stated, summary

EPSILON = 0.05
"""ε of the proof-level pruning bounds."""


def norms(ax: Axes, data: xr.Dataset, shuffled: xr.Dataset) -> None:
    """Histogram of the norms of all neurons, large and small, with share and ratio; with shuffled labels beside it."""
    values, large = at_end(data.neuron_norm).values.ravel(), at_end(data.large).values.ravel() > 0
    known = np.isfinite(values)
    values, large = values[known], large[known]
    if values.size:
        bins = np.linspace(0, 1.02 * values.max(), 41).tolist()
        weight = np.full(values.size, 1 / values.size)
        share, ratio = at_end(data.large_share), at_end(data.norm_ratio)
        ax.hist(values[large], bins, weights=weight[large], color=BLUE, alpha=0.75,
                label=rf"large: share {stated(share)} (claimed: in [0.5, 0.85])")  # fmt: skip
        ax.hist(values[~large], bins, weights=weight[~large], color=ORANGE, alpha=0.75,
                label=f"small; ratio of medians {stated(ratio)}")  # fmt: skip
        if str(shuffled.variant.values) != str(data.variant.values):
            other = at_end(shuffled.neuron_norm).values.ravel()
            other = other[np.isfinite(other)]
            words = f"control, shuffled query labels: ratio {stated(at_end(shuffled.norm_ratio))}"
            weights = np.full(other.size, 1 / max(other.size, 1))
            ax.hist(other, bins, weights=weights, histtype="step", color=GREY, label=words)
        if (~large).any():
            line = 3 * float(np.median(values[~large]))
            ax.axvline(line, label=r"claimed: median of large $\geq$ 3 $\times$ that of small", **PREDICTED)
    ax.set_yscale("symlog", linthresh=0.1)
    ax.set_yticks([0, 0.05, 0.1, 1], ["0", "0.05", "0.1", "1"])
    ax.set_ylim(0, 1.2)
    ax.set_xlabel(r"norm $\|r_i\|$ at the end (all neurons of all seeds)")
    ax.set_ylabel("share of the neurons")
    ax.set_title("norms of the neurons, large and small (Otsu)")


def cosines(ax: Axes, variants: Mapping[str, xr.Dataset]) -> None:
    """Cosines of the large neurons with the mean pattern and with the label direction of their sign."""
    colors = (BLUE, ORANGE, GREY)
    groups = (
        ("feature_cosine", "median", r"median of" "\n" r"$\cos(r_{i,d_x},\bar\mu)$"),
        ("label_cosine", "median", r"median of" "\n" r"$\cos(r_{i,d_y},\mathrm{sign}(a_i)q)$"),
        ("label_cosine", "min", "the same,\nsmallest"),
    )
    for (words, data), color, x in zip(variants.items(), colors, dodge(len(variants)), strict=False):
        large = at_end(data.large) > 0
        for i, (name, how, _) in enumerate(groups):
            values = getattr(at_end(data[name]).where(large), how)("neuron")
            strip(ax, i + x, values, color, f"{words} (every seed)" if i == 0 else None, width=0.07)
    predict(ax, 0.95, r"document: $\to1$ (claimed: medians $\geq$ 0.95)")
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set_xticks(range(len(groups)), [words for *_, words in groups], fontsize=8)
    ax.set_ylim(-1.1, 1.1)
    ax.set_ylabel("cosine, large neurons, at the end")
    ax.set_title("directions of the large neurons")


def pruning(ax: Axes, data: xr.Dataset, what: str) -> None:
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
        predict(ax, 0.0, "document: speaks of the hinge only")
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
    words = rf"document (E.109): random large at least, $\epsilon$ = {EPSILON}"
    ax.plot(rates, says, color="black", linestyle=":", linewidth=1, label=words)
    label = rf"document (E.107): without $\mathcal{{L}}^c$ at most {upper:.2f}"
    ax.plot(small, upper, "v", color="black", markersize=6, label=label)

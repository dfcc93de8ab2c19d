"""Weights moved by at most R (Q6)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import GREY, PALETTE, PREDICTED, log_y, panels
from lemmata.theories.exp_regression.figures.common import positive

SHIFTS = {"random": "at random", "point": "along $x_i$", "pair": "along $x_i+x_j$"}


def perturbation(data: xr.Dataset) -> Figure:
    """Left side / right side of every statement about moved weights, over how far they move; worst of the seeds."""
    figure, axes = panels(6, rows=2, width=4.4, height=3.3)
    radius = data.radius
    # these two ratios are 1 + O(R): shown as how much the projection has grown, in units of R
    growth = 1 + np.log(positive(data.moved_exponential)) / radius
    shown = (
        ((data.moved_projection - 1) / radius, r"part 2: $(|\langle v_r,x_i\rangle|/(B+R)-1)/R$", 0.0),
        (growth, r"parts 4, 5: growth of $\langle v_r,x_i\rangle$ / $R$", 1.0),
        (data.difference, r"part 3: $|\langle w_r-v_r,x_i+x_j\rangle|$ / $2R$", 1.0),
        (data.exponential_difference, r"part 6: $|e^{\langle w_r-v_r,x_i+x_j\rangle}-1|$ / $4R$", 1.0),
        (data.frobenius_change, r"Lemma 6.7: $\|\Delta H\|_F$ / $3nRe^{2B}$", 1.0),
        (data.entry_change, r"entries: $|\Delta H_{ij}|$ / $(e^{R\|x_i+x_j\|}-1)|H_{ij}|$", 1.0),
    )  # fmt: skip
    factors = data.factor.values
    for ax, (values, title, limit) in zip(axes, shown, strict=True):
        worst = values.max("seed")
        for shift, color in zip(map(str, data["shift"].values), PALETTE, strict=False):
            for R, marker in zip(data.radius.values, "os^Dv" * 3, strict=False):
                y = worst.sel(shift=shift, radius=R).transpose("factor").values
                ax.plot(factors, y, marker=marker, markersize=4, color=color, linewidth=1, alpha=0.8)
        ax.axhline(limit, label=f"paper, factor 1: at most {limit:g}", **PREDICTED)
        ax.axvline(1.0, color=GREY, linestyle=":", linewidth=1)
        ax.set_xticks(factors, [f"{factor:g}" for factor in factors])
        ax.set_title(title, fontsize=8.5)
    log_y(axes[4])
    for ax in axes[3:]:
        ax.set_xlabel(r"distance moved / $R$")
    for ax in axes[:3]:
        ax.sharex(axes[3])
    for ax in axes[::3]:
        ax.set_ylabel("left side / right side, worst seed")
    for shift, color in zip(map(str, data["shift"].values), PALETTE, strict=False):
        axes[0].plot([], [], color=color, label=f"moved {SHIFTS.get(shift, shift)}")
    for R, marker in zip(data.radius.values, "os^Dv" * 3, strict=False):
        axes[0].plot([], [], marker, color=GREY, markersize=4, label=f"$R$ = {R:g}")
    entries = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    entries = {words.replace("at most 0", "at most the line"): handle for words, handle in entries.items()}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure

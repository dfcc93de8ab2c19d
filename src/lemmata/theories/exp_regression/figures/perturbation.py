"""Weights moved by at most R (Q6)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata import figures as draw

SHIFTS = {"random": "at random", "point": "along a point", "pair": "along a sum of two"}


def moved(data: xr.Dataset) -> Figure:
    """Left side / right side of every statement about moved weights, over how far they move; worst seed and R."""
    figure, axes = draw.panels(6, rows=2, width=4.6, height=3.6)
    # the first two ratios are 1 + O(R): shown as how much the projection has grown, in units of R
    shown = {
        r"part 2: $(|\langle v_r,x_i\rangle|/(B+R)-1)/R+1$": 1 + (data.moved_projection - 1) / data.radius,
        r"parts 4, 5: growth of $\langle v_r,x_i\rangle$ / $R$": 1
        + np.log(draw.positive(data.moved_exponential)) / data.radius,
        r"part 3: $|\langle w_r-v_r,x_i+x_j\rangle|$ / $2R$": data.difference,
        r"part 6: $|e^{\langle w_r-v_r,x_i+x_j\rangle}-1|$ / $4R$": data.exponential_difference,
        r"Lemma 6.7: $\|\Delta H\|_F$ / $3nRe^{2B}$": data.frobenius_change,
        r"entries: $|\Delta H_{ij}|$ / $(e^{R\|x_i+x_j\|}-1)|H_{ij}|$": data.entry_change,
    }
    for ax, (title, ratio) in zip(axes, shown.items(), strict=True):
        worst = ratio.max(("seed", "radius"))
        named = worst.assign_coords(shift=[SHIFTS[str(shift)] for shift in worst["shift"].values])
        draw.curves(ax, named, "factor", "shift", "moved {}")
        draw.predicted(ax, 1.0, "paper, distance $R$: at most 1")
        draw.moment(ax, 1.0, "$R$")
        ax.set_xticks(data.factor.values)
        draw.finish(ax, title, "left / right side, worst case", r"distance moved / $R$", legend=0)
    draw.log_y(axes[4])
    draw.finish(axes[4], legend=4)
    return figure

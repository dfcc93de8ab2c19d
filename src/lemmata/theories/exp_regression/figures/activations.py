"""Four activations on generic, parallel and antipodal points (X7)."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import GREY, PREDICTED, dodge, legend_below, log_y, panels
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import ACTIVATION_COLORS, seeds_at
from lemmata.theories.exp_regression.measures import FLOORS

PAIRS = {"generic": "generic", "parallel": r"parallel, $x_2=\rho x_1$", "antipodal": "antipodal, $x_2=-x_1$"}


def activations(data: xr.Dataset) -> Figure:
    """Final error with its closed-form floors, steps to ε, and how singular the kernel is, by data and activation."""
    figure, axes = panels(3, width=5.0, height=4.3)
    ends, steps, kernels = axes
    pairs = [str(pair) for pair in data.pair.values]
    names = [str(name) for name in data.activation.values]
    least = (data.limit_least / data.limit_largest).clip(common.TINY)
    drawn = False
    for name, x in zip(names, dodge(len(names), 0.8), strict=True):
        color = ACTIVATION_COLORS.get(name, GREY)
        for i, pair in enumerate(pairs):
            label = name if i == 0 else None
            part = data.sel(pair=pair, activation=name)
            seeds_at(ends, i + x, part.final_square.clip(1e-34), color, label, 0.06)
            seeds_at(steps, i + x, part.reached_step, color, label, 0.06)
            seeds_at(kernels, i + x, least.sel(pair=pair, activation=name), color, label, 0.06)
            floor = FLOORS.get((pair, name))
            if floor is not None:
                words = None if drawn else "closed-form floor (singular kernel)"
                ends.plot([i + x - 0.16, i + x + 0.16], [floor] * 2, label=words, **{**PREDICTED, "linewidth": 1.6})
                higher = floor == max(value for (other, _), value in FLOORS.items() if other == pair)
                place, side = (3, "bottom") if higher else (1 / 3, "top")
                ends.text(i + x, place * floor, f"{floor:.3f}", ha="center", va=side, fontsize=7.5)
                drawn = True
    if not drawn:
        ends.axhline(0.0, label="paper: 0", **PREDICTED)
    for ax in axes:
        common.names_axis(ax, [PAIRS.get(pair, pair) for pair in pairs], "data")
        log_y(ax)
    ends.set_ylim(top=20 * max(1.0, ends.get_ylim()[1] / 20))
    ends.set_ylabel(r"final $\|e\|^2$")
    ends.set_title("final error", fontsize=10)
    steps.set_ylabel(r"steps to $\|e\|^2\leq\varepsilon$")
    steps.set_title("training time", fontsize=10)
    kernels.axhline(1e-12, label="singular below", **PREDICTED)
    kernels.set_ylabel(r"$\lambda/\lambda_\max$ of the infinite-width kernel")
    kernels.set_title("which kernels are singular", fontsize=10)
    for ax in axes:
        legend_below(ax, 3)
    return figure

"""Four activations on generic, parallel and antipodal points (X7)."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata import figures as draw
from lemmata.networks.kernels import SINGULAR
from lemmata.theories.exp_regression.measures import FLOORS

PAIRS = {"generic": "generic", "parallel": r"parallel, $x_2=\rho x_1$", "antipodal": "antipodal, $x_2=-x_1$"}


def floors(data: xr.Dataset) -> Figure:
    """Final error with its closed-form floors, steps to ε, and how singular the kernel is, by data and activation."""
    figure, (ends, steps, kernels) = draw.panels(3, width=5.0, height=4.3)
    least = (data.limit_least / data.limit_largest).clip(1e-18)
    shown = (
        (ends, data.final_square.clip(1e-34), "final error", r"final $\|e\|^2$"),
        (steps, data.reached_step, "training time", r"steps to $\|e\|^2\leq\varepsilon$"),
        (kernels, least, "which kernels are singular", r"$\lambda/\lambda_\max$ of the infinite-width kernel"),
    )
    for ax, values, *_ in shown:
        draw.groups(ax, values, "pair", "activation", words=PAIRS, middle="median", markersize=4)
    names, words = draw.labels_of(data, "activation"), "closed-form floor (singular kernel)"
    for i, pair in enumerate(draw.labels_of(data, "pair")):
        for name, shift in zip(names, draw.dodge(len(names)), strict=True):
            if (pair, name) in FLOORS:
                floor = FLOORS[pair, name]
                draw.corrected(ends, floor, words, at=i + shift, half=0.1)
                ends.text(i + shift, 2 * floor, f"{floor:.3f}", ha="center", fontsize=7.5)
                words = None
    draw.predicted(kernels, SINGULAR, "singular below")
    for ax, _, title, quantity in shown:
        draw.log_y(ax)
        draw.finish(ax, title, quantity, "data", legend=3)
    return figure

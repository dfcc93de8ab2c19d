"""How far the weights move, by width and output scale (X3)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, RED, legend_below, log_y, panels
from lemmata.lab.measures import at_end
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import coloured, over, positive

SCALES = {"one": "1", "inv_sqrt_m": "1/$√m$"}


STATISTICS = {"max": RED, "mean": BLUE, "median": GREEN}


def drift(data: xr.Dataset) -> Figure:
    """How far the weights move over the width, beside the paper's D, for both output scales; the lazy prediction."""
    outputs = [str(label) for label in data.scale.values]
    figure, axes = panels(len(outputs) + 1, width=4.7, height=4.4)
    m = data.neurons.values
    end = at_end(data.drift)
    for ax, output in zip(axes, outputs, strict=False):
        part = data.sel(scale=output)
        for name, color in STATISTICS.items():
            values = part.largest_drift if name == "max" else end.sel(scale=output, statistic=name)
            geometric = np.exp(np.log(positive(values)).mean("seed")).transpose("neurons").values
            over(ax, m, values, "neurons", f"{name}{common.slope_words(values, 'neurons')}", color, geometric)
        bound = positive(part.largest_drift / part.drift_ratio)
        D = np.exp(np.log(bound).mean("seed")).transpose("neurons")
        common.predicted(ax, m, D, rf"paper: $D${common.slope_words(bound, 'neurons')}")
        common.width_axis(ax, m)
        log_y(ax)
        ax.set_ylabel(r"$\|w_r(t)-w_r(0)\|$ over the neurons $r$")
        ax.set_title(rf"$\kappa$ = {SCALES[output]}: drift", fontsize=10)
    last = axes[-1]
    for output, color in coloured(outputs):
        values = data.lazy_error.sel(scale=output)
        geometric = np.exp(np.log(positive(values)).mean("seed")).transpose("neurons").values
        words = rf"$\kappa$ = {SCALES[output]}{common.slope_words(values, 'neurons')}"
        over(last, m, values, "neurons", words, color, geometric)
    start = positive(data.lazy_error.isel(neurons=0, scale=0).values)
    if np.isfinite(start).any():
        common.predicted(
            last, m, np.nanmedian(start) * m[0] / m, rf"reference, $\kappa$ = {SCALES[outputs[0]]}: $m^{{-1}}$"
        )
    common.faint(last, 0.02, r"claimed for $\kappa$ = 1, $m$ = 128: below 2 %")
    common.width_axis(last, m)
    log_y(last)
    last.set_ylabel("relative Frobenius error")
    last.set_title("lazy prediction of the final weights", fontsize=10)
    for ax in axes:
        legend_below(ax)
    return figure

"""How far the weights move, by width and output scale (X3)."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw

SCALES = {"one": "1", "inv_sqrt_m": "1/√m"}


def by_width(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """How far the weights move over the width, beside the paper's D, for both output scales; the lazy prediction."""
    scales = data.scale.values
    figure, axes = draw.panels(len(scales) + 1, width=4.8, height=4.4)
    m = data.neurons.values
    for ax, scale in zip(axes, scales, strict=False):
        part = data.sel(scale=scale)
        values = draw.positive(lm.at_end(part.drift))
        for i, statistic in enumerate(values.statistic.values):
            rows = values.sel(statistic=statistic)
            words = f"{statistic}: exponent {draw.stated(lm.log_slopes(rows, 'neurons'))}"
            kind = draw.look(i)
            draw.curves(ax, rows, "neurons", label=words, color=kind.color, middle="geometric", marker=kind.marker)
        D = draw.positive(part.largest_drift / part.drift_ratio)
        words = f"paper: $D$, exponent {draw.stated(lm.log_slopes(D, 'neurons'))}"
        draw.predicted(ax, D.median("seed"), words, x=m)
        draw.finish(ax, rf"drift, $\kappa$ = {SCALES[str(scale)]}", r"$\|w_r(t)-w_r(0)\|$ over the neurons $r$")
    lazy = draw.positive(data.lazy_error)
    last = axes[-1]
    for i, scale in enumerate(scales):
        rows, kind = lazy.sel(scale=scale), draw.look(i)
        words = rf"$\kappa$ = {SCALES[str(scale)]}: exponent {draw.stated(lm.log_slopes(rows, 'neurons'))}"
        draw.curves(last, rows, "neurons", label=words, color=kind.color, middle="geometric", marker=kind.marker)
    draw.claimed(last, claims["q15-lazy-drift"], words=r"claimed, $\kappa$ = 1, $m$ = 128")
    draw.finish(last, "lazy prediction of the final weights", "relative Frobenius error")
    for ax in axes:
        draw.numbers(ax, m)
        draw.log_y(ax)
        draw.finish(ax, x="width $m$", legend=1)
    return figure

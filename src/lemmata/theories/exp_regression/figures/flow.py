"""One point against gradient flow in closed form (Q21)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, ORANGE, PREDICTED, RED, legend_below, log_y, panels
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import positive, seeds_at


def flow(data: xr.Dataset) -> Figure:
    """Where descent on one point ends against gradient flow, over the step constant, and the line it moves on."""
    figure, (left, right) = panels(2, height=4.2)
    cases = [str(case) for case in data.variant.values]
    single = [case for case in cases if case.startswith("c=")]
    constants = (data.rate * data.start_largest).mean("seed")
    if single:
        c = constants.sel(variant=single).values
        order = np.argsort(c)
        chosen = data.flow_error.sel(variant=[single[k] for k in order])
        c = c[order]
        for formula, color in (("exact", BLUE), ("a_r dropped", ORANGE)):
            values = chosen.sel(formula=formula)
            words = "closed form" if formula == "exact" else "control: $a_r$ dropped"
            common.over(left, c, values, "variant", words, color)
        most = positive(chosen.sel(formula="exact").isel(variant=-1).values)
        if np.isfinite(most).any():
            common.predicted(left, c, np.nanmedian(most) * c / c[-1], r"reference: $\propto c$")
        common.number_axis(left, c.round(9), r"step constant $c=m\eta\lambda_\max(H(0))$")
    common.faint(left, 1e-6, "claimed at $c=10^{-3}$: at most $10^{-6}$")
    log_y(left)
    left.set_xlabel(r"step constant $c=m\eta\lambda_\max(H(0))$")
    left.set_ylabel(r"largest error of $\langle w_r,x\rangle$ at the end")
    left.set_title("end of descent against gradient flow", fontsize=10)
    for i, case in enumerate(cases):
        color = BLUE if case in single else RED
        label = {single[0] if single else None: "one point", next(iter(set(cases) - set(single)), ""): "control"}.get(
            case
        )
        seeds_at(right, i, data.flow_across.sel(variant=case).clip(common.TINY), color, label)
    right.axhline(1e-12, label="exact: 0 (claimed: at most $10^{-12}$)", **PREDICTED)
    common.names_axis(right, [case.replace("c=", "$c$ = ") for case in cases])
    log_y(right)
    right.set_ylabel("largest part of a path orthogonal to $x$")
    right.set_title("weights move along the point", fontsize=10)
    for ax in (left, right):
        legend_below(ax, 2)
    return figure

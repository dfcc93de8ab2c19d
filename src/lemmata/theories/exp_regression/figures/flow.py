"""One point against gradient flow in closed form (Q21)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.exp_regression.figures.stability import CONSTANT


def one_point(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Where descent on one point ends against gradient flow, over the step constant, and the line it moves on."""
    figure, (left, right) = draw.panels(2, height=4.2)
    single = data.isel(variant=np.flatnonzero(data.samples == 1)).swap_dims(variant="step_constant")
    errors = draw.positive(single.flow_error)
    if errors.size:
        named = errors.assign_coords(formula=["closed form", "control: sign dropped"])
        draw.curves(left, named, "step_constant", "formula", middle="median")
    c, exact = errors.step_constant.values, errors.sel(formula="exact").transpose("seed", "step_constant").values
    draw.law(left, c, exact, c, r"exact: $\propto c$", **draw.CORRECTED)
    draw.claimed(left, claims["q21-limit"], words="claimed at $c=10^{-3}$")
    draw.numbers(left, c)
    draw.log_y(left)
    quantity = r"largest error of $\langle w_r,x\rangle$ at the end"
    draw.finish(left, "end of descent against gradient flow", quantity, CONSTANT)
    across = data.flow_across.clip(1e-18)
    draw.groups(right, across, "variant", label="seeds and median (two points: control)", middle="median")
    draw.claimed(right, claims["q21-line"], words="claimed, one point (exact: 0)")
    draw.log_y(right)
    draw.finish(right, "weights move along the point", "largest part of a path orthogonal to $x$", legend=1)
    return figure

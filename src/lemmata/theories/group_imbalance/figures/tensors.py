"""Figures of the tensor start (C.1) and its moments, and Table 4.1."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw


def feasible(data: xr.Dataset) -> Figure:
    """The feasible panel of Figure C.1: relative error of the start against the number of samples."""
    figure, axes = draw.panels(data.sizes["inputs"])
    n = data.samples.values.astype(float)
    for ax, name in zip(axes, data.inputs.values, strict=True):
        runs = data.sel(inputs=name)
        draw.curves(ax, runs.relative_error, "samples", "magnitudes", "{} magnitudes", middle="median")
        draw.curves(
            ax, runs.subspace_error, "samples", label="subspace error", color=draw.GREEN, middle="median", spread=""
        )
        draw.law(
            ax, n, runs.relative_error.sel(magnitudes="corrected").median("seed").values, n**-0.5, "paper: $n^{-1/2}$"
        )
        draw.log_x(ax)
        draw.log_y(ax)
        draw.finish(ax, f"tensor start, {name}", "error", "samples $n$")
    return figure


def document(data: xr.Dataset) -> Figure:
    """The paper's panel: what the start knows."""
    figure, (left, right) = draw.panels(2)
    parts = {
        "corrected": data.relative_error.sel(magnitudes="corrected"),
        "literal": data.relative_error.sel(magnitudes="literal"),
        "subspace": data.subspace_error,
    }
    for place, values in enumerate(parts.values()):
        draw.strip(left, place, values, draw.PALETTE[place])
    draw.predicted(left, 0.65, "paper: relative error 0.65")
    draw.names(left, ["error,\ncorrected", "error,\nliteral", "subspace\nerror"])
    left.set(yscale="log")
    draw.finish(left, "Figure C.1, the paper's signal", "error")
    draw.strip(right, 0, data.signal, draw.BLUE)
    draw.predicted(right, 1.0, "signal = noise")
    draw.names(right, [r"$\|Q_2\|/\|\hat{Q}_2-Q_2\|$"])
    right.set(yscale="log")
    draw.finish(right, "signal-to-noise ratio", "ratio")
    return figure


def moments(data: xr.Dataset) -> Figure:
    """Row 31: errors of the moments against the number of samples, with true and with wrong scores."""
    figure, axes = draw.panels(data.sizes["inputs"])
    n = data.samples.values.astype(float)
    for ax, name in zip(axes, data.inputs.values, strict=True):
        errors = data.moment_error.sel(inputs=name)
        for i, moment in enumerate(data.moment.values):
            part = errors.sel(moment=moment)
            if bool(part.isnull().all()):
                continue
            color = draw.PALETTE[i]
            draw.curves(
                ax, part.sel(scores="true"), "samples", label=f"{moment}", color=color, middle="median", spread=""
            )
            wrong = part.sel(scores="wrong").median("seed").values
            ax.plot(n, wrong, ":", color=color, label=f"{moment}, wrong scores")
        draw.law(ax, n, errors.sel(moment="first", scores="true").median("seed").values, n**-0.5, "paper: $n^{-1/2}$")
        draw.log_x(ax)
        draw.log_y(ax)
        draw.finish(ax, f"moments, {name}", "median error", "samples $n$")
    return figure


PRINTED = {
    "small covariance": ("-3", "3", "", "", ""),
    "large covariance": ("3", "-1", "1/2", "1", "1"),
    "mean": ("4 to 12", "-2 at most", "1 at most", "2 at most", "2 at most"),
    "fraction, smallest covariance": ("falls", "rises", "falls", "falls", "falls"),
    "fraction, largest covariance": ("rises", "falls", "rises", "rises", "rises"),
}
"""What Table 4.1 says of samples, rate, error, average and group risk."""


def table(data: xr.Dataset) -> lm.Table:
    """Table 4.1: local exponents of the bounds, exact and measured, medians over W*, beside what is printed."""
    middle = data.exponent.median("seed")
    rows = []
    for change in data.change.values:
        for i, quantity in enumerate(data.quantity.values):
            numbers = [
                float(middle.sel(change=change, quantity=quantity, source=source)) for source in data.source.values
            ]
            rows.append(
                [str(change), str(quantity), PRINTED[str(change)][i] or "constant", *np.round(numbers, 3).tolist()]
            )
    columns = ("change", "quantity", "Table 4.1", "bound (τ = 1)", "exact", "measured")
    return lm.Table("Table 4.1: local exponents along each change, medians over the draws of W*", columns, rows)

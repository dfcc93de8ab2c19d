"""Figures of the tensor start (C.1) and its moments, and Table 4.1."""

from typing import Any

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.group_imbalance.figures import log_log

MOMENTS = {"first": "$Q_1$", "second": "$Q_2$", "contracted": r"$Q_3(I,I,\alpha)$", "projected": "$R_3$"}


def feasible(data: xr.Dataset) -> Figure:
    """The feasible panel of Figure C.1: relative error of the start against the number of samples."""
    figure, axes = draw.panels(data.sizes["inputs"])
    n, plain = data.samples.values.astype(float), {"color": draw.GREEN, "middle": "median", "spread": ""}
    for ax, name in zip(axes, data.inputs.values, strict=True):
        runs = data.sel(inputs=name)
        draw.curves(ax, runs.relative_error, "samples", "magnitudes", "{} magnitudes", middle="median")
        draw.curves(ax, runs.subspace_error, "samples", label=r"subspace, $\|\hat U\hat U^\top-UU^\top\|$", **plain)
        corrected = runs.relative_error.sel(magnitudes="corrected").median("seed").values
        draw.law(ax, n, corrected, n**-0.5, "paper: $n^{-1/2}$")
        log_log(ax, f"tensor start, {name}", r"$\|W_0-W^*\|_F/\|W^*\|_F$", "samples $n$")
    return figure


def document(data: xr.Dataset) -> Figure:
    """The paper's panel: what the start knows."""
    figure, (left, right) = draw.panels(2)
    corrected, literal = (data.relative_error.sel(magnitudes=each) for each in ("corrected", "literal"))
    for place, values in enumerate((corrected, literal, data.subspace_error)):
        draw.strip(left, place, values, draw.PALETTE[place])
    draw.predicted(left, 0.65, "paper: relative error 0.65")
    draw.names(left, ["relative error,\ncorrected", "relative error,\nliteral", "subspace\nerror"])
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
        for (moment, symbol), color in zip(MOMENTS.items(), draw.PALETTE, strict=False):
            part = errors.sel(moment=moment)
            if bool(part.isnull().all()):
                continue
            true, how = part.sel(scores="true"), {"color": color, "middle": "median", "spread": ""}
            draw.curves(ax, true, "samples", label=symbol, **how)
            wrong = part.sel(scores="wrong").median("seed").values
            ax.plot(n, wrong, ":", color=color, label=f"{symbol}, scores of a wrong mixture")
        draw.law(ax, n, errors.sel(moment="first", scores="true").median("seed").values, n**-0.5, "paper: $n^{-1/2}$")
        log_log(ax, f"moments, {name}", r"$\|\hat{Q}-Q\|$ (median)", "samples $n$")
    return figure


def scale_paths(data: xr.Dataset) -> Figure:
    """Row 31: error over bound as W* shrinks, and errors as the inputs grow and W* shrinks with them."""
    figure, (left, right) = draw.panels(2)
    errors = data.moment_error.sel(scores="true")
    known: dict[str, Any] = {"middle": "median", "spread": ""}
    flat: dict[str, int] = {"second": -2, "projected": -2}
    steep: dict[str, int] = {"first": -1, "second": -2, "projected": -3}
    shown = (left, "truth", errors / data.moment_bound, flat), (right, "inputs", errors, steep)
    for ax, moves, values, powers in shown:
        runs = values.sel(path=[label for label in data.path.values if str(label).startswith(moves)])
        x = (runs.truth_scale / 2 if moves == "truth" else runs.first_scale).values.astype(float)
        for (moment, symbol), color in zip(MOMENTS.items(), draw.PALETTE, strict=False):
            if moment == "contracted":
                continue
            part = runs.sel(moment=moment)
            draw.curves(ax, part, "path", label=symbol, x=x, color=color, **known)
            if power := powers.get(moment):
                draw.law(ax, x, part.median("seed").values, x**power, f"{symbol}, slope {power}", color=color)
    log_log(left, "row 31: W* shrinks", "error / bound (median)", r"$c$, ground truth $cW^*$")
    log_log(right, "row 31: inputs grow", r"$\|\hat{Q}-Q\|$ (median)", r"$s$, inputs $sx$, ground truth $W^*/s$")
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
    middle = data.exponent.median("seed").round(3).transpose("change", "quantity", "source")
    rows = [
        [str(change), str(quantity), printed or "constant", *numbers]
        for change, part in zip(data.change.values, middle.values.tolist(), strict=True)
        for quantity, printed, numbers in zip(data.quantity.values, PRINTED[str(change)], part, strict=True)
    ]
    columns = ("change", "quantity", "Table 4.1", "bound (τ = 1)", "exact", "measured")
    return lm.Table("Table 4.1: local exponents along each change, medians over the draws of W*", columns, rows)

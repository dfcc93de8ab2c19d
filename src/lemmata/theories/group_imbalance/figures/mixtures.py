"""Figures of mixtures: success maps (4.2, 4.3), spectra (4.4 b, 4.5 a), lemmas, the tensor start (C.1), Table 4.1."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.group_imbalance.figures import log_log
from lemmata.theories.group_imbalance.figures.limits import THIN
from lemmata.theories.group_imbalance.measures import half, ranked

MOMENTS = {"first": "$Q_1$", "second": "$Q_2$", "contracted": r"$Q_3(I,I,\alpha)$", "projected": "$R_3$"}
COLORS = dict(zip(MOMENTS, draw.PALETTE, strict=False))


def success_map(data: xr.Dataset) -> Figure:
    """Figure 4.2: success over dimension and samples, by Newton's method and by 50 gradient steps."""
    figure, axes = draw.panels(data.sizes["optimiser"])
    for ax, optimiser in zip(axes, data.optimiser.values, strict=True):
        draw.success_map(ax, data.success.sel(optimiser=optimiser), "dimension", "samples_per_dimension")
        title = "Newton" if optimiser == "newton" else "50 steps of descent (control)"
        draw.finish(ax, f"Figure 4.2, {title}", "samples per dimension $n/d$", "dimension $d$", legend=0)
    return figure


def thresholds(data: xr.Dataset, along: str, words: str, title: str) -> Figure:
    """Figure 4.3: the success map, and n_50 beside the exact tr F⁻¹."""
    figure, (left, right) = draw.panels(2)
    draw.success_map(left, data.success, along, "samples")
    draw.finish(left, title, "samples $n$", words, legend=0)
    found = [half(data.sel({along: value})) for value in data[along].values]
    counts = [ranked(each, data.samples.values) for each in found]
    places = np.arange(data.sizes[along])
    right.plot(places, counts, "o-", color=draw.BLUE, label="$n_{50}$, measured")
    for place, count, each in zip(places, counts, found, strict=True):
        if each.censored:
            right.annotate(f"{each.censored} the grid", (place, count), (0, 6), textcoords="offset points", fontsize=8)
    trace = data.inverse_trace.isel(samples=0).median("seed").values
    right.plot(places, trace, "s--", color=draw.ORANGE, label=r"$\mathrm{tr}F^{-1}$, exact (median)")
    draw.names(right, [draw.word(value) for value in data[along].values])
    right.set(yscale="log")
    draw.finish(right, "samples needed", "samples $n$", words)
    return figure


along_mean = partial(thresholds, along="mean_norm", words="$\\|\\mu_1\\|$", title="Figure 4.3 (a)")
_SCALE = "scale $\\sigma_1$ of the first group"
along_covariance = partial(thresholds, along="first_scale", words=_SCALE, title="Figure 4.3 (b)")


def covariance(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Figure 4.4 (b), exact: the rate by the paper's step and by the Hessian's, against the covariance."""
    figure, (ax,) = draw.panels(1)
    theory, best = (
        r"$\lambda_{\min}/M_2$ (the paper's step)",
        r"$\lambda_{\min}/\lambda_{\max}$ (step $1/\lambda_{\max}$)",
    )
    draw.curves(ax, data.least / data.second_moment, "scale", label=theory, **THIN)
    draw.curves(ax, data.least / data.largest, "scale", label=best, color=draw.ORANGE, **THIN)
    draw.claimed(ax, claims["f44b-peak"], "place", words="claimed peak", across=True)
    log_log(ax, "Figure 4.4 (b), exact information", "rate of the slowest direction, median", r"scale $\sigma$")
    return figure


def width(data: xr.Dataset) -> Figure:
    """Figure 4.5 (a): the rate against the number of neurons."""
    figure, (left, right) = draw.panels(2)
    ratio, K = data.least / data.largest, data.neurons.values.astype(float)
    draw.curves(left, ratio, "neurons", label="exact", middle="median")
    draw.law(left, K, ratio.median("seed").values, K**-2, "paper: $K^{-2}$")
    log_log(left, "Figure 4.5 (a)", r"$\lambda_{\min}/\lambda_{\max}(F)$", "neurons $K$")
    draw.curves(right, 1 - ratio, "neurons", label="exact", x=-1 / K**2, middle="median")
    draw.finish(right, "as the paper plots it", "$v$", "$-1/K^2$")
    return figure


def convexity(data: xr.Dataset) -> Figure:
    """Row 23: the curvature at W* over its lower and its upper bound."""
    figure, axes = draw.panels(2)
    lower, upper = r"4h/K^2", r"\lambda_{\max}(E\,xx^\top)/4K"
    for ax, which, over, bound in zip(axes, ("least", "largest"), ("lower", "upper"), (lower, upper), strict=True):
        draw.groups(ax, data[which] / data[over], "case", middle="median")
        draw.predicted(ax, 1.0, f"{over} bound ${bound}$")
        draw.finish(
            ax, f"{which} curvature over its bound", f"{which} eigenvalue of $F$ / (${bound}$)", "random problems"
        )
    axes[0].set(yscale="log")
    return figure


def concentration(data: xr.Dataset) -> Figure:
    """Rows 26, 27: errors of Hessian and gradient against the number of samples."""
    figure, axes = draw.panels(2)
    n = data.samples.values.astype(float)
    shown = (
        ("truth", "none", "at $W^*$", draw.PALETTE[0]),
        ("away", "none", "at distance 0.5 of it", draw.PALETTE[1]),
        ("truth", "repeated", "500 samples repeated", draw.GREY),
    )
    for ax, name, symbol in zip(axes, ("Hessian", "gradient"), (r"\nabla^2", r"\nabla"), strict=True):
        errors = data[f"{name.lower()}_error"]
        for place, defect, words, color in shown:
            draw.curves(ax, errors.sel(place=place, defect=defect), "samples", label=words, color=color, **THIN)
        intact = errors.sel(place="truth", defect="none").median("seed").values
        draw.law(ax, n, intact, np.sqrt(np.log(n) / n), r"paper: $\sqrt{\log n/n}$")
        log_log(ax, f"error of the {name}", rf"$\|{symbol} f_n-{symbol}\bar f\|$ (median)")
    return figure


def feasible(data: xr.Dataset) -> Figure:
    """The feasible panel of Figure C.1: relative error of the start against the number of samples."""
    figure, axes = draw.panels(data.sizes["inputs"])
    n, subspace = data.samples.values.astype(float), r"subspace, $\|\hat U\hat U^\top-UU^\top\|$"
    for ax, name in zip(axes, data.inputs.values, strict=True):
        runs = data.sel(inputs=name)
        draw.curves(ax, runs.relative_error, "samples", "magnitudes", "{} magnitudes", middle="median")
        draw.curves(ax, runs.subspace_error, "samples", label=subspace, color=draw.GREEN, **THIN)
        corrected = runs.relative_error.sel(magnitudes="corrected").median("seed").values
        draw.law(ax, n, corrected, n**-0.5, "paper: $n^{-1/2}$")
        log_log(ax, f"tensor start, {name}", r"$\|W_0-W^*\|_F/\|W^*\|_F$")
    return figure


def document(data: xr.Dataset) -> Figure:
    """The paper's panel: what the start knows."""
    figure, (left, right) = draw.panels(2)
    shown = {f"relative error,\n{each}": data.relative_error.sel(magnitudes=each) for each in data.magnitudes.values}
    for place, values in enumerate((*shown.values(), data.subspace_error)):
        draw.strip(left, place, values, draw.PALETTE[place])
    draw.predicted(left, 0.65, "paper: relative error 0.65")
    draw.names(left, [*shown, "subspace\nerror"])
    draw.strip(right, 0, data.signal, draw.BLUE)
    draw.predicted(right, 1.0, "signal = noise")
    draw.names(right, [r"$\|Q_2\|/\|\hat{Q}_2-Q_2\|$"])
    for ax, title, y in ((left, "Figure C.1, the paper's signal", "error"), (right, "signal-to-noise ratio", "ratio")):
        ax.set(yscale="log")
        draw.finish(ax, title, y)
    return figure


def moments(data: xr.Dataset) -> Figure:
    """Row 31: errors of the moments against the number of samples, with true and with wrong scores."""
    figure, axes = draw.panels(data.sizes["inputs"])
    n = data.samples.values.astype(float)
    for ax, name in zip(axes, data.inputs.values, strict=True):
        errors = data.moment_error.sel(inputs=name).dropna("moment", how="all")
        for moment in errors.moment.values:
            symbol, part, color = MOMENTS[moment], errors.sel(moment=moment), COLORS[moment]
            draw.curves(ax, part.sel(scores="true"), "samples", label=symbol, color=color, **THIN)
            wrong = part.sel(scores="wrong").median("seed").values
            ax.plot(n, wrong, ":", color=color, label=f"{symbol}, scores of a wrong mixture")
        draw.law(ax, n, errors.sel(moment="first", scores="true").median("seed").values, n**-0.5, "paper: $n^{-1/2}$")
        log_log(ax, f"moments, {name}", r"$\|\hat{Q}-Q\|$ (median)")
    return figure


def scale_paths(data: xr.Dataset) -> Figure:
    """Row 31: error over bound as W* shrinks, and errors as the inputs grow and W* shrinks with them."""
    figure, axes = draw.panels(2)
    errors = data.moment_error.sel(scores="true").dropna("moment", how="all")
    shown = (
        ("truth", errors / data.moment_bound, (0, -2, -2), "error / bound (median)", r"$c$, ground truth $cW^*$"),
        ("inputs", errors, (-1, -2, -3), r"$\|\hat{Q}-Q\|$ (median)", r"$s$, inputs $sx$, ground truth $W^*/s$"),
    )
    for ax, (moves, values, powers, y, words) in zip(axes, shown, strict=True):
        runs = values.sel(path=[label for label in data.path.values if str(label).startswith(moves)])
        x = (runs.truth_scale / 2 if moves == "truth" else runs.first_scale).values.astype(float)
        for moment, power in zip(errors.moment.values, powers, strict=True):
            symbol, part, color = MOMENTS[moment], runs.sel(moment=moment), COLORS[moment]
            draw.curves(ax, part, "path", label=symbol, x=x, color=color, **THIN)
            if power:
                draw.law(ax, x, part.median("seed").values, x**power, f"{symbol}, slope {power}", color=color)
        log_log(ax, f"row 31: {'W* shrinks' if moves == 'truth' else 'inputs grow'}", y, words)
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

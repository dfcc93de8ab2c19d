"""Figures of mixtures: success maps (4.2, 4.3), spectra (4.4 b, 4.5 a), the lemmas on curvature and concentration."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.group_imbalance.figures import log_log
from lemmata.theories.group_imbalance.measures import half, ranked


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
    for below, words, color in (
        (data.second_moment, r"$\lambda_{\min}/M_2$ (the paper's step)", draw.BLUE),
        (data.largest, r"$\lambda_{\min}/\lambda_{\max}$ (step $1/\lambda_{\max}$)", draw.ORANGE),
    ):
        draw.curves(ax, data.least / below, "scale", label=words, color=color, middle="median", spread="")
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
    figure, (left, right) = draw.panels(2)
    draw.groups(left, data.least / data.lower, "case", middle="median")
    draw.predicted(left, 1.0, "lower bound $4h/K^2$")
    left.set(yscale="log")
    draw.finish(left, "least curvature over its bound", r"$\lambda_{\min}(F)K^2/4h$", "random problems")
    draw.groups(right, data.largest / data.upper, "case", middle="median")
    draw.predicted(right, 1.0, r"upper bound $\lambda_{\max}(E\,xx^\top)/4K$")
    ratio = r"$4K\lambda_{\max}(F)/\lambda_{\max}(E\,xx^\top)$"
    draw.finish(right, "largest curvature over its bound", ratio, "random problems")
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
            part = errors.sel(place=place, defect=defect)
            draw.curves(ax, part, "samples", label=words, color=color, middle="median", spread="")
        intact = errors.sel(place="truth", defect="none").median("seed").values
        draw.law(ax, n, intact, np.sqrt(np.log(n) / n), r"paper: $\sqrt{\log n/n}$")
        log_log(ax, f"error of the {name}", rf"$\|{symbol} f_n-{symbol}\bar f\|$ (median)", "samples $n$")
    return figure

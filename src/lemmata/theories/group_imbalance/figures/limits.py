"""Figures of the limit of training: estimation (4.5 b), risks (4.6, 4.7), activations and baselines.

Raw risk, noise floor and excess risk have panels of their own: the raw cross entropy moves with the floor."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.group_imbalance.figures import log_log

GROUPS = {"first": "group 1", "second": "group 2"}


def estimation(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Figure 4.5 (b): the error against √(log n/n), and n error² over tr F⁻¹."""
    figure, (left, right) = draw.panels(2)
    intact = lm.cells(data, defect="none")
    n = intact.samples.values.astype(float)
    x = np.sqrt(np.log(n) / n)
    for name, words, color in (("error", "error", draw.BLUE), ("relative_error", "relative error", draw.SKY)):
        found = intact[name].where(intact.diverged == 0, np.inf)
        draw.curves(left, found, "case", label=words, color=color, x=x, middle="median")
    expected = np.sqrt(intact.inverse_trace.median("seed").values / n)
    draw.corrected(left, expected, r"$\sqrt{\mathrm{tr}F^{-1}/n}$", x)
    log_log(left, "Figure 4.5 (b)", r"$\|\hat{W}_n-W^*\|_F$, and over $\|W^*\|_F$", r"$\sqrt{\log n/n}$")
    ratio = (intact["count"] * intact.error**2 / intact.inverse_trace).where(intact.diverged == 0)
    draw.curves(right, ratio, "case", label="measured", x=n)
    draw.claimed(right, claims["g3-estimation-constant"], words="claimed at n = 240000")
    log_log(right, "squared error over its prediction", r"$n\|\hat{W}_n-W^*\|_F^2/\mathrm{tr}F^{-1}$", "samples $n$")
    return figure


def risk(data: xr.Dataset) -> Figure:
    """Row 4: the raw risk stays at its floor, the excess falls like 1/n."""
    figure, (left, right) = draw.panels(2)
    n = data.samples.values
    draw.curves(left, data.average_raw_risk, "samples", label="raw risk")
    draw.corrected(left, data.floor.mean("group").median("seed").values, "noise floor, exact", n)
    draw.log_x(left)
    draw.finish(left, "raw risk", r"$\bar f(\hat{W}_n)$", "samples $n$")
    draw.curves(right, data.average_excess, "samples", label="excess risk", middle="geometric")
    draw.corrected(right, 15 / (2 * n), "dK/2n", n)
    draw.law(right, n, data.average_excess.values[..., 0, None], n**-0.5, "paper: order $n^{-1/2}$")
    log_log(right, "excess risk", r"$\bar f(\hat{W}_n)-\bar f(W^*)$", "samples $n$")
    return figure


def _three(axes: Any, data: xr.Dataset, along: str, x: np.ndarray, words: str) -> None:
    """Raw risk, floor and excess of both groups; draws without a finite minimum are counted and left out."""
    known = data.diverged == 0
    lost = int((~known).sum())
    left_out = f"\n({lost} of {known.size} draws without a finite minimum left out)" if lost else ""
    for i, (group, name) in enumerate(GROUPS.items()):
        runs, how = data.sel(group=group), {"color": draw.PALETTE[i], "x": x}
        raw, excess = runs.raw_risk.where(known), (2 * runs["count"] * runs.excess).where(known)
        draw.curves(axes[0], raw, along, label=name, middle="median", spread="", **how)
        draw.curves(axes[1], runs.floor, along, label=name, middle="median", spread="", **how)
        draw.curves(axes[2], excess, along, label=f"{name}, measured", spread="interval", linestyle="none", **how)
        exact = rf"{name}, exact $\mathrm{{tr}}(F_lF^{{-1}})$"
        axes[2].plot(x, runs.factor.where(known).mean("seed").values, color=how["color"], linestyle="--", label=exact)
    draw.finish(axes[0], f"raw risk (median){left_out}", r"$\bar f_l(\hat{W}_n)$", words)
    draw.finish(axes[1], "noise floor, exact (median)", r"$\bar f_l(W^*)$", words)
    axes[2].set(yscale="log")
    draw.finish(axes[2], f"excess risk times 2n (mean){left_out}", r"$2n(\bar f_l(\hat{W}_n)-\bar f_l(W^*))$", words)


def sweep(data: xr.Dataset, along: str, words: str) -> Figure:
    """Figures 4.6 (a) and 4.7: risks against the covariance or the fraction of the second group."""
    figure, axes = draw.panels(3)
    _three(axes, data, along, data[along].values.astype(float), words)
    for ax in axes if along == "second_scale" else ():
        draw.numbers(ax, data[along].values)
    return figure


covariance = partial(sweep, along="second_scale", words="minority scale $\\sigma_2$")
fraction = partial(sweep, along="fraction", words="minority fraction $\\lambda_2$")


def paths(data: xr.Dataset) -> Figure:
    """Figure 4.6 (b): risks along -(2+s)1, and the exact predictor along both readings of the axis."""
    figure, axes = draw.panels(4, rows=2)
    away = data.sel(path=draw.present(data, "path", [f"away {s}" for s in (0, 1, 2)]))
    _three(axes, away, "path", -2 - away.second_mean.values, "$s$, mean $-(2+s)\\mathbf{1}$")
    literal = data.sel(path=draw.present(data, "path", [f"literal {s}" for s in range(6)]))
    factor, how = literal.factor.sel(group="second"), {"color": draw.PALETTE[1], "middle": "median"}
    draw.curves(axes[3], factor, "path", label="group 2, exact", x=literal.second_mean.values + 2, **how)
    draw.corrected(axes[3], 15.0, "dK")
    axes[3].set(yscale="log")
    draw.finish(
        axes[3], "exact predictor, literal axis", r"$\mathrm{tr}(F_2F^{-1})$", "scalar, mean (scalar - 2)$\\mathbf{1}$"
    )
    return figure


def components(data: xr.Dataset) -> Figure:
    """EM: errors of the estimated mixture against the number of samples."""
    figure, (left, right) = draw.panels(2)
    n = data.samples.values.astype(float)
    draw.curves(left, data.error, "samples", "components", "components: {}", middle="median")
    for words, power, label in (("true number", -1 / 2, "$n^{-1/2}$"), ("one too many", -1 / 4, "$n^{-1/4}$")):
        rows = data.error.sel(components=words).median("seed").values
        draw.law(left, n, rows, n**power, f"paper: {label}", linestyle=":" if power > -0.5 else "--")
    log_log(left, "largest error of a matched component", "error (median)", "samples $n$")
    draw.curves(right, data.density_error, "samples", "components", "components: {}", middle="median")
    log_log(right, "estimated density", r"$\mathrm{KL}(p\,\|\,\hat p)$ (median)", "samples $n$")
    return figure

"""Figures of training and its limit: descent (Theorem 2, 4.4, C.1), estimation (4.5 b), risks (4.6, 4.7), EM.

Raw risk, noise floor and excess risk have panels of their own: the raw cross entropy moves with the floor."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.group_imbalance.figures import log_log
from lemmata.theories.group_imbalance.measures import rates

DISTANCE = r"$\|W_t-\hat{W}_n\|_F$"
DISTANCES = r"$\|\hat{W}_n-W^*\|_F$, and over $\|W^*\|_F$"
GROUPS = {"first": "group 1", "second": "group 2"}
THIN: dict[str, Any] = {"middle": "median", "spread": ""}
"""A line through the medians alone."""


def _distances(ax: Axes, data: xr.Dataset, by: str, label: str, title: str) -> None:
    """The distance from the minimum along training."""
    draw.paths(ax, data, "limit_distance", by, label)
    ax.set(yscale="log")
    draw.finish(ax, title, DISTANCE, "step $t$")


def descent(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Distance from the minimum, and the fitted rate beside its prediction."""
    figure, (left, right) = draw.panels(2)
    runs = data.sel(case=draw.present(data, "case", ["random", "slowest", "zero mean"]))
    _distances(left, runs, "case", "{}", "distance from the minimum")
    shown = lm.cells(data, case="slowest")
    rate = rates(shown).rate / shown.step_used
    draw.strip(right, 0, rate / shown.rate_least, draw.BLUE, "least eigenvalue")
    draw.strip(right, 1, rate / shown.rate_second, draw.ORANGE, "second eigenvalue (control)")
    draw.claimed(right, claims["g1-rate"])
    draw.names(right, ["least", "second"], "eigenvalue in the prediction")
    draw.finish(right, "fitted rate over its prediction", r"$(1-\hat{v})/(\eta_0\lambda)$")
    return figure


def noise(data: xr.Dataset) -> Figure:
    """The shift of the limit beside its prediction and its bound."""
    figure, (ax,) = draw.panels(1)
    for i, label in enumerate(data.noise.values):
        runs, kind = data.sel(noise=label), draw.look(i)
        predicted = runs.predicted_shift.where(runs.noise_law != "fresh", runs.noise_level * runs.noise_radius)
        words = rf"{runs.noise_law.item()}, $\xi$ = {runs.noise_level.item():g}"
        ax.plot(predicted, lm.at_end(runs.limit_distance), kind.marker, color=kind.color, label=words)
    ends = np.array([1e-4, 1.0])
    draw.predicted(ax, ends, r"shift = $\|\nabla^2f_n^{-1}\bar\nu\|$", ends)
    log_log(ax, "shift of the limit by gradient noise", r"$\|W_T-\hat{W}_n\|_F$", "predicted shift (fresh: noise size)")
    return figure


def means(data: xr.Dataset) -> Figure:
    """Figure 4.4 (a): straight lines, slower for means further out."""
    figure, (left, right) = draw.panels(2)
    _distances(left, data, "mean", "C = {}", "Figure 4.4 (a)")
    draw.curves(right, rates(data).rate, "mean", label="fitted", middle="geometric")
    how = {"color": draw.ORANGE, "middle": "geometric", "spread": "", "linestyle": "--"}
    draw.curves(right, data.step_used * data.rate_least, "mean", label=r"$\eta_0\lambda_{\min}$", **how)
    right.set(yscale="log")
    draw.finish(right, "rate", r"$1-\hat{v}$", "$C$, means $\\pm C\\mathbf{1}$")
    return figure


def scales(data: xr.Dataset) -> Figure:
    """Figure 4.4 (b), one draw: gradient descent at several covariances by two step rules."""
    figure, axes = draw.panels(data.sizes["step_rule"])
    said = {"theory": "the paper's step", "hessian": r"step $1/\lambda_{\max}$ at the start"}
    for ax, rule in zip(axes, data.step_rule.values, strict=True):
        _distances(ax, data.sel(step_rule=rule), "scale", "σ = {}", f"Figure 4.4 (b), {said[str(rule)]}")
    return figure


def starts(data: xr.Dataset) -> Figure:
    """Figure C.1: gradient descent from the tensor start, from nearby and from far away."""
    figure, (left, right) = draw.panels(2)
    _distances(left, data, "start", "{}", "Figure C.1")
    draw.paths(right, data, "train_loss", "start")
    draw.finish(right, "empirical risk", "$f_n$", "step $t$")
    return figure


def estimation(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Figure 4.5 (b): the error against √(log n/n), and n error² over tr F⁻¹."""
    figure, (left, right) = draw.panels(2)
    intact = lm.cells(data, defect="none")
    n = intact.samples.values.astype(float)
    x = np.sqrt(np.log(n) / n)
    for name, color in (("error", draw.BLUE), ("relative_error", draw.SKY)):
        found = intact[name].where(intact.diverged == 0, np.inf)
        draw.curves(left, found, "case", label=draw.word(name), color=color, x=x, middle="median")
    draw.corrected(left, np.sqrt(intact.inverse_trace.median("seed") / n), r"$\sqrt{\mathrm{tr}F^{-1}/n}$", x)
    log_log(left, "Figure 4.5 (b)", DISTANCES, r"$\sqrt{\log n/n}$")
    ratio = (intact["count"] * intact.error**2 / intact.inverse_trace).where(intact.diverged == 0)
    draw.curves(right, ratio, "case", label="measured", x=n)
    draw.claimed(right, claims["g3-estimation-constant"], words="claimed at n = 240000")
    log_log(right, "squared error over its prediction", r"$n\|\hat{W}_n-W^*\|_F^2/\mathrm{tr}F^{-1}$")
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
    log_log(right, "excess risk", r"$\bar f(\hat{W}_n)-\bar f(W^*)$")
    return figure


def _three(axes: Any, data: xr.Dataset, along: str, x: np.ndarray, words: str) -> None:
    """Raw risk, floor and excess of both groups; draws without a finite minimum are counted and left out."""
    known = data.diverged == 0
    lost = int((~known).sum())
    left_out = f"\n({lost} of {known.size} draws without a finite minimum left out)" if lost else ""
    for i, (group, name) in enumerate(GROUPS.items()):
        runs, how = data.sel(group=group), {"color": draw.PALETTE[i], "x": x}
        excess = (2 * runs["count"] * runs.excess).where(known)
        draw.curves(axes[0], runs.raw_risk.where(known), along, label=name, **THIN, **how)
        draw.curves(axes[1], runs.floor, along, label=name, **THIN, **how)
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
    away, literal = (
        data.sel(path=[name for name in data.path.values if str(name).startswith(word)]) for word in ("away", "literal")
    )
    _three(axes, away, "path", -2 - away.second_mean.values, "$s$, mean $-(2+s)\\mathbf{1}$")
    factor, x = literal.factor.sel(group="second"), literal.second_mean.values + 2
    draw.curves(axes[3], factor, "path", label="group 2, exact", x=x, color=draw.PALETTE[1], middle="median")
    draw.corrected(axes[3], 15.0, "dK")
    axes[3].set(yscale="log")
    words = "scalar, mean (scalar - 2)$\\mathbf{1}$"
    draw.finish(axes[3], "exact predictor, literal axis", r"$\mathrm{tr}(F_2F^{-1})$", words)
    return figure


def components(data: xr.Dataset) -> Figure:
    """EM: errors of the estimated mixture against the number of samples."""
    figure, (left, right) = draw.panels(2)
    n = data.samples.values.astype(float)
    for ax, values in ((left, data.error), (right, data.density_error)):
        draw.curves(ax, values, "samples", "components", "components: {}", middle="median")
    for words, power, style in (("true number", 2, "--"), ("one too many", 4, ":")):
        rows = data.error.sel(components=words).median("seed").values
        draw.law(left, n, rows, n ** (-1 / power), f"paper: $n^{{-1/{power}}}$", linestyle=style)
    log_log(left, "largest error of a matched component", "error (median)")
    log_log(right, "estimated density", r"$\mathrm{KL}(p\,\|\,\hat p)$ (median)")
    return figure

"""Figures of gradient descent: rates and noise (Theorem 2), means and covariances (4.4), starts (C.1)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.group_imbalance.figures import log_log
from lemmata.theories.group_imbalance.measures import rates

DISTANCE = r"$\|W_t-\hat{W}_n\|_F$"


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
        shift = lm.at_end(runs.limit_distance)
        ax.plot(predicted, shift, kind.marker, color=kind.color, label=rf"{runs.noise_law.item()}, $\xi$ = "
                f"{runs.noise_level.item():g}")  # fmt: skip
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

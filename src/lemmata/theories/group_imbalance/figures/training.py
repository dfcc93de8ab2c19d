"""Figures of gradient descent: rates and noise (Theorem 2), means and covariances (4.4), starts (C.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.group_imbalance.measures import rates

DISTANCE = r"$\|W_t-\hat{W}_n\|_F$"


def descent(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Distance from the minimum, and the fitted rate beside its prediction."""
    figure, (left, right) = draw.panels(2)
    runs = data.sel(case=draw.present(data, "case", ["random", "slowest", "zero mean"]))
    draw.paths(left, runs, "limit_distance", "case")
    left.set(yscale="log")
    draw.finish(left, "distance from the minimum", DISTANCE, "step $t$")
    shown = lm.cells(data, case="slowest")
    ratio = rates(shown).rate / (shown.step_used * shown.rate_least)
    draw.strip(right, 0, ratio, draw.BLUE, "least eigenvalue")
    second = rates(shown).rate / (shown.step_used * shown.rate_second)
    draw.strip(right, 1, second, draw.ORANGE, "second eigenvalue (control)")
    draw.claimed(right, claims["g1-rate"])
    draw.names(right, ["least", "second"], "eigenvalue in the prediction")
    draw.finish(right, "fitted rate over its prediction", r"$(1-\hat{v})/(\eta_0\lambda)$")
    return figure


def noise(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The shift of the limit beside its prediction and its bound."""
    figure, (ax,) = draw.panels(1)
    for i, label in enumerate(data.noise.values):
        runs = data.sel(noise=label)
        kind = draw.look(i)
        predicted = runs.predicted_shift.where(runs.noise_law != "fresh", runs.noise_level * runs.noise_radius)
        ax.plot(predicted, lm.at_end(runs.limit_distance), kind.marker, color=kind.color, label=str(label))
    ends = np.array([1e-4, 1.0])
    draw.predicted(ax, ends, r"shift = $\|\nabla^2f_n^{-1}\bar\nu\|$", ends)
    draw.log_x(ax)
    draw.log_y(ax)
    draw.finish(
        ax, "shift of the limit by gradient noise", r"$\|W_T-\hat{W}_n\|_F$", "predicted shift (fresh: noise size)"
    )
    return figure


def means(data: xr.Dataset) -> Figure:
    """Figure 4.4 (a): straight lines, slower for means further out."""
    figure, (left, right) = draw.panels(2)
    draw.paths(left, data, "limit_distance", "mean", "C = {}")
    left.set(yscale="log")
    draw.finish(left, "Figure 4.4 (a)", DISTANCE, "step $t$")
    draw.curves(right, rates(data).rate, "mean", label="fitted", middle="geometric")
    draw.curves(
        right, data.step_used * data.rate_least, "mean", label=r"$\eta_0\lambda_{\min}$", color=draw.ORANGE,
        middle="geometric", spread="", linestyle="--",
    )  # fmt: skip
    right.set(yscale="log")
    draw.finish(right, "rate", r"$1-\hat{v}$", "$C$, means $\\pm C\\mathbf{1}$")
    return figure


def scales(data: xr.Dataset) -> Figure:
    """Figure 4.4 (b), one draw: gradient descent at several covariances by two step rules."""
    figure, axes = draw.panels(data.sizes["step_rule"])
    for ax, rule in zip(axes, data.step_rule.values, strict=True):
        draw.paths(ax, data.sel(step_rule=rule), "limit_distance", "scale", "σ = {}")
        ax.set(yscale="log")
        draw.finish(ax, f"step by the rule {rule}", DISTANCE, "step $t$")
    return figure


def starts(data: xr.Dataset) -> Figure:
    """Figure C.1: gradient descent from the tensor start, from nearby and from far away."""
    figure, (left, right) = draw.panels(2)
    draw.paths(left, data, "limit_distance", "start")
    left.set(yscale="log")
    draw.finish(left, "Figure C.1", DISTANCE, "step $t$")
    draw.paths(right, data, "train_loss", "start")
    draw.finish(right, "empirical risk", "$f_n$", "step $t$")
    return figure

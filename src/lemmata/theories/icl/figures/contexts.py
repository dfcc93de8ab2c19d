"""How long prompts must be: in testing (P4), in training (figure E.1, left)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, ORANGE, PREDICTED, colour, dodge, legend_below, log_numbers, log_times, panels
from lemmata.lab.fits import power_law
from lemmata.lab.intervals import CannotFit
from lemmata.theories.icl.bounds import no_match_probability
from lemmata.theories.icl.figures import (
    ATTENTION,
    CLAIM,
    along,
    chosen,
    claim,
    error_scale,
    legend,
    predict,
    runs,
    signed,
)
from lemmata.theories.icl.measures import NEVER, by_length, crossing, required_length
from lemmata.theories.icl.setting import REACHED

LENGTH = r"contexts of a testing prompt $l_{ts}$"
BUDGETS = {"short": r"$\delta$=0.2, $T$=600", "long": r"$\delta$=0.1, $m$=100, $T$=1500"}
FEWEST = 50
"""Prompts without a match that a cell must have, all seeds together, for its error to be shown."""


def contexts(data: xr.Dataset) -> Figure:
    """Error by length beside [π/2, π], trained and frozen; α' = 1; with and without a match; exact prompts; length."""
    figure, axes = panels(6, rows=2, width=5.6, height=4.3)
    iid, exact = (chosen(data, "test_mode", mode) for mode in ("iid", "exact"))
    below = data.test_fraction.values < 1
    mixed = iid.isel(test_fraction=below if below.any() else [0])
    trained = chosen(mixed, "attention", "trained")
    for ax, kind in zip(axes, ("trained", "frozen"), strict=False):
        part = chosen(mixed, "attention", kind)
        _bands(ax, part)
        ax.set_title(f"error by length: {ATTENTION[str(part.attention.values)][0]}")
    _pure(axes[2], iid.isel(test_fraction=-1))
    _matches(axes[3], trained)
    _exact(axes[4], chosen(exact, "test_fraction", 0.2))
    _needed(axes[5], trained)
    for ax in axes[:5]:
        log_numbers(ax, data.test_contexts.values, LENGTH)
    for ax in axes:
        ax.title.set_fontsize(10)
        legend_below(ax)
    return figure


def _by_length(ax: Axes, values: xr.DataArray, label: str, color: str) -> None:
    along(ax, values.test_contexts.values, values, label, color)


def _curve(lengths: xr.DataArray) -> np.ndarray:
    """Lengths between the smallest and the largest, for a law."""
    return np.geomspace(lengths.min(), lengths.max(), 60)


def _bands(ax: Axes, data: xr.Dataset) -> None:
    grid = _curve(data.test_contexts)
    for i, alpha in enumerate(data.test_fraction.values):
        _by_length(ax, data.unseen_error.sel(test_fraction=alpha), rf"$\alpha'$ = {alpha:g}", colour(i))
        top = no_match_probability(alpha, grid)
        words = r"predicted: $[\pi/2,\pi]$, $\pi=(1-\alpha'/2)^l$" if i == 0 else None
        ax.fill_between(grid, top / 2, top, color=colour(i), alpha=0.15, linewidth=0)
        ax.plot(grid, top / 2, label=words, **PREDICTED)
        ax.plot(grid, top, **PREDICTED)
    error_scale(ax)
    ax.set_ylabel("sign error, unseen tasks")


def _pure(ax: Axes, data: xr.Dataset) -> None:
    """α' = 1: without a match all contexts carry the wrong label."""
    alpha = float(data.test_fraction)
    for kind in map(str, data.attention.values):
        _by_length(ax, data.unseen_error.sel(attention=kind), *ATTENTION[kind])
    grid = _curve(data.test_contexts)
    ax.plot(grid, no_match_probability(alpha, grid), label="predicted: $2^{-l}$", **PREDICTED)
    error_scale(ax)
    ax.set_ylabel("sign error, unseen tasks")
    ax.set_title(rf"only decisive contexts, $\alpha'$ = {alpha:g}")


def _matches(ax: Axes, data: xr.Dataset) -> None:
    """Errors given a match and given none, all seeds together."""
    lengths = data.test_contexts.values
    missing = data.unseen_no_match
    given = data.unseen_error_match.weighted((1 - missing).fillna(0)).mean("seed")
    absent = data.unseen_error_no_match.weighted(missing.fillna(0)).mean("seed")
    absent = absent.where((missing * data.prompts).sum("seed") >= FEWEST)
    for i, alpha in enumerate(data.test_fraction.values):
        words = rf"no match, $\alpha'$ = {alpha:g}"
        ax.plot(lengths, absent.sel(test_fraction=alpha), "o-", color=colour(i), markersize=4, label=words)
        words = rf"match, $\alpha'$ = {alpha:g}"
        ax.plot(lengths, given.sel(test_fraction=alpha), "s:", color=colour(i), markersize=4, label=words)
    predict(ax, 0.5, "predicted without a match: in [0.5, 1]")
    ax.axhspan(0.5, 1.0, color="black", alpha=0.06, linewidth=0)
    claim(ax, 0.005, r"claimed with a match: $\leq$ 0.005")
    error_scale(ax)
    ax.set_ylabel("sign error of such prompts, seeds pooled")
    ax.set_title("with and without a context of the query's pattern")


def _exact(ax: Axes, data: xr.Dataset) -> None:
    for kind in map(str, data.attention.values):
        _by_length(ax, data.unseen_error.sel(attention=kind), *ATTENTION[kind])
    predict(ax, 0.005, r"predicted: about 0 at every length (claimed: $\leq$ 0.005)")
    error_scale(ax)
    ax.set_ylabel("sign error, unseen tasks")
    ax.set_title(rf"exact prompts, $\alpha'$ = {float(data.test_fraction):g}: always a match")


def _needed(ax: Axes, data: xr.Dataset, level: float = 0.05) -> None:
    """The length at which the error falls to 0.05 by α', and the claimed exponent -1."""
    x = data.test_fraction.values
    lengths = crossing(data.unseen_error, level).transpose("seed", "test_fraction").values
    runs(ax, x, lengths, BLUE, "every seed")
    known = np.isfinite(lengths) & (lengths > 0)
    if known.any():
        scale = np.exp(np.mean(np.log((lengths * x)[known])))
        ax.plot(x, scale / x, label=r"paper: $\propto1/\alpha'$", **PREDICTED)
    else:
        ax.text(0.5, 0.5, "at no length", transform=ax.transAxes, ha="center", fontsize=9)
    try:
        fit = power_law(x, lengths)
    except CannotFit:
        pass
    else:
        low, high = (signed(end) if np.isfinite(end) else "?" for end in (fit.exponent.low, fit.exponent.high))
        label = f"fit: exponent {signed(fit.exponent.value)} [{low}, {high}]"
        ax.plot(x, fit.prefactor * x**fit.exponent.value, color=ORANGE, linewidth=1.3, label=label)
    log_numbers(ax, x, r"decisive share of testing contexts $\alpha'$")
    log_times(ax)
    ax.set_ylabel(f"length at which the error is {level:g}")
    ax.set_title("required length")


def training_contexts(data: xr.Dataset) -> Figure:
    """The hinge after a fixed number of steps by length of the training prompts, and the length that is needed."""
    figure, axes = panels(3, width=5.4, height=4.3)
    for ax, (budget, words) in zip(axes, BUDGETS.items(), strict=False):
        if budget not in _budgets(data):
            ax.set_axis_off()
            continue
        hinge = by_length(data, data.last_watch_hinge, budget)
        for i, alpha in enumerate(data.fraction.values.astype(float)):
            along(ax, hinge.length, hinge.isel(fraction=i), rf"$\alpha$ = {alpha:g}", colour(i))
        predict(ax, REACHED, f"long enough: hinge < {REACHED:g}")
        ax.set_xticks(hinge.length.values)
        ax.set_ylim(-0.05, 1.1)
        ax.set_xlabel(r"contexts of a training prompt $l_{tr}$")
        ax.set_ylabel("hinge at the end, exact prompts of unseen tasks")
        ax.set_title(f"{budget} budget: {words}", fontsize=10)
    _required(axes[2], data)
    for ax in axes:
        legend(ax)
    return figure


def _budgets(data: xr.Dataset) -> set[str]:
    """The budgets of which some length was run."""
    return {str(name).partition(", ")[0] for name in data.variant.values}


def _required(ax: Axes, data: xr.Dataset) -> None:
    """The required length of every seed against 1/α, and the line of the short budget."""
    x = 1 / data.fraction.values.astype(float)
    for budget, color, place in zip(BUDGETS, (BLUE, ORANGE), dodge(len(BUDGETS), 0.2), strict=True):
        if budget not in _budgets(data):
            continue
        rows = required_length(data, budget).transpose("seed", "fraction").values.astype(float)
        mean = rows.mean(axis=0)
        for row, aside in zip(rows, dodge(len(rows), 0.08), strict=True):
            ax.plot(x + place + aside, row, "o", color=color, alpha=0.5, markersize=5)
        how = {"linestyle": "none", "markersize": 16, "markeredgewidth": 2}
        ax.plot(x + place, mean, marker="_", color=color, label=f"{budget} budget: seeds and mean", **how)
        reached = mean < NEVER
        if budget == "short" and reached.any():
            scale = float(np.mean(mean[reached] / x[reached]))
            label = r"paper: $\propto\alpha^{-1}$ (short budget)"
            ax.plot([0, x.max()], [0, scale * x.max()], label=label, **PREDICTED)
    ax.axhline(NEVER, label=f"{NEVER}: no tried length reached it", **CLAIM)
    ax.set_xlim(0, 1.1 * x.max())
    ax.set_ylim(0, NEVER + 1)
    ax.set_xticks(x, [f"{value:.3g}" for value in x])
    ax.set_xlabel(r"$1/\alpha$")
    ax.set_ylabel(r"required $l_{tr}$")
    ax.set_title("required contexts (Figure E.1, left)", fontsize=10)

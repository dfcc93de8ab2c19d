"""Testing prompts of every length (P4)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, ORANGE, PREDICTED, colour, legend_below, log_numbers, log_times, panels
from lemmata.lab.fits import power_law
from lemmata.lab.intervals import CannotFit
from lemmata.theories.icl.bounds import no_match_probability
from lemmata.theories.icl.figures.common import ATTENTION, along, chosen, claim, error_scale, predict, runs, signed
from lemmata.theories.icl.measures import crossing

LENGTH = r"contexts of a testing prompt $l_{ts}$"
FEWEST = 50
"""Prompts without a match that a cell must have, all seeds together, for its error to be shown."""


def contexts(data: xr.Dataset) -> Figure:
    """Error by length beside [π/2, π], trained and frozen; α' = 1; with and without a match; exact prompts; length."""
    figure, axes = panels(6, rows=2, width=5.6, height=4.3)
    alphas = [str(alpha) for alpha in data.test_alpha.values]
    mixed = [alpha for alpha in alphas if float(alpha) < 1]
    trained = chosen(data, "attention", "trained")
    for ax, kind in zip(axes, ("trained", "frozen"), strict=False):
        _bands(ax, chosen(data, "attention", kind), mixed)
        ax.set_title(f"error by length: {ATTENTION[str(chosen(data, 'attention', kind).attention.values)][0]}")
    _pure(axes[2], data, alphas)
    _matches(axes[3], trained, mixed)
    _exact(axes[4], data)
    _needed(axes[5], trained, mixed)
    for ax in axes[:5]:
        log_numbers(ax, data.length.values.astype(float), LENGTH)
    for ax in axes:
        ax.title.set_fontsize(10)
        legend_below(ax)
    return figure


def _bands(ax: Axes, data: xr.Dataset, alphas: list[str]) -> None:
    lengths = data.length.values.astype(float)
    grid = np.geomspace(lengths.min(), lengths.max(), 60)
    for i, alpha in enumerate(alphas):
        along(ax, lengths, data.iid_error.sel(test_alpha=alpha), rf"$\alpha'$ = {alpha}", colour(i))
        top = no_match_probability(float(alpha), grid)
        words = r"predicted: $[\pi/2,\pi]$, $\pi=(1-\alpha'/2)^l$" if i == 0 else None
        ax.fill_between(grid, top / 2, top, color=colour(i), alpha=0.15, linewidth=0)
        ax.plot(grid, top / 2, label=words, **PREDICTED)
        ax.plot(grid, top, **PREDICTED)
    error_scale(ax)
    ax.set_ylabel("sign error, unseen tasks")


def _pure(ax: Axes, data: xr.Dataset, alphas: list[str]) -> None:
    """α' = 1: without a match all contexts carry the wrong label."""
    lengths = data.length.values.astype(float)
    for kind in map(str, data.attention.values):
        words, color = ATTENTION[kind]
        along(ax, lengths, data.sel(attention=kind).iid_error.sel(test_alpha=alphas[-1]), words, color)
    grid = np.geomspace(lengths.min(), lengths.max(), 60)
    ax.plot(grid, no_match_probability(float(alphas[-1]), grid), label="predicted: $2^{-l}$", **PREDICTED)
    error_scale(ax)
    ax.set_ylabel("sign error, unseen tasks")
    ax.set_title(rf"only decisive contexts, $\alpha'$ = {alphas[-1]}")


def _matches(ax: Axes, data: xr.Dataset, alphas: list[str]) -> None:
    """Errors given a match and given none, all seeds together."""
    lengths = data.length.values.astype(float)
    prompts = float(data.prompts.max()) if "prompts" in data else 2400.0
    missing = data.iid_no_match.sum("seed")
    given = data.iid_error_match.sum("seed") / (1 - data.iid_no_match).sum("seed")
    absent = (data.iid_error_no_match.sum("seed") / missing.where(missing > 0)).where(missing * prompts >= FEWEST)
    for i, alpha in enumerate(alphas):
        words = rf"no match, $\alpha'$ = {alpha}"
        ax.plot(lengths, absent.sel(test_alpha=alpha), "o-", color=colour(i), markersize=4, label=words)
        words = rf"match, $\alpha'$ = {alpha}"
        ax.plot(lengths, given.sel(test_alpha=alpha), "s:", color=colour(i), markersize=4, label=words)
    predict(ax, 0.5, "predicted without a match: in [0.5, 1]")
    ax.axhspan(0.5, 1.0, color="black", alpha=0.06, linewidth=0)
    claim(ax, 0.005, r"claimed with a match: $\leq$ 0.005")
    error_scale(ax)
    ax.set_ylabel("sign error of such prompts, seeds pooled")
    ax.set_title("with and without a context of the query's pattern")


def _exact(ax: Axes, data: xr.Dataset) -> None:
    lengths = data.length.values.astype(float)
    for kind in map(str, data.attention.values):
        words, color = ATTENTION[kind]
        along(ax, lengths, data.sel(attention=kind).exact_error, words, color)
    predict(ax, 0.005, r"predicted: about 0 at every length (claimed: $\leq$ 0.005)")
    error_scale(ax)
    ax.set_ylabel("sign error, unseen tasks")
    ax.set_title(r"exact prompts, $\alpha'$ = 0.2: always a match")


def _needed(ax: Axes, data: xr.Dataset, alphas: list[str], level: float = 0.05) -> None:
    """The length at which the error falls to 0.05 by α', and the claimed exponent -1."""
    x = np.array([float(alpha) for alpha in alphas])
    lengths = crossing(data.iid_error.sel(test_alpha=alphas), level).transpose("seed", "test_alpha").values
    runs(ax, x, lengths, BLUE, "every seed")
    known = np.isfinite(lengths) & (lengths > 0)
    if known.any():
        scale = np.exp(np.mean(np.log((lengths * x)[known])))
        ax.plot(x, scale / x, label=r"document: $\propto1/\alpha'$", **PREDICTED)
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

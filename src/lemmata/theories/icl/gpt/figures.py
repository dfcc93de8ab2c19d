"""Figures 6.3(A) and 6.3(B): the GPT-2-style model on shifted patterns and on prompts of other lengths."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREY, ORANGE, PALETTE, PREDICTED, curve, legend_below, panels
from lemmata.theories.icl.patterns import coefficient_sum

REPORTED = 0.01
"""The paper: the error is below this for S_1 >= 1."""


def shift(data: xr.Dataset) -> Figure:
    """Error against S_1 on both branches, one panel for each amplitude."""
    figure, axes = panels(data.sizes["odi_amplitude"], sharey=True)
    sums = np.asarray([coefficient_sum(45 - float(turn)) for turn in data.turn.values])
    for ax, amplitude in zip(axes, data.odi_amplitude.values, strict=True):
        part = data.sel(odi_amplitude=amplitude)
        for branch, color, way in (("A", BLUE, "down to -135°"), ("B", ORANGE, "up to 225°")):
            label = rf"branch {branch}: $\theta$ from 45° {way}"
            _runs(ax, part.shift_error.sel(branch=branch), sums, label, color)
            first = part.query_error.sel(branch=branch, odr_pattern="μ'_1").mean("seed")
            ax.plot(sums, first, ":", color=color, label=rf"branch {branch}, queries with $\mu'_1$ only")
        ax.plot([1, sums.max()], [REPORTED] * 2, **PREDICTED, label=rf"paper: below {REPORTED:g} for $S_1 \geq 1$")
        known = float(data.unseen_error.mean())
        ax.axhline(known, color=GREY, linestyle="-.", linewidth=1, label=f"in domain, unseen tasks: {known:.2g}")
        ax.axvspan(1, 1.05 * sums.max(), color=GREY, alpha=0.1, linewidth=0)
        _errors(ax)
        ax.set_xlim(-1.05 * sums.max(), 1.05 * sums.max())
        ax.set_xlabel(r"coefficient sum $S_1$ of $\mu'_1$")
        ax.set_title(f"out of domain, $K'$ = {amplitude}\n{_trained(data)}", fontsize=9)
        legend_below(ax, fontsize=8.5)
    axes[0].set_ylabel("classification error")
    return figure


def contexts(data: xr.Dataset) -> Figure:
    """Error against the number of contexts, in and out of domain, with the band of P4 and the best possible error."""
    figure, axes = panels(data.sizes["domain"], sharey=True)
    lengths = np.asarray([float(length) for length in data.length.values])
    fine = np.linspace(lengths.min(), lengths.max(), 100)
    for ax, domain in zip(axes, data.domain.values, strict=True):
        for alpha, color in zip(data.test_alpha.values, PALETTE, strict=False):
            absent = (1 - float(alpha) / 2) ** fine
            ax.fill_between(fine, absent / 2, absent, color=color, alpha=0.15, linewidth=0)
            chosen = data.error.sel(domain=domain, test_alpha=alpha)
            _runs(ax, chosen, lengths, rf"$\alpha'$ = {alpha}", color)
            ax.plot(fine, (1 - float(alpha)) ** fine / 2, color=color, linestyle=":", linewidth=1)
        ax.fill_between([], [], [], color=GREY, alpha=0.3, label=r"P4: $\pi/2$ to $\pi = (1-\alpha'/2)^l$")
        ax.plot([], [], color=GREY, linestyle=":", label=r"told all patterns: $(1-\alpha')^l/2$")
        _errors(ax)
        ax.set_xticks(lengths, data.length.values)
        ax.set_xlabel(r"contexts of a testing prompt $l = l_{ts}$")
        place = "in domain, unseen tasks" if domain == "in" else "out of domain, $K'$ = " + str(domain).split("=")[1]
        ax.set_title(f"{place}\n{_trained(data)}", fontsize=9)
        legend_below(ax, columns=3, fontsize=8.5)
    axes[0].set_ylabel("classification error")
    return figure


def _runs(ax: Axes, values: xr.DataArray, x: np.ndarray, label: str, color: str) -> None:
    """The mean over seeds, and a thin line for every seed: they may differ by an order of magnitude."""
    curve(ax, values, x, label, color)
    ax.plot(x, values.transpose(..., "seed").values, color=color, alpha=0.4, linewidth=0.8)


def _errors(ax: Axes) -> None:
    """Errors from 0 to 1: linear up to about what one prompt of a thousand is, logarithmic above."""
    ax.set_yscale("symlog", linthresh=0.002, linscale=0.4)
    ax.set_ylim(-0.0003, 1)
    ticks = (0, 0.002, 0.01, 0.03, 0.1, 0.3, 1)
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()


def _trained(data: xr.Dataset) -> str:
    """How far training got."""
    steps, hinge = float(data.last_step.max()), float(data.seen_hinge.mean())
    return f"{steps:g} steps, {data.sizes['seed']} seeds, hinge on seen tasks {hinge:.2g}"

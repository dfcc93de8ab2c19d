"""What training needs: neurons (P1), iterations by η, ε_0 and δ (P2) and by γ_d (P8), a sampler that prefers (P6)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PREDICTED,
    RED,
    from_zero,
    labels_of,
    log_numbers,
    log_times,
    panels,
    present,
)
from lemmata.lab.fits import line
from lemmata.lab.intervals import CannotFit
from lemmata.theories.graph_transformer.figures.common import (
    CORRECTED,
    centres,
    claim,
    end_words,
    fitted,
    law,
    legend,
    predict,
    runs,
)
from lemmata.theories.graph_transformer.studies.sampler import preferred_ratio
from lemmata.theories.graph_transformer.training import TIGHT, TRAINED

LEARNED = 0.05
"""Sampled test loss that counts as learned."""
COMMON = "eta=0.2"
"""The cell that the three axes of p2-step share: ε_0 = 0 and δ = .2."""
SWEEPS: tuple[tuple[str, Callable[[float], float], float, str, str, float], ...] = (
    ("eta", lambda v: v, 0.2, r"step size $\eta$", r"\eta", -1.0),
    ("eps_0", lambda v: 1 - 2 * v, 0.0, r"$1-2\epsilon_0$, label noise $\epsilon_0$", r"(1-2\epsilon_0)", -1.0),
    ("delta", lambda v: 1 - v, 0.2, r"$1-\delta$, initial error $\delta$", r"(1-\delta)", 0.0),
)
"""Name, x, value in the common cell, words, formula, and the exponent without the slips of (3.8)."""
MODELS = {
    "GT core": ("GT on the core", BLUE),
    "GT+PE": ("GT with encoding", GREEN),
    "GCN core": ("GCN on the core", ORANGE),
}


def width(data: xr.Dataset) -> Figure:
    """Test loss of every seed by width, and how many of them succeed."""
    figure, (left, right) = panels(2, height=4.2)
    m = data.neurons.values.astype(float)
    loss = data.final_loss.transpose("seed", "neurons").values
    runs(left, m, loss, BLUE, "every seed")
    left.plot(m, np.median(loss, axis=0), color=BLUE, linewidth=1.2, label="median")
    claim(left, LEARNED, f"success: loss below {LEARNED:g}")
    log_times(left)
    left.set_ylabel(f"test loss (hinge, sampled) {end_words(data)}")
    left.set_title("test loss by width")
    known = np.isfinite(loss)
    share = np.where(
        known.any(axis=0), (known & (loss < LEARNED)).sum(axis=0) / np.maximum(known.sum(axis=0), 1), np.nan
    )
    right.plot(m, share, "o-", color=BLUE, label=f"seeds with loss below {LEARNED:g}")
    predict(right, 1.0, r"paper: all, for $m\geq C\,M^2\log N$")
    right.set_ylim(-0.05, 1.08)
    right.set_ylabel(f"share of {loss.shape[0]} seeds that succeed")
    right.set_title("success by width")
    for ax in (left, right):
        log_numbers(ax, m, "neurons $m$")
        legend(ax)
    return figure


def steps(data: xr.Dataset) -> Figure:
    """T against η, 1 - 2 ε_0 and 1 - δ with the printed exponent -1/2, the corrected one and the measured one."""
    figure, axes = panels(3, width=3.55, height=4.6)
    for ax, (name, place, common, words, formula, corrected) in zip(axes, SWEEPS, strict=True):
        cells = {
            place(float(case.split("=")[1])): case for case in labels_of(data, "variant") if case.startswith(f"{name}=")
        }
        if COMMON in labels_of(data, "variant"):
            cells[place(common)] = COMMON
        if not cells:
            ax.set_axis_off()
            continue
        x = np.array(sorted(cells))
        times = data.trained_step.sel(variant=[cells[value] for value in x]).transpose("seed", "variant").values
        runs(ax, x, times, BLUE, "every seed")
        middle = centres(times)
        law(ax, x, middle, x**-0.5, rf"paper: $\propto{formula}^{{-1/2}}$")
        better = rf"corrected: $\propto{formula}^{{-1}}$" if corrected else r"corrected: no change with $\delta$"
        law(ax, x, middle, x**corrected, better, **CORRECTED)
        fitted(ax, x, times, BLUE)
        log_numbers(ax, x, words)
        log_times(ax)
        legend(ax, 1)
    axes[0].set_ylabel(rf"steps $T$ to clean training loss < {TRAINED:g}")
    return figure


def gcn_iterations(data: xr.Dataset) -> Figure:
    """T of a GCN against γ_d^-2 for both tolerances: the reported line, and the measured power."""
    figure, (left, right) = panels(2, height=4.4)
    gamma = data.discriminative.values.astype(float)
    x = gamma**-2.0
    for name, words, color in (
        ("reached_step", f"loss < {LEARNED:g}", BLUE), ("tight_step", f"loss < {TIGHT:g}", GREEN),
    ):  # fmt: skip
        times = data[name].transpose("seed", "discriminative").values
        runs(left, x, times, color, f"{words}, every seed")
        _straight(left, x, times, words, color)
        runs(right, gamma, times, color, f"{words}, every seed")
        fitted(right, gamma, times, color)
        words = r"paper: $\propto\gamma_d^{-2}$" if name == "reached_step" else "_"
        law(right, gamma, centres(times), gamma**-2.0, words)
    left.set_xlabel(rf"$\gamma_d^{{-2}}$ ($\gamma_d$ from {gamma.max():g} to {gamma.min():g})")
    from_zero(left)
    left.set_title("GCN on the core: reported as a line (Figure 3.7)", fontsize=10)
    right.set_title("the same as a power of $\\gamma_d$", fontsize=10)
    log_numbers(right, gamma, r"discriminative fraction $\gamma_d$")
    log_times(right)
    for ax in (left, right):
        ax.set_ylabel("steps $T$ to the test loss")
        legend(ax)
    return figure


def _straight(ax: Axes, x: np.ndarray, times: np.ndarray, words: str, color: str) -> None:
    try:
        fit = line(x, times)
    except CannotFit:
        return
    grid = np.array([x.min(), x.max()])
    label = f"paper: a line ({words}: $R^2$ = {fit.r_squared:.3f})"
    ax.plot(grid, fit.intercept.value + fit.slope.value * grid, "--", color=color, linewidth=1, label=label)


def iterations(data: xr.Dataset) -> Figure:
    """T of graph transformer and GCN by γ_d with the claimed powers 0 and -2, and how many times more a GCN needs."""
    figure, (left, right) = panels(2, height=4.6)
    gamma = data.discriminative.values.astype(float)
    found = present(data, "variant", list(MODELS))
    times = {name: data.reached_step.sel(variant=name).transpose("seed", "discriminative").values for name in found}
    for name, rows in times.items():
        words, color = MODELS[name]
        runs(left, gamma, rows, color, words)
        fitted(left, gamma, rows, color)
        power = -2.0 if name.startswith("GCN") else 0.0
        formula = r"\gamma_d^{-2}" if power else r"\gamma_d^0"
        law(left, gamma, centres(rows), gamma**power, rf"paper: $\propto{formula}$", color=color)
    log_numbers(left, gamma, r"discriminative fraction $\gamma_d$")
    log_times(left)
    left.set_ylabel(f"steps $T$ to test loss < {LEARNED:g}")
    left.set_title("iterations", fontsize=10)
    if {"GT core", "GCN core"} <= set(times):
        _ratios(right, gamma, times["GCN core"], times["GT core"])
    log_numbers(right, gamma, r"discriminative fraction $\gamma_d$")
    right.set_ylabel("$T$ of the GCN / $T$ of the GT, both on the core")
    right.set_title("how much longer a GCN takes", fontsize=10)
    for ax in (left, right):
        legend(ax)
    return figure


def _ratios(ax: Axes, gamma: np.ndarray, above: np.ndarray, below: np.ndarray) -> None:
    """Ratios of paired runs; one that only the GT finishes has no end."""
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(below), above / below, np.nan)
    runs(ax, gamma, ratio, RED, "every seed")
    middle = centres(ratio)
    ax.plot(gamma, middle, color=RED, linewidth=1.3, label="geometric mean")
    law(ax, gamma, middle, gamma**-2.0, r"paper: $\propto\gamma_d^{-2}$")
    claim(ax, 1.5, r"claimed at the smallest $\gamma_d$: above 1.5")
    ax.axhline(1, color=GREY, linewidth=0.8)
    from_zero(ax)


CONFUSION = 0.2
"""ε_S of the graph on which samplers are compared."""
APART = ", apart"


def sampler(data: xr.Dataset) -> Figure:
    """The confusion ratio by preference β beside the formula, and the iterations."""
    figure, (left, right) = panels(2, height=4.4)
    cells = {case: float(Fraction(case.removesuffix(APART).split("=")[1])) for case in labels_of(data, "variant")}
    plain = sorted((case for case in cells if not case.endswith(APART)), key=lambda case: cells[case])
    groups = [(plain, BLUE, "with replacement, every seed", "o")]
    groups.append(([case for case in cells if case.endswith(APART)], ORANGE, "without replacement, every seed", "s"))
    ratios = data.node_ratio.copy(data=np.where(np.isfinite(data.node_ratio), data.node_ratio, np.nan))
    ratios = ratios.mean("watched")
    for cases, color, words, marker in groups:
        if not cases:
            continue
        x = np.array([cells[case] for case in cases])
        runs(left, x, ratios.sel(variant=cases).transpose("seed", "variant").values, color, words, marker=marker)
        runs(
            right,
            x,
            data.reached_step.sel(variant=cases).transpose("seed", "variant").values,
            color,
            words,
            marker=marker,
        )
    beta = np.array(sorted(set(cells.values())))
    grid = np.geomspace(beta.min(), beta.max(), 60)
    formula = r"exact: $\epsilon_S/(\epsilon_S+\beta(1-\epsilon_S))$, $\epsilon_S$ = " + f"{CONFUSION:g}"
    left.plot(grid, [preferred_ratio(CONFUSION, value) for value in grid], label=formula, **PREDICTED)
    left.set_ylabel(r"confusion ratio $\epsilon_S'$, mean over nodes")
    left.set_ylim(bottom=0)
    left.set_title("what a sampler draws", fontsize=10)
    right.set_ylabel("steps $T$ to test loss < 0.05")
    right.set_title(r"paper: fewer iterations as $\beta$ grows", fontsize=10)
    if np.isfinite(right.dataLim.y1):
        right.set_ylim(0, 1.2 * right.dataLim.y1)
    else:
        right.set_yticks([])
    for ax in (left, right):
        log_numbers(ax, beta, r"weight $\beta$ of class-relevant nodes")
        legend(ax, 1)
    return figure

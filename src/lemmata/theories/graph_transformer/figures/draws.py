"""What samples and batches show: the oracle sampler (P6), batch gradients (P16), samples of the whole graph (P19)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREY, ORANGE, PREDICTED, colour, labels_of, log_numbers, panels, strip
from lemmata.theories.graph_transformer.confusion import preferred_ratio
from lemmata.theories.graph_transformer.deviations import LIMIT
from lemmata.theories.graph_transformer.figures.common import between, law, legend, mean_of, names, runs

CONFUSION = 0.2
"""ε_S of the graph on which samplers are compared."""
APART = ", apart"
PARTS = {"W_O": "$W_O$", "W_V": "$W_V$", "W_K": "$W_K$", "W_Q": "$W_Q$", "b": "$b$"}
MOMENTS = {"start": "before training", "later": "after training"}


def sampler(data: xr.Dataset) -> Figure:
    """The confusion ratio by preference β beside the formula, and the iterations."""
    figure, (left, right) = panels(2, height=4.4)
    cells = {case: float(Fraction(case.removesuffix(APART).split("=")[1])) for case in labels_of(data, "case")}
    plain = sorted((case for case in cells if not case.endswith(APART)), key=lambda case: cells[case])
    groups = [(plain, BLUE, "with replacement, every seed", "o")]
    groups.append(([case for case in cells if case.endswith(APART)], ORANGE, "without replacement, every seed", "s"))
    ratios = data.node_ratio.copy(data=np.where(np.isfinite(data.node_ratio), data.node_ratio, np.nan))
    ratios = ratios.mean("watched")
    for cases, color, words, marker in groups:
        if not cases:
            continue
        x = np.array([cells[case] for case in cases])
        runs(left, x, ratios.sel(case=cases).transpose("seed", "case").values, color, words, marker=marker)
        runs(right, x, data.reached_step.sel(case=cases).transpose("seed", "case").values, color, words, marker=marker)
    beta = np.array(sorted(set(cells.values())))
    grid = np.geomspace(beta.min(), beta.max(), 60)
    formula = r"exact: $\epsilon_S/(\epsilon_S+\beta(1-\epsilon_S))$, $\epsilon_S$ = " + f"{CONFUSION:g}"
    left.plot(grid, [preferred_ratio(CONFUSION, value) for value in grid], label=formula, **PREDICTED)
    left.set_ylabel(r"confusion ratio $\epsilon_S'$, mean over nodes")
    left.set_ylim(bottom=0)
    left.set_title("what a sampler draws", fontsize=10)
    right.set_ylabel("steps $T$ to test loss < 0.05")
    right.set_title(r"document: fewer iterations as $\beta$ grows", fontsize=10)
    if np.isfinite(right.dataLim.y1):
        right.set_ylim(0, 1.2 * right.dataLim.y1)
    else:
        right.set_yticks([])
    for ax in (left, right):
        log_numbers(ax, beta, r"weight $\beta$ of class-relevant nodes")
        legend(ax, 1)
    return figure


def batches(data: xr.Dataset) -> Figure:
    """Mean relative deviation of a batch gradient with its B^(-1/2), and how often it exceeds ε beside e^{-B ε²}."""
    moments = labels_of(data, "moment")
    figure, axes = panels(2 * len(moments), rows=2, height=4.0)
    size = np.array([float(value) for value in data["size"].values])
    for i, moment in enumerate(moments):
        part = data.sel(moment=moment)
        _deviations(axes[i], part, size)
        axes[i].set_title(f"deviation of a batch gradient, {MOMENTS.get(moment, moment)}", fontsize=10)
        _tails(axes[len(moments) + i], part, size)
        axes[len(moments) + i].set_title(rf"how often it exceeds $\epsilon$ = {LIMIT:g}", fontsize=10)
    for ax in axes:
        log_numbers(ax, size, "batch size $B$")
        legend(ax, 3)
    return figure


def _deviations(ax: Axes, part: xr.Dataset, size: np.ndarray) -> None:
    for i, name in enumerate(labels_of(part, "part")):
        values = part.deviation.sel(part=name).transpose("seed", "size")
        runs(ax, size, values.values, colour(i), None)
        ax.plot(size, mean_of(values), color=colour(i), linewidth=1.3, label=PARTS.get(name, name))
        law(ax, size, mean_of(values), size**-0.5, r"document: $\propto B^{-1/2}$" if i == 0 else "_")
    copies = part.copies.isel(part=0).transpose("seed", "size")
    words = f"{PARTS.get(str(part.part.values[0]), '')}: $B$ copies of one node"
    ax.plot(size, mean_of(copies), color=GREY, linestyle=":", label=words)
    ax.set_yscale("log")
    ax.set_ylabel("mean relative deviation")


def _tails(ax: Axes, part: xr.Dataset, size: np.ndarray) -> None:
    least = 1e-3
    for i, name in enumerate(labels_of(part, "part")):
        values = part.exceeds.sel(part=name).transpose("seed", "size")
        runs(ax, size, values.values, colour(i), None)
        ax.plot(size, mean_of(values), color=colour(i), linewidth=1.3, label=PARTS.get(name, name))
    grid = np.geomspace(size.min(), size.max(), 60)
    ax.plot(grid, np.exp(-grid * LIMIT**2), label=r"document: at most $e^{-B\epsilon^2}$", **PREDICTED)
    ax.set_yscale("symlog", linthresh=least, linscale=0.4)
    ax.set_ylim(-0.2 * least, 1.5)
    ax.set_yticks([0, 1e-3, 1e-2, 0.1, 1], ["0", "0.001", "0.01", "0.1", "1"])
    ax.set_ylabel(rf"share of batches beyond $\epsilon$ = {LIMIT:g}")


def sampling(data: xr.Dataset) -> Figure:
    """The share of (node, pattern, distance) outside the interval of (B.182), beside Hoeffding's 2/|S|²."""
    figure, (ax,) = panels(1, width=6.6, height=4.2)
    cases = labels_of(data, "case")
    for i, case in enumerate(cases):
        where, size = case.rsplit(", ", 1)
        color = BLUE if where == "whole" else ORANGE
        label = None if i and cases[i - 1].startswith(where) else f"{_WHERE.get(where, where)}, every seed"
        strip(ax, i, data.violating_share.sel(case=case), color, label)
        between(ax, i, 2 / float(size) ** 2, "document: at most $2/|S|^2$" if i == 0 else None)
    ax.set_yscale("symlog", linthresh=1e-4, linscale=0.5)
    ax.set_ylim(-2e-5, 1)
    ax.set_yticks([0, 1e-4, 1e-3, 1e-2, 0.1, 1], ["0", "0.0001", "0.001", "0.01", "0.1", "1"])
    names(ax, [f"{case.split(', ')[0]}\n$|S|$ = {case.split(', ')[1]}" for case in cases])
    ax.set_ylabel(r"share outside $\pm\sqrt{\log|S|/|S|}$ of (B.182)")
    ax.set_title("samples of shells 1 and 2, every node and pattern", fontsize=10)
    legend(ax, 1)
    return figure


_WHERE = {"whole": "sample of the whole graph", "core": "sample of the core shell (control)"}

"""Graphs and samples without training: masses (P17), shares (P18), samples (P19), exchanges (P20), margins (9.5)."""

from __future__ import annotations

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
    dodge,
    labels_of,
    panels,
    strip,
)
from lemmata.lab.fits import line
from lemmata.lab.intervals import CannotFit
from lemmata.theories.graph_transformer.figures.common import (
    between,
    distances,
    legend,
    mean_of,
    names,
    predict,
    runs,
    signed,
)

CONFUSION = 0.05
"""ε_S of the default graphs."""
GRAPHS = {"ring": "ring", "chapter": "chapter's graph"}
INTRA = {0: ("as printed (no edges inside a pattern asked for)", ORANGE), -1: ("$D$ edges inside a pattern", BLUE)}


def variance(data: xr.Dataset) -> Figure:
    """The variance of the mean of p_n(0) beside the bound of (B.49), and how these means are spread."""
    figure, (left, right) = panels(2, height=4.4)
    graphs = labels_of(data, "generator")
    for i, graph in enumerate(graphs):
        part = data.sel(generator=graph)
        for name, words, color, x in (
            ("mass_mean", r"$p_n(0)$, every seed", BLUE, -0.15),
            ("coin_mean", "one common coin (control)", ORANGE, 0.15),
        ):  # fmt: skip
            spread = part[name].var("redraw", ddof=1).values
            if np.isfinite(spread).any():
                strip(left, i + x, spread, color, words, width=0.08)
        between(left, i, float(part.bound.max()), r"paper: at most $2(1+\sum_z\delta_z^2)/|L|$" if i == 0 else None)
        if not np.isfinite(part.mass_mean).any():
            left.text(i, 0.01, "the bound says\nnothing here", ha="center", va="center", fontsize=8, color=GREY)
    left.axhline(0.25, color=GREY, linewidth=1, label=r"1/4: always, since $0\leq p_n\leq1$")
    left.set_yscale("log")
    names(left, [GRAPHS.get(graph, graph) for graph in graphs])
    left.set_ylabel("variance of the mean of $p_n(0)$ over redraws")
    left.set_title("variance and bound", fontsize=10)
    _spread(right, data, graphs)
    for ax in (left, right):
        legend(ax, 1)
    return figure


def _spread(ax: Axes, data: xr.Dataset, graphs: list[str]) -> None:
    ax.set_xlabel("mean of $p_n(0)$ over all nodes")
    ax.set_ylabel("number of redraws")
    ax.set_title("means of $p_n(0)$ on the ring", fontsize=10)
    if "ring" not in graphs:
        return
    part = data.sel(generator="ring")
    values = part.mass_mean.transpose("seed", "redraw").values
    if not np.isfinite(values).any():
        return
    edges = np.linspace(np.nanmin(values), np.nanmax(values) + 1e-9, 26)
    for i, row in enumerate(values):
        ax.hist(
            row[np.isfinite(row)],
            edges,
            histtype="step",
            color=BLUE,
            alpha=0.6,
            label="every seed a line" if i == 0 else None,
        )
    middle, width = float(np.nanmean(values)), float(np.sqrt(part.bound.max()))
    for sign in (-1, 1):
        label = "paper: a standard deviation of at most this" if sign > 0 else None
        ax.axvline(middle + sign * width, label=label, **PREDICTED)


def shares(data: xr.Dataset) -> Figure:
    """The share of class-relevant neighbours by γ_d beside (1 - ε_S) γ_d, on planted blocks and the chapter's graph."""
    figure, (ax,) = panels(1, width=6.4, height=4.4)
    cases = labels_of(data, "variant")
    for graph, words, color in (("G2", "planted blocks (G2)", BLUE), ("G1", "chapter's graph (G1, control)", ORANGE)):
        mine = [case for case in cases if case.startswith(graph)]
        if not mine:
            continue
        x = np.array([float(case.split()[1]) for case in mine])
        rows = data.relevant_share.sel(variant=mine).transpose("seed", "variant").values
        runs(ax, x, rows, color, f"{words}, every seed", markersize=5)
        try:
            fit = line(x, rows, through_origin=True)
        except CannotFit:
            continue
        label = f"fit through 0: slope {fit.slope.value:.3f}, $R^2$ = {signed(fit.r_squared)}"
        ax.plot([0, x.max()], [0, fit.slope.value * x.max()], color=color, linewidth=1.1, alpha=0.8, label=label)
    ax.plot(
        [0, 1],
        [0, 1 - CONFUSION],
        label=r"paper: $(1-\epsilon_S)\,\gamma_d$, $\epsilon_S$ = " + f"{CONFUSION:g}",
        **PREDICTED,
    )
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xlabel(r"discriminative fraction $\gamma_d$")
    ax.set_ylabel("class-relevant share at distance 1")
    legend(ax)
    return figure


def exchanges(data: xr.Dataset) -> Figure:
    """(B.199) at z_m less its value at z: the smallest over nodes and patterns, and the mean, one panel a graph."""
    graphs = labels_of(data, "graph")
    figure, axes = panels(len(graphs), width=3.55, height=4.6)
    for ax, graph in zip(axes, graphs, strict=True):
        part = data.sel(graph=graph)
        used = np.abs(np.nan_to_num(part.least_exchange.values)).max(axis=0) > 0
        core = round(float(np.nanmax(part.core_distance.values))) if part.core_distance.notnull().any() else 0
        last = max(int(np.flatnonzero(used).max(initial=1)), core)
        z = np.array([value for value in range(1, last + 1) if value != core])
        for name, words, color, x in (
            ("mean_exchange", "mean over nodes and patterns", BLUE, -0.12),
            ("least_exchange", "smallest of all", ORANGE, 0.12),
        ):  # fmt: skip
            rows = part[name].transpose("seed", "bin").values[:, z]
            runs(ax, z + x, rows, color, words, markersize=5)
        predict(ax, 0.0, "paper (B.200): never negative")
        ax.axvline(core, color=GREY, linewidth=1, linestyle=":", label=f"$z_m$ = {core}")
        error = mean_of(part.marked_share_error)[1 : last + 1].max()
        ax.set_title(f"{graph}\nshares of $D_1\\cup D_2$ differ from $\\gamma_d$ by ≤ {error:.1g}", fontsize=8.5)
        distances(ax, last)
        legend(ax, 1)
    axes[0].set_ylabel("(B.199) at $z_m$ minus (B.199) at $z$")
    return figure


def literal_graph(data: xr.Dataset) -> Figure:
    """Mean margins of the chapter's graph with and without edges inside a pattern, and where they are positive."""
    figure, (left, right) = panels(2, height=4.4)
    values = [int(value) for value in data.intra_degree.values]
    last = max(
        int(np.flatnonzero(np.abs(np.nan_to_num(data.count_margin.values)).max(axis=(0, 1)) > 0).max(initial=1)), 1
    )
    z = np.arange(1, last + 1)
    for i, (value, x) in enumerate(zip(values, dodge(len(values), 0.3), strict=True)):
        words, color = INTRA.get(value, (f"{value} edges inside a pattern", GREEN))
        part = data.isel(intra_degree=i)
        runs(left, z + x, part.count_margin.transpose("seed", "bin").values[:, z], color, words, markersize=5)
        strip(right, i, part.positive_first, color, "every seed" if i == 0 else None)
    left.axhline(0, color=GREY, linewidth=0.8)
    distances(left, last)
    left.set_ylabel(r"mean winning margin $\bar\Delta(z)$ (nodes)")
    left.set_title("margins of the chapter's graph", fontsize=10)
    predict(right, 1.0, "paper (Assumption 3.4.2): all nodes")
    right.set_ylim(0, 1.08)
    names(right, [{0: "as printed", -1: "$D$ edges inside\na pattern"}.get(value, str(value)) for value in values])
    right.set_ylabel(r"share of nodes with $\Delta_n(1)>0$")
    right.set_title("is the margin at distance 1 positive?", fontsize=10)
    legend(left, 1)
    legend(right, 1)
    return figure


def sampling(data: xr.Dataset) -> Figure:
    """The share of (node, pattern, distance) outside the interval of (B.182), beside Hoeffding's 2/|S|²."""
    figure, (ax,) = panels(1, width=6.6, height=4.2)
    cases = labels_of(data, "variant")
    for i, case in enumerate(cases):
        where, size = case.rsplit(", ", 1)
        color = BLUE if where == "whole" else ORANGE
        label = None if i and cases[i - 1].startswith(where) else f"{_WHERE.get(where, where)}, every seed"
        strip(ax, i, data.violating_share.sel(variant=case), color, label)
        between(ax, i, 2 / float(size) ** 2, "paper: at most $2/|S|^2$" if i == 0 else None)
    ax.set_yscale("symlog", linthresh=1e-4, linscale=0.5)
    ax.set_ylim(-2e-5, 1)
    ax.set_yticks([0, 1e-4, 1e-3, 1e-2, 0.1, 1], ["0", "0.0001", "0.001", "0.01", "0.1", "1"])
    names(ax, [f"{case.split(', ')[0]}\n$|S|$ = {case.split(', ')[1]}" for case in cases])
    ax.set_ylabel(r"share outside $\pm\sqrt{\log|S|/|S|}$ of (B.182)")
    ax.set_title("samples of shells 1 and 2, every node and pattern", fontsize=10)
    legend(ax, 1)
    return figure


_WHERE = {"whole": "sample of the whole graph", "core": "sample of the core shell (control)"}

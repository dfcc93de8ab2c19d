"""What training needs: iterations by η, ε_0 and δ (P2) and by γ_d (P8), a sampler that prefers (P6)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.figures import straight
from lemmata.theories.graph_transformer.figures.encoding import MODELS
from lemmata.theories.graph_transformer.setting import TIGHT, TRAINED
from lemmata.theories.graph_transformer.studies.sampler import preferred_ratio

LEARNED = 0.05
"""Sampled test loss that counts as learned."""
COMMON = {"step_size": 0.2, "label_noise": 0.0, "key_error": 0.2}
"""The cell that the three axes of p2-step share."""
CONFUSION = 0.2
"""ε_S of the graph on which samplers are compared."""
GAMMA = r"discriminative fraction $\gamma_d$"
MEANS = "geometric mean, and every seed"


def steps(data: xr.Dataset) -> Figure:
    """T against η, 1 - 2 ε_0 and 1 - δ with the printed exponent -1/2, the corrected one and the measured one."""
    figure, axes = draw.panels(3, width=3.55, height=4.8)
    for ax, title, field, place, words, formula, corrected in zip(
        axes,
        ("by step size", "by label noise", "by initial error"),
        COMMON,
        (lambda v: v, lambda v: 1 - 2 * v, lambda v: 1 - v),
        (r"step size $\eta$", r"$1-2\epsilon_0$, label noise $\epsilon_0$", r"$1-\delta$, initial error $\delta$"),
        (r"\eta", r"(1-2\epsilon_0)", r"(1-\delta)"),
        (-1.0, -1.0, 0.0),
        strict=True,
    ):
        others = {name: value for name, value in COMMON.items() if name != field}
        times = lm.cells(data, **others).sortby(field).trained_step.transpose("seed", "variant")
        x = place(times[field].values)
        draw.curves(ax, times, "variant", label=MEANS, x=x, middle="geometric", linestyle="none")
        better = rf"corrected: $\propto{formula}^{{-1}}$" if corrected else r"corrected: no change with $\delta$"
        draw.law(ax, x, times, x**-0.5, rf"paper: $\propto{formula}^{{-1/2}}$")
        draw.law(ax, x, times, x**corrected, better, **draw.CORRECTED)
        draw.fit(ax, x, times.values, draw.BLUE)
        draw.numbers(ax, x, words)
        draw.log_y(ax)
        draw.finish(ax, title, rf"steps $T$ to clean training loss < {TRAINED:g}", legend=1)
    return figure


def gcn_iterations(data: xr.Dataset) -> Figure:
    """T of a GCN against γ_d^-2 for both tolerances: the reported line, and the measured power."""
    figure, (left, right) = draw.panels(2, height=4.4)
    gamma = data.discriminative.values
    x = gamma**-2.0
    tolerances = {f"loss < {LEARNED:g}": data.reached_step, f"loss < {TIGHT:g}": data.tight_step}
    times = lm.stack(tolerances, "tolerance").transpose("tolerance", "seed", "discriminative")
    draw.curves(left, times, "discriminative", "tolerance", x=x, linestyle="none")
    draw.curves(right, times, "discriminative", "tolerance", middle="geometric", linestyle="none")
    for i, rows in enumerate(times):
        straight(left, x, rows.values, draw.look(i).color)
        draw.fit(right, gamma, rows.values, draw.look(i).color)
        draw.law(right, gamma, rows, x, None if i else r"paper: $\propto\gamma_d^{-2}$")
    draw.from_zero(left)
    draw.numbers(right, gamma, GAMMA)
    draw.log_y(right)
    y = "steps $T$ of a GCN on the core"
    draw.finish(left, r"paper: a line in $\gamma_d^{-2}$ (Figure 3.7)", y, r"$\gamma_d^{-2}$")
    draw.finish(right, r"the same as a power of $\gamma_d$", y)
    return figure


def iterations(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """T of graph transformer and GCN by γ_d with the claimed powers 0 and -2, and how many times more a GCN needs."""
    figure, (left, right) = draw.panels(2, height=4.8)
    gamma = data.discriminative.values
    times = data.reached_step.transpose("variant", "seed", "discriminative")
    named = times.assign_coords(variant=[MODELS.get(label, label) for label in draw.labels_of(times, "variant")])
    draw.curves(left, named, "discriminative", "variant", middle="geometric", linestyle="none")
    for i, rows in enumerate(times):
        color, is_gcn = draw.look(i).color, str(rows.variant.values).startswith("GCN")
        power, words = (-2.0, r"paper: $\propto\gamma_d^{-2}$") if is_gcn else (0.0, "paper: no change")
        draw.fit(left, gamma, rows.values, color)
        draw.law(left, gamma, rows, gamma**power, words, color=color)
    draw.numbers(left, gamma, GAMMA)
    draw.log_y(left)
    draw.finish(left, "iterations", f"steps $T$ to test loss < {LEARNED:g}")
    fast, slow = times.sel(variant="GT core", drop=True), times.sel(variant="GCN core", drop=True)
    ratio = (slow / fast).where(np.isfinite(fast))
    draw.curves(right, ratio, "discriminative", label=MEANS, color=draw.RED, middle="geometric")
    draw.law(right, gamma, ratio, gamma**-2.0, r"paper: $\propto\gamma_d^{-2}$")
    draw.claimed(right, claims["p8-ratio-start"], words=rf"claimed at $\gamma_d$ = {gamma.min():g}")
    draw.numbers(right, gamma, GAMMA)
    draw.from_zero(right)
    draw.finish(right, "how much longer a GCN takes", "$T$ of the GCN / $T$ of the GT, both on the core")
    return figure


def sampler(data: xr.Dataset) -> Figure:
    """The confusion ratio by preference β beside the formula, and the iterations."""
    figure, (left, right) = draw.panels(2, height=4.4)
    ratios = data.node_ratio.where(np.isfinite(data.node_ratio)).mean("watched")
    for i, (law, words) in enumerate((("biased", "with replacement"), ("biased_apart", "without replacement"))):
        kind = draw.look(i)
        style = {"label": words, "color": kind.color, "marker": kind.marker, "linestyle": "none" if i else "-"}
        for ax, values in ((left, ratios), (right, data.reached_step)):
            drawn = lm.cells(values, draw=law).sortby("preference")
            draw.curves(ax, drawn, "variant", x=drawn.preference.values, **style)
    beta = np.unique(data.preference.values)
    grid = np.geomspace(beta.min(), beta.max(), 60)
    formula = rf"paper: $\epsilon_S/(\epsilon_S+\beta(1-\epsilon_S))$, $\epsilon_S$ = {CONFUSION:g}"
    draw.predicted(left, preferred_ratio(CONFUSION, grid), formula, grid)
    for ax in (left, right):
        draw.numbers(ax, beta, r"weight $\beta$ of class-relevant nodes")
        draw.from_zero(ax)
    draw.finish(left, "what a sampler draws", r"confusion ratio $\epsilon_S'$, mean over nodes", legend=1)
    draw.finish(right, r"paper: fewer iterations as $\beta$ grows", f"steps $T$ to test loss < {LEARNED:g}", legend=1)
    return figure

"""Initial projections (Q2) and outputs (Q7), and training from both initialisations (X5)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, dodge, legend_below, log_y, panels
from lemmata.lab.intervals import share_interval
from lemmata.theories.exp_regression import bounds
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import INIT_COLORS, positive, seeds_at, word

DELTA = 0.05
"""The failure probability δ of the experiments on projections."""


CONSTANTS = {1.5: ORANGE, 2.0: GREEN, 10.0: BLUE}
"""Tail constants C at which the paper's B is compared; it asks for more than 10."""


def tails(data: xr.Dataset) -> Figure:
    """The largest projection of every initial network beside B, and the share of networks beyond it."""
    figure, (left, right) = panels(2, height=4.4)
    m, n = data.neurons.values, data.sizes["point"]
    places = np.arange(len(m))
    # on unit vectors E F_i(0)²/m = e^{2σ²}
    sigma = float(np.sqrt(np.log(max(float(data.output_variance.max()), 1.0)) / 2))
    largest = data.projection.transpose("neurons", "seed").values
    for i, values in enumerate(largest):
        common.seeds_at(left, i, values, GREY, "networks and median" if i == 0 else None, 0.2, markersize=2.5)
    grid = np.geomspace(m.min(), m.max(), 50)
    wide = np.interp(np.log(grid), np.log(m), places) if len(m) > 1 else np.zeros(50)
    if len(m) == 1:
        wide, grid = np.array([-0.3, 0.3]), np.repeat(m, 2)
    limits = [(f"$C$ = {C:g}", color, {"C": C, "projection_source": "paper"}) for C, color in CONSTANTS.items()]
    limits.append(("by union bound", RED, {"projection_source": "union"}))
    for words, color, options in limits:
        B = np.broadcast_to(bounds.projection_bound(n, grid, DELTA, sigma, **options), grid.shape)
        left.plot(wide, B, color=color, linestyle="--", label=f"$B$, {words}")
        exact = np.broadcast_to(bounds.projection_bound(n, m, DELTA, sigma, **options), m.shape)
        beyond = largest > exact[:, None]
        shares = [share_interval(float(row.sum()), row.size) for row in beyond]
        value = np.array([share.value for share in shares])
        spans = np.array([(share.value - share.low, share.high - share.value) for share in shares]).T.clip(0)
        right.errorbar(
            places, value, spans, color=color, marker="o", markersize=5, capsize=3, linewidth=1.2, label=words
        )
        if "C" in options:
            promised = np.minimum(1.0, DELTA * grid / 10.0 ** float(bounds.tail_width(n, DELTA, options["C"])))
            right.plot(wide, promised, **{**PREDICTED, "color": color})
    right.axhline(DELTA, label=rf"paper: at most $\delta$ = {DELTA:g}", **PREDICTED)
    right.plot([], [], label="union bound on the share, by $C$", **{**PREDICTED, "color": GREY})
    log_y(left)
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50) if left.get_ylim()[0] < t < left.get_ylim()[1]]
    left.set_yticks(ticks, [f"{t:g}" for t in ticks])
    left.minorticks_off()
    left.set_ylabel(r"$\max_{i,r}|\langle w_r(0),x_i\rangle|$")
    left.set_title("largest projections", fontsize=10)
    right.set_ylim(-0.03, 1.05)
    right.set_ylabel("share of networks beyond $B$")
    right.set_title("how often $B$ is too small", fontsize=10)
    for ax in (left, right):
        common.names_axis(ax, [word(width) for width in m], "width $m$")
        legend_below(ax)
    return figure


def width(data: xr.Dataset) -> Figure:
    """Kernel error and least eigenvalue at the printed width, and how many draws meet the lemma."""
    figure, (left, right) = panels(2, height=4.2)
    lam = data.limit_least
    quantities = (
        (left, data.frobenius_error / lam, 0.25, r"paper: at most $\lambda/4$", lambda ratio: ratio <= 0.25),
        (right, data.kernel_least / lam, 0.75, r"paper: at least $\frac{3}{4}\lambda$", lambda ratio: ratio >= 0.75),
    )
    for ax, ratio, limit, words, met in quantities:
        names = []
        for i, sigma in enumerate(data.weight_scale.values):
            values = ratio.sel(weight_scale=sigma).values
            common.seeds_at(ax, i, positive(values), BLUE, "draws and median" if i == 0 else None, 0.25, markersize=3)
            names.append(f"$\\sigma$ = {sigma:g}\n{100 * np.mean(met(values)):.0f} % of the draws")
        ax.axhline(limit, label=words, **PREDICTED)
        common.names_axis(ax, names)
    log_y(left)
    for i, sigma in enumerate(data.weight_scale.values):
        part = data.sel(weight_scale=sigma)
        exact = float((part.predicted_error / part.limit_least).mean())
        left.plot([i - 0.4, i + 0.4], [exact] * 2, color=RED, linestyle=":", label="exact RMS" if i == 0 else None)
    left.set_ylabel(r"$\|H^\mathrm{dis}-H^\mathrm{cts}\|_F\,/\,\lambda$")
    right.set_ylabel(r"$\lambda_\min(H^\mathrm{dis})\,/\,\lambda$")
    left.set_title("kernel error", fontsize=10)
    right.set_title("least eigenvalue", fontsize=10)
    for ax in (left, right):
        legend_below(ax, 2)
    return figure


def outputs(data: xr.Dataset) -> Figure:
    """Mean square of every initial output against its closed form, and the initial error, by initialisation."""
    figure, (left, right) = panels(2, height=4.4)
    m, n = data.neurons.values, data.sizes["point"]
    places = np.arange(1, n + 1)
    inits = [str(init) for init in data.init.values]
    cells = [(width, init) for width in m for init in inits]
    for k, ((width, init), x) in enumerate(zip(cells, dodge(len(cells), 0.6), strict=True)):
        squares = (data.outputs.sel(neurons=width, init=init) ** 2 / width).transpose("seed", "point").values
        spread = 5 * squares.std(axis=0, ddof=1) / np.sqrt(len(squares)) if len(squares) > 1 else np.zeros(n)
        left.errorbar(
            places + x, squares.mean(axis=0), spread, color=INIT_COLORS.get(init, GREY), linestyle="none",
            marker="os^Dv"[(k // len(inits)) % 5], markersize=4, capsize=2, linewidth=1,
            label=f"{init}, $m$ = {width:g}",
        )  # fmt: skip
    expected = data.output_variance.isel(seed=0, neurons=0, init=0).values
    words = r"independent: $e^{2\sigma^2\|x_i\|^2}$"
    left.hlines(expected, places - 0.45, places + 0.45, color="black", linestyle="--", linewidth=1, label=words)
    left.axhline(0, label="paper, coupled: exactly 0", color="black", linewidth=1)
    left.set_ylim(-0.05 * max(left.get_ylim()[1], 0.1), max(left.get_ylim()[1], 0.1))
    left.set_xticks(places if n <= 20 else places[:: n // 10])
    left.set_xlabel("point $i$")
    left.set_ylabel(r"mean of $F_i(0)^2/m$ (bars: 5 standard errors)")
    left.set_title("initial outputs", fontsize=10)
    for init in inits:
        square = data.error_square.sel(init=init).transpose("seed", "neurons")
        color = INIT_COLORS.get(init, GREY)
        right.fill_between(m, *common.band(square), color=color, alpha=0.2, linewidth=0)
        right.plot(m, positive(square.mean("seed")), "o", color=color, label=f"{init}: mean (band: 5 % to 95 %)")
    target = float(data.target_square.mean())
    if "independent" in inits:
        words = r"exact: $\|y\|^2+m\sum_i e^{2\sigma^2\|x_i\|^2}$"
        common.predicted(right, m, target + m * expected.sum(), words)
    right.axhline(n, color="black", linestyle="-.", linewidth=1, label=f"coupled: $\\|y\\|^2\\leq n$ = {n}")
    common.width_axis(right, m)
    log_y(right)
    right.set_ylabel(r"$\|y-F(0)\|^2$")
    right.set_title("initial error", fontsize=10)
    for ax in (left, right):
        legend_below(ax)
    return figure


def initialisation(data: xr.Dataset) -> Figure:
    """Initial outputs, steps to ε and drift with coupled and with independent initialisation."""
    figure, axes = panels(4, width=4.1, height=4.2)
    output, steps, drifts, ratio = axes
    m, inits = data.neurons.values, [str(init) for init in data.init.values]
    for init, x in zip(inits, dodge(len(inits)), strict=True):
        part, color = data.sel(init=init), INIT_COLORS.get(init, GREY)
        curve = part.initial_output.transpose("seed", "neurons").values
        for row in curve:
            output.plot(m, row, ".", color=color, alpha=0.3, markersize=4)
        output.plot(m, curve.mean(axis=0), "o", color=color, label=f"{init}: seeds and mean")
        if np.isfinite(curve).all() and (curve > 0).all():
            scale = float(np.mean(curve / m))
            output.plot(m, scale * m, label=r"independent: $\propto m$", **PREDICTED)
        for i, width in enumerate(m):
            place = i + x
            cell = part.sel(neurons=width)
            seeds_at(steps, place, cell.reached_step, color, init if i == 0 else None)
            T = float(cell.predicted_steps.median())
            if np.isfinite(T):
                words = "predicted $T$ (median)" if i == 0 and init == inits[0] else None
                steps.plot([place - 0.15, place + 0.15], [T, T], label=words, **PREDICTED)
            seeds_at(drifts, place, positive(cell.largest_drift.values), color, init if i == 0 else None)
            D = float(positive(cell.largest_drift / cell.drift_ratio).median())
            if np.isfinite(D):
                words = "paper: $D$ (median)" if i == 0 and init == inits[0] else None
                drifts.plot([place - 0.15, place + 0.15], [D, D], label=words, **PREDICTED)
    output.axhline(0, color="black", linewidth=1, label="paper, coupled: 0")
    output.set_yscale("symlog", linthresh=100.0)
    output.set_ylim(bottom=-20)
    common.width_axis(output, m)
    output.set_ylabel(r"$\|F(0)\|^2$")
    output.set_title("initial outputs", fontsize=10)
    log_y(steps)
    steps.set_ylabel(r"steps to $\|e\|^2\leq\varepsilon$")
    steps.set_title("training time", fontsize=10)
    log_y(drifts)
    common.faint(drifts, 0.3, "claimed, independent: median above 0.3")
    drifts.set_ylabel(r"$\max_{r,t}\|w_r(t)-w_r(0)\|$")
    drifts.set_title(r"largest drift up to $\varepsilon$", fontsize=10)
    names = [word(width) for width in m]
    for ax in (steps, drifts, ratio):
        common.names_axis(ax, names, "width $m$")
    if {"coupled", "independent"} <= set(inits):
        drifted = positive(data.largest_drift)
        paired = (drifted.sel(init="independent") / drifted.sel(init="coupled")).transpose("neurons", "seed")
        for i, values in enumerate(paired.values):
            seeds_at(ratio, i, values, BLUE, "same seed, and median" if i == 0 else None)
    ratio.axhline(10, label=r"claimed: median above 10, $m\geq 256$", **PREDICTED)
    ratio.set_yscale("log")
    ratio.set_ylabel("largest drift, independent / coupled")
    ratio.set_title("what the pairs contribute", fontsize=10)
    for ax in axes:
        legend_below(ax, 1)
    return figure

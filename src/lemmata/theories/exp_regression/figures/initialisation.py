"""Initial projections (Q2) and outputs (Q7), both initialisations in training (X5), weights moved by at most R (Q6)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.exp_regression import bounds

COLORS = {"coupled": draw.BLUE, "independent": draw.RED}
DELTA = 0.05
"""The failure probability δ of the experiment on projections."""
LIMITS = {
    "paper, $C$ = 1.5": {"C": 1.5},
    "paper, $C$ = 2": {"C": 2.0},
    "paper, $C$ = 10": {"C": 10.0},
    "union bound": {"projection_source": "union"},
}


def tails(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The largest projection of every initial network beside B, and the share of networks beyond it."""
    figure, (left, right) = draw.panels(2, height=4.4)
    m, n = data.neurons.values, data.sizes["point"]
    # on unit vectors E F_i(0)²/m = e^{2σ²}
    sigma = float(np.sqrt(np.log(max(float(data.output_variance.max()), 1.0)) / 2))
    draw.curves(left, data.projection, "neurons", label="networks and median", color=draw.GREY, middle="median")
    grid = np.geomspace(m.min(), m.max(), 50)
    for i, (words, options) in enumerate(LIMITS.items()):
        kind = draw.look(i)

        def bound(width: np.ndarray, options: dict = options) -> np.ndarray:
            return np.broadcast_to(bounds.projection_bound(n, width, DELTA, sigma, **options), width.shape)

        draw.predicted(left, bound(grid), f"$B$: {words}", x=grid, color=kind.color, linestyle=kind.linestyle)
        shares = [
            lm.share_interval(float((data.projection.sel(neurons=w) > b).sum()), data.sizes["seed"])
            for w, b in zip(m, bound(m), strict=True)
        ]
        value = np.array([share.value for share in shares])
        ends = np.array([(share.value - share.low, share.high - share.value) for share in shares]).T.clip(0)
        right.errorbar(
            m, value, ends, color=kind.color, marker=kind.marker, linestyle=kind.linestyle, capsize=3, label=words
        )
    draw.claimed(right, claims["q2-projection-union"], words="claimed, union bound")
    draw.log_y(left)
    right.set_ylim(-0.03, 1.05)
    for ax in (left, right):
        draw.numbers(ax, m)
    draw.finish(left, "largest projections", r"$\max_{i,r}|\langle w_r(0),x_i\rangle|$", "width $m$")
    draw.finish(right, "how often $B$ is too small", "share of networks beyond $B$", "width $m$")
    return figure


def outputs(data: xr.Dataset) -> Figure:
    """Mean square of every initial output against its closed form, and the initial error, by initialisation."""
    figure, (left, right) = draw.panels(2, height=4.4)
    m, n = data.neurons.values, data.sizes["point"]
    places = np.arange(1, n + 1)
    squares = data.outputs**2 / data.neurons
    for init in draw.labels_of(data, "init"):
        label = f"{init}, $m$ = {{}}"
        style = {"x": places, "spread": "interval", "linestyle": "none"}
        draw.curves(left, squares.sel(init=init), "point", "neurons", label, COLORS[init], **style)
    closed = data.output_variance.isel(seed=0, neurons=0, init=0).values
    for i, level in enumerate(closed):
        draw.corrected(left, level, r"independent: $e^{2\sigma^2\|x_i\|^2}$" if i == 0 else None, at=i + 1)
    draw.predicted(left, 0, "paper, coupled: exactly 0")
    draw.finish(left, "initial outputs", r"mean of $F_i(0)^2/m$ (bars: 95 % intervals)", "point $i$")
    means = draw.positive(data.error_square.mean("seed"))
    draw.curves(right, means, "neurons", "init", "{}: mean", COLORS, spread="", linestyle="none")
    exact = float(data.target_square.mean()) + m * closed.sum()
    draw.corrected(right, exact, r"independent: $\|y\|^2+m\sum_i e^{2\sigma^2\|x_i\|^2}$", x=m)
    draw.predicted(right, n, f"paper, coupled: $\\|y\\|^2\\leq n$ = {n}")
    draw.numbers(right, m)
    draw.log_y(right)
    draw.finish(right, "initial error", r"$\|y-F(0)\|^2$", "width $m$")
    return figure


def trained(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Initial outputs, steps to ε and drift with coupled and with independent initialisation."""
    figure, (output, steps, drifts, ratio) = draw.panels(4, rows=2, height=4.2)
    draw.groups(output, data.initial_output, "neurons", "init", color=COLORS)
    draw.predicted(output, 0, "paper, coupled: 0")
    output.set_yscale("symlog", linthresh=100.0)
    output.set_ylim(bottom=-20)
    draw.groups(steps, data.reached_step, "neurons", "init", color=COLORS, middle="median")
    draw.groups(drifts, draw.positive(data.largest_drift), "neurons", "init", color=COLORS, middle="median")
    D = draw.positive(data.largest_drift / data.drift_ratio)
    for ax, levels, words in ((steps, data.predicted_steps, "paper: $T$ (median)"), (drifts, D, "paper: $D$ (median)")):
        for i, row in enumerate(levels.median("seed").transpose("neurons", "init").values):
            for shift, level in zip(draw.dodge(len(row)), row, strict=True):
                draw.predicted(ax, level, words, at=i + shift, half=0.13)
                words = None
        draw.log_y(ax)
    draw.claimed(drifts, claims["x5-not-lazy"], words="claimed, independent: median")
    drifted = draw.positive(data.largest_drift)
    if {"coupled", "independent"} <= set(data.init.values):
        paired = drifted.sel(init="independent") / drifted.sel(init="coupled")
        draw.groups(ratio, paired, "neurons", label="same seed, and median", middle="median")
    draw.claimed(ratio, claims["x5-drift-ratio"], words=r"claimed, $m\geq 256$: median")
    draw.log_y(ratio)
    draw.finish(output, "initial outputs", r"$\|F(0)\|^2$", "width $m$")
    draw.finish(steps, "training time", r"steps to $\|e\|^2\leq\varepsilon$", "width $m$", legend=3)
    draw.finish(drifts, r"largest drift up to $\varepsilon$", r"$\max_{r,t}\|w_r(t)-w_r(0)\|$", "width $m$")
    draw.finish(ratio, "what the pairs contribute", "largest drift, independent / coupled", "width $m$")
    return figure


SHIFTS = {"random": "at random", "point": "along a point", "pair": "along a sum of two"}


def moved(data: xr.Dataset) -> Figure:
    """Left side / right side of every statement about moved weights, over how far they move; worst seed and R."""
    figure, axes = draw.panels(6, rows=2, width=4.6, height=3.6)
    # the first two ratios are 1 + O(R): shown as how much the projection has grown, in units of R
    shown = {
        r"part 2: $(|\langle v_r,x_i\rangle|/(B+R)-1)/R+1$": 1 + (data.moved_projection - 1) / data.radius,
        r"parts 4, 5: growth of $\langle v_r,x_i\rangle$ / $R$": 1
        + np.log(draw.positive(data.moved_exponential)) / data.radius,
        r"part 3: $|\langle w_r-v_r,x_i+x_j\rangle|$ / $2R$": data.difference,
        r"part 6: $|e^{\langle w_r-v_r,x_i+x_j\rangle}-1|$ / $4R$": data.exponential_difference,
        r"Lemma 6.7: $\|\Delta H\|_F$ / $3nRe^{2B}$": data.frobenius_change,
        r"entries: $|\Delta H_{ij}|$ / $(e^{R\|x_i+x_j\|}-1)|H_{ij}|$": data.entry_change,
    }
    for ax, (title, ratio) in zip(axes, shown.items(), strict=True):
        worst = ratio.max(("seed", "radius"))
        named = worst.assign_coords(shift=[SHIFTS[str(shift)] for shift in worst["shift"].values])
        draw.curves(ax, named, "factor", "shift", "moved {}")
        draw.predicted(ax, 1.0, "paper, distance $R$: at most 1")
        draw.moment(ax, 1.0, "$R$")
        ax.set_xticks(data.factor.values)
        draw.finish(ax, title, "left / right side, worst case", r"distance moved / $R$", legend=0)
    draw.log_y(axes[4])
    draw.finish(axes[4], legend=4)
    return figure

"""Initial projections (Q2) and outputs (Q7), both initialisations in training (X5), weights moved by at most R (Q6)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.exp_regression import bounds

COLORS = {"coupled": draw.BLUE, "independent": draw.RED}


def tails(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The largest projection of every initial network beside B, and the share of networks beyond it."""
    figure, (left, right) = draw.panels(2, height=4.4)
    m, n = data.neurons.values, data.sizes["point"]
    # on unit vectors E F_i(0)²/m = e^{2σ²}
    sigma = float(np.sqrt(np.log(max(float(data.output_variance.max()), 1.0)) / 2))
    draw.curves(left, data.projection, "neurons", label="networks and median", color=draw.GREY, middle="median")
    grid = np.geomspace(m.min(), m.max(), 50)
    limits = {f"paper, $C$ = {C:g}": {"C": C} for C in (1.5, 2, 10)} | {"union bound": {"projection_source": "union"}}
    for i, (label, options) in enumerate(limits.items()):
        kind = draw.look(i)
        line = {"color": kind.color, "linestyle": kind.linestyle}
        B, at_m = (bounds.projection_bound(n, x, 0.05, sigma, **options) * np.ones_like(x, float) for x in (grid, m))
        draw.predicted(left, B, f"$B$: {label}", x=grid, **line)
        beyond = [
            lm.share_interval(float(count), data.sizes["seed"])
            for count in (data.projection > at_m[:, None]).sum("seed")
        ]
        value, low, high = np.array([(share.value, share.low, share.high) for share in beyond]).T
        ends = np.clip([value - low, high - value], 0, None)
        right.errorbar(m, value, ends, marker=kind.marker, capsize=3, label=label, **line)
    draw.claimed(right, claims["q2-projection-union"], words="claimed, union bound")
    draw.log_y(left)
    right.set_ylim(-0.03, 1.05)
    for ax in (left, right):
        draw.numbers(ax, m, "width $m$")
    draw.finish(left, "largest projections", r"$\max_{i,r}|\langle w_r(0),x_i\rangle|$")
    draw.finish(right, "how often $B$ is too small", "share of networks beyond $B$")
    return figure


def outputs(data: xr.Dataset) -> Figure:
    """Mean square of every initial output against its closed form, and the initial error, by initialisation."""
    figure, (left, right) = draw.panels(2, height=4.4)
    m, n = data.neurons.values, data.sizes["point"]
    squares = data.outputs**2 / data.neurons
    for init in draw.labels_of(data, "init"):
        style = {"x": np.arange(1, n + 1), "spread": "interval", "linestyle": "none"}
        draw.curves(left, squares.sel(init=init), "point", "neurons", f"{init}, $m$ = {{}}", COLORS[init], **style)
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
    drifted = draw.positive(data.largest_drift)
    draw.groups(drifts, drifted, "neurons", "init", color=COLORS, middle="median")
    D = draw.positive(data.largest_drift / data.drift_ratio)
    for ax, levels, label in ((steps, data.predicted_steps, "paper: $T$ (median)"), (drifts, D, "paper: $D$ (median)")):
        for i, row in enumerate(levels.median("seed").transpose("neurons", "init").values):
            for shift, level in zip(draw.dodge(len(row)), row, strict=True):
                draw.predicted(ax, level, label, at=i + shift, half=0.13)
                label = None
        draw.log_y(ax)
    draw.claimed(drifts, claims["x5-not-lazy"], words="claimed, independent: median")
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


def moved(data: xr.Dataset) -> Figure:
    """Left side / right side of every statement about moved weights, over how far they move; worst seed and R."""
    figure, axes = draw.panels(6, rows=2, width=4.6, height=3.6)
    grown = np.log(draw.positive(data.moved_exponential))
    # the first two ratios are 1 + O(R): shown as how much the projection has grown, in units of R
    shown = {
        r"part 2: $(|\langle v_r,x_i\rangle|/(B+R)-1)/R+1$": 1 + (data.moved_projection - 1) / data.radius,
        r"parts 4, 5: growth of $\langle v_r,x_i\rangle$ / $R$": 1 + grown / data.radius,
        r"part 3: $|\langle w_r-v_r,x_i+x_j\rangle|$ / $2R$": data.difference,
        r"part 6: $|e^{\langle w_r-v_r,x_i+x_j\rangle}-1|$ / $4R$": data.exponential_difference,
        r"Lemma 6.7: $\|\Delta H\|_F$ / $3nRe^{2B}$": data.frobenius_change,
        r"entries: $|\Delta H_{ij}|$ / $(e^{R\|x_i+x_j\|}-1)|H_{ij}|$": data.entry_change,
    }
    ways = {"random": "at random", "point": "along a point", "pair": "along a sum of two"}
    for ax, (title, ratio) in zip(axes, shown.items(), strict=True):
        worst = ratio.max(("seed", "radius")).assign_coords(shift=[ways[way] for way in draw.labels_of(data, "shift")])
        draw.curves(ax, worst, "factor", "shift", "moved {}")
        draw.predicted(ax, 1.0, "paper, distance $R$: at most 1")
        draw.moment(ax, 1.0, "$R$")
        ax.set_xticks(data.factor.values)
        draw.finish(ax, title, "left / right side, worst case", r"distance moved / $R$", legend=0)
    draw.log_y(axes[4])
    draw.finish(axes[4], legend=4)
    return figure

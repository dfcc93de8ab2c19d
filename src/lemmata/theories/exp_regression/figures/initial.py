"""Before training: kernels (X1), projections (Q2), Monte Carlo (Q3), widths (Q5), shifts (Q6), outputs (Q7)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PALETTE, PREDICTED, RED, dodge, legend_below, log_y, panels
from lemmata.lab.intervals import share_interval
from lemmata.theories.exp_regression import bounds
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import INIT_COLORS, coloured, positive, word
from lemmata.theories.exp_regression.measures import rms_slope

DELTA = 0.05
"""The failure probability δ of the experiments on projections."""
CONSTANTS = {1.5: ORANGE, 2.0: GREEN, 10.0: BLUE}
"""Tail constants C at which the document's B is compared; it asks for more than 10."""


def concentration(data: xr.Dataset) -> Figure:
    """Distance of the kernel from its limit over the width, and how often it is close enough for the proof."""
    figure, (left, right) = panels(2, height=4.4)
    m = data.neurons.values
    far = m.max()
    for sigma, color in coloured(data.weight_scale.values):
        part = data.sel(weight_scale=sigma)
        error = part.frobenius_error.transpose("seed", "neurons")
        rms = np.sqrt((error**2).mean("seed").values)
        words = rf"$\sigma$ = {sigma:g}{common.slope_words(error, 'neurons', rms_slope)}"
        left.fill_between(m, *common.band(error), color=color, alpha=0.15, linewidth=0)
        left.plot(m, positive(rms), "o", color=color, label=words)
        common.predicted(left, m, part.predicted_error.mean("seed"))
        lam = part.limit_least
        for close, style in ((part.kernel_least >= 0.75 * lam, "o-"), (error <= lam / 4, "s:")):
            shares = close.mean("seed").transpose("neurons")
            right.plot(m, shares, style, color=color, markersize=5, alpha=0.75)
        # Markov's inequality with the exact variance: Pr[error > λ/4] ≤ 16 E error² / λ²
        decisive = float((16 * part.predicted_error**2 / lam**2 * part.neurons).mean())
        if np.isfinite(decisive) and decisive > 0:
            wide = np.geomspace(max(decisive, m.min()), max(20 * decisive, 2 * m.min()), 60)
            right.plot(wide, 1 - decisive / wide, **{**PREDICTED, "color": color})
            far = max(far, 20 * decisive)
        right.plot([], [], "-", color=color, label=rf"$\sigma$ = {sigma:g}")
    left.plot([], [], label=r"exact: $(\sum\mathrm{Var}_{ij}/m_\mathrm{eff})^{1/2}$, slope −1/2", **PREDICTED)
    left.fill_between([], [], [], color=GREY, alpha=0.3, label="5 % to 95 % of the draws")
    common.width_axis(left, m)
    log_y(left)
    left.set_ylabel(r"RMS of $\|H^\mathrm{dis}-H^\mathrm{cts}\|_F$")
    left.set_title("kernel error", fontsize=10)
    right.plot([], [], "o-", color=GREY, label=r"$\lambda_\min(H^\mathrm{dis})\geq\frac{3}{4}\lambda$")
    right.plot([], [], "s:", color=GREY, label=r"$\|H^\mathrm{dis}-H^\mathrm{cts}\|_F\leq\lambda/4$")
    right.plot([], [], label="guaranteed for the latter (Markov)", **PREDICTED)
    right.set_xscale("log")
    right.set_xlim(m.min() / 1.3, 1.3 * far)
    right.set_ylim(-0.03, 1.05)
    right.set_xlabel("width $m$")
    right.set_ylabel("share of draws")
    right.set_title("draws close enough for the proof", fontsize=10)
    for ax in (left, right):
        legend_below(ax)
    return figure


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
    limits = [(f"$C$ = {C:g}", color, {"C": C, "source": "paper"}) for C, color in CONSTANTS.items()]
    limits.append(("by union bound", RED, {"source": "union"}))
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
    right.axhline(DELTA, label=rf"document: at most $\delta$ = {DELTA:g}", **PREDICTED)
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


def montecarlo(data: xr.Dataset) -> Figure:
    """Monte Carlo less closed form, in exact standard errors, for every entry on or above the diagonal."""
    figure, (left, right) = panels(2, height=4.3)
    names = [str(name) for name in data.activation.values]
    error = data.standard_error
    z = (data.estimate - data.closed_form) / error.where(error > 0)
    rows, columns = np.triu_indices(data.sizes["point"])
    z = z.transpose("activation", "weight_scale", "seed", "point", "other").values[..., rows, columns]
    scales = data.weight_scale.values
    for j, ((sigma, color), x) in enumerate(zip(coloured(scales), dodge(len(scales), 0.7), strict=True)):
        for i in range(len(names)):
            values = np.ravel(z[i, j])
            spots = i + x + np.linspace(-0.25, 0.25, values.size) / len(scales)
            label = rf"$\sigma$ = {sigma:g}" if i == 0 else None
            left.plot(spots, values, "o", color=color, markersize=3, alpha=0.6, label=label)
    for sign in (-5, 5):
        left.axhline(sign, label="claimed: within ± 5" if sign > 0 else None, **PREDICTED)
    common.names_axis(left, names, "activation")
    left.set_ylim(-max(6.0, 1.1 * np.nanmax(np.abs(z), initial=0.0)), max(6.0, 1.1 * np.nanmax(np.abs(z), initial=0.0)))
    left.set_ylabel("(Monte Carlo − closed form) / standard error")
    left.set_title("every entry $i\\leq j$", fontsize=10)
    grid = np.linspace(-5.5, 5.5, 200)
    edges = np.linspace(-5.5, 5.5, 34).tolist()
    for i, name in enumerate(names):
        values = np.ravel(z[i])
        values = np.clip(values[np.isfinite(values)], -5.5, 5.5)
        if values.size:
            color = common.ACTIVATION_COLORS.get(name, GREY)
            right.hist(values, edges, density=True, histtype="step", color=color, label=name, linewidth=1.3)
    right.plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), label="standard normal", **PREDICTED)
    right.set_xlabel("(Monte Carlo − closed form) / standard error")
    right.set_ylabel("density of the entries")
    right.set_title("entries share their weights: bells may shift", fontsize=10)
    for ax in (left, right):
        legend_below(ax, 3)
    return figure


def width(data: xr.Dataset) -> Figure:
    """Kernel error and least eigenvalue at the printed width, and how many draws meet the lemma."""
    figure, (left, right) = panels(2, height=4.2)
    lam = data.limit_least
    quantities = (
        (left, data.frobenius_error / lam, 0.25, r"document: at most $\lambda/4$", lambda ratio: ratio <= 0.25),
        (right, data.kernel_least / lam, 0.75, r"document: at least $\frac{3}{4}\lambda$", lambda ratio: ratio >= 0.75),
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


SHIFTS = {"random": "at random", "point": "along $x_i$", "pair": "along $x_i+x_j$"}


def perturbation(data: xr.Dataset) -> Figure:
    """Left side / right side of every statement about moved weights, over how far they move; worst of the seeds."""
    figure, axes = panels(6, rows=2, width=4.4, height=3.3)
    radius = data.radius
    # these two ratios are 1 + O(R): shown as how much the projection has grown, in units of R
    growth = 1 + np.log(positive(data.moved_exponential)) / radius
    shown = (
        ((data.moved_projection - 1) / radius, r"part 2: $(|\langle v_r,x_i\rangle|/(B+R)-1)/R$", 0.0),
        (growth, r"parts 4, 5: growth of $\langle v_r,x_i\rangle$ / $R$", 1.0),
        (data.difference, r"part 3: $|\langle w_r-v_r,x_i+x_j\rangle|$ / $2R$", 1.0),
        (data.exponential_difference, r"part 6: $|e^{\langle w_r-v_r,x_i+x_j\rangle}-1|$ / $4R$", 1.0),
        (data.frobenius_change, r"Lemma 6.7: $\|\Delta H\|_F$ / $3nRe^{2B}$", 1.0),
        (data.entry_change, r"entries: $|\Delta H_{ij}|$ / $(e^{R\|x_i+x_j\|}-1)|H_{ij}|$", 1.0),
    )  # fmt: skip
    factors = data.factor.values
    for ax, (values, title, limit) in zip(axes, shown, strict=True):
        worst = values.max("seed")
        for shift, color in zip(map(str, data["shift"].values), PALETTE, strict=False):
            for R, marker in zip(data.radius.values, "os^Dv" * 3, strict=False):
                y = worst.sel(shift=shift, radius=R).transpose("factor").values
                ax.plot(factors, y, marker=marker, markersize=4, color=color, linewidth=1, alpha=0.8)
        ax.axhline(limit, label=f"document, factor 1: at most {limit:g}", **PREDICTED)
        ax.axvline(1.0, color=GREY, linestyle=":", linewidth=1)
        ax.set_xticks(factors, [f"{factor:g}" for factor in factors])
        ax.set_title(title, fontsize=8.5)
    log_y(axes[4])
    for ax in axes[3:]:
        ax.set_xlabel(r"distance moved / $R$")
    for ax in axes[:3]:
        ax.sharex(axes[3])
    for ax in axes[::3]:
        ax.set_ylabel("left side / right side, worst seed")
    for shift, color in zip(map(str, data["shift"].values), PALETTE, strict=False):
        axes[0].plot([], [], color=color, label=f"moved {SHIFTS.get(shift, shift)}")
    for R, marker in zip(data.radius.values, "os^Dv" * 3, strict=False):
        axes[0].plot([], [], marker, color=GREY, markersize=4, label=f"$R$ = {R:g}")
    entries = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    entries = {words.replace("at most 0", "at most the line"): handle for words, handle in entries.items()}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False)
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
    left.axhline(0, label="document, coupled: exactly 0", color="black", linewidth=1)
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

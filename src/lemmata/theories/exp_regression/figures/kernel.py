"""The tangent kernel of random networks: concentration (X1), Monte Carlo (Q3), the printed width (Q5)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREY, PREDICTED, RED, dodge, legend_below, log_y, panels
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import coloured, positive
from lemmata.theories.exp_regression.measures import rms_slope


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

"""The tangent kernel of random networks: concentration (X1), Monte Carlo (Q3), the printed width (Q5); and activations
whose kernel is singular on parallel or antipodal points (X7)."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata import figures as draw
from lemmata.networks.kernels import SINGULAR
from lemmata.theories.exp_regression.measures import FLOORS, STANDARD_ERRORS


def concentration(data: xr.Dataset) -> Figure:
    """Distance of the kernel from its limit over the width, and how often it is close enough for the proof."""
    figure, (left, right) = draw.panels(2, height=4.4)
    m, lam = data.neurons.values, data.limit_least
    rms = np.sqrt((data.kernel_error**2).mean("seed"))
    draw.curves(left, rms, "neurons", "weight_scale", r"$\sigma$ = {}", spread="")
    for close, said, style in (
        (data.kernel_least >= 0.75 * lam, "least eigenvalue at least ¾λ", "-"),
        (data.kernel_error <= lam / 4, "distance at most λ/4", ":"),
    ):
        label = rf"{said}, $\sigma$ = {{}}"
        draw.curves(right, close.mean("seed"), "neurons", "weight_scale", label, spread="", linestyle=style)
    far = m.max()
    for i, sigma in enumerate(data.weight_scale.values):
        exact = data.sel(weight_scale=sigma).predicted_error.mean("seed")
        said = r"exact: $(\sum\mathrm{Var}_{ij}/m_\mathrm{eff})^{1/2}$, slope −1/2"
        draw.predicted(left, draw.positive(exact.values), said if i == 0 else None, x=m)
        # Markov's inequality with the exact variance: Pr[error > λ/4] ≤ 16 E error² / λ²
        least = float((16 * exact**2 / lam.sel(weight_scale=sigma) ** 2 * data.neurons).mean())
        if np.isfinite(least) and least > 0:
            wide = np.geomspace(max(least, m.min()), max(20 * least, 2 * m.min()), 60)
            said = "guaranteed for the latter (Markov)" if i == 0 else None
            draw.corrected(right, 1 - least / wide, said, x=wide, color=draw.look(i).color)
            far = max(far, 20 * least)
    draw.numbers(left, m)
    draw.log_y(left)
    draw.finish(left, "kernel error", r"RMS of $\|H^\mathrm{dis}-H^\mathrm{cts}\|_F$ over draws", "width $m$")
    right.set_xscale("log")
    right.set_xlim(m.min() / 1.3, 1.3 * far)
    right.set_ylim(-0.03, 1.05)
    draw.finish(right, "draws close enough for the proof", "share of draws", "width $m$")
    return figure


def montecarlo(data: xr.Dataset) -> Figure:
    """Monte Carlo less closed form, in exact standard errors, for every entry on or above the diagonal."""
    figure, (ax,) = draw.panels(1, width=7.5, height=4.3)
    error = data.standard_error
    upper = xr.DataArray(np.triu(np.ones((data.sizes["point"],) * 2, bool)), dims=("point", "other"))
    z = ((data.estimate - data.closed_form) / error.where(error > 0)).where(upper)
    draw.groups(ax, z, "activation", "weight_scale", r"$\sigma$ = {}", markersize=3)
    draw.predicted(ax, 0.0, "exact: 0")
    label = f"claimed: within ± {STANDARD_ERRORS}"
    ax.axhspan(-STANDARD_ERRORS, STANDARD_ERRORS, color=draw.GREY, alpha=0.12, linewidth=0, label=label)
    top = 1.2 * max(STANDARD_ERRORS, float(abs(z).max().fillna(0)))
    ax.set_ylim(-top, top)
    quantity = "(Monte Carlo − closed form) / standard error"
    draw.finish(ax, "every entry $i\\leq j$ of the kernel", quantity, "activation", legend=4)
    return figure


def printed_width(data: xr.Dataset) -> Figure:
    """Kernel error and least eigenvalue at the printed width, and how many draws meet the lemma."""
    figure, axes = draw.panels(2, height=4.2)
    distance, least = data.kernel_error / data.limit_least, data.kernel_least / data.limit_least
    for ax, ratio, met in zip(axes, (distance, least), (distance <= 0.25, least >= 0.75), strict=True):
        shares = met.mean("seed").values
        labels = zip(data.weight_scale.values, shares, strict=True)
        names = {s: f"$\\sigma$ = {s:g}\n{100 * share:.0f} % of the draws" for s, share in labels}
        how = {"words": names, "middle": "median", "markersize": 3}
        draw.groups(ax, draw.positive(ratio), "weight_scale", label="draws and median", **how)
    draw.predicted(axes[0], 0.25, r"paper: at most $\lambda/4$")
    draw.predicted(axes[1], 0.75, r"paper: at least $\frac{3}{4}\lambda$")
    for i, exact in enumerate((data.predicted_error / data.limit_least).mean("seed").values):
        draw.corrected(axes[0], exact, "exact RMS" if i == 0 else None, at=i)
    draw.log_y(axes[0])
    draw.finish(axes[0], "kernel error", r"$\|H^\mathrm{dis}-H^\mathrm{cts}\|_F\,/\,\lambda$")
    draw.finish(axes[1], "least eigenvalue", r"$\lambda_\min(H^\mathrm{dis})\,/\,\lambda$")
    return figure


NUMBER = {"ha": "center", "fontsize": 7.5}


def floors(data: xr.Dataset) -> Figure:
    """Final error with its closed-form floors, steps to ε, and how singular the kernel is, by data and activation."""
    figure, (ends, steps, kernels) = draw.panels(3, width=5.0, height=4.3)
    least = (data.limit_least / data.limit_largest).clip(1e-18)
    shown = (
        (ends, data.final_square.clip(1e-34), "final error", r"final $\|e\|^2$"),
        (steps, data.reached_step, "training time", r"steps to $\|e\|^2\leq\varepsilon$"),
        (kernels, least, "which kernels are singular", r"$\lambda/\lambda_\max$ of the infinite-width kernel"),
    )
    pairs = {"generic": "generic", "parallel": r"parallel, $x_2=\rho x_1$", "antipodal": "antipodal, $x_2=-x_1$"}
    for ax, values, *_ in shown:
        draw.groups(ax, values, "pair", "activation", words=pairs, middle="median", markersize=4)
    names, label = draw.labels_of(data, "activation"), "closed-form floor (singular kernel)"
    for i, pair in enumerate(draw.labels_of(data, "pair")):
        for name, shift in zip(names, draw.dodge(len(names)), strict=True):
            if (pair, name) in FLOORS:
                floor = FLOORS[pair, name]
                draw.corrected(ends, floor, label, at=i + shift, half=0.1)
                side = -13 if name == "sinh" else 6  # those of cosh and sinh are neighbours
                ends.annotate(f"{floor:.3f}", (i + shift, floor), (0, side), textcoords="offset points", **NUMBER)
                label = None
    draw.predicted(kernels, SINGULAR, "singular below")
    for ax, _, title, quantity in shown:
        draw.log_y(ax)
        draw.finish(ax, title, quantity, "data", legend=3)
    return figure

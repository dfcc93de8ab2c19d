"""Samples and risk: zero risk, Figures 2.1 and 2.3, token noise."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREY,
    PALETTE,
    RED,
    heat,
    panels,
)
from lemmata.lab.fits import offset_power_law, power_law, threshold
from lemmata.lab.intervals import CannotFit
from lemmata.theories.vit.figures import VARIANT_NAMES
from lemmata.theories.vit.measures import half_thresholds, success
from lemmata.theories.vit.training import SMALL_LOSS


def zero_risk(data: xr.Dataset) -> Figure:
    """Test hinge of every seed, true and shuffled labels."""
    figure, axes = panels(data.sizes["variant"], sharey=True)
    for ax, variant in zip(axes, data.variant.values, strict=True):
        for i, labels in enumerate(data.label_order.values):
            values = data.test_hinge.sel(variant=variant, label_order=labels).values
            ax.plot(np.full(values.size, i) + np.linspace(-0.12, 0.12, values.size), values, "o", color=PALETTE[i])
        ax.axhline(SMALL_LOSS, color=RED, linestyle="--", label="success: below 0.001")
        ax.set_yscale("symlog", linthresh=1e-4)
        ax.set_ylim(-2e-5, 10)
        ax.set_xlim(-0.5, 1.5)
        ax.set_xticks([0, 1], ["true labels\n(theorem: 0)", "shuffled labels\n(control)"])
        ax.set_title(VARIANT_NAMES[str(variant)])
        ax.legend(loc="center left")
    axes[0].set_ylabel("test hinge loss, one point per seed")
    return figure


def _sample_map(data: xr.Dataset, power: int, who: str) -> Figure:
    """Success rates over (α^-power, N), and N_50 with the predicted straight boundary."""
    figure, (left, right) = panels(2)
    alphas = data.relevant_fraction.values
    counts = data.samples.values
    order = np.argsort(alphas)[::-1]
    rates = success(data).mean("seed").transpose("relevant_fraction", "samples").values[order]
    image = heat(left, rates, [f"{a**-power:.1f}" for a in alphas[order]], [f"{n:g}" for n in counts])
    figure.colorbar(image, ax=left, label="success rate over seeds")
    left.set_xlabel(rf"$\alpha_*^{{-{power}}}$")
    left.set_ylabel("training samples $N$")
    left.set_title(f"{who}: success = test hinge < 0.001", fontsize=10)
    found = half_thresholds(data)
    x = np.asarray([a**-power for a in found])
    middle = np.asarray([t.estimate.value for t in found.values()])
    ends = np.asarray([[t.estimate.low, t.estimate.high] for t in found.values()])
    ends = np.clip(
        np.nan_to_num(ends, posinf=2 * counts.max(), neginf=counts.min() / 2), counts.min() / 2, 2 * counts.max()
    )
    measured = np.asarray([not t.censored for t in found.values()])
    if measured.any():
        spread = np.abs(ends[measured].T - middle[measured])
        right.errorbar(x[measured], middle[measured], spread, fmt="o", color=BLUE, capsize=3, label="measured $N_{50}$")
    for xi, t in zip(x, found.values(), strict=True):
        if t.censored:
            above = t.censored == "above"
            right.plot(xi, counts.max() if above else counts.min(), "^" if above else "v", color=GREY)
    if measured.any():
        constant = np.exp(np.mean(np.log(middle[measured] / x[measured])))
        grid = np.linspace(x.min(), x.max(), 50)
        right.plot(grid, constant * grid, "--", color=RED, label=rf"paper: $N = C\,\alpha_*^{{-{power}}}$")
        right.legend()
    right.set_title(_fits(np.asarray(list(found))[measured], middle[measured]), fontsize=8)
    right.set_yscale("log", base=2)
    right.set_xlabel(rf"$\alpha_*^{{-{power}}}$")
    right.set_ylabel("$N_{50}$ (triangles: beyond the grid)")
    return figure


def _fits(alpha: np.ndarray, counts: np.ndarray) -> str:
    """The fits of N_50 that section 6 asks to report: pure power, offset square, and power of α_* - α_#."""
    try:
        pure = power_law(alpha, counts)
        offset = offset_power_law(alpha, counts, exponent=-2.0, nonnegative=True)
        margin = power_law(2 * alpha - 0.5, counts)  # α_# = 0.5 - α_* in these experiments
    except CannotFit as reason:
        return f"no fit: {reason}"
    return (
        rf"fits of $N_{{50}}$: $\alpha_*^{{{pure.exponent.value:.2f}}}$ ($R^2$ = {pure.r_squared:.2f}), "
        rf"$(\alpha_* - {offset.offset.value:.2f})^{{-2}}$ ($R^2$ = {offset.r_squared:.2f}),"
        "\n"
        rf"$(\alpha_* - \alpha_\#)^{{{margin.exponent.value:.2f}}}$ ($R^2$ = {margin.r_squared:.2f})"
    )


def samples_trained(data: xr.Dataset) -> Figure:
    return _sample_map(data, 2, "attention trained")


def samples_frozen(data: xr.Dataset) -> Figure:
    return _sample_map(data, 4, "attention frozen")


def samples_shared(data: xr.Dataset) -> Figure:
    """Success rate against N: with shared signs there is no transition."""
    figure, axes = panels(data.sizes["attention"], sharey=True)
    for ax, attention in zip(axes, data.attention.values, strict=True):
        for alpha, color in zip(data.relevant_fraction.values, PALETTE, strict=False):
            chosen = success(data).sel(relevant_fraction=alpha, attention=attention).mean("seed")
            ax.plot(data.samples, chosen, "o-", color=color, label=rf"$\alpha_*={alpha:g}$")
        ax.set_xscale("log", base=2)
        ax.set_ylim(-0.05, 1.05)
        ax.axhline(0.5, color=GREY, linestyle=":")
        ax.set_xlabel("training samples $N$")
        ax.set_title(f"shared signs, attention {attention}")
        ax.legend()
    axes[0].set_ylabel("success rate (paper: a transition)")
    return figure


def samples_sigma(data: xr.Dataset) -> Figure:
    """Success rates over (σ, N) for both error variants, with the predicted boundary through N_50 at σ = 0."""
    figure, axes = panels(data.sizes["value_error_law"], sharey=True)
    counts, sigmas = data.samples.values, data.value_error.values
    image = None
    for ax, error in zip(axes, data.value_error_law.values, strict=True):
        runs = success(data).sel(value_error_law=error)
        image = heat(
            ax, runs.mean("seed").transpose("value_error", "samples").values,
            [f"{s:g}" for s in sigmas], [f"{n:g}" for n in counts],
        )  # fmt: skip
        start = threshold(counts, runs.isel(value_error=0).transpose("seed", "samples").values)
        if not start.censored:
            boundary = np.log2(start.estimate.value * (1 - sigmas) ** -2.0)
            height = (boundary - np.log2(counts[0])) / np.log2(counts[1] / counts[0])
            ax.plot(range(len(sigmas)), height, "--", color=RED, label=r"paper: $N \propto (\Theta(1)-\sigma)^{-2}$")
            ax.legend(loc="lower right")
        ax.set_ylim(-0.5, len(counts) - 0.5)
        ax.set_xlabel(r"initial value error $\sigma$")
        ax.set_title(f"error directions: {error}")
    axes[0].set_ylabel("training samples $N$")
    if image is not None:
        figure.colorbar(image, ax=axes, label="success rate over seeds")
    return figure


def token_noise(data: xr.Dataset) -> Figure:
    figure, (ax,) = panels(1)
    for row in data.test_hinge.transpose("seed", "token_noise").values:
        ax.plot(data.token_noise, row, ".", color=BLUE, alpha=0.4)
    ax.plot(data.token_noise, data.test_hinge.median("seed"), "o-", color=BLUE, label="median over seeds")
    ax.axhline(SMALL_LOSS, color=RED, linestyle="--", label="success: below 0.001")
    ax.axhline(3e-3, color=RED, linestyle=":", label="claimed to be exceeded at $c_0=0.3$")
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.set_ylim(-2e-5, 0.2)
    ax.set_xlabel("token noise $c_0$ (standard deviation)")
    ax.set_ylabel("test hinge loss at $N=64$")
    ax.legend()
    return figure

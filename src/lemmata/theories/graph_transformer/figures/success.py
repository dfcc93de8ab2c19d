"""How many labels are needed: success maps (Figures 3.3, 3.6) and minimal counts beside the reported laws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, ORANGE, colour, heat, labels_of, log_numbers, panels
from lemmata.theories.graph_transformer import bounds
from lemmata.theories.graph_transformer.figures.common import claim, law, legend, loss_scale, never, runs
from lemmata.theories.graph_transformer.measures import SUCCESS, by_count, minimal_counts

PERMUTED = ", permuted"
NONE = "none on the grid"
MISSING = "#f3d3d3"
"""Cells of a map without any run that finished."""


def successes(loss: xr.DataArray) -> xr.DataArray:
    """1 where the full loss is below 1e-3; runs that failed do not count."""
    return (loss < SUCCESS).astype(float).where(loss.notnull())


def samples_fraction(data: xr.Dataset) -> Figure:
    """Success over (γ_d^-2, |L|), and the minimal counts beside C γ_d^-2 and the bound (3.9) with an open constant."""
    figure, (left, right) = panels(2, height=4.4)
    success = successes(data.full_loss).sortby("discriminative", ascending=False)
    gamma = success.discriminative.values.astype(float)
    _map(
        figure,
        left,
        success,
        "discriminative",
        [f"{g**-2:.1f}\n({g:g})" for g in gamma],
        r"$\gamma_d^{-2}$ ($\gamma_d$)",
    )
    left.set_title("success: full test loss < 0.001 (Figure 3.3a)", fontsize=10)
    counts = minimal_counts(success).values
    x = gamma**-2.0
    _counts(right, x, counts)
    law(right, x, counts, x, r"document: $|L|\propto\gamma_d^{-2}$")
    term = bounds.samples(gamma_d=gamma)
    law(right, x, counts, np.asarray(term), "document (3.9): first term, constant open", color=GREEN)
    log_numbers(right, x, r"$\gamma_d^{-2}$")
    _count_axis(right, success)
    return figure


def samples_confusion(data: xr.Dataset) -> Figure:
    """Success over (ε_S, |L|) with the permuted control, minimal counts, and the loss by labelled count."""
    figure, axes = panels(3, width=3.55, height=4.6)
    cases = labels_of(data, "case")
    plain = sorted((case for case in cases if not case.endswith(PERMUTED)), key=float)
    control = [case for case in cases if case.endswith(PERMUTED)]
    success = successes(data.full_loss)
    words = [*plain, *(case.replace(PERMUTED, "\np") for case in control)]
    _map(
        figure,
        axes[0],
        success.sel(case=[*plain, *control]),
        "case",
        words,
        r"$\epsilon_S$ (p: training labels permuted)",
    )
    axes[0].set_title("success: full loss < 0.001", fontsize=10)
    if plain:
        epsilon = np.array([float(case) for case in plain])
        x = (1 - epsilon) ** -2.0
        counts = minimal_counts(success.sel(case=plain)).values
        _counts(axes[1], x, counts)
        law(axes[1], x, counts, x, r"document: $|L|\propto(1-\epsilon_S)^{-2}$")
        log_numbers(axes[1], x, r"$(1-\epsilon_S)^{-2}$")
    _count_axis(axes[1], success)
    ax = axes[2]
    for i, case in enumerate(plain):
        loss = data.full_loss.sel(case=case).transpose("seed", "labelled").values
        runs(ax, data.labelled.values, loss, colour(i), None, markersize=3, alpha=0.35)
        ax.plot(
            data.labelled.values,
            np.median(loss, axis=0),
            color=colour(i),
            linewidth=1.4,
            label=rf"$\epsilon_S$ = {case}",
        )
    claim(ax, SUCCESS, "success: below 0.001")
    claim(ax, 0.05, r"claimed at the end for $\epsilon_S\leq$ 0.2: 0.05")
    loss_scale(ax, 1e-4, 5.0)
    log_numbers(ax, data.labelled.values, "labelled nodes $|L|$")
    ax.set_ylabel("full test loss: median and every seed")
    ax.set_title("document: more labels do not hurt", fontsize=10)
    legend(ax)
    return figure


def samples_error(data: xr.Dataset) -> Figure:
    """Success over (σ, |L|), and the minimal counts beside the bound (3.9) with an open constant."""
    figure, (left, right) = panels(2, height=4.4)
    success = successes(data.full_loss)
    sigma = success.value_error.values.astype(float)
    _map(
        figure, left, success, "value_error", [f"{value:g}" for value in sigma], r"initial error of the values $\sigma$"
    )
    left.set_title("success: full test loss < 0.001", fontsize=10)
    counts = minimal_counts(success).values
    _counts(right, sigma, counts)
    law(right, sigma, counts, np.asarray(bounds.samples(sigma=sigma)), "document (3.9): first term, constant open")
    right.set_xlabel(r"initial error of the values $\sigma$")
    _count_axis(right, success)
    return figure


def gcn_samples(data: xr.Dataset) -> Figure:
    """The same for a GCN on the core against γ_d^-4; the permuted cell in the title."""
    figure, (left, right) = panels(2, height=4.4)
    if all(case.endswith(PERMUTED) for case in labels_of(data, "case")):
        for ax in (left, right):
            ax.set_axis_off()
        return figure
    success = by_count(data, successes(data.full_loss)).sortby("discriminative", ascending=False)
    gamma = success.discriminative.values.astype(float)
    words = [f"{g**-4:.3g}\n({g:g})" for g in gamma]
    _map(figure, left, success, "discriminative", words, r"$\gamma_d^{-4}$ ($\gamma_d$)")
    control = [case for case in labels_of(data, "case") if case.endswith(PERMUTED)]
    note = ""
    for case in control:
        rate = float(successes(data.full_loss.sel(case=case)).mean())
        note += f"\ncontrol, {case.split(', ')[1]} permuted labels: {rate:.0%} succeed"
    left.set_title(f"GCN on the core: full test loss < 0.001 (Figure 3.6){note}", fontsize=9)
    counts = minimal_counts(success).values
    x = gamma**-4.0
    _counts(right, x, counts)
    law(right, x, counts, x, r"document: $|L|\propto\gamma_d^{-4}$")
    log_numbers(right, x, r"$\gamma_d^{-4}$")
    _count_axis(right, success)
    return figure


def _map(figure: Figure, ax: Axes, success: xr.DataArray, axis: str, words: Sequence[str], label: str) -> None:
    rates = success.mean("seed").transpose(axis, "labelled")
    image = heat(ax, rates.values, words, [f"{count:g}" for count in rates.labelled.values])
    ax.set_facecolor(MISSING)
    ax.tick_params(axis="x", labelsize=7.5)
    figure.colorbar(image, ax=ax, label="success rate over seeds", shrink=0.8)
    ax.set_xlabel(label)
    ax.set_ylabel("labelled nodes $|L|$")


def _counts(ax: Axes, x: np.ndarray, counts: np.ndarray) -> None:
    order = np.argsort(x)
    shown = np.where(np.isfinite(counts), counts, np.nan)
    ax.plot(x[order], shown[order], "o-", color=BLUE, linewidth=1.2, label="measured")
    never(ax, x[np.isposinf(counts)], ORANGE, NONE)


def _count_axis(ax: Axes, success: xr.DataArray) -> None:
    """The grid of labelled counts as the y axis of minimal counts."""
    grid = success.labelled.values.astype(float)
    ax.set_yscale("log")
    ax.set_yticks(grid, [f"{count:g}" for count in grid])
    ax.minorticks_off()
    low = min(grid.min(), ax.dataLim.y0) if np.isfinite(ax.dataLim.y0) else grid.min()
    ax.set_ylim(low / 1.5, 2.4 * grid.max())
    ax.set_ylabel("smallest $|L|$ (half of the runs succeed)")
    ax.set_title("minimal labelled count", fontsize=10)
    legend(ax, 1)

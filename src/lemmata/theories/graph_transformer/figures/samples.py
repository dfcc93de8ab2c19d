"""How many labels are needed (Figures 3.3, 3.6): success maps and minimal counts; what flipped ones do (Figure 3.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, colour, heat, labels_of, log_numbers, panels
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer import bounds
from lemmata.theories.graph_transformer.figures.common import (
    claim,
    end_words,
    law,
    legend,
    loss_scale,
    mean_of,
    never,
    over_time,
    path,
    runs,
    up_to,
)
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
    law(right, x, counts, x, r"paper: $|L|\propto\gamma_d^{-2}$")
    term = bounds.samples(gamma_d=gamma)
    law(right, x, counts, np.asarray(term), "paper (3.9): first term, constant open", color=GREEN)
    log_numbers(right, x, r"$\gamma_d^{-2}$")
    _count_axis(right, success)
    return figure


def samples_confusion(data: xr.Dataset) -> Figure:
    """Success over (ε_S, |L|) with the permuted control, minimal counts, and the loss by labelled count."""
    figure, axes = panels(3, width=3.55, height=4.6)
    cases = labels_of(data, "variant")
    plain = sorted((case for case in cases if not case.endswith(PERMUTED)), key=float)
    control = [case for case in cases if case.endswith(PERMUTED)]
    success = successes(data.full_loss)
    words = [*plain, *(case.replace(PERMUTED, "\np") for case in control)]
    _map(
        figure,
        axes[0],
        success.sel(variant=[*plain, *control]),
        "variant",
        words,
        r"$\epsilon_S$ (p: training labels permuted)",
    )
    axes[0].set_title("success: full loss < 0.001", fontsize=10)
    if plain:
        epsilon = np.array([float(case) for case in plain])
        x = (1 - epsilon) ** -2.0
        counts = minimal_counts(success.sel(variant=plain)).values
        _counts(axes[1], x, counts)
        law(axes[1], x, counts, x, r"paper: $|L|\propto(1-\epsilon_S)^{-2}$")
        log_numbers(axes[1], x, r"$(1-\epsilon_S)^{-2}$")
    _count_axis(axes[1], success)
    ax = axes[2]
    for i, case in enumerate(plain):
        loss = data.full_loss.sel(variant=case).transpose("seed", "labelled").values
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
    ax.set_title("paper: more labels do not hurt", fontsize=10)
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
    law(right, sigma, counts, np.asarray(bounds.samples(sigma=sigma)), "paper (3.9): first term, constant open")
    right.set_xlabel(r"initial error of the values $\sigma$")
    _count_axis(right, success)
    return figure


def gcn_samples(data: xr.Dataset) -> Figure:
    """The same for a GCN on the core against γ_d^-4; the permuted cell in the title."""
    figure, (left, right) = panels(2, height=4.4)
    if all(case.endswith(PERMUTED) for case in labels_of(data, "variant")):
        for ax in (left, right):
            ax.set_axis_off()
        return figure
    success = by_count(data, successes(data.full_loss)).sortby("discriminative", ascending=False)
    gamma = success.discriminative.values.astype(float)
    words = [f"{g**-4:.3g}\n({g:g})" for g in gamma]
    _map(figure, left, success, "discriminative", words, r"$\gamma_d^{-4}$ ($\gamma_d$)")
    control = [case for case in labels_of(data, "variant") if case.endswith(PERMUTED)]
    note = ""
    for case in control:
        rate = float(successes(data.full_loss.sel(variant=case)).mean())
        note += f"\ncontrol, {case.split(', ')[1]} permuted labels: {rate:.0%} succeed"
    left.set_title(f"GCN on the core: full test loss < 0.001 (Figure 3.6){note}", fontsize=9)
    counts = minimal_counts(success).values
    x = gamma**-4.0
    _counts(right, x, counts)
    law(right, x, counts, x, r"paper: $|L|\propto\gamma_d^{-4}$")
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


def noise(data: xr.Dataset) -> Figure:
    """Test loss by share of flipped labels with the floor twice that share, and the end values against it."""
    figure, (left, right) = panels(2, height=4.6)
    levels = data.label_noise.values.astype(float)
    tops = [0.05]
    for i, level in enumerate(levels):
        part = data.isel(label_noise=i)
        path(left, part, part.loss, rf"$\epsilon_0$ = {level:g}", colour(i))
        floor = 2 * float(mean_of(part.flipped))
        left.axhline(
            floor, **{**PREDICTED, "color": colour(i), "label": r"paper: $2\hat\epsilon_0$" if i == 0 else None}
        )
        x = 2 * part.flipped
        words = (r"loss, every seed", "loss on clean test labels (control)") if i == 0 else (None, None)
        right.plot(x, at_end(part.loss), "o", color=colour(i), markersize=6, alpha=0.8, label=words[0])
        right.plot(x, at_end(part.clean_loss), "x", color=GREY, markersize=5, label=words[1])
        tops.append(float(np.nanmax(np.append(x.values, 0.0))))
    over_time(left, data)
    up_to(left, 1.05, 0.0)
    left.set_ylabel("test loss (hinge, noisy labels)")
    left.set_title("paper: slower with more noise, down to $2\\epsilon_0$", fontsize=10)
    grid = np.linspace(0, 1.1 * max(tops), 50)
    right.plot(grid, grid, label=r"paper: $2\hat\epsilon_0$", **PREDICTED)
    room = 0.02 + 0.1 * grid
    right.fill_between(
        grid,
        grid - room,
        grid + room,
        color="black",
        alpha=0.08,
        linewidth=0,
        label=r"claimed: within 0.02 + 0.2 $\epsilon_0$",
    )
    right.set_xlabel(r"$2\hat\epsilon_0$, twice the realised share of flipped test labels")
    right.set_ylabel(f"test loss {end_words(data)}")
    right.set_title("where the loss ends", fontsize=10)
    for ax in (left, right):
        legend(ax)
    return figure

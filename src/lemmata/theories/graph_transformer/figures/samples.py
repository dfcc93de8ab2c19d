"""How many labels are needed (Figures 3.3, 3.6): success maps and minimal counts; what flipped ones do (Figure 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer import bounds
from lemmata.theories.graph_transformer.measures import SUCCESS, by_count, minimal_counts


def successes(loss: xr.DataArray) -> xr.DataArray:
    """1 where the full loss is low enough; runs that failed do not count."""
    return (loss < SUCCESS).astype(float).where(loss.notnull())


def samples_fraction(data: xr.Dataset) -> Figure:
    """Success over (γ_d^-2, |L|), and the minimal counts beside C γ_d^-2 and the bound (3.9) with an open constant."""
    figure, (left, right) = draw.panels(2, height=4.4)
    success = successes(data.full_loss).sortby("discriminative", ascending=False)
    gamma = success.discriminative.values
    x = gamma**-2.0
    _map(
        left,
        success,
        "discriminative",
        [f"{value:.3g}" for value in x],
        r"$\gamma_d^{-2}$",
        "graph transformer (Figure 3.3a)",
    )
    counts = _counts(right, success, x)
    draw.law(right, x, counts, x, r"paper: $|L|\propto\gamma_d^{-2}$")
    terms = np.asarray(bounds.samples(gamma_d=gamma))
    draw.law(right, x, counts, terms, "paper (3.9): first term, constant open", color=draw.GREEN, linestyle=":")
    draw.numbers(right, x, r"$\gamma_d^{-2}$")
    _finish_counts(right, success)
    return figure


def samples_confusion(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Success over (ε_S, |L|) with the permuted control, minimal counts, and the loss by labelled count."""
    figure, axes = draw.panels(3, width=3.55, height=4.6)
    success = successes(data.full_loss)
    permuted = data.defect.values != "none"
    words = [f"{value:g}" + "\np" * shuffled for value, shuffled in zip(data.confusion.values, permuted, strict=True)]
    _map(axes[0], success, "variant", words, r"$\epsilon_S$ (p: training labels permuted)", "Figure 3.3b")
    intact = success.isel(variant=~permuted).sortby("confusion")
    x = (1 - intact.confusion.values) ** -2.0
    counts = _counts(axes[1], intact, x)
    draw.law(axes[1], x, counts, x, r"paper: $|L|\propto(1-\epsilon_S)^{-2}$")
    draw.numbers(axes[1], x, r"$(1-\epsilon_S)^{-2}$")
    _finish_counts(axes[1], success)
    loss = data.full_loss.isel(variant=~permuted).swap_dims(variant="confusion")
    draw.curves(axes[2], loss, "labelled", "confusion", r"$\epsilon_S$ = {}", middle="median")
    axes[2].axhline(SUCCESS, color=draw.GREY, linewidth=0.8, label=f"success: below {SUCCESS:g}")
    draw.claimed(axes[2], claims["p3-samples-loss"], "end", words=r"claimed at the end, $\epsilon_S\leq$ 0.2")
    draw.loss_scale(axes[2], 1e-4)
    draw.numbers(axes[2], data.labelled.values, "labelled nodes $|L|$")
    draw.finish(axes[2], "paper: more labels do not hurt", "full test loss: median, every seed")
    return figure


def samples_error(data: xr.Dataset) -> Figure:
    """Success over (σ, |L|), and the minimal counts beside the bound (3.9) with an open constant."""
    figure, (left, right) = draw.panels(2, height=4.4)
    success = successes(data.full_loss)
    sigma, words = data.value_error.values, r"initial error of the values $\sigma$"
    _map(left, success, "value_error", [f"{value:g}" for value in sigma], words, "graph transformer")
    counts = _counts(right, success, sigma)
    draw.law(right, sigma, counts, np.asarray(bounds.samples(sigma=sigma)), "paper (3.9): first term, constant open")
    right.set_xlabel(words)
    _finish_counts(right, success)
    return figure


def gcn_samples(data: xr.Dataset) -> Figure:
    """The same for a GCN on the core against γ_d^-4; the permuted cell in the title."""
    figure, (left, right) = draw.panels(2, height=4.4)
    success = by_count(successes(data.full_loss)).sortby("discriminative", ascending=False)
    x = success.discriminative.values**-4.0
    permuted = successes(data.full_loss).isel(variant=data.defect.values != "none")
    control = f"control, {permuted.labelled.values[0]:g} permuted labels: {float(permuted.mean()):.0%} succeed"
    words = [f"{value:.3g}" for value in x]
    _map(left, success, "discriminative", words, r"$\gamma_d^{-4}$", f"GCN on the core (Figure 3.6)\n{control}")
    counts = _counts(right, success, x)
    draw.law(right, x, counts, x, r"paper: $|L|\propto\gamma_d^{-4}$")
    draw.numbers(right, x, r"$\gamma_d^{-4}$")
    _finish_counts(right, success)
    return figure


def _map(ax: Axes, success: xr.DataArray, axis: str, labels: Sequence[str], words: str, title: str) -> None:
    draw.success_map(ax, success.assign_coords({axis: labels}), axis, "labelled")
    draw.finish(ax, f"{title}\nsuccess: full test loss < {SUCCESS:g}", "labelled nodes $|L|$", words, legend=0)


def _counts(ax: Axes, success: xr.DataArray, x: np.ndarray) -> xr.DataArray:
    """The minimal labelled counts, drawn over x."""
    counts = minimal_counts(success)
    draw.curves(ax, counts, str(counts.dims[0]), x=x, label="measured")
    return counts


def _finish_counts(ax: Axes, success: xr.DataArray) -> None:
    """The grid of labelled counts as the y axis of minimal counts."""
    grid = success.labelled.values
    ax.set_yscale("log")
    ax.set_yticks(grid, [f"{count:g}" for count in grid])
    ax.minorticks_off()
    ax.set_ylim(grid.min() / 1.5, 2.4 * grid.max())
    draw.finish(ax, "minimal labelled count", "smallest $|L|$ (half of the runs succeed)", legend=1)


def noise(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Test loss by share of flipped labels with the floor twice that share, and how far from it the loss ends."""
    figure, (left, right) = draw.panels(2, height=4.6)
    draw.paths(left, data, "loss", "label_noise", r"$\epsilon_0$ = {}", clock=data.time)
    floor = 2 * data.flipped
    for i, level in enumerate(floor.mean("seed").values):
        draw.predicted(left, level, None if i else r"paper: $2\hat\epsilon_0$", color=draw.look(i).color)
    draw.from_zero(left, 1.05)
    losses = {"noisy test labels": data.loss, "clean test labels (control)": data.clean_loss}
    off = {words: abs(lm.at_end(loss) - floor) for words, loss in losses.items()}
    draw.groups(right, lm.stack(off, "labels"), "label_noise", "labels")
    draw.predicted(right, 0, r"paper: ends at $2\hat\epsilon_0$")
    for i, level in enumerate(data.label_noise.values):
        draw.claimed(right, claims["p4-loss-floor"], label=f"{level:.4g}", at=i)
    draw.from_zero(right)
    draw.finish(
        left,
        r"paper: slower with more noise, down to $2\epsilon_0$",
        "test loss (hinge, noisy labels)",
        r"time $\eta t$",
    )
    draw.finish(
        right,
        "how far from the floor the loss ends",
        r"|test loss − $2\hat\epsilon_0$| at the end",
        r"label noise $\epsilon_0$",
    )
    return figure

"""How many labels are needed (Figures 3.3, 3.6): success maps and minimal counts; what flipped ones do (Figure 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer import bounds
from lemmata.theories.graph_transformer.figures import TIME
from lemmata.theories.graph_transformer.measures import by_count, minimal_counts, succeeds
from lemmata.theories.graph_transformer.setting import SUCCESS

FIRST_TERM = "paper (3.9): first term, constant open"


def samples_fraction(data: xr.Dataset) -> Figure:
    """Success over (γ_d^-2, |L|), and the minimal counts beside C γ_d^-2 and the bound (3.9) with an open constant."""
    figure, axes = draw.panels(2, height=4.4)
    data = data.sortby("discriminative", ascending=False)
    gamma = data.discriminative.values
    laws = {r"paper: $|L|\propto\gamma_d^{-2}$": gamma**-2.0, FIRST_TERM: bounds.samples(gamma_d=gamma)}
    _counts(axes, data.full_loss, gamma**-2.0, r"$\gamma_d^{-2}$", "graph transformer (Figure 3.3a)", laws)
    return figure


def samples_confusion(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Success over (ε_S, |L|), minimal counts, and the loss by labelled count."""
    figure, axes = draw.panels(3, width=3.55, height=4.6)
    intact = lm.cells(data, defect="none").swap_dims(variant="confusion").sortby("confusion")
    x = (1 - intact.confusion.values) ** -2.0
    laws = {r"paper: $|L|\propto(1-\epsilon_S)^{-2}$": x}
    title = f"Figure 3.3b\n{_control(data)}"
    _counts(axes[:2], intact.full_loss, x, r"$(1-\epsilon_S)^{-2}$", title, laws)
    draw.curves(axes[2], intact.full_loss, "labelled", "confusion", r"$\epsilon_S$ = {}", middle="median")
    axes[2].axhline(SUCCESS, color=draw.GREY, linewidth=0.8, label=f"success: < {SUCCESS:g}")
    draw.claimed(axes[2], claims["p3-samples-loss"], "end", words=r"claimed, $\epsilon_S\leq$ 0.2")
    draw.loss_scale(axes[2], 1e-4)
    draw.numbers(axes[2], data.labelled.values, "labelled nodes $|L|$")
    draw.finish(axes[2], "paper: more labels do not hurt", "full test loss: median, every seed")
    return figure


def samples_error(data: xr.Dataset) -> Figure:
    """Success over (σ, |L|), and the minimal counts beside the bound (3.9) with an open constant."""
    figure, axes = draw.panels(2, height=4.4)
    sigma, words = data.value_error.values, r"initial error of the values $\sigma$"
    _counts(axes, data.full_loss, sigma, words, "graph transformer", {FIRST_TERM: bounds.samples(sigma=sigma)})
    return figure


def gcn_samples(data: xr.Dataset) -> Figure:
    """The same for a GCN on the core against γ_d^-4."""
    figure, axes = draw.panels(2, height=4.4)
    loss = by_count(data.full_loss).sortby("discriminative", ascending=False)
    x = loss.discriminative.values**-4.0
    title = f"GCN on the core (Figure 3.6)\n{_control(data)}"
    _counts(axes, loss, x, r"$\gamma_d^{-4}$", title, {r"paper: $|L|\propto\gamma_d^{-4}$": x})
    return figure


def _control(data: xr.Dataset) -> str:
    """How often training succeeds on permuted labels, with the most of them."""
    most = data.full_loss.isel(variant=data.defect.values != "none")
    rate = float(succeeds(most.isel(labelled=-1) if "labelled" in most.dims else most).mean())
    return f"control, labels permuted: {rate:.0%} succeed"


def _counts(
    axes: Sequence[Axes], loss: xr.DataArray, x: np.ndarray, words: str, title: str, laws: Mapping[str, Any]
) -> None:
    """Success over x and the labelled count; the minimal counts over x, beside laws whose constants are open."""
    left, right = axes
    success = succeeds(loss).where(loss.notnull())
    (axis,) = {*success.dims} - {"labelled", "seed"}
    draw.success_map(left, success.assign_coords({axis: [f"{value:.3g}" for value in x]}), str(axis), "labelled")
    draw.finish(left, f"{title}\nsuccess: full test loss < {SUCCESS:g}", "labelled nodes $|L|$", words)
    counts, grid = minimal_counts(success), success.labelled.values
    draw.curves(right, counts, str(axis), x=x, label="measured")
    for i, (law, values) in enumerate(laws.items()):
        draw.law(right, x, counts, values, law, color=("black", draw.GREEN)[i], linestyle=("--", ":")[i])
    if x.min() > 0:
        draw.numbers(right, x)
    right.set_yscale("log")
    right.set_yticks(grid, [f"{count:g}" for count in grid])
    right.minorticks_off()
    right.set_ylim(grid.min() / 1.5, 2.4 * grid.max())
    draw.finish(right, "minimal labelled count", "smallest $|L|$ (half of the runs succeed)", words, legend=1)


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
    title = r"paper: slower with more noise, down to $2\epsilon_0$"
    draw.finish(left, title, "test loss (hinge, noisy labels)", TIME)
    y = r"|test loss − $2\hat\epsilon_0$| at the end"
    draw.finish(right, "how far from the floor the loss ends", y, r"label noise $\epsilon_0$")
    return figure

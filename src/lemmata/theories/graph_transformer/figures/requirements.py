"""What training needs: iterations by η, ε_0 and δ (P2) and by γ_d (P8), a sampler that prefers (P6), labels (Figures
3.3, 3.6: success maps and minimal counts); and what flipped labels do (Figure 3.4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer import bounds, measures
from lemmata.theories.graph_transformer.figures import TIME, straight
from lemmata.theories.graph_transformer.figures.encoding import MODELS
from lemmata.theories.graph_transformer.measures import LEARNED, SAMPLER_CONFUSION, minimal_counts, succeeds
from lemmata.theories.graph_transformer.setting import SUCCESS, TIGHT, TRAINED
from lemmata.theories.graph_transformer.studies.random_samples import preferred_ratio

GAMMA = r"discriminative fraction $\gamma_d$"
MEANS = "geometric mean, and every seed"
FIRST_TERM = "paper (3.9): first term, constant open"
POWERS = {
    "step_size": ("by step size", r"step size $\eta$", r"\eta", -1.0),
    "label_noise": ("by label noise", r"$1-2\epsilon_0$, label noise $\epsilon_0$", r"(1-2\epsilon_0)", -1.0),
    "key_error": ("by initial error", r"$1-\delta$, initial error $\delta$", r"(1-\delta)", 0.0),
}
"""The sweeps of p2-step: title, words of the axis, what T is a power of, and the corrected exponent."""


def steps(data: xr.Dataset) -> Figure:
    """T against η, 1 - 2 ε_0 and 1 - δ with the printed exponent -1/2, the corrected one and the measured one."""
    figure, axes = draw.panels(3, width=3.55, height=4.8)
    for ax, (field, (title, words, formula, corrected)) in zip(axes, POWERS.items(), strict=True):
        times = measures.step_cells(data, field).trained_step.transpose("seed", field)
        x = measures.power_base(field, times[field]).values
        draw.curves(ax, times, field, label=MEANS, x=x, middle="geometric", linestyle="none")
        better = rf"corrected: $\propto{formula}^{{-1}}$" if corrected else r"corrected: no change with $\delta$"
        draw.law(ax, x, times, x**-0.5, rf"paper: $\propto{formula}^{{-1/2}}$")
        draw.law(ax, x, times, x**corrected, better, **draw.CORRECTED)
        draw.fit(ax, x, times.values, draw.BLUE)
        draw.numbers(ax, x, words)
        draw.log_y(ax)
        draw.finish(ax, title, rf"steps $T$ to clean training loss < {TRAINED:g}", legend=1)
    return figure


def gcn_iterations(data: xr.Dataset) -> Figure:
    """T of a GCN against γ_d^-2 for both tolerances: the reported line, and the measured power."""
    figure, (left, right) = draw.panels(2, height=4.4)
    gamma = data.discriminative.values
    x = gamma**-2.0
    tolerances = {f"loss < {LEARNED:g}": data.reached_step, f"loss < {TIGHT:g}": data.tight_step}
    times = lm.stack(tolerances, "tolerance").transpose("tolerance", "seed", "discriminative")
    draw.curves(left, times, "discriminative", "tolerance", x=x, linestyle="none")
    draw.curves(right, times, "discriminative", "tolerance", middle="geometric", linestyle="none")
    for i, rows in enumerate(times):
        straight(left, x, rows.values, draw.look(i).color)
        draw.fit(right, gamma, rows.values, draw.look(i).color)
        draw.law(right, gamma, rows, x, None if i else r"paper: $\propto\gamma_d^{-2}$")
    draw.from_zero(left)
    draw.numbers(right, gamma, GAMMA)
    draw.log_y(right)
    y = "steps $T$ of a GCN on the core"
    draw.finish(left, r"paper: a line in $\gamma_d^{-2}$ (Figure 3.7)", y, r"$\gamma_d^{-2}$")
    draw.finish(right, r"the same as a power of $\gamma_d$", y)
    return figure


def iterations(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """T of graph transformer and GCN by γ_d with the claimed powers 0 and -2, and how many times more a GCN needs."""
    figure, (left, right) = draw.panels(2, height=4.8)
    gamma = data.discriminative.values
    times = data.reached_step.transpose("variant", "seed", "discriminative")
    named = times.assign_coords(variant=[MODELS.get(label, label) for label in draw.labels_of(times, "variant")])
    draw.curves(left, named, "discriminative", "variant", middle="geometric", linestyle="none")
    for i, rows in enumerate(times):
        color, is_gcn = draw.look(i).color, str(rows.variant.values).startswith("GCN")
        power, words = (-2.0, r"paper: $\propto\gamma_d^{-2}$") if is_gcn else (0.0, "paper: no change")
        draw.fit(left, gamma, rows.values, color)
        draw.law(left, gamma, rows, gamma**power, words, color=color)
    draw.numbers(left, gamma, GAMMA)
    draw.log_y(left)
    draw.finish(left, "iterations", f"steps $T$ to test loss < {LEARNED:g}")
    fast, slow = times.sel(variant="GT core", drop=True), times.sel(variant="GCN core", drop=True)
    ratio = (slow / fast).where(np.isfinite(fast))
    draw.curves(right, ratio, "discriminative", label=MEANS, color=draw.RED, middle="geometric")
    draw.law(right, gamma, ratio, gamma**-2.0, r"paper: $\propto\gamma_d^{-2}$")
    draw.claimed(right, claims["p8-ratio-start"], words=rf"claimed at $\gamma_d$ = {gamma.min():g}")
    draw.numbers(right, gamma, GAMMA)
    draw.from_zero(right)
    draw.finish(right, "how much longer a GCN takes", "$T$ of the GCN / $T$ of the GT, both on the core")
    return figure


def sampler(data: xr.Dataset) -> Figure:
    """The confusion ratio by preference β beside the formula, and the iterations."""
    figure, (left, right) = draw.panels(2, height=4.4)
    ratios = data.node_ratio.where(np.isfinite(data.node_ratio)).mean("watched")
    for i, (law, words) in enumerate((("biased", "with replacement"), ("biased_apart", "without replacement"))):
        kind = draw.look(i)
        style = {"label": words, "color": kind.color, "marker": kind.marker, "linestyle": "none" if i else "-"}
        for ax, values in ((left, ratios), (right, data.reached_step)):
            drawn = lm.cells(values, draw=law).sortby("preference")
            draw.curves(ax, drawn, "variant", x=drawn.preference.values, **style)
    beta = np.unique(data.preference.values)
    grid = np.geomspace(beta.min(), beta.max(), 60)
    formula = rf"paper: $\epsilon_S/(\epsilon_S+\beta(1-\epsilon_S))$, $\epsilon_S$ = {SAMPLER_CONFUSION:g}"
    draw.predicted(left, preferred_ratio(SAMPLER_CONFUSION, grid), formula, grid)
    for ax in (left, right):
        draw.numbers(ax, beta, r"weight $\beta$ of class-relevant nodes")
        draw.from_zero(ax)
    draw.finish(left, "what a sampler draws", r"confusion ratio $\epsilon_S'$, mean over nodes", legend=1)
    draw.finish(right, r"paper: fewer iterations as $\beta$ grows", f"steps $T$ to test loss < {LEARNED:g}", legend=1)
    return figure


def samples_fraction(data: xr.Dataset) -> Figure:
    """Success over (γ_d^-2, |L|), and the minimal counts beside C γ_d^-2 and the bound (3.9) with an open constant."""
    data = data.sortby("discriminative", ascending=False)
    gamma = data.discriminative.values
    laws = {r"paper: $|L|\propto\gamma_d^{-2}$": gamma**-2.0, FIRST_TERM: bounds.samples(gamma_d=gamma)}
    figure, axes = draw.panels(2, height=4.4)
    _counts(axes, data.full_loss, gamma**-2.0, r"$\gamma_d^{-2}$", "graph transformer (Figure 3.3a)", laws)
    counts = minimal_counts(succeeds(data.full_loss)).values
    bracket = bounds.bracket(gamma, measures.CONFUSION, measures.SIGMA)
    parts = {r"$\gamma_d^{-2}$": gamma**-2.0, "the bracket of (3.9)": bracket**-2.0}
    words = ", ".join(f"{measures.explained(x, counts):.2f} in {name}" for name, x in parts.items())
    draw.finish(axes[1], f"minimal labelled count, $R^2$ of a line:\n{words}", legend=1)
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
    loss = measures.by_count(data.full_loss).sortby("discriminative", ascending=False)
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
    """Test loss by share of flipped labels with the floor twice that share, how far from it the loss ends, and the lead
    of the encoding at small η t."""
    figure, (left, right, last) = draw.panels(3, width=3.55, height=4.6)
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
    leads, base = measures.small_leads(data).transpose("seed", "label_noise"), 1 - 2 * data.label_noise.values
    draw.curves(last, leads, "label_noise", x=base, label=MEANS, middle="geometric", linestyle="none")
    draw.law(last, base, leads, base**3.0, r"paper (B.24): $\propto(1-2\epsilon_0)^3$")
    draw.fit(last, base, leads.values, draw.BLUE)
    draw.numbers(last, base, r"$1-2\epsilon_0$")
    draw.finish(last, r"encoding at $\eta t$ = 5", r"$b_{z_m}$ less the largest other $b_z$", legend=1)
    return figure

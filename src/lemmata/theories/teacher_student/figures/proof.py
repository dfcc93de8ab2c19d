"""The three phases: on the loss curve, in (C_1, p), in full matrices, and which steps of the proof hold on the way."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, colour, labels_of, log_y, panels, present
from lemmata.theories.teacher_student.dynamics.reduced import Task, at_score, quasi_scale
from lemmata.theories.teacher_student.figures import (
    DERIVED,
    by_slope,
    ends,
    late_excess,
    legend,
    log_x,
    moment,
    positive,
    scalar_task,
)
from lemmata.theories.teacher_student.studies.proof import ALLOWED

REFERENCE = ("R2", "R1", "R3")
"""The reference runs, the one with the best separated phases first."""
TWIN, TWIN_OF = "twin", "R1"
PHASES = (
    ("phase 1:\nvalues fit", BLUE), ("phase 2:\nscores escape", ORANGE), ("phase 3:\npower law", GREEN),
)  # fmt: skip
STATES = (("not looked at", "#d0d0d0"), ("holds at every step", "#9ccfa5"), ("violated at some step", "#d98787"))


def along_run(data: xr.Dataset) -> Figure:
    """One run by phase, its portrait, the full-matrix twin on the recursion, and all checks of the proof."""
    figure, axes = panels(6, rows=2, width=5.3, height=4.7)
    loss, scales, checks, portrait_ax, twin, spare = axes
    spare.remove()
    grid = checks.get_subplotspec()
    assert grid is not None
    checks.set_subplotspec(grid.get_gridspec()[:, 2])
    names = present(data, "variant", REFERENCE) or labels_of(data, "variant")[:1]
    kappa = data.negative_slope.values
    cell = data.sel(variant=names[0], negative_slope=kappa.min()).isel(seed=0)
    words = _words(names[0], cell)
    _loss(loss, cell, words)
    _scales(scales, cell, words)
    for run, words, color in by_slope(data.sel(variant=names[0]).isel(seed=0)):
        _orbit(portrait_ax, run, words, color)
    _portrait_axes(portrait_ax, f"{names[0]}: the way through ($p$, $C_1$)")
    _twin(twin, data)
    _checks(checks, data)
    return figure


def _words(name: str, cell: xr.Dataset) -> str:
    task = scalar_task(cell)
    activation = {0.0: "ReLU", 1.0: "identity"}.get(task.slope, rf"$\kappa$ = {task.slope:g}")
    return rf"{name} ($D$ = {task.tokens:g}, $K$ = {task.support:g}), {activation}"


def _phases(ax: Axes, cell: xr.Dataset) -> None:
    """The three phases shaded and named, with t_1 and T* between them."""
    fitted, escape = float(cell.fitted_step), float(cell.escape_step)
    found = ends(cell.step)
    if found is None or not np.isfinite([fitted, escape]).all():
        return
    edges = [found[0], fitted, escape, max(found[1], 1.2 * escape)]
    for (words, color), left, right in zip(PHASES, edges[:-1], edges[1:], strict=True):
        if right <= left:
            continue
        ax.axvspan(left, right, color=color, alpha=0.12, linewidth=0)
        # a phase that is too short for its name has its number
        shown = words if right > 2.5 * left else words.split(":")[0].removeprefix("phase ")
        wide = right > 8 * left
        ax.text(
            np.sqrt(left * right) if wide else left * 1.07, 0.985, shown, transform=ax.get_xaxis_transform(),
            fontsize=8, va="top", color=color, ha="center" if wide else "left",
        )  # fmt: skip
    moment(ax, fitted, f"$t_1$ = {fitted:,.0f}", left=escape < 10 * fitted)
    moment(ax, escape, f"$T^*$ = {escape:,.0f}", left=escape >= 10 * fitted)
    ax.set_xlim(edges[0], edges[-1] * 1.9)


def _loss(ax: Axes, cell: xr.Dataset, words: str) -> None:
    """The excess loss, with the derived late law."""
    ax.plot(positive(cell.step), positive(cell.excess), color=BLUE, marker="o", markersize=3, label="excess loss")
    ax.plot(positive(cell.step), late_excess(cell, 0.6), label=r"derived, $T\gg T^*$: $KD(D-K)/(4\eta T)$", **DERIVED)
    log_x(ax)
    log_y(ax)
    found = ends(cell.excess)
    if found is not None:
        ax.set_ylim(found[0] / 2.5, found[1] * 6)
    _phases(ax, cell)
    ax.set_ylabel(r"excess loss $\mathcal{L}-\mathcal{L}_{opt}$")
    ax.set_title(f"three phases on the loss curve: {words}", fontsize=9.5)
    legend(ax)


def _scales(ax: Axes, cell: xr.Dataset, words: str) -> None:
    """C_1 on its quasi-stationary value, and the mass on the supports."""
    step = positive(cell.step)
    task = scalar_task(cell)
    ax.plot(step, cell.value, color=BLUE, marker="o", markersize=3, label="$C_1$, scale of the values")
    ax.plot(step, cell.quasi_scale, label="paper: $C_1^*$, its minimiser at this $p$", **PREDICTED)
    ax.plot(step, task.support * cell.score, color=RED, marker="s", markersize=3, label="$Kp$, mass on the support")
    peak = (1 + np.sqrt(task.tokens / task.support)) / 2
    ax.axhline(peak, label=rf"derived peak, identity: $(1+\sqrt{{D/K}})/2$ = {peak:.2f}", **DERIVED)
    log_x(ax)
    ax.set_ylim(-0.25, 1.3 * max(peak, float(cell.value.max()) if np.isfinite(cell.value).any() else peak))
    _phases(ax, cell)
    ax.set_ylabel("$C_1$, $C_1^*$, $Kp$")
    ax.set_title("values fit first, then attention escapes", fontsize=9.5)
    legend(ax)


def _orbit(ax: Axes, run: xr.Dataset, words: str, color: str) -> None:
    """The way of one run through (p, C_1), the curve C_1*(p) of its activation, and where it is at t_1 and T*."""
    task = scalar_task(run)
    # records far apart are not joined: the chords would leave the way
    line = 0.6 if run.sizes["record"] >= 100 else 0.0
    ax.plot(run.score, run.value, color=color, marker="o", markersize=3, linewidth=line, label=f"run, {words}")
    _stationary(ax, task)
    for name, mark in (("fitted_step", "^"), ("escape_step", "*")):
        off = abs(np.log(positive(run.step) / run[name]))
        if np.isfinite(off).any():
            at = run.isel(record=int(off.fillna(np.inf).argmin("record")))
            ax.plot(at.score, at.value, mark, color=color, markersize=9, markeredgecolor="black", zorder=4)


def _stationary(ax: Axes, task: Task) -> None:
    """C_1* from p = 1/D to 1/K."""
    if not np.isfinite(task.tokens):
        return
    p = np.geomspace(1 / task.tokens, 1 / task.support, 200)
    words = "paper: $C_1^*(p)$"
    label = None if words in ax.get_legend_handles_labels()[1] else words
    ax.plot(p, quasi_scale(task, at_score(task, p)), label=label, zorder=3, **PREDICTED)


def _portrait_axes(ax: Axes, title: str, columns: int = 2) -> None:
    for mark, words in (("^", "at $t_1$"), ("*", "at $T^*$")):
        ax.plot([], [], mark, color=GREY, markersize=8, markeredgecolor="black", label=f"{words} (nearest record)")
    log_x(ax, "score $p$ on the supports, from $1/D$ to $1/K$", plain=True)
    ax.set_ylabel("$C_1$, scale of the values")
    ax.set_title(title, fontsize=9.5)
    legend(ax, columns)


def _twin(ax: Axes, data: xr.Dataset) -> None:
    """Population gradient descent in full matrices on the recursion, in three quantities."""
    if not present(data, "variant", [TWIN]) or not present(data, "variant", [TWIN_OF]):
        ax.set_axis_off()
        return
    pairs = data.isel(seed=0).sel(negative_slope=data.negative_slope.values.min())
    full, exact = pairs.sel(variant=TWIN), pairs.sel(variant=TWIN_OF)
    start = float(exact.excess.isel(record=0))
    shown = (
        ("value", "$C_1$", 1.0, BLUE, "o"), ("score", "$Kp$", float(exact.support_count), RED, "s"),
        ("excess", "excess / excess(0)", 1 / start, GREEN, "^"),
    )  # fmt: skip
    for name, words, factor, color, mark in shown:
        apart = float(abs(full[name] - exact[name]).max() / (start if name == "excess" else 1))
        label = rf"{words}, full matrices (apart $\leq$ {apart:.0e})"
        style = {"marker": mark, "linestyle": "none", "markersize": 4, "markerfacecolor": "none"}
        ax.plot(positive(full.step), factor * full[name], color=color, label=label, **style)
        ax.plot(positive(exact.step), factor * exact[name], label="paper: recursion" if name == "value" else None,
                **PREDICTED)  # fmt: skip
    log_x(ax)
    ax.set_ylabel("$C_1$, $Kp$, relative excess")
    ax.set_title(f"full-matrix gradient descent on the recursion: {_words(TWIN_OF, exact)}", fontsize=9.5)
    legend(ax, 1)


def _checks(ax: Axes, data: xr.Dataset) -> None:
    """For every check of the proof and every run of the recursion: in how many activations a step violates it."""
    runs = [name for name in labels_of(data, "variant") if name != TWIN]
    if not runs:
        ax.set_axis_off()
        return
    checks = [name for name in labels_of(data, "check") if np.isfinite(ALLOWED.get(name, 0.0))]
    part = data[["counted", "violated_step"]].sel(variant=runs, check=checks).isel(seed=0)
    # the upper bound of T3a is an equality for the identity alone
    part = part.where((part.check != "upper_equal") | (part.negative_slope == 1))
    seen = (part.counted > 0).any("negative_slope")
    broken = np.isfinite(part.violated_step).any("negative_slope")
    state = xr.where(seen, xr.where(broken, 2, 1), 0).transpose("check", "variant")
    ax.grid(False)
    ax.imshow(state, cmap=ListedColormap([c for _, c in STATES]), vmin=0, vmax=2, aspect="auto")
    for i, check in enumerate(checks):
        for j, run in enumerate(runs):
            cell = part.sel(check=check, variant=run)
            first = cell.violated_step.where(np.isfinite(cell.violated_step))
            if np.isfinite(first).any():
                ax.text(j, i, f"t={float(first.min()):.0f}", ha="center", va="center", fontsize=7.5)
    ax.set_xticks(range(len(runs)), runs, fontsize=8, rotation=30)
    ax.set_yticks(range(len(checks)), [check.replace("_", " ") for check in checks], fontsize=8)
    ax.set_xlabel("run of the recursion, all activations together")
    words = "(first step that violates one; R1 to R3 meet the conditions)"
    ax.set_title(f"checks of the proof at every step\n{words}", fontsize=9.5)
    patches = [Patch(color=color, label=words) for words, color in STATES]
    ax.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=1, fontsize=7.5, frameon=False)


def portrait(data: xr.Dataset) -> Figure:
    """The way through (p, C_1) for separated and unseparated phases, one panel an activation."""
    found = list(by_slope(data.isel(seed=0)))
    figure, axes = panels(len(found), width=5.2, height=4.6, sharey=True)
    for ax, (cells, words, _) in zip(axes, found, strict=True):
        for i, label in enumerate(labels_of(data, "chi")):
            run = cells.sel(chi=label)
            separation = float(run.separation)
            _orbit(ax, run, rf"$\chi$ = {separation:.3g}", colour(i))
        _portrait_axes(ax, f"{words}: separated phases (small $\\chi$) follow $C_1^*$")
    return figure

"""The three phases: on the loss curve, in (C_1, p), in full matrices, and which steps of the proof hold on the way."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lemmata import figures as draw
from lemmata.theories.teacher_student.dynamics.reduced import at_score, quasi_scale
from lemmata.theories.teacher_student.figures import EXCESS, STEP, activations, extent, late_excess, scalar_task
from lemmata.theories.teacher_student.studies.proof import ALLOWED

REFERENCE = ("R2", "R1", "R3")
"""The reference runs, the one with the best separated phases first."""
TWIN, TWIN_OF = "twin", "R1"
RUNS = {"wide": r"$\chi$ = 0.1", "fast": r"$\chi$ = 0.02", "unstable": r"large $\eta$", "frozen": "frozen\nattention"}
PHASES = {"1: values fit": draw.BLUE, "2: scores escape": draw.ORANGE, "3: power law": draw.GREEN}
STATES = {"not looked at": "#e4e4e4", "holds at every step": draw.SKY, "violated, from step t": draw.ORANGE}
CHECKS = {
    "score_range": "C.2: 1/D ≤ p < 1/K", "score_rise": "C.2: p grows", "logit_sign": "C.2: C₂, C₃ ≥ 0",
    "logit_rise": "C.2: C₂, C₃ never fall", "value_sign": "C.2: C₁ ≥ 0", "value_bound": "C.4: C₁ ≤ √((D+1)/K)",
    "deviation": "C.5: α ≤ 4/5", "early": "C.5: C₁ ≤ C₁* early", "increment": "C.7: growth of C₂ + C₃",
    "quotient_high": "(C.33): upper", "quotient_low": "(C.33): lower", "increment_upper": "C.9: Δp, upper",
    "increment_lower": "C.9: Δp, lower", "increment_exact": "C.9: Δp, exact", "logit_step": "C.9: one step of C₂ + C₃",
    "value_drop": "C.11: fall of C₁*", "width_drop": "C.12: fall of h", "value_path": "C.13: path of C₁",
    "plateau": "C.13: p ≈ 1/D", "value_lower": "C.15: C₁ ≥ 0.95 C₁*", "value_rise": "C.16: rise of C₁*",
    "product": "(C.35): pC₁ near 1/K", "upper": "Th. 3.1: excess, upper", "upper_equal": "Th. 3.1: equal, κ = 1",
    "lower": "Th. 3.1: excess, lower", "slow": "6.1: slow manifold",
}  # fmt: skip
"""The checks of the proof in words, with their lemma."""


def along_run(data: xr.Dataset) -> Figure:
    """One run by phase, its portrait, the full-matrix twin on the recursion, and all checks of the proof."""
    figure, (loss, scales, checks, portrait_ax, twin, spare) = draw.panels(6, rows=2, width=5.3, height=4.6)
    spare.remove()
    place = checks.get_subplotspec()
    assert place is not None
    checks.set_subplotspec(place.get_gridspec()[:, 2])
    name = (draw.present(data, "variant", REFERENCE) or draw.labels_of(data, "variant"))[0]
    runs = activations(data.sel(variant=name).isel(seed=0))
    cell = runs.isel(activation=int(runs.negative_slope.argmin()))
    _loss(loss, cell, name)
    _scales(scales, cell)
    for i in range(runs.sizes["activation"]):
        _orbit(portrait_ax, runs.isel(activation=i), f"run, {runs.activation.values[i]}", draw.look(i))
    _portrait_words(portrait_ax, f"{name}: the way through ($p$, $C_1$)")
    _twin(twin, data)
    _checks(checks, data)
    return figure


def _phases(ax: Axes, cell: xr.Dataset) -> None:
    """The three phases shaded, with t_1 and T* between them."""
    fitted, escape, times = float(cell.fitted_step), float(cell.escape_step), extent(cell.step)
    if times is None or not np.isfinite([fitted, escape]).all():
        return
    edges = [times[0], fitted, escape, max(times[1], 1.2 * escape)]
    for (words, color), left, right in zip(PHASES.items(), edges[:-1], edges[1:], strict=True):
        if right > left:
            ax.axvspan(left, right, color=color, alpha=0.12, linewidth=0, label=f"phase {words}")
    draw.moment(ax, fitted, f"$t_1$ = {fitted:,.0f}", left=escape < 10 * fitted)
    draw.moment(ax, escape, f"$T^*$ = {escape:,.0f}", left=escape >= 10 * fitted)
    ax.set_xlim(edges[0], edges[-1] * 1.5)


def _loss(ax: Axes, cell: xr.Dataset, name: str) -> None:
    """The excess loss, with the derived late law."""
    step, task = draw.positive(cell.step), scalar_task(cell)
    ax.plot(step, draw.positive(cell.excess), color=draw.BLUE, marker="o", markersize=3, label="excess loss")
    draw.corrected(ax, late_excess(cell, 0.6), r"derived, $T\gg T^*$: $KD(D-K)/(4\eta T)$", step)
    draw.log_x(ax)
    draw.log_y(ax)
    _phases(ax, cell)
    words = f"$D$ = {task.tokens:g}, $K$ = {task.support:g}, {cell.activation.item()}"
    draw.finish(ax, f"three phases on the loss curve: {name} ({words})", EXCESS, STEP)


def _scales(ax: Axes, cell: xr.Dataset) -> None:
    """C_1 on its quasi-stationary value, and the mass on the supports."""
    step, task = draw.positive(cell.step), scalar_task(cell)
    ax.plot(step, cell.value, color=draw.BLUE, marker="o", markersize=3, label="$C_1$, scale of the values")
    draw.predicted(ax, cell.quasi_scale, "paper: $C_1^*$, its minimiser at this $p$", step)
    mass = task.support * cell.score
    ax.plot(step, mass, color=draw.RED, marker="s", markersize=3, label="$Kp$, mass on the support")
    peak = (1 + np.sqrt(task.tokens / task.support)) / 2
    draw.corrected(ax, peak, rf"derived peak, identity: $(1+\sqrt{{D/K}})/2$ = {peak:.2f}")
    draw.log_x(ax)
    _phases(ax, cell)
    draw.finish(ax, "values fit first, then attention escapes", "$C_1$, $C_1^*$, $Kp$", STEP)


def _orbit(ax: Axes, run: xr.Dataset, words: str, kind: draw.Look) -> None:
    """The way of one run through (p, C_1), the curve C_1*(p) of its activation, and where it is at t_1 and T*."""
    task = scalar_task(run)
    # records far apart are not joined: the chords would leave the way
    line = 0.6 if run.sizes["record"] >= 100 else 0.0
    ax.plot(run.score, run.value, color=kind.color, marker=kind.marker, markersize=3, linewidth=line, label=words)
    if np.isfinite(task.tokens):
        p = np.geomspace(1 / task.tokens, 1 / task.support, 200)
        known = "paper: $C_1^*(p)$" in ax.get_legend_handles_labels()[1]
        draw.predicted(ax, quasi_scale(task, at_score(task, p)), None if known else "paper: $C_1^*(p)$", p, zorder=3)
    for name, mark in (("fitted_step", "^"), ("escape_step", "*")):
        off = abs(np.log(draw.positive(run.step) / run[name])).fillna(np.inf)
        if np.isfinite(off).any():
            at = run.isel(record=int(off.argmin("record")))
            ax.plot(at.score, at.value, mark, color=kind.color, markersize=9, markeredgecolor="black", zorder=4)


def _portrait_words(ax: Axes, title: str) -> None:
    for mark, words in (("^", "at $t_1$"), ("*", "at $T^*$")):
        label = f"{words} (nearest record)"
        ax.plot([], [], mark, color=draw.GREY, markersize=8, markeredgecolor="black", label=label)
    draw.log_x(ax)
    draw.finish(ax, title, "$C_1$, scale of the values", "score $p$ on the supports, from $1/D$ to $1/K$")


def _twin(ax: Axes, data: xr.Dataset) -> None:
    """Population gradient descent in full matrices on the recursion, in three quantities."""
    if len(draw.present(data, "variant", [TWIN, TWIN_OF])) < 2:
        ax.set_axis_off()
        return
    pairs = data.isel(seed=0).sel(negative_slope=data.negative_slope.values.min())
    full, exact = pairs.sel(variant=TWIN), pairs.sel(variant=TWIN_OF)
    units = {"value": ("$C_1$", 1.0), "score": ("$Kp$", exact.support_count), "excess": ("excess / excess(0)", None)}
    for i, (name, (words, factor)) in enumerate(units.items()):
        factor, kind = 1 / exact.excess.isel(record=0) if factor is None else factor, draw.look(i)
        apart = float((factor * abs(full[name] - exact[name])).max())
        style = {"marker": kind.marker, "linestyle": "none", "markersize": 4, "markerfacecolor": "none"}
        label = rf"{words}, full matrices (apart $\leq$ {apart:.0e})"
        ax.plot(draw.positive(full.step), factor * full[name], color=kind.color, label=label, **style)
        curve, step = factor * exact[name], draw.positive(exact.step)
        draw.predicted(ax, curve, None if i else "paper: the recursion", step)
    draw.log_x(ax)
    title = f"full-matrix gradient descent on the recursion: {TWIN_OF}"
    draw.finish(ax, title, "$C_1$, $Kp$, relative excess", STEP, legend=1)


def _checks(ax: Axes, data: xr.Dataset) -> None:
    """For every check of the proof and every run of the recursion: whether a step violates it, in any activation."""
    runs = [name for name in draw.labels_of(data, "variant") if name != TWIN]
    checks = [name for name in draw.labels_of(data, "check") if np.isfinite(ALLOWED.get(name, 0.0))]
    if not runs:
        ax.set_axis_off()
        return
    seen = data[["counted", "violated_step"]].sel(variant=runs, check=checks).isel(seed=0)
    # the upper bound of T3a is an equality for the identity alone
    seen = seen.where((seen.check != "upper_equal") | (seen.negative_slope == 1))
    first = seen.violated_step.min("negative_slope").transpose("check", "variant").values
    looked = (seen.counted > 0).any("negative_slope").transpose("check", "variant").values
    state = np.where(looked, np.where(np.isfinite(first), 2, 1), 0)
    ax.grid(False)
    ax.imshow(state, cmap=ListedColormap(list(STATES.values())), vmin=0, vmax=2, aspect="auto")
    for i, j in np.argwhere(state == 2):
        ax.text(j, i, f"{first[i, j]:.0f}", ha="center", va="center", fontsize=7.5)
    draw.names(ax, [RUNS.get(name, name) for name in runs])
    ax.set_yticks(range(len(checks)), [CHECKS.get(name, draw.word(name)) for name in checks], fontsize=8)
    ax.set_ylim(len(checks) - 0.5, -0.5)
    patches = [Patch(color=color, label=words) for words, color in STATES.items()]
    ax.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.07), ncols=1, fontsize=8, frameon=False)
    title = "the proof at every step (R1 to R3 meet its conditions)"
    draw.finish(ax, title, "lemma of the paper", "run of the recursion, all activations", legend=0)


def portrait(data: xr.Dataset) -> Figure:
    """The way through (p, C_1) for separated and unseparated phases, one panel an activation."""
    named = activations(data.isel(seed=0))
    figure, axes = draw.panels(named.sizes["activation"], width=5.2, height=4.6, sharey=True)
    for ax, words in zip(axes, named.activation.values, strict=True):
        for i, label in enumerate(draw.labels_of(data, "chi")):
            run = named.sel(chi=label, activation=words)
            _orbit(ax, run, rf"run, $\chi$ = {float(run.separation):.3g}", draw.look(i))
        _portrait_words(ax, f"{words}: separated phases (small $\\chi$) follow $C_1^*$")
    return figure

"""The pattern of 6.1 in full matrices and what breaks it, the three phases, and which steps of the proof hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.dynamics.reduced import at_score, quasi_scale
from lemmata.theories.teacher_student.figures import EXCESS, loglog, named, plain_task
from lemmata.theories.teacher_student.measures import excess_law
from lemmata.theories.teacher_student.setting import SEPARATED
from lemmata.theories.teacher_student.studies.proof import CHECKS

TEACHERS = {"cnn": "CNN", "regular": "regular graph", "sts": "token selection", "supports": "random supports"}
"""Teachers with equal ‖V*‖²."""
RECURSION, OTHER = "recursion", "equal_sum"
POINTS: dict[str, Any] = {"linestyle": "none", "markersize": 5, "markerfacecolor": "none"}
REFERENCE = ("R2", "R1", "R3")
"""The reference runs, the one with the best separated phases first."""
TWIN, TWIN_OF = "twin", "R1"
PHASES = {"phase 1:\nvalues fit": draw.BLUE, "phase 2:\nscores escape": draw.ORANGE, "phase 3:\npower law": draw.GREEN}
STATES = {"not looked at": "#e0e0e0", "holds at every step": "#bfdcee", "violated, first at step t": "#f2a477"}
BROKEN = {"unstable": "large $\\eta$", "frozen": "fixed $S$"}
"""What is broken in a run whose χ does not say it."""


def pattern(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """C_1 and p of every teacher and basis on the recursion, and the distance of all variants from it."""
    figure, (value, score, off) = draw.panels(3, width=4.6, height=4.4)
    data = named(data)
    for ax, name in ((value, "value"), (score, "score")):
        intact = data.sel(variant=draw.present(data, "variant", list(TEACHERS)))
        if intact.sizes["variant"]:
            draw.paths(ax, intact, name, "activation", clock=draw.positive(intact.step), marker="o", **POINTS)
        for variant in draw.present(data, "variant", [OTHER]):
            cells = data.sel(variant=variant).isel(activation=-1)
            words = f"control: other $\\|V^*\\|_F^2$, {cells.activation.item()}"
            draw.paths(ax, cells, name, "", words, draw.GREY, clock=draw.positive(cells.step), marker="x", **POINTS)
        for variant in draw.present(data, "variant", [RECURSION]):
            _recursions(ax, data.sel(variant=variant).isel(positions=0), name, "activation")
        draw.log_x(ax)
        bases = " and ".join(draw.labels_of(data, "positions"))
        title = f"{intact.sizes['variant']} teachers, bases {bases}: one recursion"
        symbol = "$C_1$ in $W_V=C_1V^*$" if name == "value" else "score $p$ on the supports"
        draw.finish(ax, title, symbol, "training step $t$")
    kept = [variant for variant in draw.labels_of(data, "variant") if variant not in (RECURSION, OTHER)]
    worst = np.maximum(data.worst_values, data.worst_scores).clip(1e-17).sel(variant=kept)
    draw.groups(off, worst, "variant", label="all runs", words=TEACHERS, sideways=True, middle="median", markersize=3.5)
    draw.claimed(off, claims["p1-pattern"], words="paper: teachers keep it; claimed", across=True)
    off.invert_yaxis()
    draw.log_x(off)
    words = r"largest $|W_V-C_1V^*|$ or $|S-$pattern$|$ at any step"
    draw.finish(off, "what keeps the pattern, and what breaks it", "", words)
    return figure


def _recursions(ax: Axes, data: xr.Dataset, name: str, by: str, pace: Any = 1.0) -> None:
    """The recursion of the first seed at every label of an axis, over t / pace."""
    for i, label in enumerate(data[by].values):
        cell = data.sel({by: label}).isel(seed=0)
        x = draw.positive(cell.step) / (pace.sel({by: label}) if isinstance(pace, xr.DataArray) else pace)
        draw.predicted(ax, cell[name], None if i else "paper: the recursion", x)


def temperature(data: xr.Dataset) -> Figure:
    """Scores over steps and over steps by temperature squared: full matrices on the recursion at every temperature."""
    figure, (plain, scaled) = draw.panels(2, width=5.2, height=4.2)
    for ax, pace, words in (
        (plain, xr.ones_like(data.temperature), "training step $t$"),
        (scaled, data.temperature**2, r"steps over squared temperature, $t/τ^2$"),
    ):
        for kind in draw.present(data, "dynamics", ["population"]):
            cells = data.sel(dynamics=kind)
            times = draw.positive(cells.step) / pace
            draw.paths(ax, cells, "score", "temperature", "full matrices, τ = {}", clock=times, marker="o", **POINTS)
        for kind in draw.present(data, "dynamics", [RECURSION]):
            _recursions(ax, data.sel(dynamics=kind), "score", "temperature", pace)
        draw.predicted(ax, float(1 / data.support_count.max()), "target $1/K$", **draw.CLAIMED)
        draw.log_x(ax)
        title = r"softmax of logits / (τ$\sqrt{D}$)" if ax is plain else "in its own time: phase 2 collapses"
        draw.finish(ax, title, "score $p$ on the supports", words)
    return figure


def along_run(data: xr.Dataset) -> Figure:
    """One run by phase, its portrait, the full-matrix twin on the recursion, and all checks of the proof."""
    figure, (loss, scales, checks, way, twin, spare) = draw.panels(6, rows=2, width=4.7, height=4.5)
    spare.remove()
    grid = checks.get_subplotspec()
    assert grid is not None
    checks.set_subplotspec(grid.get_gridspec()[:, 2])
    data = named(data).isel(seed=0)
    name = (draw.present(data, "variant", REFERENCE) or draw.labels_of(data, "variant"))[0]
    run = data.sel(variant=name).isel(activation=-1)
    _loss(loss, run, _words(name, run))
    _scales(scales, run)
    for i, activation in enumerate(data.activation.values):
        _orbit(way, data.sel(variant=name, activation=activation), activation, draw.look(i))
    _portrait_axes(way, f"{name}: the way through ($p$, $C_1$)")
    _twin(twin, data.isel(activation=-1))
    _checks(checks, data)
    return figure


def _words(name: str, run: xr.Dataset) -> str:
    return rf"{name} ($D$ = {float(run.token_count):g}, $K$ = {float(run.support_count):g}), {run.activation.item()}"


def _phases(ax: Axes, run: xr.Dataset) -> None:
    """The three phases shaded and named, with t_1 and T* between them."""
    fitted, escape, steps = float(run.fitted_step), float(run.escape_step), draw.positive(run.step)
    if not np.isfinite([fitted, escape, steps.max()]).all():
        return
    edges = [float(steps.min()), fitted, escape, max(float(steps.max()), 1.2 * escape)]
    for (words, color), left, right in zip(PHASES.items(), edges[:-1], edges[1:], strict=True):
        if right > left:
            ax.axvspan(left, right, color=color, alpha=0.12, linewidth=0)
            # a phase that is too short for its name has its number
            shown = words if right > 2.5 * left else words.split(":")[0].removeprefix("phase ")
            x, side = (np.sqrt(left * right), "center") if right > 8 * left else (1.07 * left, "left")
            ax.text(x, 0.985, shown, transform=ax.get_xaxis_transform(), fontsize=8, va="top", ha=side)
    draw.moment(ax, fitted, f"$t_1$ = {fitted:,.0f}", left=escape < 10 * fitted)
    draw.moment(ax, escape, f"$T^*$ = {escape:,.0f}", left=escape >= 10 * fitted)
    ax.set_xlim(edges[0], edges[-1] * 1.9)


def _loss(ax: Axes, run: xr.Dataset, words: str) -> None:
    draw.paths(ax, run, draw.positive(run.excess), label="excess loss", marker="o", markersize=3, spread="")
    late = excess_law(run.where(run.step >= 0.6 * run.escape_step))
    draw.corrected(ax, late, r"derived, $T\gg T^*$: $KD(D-K)/(4\eta T)$", run.step)
    loglog(ax)
    low, high = ax.get_ylim()
    ax.set_ylim(low / 1.5, 6 * high)
    _phases(ax, run)
    draw.finish(ax, f"{words}: phases of the loss", EXCESS, "training step $t$", legend=1)


def _scales(ax: Axes, run: xr.Dataset) -> None:
    """C_1 on its quasi-stationary value, and the mass on the supports."""
    steps, peak = draw.positive(run.step), float((1 + np.sqrt(run.token_count / run.support_count)) / 2)
    ax.plot(steps, run.value, "o-", color=draw.BLUE, markersize=3, label="$C_1$, scale of the values")
    draw.predicted(ax, run.quasi_scale, "paper: $C_1^*$, its minimiser at this $p$", steps)
    ax.plot(steps, run.support_count * run.score, "s-", color=draw.RED, markersize=3, label="$Kp$, mass on the support")
    draw.corrected(ax, peak, rf"derived peak, identity: $(1+\sqrt{{D/K}})/2$ = {peak:.2f}")
    draw.log_x(ax)
    ax.set_ylim(-0.25, 1.3 * max(peak, np.nanmax(run.value)))
    _phases(ax, run)
    draw.finish(ax, "values fit first, then attention escapes", "$C_1$, $C_1^*$, $Kp$", "training step $t$", legend=1)


def _orbit(ax: Axes, run: xr.Dataset, words: str, look: draw.Look) -> None:
    """The way of one run through (p, C_1), the curve C_1*(p) of its activation, and where it is at t_1 and T*."""
    task = plain_task(run)
    # records far apart are not joined: the chords would leave the way
    how = {"marker": look.marker, "markersize": 3, "linewidth": 0.6 if run.sizes["record"] >= 100 else 0.0}
    ax.plot(run.score, run.value, color=look.color, label=f"run, {words}", **how)
    if np.isfinite(task.tokens):
        p = np.geomspace(1 / task.tokens, 1 / task.support, 200)
        known = "paper: $C_1^*(p)$" in ax.get_legend_handles_labels()[1]
        draw.predicted(ax, quasi_scale(task, at_score(task, p)), None if known else "paper: $C_1^*(p)$", p, zorder=3)
        draw.numbers(ax, p[[0, 66, 133, 199]])
    for moment, mark in ((run.fitted_step, "^"), (run.escape_step, "*")):
        off = abs(np.log(draw.positive(run.step) / moment)).fillna(np.inf)
        if np.isfinite(off).any():
            at = run.isel(record=int(off.argmin("record")))
            ax.plot(at.score, at.value, mark, color=look.color, markersize=10, markeredgecolor="black", zorder=4)


def _portrait_axes(ax: Axes, title: str) -> None:
    for mark, words in (("^", "at $t_1$"), ("*", "at $T^*$")):
        ax.plot([], [], mark, color=draw.GREY, markersize=8, markeredgecolor="black", label=f"{words} (nearest record)")
    draw.finish(ax, title, "$C_1$, scale of the values", "score $p$ on the supports, from $1/D$ to $1/K$")


def _twin(ax: Axes, data: xr.Dataset) -> None:
    """Population gradient descent in full matrices on the recursion, in three quantities."""
    if len(draw.present(data, "variant", [TWIN, TWIN_OF])) < 2:
        ax.set_axis_off()
        return
    full, exact = data.sel(variant=TWIN), data.sel(variant=TWIN_OF)
    start, K = float(exact.excess.isel(record=0)), float(exact.support_count)
    shown = {"value": ("$C_1$", 1.0), "score": ("$Kp$", K), "excess": ("excess / excess(0)", 1 / start)}
    for i, (name, (words, factor)) in enumerate(shown.items()):
        apart = factor * float(abs(full[name] - exact[name]).max())
        how = {"color": draw.look(i).color, "markersize": 4, "markerfacecolor": "none"}
        label = rf"{words}, full matrices (apart $\leq$ {apart:.0e})"
        ax.plot(draw.positive(full.step), factor * full[name], draw.look(i).marker, label=label, **how)
        draw.predicted(ax, factor * exact[name], None if i else "paper: the recursion", draw.positive(exact.step))
    draw.log_x(ax)
    title = f"{_words(TWIN_OF, exact)}: full matrices"
    draw.finish(ax, title, "$C_1$, $Kp$, relative excess", "training step $t$", legend=1)


def _checks(ax: Axes, data: xr.Dataset) -> None:
    """For every check and every run of the recursion: the first step, in any activation, that violates it."""
    runs = [name for name in draw.labels_of(data, "variant") if name != TWIN]
    if not runs:
        ax.set_axis_off()
        return
    shown = {name: words for name, (_, words) in CHECKS.items() if words}
    cells = data[["counted", "violated_step"]].sel(variant=runs, check=list(shown))
    # the upper bound of T3a is an equality for the identity alone
    cells = cells.where((cells.check != "upper_equal") | (cells.activation == "identity"))
    first = cells.violated_step.min("activation").transpose("check", "variant")
    seen = (cells.counted > 0).any("activation").transpose("check", "variant")
    ax.grid(False)
    state = xr.where(seen, xr.where(np.isfinite(first), 2, 1), 0)
    ax.imshow(state, cmap=ListedColormap(list(STATES.values())), vmin=0, vmax=2, aspect="auto")
    for row, column in zip(*np.nonzero(state.values == 2), strict=True):
        ax.text(column, row, f"t={float(first[row, column]):.0f}", ha="center", va="center", fontsize=8)
    separation = data.separation.sel(variant=runs).isel(activation=0).values
    words = [BROKEN.get(name, f"{chi:.1g}") for name, chi in zip(runs, separation, strict=True)]
    ax.set_xticks(range(len(runs)), [f"{name}\n{what}" for name, what in zip(runs, words, strict=True)], fontsize=8)
    ax.set_yticks(range(len(shown)), list(shown.values()), fontsize=8)
    patches = [Patch(color=color, label=words) for words, color in STATES.items()]
    ax.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.3, -0.08), ncols=2, fontsize=8, frameon=False)
    title = f"the proof at every step, all $\\kappa$\n(its conditions are met for $\\chi\\leq${SEPARATED:g})"
    draw.finish(ax, title, x="run of the recursion, and $\\chi$ or what is broken", legend=0)


def portrait(data: xr.Dataset) -> Figure:
    """The way through (p, C_1) for separated and unseparated phases, one panel an activation."""
    data = named(data).isel(seed=0)
    figure, axes = draw.panels(data.sizes["activation"], width=4.7, height=4.5, sharey=True)
    for ax, activation in zip(axes, data.activation.values, strict=True):
        for i in range(data.sizes["chi"]):
            run = data.sel(activation=activation).isel(chi=i)
            _orbit(ax, run, rf"$\chi$ = {float(run.separation):.3g}", draw.look(i))
        _portrait_axes(ax, f"{activation}: small $\\chi$, separated phases, follows $C_1^*$")
    return figure

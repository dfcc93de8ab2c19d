"""What training needs: iterations (P2, figure E.1 right), tasks (figure E.2), contexts (figure E.1 left)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    ORANGE,
    PREDICTED,
    colour,
    dodge,
    from_zero,
    log_numbers,
    log_times,
    panels,
    strip,
)
from lemmata.lab.fits import line, power_law
from lemmata.lab.intervals import CannotFit
from lemmata.theories.icl.figures.common import CLAIM, along, between, error_scale, legend, names, predict, runs, signed
from lemmata.theories.icl.measures import NEVER, by_length, required_length
from lemmata.theories.icl.setting import REACHED

AXES: dict[str, tuple[str, str, Callable[[np.ndarray], np.ndarray]]] = {
    "step_size": (r"step size $\eta$", r"\eta^{-1}", lambda x: x**-1.0),
    "fraction": (r"decisive share $\alpha$", r"\alpha^{-2/3}", lambda x: x ** (-2 / 3)),
    "pattern_norm": (r"pattern norm $\beta$", r"\beta^{-2/3}", lambda x: x ** (-2 / 3)),
    "relevant_patterns": (r"relevant patterns $M_1$", r"M_1\sqrt{\log M_1}", lambda x: x * np.sqrt(np.log(x))),
    "neurons": (r"neurons $m$", "1", np.ones_like),
    "initial_scale": (r"initial scale $\delta$", r"\delta^{-2/3}\ \mathrm{(E.62)}", lambda x: x ** (-2 / 3)),
}
"""The axis of every sweep: its words, and the claimed law of T^* in it."""

BUDGETS = {"short": r"$\delta$=0.2, $T$=600", "long": r"$\delta$=0.1, $m$=100, $T$=1500"}


def iterations(data: xr.Dataset) -> Figure:
    """T^* over the axis of a sweep, its power law, and the claimed law through the centre of the runs."""
    axis = next(name for name in AXES if name in data.reached_step.dims)
    x = data[axis].values.astype(float)
    times = data.reached_step.transpose("seed", axis).values
    figure, axes = panels(2 if axis == "fraction" else 1, width=6.2, height=4.4)
    words, formula, law = AXES[axis]
    ax = axes[0]
    runs(ax, x, times, BLUE, "every run")
    centre = _centre(times)
    if np.isfinite(centre).any():
        ax.plot(x, centre, "o", color=BLUE, markersize=6, label="geometric mean")
        claimed = law(x)
        ax.plot(
            x,
            claimed * np.exp(np.nanmean(np.log(centre / claimed))),
            label=rf"document: $\propto {formula}$",
            **PREDICTED,
        )
    _power(ax, x, times)
    log_numbers(ax, x, words)
    log_times(ax)
    ax.set_ylabel(rf"steps $T^*$ to hinge < {REACHED:g} on unseen tasks")
    ax.set_title(f"iterations by {words}", fontsize=10)
    if axis == "fraction":
        _linear(axes[1], x, times)
    for ax in axes:
        legend(ax)
    return figure


def _centre(times: np.ndarray) -> np.ndarray:
    """Geometric mean over seeds where every run arrives."""
    arrives = np.isfinite(times).all(axis=0) & (times > 0).all(axis=0)
    return np.where(arrives, np.exp(np.log(np.where(arrives, times, 1.0)).mean(axis=0)), np.nan)


def _power(ax: Axes, x: np.ndarray, times: np.ndarray) -> None:
    try:
        fit = power_law(x, times)
    except CannotFit:
        return
    low, high = (signed(end) if np.isfinite(end) else "?" for end in (fit.exponent.low, fit.exponent.high))
    label = f"fit: exponent {signed(fit.exponent.value)} [{low}, {high}]"
    ax.plot(x, fit.prefactor * x**fit.exponent.value, color=ORANGE, linewidth=1.3, label=label)


def _linear(ax: Axes, alpha: np.ndarray, times: np.ndarray) -> None:
    """Figure E.1, right: T^* against α^(-2/3)."""
    x = alpha ** (-2 / 3)
    runs(ax, x, times, BLUE, "every run")
    try:
        fit = line(x, times)
    except CannotFit:
        ax.set_yticks([])
    else:
        grid = np.array([x.min(), x.max()])
        label = f"document: a straight line (fit, $R^2$ = {fit.r_squared:.3f})"
        ax.plot(grid, fit.intercept.value + fit.slope.value * grid, label=label, **PREDICTED)
        from_zero(ax)
    ax.set_xticks(x, [f"{value:.2f}" for value in x], fontsize=8)
    ax.set_xlabel(rf"$\alpha^{{-2/3}}$ ($\alpha$ from {alpha.max():g} to {alpha.min():g})")
    ax.set_ylabel(rf"steps $T^*$ to hinge < {REACHED:g}")
    ax.set_title("required iterations (Figure E.1, right)", fontsize=10)


def _split(case: str) -> tuple[int, int] | None:
    """(M_1, n) of a case of `e2-tasks`; None for the disconnected sets."""
    if not case.startswith("M_1="):
        return None
    patterns, tasks = case.split(", ")
    return int(patterns.removeprefix("M_1=")), int(tasks.removeprefix("n="))


def tasks(data: xr.Dataset) -> Figure:
    """Hinge loss and sign error on unseen and seen tasks by the number of training tasks, beside the thresholds."""
    figure, axes = panels(2, rows=2, width=9.5, height=4.2)
    cases = [str(case) for case in data.case.values]
    for ax, what in zip(axes, ("hinge", "error"), strict=True):
        for i, case in enumerate(cases):
            part = data.sel(case=case)
            strip(ax, i - 0.16, part[f"unseen_{what}"], BLUE, "unseen tasks, every seed" if i == 0 else None, width=0.1)
            strip(ax, i + 0.16, part[f"seen_{what}"], GREEN, "seen tasks" if i == 0 else None, width=0.1, marker="s",
                  markersize=4)  # fmt: skip
        _thresholds(ax, cases, what)
        error_scale(ax, top=2.0)
        names(ax, [_case_words(case) for case in cases])
        ax.set_ylabel({"hinge": "hinge loss", "error": "sign error"}[what])
    axes[0].set_title("hinge loss by number of training tasks", fontsize=10)
    axes[1].set_title("sign error by number of training tasks", fontsize=10)
    for ax in axes:
        legend(ax)
    return figure


def _thresholds(ax: Axes, cases: list[str], what: str) -> None:
    said = set()
    for i, case in enumerate(cases):
        sizes = _split(case)
        if sizes is None or sizes[0] == sizes[1]:
            kind, level, style = "full", 0.02, PREDICTED
            words = r"document: about 0 with $M_1$ tasks (claimed: hinge $\leq$ 0.02)"
        elif sizes[1] == sizes[0] - 1:
            kind, level, style = "less", 0.05, {**CLAIM, "color": "black"}
            words = r"document: positive with $M_1-1$ (claimed: hinge $\geq$ 0.05)"
        else:
            kind, level, style = "half", 0.2, CLAIM
            words = r"claimed: error $\geq$ 0.2 with $M_1/2$"
        if (kind == "half") == (what == "error"):
            between(ax, i, level, None if kind in said else words, **style)
            said.add(kind)
    if what == "error":
        predict(ax, 0.0, "document: about 0 with $M_1$ tasks")


def _case_words(case: str) -> str:
    sizes = _split(case)
    return f"{case}\nn=6" if sizes is None else f"$M_1$={sizes[0]}\nn={sizes[1]}"


def contexts(data: xr.Dataset) -> Figure:
    """The hinge after a fixed number of steps by length of the training prompts, and the length that is needed."""
    figure, axes = panels(3, width=5.4, height=4.3)
    for ax, (budget, words) in zip(axes, BUDGETS.items(), strict=False):
        if budget not in _budgets(data):
            ax.set_axis_off()
            continue
        hinge = by_length(data, data.last_watch_hinge, budget)
        for i, alpha in enumerate(data.fraction.values.astype(float)):
            along(ax, hinge.length, hinge.isel(fraction=i), rf"$\alpha$ = {alpha:g}", colour(i))
        predict(ax, REACHED, f"long enough: hinge < {REACHED:g}")
        ax.set_xticks(hinge.length.values)
        ax.set_ylim(-0.05, 1.1)
        ax.set_xlabel(r"contexts of a training prompt $l_{tr}$")
        ax.set_ylabel("hinge at the end, exact prompts of unseen tasks")
        ax.set_title(f"{budget} budget: {words}", fontsize=10)
    _required(axes[2], data)
    for ax in axes:
        legend(ax)
    return figure


def _budgets(data: xr.Dataset) -> set[str]:
    """The budgets of which some length was run."""
    return {str(case).partition(", ")[0] for case in data.case.values}


def _required(ax: Axes, data: xr.Dataset) -> None:
    """The required length of every seed against 1/α, and the line of the short budget."""
    x = 1 / data.fraction.values.astype(float)
    for budget, color, place in zip(BUDGETS, (BLUE, ORANGE), dodge(len(BUDGETS), 0.2), strict=True):
        if budget not in _budgets(data):
            continue
        rows = required_length(data, budget).transpose("seed", "fraction").values.astype(float)
        mean = rows.mean(axis=0)
        for row, aside in zip(rows, dodge(len(rows), 0.08), strict=True):
            ax.plot(x + place + aside, row, "o", color=color, alpha=0.5, markersize=5)
        how = {"linestyle": "none", "markersize": 16, "markeredgewidth": 2}
        ax.plot(x + place, mean, marker="_", color=color, label=f"{budget} budget: seeds and mean", **how)
        reached = mean < NEVER
        if budget == "short" and reached.any():
            scale = float(np.mean(mean[reached] / x[reached]))
            label = r"document: $\propto\alpha^{-1}$ (short budget)"
            ax.plot([0, x.max()], [0, scale * x.max()], label=label, **PREDICTED)
    ax.axhline(NEVER, label=f"{NEVER}: no tried length reached it", **CLAIM)
    ax.set_xlim(0, 1.1 * x.max())
    ax.set_ylim(0, NEVER + 1)
    ax.set_xticks(x, [f"{value:.3g}" for value in x])
    ax.set_xlabel(r"$1/\alpha$")
    ax.set_ylabel(r"required $l_{tr}$")
    ax.set_title("required contexts (Figure E.1, left)", fontsize=10)

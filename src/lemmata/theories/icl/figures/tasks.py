"""Unseen and seen tasks by the number of training tasks (figure E.2)."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, PREDICTED, panels, strip
from lemmata.theories.icl.figures import CLAIM, between, error_scale, legend, names, predict


def _split(name: str) -> tuple[int, int] | None:
    """(M_1, n) of a task set of `e2-tasks`; None for the disconnected sets."""
    if not name.startswith("M_1="):
        return None
    patterns, tasks = name.split(", ")
    return int(patterns.removeprefix("M_1=")), int(tasks.removeprefix("n="))


def tasks(data: xr.Dataset) -> Figure:
    """Hinge loss and sign error on unseen and seen tasks by the number of training tasks, beside the thresholds."""
    figure, axes = panels(2, rows=2, width=9.5, height=4.2)
    task_sets = [str(name) for name in data.task_set.values]
    for ax, what in zip(axes, ("hinge", "error"), strict=True):
        for i, name in enumerate(task_sets):
            part = data.sel(task_set=name)
            strip(ax, i - 0.16, part[f"unseen_{what}"], BLUE, "unseen tasks, every seed" if i == 0 else None, width=0.1)
            strip(ax, i + 0.16, part[f"seen_{what}"], GREEN, "seen tasks" if i == 0 else None, width=0.1, marker="s",
                  markersize=4)  # fmt: skip
        _thresholds(ax, task_sets, what)
        error_scale(ax, top=2.0)
        names(ax, [_named(name) for name in task_sets])
        ax.set_ylabel({"hinge": "hinge loss", "error": "sign error"}[what])
    axes[0].set_title("hinge loss by number of training tasks", fontsize=10)
    axes[1].set_title("sign error by number of training tasks", fontsize=10)
    for ax in axes:
        legend(ax)
    return figure


def _thresholds(ax: Axes, task_sets: list[str], what: str) -> None:
    said = set()
    for i, name in enumerate(task_sets):
        sizes = _split(name)
        if sizes is None or sizes[0] == sizes[1]:
            kind, level, style = "full", 0.02, PREDICTED
            words = r"paper: about 0 with $M_1$ tasks (claimed: hinge $\leq$ 0.02)"
        elif sizes[1] == sizes[0] - 1:
            kind, level, style = "less", 0.05, {**CLAIM, "color": "black"}
            words = r"paper: positive with $M_1-1$ (claimed: hinge $\geq$ 0.05)"
        else:
            kind, level, style = "half", 0.2, CLAIM
            words = r"claimed: error $\geq$ 0.2 with $M_1/2$"
        if (kind == "half") == (what == "error"):
            between(ax, i, level, None if kind in said else words, **style)
            said.add(kind)
    if what == "error":
        predict(ax, 0.0, "paper: about 0 with $M_1$ tasks")


def _named(name: str) -> str:
    sizes = _split(name)
    return f"{name}\nn=6" if sizes is None else f"$M_1$={sizes[0]}\nn={sizes[1]}"

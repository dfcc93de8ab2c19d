"""Unseen and seen tasks by the number of training tasks (figure E.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw


def tasks(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Hinge loss and sign error on unseen and seen tasks by the number n of training tasks, beside the thresholds."""
    figure, axes = draw.panels(2, rows=2, width=9.5, height=3.9)
    drawn, patterns = data.tasks == "subsampled", data.patterns
    count = data.task_count.where(drawn, patterns)
    sizes = zip(data.task_set.values, drawn.values, patterns.values, count.values, strict=True)
    names = {name: f"$M_1$ = {m:g}\n$n$ = {n:g}" if cycle else f"{name}\n$n$ = {n:g}" for name, cycle, m, n in sizes}
    for ax, what in zip(axes, ("hinge", "error"), strict=True):
        values = lm.stack({kind: data[f"{kind}_{what}"] for kind in ("unseen", "seen")}, "kind")
        draw.groups(ax, values, "task_set", "kind", "{} tasks (points: seeds)", words=names)
    draw.predicted(axes[1], 0.0, "paper: about 0 with $n=M_1$")
    levels = (
        ("p3-sufficient", axes[0], patterns, "paper: about 0 with $n=M_1$; claimed"),
        ("p3-necessary", axes[0], patterns - 1, "paper: positive with $n=M_1-1$; claimed"),
        ("p3-half", axes[1], patterns // 2, "claimed with $n=M_1/2$"),
    )
    for name, ax, tasks_given, words in levels:
        for place in np.flatnonzero(count == tasks_given).tolist():
            draw.claimed(ax, claims[name], words=words, at=place)
    for ax, unit in zip(axes, ("hinge loss", "sign error"), strict=True):
        draw.loss_scale(ax)
        draw.finish(ax, f"{unit} by number of training tasks $n$", unit)
    return figure

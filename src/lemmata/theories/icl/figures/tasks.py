"""Unseen and seen tasks by the number of training tasks (figure E.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.figures import claimed_at


def tasks(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Hinge loss and sign error on unseen and seen tasks by the number n of training tasks, beside the thresholds."""
    figure, axes = draw.panels(2, rows=2, width=9.5, height=3.9)
    drawn, patterns = data.tasks == "subsampled", data.patterns
    count = data.task_count.where(drawn, patterns)
    sizes = zip(data.task_set.values, drawn.values, patterns.values, count.values, strict=True)
    words = {name: f"$M_1$ = {m:g}\n$n$ = {n:g}" if cycle else f"{name}\n$n$ = {n:g}" for name, cycle, m, n in sizes}
    for ax, what, unit in zip(axes, ("hinge", "error"), ("hinge loss", "sign error"), strict=True):
        values = lm.stack({kind: data[f"{kind}_{what}"] for kind in ("unseen", "seen")}, "kind")
        draw.groups(ax, values, "task_set", "kind", "{} tasks (points: seeds)", words=words)
        full, short, half = (np.flatnonzero(count == n) for n in (patterns, patterns - 1, patterns // 2))
        if what == "hinge":
            claimed_at(ax, claims["p3-sufficient"], full, "paper: about 0 with $n=M_1$; claimed")
            words_less = "paper: positive with fewer; claimed with $n=M_1-1$"
            claimed_at(ax, claims["p3-necessary"], short, words_less, color=draw.ORANGE)
        else:
            draw.predicted(ax, 0.0, "paper: about 0 with $n=M_1$")
            claimed_at(ax, claims["p3-half"], half, "claimed with $n=M_1/2$", color=draw.ORANGE)
        draw.loss_scale(ax)
        draw.finish(ax, f"{unit} by number of training tasks $n$", unit, bbox_to_anchor=(0.5, -0.2))
    return figure

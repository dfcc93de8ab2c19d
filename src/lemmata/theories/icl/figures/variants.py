"""Two heads (P17), and classes of two patterns (P18)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, dodge, legend_below, panels, strip
from lemmata.theories.icl.figures import ATTENTION, claim, error_scale, names, predict


def heads(data: xr.Dataset) -> Figure:
    """Concentration of both heads of every seed by variant, before and after training; error and hinge."""
    figure, (left, right) = panels(2, width=6.2, height=4.3)
    words = {"independent": "independent $W_O$", "equal": "equal blocks of $W_O$", "frozen": "both heads frozen"}
    variants = [str(variant) for variant in data.variant.values]
    seeds = data.sizes["seed"]
    for i, variant in enumerate(variants):
        part = data.sel(variant=variant)
        after = np.sort(part.concentration.transpose("seed", "head").values, axis=1)
        before = part.initial_concentration.mean("head")
        place = i + dodge(seeds, 0.5)
        strip(left, i, before, GREY, "before training (both heads)" if i == 0 else None, width=0.25, markersize=3)
        for j, (x, pair) in enumerate(zip(place, after, strict=True)):
            first = i == 0 and j == 0
            left.plot([x] * len(pair), pair, color=GREY, linewidth=0.8)
            left.plot(x, pair[-1], "o", color=BLUE, markersize=5, label="better head of a seed" if first else None)
            if len(pair) > 1:
                left.plot(x, pair[0], "o", color=ORANGE, markersize=5, label="worse head" if first else None)
        for name, color, x in (("unseen_error", BLUE, -0.18), ("unseen_hinge", ORANGE, 0.18)):
            label = {"unseen_error": "sign error, unseen tasks", "unseen_hinge": "hinge loss, unseen tasks"}[name]
            strip(right, i + x, part[name], color, label if i == 0 else None)
    predict(left, 0.85, r"paper: each head concentrates (claimed: $\geq$ 0.85)")
    claim(left, 0.95, r"corrected: the better head $\geq$ 0.95")
    left.set_ylim(0, 1.05)
    left.set_ylabel(r"attention on $\mathcal{N}_*$ of one head, unseen tasks")
    left.set_title("attention of both heads", fontsize=10)
    predict(right, 0.005, r"paper: unseen tasks solved (claimed: error $\leq$ 0.005)")
    claim(right, 0.02, r"claimed: hinge $\leq$ 0.02")
    error_scale(right)
    right.set_ylabel("on unseen tasks, at the end")
    right.set_title("error and hinge loss with two heads", fontsize=10)
    for ax in (left, right):
        names(ax, [words.get(variant, variant) for variant in variants])
        legend_below(ax)
    return figure


def classes(data: xr.Dataset) -> Figure:
    """Two patterns in each class: error beside the share of prompts without a match, and concentration."""
    figure, (left, right) = panels(2, width=6.2, height=4.3)
    cells = [(str(kind), str(length)) for length in data.test_length.values for kind in data.attention.values]
    for i, (kind, length) in enumerate(cells):
        part, (_, color) = data.sel(attention=kind, test_length=length), ATTENTION[kind]
        strip(left, i - 0.15, part.unseen_error, color, f"sign error, {kind}" if i < 2 else None, width=0.1)
        label = r"paper: at most the prompts without a match, every seed" if i == 0 else None
        strip(left, i + 0.2, part.unseen_no_match, GREEN, label, width=0.1)
        label = "before training" if i == 0 else None
        strip(right, i - 0.15, part.initial_concentration.isel(head=0), GREY, label, width=0.1)
        label = f"after training, {kind}" if i < 2 else None
        strip(right, i + 0.2, part.concentration.isel(head=0), color, label, width=0.1)
    lengths = [str(length) for length in data.test_length.values]
    for i, (kind, length) in enumerate(cells):
        if kind == "trained" and length == lengths[-1]:
            words = rf"claimed at $l_{{ts}}$ = {length}: $\leq$ 0.002"
            left.plot([i - 0.4, i + 0.4], [0.002] * 2, label=words, **PREDICTED)
    error_scale(left)
    left.set_ylabel("share of unseen-task prompts")
    left.set_title("errors beside prompts without a match", fontsize=10)
    predict(right, 0.95, r"paper: same mechanism (claimed: $\geq$ 0.95)")
    right.set_ylim(0, 1.05)
    right.set_ylabel(r"attention on $\mathcal{N}_*$, unseen tasks")
    right.set_title("attention on contexts with the query's pattern", fontsize=10)
    for ax in (left, right):
        names(ax, [f"{kind}\n$l_{{ts}}$ = {length}" for kind, length in cells])
        legend_below(ax)
    return figure

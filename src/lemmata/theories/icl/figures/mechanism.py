"""What is learnt: the default run, one prompt, growth along training, lucky neurons, heads, classes of patterns."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, dodge, legend_below, panels, strip
from lemmata.theories.icl.figures.common import ATTENTION, claim, error_scale, names, neuron_count, predict
from lemmata.theories.icl.figures.diagram import prompt
from lemmata.theories.icl.figures.growth import growth
from lemmata.theories.icl.figures.learnt import default

__all__ = ["classes", "default", "growth", "heads", "lucky", "prompt"]


def lucky(data: xr.Dataset) -> Figure:
    """How many neurons of a random network are lucky for one prompt, over draws, beside the binomial laws."""
    from scipy.stats import binom

    figure, axes = panels(2, width=5.8, height=4.2)
    m = neuron_count(data)
    signs = (
        ("plus", r"$|\mathcal{W}_n|$ of a $+1$ prompt", BLUE),
        ("minus", r"$|\mathcal{U}_n|$ of a $-1$ prompt", ORANGE),
    )
    kinds = (
        ("lucky", 1 / 8, "1/8", "lucky: both blocks agree and $a_i$ has the label's sign"),
        ("unsigned_lucky", 1 / 4, "1/4", "control: without the condition on $a_i$"),
    )
    for ax, (name, share, words, title) in zip(axes, kinds, strict=True):
        values = data[name]
        top = int(np.nanmax(values.values)) if np.isfinite(values).any() else m
        width = max(1, m // 100)
        bins = (np.arange(0, top + 2 * width, width) - 0.5).tolist()
        for sign, label, color in signs:
            drawn = values.sel(sign=sign).values
            drawn = drawn[np.isfinite(drawn)]
            weights = np.full(drawn.size, 1 / max(drawn.size, 1))
            mean = f", mean {drawn.mean() / m:.4f} $m$" if drawn.size else ""
            ax.hist(drawn, bins, weights=weights, color=color, alpha=0.45, label=f"{label}{mean}")
        for law, label, style in (
            (share, f"exact: Binomial($m$, {words})", PREDICTED),
            (0.375 - share, f"for comparison: Binomial($m$, {'1/4' if words == '1/8' else '1/8'})",
             {"color": GREY, "linestyle": ":", "linewidth": 1.3}),
        ):  # fmt: skip
            k = np.arange(0, m + 1)
            mass = width * binom.pmf(k, m, law)
            ax.plot(k, mass, label=label, **style)
        ax.set_xlim(0, 0.45 * m + 4)
        ax.set_xlabel(f"lucky neurons of $m$ = {m:g}")
        ax.set_ylabel(f"share of the {values.sizes['seed']} draws")
        ax.set_title(title, fontsize=10)
        legend_below(ax)
    return figure


def heads(data: xr.Dataset) -> Figure:
    """Concentration of both heads of every seed by start, before and after training; error and hinge."""
    figure, (left, right) = panels(2, width=6.2, height=4.3)
    words = {"independent": "independent $W_O$", "equal": "equal blocks of $W_O$", "frozen": "both heads frozen"}
    starts = [str(start) for start in data.start.values]
    seeds = data.sizes["seed"]
    for i, start in enumerate(starts):
        part = data.sel(start=start)
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
    predict(left, 0.85, r"document: each head concentrates (claimed: $\geq$ 0.85)")
    claim(left, 0.95, r"corrected: the better head $\geq$ 0.95")
    left.set_ylim(0, 1.05)
    left.set_ylabel(r"attention on $\mathcal{N}_*$ of one head, unseen tasks")
    left.set_title("attention of both heads", fontsize=10)
    predict(right, 0.005, r"document: unseen tasks solved (claimed: error $\leq$ 0.005)")
    claim(right, 0.02, r"claimed: hinge $\leq$ 0.02")
    error_scale(right)
    right.set_ylabel("on unseen tasks, at the end")
    right.set_title("error and hinge loss with two heads", fontsize=10)
    for ax in (left, right):
        names(ax, [words.get(start, start) for start in starts])
        legend_below(ax)
    return figure


def classes(data: xr.Dataset) -> Figure:
    """Two patterns in each class: error beside the share of prompts without a match, and concentration."""
    figure, (left, right) = panels(2, width=6.2, height=4.3)
    cells = [(str(kind), str(test)) for test in data.test.values for kind in data.attention.values]
    for i, (kind, test) in enumerate(cells):
        part, (_, color) = data.sel(attention=kind, test=test), ATTENTION[kind]
        strip(left, i - 0.15, part.unseen_error, color, f"sign error, {kind}" if i < 2 else None, width=0.1)
        label = r"document: at most the prompts without a match, every seed" if i == 0 else None
        strip(left, i + 0.2, part.unseen_no_match, GREEN, label, width=0.1)
        label = "before training" if i == 0 else None
        strip(right, i - 0.15, part.initial_concentration.isel(head=0), GREY, label, width=0.1)
        label = f"after training, {kind}" if i < 2 else None
        strip(right, i + 0.2, part.concentration.isel(head=0), color, label, width=0.1)
    tests = [str(test) for test in data.test.values]
    for i, (kind, test) in enumerate(cells):
        if kind == "trained" and test == tests[-1]:
            words = rf"claimed at $l_{{ts}}$ = {test}: $\leq$ 0.002"
            left.plot([i - 0.4, i + 0.4], [0.002] * 2, label=words, **PREDICTED)
    error_scale(left)
    left.set_ylabel("share of unseen-task prompts")
    left.set_title("errors beside prompts without a match", fontsize=10)
    predict(right, 0.95, r"document: same mechanism (claimed: $\geq$ 0.95)")
    right.set_ylim(0, 1.05)
    right.set_ylabel(r"attention on $\mathcal{N}_*$, unseen tasks")
    right.set_title("attention on contexts with the query's pattern", fontsize=10)
    for ax in (left, right):
        names(ax, [f"{kind}\n$l_{{ts}}$ = {test}" for kind, test in cells])
        legend_below(ax)
    return figure

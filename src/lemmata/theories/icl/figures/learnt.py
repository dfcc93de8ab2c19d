"""The default run (P1, P6 to P10, P12 to P15): what is learnt, and whether as the proof says."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, RED, panels
from lemmata.theories.icl.figures import neurons, proof
from lemmata.theories.icl.figures.common import chosen, error_scale, legend, path, predict, summary

VARIANTS = {
    "intact": ("intact", BLUE), "frozen": ("frozen attention", ORANGE), "shuffled": ("shuffled query labels", GREY),
    "include_query": ("query among the keys", GREEN), "1/sqrt(m)": (r"$a_i=\pm1/\sqrt{m}$", RED),
}  # fmt: skip
WIDE = (6, 8)
"""Panels whose legends have long lines."""
SHOWN = ("intact", "frozen", "shuffled")
"""Variants with a curve of their own on seen tasks."""


def default(data: xr.Dataset) -> Figure:
    """Four rows: what is solved and attended to; the attention maps; single neurons; pruning and growth."""
    figure, axes = panels(12, rows=4, width=5.8, height=4.5)
    intact = chosen(data, "variant", "intact")
    shuffled = chosen(data, "variant", "shuffled")
    _tested(axes[0], data, "hinge", 0.02)
    _tested(axes[1], data, "error", 0.005)
    _concentration(axes[2], data)
    proof.entries(axes[3], intact)
    proof.updates(axes[4], intact)
    proof.value_coefficients(axes[5], intact)
    neurons.norms(axes[6], intact, shuffled)
    neurons.cosines(axes[7], {words: chosen(data, "variant", name) for name, (words, _) in _present(data, SHOWN)})
    proof.lucky_activity(axes[8], intact)
    neurons.pruning(axes[9], intact, "hinge")
    neurons.pruning(axes[10], intact, "error")
    proof.output_growth(axes[11], intact, shuffled)
    for i, ax in enumerate(axes):
        ax.title.set_fontsize(10)
        legend(ax, 1 if i in WIDE else 2)
    return figure


def _present(data: xr.Dataset, names: tuple[str, ...] = tuple(VARIANTS)) -> list[tuple[str, tuple[str, str]]]:
    """The variants that were run, with their words and colours; whatever was run if it is none of these."""
    there = [str(name) for name in data.variant.values]
    some = [name for name in there if name in names] or there[:1]
    return [(name, VARIANTS.get(name, (name, BLUE))) for name in some]


def _tested(ax: Axes, data: xr.Dataset, what: str, level: float) -> None:
    """Hinge loss or sign error on unseen and on seen tasks along training."""
    for name, (words, color) in _present(data, SHOWN):
        part = chosen(data, "variant", name)
        path(ax, part.step, part[f"unseen_{what}_path"], f"{words}, unseen tasks", color)
        path(ax, part.step, part[f"seen_{what}_path"], f"{words}, seen tasks", color, linestyle=":", marker="")
    predict(ax, level, rf"document: $O(\epsilon)$ (claimed at the end: $\leq$ {level:g})")
    error_scale(ax)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel({"hinge": "hinge loss", "error": r"sign error $\Pr(zF\leq0)$"}[what])
    ax.set_title({"hinge": "hinge loss along training", "error": "sign error along training"}[what])


def _concentration(ax: Axes, data: xr.Dataset) -> None:
    """Attention on the contexts with the query's pattern along training."""
    for name, (words, color) in _present(data):
        part = chosen(data, "variant", name)
        path(ax, part.step, part.concentration_path, words, color)
    start = float(summary(chosen(data, "variant", "intact").concentration_path.isel(record=0))[0])
    predict(ax, 0.95, r"document: $1-\Theta(M_1^{-C})$ (claimed: $\geq$ 0.95)")
    ax.axhline(start, color="black", linestyle=":", linewidth=1, label=f"before training: {start:.2f}")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel(r"attention on $\mathcal{N}_*$, unseen tasks")
    ax.set_title("attention on contexts with the query's pattern")

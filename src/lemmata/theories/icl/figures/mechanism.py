"""What is learnt: the default run (P1, P6 to P10, P12 to P15), and growth along training (figure 6.2)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, from_zero, legend_below, log_times, panels
from lemmata.theories.icl.figures import (
    attention,
    chosen,
    error_scale,
    legend,
    neurons,
    path,
    predict,
    pruning,
    summary,
)

MAP = "viridis"
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
    attention.entries(axes[3], intact)
    attention.updates(axes[4], intact)
    neurons.value_coefficients(axes[5], intact)
    neurons.norms(axes[6], intact, shuffled)
    neurons.cosines(axes[7], {words: chosen(data, "variant", name) for name, (words, _) in _present(data, SHOWN)})
    neurons.lucky_activity(axes[8], intact)
    pruning.in_domain(axes[9], intact, "hinge")
    pruning.in_domain(axes[10], intact, "error")
    neurons.output_growth(axes[11], intact, shuffled)
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
    predict(ax, level, rf"paper: $O(\epsilon)$ (claimed at the end: $\leq$ {level:g})")
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
    predict(ax, 0.95, r"paper: $1-\Theta(M_1^{-C})$ (claimed: $\geq$ 0.95)")
    ax.axhline(start, color="black", linestyle=":", linewidth=1, label=f"before training: {start:.2f}")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel(r"attention on $\mathcal{N}_*$, unseen tasks")
    ax.set_title("attention on contexts with the query's pattern")


def growth(data: xr.Dataset) -> Figure:
    """Norms and projections, attention, and the path of some neurons in angle and norm, colour = training step."""
    figure, axes = panels(4, rows=2, width=6.0, height=4.3)
    _projections(axes[0], data)
    _attention(axes[1], data)
    one = data.isel(seed=0)
    count = one.sizes["shown"]
    # the first half has a_i > 0, the second a_i < 0
    half = count // 2
    few = [*range((half + 1) // 2), *range(half, half + half // 2)]
    angle = np.degrees(np.arccos(np.clip(one.shown_feature_cosine, -1, 1)))
    _paths(axes[2], one.step, angle.isel(shown=few), one.shown_feature_norm.isel(shown=few), None)
    axes[2].axvline(0, label=r"paper: most turn to $\bar\mu$ (0°) and grow, some do not", **PREDICTED)
    axes[2].set_xlabel(r"angle of $r_{i,d_x}$ to $\bar\mu$ (degrees)")
    axes[2].set_ylabel(r"norm $\|r_{i,d_x}\|$")
    axes[2].set_title(f"(c) feature block of {len(few)} neurons, first seed", fontsize=10)
    # the stored cosine is that with sign(a_i) q; the angle to +q sends a_i < 0 to 180 degrees
    sign = xr.where(xr.DataArray(np.arange(count), dims="shown") < half, 1.0, -1.0)
    angle = np.degrees(np.arccos(np.clip(one.shown_label_cosine * sign, -1, 1)))
    _paths(axes[3], one.step, angle, one.shown_label_norm, sign.values)
    for at, words in ((0, r"paper: $a_i>0$ turn to $q$ (0°), $a_i<0$ to $-q$ (180°)"), (180, None)):
        axes[3].axvline(at, label=words, **PREDICTED)
    axes[3].set_xlabel(r"angle of $r_{i,d_y}$ to $q$ (degrees)")
    axes[3].set_ylabel(r"norm $\|r_{i,d_y}\|$")
    axes[3].set_title(f"(d) label block of {count} neurons, first seed", fontsize=10)
    last = float(np.nanmax(data.step)) if data.step.notnull().any() else 1.0
    for ax in axes[2:]:
        ax.set_xlim(-8, 188)
        ax.set_xticks(range(0, 181, 45))
        figure.colorbar(ScalarMappable(Normalize(0, max(last, 1.0)), MAP), ax=ax, label="training step $t$")
    for ax in axes:
        legend_below(ax)
    return figure


def _projections(ax: Axes, data: xr.Dataset) -> None:
    kinds = (
        ("query_norm", r"$\|W_Qp_{query}\|$", BLUE, "-"),
        ("query_projection", r"projection of $W_Qp_{query}$ on its pattern", BLUE, ":"),
        ("key_norm", r"$\|W_Kp_i\|$", ORANGE, "-"),
        ("key_projection", r"projection of $W_Kp_i$ on its pattern", ORANGE, ":"),
    )
    for name, words, color, style in kinds:
        width = 4.0 if color == BLUE else 1.4
        path(ax, data.step, data[name], words, color, linestyle=style, marker="", linewidth=width)
    start = float(data.query_projection.isel(record=0).mean())
    ax.axhline(start, label="start of the projections; paper: all grow", **PREDICTED)
    from_zero(ax)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel("mean over prompts, out of domain")
    ax.set_title("(a) queries and keys, and their own patterns", fontsize=10)


def _attention(ax: Axes, data: xr.Dataset) -> None:
    path(ax, data.step, data.attention_same, "contexts with the query's pattern", BLUE, marker="")
    path(ax, data.step, data.attention_other, "other contexts", GREEN, marker="")
    predict(ax, 1.0, "paper: tend to 1 and 0")
    predict(ax, 0.0, "_")
    ax.set_ylim(-0.03, 1.05)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel("sum of attention, out of domain")
    ax.set_title("(b) attention out of domain", fontsize=10)


def _paths(ax: Axes, step: xr.DataArray, angle: xr.DataArray, norm: xr.DataArray, sign: np.ndarray | None) -> None:
    """One path per neuron, coloured by the step; its end is a point."""
    last = max(float(step.max().fillna(1.0)), 1.0)
    words = {1: r"end of a neuron with $a_i>0$", -1: r"end of a neuron with $a_i<0$", 0: "end of a neuron"}
    said = set()
    for i in range(angle.sizes["shown"]):
        x, y = angle.isel(shown=i).values, norm.isel(shown=i).values
        known = np.isfinite(x) & np.isfinite(y)
        if not known.any():
            continue
        points = np.stack([x[known], y[known]], axis=1)
        pieces = np.stack([points[:-1], points[1:]], axis=1)
        ax.add_collection(
            LineCollection(list(pieces), array=step.values[known][:-1], cmap=MAP, norm=Normalize(0, last), linewidth=2)
        )
        kind = 0 if sign is None else int(sign[i])
        marker, color = {0: ("o", BLUE), 1: ("^", BLUE), -1: ("v", ORANGE)}[kind]
        label = None if kind in said else words[kind]
        said.add(kind)
        ax.plot(*points[0], "|", color="black", markersize=7)
        ax.plot(*points[-1], marker, color=color, markersize=7, markeredgecolor="white", label=label)
    ax.plot([], [], "|", color="black", markersize=7, label="start")
    ax.autoscale_view()
    log_times(ax)

"""The dynamics figure: what the paper says of loss, attention, neurons and maps at every step.

Every panel takes the runs with trained attention; those on lucky neurons take one variant of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PREDICTED,
    RED,
    from_zero,
    legend_below,
    panels,
    trajectory,
)
from lemmata.theories.vit import bounds
from lemmata.theories.vit.figures import SIGNS, VARIANT_NAMES
from lemmata.theories.vit.measures import own_coordinates
from lemmata.theories.vit.neurons import SIDES

SIDE_COLORS: dict[str, str] = {"plus": BLUE, "minus": ORANGE}
VARIANT_COLORS = {"shared": BLUE, "per_token": ORANGE, "shared-b20": GREEN}
# runs with small batches follow those with full batches closely: a broad pale line under them
VARIANT_STYLES: dict[str, Any] = {"shared-b20": {"linewidth": 4, "alpha": 0.3, "zorder": 1.5}}


def variant_path(
    ax: Axes, data: xr.Dataset, values: xr.DataArray, variant: str, words: str, linestyle: str = "-"
) -> None:
    """The runs of one variant in its colour."""
    style = {**VARIANT_STYLES.get(variant, {}), "linestyle": linestyle}
    if variant in VARIANT_STYLES and linestyle != "-":
        style |= {"linewidth": 2.5, "alpha": 0.45}
    label = f"{VARIANT_NAMES.get(variant, variant)}{words}"
    trajectory(
        ax,
        data.step.sel(variant=variant),
        values.sel(variant=variant),
        label,
        VARIANT_COLORS.get(variant, GREY),
        **style,
    )


def losses(ax: Axes, trained: xr.Dataset, frozen: xr.Dataset | None) -> None:
    """Training loss of every variant, with trained and frozen attention."""
    for variant in map(str, trained.variant.values):
        variant_path(ax, trained, trained.train_loss, variant, "")
        if frozen is not None:
            variant_path(ax, frozen, frozen.train_loss, variant, ", frozen", ":")
    ax.axhline(0, label="paper: 0 after $T$ steps", **PREDICTED)
    ax.set_ylabel("training hinge loss")
    ax.set_title("training loss")


def concentrations(ax: Axes, trained: xr.Dataset) -> None:
    """Attention on label-relevant tokens (2.15), of relevant and of all queries."""
    for variant in map(str, trained.variant.values):
        for query, style in (("relevant", "-"), ("all", ":")):
            variant_path(ax, trained, trained.concentration.sel(query=query), variant, f", {query} queries", style)
    ax.axhline(1.0, label="paper: limit 1, every query", **PREDICTED)
    ax.set_ylim(0, 1.05)
    ax.set_ylabel("attention on label-relevant tokens")
    ax.set_title("attention concentration (2.15)")


def attention_bound(ax: Axes, trained: xr.Dataset) -> None:
    """Concentration of relevant queries and p_n (A.15) of the measured |q_k|, a mean over the two classes."""
    squares = own_coordinates(trained.key_features) * own_coordinates(trained.query_features)
    # p_n depends on the two counts of tokens through their ratio alone
    share = np.minimum(trained.relevant_share, 1.0)
    error = trained.initial_attention_error
    promised = xr.apply_ufunc(bounds.p_n, 1.0, share, np.sqrt(squares.clip(0)), error, trained.noise_norm).mean("side")
    for variant in map(str, trained.variant.values):
        variant_path(ax, trained, trained.concentration.sel(query="relevant"), variant, ": measured")
        variant_path(ax, trained, promised, variant, r": paper, $\geq p_n(t)$", "--")
    ax.set_ylabel("attention on relevant tokens,\nrelevant queries")
    ax.set_title(r"attention bound $p_n$, measured $\|q_k(t)\|$ (A.15)")


def alignments(ax: Axes, data: xr.Dataset) -> None:
    """Mean cosine of lucky neurons with the feature of their class (V9)."""
    for k, side in enumerate(SIDES, 1):
        trajectory(ax, data.step, data.alignment.sel(side=side), f"lucky {SIGNS[side]}, $p_{k}$", SIDE_COLORS[side])
    ax.axhline(0.8, label="claimed at $T_0$: above 0.8", **PREDICTED)
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.05)
    ax.set_ylabel("mean cosine of $W_{O,i}$ and $p_k$")
    ax.set_title("alignment of lucky neurons")


def ratios(ax: Axes, data: xr.Dataset) -> None:
    """What must be small at T_0: norms of unlucky neurons (V9), output of the other class's lucky neurons (V15)."""
    unlucky = data.square_norm.sel(group="unlucky")
    for side in SIDES:
        ratio = unlucky / data.square_norm.sel(group=side)
        trajectory(ax, data.step, ratio, rf"$\|W_{{O,i}}\|^2$: unlucky / lucky {SIGNS[side]}", SIDE_COLORS[side])
    ax.axhline(0.5, label="claimed at $T_0$: below 0.5", **PREDICTED)
    added = data.group_output.sel(side="plus")
    wrong = added.sel(group="minus") / added.sel(group="plus").where(lambda size: size > 0)
    trajectory(ax, data.step, wrong, "output on $y=+1$: lucky − / lucky +", GREEN)
    limit = float((data.confusion_share / data.relevant_share).mean("seed"))
    ax.axhline(limit, label=r"paper (late $t$): $\alpha_\#/\alpha_*$", **{**PREDICTED, "color": GREEN})
    from_zero(ax)
    ax.set_ylabel("ratio of two groups")
    ax.set_title("unlucky neurons, other class")


def gates(ax: Axes, data: xr.Dataset) -> None:
    """Share of relevant tokens on which lucky neurons are active (V11), and random halves of each sign."""
    for side in SIDES:
        for group, words, style in ((side, "lucky", "-"), (f"random {side}", "random half", ":")):
            label = f"{words} {SIGNS[side]}"
            trajectory(ax, data.step, data.persistence.sel(gate_group=group), label, SIDE_COLORS[side], linestyle=style)
    ax.axhline(0.99, label=r"paper: all (claimed $\geq 0.99$)", **PREDICTED)
    ax.set_ylim(0, 1.05)
    ax.set_ylabel("active (neuron, relevant token) pairs")
    ax.set_title("gate persistence")


def value_coefficients(ax: Axes, data: xr.Dataset) -> None:
    """V_i^(k) by group: solid while 10 % of each class has loss, which is where the claims read it, faint after."""
    active = (data.unsolved >= 0.1).all("side")
    chosen = (("plus", "plus", BLUE), ("minus", "minus", ORANGE), ("minus", "plus", GREEN), ("plus", "minus", RED))
    for group, side, color in chosen:
        values = data.value_growth.sel(group=group, side=side)
        kind = "own" if group == side else "cross"
        label = f"$V^{{({SIDES.index(side) + 1})}}$, lucky {SIGNS[group]} ({kind})"
        trajectory(ax, data.step, values, "", color, alpha=0.25, linewidth=0.9)
        trajectory(ax, data.step, values.where(active), label, color)
    for k, (side, style) in enumerate(zip(SIDES, ("-.", ":"), strict=True), 1):
        values = data.value_growth.sel(group="unlucky", side=side).where(active)
        trajectory(ax, data.step, values, f"$V^{{({k})}}$, unlucky", GREY, linestyle=style)
    ax.axhline(0, label="(A.17): $V^{(2)}>0$ on lucky −; corrected: own $<0$", **PREDICTED)
    ax.ticklabel_format(axis="y", scilimits=(-2, 2))
    ax.set_ylabel("group mean of $V_i^{(k)}$")
    ax.set_title("value coefficients (A.176)")


def feature_growth(ax: Axes, trained: xr.Dataset) -> None:
    """The queries and keys of the discriminative patterns along their own features, the slower pattern of the two."""
    for variant in map(str, trained.variant.values):
        for name, symbol, style in (("query_features", "W_Q", "-"), ("key_features", "W_K", ":")):
            own = own_coordinates(trained[name])
            slower = (own / own.isel(record=0)).min("side")
            variant_path(ax, trained, slower, variant, rf": $\langle {symbol}\mu_k,q_k\rangle$", style)
    ax.axhline(1.0, label="paper: grows (frozen: 1)", **PREDICTED)
    ax.set_ylabel(r"relative to $t=0$, lesser of $k=1,2$")
    ax.set_title("growth of queries and keys (A.34)")


def value_map(ax: Axes, data: xr.Dataset) -> None:
    """The diagonal of C_V: values grow along the discriminative features and hardly along the others (V14)."""
    matrix = data.value_features
    ratio = matrix / matrix.isel(record=0)
    for j in range(matrix.sizes["pattern"]):
        color = (BLUE, ORANGE)[j] if j < 2 else GREY
        label = f"$k={j + 1}$" if j < 2 else r"$k\geq 3$" if j == 2 else ""
        trajectory(ax, data.step, ratio.isel(feature=j, pattern=j), label, color)
    ax.axhline(1.3, label=r"claimed at $T_0$: $\geq 1.3$ for $k=1,2$", **PREDICTED)
    ax.axhspan(0.8, 1.2, color=GREY, alpha=0.15, linewidth=0, label=r"claimed: 0.8 to 1.2 for $k\geq 3$")
    ax.set_ylabel(r"$\langle W_V\mu_k,p_k\rangle$ relative to $t=0$")
    ax.set_title("growth of values (A.36)-(A.39)")


def dynamics(data: xr.Dataset) -> Figure:
    """Three rows: loss and attention for every variant; the lucky neurons; what drives the maps and how they grow."""
    figure, axes = panels(9, rows=3, width=5.0, height=3.9)
    kinds = [str(kind) for kind in data.attention.values]
    trained = data.sel(attention="trained" if "trained" in kinds else kinds[0])
    # lucky neurons exist where a neuron has one sign
    known = trained.persistence.notnull().any(["seed", "record", "gate_group"]).values
    lucky = trained.isel(variant=int(np.argmax(known)))
    losses(axes[0], trained, data.sel(attention="frozen") if "frozen" in kinds else None)
    concentrations(axes[1], trained)
    attention_bound(axes[2], trained)
    feature_growth(axes[7], trained)
    on_neurons = (alignments, ratios, gates, value_coefficients, value_map)
    variant = str(lucky.variant.item())
    for ax, draw in zip(axes[3:7] + axes[8:], on_neurons, strict=True):
        draw(ax, lucky)
        ax.set_title(f"{ax.get_title()}: {VARIANT_NAMES.get(variant, variant)}")
    for ax in axes:
        ax.title.set_fontsize(10)
        ax.set_xlabel("training step $t$, up to $T_0$")
        legend_below(ax)
    return figure

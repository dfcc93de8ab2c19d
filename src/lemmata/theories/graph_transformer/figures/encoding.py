"""What the distance encoding learns: on the chapter's graph (P10) and on graphs with planted core distances (P9)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PREDICTED,
    RED,
    colour,
    dodge,
    labels_of,
    panels,
    present,
    strip,
)
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.figures.common import (
    CORRECTED,
    bins_of,
    claim,
    distances,
    end_words,
    legend,
    mean_of,
    names,
    over_time,
    path,
    runs,
    up_to,
)

MODELS = {
    "GT+PE": ("GT with encoding", BLUE, "-"), "GT core": ("GT on the core", GREEN, "-"),
    "no PE": ("GT without encoding", RED, "-"), "GCN core": ("GCN on the core", "#7a5195", "-"),
    "GCN": ("GCN, distances 1 and 2", ORANGE, "-"),
    "permuted": ("GT with encoding, distances permuted", GREY, "--"),
}  # fmt: skip
GRAPHS = ("+-+-", "++--++--", "+++---+++---", "G2", "G2, heterophilous")
KINDS = {
    "GT+PE": ("with encoding", BLUE), "core": ("core only", GREEN), "no PE": ("without encoding", RED),
    "z=1": ("distance 1 only", ORANGE), "permuted": ("distances permuted", GREY),
}  # fmt: skip


def known_core(data: xr.Dataset) -> Figure:
    """Test losses of all models, of other nodes alone, the encoding, and how far it is from knowing the core."""
    figure, axes = panels(4, rows=2, height=4.1)
    for ax, name, words in (
        (axes[0], "loss", "test loss (hinge)"), (axes[1], "other_loss", "test loss of other nodes (hinge)"),
    ):  # fmt: skip
        for model in present(data, "variant", list(MODELS)):
            part = data.sel(variant=model)
            label, color, style = MODELS[model]
            path(ax, part, part[name], label, color, linestyle=style)
        ax.set_ylabel(words)
        up_to(ax, 1.15)
        over_time(ax, data)
    claim(axes[1], 0.9, "claimed without encoding: at least 0.9")
    axes[0].set_title("paper: with encoding as good as on the core", fontsize=10)
    axes[1].set_title("paper: without it other nodes stay at chance", fontsize=10)
    if "GT+PE" in labels_of(data, "variant"):
        _encoding_paths(axes[2], data)
    _gap(axes[3], data)
    for ax in axes:
        legend(ax)
    return figure


def _encoding_paths(ax: Axes, data: xr.Dataset) -> None:
    """b_z along training, with distances intact and permuted."""
    for model in present(data, "variant", ["permuted", "GT+PE"]):
        part = data.sel(variant=model)
        core = float(part.core_distance.max())
        for z in range(1, bins_of(part)):
            intact = model == "GT+PE"
            label = f"$b_{z}$" + (" (core distance $z_m$)" if z == core else "") if intact else None
            label = "distances permuted" if not intact and z == 1 else label
            color, style = (colour(z - 1), "-") if intact else (GREY, "--")
            path(ax, part, part.distance_bias.isel(bin=z), label, color, linestyle=style)
    ax.axhline(0, color=GREY, linewidth=0.8)
    over_time(ax, data)
    ax.set_ylabel("distance encoding $b_z$")
    ax.set_title("paper: $b$ is largest at $z_m$ (claimed: by 0.5)", fontsize=10)


def _gap(ax: Axes, data: xr.Dataset) -> None:
    if len(present(data, "variant", ["GT+PE", "GT core"])) == 2:
        part = data.sel(variant="GT+PE")
        path(ax, part, abs(part.loss - data.loss.sel(variant="GT core")), "|GT with encoding − GT on the core|", BLUE)
    claim(ax, 0.05, "claimed at the end: at most 0.05")
    ax.axhline(0, label="paper: no difference", **PREDICTED)
    over_time(ax, data)
    ax.set_ylabel("difference of the losses")
    ax.set_title("how far from knowing the core distance", fontsize=10)


def cores(data: xr.Dataset) -> Figure:
    """b at the end over distance beside the margins that it should follow, a panel a graph; and losses by model."""
    cases = labels_of(data, "variant")
    graphs = [graph for graph in GRAPHS if any(case.startswith(f"{graph} ") for case in cases)]
    count = len(graphs) + 1
    figure, axes = panels(count + count % 2, rows=(count + 1) // 2, height=3.9)
    for ax, graph in zip(axes, graphs, strict=False):
        _profile(ax, data, graph, cases)
        legend(ax)
    _other_losses(axes[len(graphs)], data, graphs, cases)
    legend(axes[len(graphs)])
    for ax in axes[count:]:
        ax.set_axis_off()
    return figure


def _profile(ax: Axes, data: xr.Dataset, graph: str, cases: list[str]) -> None:
    title, last = graph, 1
    for model, x in (("GT+PE", -0.1), ("permuted", 0.1)):
        case = f"{graph} {model}"
        if case not in cases:
            continue
        part = data.sel(variant=case)
        z = np.arange(1, bins_of(part))
        last = max(last, bins_of(part) - 1)
        rows = at_end(part.distance_bias.transpose(..., "record")).transpose("seed", "bin").values[:, z]
        words, color = KINDS[model]
        runs(
            ax, z + x, rows, color, f"$b_z$ {words}, every seed", marker="o" if model == "GT+PE" else "x", markersize=5
        )
        if model == "GT+PE":
            title = f"{graph}: {end_words(part)}, core distance $z_m$ = {float(part.core_distance.max()):g}"
            top = np.nanmax(np.append(rows, 0.0))
            for name, label, style in (
                ("count_margin", r"paper: as $\bar\Delta(z)$ (counts), scaled", PREDICTED),
                ("normalised_margin", r"corrected: as $\bar\Delta^{nrm}(z)$, scaled", CORRECTED),
            ):
                margins = mean_of(part[name])[z]
                if np.isfinite(margins).any() and np.nanmax(margins) > 0:
                    ax.plot(z, margins * top / np.nanmax(margins), label=label, **style)
    ax.axhline(0, color=GREY, linewidth=0.8)
    distances(ax, last)
    ax.set_ylabel("distance encoding $b_z$")
    ax.set_title(title, fontsize=9.5)


def _other_losses(ax: Axes, data: xr.Dataset, graphs: list[str], cases: list[str]) -> None:
    said = set()
    for i, graph in enumerate(graphs):
        mine = [kind for kind in KINDS if f"{graph} {kind}" in cases]
        for kind, x in zip(mine, dodge(len(mine), 0.8), strict=True):
            words, color = KINDS[kind]
            values = at_end(data.other_loss.sel(variant=f"{graph} {kind}"))
            strip(ax, i + x, values, color, None if kind in said else words, width=0.05, markersize=4)
            said.add(kind)
    claim(ax, 0.9, "claimed without encoding (cycles): at least 0.9")
    up_to(ax, 1.15)
    names(ax, [graph.replace(", ", ",\n") for graph in graphs])
    ax.set_ylabel("test loss of other nodes at the end")
    ax.set_title("losses of nodes that are not discriminative", fontsize=9.5)


def variants(data: xr.Dataset) -> Figure:
    """Test losses along training, and losses of all and of other nodes at the end."""
    figure, axes = panels(2, height=4.8)
    cases = labels_of(data, "variant")
    for i, case in enumerate(cases):
        part = data.sel(variant=case)
        path(axes[0], part, part.loss, case, colour(i), linestyle="-" if i < len(PALETTE) else "--")
    over_time(axes[0], data)
    axes[0].set_ylabel("test loss (hinge, sampled)")
    up_to(axes[0], 1.15)
    kinds = (("loss", "all nodes", BLUE), ("other_loss", "nodes that are not discriminative", ORANGE))
    for shift, (name, label, color) in zip(dodge(2, 0.5), kinds, strict=True):
        for i, case in enumerate(cases):
            values = at_end(data[name].sel(variant=case))
            strip(axes[1], i + shift, values, color, label if i == 0 else None, sideways=True)
    axes[1].set_yticks(range(len(cases)), cases, fontsize=8)
    axes[1].set_ylabel("what differs")
    axes[1].invert_yaxis()
    axes[1].set_xlabel(f"test loss {end_words(data)}")
    axes[1].axvline(0.0, label="paper: 0 without flipped labels", **PREDICTED)
    axes[1].set_xlim(-0.05, 1.15)
    legend(axes[0])
    legend(axes[1])
    return figure

"""Token sparsification (Figure 2.5), general data, other networks and other initialisations."""

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
    curve,
    dodge,
    from_zero,
    legend_below,
    panels,
    strip,
    trajectory,
)
from lemmata.lab.measures import at_end
from lemmata.theories.vit.figures import common
from lemmata.theories.vit.figures.common import ATTENTION_COLORS
from lemmata.theories.vit.training import SMALL_LOSS

# what is dropped first: words, colour, marker
STRATEGIES = {
    "random": ("at random", BLUE, "o"),
    "irrelevant": ("label-irrelevant first", GREEN, "s"),
    "nondiscriminative": ("non-discriminative first", PALETTE[5], "D"),
    "noisy": ("noisiest first", ORANGE, "^"),
    "attention": ("least attended first", PALETTE[4], "v"),
    "relevant": ("relevant first (control)", GREY, "x"),
}


def sparsification(data: xr.Dataset) -> Figure:
    """Test loss against the fraction of removed tokens by strategy, and what the removal does to the data."""
    figure, axes = panels(3, width=4.9, height=4.2)
    data = data.sortby("keep", ascending=False)
    removed = 1 - data.keep.values
    for strategy in map(str, data.strategy.values):
        words, color, marker = STRATEGIES[strategy]
        line = ":" if strategy == "relevant" else "-"
        part = data.sel(strategy=strategy)
        for ax, name in zip(axes, ("test_hinge", "relevant_share", "noise_norm"), strict=True):
            curve(ax, part[name], removed, words, color, marker=marker, linestyle=line, markersize=5)
        confusion = part.confusion_share.mean("seed")
        axes[1].plot(removed, confusion, color=color, linewidth=1, marker=marker, markersize=3, linestyle=line)
    left, middle, right = axes
    if data.keep.values[0] == 1:
        whole = float(data.test_hinge.isel(keep=0, strategy=0).mean("seed"))
        left.axhline(whole, label="document: random stays flat", **PREDICTED)
        below = "document: irrelevant and noisy fall"
        left.axhspan(0, whole, color="black", alpha=0.07, linewidth=0, label=below)
    left.set_ylabel("test hinge loss")
    left.set_title("test loss, seeds and mean (Figure 2.5)", fontsize=10)
    middle.set_ylabel(r"fractions $\alpha_*$ (upper curves), $\alpha_\#$ (lower)")
    middle.set_title(r"document: irrelevant raises $\alpha_*$", fontsize=10)
    right.set_ylabel(r"largest noise of a kept token, $\tau$")
    right.set_title(r"document: noisy lowers $\tau$", fontsize=10)
    for ax in axes:
        from_zero(ax)
        ax.set_xticks(removed, [f"{share:g}" for share in removed.round(9)])
        ax.set_xlabel("fraction of removed tokens")
    middle.set_ylim(0, 1.05)
    entries = left.get_legend_handles_labels()
    figure.legend(*entries, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def multiclass(data: xr.Dataset) -> Figure:
    """The table of displacements, neurons of a class by class pattern, with the predicted signs; seeds; the loss."""
    figure, (left, middle, right) = panels(3, width=5.0, height=4.2)
    table = data.class_displacement.transpose("own", "class", "seed")
    _class_table(left, table)
    figure.colorbar(left.images[0], ax=left, label=r"mean displacement $\Delta W_{O,i}\,p_k$")
    count = table.sizes["own"]
    for k, j in np.ndindex(count, count):
        label = f"neurons of class {k + 1}" if j == k else None
        place = _relation(k, j, count) + float(dodge(count)[k])
        strip(middle, place, table.values[k, j], PALETTE[k % len(PALETTE)], label, width=0.05)
    middle.axhline(0, label="document: own > 0 > opposite", **PREDICTED)
    limit = 0.3 * float(xr.DataArray(table.mean("seed").values.diagonal()).mean())
    words = "document: adjacent ≈ 0 (claimed ± 0.3 × own)"
    middle.fill_between([1.6, 2.4], -limit, limit, color=GREY, alpha=0.2, linewidth=0, label=words)
    middle.set_xticks(range(3), ["own class", "opposite class", "adjacent classes"])
    middle.set_ylabel(r"displacement $\Delta W_{O,i}\,p_k$")
    middle.set_title("every seed", fontsize=10)
    trajectory(right, data.step, data.train_loss, "training loss", BLUE)
    ends = (data.last_step, data.test_hinge, ORANGE, ""), (0 * data.last_step, data.untrained_test_hinge, GREY, "un")
    for step, hinge, color, prefix in ends:
        right.plot(step, hinge, "o", color=color, markersize=5, label=f"test hinge, {prefix}trained")
    right.axhline(5e-3, label="document: 0 (claimed: test below 0.005)", **PREDICTED)
    common.loss_scale(right)
    right.set_xlabel("training step $t$, up to $T_0$")
    right.set_ylabel("hinge loss")
    right.set_title(f"loss with {count} classes", fontsize=10)
    for ax in (middle, right):
        legend_below(ax)
    return figure


def _relation(own: int, other: int, count: int) -> int:
    """0: the same class, 1: the opposite one (all coordinates of its label flipped), 2: another."""
    return {own: 0, count - 1 - own: 1}.get(other, 2)


def _class_table(ax: Axes, table: xr.DataArray) -> None:
    """Seed means as a map of two colours, each with the spread of the seeds and the predicted sign."""
    mean, spread = table.mean("seed").values, table.std("seed").values
    count = len(mean)
    largest = max(float(np.max(np.abs(mean), initial=0.0, where=np.isfinite(mean))), 1e-12)
    ax.grid(False)
    ax.imshow(mean, cmap="PuOr_r", vmin=-largest, vmax=largest, aspect="auto")
    for (k, j), value in np.ndenumerate(mean):
        text = f"{value:+.3f}\n± {spread[k, j]:.3f}".replace("-", "−") if np.isfinite(value) else "no neurons"
        text += f"\ndocument: {'+−0'[_relation(k, j, count)]}"
        shade = "white" if abs(value) > 0.6 * largest else "black"
        ax.text(j, k, text, ha="center", va="center", fontsize=7.5, color=shade)
    ax.set_xticks(range(count), [f"$p_{k + 1}$" for k in range(count)])
    ax.set_yticks(range(count), [rf"$\mathcal{{W}}_{k + 1}$" for k in range(count)])
    ax.set_xlabel("pattern of class $k$")
    ax.set_ylabel("neurons of class")
    ax.set_title("mean and spread of the seeds (A.217)-(A.224)", fontsize=10)


def pattern_sets(data: xr.Dataset) -> Figure:
    """Concentration along training, risk, and the directions in which queries of two members move."""
    figure, axes = panels(3, width=4.7, height=4.0)
    left, middle, right = axes
    common.attention_rise(left, data)
    common.risk(middle, data, "attention", "attention maps")
    kinds = [str(kind) for kind in data.attention.values]
    for i, pair in enumerate(map(str, data.pair.values)):
        for kind, x in zip(kinds, dodge(len(kinds)), strict=True):
            label = f"attention {kind}" + (" (does not move: 0)" if kind == "frozen" else "")
            values = data.member_cosine.sel(pair=pair, attention=kind)
            strip(right, i + x, values, ATTENTION_COLORS[kind], label if i == 0 else None, width=0.08)
    right.axhline(0.99, label=r"document: same direction (claimed $\geq 0.99$)", **PREDICTED)
    right.set_xticks(
        [0, 1], ["of one set\n" r"$\mu_{1,1},\mu_{1,2}$", "control: of two sets\n" r"$\mu_{1,1},\mu_{2,1}$"]
    )
    right.set_xlim(-0.6, 1.6)
    right.set_ylabel(r"cosine of $\Delta W_Q\,\mu$ of two members")
    right.set_title("directions in which queries move", fontsize=10)
    for ax in axes:
        legend_below(ax, 1)
    return figure


def skip(data: xr.Dataset) -> Figure:
    """Training loss, concentration and risk with a skip connection."""
    figure, axes = panels(3, width=4.7, height=4.0)
    left, middle, right = axes
    for kind in map(str, data.attention.values):
        part = data.sel(attention=kind)
        trajectory(left, part.step, part.train_loss, f"attention {kind}", ATTENTION_COLORS[kind])
    left.axhline(0, label="document: 0 after $T$ steps", **PREDICTED)
    left.set_xlabel("training step $t$, up to $T_0$")
    left.set_ylabel("training hinge loss")
    left.set_title("training loss with a skip connection", fontsize=10)
    common.attention_rise(middle, data)
    common.risk(right, data, "attention", "attention maps")
    for ax in axes:
        legend_below(ax, 1)
    return figure


def heads(data: xr.Dataset) -> Figure:
    """T_0 with its spread, alignment with the concatenated features, and risk against the number of heads."""
    figure, axes = panels(3, width=4.7, height=4.0)
    left, middle, right = axes
    for i in range(data.sizes["heads"]):
        part = data.isel(heads=i)
        times = part.zero_loss_step.values
        strip(left, i, times, BLUE, "seeds and their mean" if i == 0 else None)
        if np.isfinite(times).all() and times.size > 1:
            mean, spread = times.mean(), times.std(ddof=1)
            left.text(i + 0.24, mean, f"{mean:.0f} ± {spread:.1f}", va="center", fontsize=8)
        ends = (part.alignment.isel(record=0), "$t=0$", GREY), (at_end(part.alignment), "$T_0$", BLUE)
        for values, when, color in ends:
            for side, sign, marker, x in zip(("plus", "minus"), "+−", "os", dodge(2), strict=True):
                label = f"lucky {sign}, {when}" if i == 0 else None
                strip(middle, i + x, values.sel(side=side), color, label, width=0.08, marker=marker)
    from_zero(left)
    left.set_ylabel("steps $T_0$ to training loss 0 (mean ± sd)")
    left.set_title("document: more stable with more heads", fontsize=10)
    middle.axhline(0.8, label=r"claimed at $T_0$: lucky + $\geq 0.8$", **PREDICTED)
    middle.set_ylim(min(0.0, middle.get_ylim()[0]), 1.05)
    middle.set_ylabel(r"mean cosine with $(p_{1,k};\ldots;p_{H,k})$")
    middle.set_title("alignment with the features of all heads", fontsize=10)
    common.risk(right, data, "heads", "attention heads $H$")
    for ax in axes:
        ax.set_xticks(range(data.sizes["heads"]), [f"{h:g}" for h in data.heads.values])
        ax.set_xlim(-0.6, data.sizes["heads"] - 0.3)
        ax.set_xlabel("attention heads $H$")
        legend_below(ax)
    return figure


def normalisation(data: xr.Dataset) -> Figure:
    """T_0, risk and concentration for three ways to normalise tokens, with and without skip connection."""
    figure, axes = panels(3, width=4.7, height=4.0)
    words = {"no": "none", "yes": "unit norm", "layer": "layer norm"}
    kinds = [str(kind) for kind in data.normalize.values]
    networks = [str(network) for network in data.network.values]
    relevant = data.concentration.sel(query="relevant")
    quantities = (
        (data.zero_loss_step, "steps $T_0$ to training loss 0", "training time"),
        (data.test_hinge, "test hinge loss", "risk"),
        (
            at_end(relevant) - relevant.isel(record=0),
            "rise of the attention on relevant\ntokens, relevant queries",
            "attention",
        ),
    )
    for ax, (values, ylabel, title) in zip(axes, quantities, strict=True):
        for network, color, x in zip(networks, PALETTE, dodge(len(networks)), strict=False):
            for i, kind in enumerate(kinds):
                label = f"{network} network" if i == 0 else None
                strip(ax, i + x, values.sel(network=network, normalize=kind), color, label, width=0.08)
            if title != "risk" and "no" in kinds:
                plain = float(values.sel(network=network, normalize="no").mean("seed"))
                if np.isfinite(plain):
                    ax.axhline(plain, label="document: as without", **{**PREDICTED, "color": color})
        ax.set_xticks(range(len(kinds)), [words[kind] for kind in kinds])
        ax.set_xlim(-0.6, len(kinds) - 0.4)
        ax.set_xlabel("normalisation of the tokens")
        ax.set_ylabel(ylabel)
        ax.set_title(title, fontsize=10)
    axes[1].axhline(SMALL_LOSS, label="document: 0 (success below 0.001)", **PREDICTED)
    common.loss_scale(axes[1])
    axes[2].axhline(0.03, color=RED, linestyle=":", label="claimed: at least 0.03")
    for ax in axes[::2]:
        from_zero(ax)
    for ax in axes:
        legend_below(ax)
    return figure


def initialisations(data: xr.Dataset) -> Figure:
    """T_0, risk, concentration and sharpness of the attention for every initialisation that the document names."""
    figure, axes = panels(4, width=4.0, height=4.8, sharey=True)
    times, risk, mass, tokens = axes
    names = [str(name) for name in data.start.values]
    for i, name in enumerate(names):
        part = data.sel(start=name)
        label = "seeds and their mean" if i == 0 else None
        strip(times, i, part.zero_loss_step, BLUE, label, sideways=True)
        strip(risk, i, part.test_hinge, BLUE, label, sideways=True)
        for query, color, y in (("relevant", BLUE, -0.18), ("all", GREEN, 0.18)):
            for ax, values in ((mass, part.concentration), (tokens, part.attended)):
                common.move(ax, i + y, values.sel(query=query), color, f"{query} queries" if i == 0 else "")
    times.set_yticks(range(len(names)), names)
    times.invert_yaxis()
    times.set_ylabel("initial model")
    longest = 1.06 * times.get_xlim()[1]
    times.set_xlim(-0.04 * longest, longest)
    times.set_xlabel("steps $T_0$ to training loss 0")
    times.set_title("training time", fontsize=10)
    risk.axvline(SMALL_LOSS, label="document: 0 (success below 0.001)", **PREDICTED)
    risk.set_xscale("symlog", linthresh=1e-4)
    risk.set_xlim(-2e-5, 4)
    risk.set_xlabel("test hinge loss")
    risk.set_title("risk", fontsize=10)
    mass.axvline(1.0, label="document: limit 1", **PREDICTED)
    blind = float(data.relevant_share.mean())
    mass.axvline(blind, color=RED, linestyle=":", label=r"$\alpha_*$: attention that ignores relevance")
    mass.set_xlim(0, 1.05)
    mass.set_xlabel("attention on label-relevant tokens")
    mass.set_title("attention from $t=0$ (bar) to the end (point)", fontsize=10)
    tokens.axvline(1.0, color=RED, linestyle=":", label="saturated softmax: one token")
    tokens.set_xlim(left=0)
    tokens.set_xlabel("effective number of attended tokens $e^H$")
    tokens.set_title("its sharpness from $t=0$ to the end", fontsize=10)
    for ax in axes:
        legend_below(ax, 1)
    return figure

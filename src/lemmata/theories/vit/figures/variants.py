"""General data, other networks and other initialisations."""

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
    dodge,
    from_zero,
    legend_below,
    panels,
    strip,
    trajectory,
)
from lemmata.lab.measures import at_end
from lemmata.theories.vit.figures import ATTENTION_COLORS
from lemmata.theories.vit.training import SMALL_LOSS


def move(ax: Axes, place: float, values: xr.DataArray, color: str, label: str) -> None:
    """From the first to the last record of every seed, sideways at a place of a categorical axis."""
    for start, end, y in zip(
        values.isel(record=0).values, at_end(values).values, dodge(values.sizes["seed"], 0.25), strict=True
    ):
        ax.plot([start, end], [place + y] * 2, color=color, linewidth=1.2, marker="|", markevery=[0], markersize=6)
        ax.plot(end, place + y, "o", color=color, markersize=4, label=label)
        label = ""


def loss_scale(ax: Axes) -> None:
    """A logarithmic scale of losses that ends in 0."""
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.set_ylim(-2e-5, 4)


def attention_rise(ax: Axes, data: xr.Dataset) -> None:
    """Attention of relevant queries on relevant tokens along training less that at its start, and the claimed rise."""
    for kind in map(str, data.attention.values):
        part = data.sel(attention=kind)
        values = part.concentration.sel(query="relevant")
        start = values.isel(record=0)
        label = f"attention {kind} (mean start {float(start.mean()):.2f})"
        trajectory(ax, part.step, values - start, label, ATTENTION_COLORS[kind])
    ax.axhline(0.03, label=r"paper: rises (claimed at $T_0$: $\geq 0.03$)", **PREDICTED)
    ax.set_xlabel("training step $t$, up to $T_0$")
    ax.set_ylabel("rise of the attention on relevant\ntokens, relevant queries")
    ax.set_title("attention concentration", fontsize=10)


def risk(ax: Axes, data: xr.Dataset, axis: str, words: str) -> None:
    """Test hinge before and after training for every value of an axis, and the paper's success."""
    for i in range(data.sizes[axis]):
        part = data.isel({axis: i})
        strip(ax, i, part.untrained_test_hinge, GREY, "untrained" if i == 0 else None)
        strip(ax, i, part.test_hinge, BLUE, "trained" if i == 0 else None)
    ax.axhline(SMALL_LOSS, label="paper: 0 (success below 0.001)", **PREDICTED)
    loss_scale(ax)
    ax.set_xlim(-0.6, data.sizes[axis] - 0.4)
    ax.set_xticks(range(data.sizes[axis]), [str(value) for value in data[axis].values])
    ax.set_xlabel(words)
    ax.set_ylabel("test hinge loss")
    ax.set_title("risk", fontsize=10)


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
    middle.axhline(0, label="paper: own > 0 > opposite", **PREDICTED)
    limit = 0.3 * float(xr.DataArray(table.mean("seed").values.diagonal()).mean())
    words = "paper: adjacent ≈ 0 (claimed ± 0.3 × own)"
    middle.fill_between([1.6, 2.4], -limit, limit, color=GREY, alpha=0.2, linewidth=0, label=words)
    middle.set_xticks(range(3), ["own class", "opposite class", "adjacent classes"])
    middle.set_ylabel(r"displacement $\Delta W_{O,i}\,p_k$")
    middle.set_title("every seed", fontsize=10)
    trajectory(right, data.step, data.train_loss, "training loss", BLUE)
    ends = (data.last_step, data.test_hinge, ORANGE, ""), (0 * data.last_step, data.untrained_test_hinge, GREY, "un")
    for step, hinge, color, prefix in ends:
        right.plot(step, hinge, "o", color=color, markersize=5, label=f"test hinge, {prefix}trained")
    right.axhline(5e-3, label="paper: 0 (claimed: test below 0.005)", **PREDICTED)
    loss_scale(right)
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
        text += f"\npaper: {'+−0'[_relation(k, j, count)]}"
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
    attention_rise(left, data)
    risk(middle, data, "attention", "attention maps")
    kinds = [str(kind) for kind in data.attention.values]
    for i, pair in enumerate(map(str, data.pair.values)):
        for kind, x in zip(kinds, dodge(len(kinds)), strict=True):
            label = f"attention {kind}" + (" (does not move: 0)" if kind == "frozen" else "")
            values = data.member_cosine.sel(pair=pair, attention=kind)
            strip(right, i + x, values, ATTENTION_COLORS[kind], label if i == 0 else None, width=0.08)
    right.axhline(0.99, label=r"paper: same direction (claimed $\geq 0.99$)", **PREDICTED)
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
    left.axhline(0, label="paper: 0 after $T$ steps", **PREDICTED)
    left.set_xlabel("training step $t$, up to $T_0$")
    left.set_ylabel("training hinge loss")
    left.set_title("training loss with a skip connection", fontsize=10)
    attention_rise(middle, data)
    risk(right, data, "attention", "attention maps")
    for ax in axes:
        legend_below(ax, 1)
    return figure


def heads(data: xr.Dataset) -> Figure:
    """T_0 with its spread, alignment with the concatenated features, and risk against the number of heads."""
    figure, axes = panels(3, width=4.7, height=4.0)
    left, middle, right = axes
    for i in range(data.sizes["heads"]):
        part = data.isel(heads=i)
        times = part.reached_step.values
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
    left.set_title("paper: more stable with more heads", fontsize=10)
    middle.axhline(0.8, label=r"claimed at $T_0$: lucky + $\geq 0.8$", **PREDICTED)
    middle.set_ylim(min(0.0, middle.get_ylim()[0]), 1.05)
    middle.set_ylabel(r"mean cosine with $(p_{1,k};\ldots;p_{H,k})$")
    middle.set_title("alignment with the features of all heads", fontsize=10)
    risk(right, data, "heads", "attention heads $H$")
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
    kinds = [str(kind) for kind in data.normalise.values]
    networks = [str(network) for network in data.variant.values]
    relevant = data.concentration.sel(query="relevant")
    quantities = (
        (data.reached_step, "steps $T_0$ to training loss 0", "training time"),
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
                strip(ax, i + x, values.sel(variant=network, normalise=kind), color, label, width=0.08)
            if title != "risk" and "no" in kinds:
                plain = float(values.sel(variant=network, normalise="no").mean("seed"))
                if np.isfinite(plain):
                    ax.axhline(plain, label="paper: as without", **{**PREDICTED, "color": color})
        ax.set_xticks(range(len(kinds)), [words[kind] for kind in kinds])
        ax.set_xlim(-0.6, len(kinds) - 0.4)
        ax.set_xlabel("normalisation of the tokens")
        ax.set_ylabel(ylabel)
        ax.set_title(title, fontsize=10)
    axes[1].axhline(SMALL_LOSS, label="paper: 0 (success below 0.001)", **PREDICTED)
    loss_scale(axes[1])
    axes[2].axhline(0.03, color=RED, linestyle=":", label="claimed: at least 0.03")
    for ax in axes[::2]:
        from_zero(ax)
    for ax in axes:
        legend_below(ax)
    return figure


def initialisations(data: xr.Dataset) -> Figure:
    """T_0, risk, concentration and sharpness of the attention for every initialisation that the paper names."""
    figure, axes = panels(4, width=4.0, height=4.8, sharey=True)
    times, risk, mass, tokens = axes
    names = [str(name) for name in data.variant.values]
    for i, name in enumerate(names):
        part = data.sel(variant=name)
        label = "seeds and their mean" if i == 0 else None
        strip(times, i, part.reached_step, BLUE, label, sideways=True)
        strip(risk, i, part.test_hinge, BLUE, label, sideways=True)
        for query, color, y in (("relevant", BLUE, -0.18), ("all", GREEN, 0.18)):
            for ax, values in ((mass, part.concentration), (tokens, part.attended)):
                move(ax, i + y, values.sel(query=query), color, f"{query} queries" if i == 0 else "")
    times.set_yticks(range(len(names)), names)
    times.invert_yaxis()
    times.set_ylabel("initial model")
    longest = 1.06 * times.get_xlim()[1]
    times.set_xlim(-0.04 * longest, longest)
    times.set_xlabel("steps $T_0$ to training loss 0")
    times.set_title("training time", fontsize=10)
    risk.axvline(SMALL_LOSS, label="paper: 0 (success below 0.001)", **PREDICTED)
    risk.set_xscale("symlog", linthresh=1e-4)
    risk.set_xlim(-2e-5, 4)
    risk.set_xlabel("test hinge loss")
    risk.set_title("risk", fontsize=10)
    mass.axvline(1.0, label="paper: limit 1", **PREDICTED)
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

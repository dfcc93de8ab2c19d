"""Attention and its bounds, and what the paper says of loss, maps and neurons at every step (`dynamics`).

The first row of `dynamics` has every variant with trained attention, the second the lucky neurons of the runs with
shared signs. Another figure has the lucky sets before training, and their response to token noise.
"""

import re
from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.vit.figures import TIME, UP_TO, VARIANT_NAMES
from lemmata.theories.vit.measures import SOME_LOSS, own_coordinates

ATTENTION_BOUNDS = {
    "paper": ("paper: $p_n$ (A.15)", draw.BLUE),
    "theorem": ("corrected: the theorem with $D$", draw.GREEN),
    "theorem, δ = 0": (r"control: the theorem with $\delta=0$", draw.GREY),
}
LUCKY = {"plus": "lucky +", "minus": "lucky −", "unlucky": "unlucky"}
DEFECTS = {"none": "Gaussian $W_O$", "shifted": r"control: $W_O$ shifted by $-2\xi p_1$"}
SHARES = {
    "active_on_one": "active on one\nrelevant token",
    "lucky_on_one": "... and of the\nclass's sign",
    "active_on_all": "active on all\nrelevant tokens",
    "lucky_on_all": "... and of the\nclass's sign: lucky",
}
NOISE_BOUNDS = {
    "noise_ratio": r"$(\sigma+\|W_V\|\tau)\,\|W_{O,i}\|$",
    "noise_ratio_without_error": "control: $\\sigma=0$,\n$\\|W_V\\|\\tau\\,\\|W_{O,i}\\|$",
}


def concentration(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Attention on relevant tokens by type of query along training, its complement, T_0 and the paper's limit."""
    figure, axes = draw.panels(data.sizes["variant"], sharey=True, width=5.8, height=4.2)
    for ax, variant in zip(axes, draw.labels_of(data, "variant"), strict=True):
        runs = data.sel(variant=variant)
        trained, frozen = (runs.sel(attention=kind) for kind in ("trained", "frozen"))
        draw.paths(ax, trained, "concentration", "query", "on relevant tokens, {} queries")
        others = trained.complement.sel(query="all")
        draw.paths(ax, trained, others, label="on all others, all queries", color=draw.GREY, linestyle=":")
        frozen_path = frozen.concentration.sel(query="all")
        draw.paths(ax, frozen, frozen_path, label="on relevant tokens, attention frozen", color=draw.PURPLE, spread="")
        draw.predicted(ax, 1.0, "paper: limit 1, every query")
        draw.claimed(ax, claims["f4-below-one"], words="claimed, all queries")
        draw.moment(ax, float(trained.reached_step.mean("seed")), "$T_0$: training loss 0")
        ax.set_ylim(0, 1.05)
        draw.finish(ax, VARIANT_NAMES.get(variant, variant), "mean attention", f"{TIME} (lines: mean and seeds)")
    return figure


def losses(data: xr.Dataset) -> Figure:
    """All-query concentration for losses that saturate and losses that do not."""
    figure, (ax,) = draw.panels(1, width=6.4)
    trained, frozen = (data.sel(attention=kind, query="all") for kind in ("trained", "frozen"))
    draw.paths(ax, trained, "concentration", "loss")
    still = frozen.isel(loss=0)
    draw.paths(ax, still, "concentration", label="any loss, attention frozen", color=draw.GREY, linestyle=":")
    draw.predicted(ax, 1.0, "paper: limit 1")
    ax.set_ylim(0, 1.05)
    draw.finish(ax, "concentration under other losses", "attention on relevant tokens,\nall queries", TIME)
    return figure


def initial_bounds(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """By how much the attention of relevant queries exceeds its lower bounds, and how often it does not."""
    figure, (left, right) = draw.panels(2, width=6.6, height=4.4)
    names = {variant: re.sub("[ -]", "\n", variant) for variant in draw.labels_of(data, "variant")}
    shown = data.assign_coords(bound=[ATTENTION_BOUNDS[bound][0] for bound in draw.labels_of(data, "bound")])
    for ax, name in ((left, "attention_excess"), (right, "attention_broken")):
        colors = dict(ATTENTION_BOUNDS.values())
        draw.groups(ax, shown[name], "variant", "bound", color=colors, words=names, markersize=3.5)
    x = r"directions of the errors of keys and queries, and $\delta$"
    draw.claimed(left, claims["v24-attention-pn"], words="respected")
    title = "attention of relevant queries on relevant tokens, $t=0$"
    draw.finish(left, title, "smallest attention minus bound", x, legend=1)
    draw.predicted(right, 0.0, "paper: none")
    right.set_ylim(-0.05, 1.05)
    draw.finish(right, "violations", "share of relevant queries below the bound", x, legend=1)
    return figure


def dynamics(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Loss, attention and growth of the maps; alignment, unlucky neurons and value coefficients."""
    figure, axes = draw.panels(6, rows=2, width=5.0, height=4.0)
    named = data.assign_coords(variant=[VARIANT_NAMES.get(each, each) for each in draw.labels_of(data, "variant")])
    kinds = draw.labels_of(data, "attention")
    trained = named.sel(attention="trained" if "trained" in kinds else kinds[0])
    # lucky neurons exist where a neuron has one sign
    known = trained.persistence.notnull().any(["seed", "record", "gate_group"]).values
    lucky = trained.isel(variant=int(np.argmax(known)))
    draw.paths(axes[0], trained, "train_loss", "variant")
    if "frozen" in kinds:
        slower = named.sel(attention="frozen")
        draw.paths(axes[0], slower, "train_loss", "variant", "", spread="", alpha=0.5, linewidth=0.9)
    draw.predicted(axes[0], 0, "paper: 0 after $T$ steps")
    draw.finish(axes[0], "training loss (thin: attention frozen)", "training hinge loss", UP_TO)
    draw.paths(axes[1], trained, trained.concentration.sel(query="relevant"), "variant")
    draw.predicted(axes[1], 1.0, "paper: limit 1")
    axes[1].set_ylim(0, 1.05)
    draw.finish(axes[1], "attention of relevant queries (2.15)", "attention on label-relevant tokens", UP_TO)
    for ax, panel in zip(axes[2:], (_growth, _alignment, _ratios, _coefficients), strict=True):
        panel(ax, lucky, claims)
        ax.set_title(f"{ax.get_title()}: {lucky.variant.item()}", fontsize=10)
    return figure


def _growth(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Queries, keys and values of the discriminative patterns along their own features, the slower of the two."""
    symbols = {"query": r"W_Q\mu_k,q_k", "key": r"W_K\mu_k,q_k", "value": r"W_V\mu_k,p_k"}
    own = {rf"$\langle {symbol}\rangle$": own_coordinates(data[f"{name}_features"]) for name, symbol in symbols.items()}
    growth = lm.stack({label: (values / values.isel(record=0)).min("side") for label, values in own.items()}, "map")
    draw.paths(ax, data, growth, "map")
    draw.predicted(ax, 1.0, "paper: grow (frozen: 1)")
    draw.claimed(ax, claims["v14-value-growth"], "discriminative", words="claimed of the values at $T_0$")
    draw.finish(ax, "growth of the maps (A.34)-(A.39)", "relative to $t=0$, lesser of $k=1,2$", UP_TO)


def _alignment(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Mean cosine of lucky neurons with the feature of their class (V9)."""
    named = data.alignment.assign_coords(side=[LUCKY[str(side)] for side in data.side.values])
    draw.paths(ax, data, named, "side")
    draw.claimed(ax, claims["v9-lucky-alignment"], words="claimed at $T_0$")
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.05)
    draw.finish(ax, "alignment of lucky neurons", "mean cosine of $W_{O,i}$ and $p_k$", UP_TO)


def _ratios(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """What must be small at T_0: norms of unlucky neurons (V9), output of the other class's lucky neurons (V15)."""
    squares, output = data.square_norm, data.group_output.sel(side="plus", drop=True)

    def ratio(values: xr.DataArray, above: str, below: str) -> xr.DataArray:
        return values.sel(group=above, drop=True) / values.sel(group=below, drop=True).where(lambda size: size > 0)

    ratios = {
        r"$\|W_{O,i}\|^2$: unlucky / lucky +": ratio(squares, "unlucky", "plus"),
        r"$\|W_{O,i}\|^2$: unlucky / lucky −": ratio(squares, "unlucky", "minus"),
        "output on $y=+1$: lucky − / lucky +": ratio(output, "minus", "plus"),
    }
    draw.paths(ax, data, lm.stack(ratios, "ratio"), "ratio")
    draw.claimed(ax, claims["v9-lucky-norms"], words="claimed of the norms at $T_0$")
    limit = float((data.confusion_share / data.relevant_share).mean("seed"))
    draw.predicted(ax, limit, r"paper (late $t$), output: $\alpha_\#/\alpha_*$")
    draw.from_zero(ax)
    draw.finish(ax, "unlucky neurons, other class", "ratio of two groups of neurons", UP_TO, legend=1)


def _coefficients(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """V_i^(k) by group, while a quarter of each class has loss: there the claims read it."""
    growth = data.value_growth.where((data.unsolved >= SOME_LOSS).all("side"))
    values = {
        f"$V^{{({k})}}$, {LUCKY[group]} ({'own' if group == side else 'cross'})": growth.sel(
            group=group, side=side, drop=True
        )
        for k, side in enumerate(("plus", "minus"), 1)
        for group in ("plus", "minus")
    }
    values["$V^{(1)}$, unlucky"] = growth.sel(group="unlucky", side="plus", drop=True)
    draw.paths(ax, data, lm.stack(values, "group"), "group")
    draw.predicted(ax, 0, "paper (A.17): $V^{(2)}>0$ on lucky −; corrected: own $<0$")
    ax.ticklabel_format(axis="y", scilimits=(-2, 2))
    draw.finish(ax, "value coefficients (A.176)", "group mean of $V_i^{(k)}$", f"{TIME}, while both classes have loss")


def lucky_sets(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Shares of active and lucky neurons beside 1/2 and 1/4, and their largest response to noise beside its bound."""
    figure, (left, right) = draw.panels(2, width=6.2, height=4.4)
    data = data.assign_coords(defect=[DEFECTS[defect] for defect in draw.labels_of(data, "defect")])
    neurons = float(data.neurons.max())
    shares = lm.stack({label: data[name] for name, label in SHARES.items()}, "share")
    draw.groups(left, shares, "share", "defect")
    label = ("exact: $1/2$, $1/4$ (band: 4 standard deviations)", None)
    for place, share in enumerate((0.5, 0.25)):
        draw.predicted(left, share, label[place], at=place)
        spread = 4 * np.sqrt(share * (1 - share) / neurons)
        left.fill_between([place - 0.42, place + 0.42], share - spread, share + spread, color=draw.GREY, alpha=0.2)
    draw.claimed(left, claims["v10-lucky-all"], words=r"paper: $\Omega(m)$ are lucky; claimed of the mean", at=3)
    draw.from_zero(left)
    title = "lucky neurons at $t=0$ (Lemma A.5.1), both classes"
    draw.finish(left, title, f"share of the $m={neurons:g}$ neurons", legend=1)
    responses = lm.stack({label: data[name] for name, label in NOISE_BOUNDS.items()}, "bound")
    draw.groups(right, responses, "bound", "defect")
    draw.claimed(right, claims["v9-noise-bound"], words="claimed")
    draw.from_zero(right)
    draw.finish(right, "response to token noise at $t=0$", r"largest $|W_{O,i}(W_Vx_l-p_{z(l)})|$ / bound", legend=1)
    return figure

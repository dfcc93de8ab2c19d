"""Panels of the default run about the steps of the proof: attention maps, their updates, values, lucky neurons, W_O."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, dodge, strip
from lemmata.lab.measures import at_end
from lemmata.theories.icl.bounds import output_growth as claimed_growth
from lemmata.theories.icl.figures.common import CLAIM, DEFAULT, between, centre, claim, path, predict
from lemmata.theories.icl.measures import ACTIVE, growth_records, mean_entry, other_entries, own_entries

MAPS = {"G^Q": "query_patterns", "G^K": "key_patterns"}
COLORS = {"G^Q": BLUE, "G^K": ORANGE}


def entries(ax: Axes, data: xr.Dataset) -> None:
    """The entries of G^Q and G^K at the end, by how two patterns are related, beside what is claimed of each."""
    delta = centre(own_entries(data.key_patterns.isel(record=0)))
    groups = (r"own: $G_{jj}$", "task\npartners", "non-\npartners", r"irrelevant:" "\n" r"$\nu$ block $-\,\delta I$")
    own = []
    for (name, variable), x in zip(MAPS.items(), dodge(len(MAPS)), strict=True):
        block, partner = at_end(data[variable]), data.partner
        own.append(centre(own_entries(block)))
        foreign = at_end(data[variable.replace("patterns", "irrelevant")])
        rest = foreign - delta * xr.DataArray(np.eye(foreign.sizes["idi"]), dims=("idi", "other_idi"))
        extremes = [getattr(rest, end)(["idi", "other_idi"], skipna=False).values for end in ("min", "max")]
        values = (
            own_entries(block), other_entries(block, partner, True), other_entries(block, partner, False),
            np.concatenate(extremes),
        )  # fmt: skip
        for i, group in enumerate(values):
            flat = np.ravel(group)
            label = rf"${name}$, every entry, all seeds" if i == 0 else None
            strip(ax, i + x, flat[np.isfinite(flat)], COLORS[name], label, width=0.11, markersize=2.5, alpha=0.5)
    m1 = data.sizes["pattern"]
    between(ax, 0, 3 * delta, rf"document: grows (claimed: $\geq 3\delta$ = {3 * delta:.2g})")
    for sign in (1, -1):
        words = r"document (6.18): $|\cdot|\leq G_{jj}/M_1$" if sign > 0 else None
        between(ax, 1, sign * float(np.mean(own)) / m1, words, color=RED)
        between(
            ax, 2, 0.08 * sign, r"claimed: $|\cdot|\leq$ 0.08, $\nu$ block $\leq$ 0.005" if sign > 0 else None, **CLAIM
        )
        between(ax, 3, 0.005 * sign, **CLAIM)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set_xticks(range(len(groups)), groups, fontsize=8)
    ax.set_ylabel(r"entries of $G^Q$, $G^K$ at the end")
    ax.set_title("attention maps by how two patterns are related")


def updates(ax: Axes, data: xr.Dataset) -> None:
    """The own update over its largest value, and what other patterns get relative to it while attention grows."""
    of = data.map_update
    own = own_entries(of).mean(["map", "pattern"], skipna=False)
    largest = abs(own).max("record")
    largest = largest.where(largest > 0)
    path(ax, data.step, own / largest, "own update / its largest", BLUE)
    others = (
        ("task partners / own", mean_entry(other_entries(of, data.partner, True)).mean("map"), RED),
        ("non-partners / own", mean_entry(other_entries(of, data.partner, False)).mean("map"), GREEN),
        (r"irrelevant $\nu_k$, size / own ($\leq1/M_2$)", data.irrelevant_update.mean("map"), GREY),
    )
    growing = growth_records(data)
    for words, values, color in others:
        path(ax, data.step, (values / own).where(growing), words, color)
    for sign in (1, -1):
        predict(ax, 0.1 * sign, "document (E.7): partners suppressed ($\\leq$ 0.1)" if sign > 0 else "_")
        claim(ax, sign / data.sizes["pattern"], "claimed: non-partners within $1/M_1$" if sign > 0 else None)
    ax.axhspan(-0.7, -0.3, color=RED, alpha=0.07, linewidth=0, label="corrected: partners in [−0.7, −0.3]")
    ax.set_ylim(-1.05, 1.1)
    ax.set_xlabel("training step $t$ (ratios: records at which attention grows)")
    ax.set_ylabel(r"$-\nabla W_Q,\,-\nabla W_K$ on patterns, relative")
    ax.set_title("updates of the attention maps, relative to the own pattern")


def value_coefficients(ax: Axes, data: xr.Dataset) -> None:
    """The normalised coefficients of the value update by sign of a_i while at least half of the prompts have loss."""
    active = data.active_hinge >= ACTIVE
    plus, minus = (data.value_coefficient.sel(sign=sign).where(active) for sign in ("plus", "minus"))
    path(ax, data.step, plus, r"$a_i>0$, label $+1$", BLUE)
    path(ax, data.step, minus, r"$a_i<0$", ORANGE)
    top = plus.mean("seed").max()
    factor = DEFAULT.pattern_norm**2 + 1
    if np.isfinite(top):
        low, high = float(top) / 3, float(top)
        ax.axhspan(low, high, color="black", alpha=0.08, linewidth=0)
        ax.axhline(high, label="document: constant order (band: a factor 3)", **PREDICTED)
    bound = np.abs(plus.mean("seed")) / factor
    t = data.step.mean("seed")
    for sign in (1, -1):
        words = rf"document, $a_i<0$: within $1/(\beta^2+1)$ of it ({1 / factor:.2g})" if sign > 0 else None
        ax.plot(t, sign * bound, color=ORANGE, linestyle="--", linewidth=1, label=words)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set_xlabel("training step $t$ (records with half of the prompts active)")
    ax.set_ylabel(r"mean $V_i\,m/(\beta^2(1-\gamma_t))$")
    ax.set_title("coefficient of the value update")


def lucky_activity(ax: Axes, data: xr.Dataset) -> None:
    """Shares of lucky neurons that are active, measured and with planted rows of W_O."""
    kinds = (
        ("own_active", "lucky for this prompt", BLUE),
        ("all_active", r"$\mathcal{W}$ on all $+1$, $\mathcal{U}$ on all $-1$ prompts", ORANGE),
    )
    for name, words, color in kinds:
        path(ax, data.step, data[name], words, color)
    for name, _, color in kinds:
        label = "control: rows of $W_O$ planted" if name == "own_active" else None
        path(ax, data.step, data[f"planted_{name}"], label, color, linestyle=":", marker="")
    predict(ax, 0.95, r"document: all stay active (claimed: $\geq$ 0.95)")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel("share of (neuron, prompt) pairs active")
    ax.set_title("do lucky neurons stay active?")


def output_growth(ax: Axes, data: xr.Dataset, shuffled: xr.Dataset) -> None:
    """Growth of W_O along (μ̄; ±q) by group, and the linear lower bound of the document."""
    groups = (
        ("lucky", r"$\mathcal{W}$ along $(\bar\mu;q)$", BLUE), ("plus", r"$a_i>0$ along $(\bar\mu;q)$", GREEN),
        ("minus", r"$a_i<0$ along $(\bar\mu;-q)$", ORANGE),
    )  # fmt: skip
    for name, words, color in groups:
        path(ax, data.step, data.output_growth.sel(growth=name), words, color)
    if str(shuffled.variant.values) != str(data.variant.values):
        path(ax, shuffled.step, shuffled.output_growth.sel(growth="plus"), "control: shuffled query labels", GREY)
    t = data.step.mean("seed")
    delta = centre(own_entries(data.key_patterns.isel(record=0)))
    law = claimed_growth(delta, DEFAULT.pattern_norm, DEFAULT.fraction, DEFAULT.step_size, t, data.sizes["neuron"])
    ax.plot(t, law, label=r"document: $\geq\delta(\beta^2+1)\alpha\eta t/(2m)$", **PREDICTED)
    ax.plot(t, 0.1 * law, label="claimed: at least 0.1 of it", **CLAIM)
    ax.set_yscale("symlog", linthresh=1e-3, linscale=0.5)
    ax.set_yticks([-1e-3, 0, 1e-3, 1e-2, 0.1, 1], ["−0.001", "0", "0.001", "0.01", "0.1", "1"])
    ax.set_xlabel("training step $t$")
    ax.set_ylabel(r"mean $(W_O^{(t)}-W_O^{(0)})(\bar\mu;\pm q)$")
    ax.set_title("growth of the output layer")

"""The dynamics rows step by step, the lucky sets and the initial attention."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PREDICTED,
    RED,
    dodge,
    from_zero,
    legend_below,
    panels,
    strip,
)
from lemmata.theories.vit.figures import dynamics as steps
from lemmata.theories.vit.figures.common import MODE_NAMES
from lemmata.theories.vit.neurons import SIDES


def dynamics(data: xr.Dataset) -> Figure:
    """Three rows: loss and attention for every mode; the lucky neurons; what drives the maps and how they grow."""
    figure, axes = panels(9, rows=3, width=5.0, height=3.9)
    kinds = [str(kind) for kind in data.attention.values]
    trained = data.sel(attention="trained" if "trained" in kinds else kinds[0])
    # lucky neurons exist where a neuron has one sign
    known = trained.persistence.notnull().any(["seed", "record", "gate_group"]).values
    lucky = trained.isel(mode=int(np.argmax(known)))
    steps.losses(axes[0], trained, data.sel(attention="frozen") if "frozen" in kinds else None)
    steps.concentrations(axes[1], trained)
    steps.attention_bound(axes[2], trained)
    steps.feature_growth(axes[7], trained)
    on_neurons = (steps.alignments, steps.ratios, steps.gates, steps.value_coefficients, steps.value_map)
    mode = str(lucky.mode.item())
    for ax, draw in zip(axes[3:7] + axes[8:], on_neurons, strict=True):
        draw(ax, lucky)
        ax.set_title(f"{ax.get_title()}: {MODE_NAMES.get(mode, mode)}")
    for ax in axes:
        ax.title.set_fontsize(10)
        ax.set_xlabel("training step $t$, up to $T_0$")
        legend_below(ax)
    return figure


def lucky_sets(data: xr.Dataset) -> Figure:
    """Shares of active and lucky neurons beside 1/2 and 1/4, and their largest response to noise beside its bound."""
    figure, (left, right) = panels(2, width=6.2, height=4.4)
    shares = (
        ("active_on_one", "active on one\nrelevant token"), ("lucky_on_one", "... and of the\nclass's sign"),
        ("active_on_all", "active on all\nrelevant tokens"), ("lucky_on_all", "... and of the\nclass's sign: lucky"),
    )  # fmt: skip
    defects = [str(name) for name in data.defect.values]
    words = {"none": "Gaussian $W_O$", "shifted": r"control: $W_O$ shifted by $-2\xi p_1$"}
    colors = {"none": BLUE, "shifted": ORANGE}
    for i, (name, _) in enumerate(shares):
        for defect, place in zip(defects, dodge(len(defects) * len(SIDES)).reshape(-1, len(SIDES)), strict=True):
            for side, marker, x in zip(SIDES, "os", place, strict=True):
                label = f"{words[defect]}, class {steps.SIGNS[side]}1" if i == 0 else None
                values = data[name].sel(defect=defect, side=side)
                strip(left, i + x, values, colors[defect], label, width=0.05, marker=marker)
    m = float(data.neurons.max())
    for i, (share, variance) in enumerate(((0.5, 0.25), (0.25, 0.1875))):
        spread = 4 * np.sqrt(variance / m)
        label = r"document: $1/2$, $1/4$, and 4 standard deviations" if i == 0 else None
        left.fill_between([i - 0.45, i + 0.45], share - spread, share + spread, color=GREY, alpha=0.2, linewidth=0)
        left.plot([i - 0.45, i + 0.45], [share, share], label=label, **PREDICTED)
    left.plot(
        [2.55, 3.45], [0.2, 0.2], color=RED, linestyle=":", label=r"document: $\Omega(m)$ (claimed mean $\geq 0.2$)"
    )
    left.set_xticks(range(len(shares)), [text for _, text in shares], fontsize=8.5)
    from_zero(left)
    left.set_ylabel(f"share of the $m={m:g}$ neurons")
    left.set_title("lucky neurons at $t=0$ (Lemma A.5.1)", fontsize=10)
    bounds = (
        ("noise_ratio", r"$(\sigma+\|W_V\|\tau)\,\|W_{O,i}\|$"),
        ("noise_ratio_without_error", r"control: $\sigma=0$," "\n" r"$\|W_V\|\tau\,\|W_{O,i}\|$"),
    )
    for i, (name, _) in enumerate(bounds):
        for defect, x in zip(defects, dodge(len(defects)), strict=True):
            label = words[defect] if i == 0 else None
            strip(right, i + x, data[name].sel(defect=defect), colors[defect], label, width=0.08)
    right.axhline(1.0, label=r"document: $\leq 1$", **PREDICTED)
    right.set_xticks(range(len(bounds)), [text for _, text in bounds])
    right.set_xlim(-0.6, 1.6)
    from_zero(right)
    right.set_ylabel(r"largest $|W_{O,i}(W_Vx_l-p_{z(l)})|$ / bound")
    right.set_title("response to token noise at $t=0$", fontsize=10)
    for ax in (left, right):
        legend_below(ax)
    return figure


def initial_attention(data: xr.Dataset) -> Figure:
    """By how much the attention of relevant queries exceeds its lower bounds, and how often it does not, by case."""
    figure, axes = panels(2, width=6.6, height=4.4)
    words = {
        "document": r"document: $p_n$ (A.15)", "theorem": "theorem: with $D$ (corrected)",
        "theorem, δ = 0": r"control: theorem with $\delta=0$",
    }  # fmt: skip
    colors = dict(zip(words, (BLUE, GREEN, GREY), strict=True))
    cases = [str(case) for case in data.case.values]
    bounds = [str(bound) for bound in data.bound.values]
    for ax, name in zip(axes, ("attention_excess", "attention_broken"), strict=True):
        for i, case in enumerate(cases):
            for bound, x in zip(bounds, dodge(len(bounds)), strict=True):
                values = data[name].sel(case=case, bound=bound)
                strip(ax, i + x, values, colors[bound], words[bound] if i == 0 else None, width=0.08, markersize=3.5)
        ax.set_xticks(range(len(cases)), [_case(case) for case in cases], fontsize=8.5)
    left, right = axes
    left.axhline(0.0, label="prediction: at or above 0", **PREDICTED)
    lowest = min(left.get_ylim()[0], -0.05)
    left.axhspan(lowest, 0.0, color=RED, alpha=0.08, linewidth=0, label="bound violated")
    left.set_ylim(bottom=lowest)
    left.set_ylabel("smallest attention minus bound")
    left.set_title("attention of relevant queries on relevant tokens, $t=0$", fontsize=10)
    right.axhline(0.0, label="prediction: none", **PREDICTED)
    right.set_ylim(-0.05, 1.05)
    right.set_ylabel("share of relevant queries below the bound")
    right.set_title("violations", fontsize=10)
    for ax in axes:
        legend_below(ax)
    return figure


def _case(case: str) -> str:
    directions, _, delta = case.partition(" ")
    return f"{directions}\n$\\delta={delta}$" if delta else case.replace("-", "-\n")

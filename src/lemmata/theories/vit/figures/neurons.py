"""The lucky sets before training, and their response to token noise."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
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
from lemmata.theories.vit.neurons import SIDES


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
                label = f"{words[defect]}, class {SIGNS[side]}1" if i == 0 else None
                values = data[name].sel(defect=defect, side=side)
                strip(left, i + x, values, colors[defect], label, width=0.05, marker=marker)
    m = float(data.neurons.max())
    for i, (share, variance) in enumerate(((0.5, 0.25), (0.25, 0.1875))):
        spread = 4 * np.sqrt(variance / m)
        label = r"paper: $1/2$, $1/4$, and 4 standard deviations" if i == 0 else None
        left.fill_between([i - 0.45, i + 0.45], share - spread, share + spread, color=GREY, alpha=0.2, linewidth=0)
        left.plot([i - 0.45, i + 0.45], [share, share], label=label, **PREDICTED)
    left.plot([2.55, 3.45], [0.2, 0.2], color=RED, linestyle=":", label=r"paper: $\Omega(m)$ (claimed mean $\geq 0.2$)")
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
    right.axhline(1.0, label=r"paper: $\leq 1$", **PREDICTED)
    right.set_xticks(range(len(bounds)), [text for _, text in bounds])
    right.set_xlim(-0.6, 1.6)
    from_zero(right)
    right.set_ylabel(r"largest $|W_{O,i}(W_Vx_l-p_{z(l)})|$ / bound")
    right.set_title("response to token noise at $t=0$", fontsize=10)
    for ax in (left, right):
        legend_below(ax)
    return figure

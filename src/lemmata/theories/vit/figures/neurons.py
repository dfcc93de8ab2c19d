"""The lucky sets before training, and their response to token noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw

DEFECTS = {"none": "Gaussian $W_O$", "shifted": r"control: $W_O$ shifted by $-2\xi p_1$"}
SHARES = {
    "active_on_one": "active on one\nrelevant token",
    "lucky_on_one": "... and of the\nclass's sign",
    "active_on_all": "active on all\nrelevant tokens",
    "lucky_on_all": "... and of the\nclass's sign: lucky",
}
BOUNDS = {
    "noise_ratio": r"$(\sigma+\|W_V\|\tau)\,\|W_{O,i}\|$",
    "noise_ratio_without_error": "control: $\\sigma=0$,\n$\\|W_V\\|\\tau\\,\\|W_{O,i}\\|$",
}


def lucky_sets(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Shares of active and lucky neurons beside 1/2 and 1/4, and their largest response to noise beside its bound."""
    figure, (left, right) = draw.panels(2, width=6.2, height=4.4)
    data = data.assign_coords(defect=[DEFECTS.get(str(defect), str(defect)) for defect in data.defect.values])
    neurons = float(data.neurons.max())
    shares = lm.stack({words: data[name] for name, words in SHARES.items()}, "share")
    draw.groups(left, shares, "share", "defect")
    for place, (share, variance) in enumerate(((0.5, 0.25), (0.25, 0.1875))):
        draw.predicted(
            left, share, "paper: $1/2$, $1/4$ (band: 4 standard deviations)" if place == 0 else None, at=place
        )
        spread = 4 * np.sqrt(variance / neurons)
        left.fill_between([place - 0.42, place + 0.42], share - spread, share + spread, color=draw.GREY, alpha=0.2)
    draw.claimed(left, claims["v10-lucky-all"], words=r"paper: $\Omega(m)$ are lucky; claimed of the mean", at=3)
    draw.from_zero(left)
    title = "lucky neurons at $t=0$ (Lemma A.5.1), both classes"
    draw.finish(left, title, f"share of the $m={neurons:g}$ neurons", legend=1)
    responses = lm.stack({words: data[name] for name, words in BOUNDS.items()}, "bound")
    draw.groups(right, responses, "bound", "defect")
    draw.claimed(right, claims["v9-noise-bound"], words="paper, claimed")
    draw.from_zero(right)
    title = "response to token noise at $t=0$"
    draw.finish(right, title, r"largest $|W_{O,i}(W_Vx_l-p_{z(l)})|$ / bound", legend=1)
    return figure

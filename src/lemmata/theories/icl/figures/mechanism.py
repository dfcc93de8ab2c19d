"""What is learnt: the default run (P1, P6 to P10, P12, P13, P15), and growth along training (figure 6.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.figures import attention, neurons, pruning

STEP = "training step $t$"


def default(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """What is solved and attended to; the attention maps; single neurons; pruning."""
    figure, axes = draw.panels(8, rows=4, height=4.2)
    intact, shuffled = (data.sel(variant=name) for name in ("intact", "shuffled"))
    _solved(axes[0], data.sel(variant=["intact", "frozen", "shuffled"]), claims)
    draw.paths(axes[1], data, "concentration_path", "variant")
    draw.claimed(axes[1], claims["p7-concentration"], part="value", words=r"paper: $1-\Theta(M_1^{-C})$; claimed")
    draw.from_zero(axes[1], 1.05)
    words = r"attention on $\mathcal{N}_*$, unseen tasks"
    draw.finish(axes[1], "attention on contexts with the query's pattern", words, STEP)
    attention.entries(axes[2], intact, claims)
    attention.updates(axes[3], intact, claims)
    neurons.directions(axes[4], intact, shuffled, claims)
    neurons.activity(axes[5], intact, claims)
    neurons.growth(axes[6], intact, shuffled, claims)
    pruning.in_domain(axes[7], intact, claims)
    return figure


def _solved(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Hinge loss and sign error on unseen tasks along training, and the hinge loss on seen ones."""
    intact = data.sel(variant="intact")
    draw.paths(ax, data, "unseen_hinge_path", "variant", "hinge loss, {}")
    draw.paths(ax, intact, "seen_hinge_path", label="hinge loss, intact, seen tasks", color=draw.SKY, linestyle=":")
    draw.paths(ax, intact, "unseen_error_path", label="sign error, intact", color=draw.PURPLE, linestyle="-.")
    draw.claimed(ax, claims["p1-unseen-hinge"], words=r"paper: $O(\epsilon)$; claimed, hinge")
    draw.claimed(ax, claims["p1-unseen-error"], words="claimed, sign error")
    draw.loss_scale(ax)
    draw.finish(ax, "unseen tasks along training", "hinge loss, sign error", STEP)


def growth(data: xr.Dataset) -> Figure:
    """Norms and projections, attention, and the path of some neurons in angle and norm (figure 6.2)."""
    figure, axes = draw.panels(4, rows=2)
    for kind, color, width in (("query", draw.BLUE, 4), ("key", draw.ORANGE, 1.6)):
        vector = {"query": "$W_Qp_{query}$", "key": "$W_Kp_i$"}[kind]
        for what, line in (("norm", "-"), ("projection", ":")):
            words = f"norm of {vector}" if what == "norm" else f"{vector} along its pattern"
            how = {"label": words, "color": color, "linestyle": line, "linewidth": width, "spread": ""}
            draw.paths(axes[0], data, f"{kind}_{what}", **how)
    start = float(data.query_projection.isel(record=0).mean())
    draw.predicted(axes[0], start, "start of the latter; paper: all grow")
    draw.from_zero(axes[0])
    draw.finish(axes[0], "(a) queries and keys, and their own patterns", "mean over prompts, out of domain", STEP)
    kinds = {"contexts with the query's pattern": data.attention_same, "other contexts": data.attention_other}
    draw.paths(axes[1], data, lm.stack(kinds, "kind"), "kind")
    draw.predicted(axes[1], 1.0, "paper: tend to 1 and 0")
    draw.predicted(axes[1], 0.0, None)
    draw.finish(axes[1], "(b) attention out of domain", "sum of attention", STEP)
    # the first half of the neurons has a_i > 0, the second a_i < 0; the stored cosine is that with sign(a_i) q
    sign = np.where(np.arange(data.sizes["shown"]) < data.sizes["shown"] // 2, 1, -1)
    first = data.isel(seed=0)
    label = first.shown_label_cosine * xr.DataArray(sign, dims="shown")
    _turns(axes[2], first.shown_feature_cosine, first.shown_feature_norm, sign)
    axes[2].axvline(0, label=r"paper: most turn to $\bar\mu$ and grow", **draw.PREDICTED)
    across = r"angle of $r_{i,d_x}$ to $\bar\mu$ (degrees)"
    draw.finish(axes[2], "(c) feature blocks of some neurons, first seed", r"norm $\|r_{i,d_x}\|$", across)
    _turns(axes[3], label, first.shown_label_norm, sign)
    for angle, words in ((0, r"paper: turn to $\mathrm{sign}(a_i)q$"), (180, None)):
        axes[3].axvline(angle, label=words, **draw.PREDICTED)
    across = r"angle of $r_{i,d_y}$ to $q$ (degrees)"
    draw.finish(axes[3], "(d) label blocks of the same neurons", r"norm $\|r_{i,d_y}\|$", across)
    return figure


def _turns(ax: Axes, cosine: xr.DataArray, norm: xr.DataArray, sign: np.ndarray) -> None:
    """The path of every neuron in angle and norm, from a bar to a mark."""
    angles = np.degrees(np.arccos(np.clip(cosine.transpose("shown", "record").values, -1, 1)))
    norms = norm.transpose("shown", "record").values
    for group, color, marker in ((1, draw.BLUE, "^"), (-1, draw.RED, "v")):
        for i in np.flatnonzero(sign == group):
            ax.plot(angles[i], norms[i], color=color, marker=marker, markevery=[-1], markersize=7, linewidth=1)
            ax.plot(angles[i, :1], norms[i, :1], "|", color="black", markersize=7)
        ax.plot([], [], marker, color=color, markersize=7, label=f"end, $a_i{'>' if group > 0 else '<'}0$")
    ax.plot([], [], "|", color="black", markersize=7, label="start")
    ax.set_xlim(-8, 188)
    ax.set_xticks(range(0, 181, 45))
    draw.log_y(ax)

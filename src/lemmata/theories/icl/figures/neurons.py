"""Neurons: lucky ones of a random network (P11), and panels of the default run: directions, activity, growth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.lab.judges import level_of
from lemmata.theories.icl import bounds
from lemmata.theories.icl.measures import DEFAULT, own_entries

READ = (50, 100, 200)
"""The steps at which linear growth is claimed."""


def lucky(data: xr.Dataset) -> Figure:
    """How many neurons of a random network are lucky for one prompt, over draws, beside the binomial laws."""
    from scipy.stats import binom

    figure, axes = draw.panels(2)
    m = int(data.width.max().fillna(DEFAULT.neurons))
    kinds = (
        ("lucky", 1 / 8, "lucky: both blocks agree, $a_i$ has the label's sign"),
        ("unsigned_lucky", 1 / 4, "control: without the condition on $a_i$"),
    )
    count, bins = np.arange(m + 1), (np.arange(0, m, max(1, m // 100)) - 0.5).tolist()
    for ax, (name, share, title) in zip(axes, kinds, strict=True):
        for sign, label, color in (("plus", "+1", draw.BLUE), ("minus", "−1", draw.RED)):
            drawn = data[name].sel(sign=sign).dropna("seed").values
            if drawn.size:
                words = f"prompts with label {label}: mean {drawn.mean() / m:.4f} $m$"
                ax.hist(drawn, bins, density=True, color=color, alpha=0.4, label=words)
        draw.predicted(ax, binom.pmf(count, m, share), f"exact: Binomial($m$, {share:g})", count)
        other = 3 / 8 - share
        draw.predicted(ax, binom.pmf(count, m, other), f"to compare: Binomial($m$, {other:g})", count, **draw.CLAIMED)
        ax.set_xlim(0, 0.45 * m + 4)
        draw.finish(ax, title, f"density of the {data.sizes['seed']} draws", f"lucky neurons of $m$ = {m}")
    return figure


def directions(ax: Axes, data: xr.Dataset, shuffled: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Norm and direction of every neuron of one seed at the end, large and small, with shuffled labels beside them."""
    share, ratio = (draw.stated(lm.at_end(data[name])) for name in ("large_share", "norm_ratio"))
    blocks = (("feature_cosine", "o", r"$\bar\mu$"), ("label_cosine", "^", r"$\mathrm{sign}(a_i)q$"))
    last = lm.at_end(data.neuron_norm).isel(seed=0)
    for name, marker, to in blocks:
        for large, color in ((1, draw.BLUE), (0, draw.ORANGE)):
            chosen = lm.at_end(data.large).isel(seed=0) == large
            cosine = lm.at_end(data[name]).isel(seed=0).where(chosen)
            words = f"{'large' if large else 'small'} neurons, to {to}"
            ax.plot(last, cosine, marker, color=color, markersize=3.5, alpha=0.6, label=words)
    control = (lm.at_end(shuffled[name]).isel(seed=0) for name in ("neuron_norm", "feature_cosine"))
    ax.plot(*control, "x", color=draw.GREY, markersize=3.5, alpha=0.6, label=r"control: shuffled labels, to $\bar\mu$")
    draw.claimed(ax, claims["p9-feature-block"], words="paper: large ones to 1; claimed")
    ax.set_ylim(-1.1, 1.1)
    title = f"neurons (first seed): share of large {share},\nratio of median norms {ratio}"
    draw.finish(ax, title, "cosine of a block", r"norm $\|r_i\|$ at the end")


def activity(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Shares of lucky neurons that are active, measured and with planted rows of W_O."""
    kinds = {"own_active": "each on its prompt", "all_active": r"$\mathcal{W}$ on all $+1$, $\mathcal{U}$ on all $-1$"}
    shares = lm.stack({words: data[name] for name, words in kinds.items()}, "kind")
    planted = lm.stack({words: data[f"planted_{name}"] for name, words in kinds.items()}, "kind")
    draw.paths(ax, data, shares, "kind")
    draw.paths(ax, data, planted.mean("kind"), label="control: rows of $W_O$ planted", color=draw.GREY, linestyle="-.")
    draw.claimed(ax, claims["p12-own-active"], words="paper: all; claimed")
    draw.from_zero(ax, 1.05)
    draw.finish(ax, "do lucky neurons stay active?", "share of (neuron, prompt) pairs active", "training step $t$")


def growth(ax: Axes, data: xr.Dataset, shuffled: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Growth of W_O along (μ̄; ±q) by group, and the linear lower bound of the paper."""
    groups = {"lucky": "lucky", "plus": "positive", "minus": "negative"}
    grown = data.output_growth.assign_coords(growth=[groups[str(name)] for name in data.growth.values])
    draw.paths(ax, data, grown, "growth", "{} neurons")
    control = shuffled.output_growth.sel(growth="plus")
    draw.paths(ax, shuffled, control, label="control: shuffled labels", color=draw.GREY, linestyle="-.")
    t = data.step.mean("seed")
    delta = float(own_entries(data.key_patterns.isel(record=0)).mean())
    scales = {"beta": DEFAULT.pattern_norm, "alpha": DEFAULT.fraction, "eta": DEFAULT.step_size}
    law = bounds.output_growth(delta=delta, t=t, m=data.sizes["neuron"], **scales)
    draw.predicted(ax, law, r"paper: $\geq\delta(\beta^2+1)\alpha\eta t/(2m)$", t)
    steps = [step for step in READ if step <= t.max()]
    least = [level_of(claims["p15-linear"].judge, label=f"t={step}")[0] for step in steps]
    draw.predicted(ax, least, "claimed: at least a tenth of it", steps, **draw.CLAIMED)
    draw.claimed(ax, claims["p15-linear-corrected"], part="last", words="corrected, at the end")
    draw.loss_scale(ax)
    ax.set_ylim(bottom=-1e-3)
    draw.finish(ax, "growth of the output layer", r"mean $(W_O^{(t)}-W_O^{(0)})(\bar\mu;\pm q)$", "training step $t$")

"""Neurons: lucky ones of a random network (P11), and panels of the default run: norms, directions, growth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, dodge, legend_below, panels, strip
from lemmata.lab.measures import at_end
from lemmata.theories.icl.bounds import output_growth as claimed_growth
from lemmata.theories.icl.figures import CLAIM, DEFAULT, centre, neuron_count, path, predict, stated
from lemmata.theories.icl.measures import ACTIVE, own_entries


def lucky(data: xr.Dataset) -> Figure:
    """How many neurons of a random network are lucky for one prompt, over draws, beside the binomial laws."""
    from scipy.stats import binom

    figure, axes = panels(2, width=5.8, height=4.2)
    m = neuron_count(data)
    signs = (
        ("plus", r"$|\mathcal{W}_n|$ of a $+1$ prompt", BLUE),
        ("minus", r"$|\mathcal{U}_n|$ of a $-1$ prompt", ORANGE),
    )
    kinds = (
        ("lucky", 1 / 8, "1/8", "lucky: both blocks agree and $a_i$ has the label's sign"),
        ("unsigned_lucky", 1 / 4, "1/4", "control: without the condition on $a_i$"),
    )
    for ax, (name, share, words, title) in zip(axes, kinds, strict=True):
        values = data[name]
        top = int(np.nanmax(values.values)) if np.isfinite(values).any() else m
        width = max(1, m // 100)
        bins = (np.arange(0, top + 2 * width, width) - 0.5).tolist()
        for sign, label, color in signs:
            drawn = values.sel(sign=sign).values
            drawn = drawn[np.isfinite(drawn)]
            weights = np.full(drawn.size, 1 / max(drawn.size, 1))
            mean = f", mean {drawn.mean() / m:.4f} $m$" if drawn.size else ""
            ax.hist(drawn, bins, weights=weights, color=color, alpha=0.45, label=f"{label}{mean}")
        for law, label, style in (
            (share, f"exact: Binomial($m$, {words})", PREDICTED),
            (0.375 - share, f"for comparison: Binomial($m$, {'1/4' if words == '1/8' else '1/8'})",
             {"color": GREY, "linestyle": ":", "linewidth": 1.3}),
        ):  # fmt: skip
            k = np.arange(0, m + 1)
            mass = width * binom.pmf(k, m, law)
            ax.plot(k, mass, label=label, **style)
        ax.set_xlim(0, 0.45 * m + 4)
        ax.set_xlabel(f"lucky neurons of $m$ = {m:g}")
        ax.set_ylabel(f"share of the {values.sizes['seed']} draws")
        ax.set_title(title, fontsize=10)
        legend_below(ax)
    return figure


def norms(ax: Axes, data: xr.Dataset, shuffled: xr.Dataset) -> None:
    """Histogram of the norms of all neurons, large and small, with share and ratio; with shuffled labels beside it."""
    values, large = at_end(data.neuron_norm).values.ravel(), at_end(data.large).values.ravel() > 0
    known = np.isfinite(values)
    values, large = values[known], large[known]
    if values.size:
        bins = np.linspace(0, 1.02 * values.max(), 41).tolist()
        weight = np.full(values.size, 1 / values.size)
        share, ratio = at_end(data.large_share), at_end(data.norm_ratio)
        ax.hist(values[large], bins, weights=weight[large], color=BLUE, alpha=0.75,
                label=rf"large: share {stated(share)} (claimed: in [0.5, 0.85])")  # fmt: skip
        ax.hist(values[~large], bins, weights=weight[~large], color=ORANGE, alpha=0.75,
                label=f"small; ratio of medians {stated(ratio)}")  # fmt: skip
        if str(shuffled.variant.values) != str(data.variant.values):
            other = at_end(shuffled.neuron_norm).values.ravel()
            other = other[np.isfinite(other)]
            words = f"control, shuffled query labels: ratio {stated(at_end(shuffled.norm_ratio))}"
            weights = np.full(other.size, 1 / max(other.size, 1))
            ax.hist(other, bins, weights=weights, histtype="step", color=GREY, label=words)
        if (~large).any():
            line = 3 * float(np.median(values[~large]))
            ax.axvline(line, label=r"claimed: median of large $\geq$ 3 $\times$ that of small", **PREDICTED)
    ax.set_yscale("symlog", linthresh=0.1)
    ax.set_yticks([0, 0.05, 0.1, 1], ["0", "0.05", "0.1", "1"])
    ax.set_ylim(0, 1.2)
    ax.set_xlabel(r"norm $\|r_i\|$ at the end (all neurons of all seeds)")
    ax.set_ylabel("share of the neurons")
    ax.set_title("norms of the neurons, large and small (Otsu)")


def cosines(ax: Axes, variants: Mapping[str, xr.Dataset]) -> None:
    """Cosines of the large neurons with the mean pattern and with the label direction of their sign."""
    colors = (BLUE, ORANGE, GREY)
    groups = (
        ("feature_cosine", "median", r"median of" "\n" r"$\cos(r_{i,d_x},\bar\mu)$"),
        ("label_cosine", "median", r"median of" "\n" r"$\cos(r_{i,d_y},\mathrm{sign}(a_i)q)$"),
        ("label_cosine", "min", "the same,\nsmallest"),
    )
    for (words, data), color, x in zip(variants.items(), colors, dodge(len(variants)), strict=False):
        large = at_end(data.large) > 0
        for i, (name, how, _) in enumerate(groups):
            values = getattr(at_end(data[name]).where(large), how)("neuron")
            strip(ax, i + x, values, color, f"{words} (every seed)" if i == 0 else None, width=0.07)
    predict(ax, 0.95, r"paper: $\to1$ (claimed: medians $\geq$ 0.95)")
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set_xticks(range(len(groups)), [words for *_, words in groups], fontsize=8)
    ax.set_ylim(-1.1, 1.1)
    ax.set_ylabel("cosine, large neurons, at the end")
    ax.set_title("directions of the large neurons")


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
        ax.axhline(high, label="paper: constant order (band: a factor 3)", **PREDICTED)
    bound = np.abs(plus.mean("seed")) / factor
    t = data.step.mean("seed")
    for sign in (1, -1):
        words = rf"paper, $a_i<0$: within $1/(\beta^2+1)$ of it ({1 / factor:.2g})" if sign > 0 else None
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
    predict(ax, 0.95, r"paper: all stay active (claimed: $\geq$ 0.95)")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel("share of (neuron, prompt) pairs active")
    ax.set_title("do lucky neurons stay active?")


def output_growth(ax: Axes, data: xr.Dataset, shuffled: xr.Dataset) -> None:
    """Growth of W_O along (μ̄; ±q) by group, and the linear lower bound of the paper."""
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
    ax.plot(t, law, label=r"paper: $\geq\delta(\beta^2+1)\alpha\eta t/(2m)$", **PREDICTED)
    ax.plot(t, 0.1 * law, label="claimed: at least 0.1 of it", **CLAIM)
    ax.set_yscale("symlog", linthresh=1e-3, linscale=0.5)
    ax.set_yticks([-1e-3, 0, 1e-3, 1e-2, 0.1, 1], ["−0.001", "0", "0.001", "0.01", "0.1", "1"])
    ax.set_xlabel("training step $t$")
    ax.set_ylabel(r"mean $(W_O^{(t)}-W_O^{(0)})(\bar\mu;\pm q)$")
    ax.set_title("growth of the output layer")

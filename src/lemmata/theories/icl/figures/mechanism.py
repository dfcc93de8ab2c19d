"""What is learnt: one prompt (figure 6.1), the default run (P1, P6 to P10, P12, P13, P15), growth along training
(figure 6.2), attention by the number of patterns (6.18), lucky neurons (P11), pruning in and out of domain (P10, figure
6.5)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path

import lemmata as lm
from lemmata import figures as draw
from lemmata.lab.judges import level_of
from lemmata.theories.icl import bounds, measures
from lemmata.theories.icl.claims.neurons import RATES
from lemmata.theories.icl.measures import both_maps, growth_records, mean_updates, other_entries, own_entries

STEP = "training step $t$"


def default(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """What is solved and attended to; the attention maps; single neurons; pruning."""
    figure, axes = draw.panels(8, rows=4, height=4.2)
    intact, shuffled = (data.sel(variant=name) for name in ("intact", "shuffled"))
    draw.paths(
        axes[0], data.sel(variant=["intact", "frozen", "shuffled"]), "unseen_hinge_path", "variant", "hinge loss, {}"
    )
    draw.paths(
        axes[0], intact, "seen_hinge_path", label="hinge loss, intact, seen tasks", color=draw.SKY, linestyle=":"
    )
    draw.paths(axes[0], intact, "unseen_error_path", label="sign error, intact", color=draw.PURPLE, linestyle="-.")
    draw.claimed(axes[0], claims["p1-unseen-hinge"], words=r"paper: $O(\epsilon)$; claimed, hinge")
    draw.claimed(axes[0], claims["p1-unseen-error"], words="claimed, sign error")
    draw.loss_scale(axes[0])
    draw.finish(axes[0], "unseen tasks along training", "hinge loss, sign error", STEP)
    draw.paths(axes[1], data, "concentration_path", "variant")
    draw.claimed(axes[1], claims["p7-concentration"], part="value", words=r"paper: $1-\Theta(M_1^{-C})$; claimed")
    draw.from_zero(axes[1], 1.05)
    quantity = r"attention on $\mathcal{N}_*$, unseen tasks"
    draw.finish(axes[1], "attention on contexts with the query's pattern", quantity, STEP)
    entries(axes[2], intact, claims)
    updates(axes[3], intact, claims)
    directions(axes[4], intact, shuffled, claims)
    activity(axes[5], intact, claims)
    output_growth(axes[6], intact, shuffled, claims)
    pruned_in_domain(axes[7], intact, claims)
    return figure


def growth(data: xr.Dataset) -> Figure:
    """Norms and projections, attention, and the path of some neurons in angle and norm (figure 6.2)."""
    figure, axes = draw.panels(4, rows=2)
    for kind, color, width in (("query", draw.BLUE, 4), ("key", draw.ORANGE, 1.6)):
        vector = {"query": "$W_Qp_{query}$", "key": "$W_Kp_i$"}[kind]
        for what, line in (("norm", "-"), ("projection", ":")):
            said = f"norm of {vector}" if what == "norm" else f"{vector} along its pattern"
            how = {"label": said, "color": color, "linestyle": line, "linewidth": width, "spread": ""}
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
    for angle, said in ((0, r"paper: turn to $\mathrm{sign}(a_i)q$"), (180, None)):
        axes[3].axvline(angle, label=said, **draw.PREDICTED)
    title, across = "(d) label blocks of the same neurons", r"angle of $r_{i,d_y}$ to $q$ (degrees)"
    draw.finish(axes[3], title, r"norm $\|r_{i,d_y}\|$", across)
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


UPDATES = {"partners": draw.RED, "non-partners": draw.GREEN, "irrelevant": draw.ORANGE}


def patterns(data: xr.Dataset) -> Figure:
    """Partner over own entry of G^Q and G^K beside 1/M_1; attention on matches; the exponent C of 1 - M_1^-C."""
    figure, axes = draw.panels(3, width=4.3)
    m = data.relevant_patterns.values
    draw.curves(axes[0], data.partner_ratio, "relevant_patterns", "map", "{} map")
    for sign, titles in ((1, r"paper: $|\cdot|\leq1/M_1$"), (-1, None)):
        draw.predicted(axes[0], sign / m, titles, m)
    moments = {"trained": data.concentration, "at the start": data.initial_concentration}
    attention = lm.stack({when: values.isel(head=0) for when, values in moments.items()}, "moment")
    draw.curves(axes[1], attention, "relevant_patterns", "moment")
    draw.predicted(axes[1], 1.0, "paper: tends to 1")
    draw.curves(axes[2], -data.concentration_exponent, "relevant_patterns", label="measured; paper: a constant")
    titles = (
        ("task partners (6.18)", "entry of a task partner / own entry"),
        ("attention concentration", r"attention on $\mathcal{N}_*$, unseen tasks"),
        (r"paper: attention $1-\Theta(M_1^{-C})$", r"$C = -\log(1 - \mathrm{attention}) / \log M_1$"),
    )
    for ax, (title, quantity) in zip(axes, titles, strict=True):
        draw.from_zero(ax)
        draw.numbers(ax, m)
        draw.finish(ax, title, quantity, "relevant patterns $M_1$")
    return figure


def entries(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """The entries of G^Q and G^K at the end, by how two patterns are related, beside what is claimed of each."""
    maps = lm.at_end(both_maps(data))
    size = maps.sizes["pattern"]
    kinds = {
        "own": maps.where(xr.DataArray(np.eye(size, dtype=bool), dims=("pattern", "other"))),
        "task partners": other_entries(maps, data.partner, True),
        "non-partners": other_entries(maps, data.partner, False),
    }
    draw.groups(ax, lm.stack(kinds, "kind"), "kind", "map", "{} map, all entries", markersize=2.5, alpha=0.5)
    start = float(own_entries(both_maps(data)).isel(record=0).mean())
    least, _ = level_of(claims["p6-own"].judge)
    draw.predicted(ax, least * start, rf"claimed, own: ≥ {least:g} $\delta$", at=0, **draw.CLAIMED)
    for sign, label in ((1, r"paper (6.18): $|\cdot|\leq G_{jj}/M_1$"), (-1, None)):
        draw.predicted(ax, sign * float(kinds["own"].mean()) / size, label, at=1)
    draw.claimed(ax, claims["p6-non-partners"], "largest", words="claimed, non-partners", at=2)
    draw.finish(ax, "attention maps by how two patterns are related", "entries of $G^Q$, $G^K$ at the end")


def updates(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """The own update over its largest value, and what other patterns get relative to it while attention grows."""
    means = {kind: values.mean("map") for kind, values in mean_updates(data).items()}
    own = means.pop("own")
    draw.paths(ax, data, own / abs(own).max("record"), label="own / its largest")
    ratios = (lm.stack(means, "kind") / own).where(growth_records(data))
    draw.paths(ax, data, ratios, "kind", "{} / own", UPDATES)
    draw.claimed(ax, claims["p13-partners"], words="paper (E.7), partners")
    draw.claimed(ax, claims["p13-partners-corrected"], words="corrected, partners")
    _, most = level_of(claims["p13-non-partners"].judge)
    draw.predicted(ax, most / data.sizes["pattern"], rf"claimed, non-partners: ≤ {most:g}/$M_1$", **draw.CLAIMED)
    ax.set_ylim(-1.05, 1.1)
    title = "updates of the attention maps (ratios: while attention grows)"
    draw.finish(ax, title, r"$-\nabla W_Q,\,-\nabla W_K$ on patterns, relative", STEP)


def lucky(data: xr.Dataset) -> Figure:
    """How many neurons of a random network are lucky for one prompt, over draws, beside the binomial laws."""
    from scipy.stats import binom

    figure, axes = draw.panels(2)
    m = int(data.width.max().fillna(measures.setting_of(data).neurons))
    kinds = (
        ("lucky", 1 / 8, "lucky: both blocks agree, $a_i$ has the label's sign"),
        ("unsigned_lucky", 1 / 4, "control: without the condition on $a_i$"),
    )
    count, bins = np.arange(m + 1), (np.arange(0, m, max(1, m // 100)) - 0.5).tolist()
    for ax, (name, share, title) in zip(axes, kinds, strict=True):
        for sign, label, color in (("plus", "+1", draw.BLUE), ("minus", "−1", draw.RED)):
            drawn = data[name].sel(sign=sign).dropna("seed").values
            if drawn.size:
                said = f"prompts with label {label}: mean {drawn.mean() / m:.4f} $m$"
                ax.hist(drawn, bins, density=True, color=color, alpha=0.4, label=said)
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
            label = f"{'large' if large else 'small'} neurons, to {to}"
            ax.plot(last, cosine, marker, color=color, markersize=3.5, alpha=0.6, label=label)
    control = (lm.at_end(shuffled[name]).isel(seed=0) for name in ("neuron_norm", "feature_cosine"))
    ax.plot(*control, "x", color=draw.GREY, markersize=3.5, alpha=0.6, label=r"control: shuffled labels, to $\bar\mu$")
    draw.claimed(ax, claims["p9-feature-block"], words="paper: large ones to 1; claimed")
    ax.set_ylim(-1.1, 1.1)
    title = f"neurons (first seed): share of large {share},\nratio of median norms {ratio}"
    draw.finish(ax, title, "cosine of a block", r"norm $\|r_i\|$ at the end")


def activity(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Shares of lucky neurons that are active, measured and with planted rows of W_O."""
    kinds = {"own_active": "each on its prompt", "all_active": r"$\mathcal{W}$ on all $+1$, $\mathcal{U}$ on all $-1$"}
    shares = lm.stack({label: data[name] for name, label in kinds.items()}, "kind")
    planted = lm.stack({label: data[f"planted_{name}"] for name, label in kinds.items()}, "kind")
    draw.paths(ax, data, shares, "kind")
    draw.paths(ax, data, planted.mean("kind"), label="control: rows of $W_O$ planted", color=draw.GREY, linestyle="-.")
    draw.claimed(ax, claims["p12-own-active"], words="paper: all; claimed")
    draw.from_zero(ax, 1.05)
    draw.finish(ax, "do lucky neurons stay active?", "share of (neuron, prompt) pairs active", STEP)


def output_growth(ax: Axes, data: xr.Dataset, shuffled: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Growth of W_O along (μ̄; ±q) by group, and the linear lower bound of the paper."""
    groups = {"lucky": "lucky", "plus": "positive", "minus": "negative"}
    grown = data.output_growth.assign_coords(growth=[groups[str(name)] for name in data.growth.values])
    draw.paths(ax, data, grown, "growth", "{} neurons")
    control = shuffled.output_growth.sel(growth="plus")
    draw.paths(ax, shuffled, control, label="control: shuffled labels", color=draw.GREY, linestyle="-.")
    t = data.step.mean("seed")
    known = {"delta": float(own_entries(data.key_patterns.isel(record=0)).mean()), "m": data.sizes["neuron"]}
    law, (least, _) = measures.linear_growth(data, t, **known), level_of(claims["p15-linear"].judge)
    draw.predicted(ax, law, r"paper: $\geq\delta(\beta^2+1)\alpha\eta t/(2m)$", t)
    draw.predicted(ax, least * law, f"claimed: at least {least:g} of it", t, **draw.CLAIMED)
    draw.claimed(ax, claims["p15-linear-corrected"], part="last", words="corrected, at the end")
    draw.loss_scale(ax)
    ax.set_ylim(bottom=-1e-3)
    draw.finish(ax, "growth of the output layer", r"mean $(W_O^{(t)}-W_O^{(0)})(\bar\mu;\pm q)$", STEP)


RATE = "share $R$ of all neurons that is pruned"


def pruned_in_domain(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Hinge loss after pruning by order and rate, with the formula and the bounds of the proof."""
    rates, share = data.rate.values.astype(float), data.pruned_large_share
    draw.curves(ax, data.pruned_hinge, "rate", "order", "pruned: {}", x=rates)
    small = float(1 - share.mean())
    label = r"pruned: the small ones $\mathcal{L}^c$"
    ax.plot(small, data.large_hinge.mean(), "*", color="black", markersize=10, label=label)
    rate = xr.DataArray(rates, dims="rate")
    formula = np.maximum(0, 1 - data.unseen_margin * (1 - rate / share)).where(rate <= share)
    draw.predicted(ax, formula.mean("seed"), r"formula: $(1-\bar F(1-Rm/|\mathcal{L}|))_+$", rates)
    shares = measures.pruning_shares(data)
    draw.predicted(ax, bounds.pruning_upper(*shares), r"paper (E.107) at $\mathcal{L}^c$", at=small, half=0.06)
    least = [bounds.pruning_lower(float(rate), *shares) for rate in RATES]
    label = "paper (E.109): random large, at least"
    draw.predicted(ax, least, label, np.asarray(RATES, float), linestyle=":", linewidth=2)
    draw.from_zero(ax, 1.05)
    draw.finish(ax, "hinge loss after pruning", "hinge loss, unseen tasks", RATE)


def pruned_out_of_domain(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Hinge and sign error out of domain by pruning rate and order; by α' after pruning 20 %; norms of the neurons."""
    figure, axes = draw.panels(4, rows=2)
    dense, rates = data.isel(test_fraction=-1), data.rate.values.astype(float)
    for ax, what, unit in zip(axes, ("hinge", "error"), ("hinge loss", "sign error"), strict=False):
        values = dense[f"pruned_{what}"]
        draw.curves(ax, values - values.sel(rate="0"), "rate", "order", "pruned: {}", x=rates)
        draw.predicted(ax, 0.0, "not pruned")
        draw.moment(ax, 0.15, "paper: harmless below 15 %", height=0.9)
        title = rf"rise of the {unit} by pruning ($\alpha'$ = {float(dense.test_fraction):g})"
        draw.finish(ax, title, f"rise of the {unit}, out of domain", RATE, legend=0)
    draw.claimed(axes[0], claims["f65a-harmless"], words="claimed, smallest 15 %", at=0.15, half=0.06)
    draw.claimed(
        axes[0], claims["f65a-error-rises-corrected"], "hinge", words="corrected, smallest half", at=0.5, half=0.06
    )
    draw.claimed(axes[1], claims["f65a-error-rises"], words="claimed, smallest half", at=0.5, half=0.06)
    draw.from_zero(axes[0], 1.15)
    draw.loss_scale(axes[1])
    axes[1].set_ylim(bottom=-1e-3)
    for ax in axes[:2]:
        draw.finish(ax)
    smallest = data.pruned_error.sel(order="smallest")
    shown = lm.stack({"smallest 20 % pruned": smallest.sel(rate="0.2"), "not pruned": smallest.sel(rate="0")}, "model")
    draw.groups(axes[2], shown, "test_fraction", "model", "{} (points: seeds)")
    draw.predicted(axes[2], 0.0, r"paper: falls with $\alpha'$, to about 0")
    draw.from_zero(axes[2])
    across = r"decisive share of the testing contexts $\alpha'$"
    draw.finish(axes[2], "error of the pruned network", "sign error, out of domain", across)
    share = (np.arange(data.sizes["neuron"]) + 0.5) / data.sizes["neuron"]
    label = "mean over seeds (points: seeds)"
    draw.curves(axes[3], dense.output_norm, "neuron", label=label, color=draw.GREEN, x=share, marker="", linewidth=2)
    draw.moment(axes[3], 0.15, "paper: the small ones, about 15 %")
    draw.from_zero(axes[3])
    across = "neurons, smallest to largest (share of all)"
    draw.finish(axes[3], "norms of the neurons", r"row norm $\|W_{O,i}\|$", across)
    return figure


TOP = 0.95
"""Where arrows begin and end: just above the boxes."""
COLORS = {1: draw.BLUE, -1: draw.RED, 0: draw.GREY}
SIGNS = {1: "+1", -1: "−1", 0: "0"}
PAPER = (
    "paper: attention concentrates on contexts with the query's pattern\n"
    r"($\mu$: relevant, $\nu$: irrelevant patterns); their label decides the output"
)


def prompt(data: xr.Dataset) -> Figure:
    """Contexts and query as boxes, arrows from the query to every context as wide as its attention, and the output."""
    first = data.isel(seed=0)
    figure, (ax,) = draw.panels(1, width=10.0, height=4.6)
    inputs, attention, patterns = first.coefficients.values, first.attention.values, measures.setting_of(data).patterns
    relevant = np.argmax(np.nan_to_num(inputs[:, :patterns]), axis=1)
    *contents, asked = (decompose(row, patterns) for row in inputs)
    count = len(attention)
    places = np.arange(count + 1) * 2.4
    for i, label in enumerate(map(_sign, first.context_label.values)):
        title = f"context {i + 1}" + (": the query's pattern" if relevant[i] == relevant[-1] else "")
        _box(ax, places[i], title, contents[i], f"label $f(x_{i + 1})$ = {SIGNS[label]}", COLORS[label])
        _arrow(ax, places[-1] - 0.25 * i, places[i], 0.15 + 0.42 * (count - i), float(attention[i]))
    _box(ax, places[-1], "query", asked, "label: asked for", draw.GREY)
    output, truth = float(first.output), _sign(first.label)
    verdict = "right" if _sign(output) == truth else "wrong"
    answer = f"output $F$ = {output:+.2f}\ntruth $z$ = {SIGNS[truth]}: {verdict}".replace("-", "−")
    how: dict[str, Any] = {"ha": "center", "va": "top"}
    ax.text(places[-1], -0.75, answer, fontsize=11, color=COLORS[_sign(output)], fontweight="bold", **how)
    ax.text(places[:-1].mean(), -0.75, PAPER, fontsize=9, **how)
    ax.set_xlim(-1.25, places[-1] + 1.25)
    ax.set_ylim(-1.4, TOP + 0.3 + 0.42 * count)
    ax.set_axis_off()
    draw.finish(ax, "a prompt of an unseen task, and the attention of a trained network (first seed)")
    return figure


def decompose(row: np.ndarray, patterns: int, least: float = 5e-3) -> str:
    """An input as a combination of relevant and irrelevant patterns, in mathematical type."""
    terms = ""
    for k in np.flatnonzero(np.abs(row) > least):
        name = rf"\mu_{{{k + 1}}}" if k < patterns else rf"\nu_{{{k + 1 - patterns}}}"
        size = abs(float(row[k]))
        factor = "" if abs(size - 1) < least else f"{size:.2f}\\,"
        terms += ("-" if row[k] < 0 else "+" if terms else "") + factor + name
    return f"${terms or 0}$"


def _sign(value: float) -> int:
    return int(np.sign(np.nan_to_num(value)))


def _box(ax: Axes, x: float, title: str, content: str, label: str, color: str) -> None:
    how = {"boxstyle": "round,pad=0.08", "facecolor": color, "alpha": 0.12, "edgecolor": color, "linewidth": 1.5}
    ax.add_patch(FancyBboxPatch((x - 0.95, -0.5), 1.9, 1.3, **how))
    for y, line, size, ink in ((0.68, title, 9, "black"), (0.2, content, 14, "black"), (-0.3, label, 10, color)):
        ax.text(x, y, line, ha="center", va="center", fontsize=size, color=ink)


def _arrow(ax: Axes, start: float, end: float, height: float, attention: float) -> None:
    """An arc from the query to a context; its width is the attention, and the number stands beside its head."""
    share = float(np.nan_to_num(attention))
    bend = [(start, TOP), ((start + end) / 2, TOP + 2 * height), (end, TOP)]
    arc = Path(bend, [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    how: dict[str, Any] = {"mutation_scale": 12 + 8 * share, "linewidth": 0.8 + 6 * share, "alpha": 0.35 + 0.55 * share}
    ax.add_patch(FancyArrowPatch(path=arc, arrowstyle="-|>", color="black", **how))
    ax.text(end - 0.15, TOP + 0.08, f"attention\n{attention:.3f}", ha="right", va="bottom", fontsize=10)

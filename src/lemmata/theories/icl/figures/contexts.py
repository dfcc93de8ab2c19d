"""Prompts: one of them (figure 6.1); how long they must be in testing (P4), in training (figure E.1, left) and for
classical predictors (figure 6.4)."""

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
from lemmata.theories.icl.bounds import no_match_probability
from lemmata.theories.icl.claims.testing import ENOUGH
from lemmata.theories.icl.measures import BUDGETS, DEFAULT, by_length, crossing, required_length
from lemmata.theories.icl.setting import REACHED

LENGTH = r"contexts of a testing prompt $l_{ts}$"
ERROR = "sign error, unseen tasks"


def contexts(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Error by length beside [π/2, π]; with and without a match; exact prompts; the length that is needed."""
    figure, axes = draw.panels(4, rows=2)
    iid, exact = (data.sel(test_mode=mode) for mode in ("iid", "exact"))
    trained = iid.sel(attention="trained")
    _by_length(axes[0], iid)
    _matches(axes[1], trained, claims)
    rare = exact.isel(test_fraction=0)
    draw.curves(axes[2], rare.unseen_error, "test_contexts", "attention", "{} attention")
    draw.claimed(axes[2], claims["p4-one-match"], words="predicted: 0 at every length; claimed")
    draw.loss_scale(axes[2])
    title = rf"exact prompts, $\alpha'$ = {float(rare.test_fraction):g}: always a match"
    draw.finish(axes[2], title, ERROR, LENGTH)
    for ax in axes[:3]:
        draw.numbers(ax, data.test_contexts.values)
    _needed(axes[3], trained)
    return figure


def _by_length(ax: Axes, data: xr.Dataset) -> None:
    """The error by length for every α', beside the band that follows from the prompts without a match."""
    grid = np.geomspace(data.test_contexts.min(), data.test_contexts.max(), 60)
    trained, frozen = (data.unseen_error.sel(attention=kind) for kind in ("trained", "frozen"))
    draw.curves(ax, trained, "test_contexts", "test_fraction", r"$\alpha'$ = {}")
    for i, alpha in enumerate(data.test_fraction.values):
        most = no_match_probability(alpha, grid)
        ax.fill_between(grid, most / 2, most, color=draw.look(i).color, alpha=0.2, linewidth=0)
    words = r"predicted: $\pi/2$ to $\pi=(1-\alpha'/2)^l$, $\alpha'=1$: $\pi$"
    ax.fill_between([], [], [], color=draw.GREY, alpha=0.3, linewidth=0, label=words)
    how = {"color": draw.GREY, "linestyle": ":", "marker": "", "spread": ""}
    words = r"frozen attention, mean over $\alpha'$"
    draw.curves(ax, frozen.mean("test_fraction"), "test_contexts", label=words, **how)
    draw.loss_scale(ax)
    draw.finish(ax, "error by length and decisive share", ERROR, LENGTH)


def _matches(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Errors given a context with the query's pattern and given none, all seeds together."""
    missing = data.unseen_no_match.fillna(0)
    given = data.unseen_error_match.weighted(1 - missing).mean("seed")
    absent = data.unseen_error_no_match.weighted(missing).mean("seed")
    absent = absent.where((missing * data.prompts).sum("seed") >= ENOUGH)
    draw.curves(ax, absent, "test_contexts", "test_fraction", r"no match, $\alpha'$ = {}", linestyle="-")
    worst = given.max("test_fraction")
    draw.curves(ax, worst, "test_contexts", label=r"match, worst $\alpha'$", color=draw.GREY, linestyle=":")
    draw.claimed(ax, claims["p4-no-match"], words="claimed without a match")
    draw.claimed(ax, claims["p4-match"], words="claimed with a match")
    draw.loss_scale(ax)
    draw.finish(ax, "with and without a context of the query's pattern", "sign error of such prompts", LENGTH)


def _needed(ax: Axes, data: xr.Dataset, level: float = 0.05) -> None:
    """The length at which the error falls to 0.05 by α', and the claimed exponent -1."""
    errors = data.unseen_error.isel(test_fraction=data.test_fraction < 1)
    lengths, x = crossing(errors, level).transpose("seed", "test_fraction"), errors.test_fraction.values
    draw.curves(ax, lengths, "test_fraction", label="geometric mean", middle="geometric", linestyle="none")
    draw.law(ax, x, lengths.values, 1 / x, r"paper: $\propto1/\alpha'$")
    draw.fit(ax, x, lengths.values, draw.ORANGE)
    draw.numbers(ax, x)
    draw.log_y(ax)
    words = f"length at which the error is {level:g}"
    draw.finish(ax, "required length", words, r"decisive share of testing contexts $\alpha'$")


def training_contexts(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The hinge after a fixed number of steps by length of the training prompts, and the length that is needed."""
    figure, (left, right) = draw.panels(2)
    x = 1 / data.fraction.values
    for (budget, delta), line, mark, color in zip(BUDGETS.items(), "-:", "os", (draw.BLUE, draw.RED), strict=True):
        how = {"middle": "median", "linestyle": line, "marker": mark}
        hinge = by_length(data.last_watch_hinge, budget)
        draw.curves(left, hinge, "contexts", "fraction", rf"$\alpha$ = {{}}, {budget} budget", **how)
        needed = required_length(data, budget).transpose("seed", "fraction")
        words = rf"{budget} budget ($\delta$ = {delta:g})"
        draw.curves(right, needed, "fraction", label=words, color=color, x=x, **how)
        if budget == "short":
            draw.law(right, x, needed.values, x, rf"paper: $\propto\alpha^{{-1}}$ ({budget} budget)")
    draw.predicted(left, REACHED, f"long enough: below {REACHED:g}")
    draw.claimed(left, claims["e1-context-single"], part="hinge", words="claimed at $l_{tr}$ = 1")
    draw.from_zero(left, 1.05)
    left.set_xticks(np.unique(data.contexts))
    title = "hinge loss after training, exact prompts"
    draw.finish(left, title, "hinge loss (medians; points: seeds)", r"contexts of a training prompt $l_{tr}$")
    draw.from_zero(right, 7)
    right.set_xticks(x, [rf"1/{alpha:g}" for alpha in data.fraction.values])
    words = r"required $l_{tr}$ (medians; points: seeds)"
    draw.finish(right, "required contexts (Figure E.1, left)", words, r"$1/\alpha$")
    return figure


LAW = r"oracle, exact: $(1-\alpha')^l/2$"


def baselines(data: xr.Dataset) -> Figure:
    """Error of every predictor by length, in and out of domain, and errors despite a match; a column for each α'."""
    alphas, domains, lengths = data.test_fraction.values, data.domain.values, data.test_contexts.values
    figure, axes = draw.panels(len(alphas) * (len(domains) + 1), rows=len(domains) + 1)
    rivals, oracle = data.prompt_error.drop_sel(predictor="oracle"), data.prompt_error.sel(predictor="oracle")
    share = (data.prompt_error_match / (1 - data.prompt_no_match)).sel(predictor=["one-layer", "1-NN"])
    for column, alpha in enumerate(alphas):
        for row, domain in enumerate(domains):
            ax, cell = axes[row * len(alphas) + column], {"test_fraction": alpha, "domain": domain}
            draw.curves(ax, rivals.sel(cell), "test_contexts", "predictor")
            ax.lines[0].set(linewidth=3)
            how = {"linestyle": "none", "color": "black", "marker": "x"}
            draw.curves(ax, oracle.sel(cell), "test_contexts", label="oracle", **how)
            draw.predicted(ax, 0.5 * (1 - alpha) ** lengths, LAW, lengths)
            draw.finish(ax, rf"{domain}, $\alpha'$ = {alpha:g}", "sign error", LENGTH, legend=3)
        ax = axes[len(domains) * len(alphas) + column]
        for domain, line in zip(domains, ("-", ":"), strict=False):
            cell = share.sel(test_fraction=alpha, domain=domain)
            draw.curves(
                ax, cell, "test_contexts", "predictor", f"{{}}, {domain}", {"1-NN": draw.PURPLE}, linestyle=line
            )
        draw.predicted(ax, 0.0, "exact: 1-NN in-domain never errs")
        title = rf"errors although there is a match, $\alpha'$ = {alpha:g}"
        draw.finish(ax, title, "sign error given a match", LENGTH)
    for ax in axes:
        draw.loss_scale(ax)
        draw.numbers(ax, lengths)
    return figure


def oracle(data: xr.Dataset) -> Figure:
    """The error of the oracle predictor by length, a line for every α', beside its law."""
    figure, (ax,) = draw.panels(1)
    lengths = data.test_contexts
    draw.curves(ax, data.oracle_error, "test_contexts", "test_fraction", r"oracle, $\alpha'$ = {}", linestyle="none")
    for i, alpha in enumerate(data.test_fraction.values):
        law = 0.5 * (1 - alpha) ** lengths
        draw.predicted(ax, law, None if i else r"exact: $(1-\alpha')^l/2$", lengths)
        draw.predicted(ax, 2 * law, None if i else "control: without the factor 1/2", lengths, **draw.CLAIMED)
    draw.loss_scale(ax)
    draw.numbers(ax, lengths)
    draw.finish(ax, "the oracle predictor and its law", "sign error, in-domain", LENGTH)
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
    inputs, attention = first.coefficients.values, first.attention.values
    relevant = np.argmax(np.nan_to_num(inputs[:, : DEFAULT.patterns]), axis=1)
    count = len(attention)
    places = np.arange(count + 1) * 2.4
    for i, label in enumerate(map(_sign, first.context_label.values)):
        title = f"context {i + 1}" + (": the query's pattern" if relevant[i] == relevant[-1] else "")
        _box(ax, places[i], title, decompose(inputs[i]), f"label $f(x_{i + 1})$ = {SIGNS[label]}", COLORS[label])
        _arrow(ax, places[-1] - 0.25 * i, places[i], 0.15 + 0.42 * (count - i), float(attention[i]))
    _box(ax, places[-1], "query", decompose(inputs[-1]), "label: asked for", draw.GREY)
    output, truth = float(first.output), _sign(first.label)
    verdict = "right" if _sign(output) == truth else "wrong"
    words = f"output $F$ = {output:+.2f}\ntruth $z$ = {SIGNS[truth]}: {verdict}".replace("-", "−")
    how: dict[str, Any] = {"ha": "center", "va": "top"}
    ax.text(places[-1], -0.75, words, fontsize=11, color=COLORS[_sign(output)], fontweight="bold", **how)
    ax.text(places[:-1].mean(), -0.75, PAPER, fontsize=9, **how)
    ax.set_xlim(-1.25, places[-1] + 1.25)
    ax.set_ylim(-1.4, TOP + 0.3 + 0.42 * count)
    ax.set_axis_off()
    draw.finish(ax, "a prompt of an unseen task, and the attention of a trained network (first seed)")
    return figure


def decompose(row: np.ndarray, patterns: int = DEFAULT.patterns, least: float = 5e-3) -> str:
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
    for y, words, size, ink in ((0.68, title, 9, "black"), (0.2, content, 14, "black"), (-0.3, label, 10, color)):
        ax.text(x, y, words, ha="center", va="center", fontsize=size, color=ink)


def _arrow(ax: Axes, start: float, end: float, height: float, attention: float) -> None:
    """An arc from the query to a context; its width is the attention, and the number stands beside its head."""
    share = float(np.nan_to_num(attention))
    bend = [(start, TOP), ((start + end) / 2, TOP + 2 * height), (end, TOP)]
    arc = Path(bend, [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    how: dict[str, Any] = {"mutation_scale": 12 + 8 * share, "linewidth": 0.8 + 6 * share, "alpha": 0.35 + 0.55 * share}
    ax.add_patch(FancyArrowPatch(path=arc, arrowstyle="-|>", color="black", **how))
    ax.text(end - 0.15, TOP + 0.08, f"attention\n{attention:.3f}", ha="right", va="bottom", fontsize=10)

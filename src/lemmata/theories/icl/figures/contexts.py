"""How long prompts must be: in testing (P4), in training (figure E.1, left)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.bounds import no_match_probability
from lemmata.theories.icl.claims.contexts import ENOUGH
from lemmata.theories.icl.measures import BUDGETS, by_length, crossing, required_length
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

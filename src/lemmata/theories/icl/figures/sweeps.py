"""Sweeps and variants: iterations (P2; over α figure E.1, right), tasks (figure E.2), patterns out of domain by their
coefficient sum S_1 (P5, figure 6.3(A) for the one-layer network), heads (P17), classes (P18)."""

import contextlib
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.claims.variants import SHARP
from lemmata.theories.icl.measures import both_maps, other_entries, own_entries
from lemmata.theories.icl.setting import REACHED
from lemmata.theories.icl.tasks import coefficient_sum

AXES: dict[str, tuple[str, str, Callable[[np.ndarray], np.ndarray]]] = {
    "step_size": (r"step size $\eta$", r"\eta^{-1}", lambda x: x**-1.0),
    "fraction": (r"decisive share $\alpha$", r"\alpha^{-2/3}", lambda x: x ** (-2 / 3)),
    "pattern_norm": (r"pattern norm $\beta$", r"\beta^{-2/3}", lambda x: x ** (-2 / 3)),
    "relevant_patterns": (r"relevant patterns $M_1$", r"M_1\sqrt{\log M_1}", lambda x: x * np.sqrt(np.log(x))),
    "neurons": (r"neurons $m$", "m^0", np.ones_like),
    "initial_scale": (r"initial scale $\delta$", r"\delta^{-2/3}\ \mathrm{(E.62)}", lambda x: x ** (-2 / 3)),
}
"""The axis of every sweep: its words, and the claimed law of T* in it."""
TIME = rf"steps $T*$ to hinge loss < {REACHED:g}, unseen tasks"


def iterations(data: xr.Dataset) -> Figure:
    """T* over the axis of a sweep, its power law, and the claimed law through the centre of the runs."""
    axis = next(name for name in AXES if name in data.reached_step.dims)
    words, formula, law = AXES[axis]
    x, times = data[axis].values.astype(float), data.reached_step.transpose("seed", axis)
    figure, axes = draw.panels(2 if axis == "fraction" else 1)
    draw.curves(axes[0], times, axis, label="geometric mean", middle="geometric", linestyle="none", markersize=7)
    draw.law(axes[0], x, times.values, law(x), rf"paper: $\propto {formula}$")
    draw.fit(axes[0], x, times.values, draw.ORANGE)
    draw.numbers(axes[0], x)
    draw.log_y(axes[0])
    draw.finish(axes[0], f"iterations by {words}", TIME, words)
    if axis == "fraction":
        _straight(axes[1], x, times)
    return figure


def _straight(ax: Axes, alpha: np.ndarray, times: xr.DataArray) -> None:
    """Figure E.1, right: T* against α^(-2/3), where the paper has a straight line."""
    x = alpha ** (-2 / 3)
    draw.curves(ax, times, "fraction", label="mean over seeds", x=x, linestyle="none", markersize=7)
    with contextlib.suppress(lm.CannotFit):
        fit = lm.line(x, times.values)
        ends = np.array([x.min(), x.max()])
        label = f"paper: a straight line (fit, $R^2$ = {fit.r_squared:.3f})"
        draw.predicted(ax, fit.intercept.value + fit.slope.value * ends, label, ends)
    draw.from_zero(ax)
    ax.set_xticks(x, [f"{value:.2f}" for value in x], fontsize=8)
    across = rf"$\alpha^{{-2/3}}$ ($\alpha$ from {alpha.max():g} to {alpha.min():g})"
    draw.finish(ax, "required iterations (Figure E.1, right)", TIME, across)


def tasks(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Hinge loss and sign error on unseen and seen tasks by the number n of training tasks, beside the thresholds."""
    figure, axes = draw.panels(2, rows=2, width=9.5, height=3.9)
    drawn, patterns = data.tasks == "subsampled", data.patterns
    count = data.task_count.where(drawn, patterns)
    sizes = zip(data.task_set.values, drawn.values, patterns.values, count.values, strict=True)
    names = {name: f"$M_1$ = {m:g}\n$n$ = {n:g}" if cycle else f"{name}\n$n$ = {n:g}" for name, cycle, m, n in sizes}
    for ax, what in zip(axes, ("hinge", "error"), strict=True):
        values = lm.stack({kind: data[f"{kind}_{what}"] for kind in ("unseen", "seen")}, "kind")
        draw.groups(ax, values, "task_set", "kind", "{} tasks (points: seeds)", words=names)
    draw.predicted(axes[1], 0.0, "paper: about 0 with $n=M_1$")
    levels = (
        ("p3-sufficient", axes[0], patterns, "paper: about 0 with $n=M_1$; claimed"),
        ("p3-necessary", axes[0], patterns - 1, "paper: positive with $n=M_1-1$; claimed"),
        ("p3-half", axes[1], patterns // 2, "claimed with $n=M_1/2$"),
    )
    for name, ax, tasks_given, words in levels:
        for place in np.flatnonzero(count == tasks_given).tolist():
            draw.claimed(ax, claims[name], words=words, at=place)
    for ax, unit in zip(axes, ("hinge loss", "sign error"), strict=True):
        draw.loss_scale(ax)
        draw.finish(ax, f"{unit} by number of training tasks $n$", unit)
    return figure


HEADS = {"independent": "independent\n$W_O$", "equal": "equal blocks\nof $W_O$", "frozen": "both heads\nfrozen"}
KINDS = ("trained", "frozen")
ATTENTION = r"attention on $\mathcal{N}_*$, unseen tasks"


def heads(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Concentration of both heads of every seed by variant, before and after training; error and hinge."""
    figure, (left, right) = draw.panels(2)
    after = data.concentration
    sharp = {"better head": after.max("head"), "worse head": after.min("head")}
    sharp["before training"] = data.initial_concentration.mean("head")
    draw.groups(left, lm.stack(sharp, "which"), "variant", "which", words=HEADS)
    draw.predicted(left, SHARP, f"paper: each head; claimed: ≥ {SHARP:g}", **draw.CLAIMED)
    draw.claimed(left, claims["p17-each-head-corrected"], words="corrected, better head")
    draw.from_zero(left, 1.05)
    draw.finish(left, "attention of both heads", ATTENTION)
    losses = lm.stack({"sign error": data.unseen_error, "hinge loss": data.unseen_hinge}, "loss")
    draw.groups(right, losses, "variant", "loss", words=HEADS)
    for part in ("error", "hinge"):
        draw.claimed(right, claims["p17-error"], part, words=f"paper: solved; claimed, {part}")
    draw.loss_scale(right)
    draw.finish(right, "error and hinge loss with two heads", "on unseen tasks, at the end")
    return figure


def classes(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Two patterns in each class: error beside the share of prompts without a match, and concentration."""
    figure, (left, right) = draw.panels(2)
    words = {name: f"$l_{{ts}}$ = {name}" for name in data.test_length.values.tolist()}
    kinds = lm.stack({f"error, {kind} attention": data.unseen_error.sel(attention=kind) for kind in KINDS}, "kind")
    draw.groups(left, kinds, "test_length", "kind", words=words)
    levels = data.unseen_no_match.sel(attention="trained").transpose("test_length", "seed").mean("seed").values
    for i, level in enumerate(levels):
        draw.predicted(left, float(level), None if i else "paper: at most the share without a match", at=i)
    draw.claimed(left, claims["p18-long"], words=f"claimed at {list(words.values())[-1]}", at=len(words) - 1)
    draw.loss_scale(left)
    draw.finish(left, "errors beside prompts without a match", "share of unseen-task prompts")
    sharp = {f"{kind} attention": data.concentration.sel(attention=kind).isel(head=0) for kind in KINDS}
    sharp["before training"] = data.initial_concentration.sel(attention="trained").isel(head=0)
    draw.groups(right, lm.stack(sharp, "kind"), "test_length", "kind", words=words)
    draw.claimed(right, claims["p18-concentration"], words="paper: the same mechanism; claimed")
    draw.from_zero(right, 1.05)
    draw.finish(right, "attention on contexts with the query's pattern", ATTENTION)
    return figure


OUTSIDE = 1.62
"""Where the shift that has no coefficient sum stands on the axis."""
SMALL = r"paper: $O(\epsilon)$ for $S_1\geq1$; claimed"


def shift(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Errors, hinge and attention over S_1 on both branches for every training, and the partner entries behind them."""
    figure, axes = draw.panels(6, rows=3, height=4.5)
    end = data.sel(moment="end")
    first = end.isel(odr_pattern=0)
    _over(axes[0], end.shift_error, "all queries: sign error", "sign error")
    _over(axes[1], first.query_error, r"queries with $\mu_1'$: sign error", "sign error")
    _over(axes[2], end.shift_hinge, "all queries: hinge loss", "hinge loss")
    _over(axes[3], first.query_hinge, r"queries with $\mu_1'$: hinge loss", "hinge loss")
    _over(axes[4], end.shift_concentration, "all queries: attention", r"attention on $\mathcal{N}_*$")
    draw.claimed(axes[0], claims["p5-sign"], words=SMALL)
    draw.claimed(axes[1], claims["p5-sign-unneeded"], words="claimed also at $S_1=0$")
    draw.claimed(axes[2], claims["p5-hinge"], words=SMALL)
    draw.predicted(axes[3], 0.0, r"paper: $O(\epsilon)$ for $S_1\geq1$")
    before = data.shift_concentration.sel(moment="start").mean()
    draw.predicted(axes[4], 1.0, r"paper: tends to 1 for $S_1\geq1$")
    draw.predicted(axes[4], before, "before training", color="black", linestyle=":")
    draw.claimed(axes[4], claims["p7-concentration-shifted"], part="value", words="claimed, U=1")
    draw.claimed(axes[4], claims["p7-concentration-spread"], words="claimed, U=5")
    for ax in axes[:2]:
        draw.loss_scale(ax)
    for ax in axes[2:5]:
        draw.from_zero(ax, 1.05)
    for ax in axes[:5]:
        draw.finish(ax)
    _partners(axes[5], data.isel(shift=0), claims)  # the same network at every shift
    return figure


def _over(ax: Axes, values: xr.DataArray, title: str, words: str) -> None:
    """Values over S_1: branch A joined by lines, branch B dotted with open marks, the defect beside them."""
    angle, inside = values.angle, values.defect == "none"
    a, b = values.isel(shift=inside & (angle <= 45)), values.isel(shift=inside & (angle >= 45))
    for part, branch, how in ((a, "A", {"linestyle": "-"}), (b, "B", {"linestyle": ":", "markerfacecolor": "white"})):
        sums = [coefficient_sum(float(degrees)) for degrees in part.angle]
        draw.curves(ax, part, "shift", "variant", f"{{}}, branch {branch}", x=sums, **how)
    outside = values.isel(shift=~inside)
    asides = draw.dodge(values.sizes["variant"], 0.3)
    for i, (variant, aside) in enumerate(zip(values.variant.values, asides, strict=True)):
        label = r"control: $\mu'$ in span($\nu$)" if i == 0 else None
        how = {"marker": "*", "markersize": 9, "width": 0.02}
        draw.strip(ax, OUTSIDE + aside, outside.sel(variant=variant), draw.look(i).color, label, **how)
    ax.axvspan(1.0, 1.35, color=draw.GREY, alpha=0.12, linewidth=0)
    ax.set_xlim(-1.4, 1.85)
    ax.set_xticks([-1, -0.5, 0, 0.5, 1, OUTSIDE], ["−1", "−0.5", "0", "0.5", "1", r"in span($\nu$)"])
    draw.finish(ax, title, f"{words}, out of domain", r"coefficient sum $S_1$ of $\mu_1'$ (shaded: $\geq1$)", legend=0)


def _partners(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Mean entry of task partners over the mean own entry, by training."""
    maps = both_maps(data)
    partners = other_entries(maps, data.partner, True).mean(["pattern", "other"])
    draw.groups(ax, partners / own_entries(maps).mean("pattern"), "variant", "map", "{} map (points: seeds)")
    for sign, words in ((1, r"paper (6.18): $|\cdot|\leq1/M_1$"), (-1, None)):
        draw.predicted(ax, sign / data.sizes["pattern"], words)
    draw.claimed(ax, claims["p6-partners-corrected"], words="corrected, U=1")
    draw.finish(ax, "attention maps: task partners, by training", "mean partner entry / own entry")

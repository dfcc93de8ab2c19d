"""Sweeps and variants: iterations (P2; over α figure E.1, right), tasks (figure E.2), heads (P17), classes (P18),
patterns out of domain by their coefficient sum S_1 (P5, figure 6.3(A) for the one-layer network); how long prompts must
be in testing (P4), in training (figure E.1, left) and for classical predictors (figure 6.4)."""

import contextlib
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl import measures
from lemmata.theories.icl.bounds import no_match_probability
from lemmata.theories.icl.claims.testing import ENOUGH
from lemmata.theories.icl.claims.variants import SHARP
from lemmata.theories.icl.measures import BUDGETS, by_length, crossing, required_length
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
    across, formula, law = AXES[axis]
    x, times = data[axis].values.astype(float), data.reached_step.transpose("seed", axis)
    figure, axes = draw.panels(2 if axis == "fraction" else 1)
    draw.curves(axes[0], times, axis, label="geometric mean", middle="geometric", linestyle="none", markersize=7)
    draw.law(axes[0], x, times.values, law(x), rf"paper: $\propto {formula}$")
    draw.fit(axes[0], x, times.values, draw.ORANGE)
    draw.numbers(axes[0], x)
    draw.log_y(axes[0])
    draw.finish(axes[0], f"iterations by {across}", TIME, across)
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
    for name, ax, tasks_given, label in levels:
        for place in np.flatnonzero(count == tasks_given).tolist():
            draw.claimed(ax, claims[name], words=label, at=place)
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
    for criterion in ("error", "hinge"):
        draw.claimed(right, claims["p17-error"], criterion, words=f"paper: solved; claimed, {criterion}")
    draw.loss_scale(right)
    draw.finish(right, "error and hinge loss with two heads", "on unseen tasks, at the end")
    return figure


def classes(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Two patterns in each class: error beside the share of prompts without a match, and concentration."""
    figure, (left, right) = draw.panels(2)
    names = {name: f"$l_{{ts}}$ = {name}" for name in data.test_length.values.tolist()}
    kinds = lm.stack({f"error, {kind} attention": data.unseen_error.sel(attention=kind) for kind in KINDS}, "kind")
    draw.groups(left, kinds, "test_length", "kind", words=names)
    levels = data.unseen_no_match.sel(attention="trained").transpose("test_length", "seed").mean("seed").values
    for i, level in enumerate(levels):
        draw.predicted(left, float(level), None if i else "paper: at most the share without a match", at=i)
    draw.claimed(left, claims["p18-long"], words=f"claimed at {list(names.values())[-1]}", at=len(names) - 1)
    draw.loss_scale(left)
    draw.finish(left, "errors beside prompts without a match", "share of unseen-task prompts")
    sharp = {f"{kind} attention": data.concentration.sel(attention=kind).isel(head=0) for kind in KINDS}
    sharp["before training"] = data.initial_concentration.sel(attention="trained").isel(head=0)
    draw.groups(right, lm.stack(sharp, "kind"), "test_length", "kind", words=names)
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


def _over(ax: Axes, values: xr.DataArray, title: str, quantity: str) -> None:
    """Values over S_1: branch A joined by lines, branch B dotted with open marks, the defect beside them."""
    angle, inside = values.angle, values.defect == "none"
    a, b = values.isel(shift=inside & (angle <= 45)), values.isel(shift=inside & (angle >= 45))
    for points, branch, how in ((a, "A", {"linestyle": "-"}), (b, "B", {"linestyle": ":", "markerfacecolor": "white"})):
        sums = [coefficient_sum(float(degrees)) for degrees in points.angle]
        draw.curves(ax, points, "shift", "variant", f"{{}}, branch {branch}", x=sums, **how)
    outside = values.isel(shift=~inside)
    asides = draw.dodge(values.sizes["variant"], 0.3)
    for i, (variant, aside) in enumerate(zip(values.variant.values, asides, strict=True)):
        label = r"control: $\mu'$ in span($\nu$)" if i == 0 else None
        how = {"marker": "*", "markersize": 9, "width": 0.02}
        draw.strip(ax, OUTSIDE + aside, outside.sel(variant=variant), draw.look(i).color, label, **how)
    ax.axvspan(1.0, 1.35, color=draw.GREY, alpha=0.12, linewidth=0)
    ax.set_xlim(-1.4, 1.85)
    ax.set_xticks([-1, -0.5, 0, 0.5, 1, OUTSIDE], ["−1", "−0.5", "0", "0.5", "1", r"in span($\nu$)"])
    draw.finish(
        ax, title, f"{quantity}, out of domain", r"coefficient sum $S_1$ of $\mu_1'$ (shaded: $\geq1$)", legend=0
    )


def _partners(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Mean entry of task partners over the mean own entry, by training."""
    maps = measures.both_maps(data)
    partners = measures.other_entries(maps, data.partner, True).mean(["pattern", "other"])
    draw.groups(ax, partners / measures.own_entries(maps).mean("pattern"), "variant", "map", "{} map (points: seeds)")
    for sign, label in ((1, r"paper (6.18): $|\cdot|\leq1/M_1$"), (-1, None)):
        draw.predicted(ax, sign / data.sizes["pattern"], label)
    draw.claimed(ax, claims["p6-partners-corrected"], words="corrected, U=1")
    draw.finish(ax, "attention maps: task partners, by training", "mean partner entry / own entry")


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
    label = r"predicted: $\pi/2$ to $\pi=(1-\alpha'/2)^l$, $\alpha'=1$: $\pi$"
    ax.fill_between([], [], [], color=draw.GREY, alpha=0.3, linewidth=0, label=label)
    how = {"color": draw.GREY, "linestyle": ":", "marker": "", "spread": ""}
    label = r"frozen attention, mean over $\alpha'$"
    draw.curves(ax, frozen.mean("test_fraction"), "test_contexts", label=label, **how)
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
    quantity = f"length at which the error is {level:g}"
    draw.finish(ax, "required length", quantity, r"decisive share of testing contexts $\alpha'$")


def training_contexts(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The hinge after a fixed number of steps by length of the training prompts, and the length that is needed."""
    figure, (left, right) = draw.panels(2)
    x = 1 / data.fraction.values
    for (budget, delta), line, mark, color in zip(BUDGETS.items(), "-:", "os", (draw.BLUE, draw.RED), strict=True):
        how = {"middle": "median", "linestyle": line, "marker": mark}
        hinge = by_length(data.last_watch_hinge, budget)
        draw.curves(left, hinge, "contexts", "fraction", rf"$\alpha$ = {{}}, {budget} budget", **how)
        needed = required_length(data, budget).transpose("seed", "fraction")
        label = rf"{budget} budget ($\delta$ = {delta:g})"
        draw.curves(right, needed, "fraction", label=label, color=color, x=x, **how)
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
    label = r"required $l_{tr}$ (medians; points: seeds)"
    draw.finish(right, "required contexts (Figure E.1, left)", label, r"$1/\alpha$")
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

"""The figures: along training (the attention groups with the late law of Figure 7.6, times of the stages, gradients),
and on testing prompts (errors by length of 7.3 to 7.5, attention on matching columns of 7.2, and where it ends)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.cot.bounds import concentration, follow_gain, gradient_bounds, late_gain
from lemmata.theories.cot.claims.testing import vote_error
from lemmata.theories.cot.claims.training import EARLY, FIRST, LEVEL, SECOND
from lemmata.theories.cot.data import WATCHED
from lemmata.theories.cot.measures import DEFAULT, FIELDS, STAGE, SWEEPS, error, loss_time, required_length, stage_time
from lemmata.theories.cot.probes import GROUPS

TIME = r"$\eta t$"
M, K, ALPHA, EXAMPLES = DEFAULT.patterns, DEFAULT.reasoning_steps, DEFAULT.fraction, DEFAULT.examples
LAW = r"derived: late law of $u_\mu$ from $\eta t=500$"
COLORS = dict(zip(GROUPS, (draw.GREEN, draw.BLUE, draw.ORANGE, draw.RED), strict=True))
LENGTH = r"examples of a testing prompt $l_{ts}$"
PANEL = {"test_fraction": r"$\alpha'$ = {}", "trajectory": r"$\tau$ = {}", "primacy": r"$\rho$ = {}"}
SYMBOLS = {"α'": r"{\alpha'}", "ρ": r"\rho", "τ": r"\tau"}
VOTER = {"linestyle": "none", "marker": "x", "spread": ""}
BLIND = {"linestyle": ":", "marker": "", "spread": ""}
VOTES = ("cot", "model", {}), ("voter", "ideal voter", VOTER), ("blind_voter", "all vote", BLIND)
BOTH = ("cot", "voter", "CoT", draw.BLUE), ("icl", "icl_voter", "ICL", draw.RED)
AXES = {
    "training_patterns": "training patterns $M$",
    "fraction": r"share of matching examples $\alpha$",
    "examples": r"examples $l_{tr}$",
}


def reference(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Figure 7.6 in one look: groups on testing and training prompts with boundary and late law; gains; losses."""
    figure, axes = draw.panels(4, rows=2)
    run = data.sel(variant=data.variant.values[0])
    times, gain = _law(run)
    for part, words in (("same", "claimed at the end"), ("later", "claimed for other steps")):
        draw.claimed(axes[0], claims["f76-groups"], part=part, words=words)
    shares = WATCHED["test_fraction"] * WATCHED["trajectory"] ** (np.arange(K) / K)  # that match the query at step k
    for ax, words, alphas in ((axes[0], "test", shares), (axes[1], "train", [ALPHA])):
        draw.paths(ax, run, f"{words}_groups", "group", color=COLORS, clock=run.time, linestyle="-")
        boundary = float(stage_time(run, STAGE, f"{words}_groups").mean())
        draw.moment(ax, boundary, "first stage | second stage", height=0.45)
        if times.size:
            draw.corrected(ax, np.mean([concentration(a, gain) for a in alphas], axis=0), LAW, times, color="black")
        ax.set_ylim(-0.03, 1.03)
        draw.finish(ax, f"attention groups, {words}ing prompts", "attention of the query", TIME)
    for name, words, color in (
        ("pattern_gain", r"pattern gain $u_\mu$", draw.GREEN),
        ("step_gain", r"step gain $u_c$", draw.BLUE),
        ("label_own", "label block, own entries", draw.PURPLE),
        ("pattern_step", "cross block, patterns and steps", draw.GREY),
    ):
        draw.paths(axes[2], run, name, label=words, clock=run.time, color=color)
    if times.size:
        draw.corrected(axes[2], gain, LAW, times)
        limit = late_gain(2.0, 500.0, times, M, ALPHA, EXAMPLES, kind="asymptote")
        draw.corrected(axes[2], limit, "its asymptote", times, linestyle=":")
        bound = 0.5 * np.log((1 - ALPHA) ** 2 * times / (ALPHA**2 * K * M))
        draw.predicted(axes[2], bound, "paper: lower bound (F.31)", times)
        shown = run.isel(record=(run.time >= 1000).all("seed"))
        clock = shown.time.isel(seed=0).values
        draw.law(axes[3], clock, shown.train_loss.values, 1 / clock, "paper: 1/t")
    draw.finish(axes[2], "blocks of W", "gain", TIME)
    draw.paths(axes[3], data, "train_loss", "variant", clock=data.time, spread="")
    draw.claimed(axes[3], claims["c1-loss"], words=r"claimed at $\eta t=2000$")
    draw.log_y(axes[3])
    draw.finish(axes[3], "loss on fresh tasks", r"loss $\ell$", TIME)
    for ax in axes:
        ax.set(xscale="log", xlim=(50, None))
    return figure


def _law(run: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The late law from the mean gain at ηt = 500; empty where a run is shorter."""
    late = run.time.mean("seed").values >= 500
    times, gain = (values.mean("seed").values[late] for values in (run.time, run.pattern_gain))
    return times, np.array([float(follow_gain(gain[0], times[0], t, M, ALPHA, EXAMPLES)) for t in times])


def pool(data: xr.Dataset) -> Figure:
    """Losses at the end on fresh tasks and on those of the pool, by the number of training tasks."""
    figure, (ax,) = draw.panels(1)
    both = {"tasks of the pool": data.pool_loss, "fresh tasks": data.moment_loss}
    shown = lm.stack({words: loss.sel(moment_read="end") for words, loss in both.items()}, "on")
    draw.groups(ax, shown, "pool", "on", words={n: f"training tasks: {n:g}" for n in data.pool.values.tolist()})
    draw.from_zero(ax)
    draw.finish(ax, "loss by the number of training tasks", r"loss $\ell$ at the end")
    return figure


def clocks(data: xr.Dataset) -> Figure:
    """The loss with two step sizes over η t: one curve."""
    figure, (ax,) = draw.panels(1)
    draw.paths(ax, data, "train_loss", "clock", clock=data.time, spread="", linewidth=2.5)
    ax.set(xscale="log", xlim=(50, None))
    draw.log_y(ax)
    draw.finish(ax, r"the loss is a function of $\eta t$", r"loss $\ell$ on fresh tasks", TIME)
    return figure


def times(data: xr.Dataset) -> Figure:
    """Times to a loss and to the end of the first stage over the axis of a sweep."""
    axis = next(name for name in AXES if name in data.train_loss.dims)
    level = 0.02 if axis == "fraction" else LEVEL
    figure, (ax,) = draw.panels(1)
    x, found = data[axis].values.astype(float), loss_time(data, level)
    draw.curves(ax, found, axis, label=f"to loss {level:g}", middle="geometric")
    early = {"label": f"to off-step attention {EARLY:g}", "color": draw.ORANGE, "middle": "geometric"}
    draw.curves(ax, stage_time(data, EARLY), axis, **early)
    if axis == "training_patterns":
        draw.law(ax, x, found.transpose("seed", axis).values, x, r"paper: $\propto M$")
    draw.numbers(ax, x)
    draw.log_y(ax)
    draw.finish(ax, f"times by {AXES[axis]}", TIME, AXES[axis])
    return figure


def stages(data: xr.Dataset) -> Figure:
    """The end of the first stage by K and by α, at off-step attention 0.3 and 0.05."""
    figure, axes = draw.panels(2)
    for ax, mark, words in ((axes[0], "K=", "reasoning steps $K$"), (axes[1], "α=", AXES["fraction"])):
        chosen = data.sel(case=[label for label in data.case.values if label.startswith(mark)])
        x = [float(label.removeprefix(mark)) for label in chosen.case.values]
        for level, color in ((EARLY, draw.BLUE), (STAGE, draw.RED)):
            draw.curves(ax, stage_time(chosen, level), "case", label=f"off-step attention {level:g}", color=color, x=x)
        draw.numbers(ax, x)
        draw.log_y(ax)
        draw.finish(ax, f"end of the first stage by {words}", TIME, words)
    return figure


def gradients(data: xr.Dataset) -> Figure:
    """Projected gradients at W = 0 with true and with permuted targets, beside the bounds of Lemma F.3.5."""
    figure, (ax,) = draw.panels(1, width=7.5)
    at_zero = data.projected.sel(moment_read="0")
    words = {label: label.replace(", ", ",\n") for label in at_zero.relation.values.tolist()}
    draw.groups(ax, at_zero, "relation", "label_order", "targets {}", words=words)
    for place, (relation, (low, high)) in enumerate(gradient_bounds(0.131171, ALPHA, K, M).items()):
        shade = {"color": draw.GREY, "alpha": 0.2, "linewidth": 0, "label": None if place else "paper: (F.7)-(F.10)"}
        ax.fill_between([place - 0.4, place + 0.4], max(low, -0.045), high, **shade)
        draw.predicted(ax, FIRST[relation], None if place else "reference values", at=place)
    draw.finish(ax, "projected gradients at W = 0 (negative: logit rises)", r"mean $\tilde{p}'^\top\nabla\tilde{p}$")
    return figure


def late(data: xr.Dataset) -> Figure:
    """Gains by K beside the law without K; times to loss 0.01; same/same over both bounds."""
    figure, axes = draw.panels(3)
    draw.paths(axes[0], data, "pattern_gain", "chain", "K = {}", clock=data.time, spread="")
    times_, gain = _law(data.isel(chain=0))
    if times_.size:
        draw.corrected(axes[0], gain, LAW, times_, color="black")
    axes[0].set(xscale="log", xlim=(50, None))
    draw.finish(axes[0], "pattern gain by the number of steps", r"$u_\mu$", TIME)
    draw.curves(axes[1], loss_time(data, LEVEL), "chain", label=f"to loss {LEVEL:g}")
    draw.curves(axes[1], stage_time(data, STAGE), "chain", label=f"to off-step attention {STAGE:g}", color=draw.ORANGE)
    draw.from_zero(axes[1])
    draw.finish(axes[1], "times by the number of steps", TIME, "reasoning steps $K$")
    ratio = data.projected.isel(relation=0) / (-2 / M * data.moment_curvature)
    ratio = ratio.sel(moment_read=[f"{t}" for t in SECOND])
    x = ratio.moment_read.values.astype(float)
    draw.curves(axes[2], ratio, "moment_read", "chain", "K = {}", x=x)
    draw.predicted(axes[2], 1.0, r"paper: at least $4/(2M)\;\overline{p(1-p)^2}$ (F.13)")
    draw.corrected(axes[2], 0.5, r"corrected: at least $1/M\;\overline{p(1-p)^2}$", color="black")
    draw.from_zero(axes[2], 1.2)
    draw.numbers(axes[2], x)
    draw.finish(axes[2], "same step and pattern, over the printed bound", "gradient over bound", TIME)
    return figure


def lengths(data: xr.Dataset) -> Figure:
    """CoT and ICL error by length, a line for each value of the panel; crosses: the ideal voter on the same prompts."""
    axis = next(name for name in PANEL if name in data.icl_error.dims)
    figure, axes = draw.panels(3, sharey=True)
    titles = ("cot", "voter", "CoT, mean over steps"), ("last", "", "CoT, last step"), ("icl", "icl_voter", "ICL")
    for ax, (who, voter, words) in zip(axes, titles, strict=True):
        draw.curves(ax, error(data, who), "test_examples", axis, PANEL[axis])
        if voter:
            draw.curves(ax, error(data, voter), "test_examples", axis, f"voter, {PANEL[axis]}", **VOTER)
        draw.loss_scale(ax)
        draw.numbers(ax, data.test_examples.values)
        draw.finish(ax, words, "error", LENGTH)
    return figure


def _end(ax: Axes, cell: xr.Dataset, x: Any, top: float, title: str, y: str) -> None:
    """Where the ICL error of a case must end; its axes and its title."""
    limit = 1 - float(cell.condition_share.mean())
    draw.predicted(ax, limit, f"where ICL must end: {limit:g} of the inputs fail")
    draw.numbers(ax, x)
    ax.set_ylim(-0.03, top)
    draw.finish(ax, title, y, LENGTH)


def condition(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Figure 7.5: CoT and ICL by length with and without Condition 7.3.2, the voter, and where ICL must end."""
    figure, axes = draw.panels(data.sizes["condition"], sharey=True)
    x = data.test_length.values.astype(float)
    for ax, name in zip(axes, data.condition.values.tolist(), strict=True):
        cell = data.sel(condition=name)
        if name == "fails, clear":
            draw.claimed(ax, claims["c8-clear"], part="icl", words="ICL claimed from 320")
        for who, voter, words, color in BOTH:
            draw.curves(ax, error(cell, who), "test_length", label=words, color=color, x=x)
            how = {**VOTER, "color": color, "x": x, "markersize": 8}
            draw.curves(ax, error(cell, voter), "test_length", label=f"{words}, ideal voter", **how)
        tau, rho = (float(cell[each].mean()) for each in ("label_probability", "label_primacy"))
        title = rf"Condition 7.3.2: {name} ($\tau_o$ = {tau:.2g}, $\rho_o$ = {rho:.2g})"
        _end(ax, cell, x, 0.6, title, "error")
    return figure


def example(data: xr.Dataset) -> Figure:
    """Example 1: both voters by length, and with a second step for which the condition holds."""
    figure, axes = draw.panels(data.sizes["transitions"], sharey=True)
    titles = {"example": r"Example 1: $A_2$ rows (.4, .6), (.8, .2)", "direct": "$A_2$ rows (.2, .8), (.8, .2)"}
    for ax, name in zip(axes, map(str, data.transitions.values), strict=True):
        cell = data.sel(transitions=name)
        for _, voter, words, color in BOTH:
            draw.curves(ax, error(cell, voter), "test_examples", label=words, color=color)
        _end(ax, cell, data.test_examples.values, 0.75, titles[name], "error of the ideal voter")
    return figure


def mechanism(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Attention on S_k* by step (Figure 7.2), first-step errors of model and voters, agreement."""
    figure, axes = draw.panels(3)
    end, alpha = data.sel(moment="end"), float(data.test_fraction.values[-1])
    many = data.sel(test_fraction=alpha)
    steps = [f"step {k + 1}" for k in range(data.sizes["reasoning_step"])]
    shown = many.isel(test_examples=-1).concentration.assign_coords(reasoning_step=steps)
    draw.groups(axes[0], shown, "reasoning_step", "moment", r"W at $\eta t$: {}")
    formula = float(concentration(alpha, float(end.pattern_gain.mean())))
    draw.corrected(axes[0], formula, r"first step: $\alpha'e^u/(\alpha'e^u+1-\alpha')$")
    draw.claimed(axes[0], claims["c11-concentration"])
    draw.from_zero(axes[0], 1.1)
    draw.finish(axes[0], rf"attention on matching columns of the step ($\alpha'$ = {alpha:g})", "attention")
    for value, color in zip(end.test_fraction.values, (draw.BLUE, draw.RED), strict=False):
        cell, tag = end.isel(reasoning_step=0).sel(test_fraction=value), rf"$\alpha'$ = {value:g}"
        for who, words, how in VOTES:
            draw.curves(axes[1], cell[f"{who}_error"], "test_examples", label=f"{words}, {tag}", color=color, **how)
        exact = [vote_error(float(value), int(length)) for length in data.test_examples.values]
        words = "derived: exact plurality" if color == draw.BLUE else None
        draw.corrected(axes[1], exact, words, data.test_examples.values, color="black")
    draw.loss_scale(axes[1])
    draw.curves(axes[2], many.agreement, "test_examples", "moment", r"W at $\eta t$: {}")
    draw.claimed(axes[2], claims["c11-voter"])
    draw.from_zero(axes[2], 1.05)
    titles = ("error of the first step", "error"), ("agreement with the ideal voter", "share of steps")
    for ax, (words, y) in zip(axes[1:], titles, strict=True):
        draw.numbers(ax, data.test_examples.values)
        draw.finish(ax, words, y, LENGTH)
    return figure


def required(data: xr.Dataset) -> Figure:
    """l*(0.05) along the three sweeps beside the paper's exponent -2."""
    figure, axes = draw.panels(3, sharey=True)
    for ax, (of, cells) in zip(axes, SWEEPS.items(), strict=True):
        chosen = data.sel(cell=[label for label in cells if label in data.cell.values])
        x = chosen[FIELDS[of]].values.astype(float)
        needed = required_length(chosen).transpose("seed", "cell")
        how = {"x": x, "middle": "geometric", "linestyle": "none"}
        draw.curves(ax, needed, "cell", label="ideal voter", **how)
        if of == "α'":
            draw.curves(ax, required_length(chosen, "model"), "cell", label="model", color=draw.RED, **how)
        draw.law(ax, x, needed.values, x**-2.0, rf"paper: $\propto {SYMBOLS[of]}^{{-2}}$")
        draw.fit(ax, x, needed.values, draw.ORANGE)
        draw.numbers(ax, x)
        draw.log_y(ax)
        draw.finish(ax, f"examples for a CoT error of 0.05, by ${SYMBOLS[of]}$", r"$l^*(0.05)$", f"${SYMBOLS[of]}$")
    return figure


def noise(data: xr.Dataset) -> Figure:
    """CoT error by the noise of the tokens."""
    figure, (ax,) = draw.panels(1, width=7.0)
    words = {"perp_tsr": "0.7, orthogonal to\n$\\mathcal{M}'$ only", "inside": "norm 2, inside\nspan$(\\mathcal{M}')$"}
    draw.groups(ax, error(data), "noise", words={**{n: rf"$\nu$ = {n}" for n in data.noise.values.tolist()}, **words})
    draw.from_zero(ax)
    draw.finish(ax, "CoT error by the noise of the testing tokens", "error, mean over steps")
    return figure


def span(data: xr.Dataset) -> Figure:
    """First-step concentration by α', testing patterns inside and outside the span."""
    figure, (ax,) = draw.panels(1)
    named = data.concentration.isel(reasoning_step=0).assign_coords(pattern_law=["inside", "outside"])
    draw.curves(ax, named, "test_fraction", "pattern_law", "{} the span")
    alpha = data.test_fraction.values.astype(float)
    draw.corrected(ax, alpha, r"derived outside: $\alpha'$", alpha)
    gain = float(data.sel(pattern_law="haar").pattern_gain.mean())
    draw.corrected(ax, concentration(alpha, gain), r"derived inside: $\alpha'e^u/(\alpha'e^u+1-\alpha')$", alpha)
    draw.from_zero(ax, 1.05)
    draw.finish(ax, "attention on matching columns, first step", "attention", r"$\alpha'$")
    return figure


def alpha_one(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Gains and first-step concentration with and without examples of other inputs."""
    figure, axes = draw.panels(2)
    both = lm.stack({r"patterns $u_\mu$": data.pattern_gain, "steps $u_c$": data.step_gain}, "gain")
    draw.groups(axes[0], both, "gain", "fraction", r"$\alpha$ = {}")
    draw.from_zero(axes[0])
    draw.finish(axes[0], r"what is learnt at $\eta t$ = 3000", "gain")
    words = {value: rf"$\alpha$ = {value:g}" for value in data.fraction.values.tolist()}
    draw.groups(axes[1], data.concentration.isel(reasoning_step=0), "fraction", words=words)
    draw.claimed(axes[1], claims["c14-concentration"], words=r"claimed at $\alpha$ = 1")
    draw.from_zero(axes[1], 1.05)
    draw.finish(axes[1], r"attention on matching columns, first step, $\alpha'$ = 0.4", "attention")
    return figure


def blind(data: xr.Dataset) -> Figure:
    """First-step concentration and CoT error by query, beside the ideal voter."""
    figure, axes = draw.panels(2, width=7.0)
    words = {}
    for label, case in ((label, data.sel(case=label)) for label in data.case.values.tolist()):
        query, share = r"$\mu'_1$" if label.startswith("first") else "others", float(case.test_fraction)
        words[label] = f"{query}\n{int(case.test_examples)} examples\n" + rf"$\alpha'$ = {share:g}"
    for ax, values in zip(axes, (data.concentration.isel(reasoning_step=0), error(data)), strict=True):
        draw.groups(ax, values, "case", "pattern_law", words=words)
    for place in range(data.sizes["case"]):
        ideal = float(error(data.isel(case=place), "voter").mean())
        draw.corrected(axes[1], ideal, None if place else "ideal voter, mean", at=place)
    titles = "attention on matching columns, by query", r"blind: $\mu'_1$ is the mean of all $\mu_i$"
    for ax, title, y in zip(axes, titles, ("attention, first step", "CoT error"), strict=True):
        draw.from_zero(ax, 1.05)
        draw.finish(ax, title, y)
    return figure

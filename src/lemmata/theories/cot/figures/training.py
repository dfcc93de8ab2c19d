"""Along training: the attention groups with the late law (Figure 7.6), times of the stages, gradients."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.cot.bounds import concentration, follow_gain, gradient_bounds, late_gain
from lemmata.theories.cot.claims.training import EARLY, FIRST, LEVEL, SECOND
from lemmata.theories.cot.data import WATCHED
from lemmata.theories.cot.measures import DEFAULT, STAGE, loss_time, stage_time

TIME = r"$\eta t$"
M, K, ALPHA, EXAMPLES = DEFAULT.patterns, DEFAULT.reasoning_steps, DEFAULT.fraction, DEFAULT.examples
LAW = r"derived: late law of $u_\mu$ from $\eta t=500$"
COLORS = (draw.GREEN, draw.BLUE, draw.ORANGE, draw.RED)


def reference(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Figure 7.6 in one look: groups on testing and training prompts with boundary and late law; gains; losses."""
    figure, axes = draw.panels(4, rows=2)
    run = data.sel(variant=data.variant.values[0])
    times, gain = _law(run)
    for ax, which in ((axes[0], "test_groups"), (axes[1], "train_groups")):
        for group, color in zip(run.group.values.tolist(), COLORS, strict=True):
            draw.paths(ax, run, run[which].sel(group=group), label=group, clock=run.time, color=color)
        draw.moment(ax, float(stage_time(run, STAGE, which).mean()), "first stage | second stage", height=0.45)
    shares = WATCHED["test_fraction"] * WATCHED["trajectory"] ** (np.arange(K) / K)  # that match the query at step k
    for ax, alphas in ((axes[0], shares), (axes[1], [ALPHA])) if times.size else ():
        draw.corrected(ax, np.mean([concentration(a, gain) for a in alphas], axis=0), LAW, times, color="black")
    for part, words in (("same", "claimed at the end"), ("later", "claimed for other steps")):
        draw.claimed(axes[0], claims["f76-groups"], part=part, words=words)
    for ax, words in zip(axes, ("testing", "training"), strict=False):
        ax.set_ylim(-0.03, 1.03)
        draw.finish(ax, f"attention groups, {words} prompts", "attention of the query", TIME)
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
    times, gain = run.time.mean("seed").values, run.pattern_gain.mean("seed").values
    later = times[times >= 500]
    if later.size < 2:
        return np.empty(0), np.empty(0)
    start = gain[times == later[0]][0]
    said = [float(follow_gain(start, later[0], t, M, ALPHA, EXAMPLES)) for t in later[1:]]
    return later, np.array([start, *said])


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


AXES = {
    "training_patterns": "training patterns $M$",
    "fraction": r"share of matching examples $\alpha$",
    "examples": r"examples $l_{tr}$",
}


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
    draw.finish(
        ax, "projected gradients at W = 0 (negative: the logit rises)", r"mean $\tilde{p}'^\top\nabla\tilde{p}$"
    )
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

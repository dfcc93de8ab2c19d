"""The width that suffices, against the number of points and against λ (X4); the numbers that the paper asks for beside
those one would run (X8), and the theorem at the width that follows from the inequalities of its proof (X9)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.exp_regression import theorem
from lemmata.theories.exp_regression.bounds import RUNNABLE
from lemmata.theories.exp_regression.measures import REACHED, claimed_decay, frontier, relative_square, successes


def points(data: xr.Dataset) -> Figure:
    """Success over the width for every number of points, and the width that suffices."""
    return _frontier(data, "samples", data.samples, "$n$ = {}", "points $n$")


def eigenvalue(data: xr.Dataset) -> Figure:
    """Success over the width for every angle of the pairs, and the width that suffices over 1/λ."""
    x = 1 / draw.positive(data.limit_least.mean(("variant", "seed")))
    return _frontier(data, "pair_angle", x, r"$\theta$ = {}", r"$1/\lambda$ (mean over seeds)")


def _frontier(data: xr.Dataset, along: str, x: xr.DataArray, label: str, across: str) -> Figure:
    figure, (left, right) = draw.panels(2, height=4.3)
    rates = successes(data).mean("seed")
    trained, frozen = (rates.isel(variant=np.flatnonzero(rates.trained == flag)) for flag in (1, 0))
    if trained.sizes["variant"]:
        draw.curves(left, trained.swap_dims(variant="neurons"), "neurons", along, label, spread="")
    for width in frozen.neurons.values:
        places = np.full(frozen.size, width)
        left.plot(places, frozen.values.ravel(), "x", color=draw.GREY, label="frozen weights (control)")
    left.axhline(REACHED, label=f"wanted: {100 * REACHED:.0f} % of the seeds", **draw.CLAIMED)
    draw.numbers(left, trained.neurons.values)
    left.set_ylim(-0.03, 1.05)
    draw.finish(left, "success", r"share of seeds that reach $\varepsilon$ within $T$", "width $m$")
    x, edge = x.transpose(along), frontier(data).transpose(along)
    slope = float(lm.log_slopes(edge, along, x))
    label = f"{100 * REACHED:.0f} % of the seeds" + (f": exponent {draw.signed(slope)}" if np.isfinite(slope) else "")
    draw.curves(right, edge, along, label=label, x=x.values, linestyle="-")
    places = np.sort(x.values[np.isfinite(x.values)])
    if places.size:
        start = edge.values[np.nanargmin(x.values)]
        # the paper's second power is an upper bound
        law = (start if np.isfinite(start) else 1.0) * (places / places[0]) ** 2
        draw.predicted(right, law, "paper: exponent at most 2", x=places)
        draw.numbers(right, np.round(places, 2))
        right.set_yscale("log", base=2)
        right.yaxis.set_major_formatter("{x:g}")
    draw.finish(right, "width that suffices", "smallest sufficient width $m$", across)
    return figure


def asked(data: xr.Dataset) -> Figure:
    """Width and steps that the paper asks for, in powers of ten, beside those one would run."""
    scales = data.weight_scale.values
    figure, axes = draw.panels(2 * len(scales), rows=2, width=4.6, height=3.6)
    n = data.samples.values
    for k, (what, name) in enumerate({"width $m$": "width", "steps $T$": "iterations"}.items()):
        printed, practical = data[f"log_{name}"], data[f"practical_{name}"]
        printed = printed.where(np.isfinite(printed)).mean("seed")
        for i, sigma in enumerate(scales):
            ax = axes[k * len(scales) + i]
            # every δ a faint point
            of_paper = printed.sel(weight_scale=sigma).transpose("failure_probability", ...)
            draw.curves(ax, of_paper, "samples", "tail_constant", "paper, $C$ = {}", middle="median")
            usable = practical.sel(weight_scale=sigma).isel(failure_probability=0, tail_constant=0)
            draw.curves(ax, np.log10(draw.positive(usable)), "samples", label="practical", color="black", marker="s")
            draw.predicted(ax, np.log10(RUNNABLE), "what can be run: $10^7$", color=draw.GREY, linestyle=":")
            draw.numbers(ax, n)
            ax.set_ylim(-1, 1.05 * max(float(printed.max().fillna(1.0)), 1.0))
            quantity = rf"$\log_{{10}}$ of the {what}"
            draw.finish(ax, rf"{what}, $\sigma$ = {sigma:g}", quantity, "points $n$", legend=2 if k else 0)
    return figure


INEQUALITIES = {
    "steps\n/ $T$": theorem.time_used,
    "$\\|e\\|^2$\n/ bound": theorem.contraction,
    "drift\n/ $D$": theorem.drift_used,
    "$D$ / $R$": theorem.radius_used,
    "step\n/ 0.01": theorem.step_used,
    "kernel\n/ $\\lambda/4$": theorem.kernel_distance,
}


def end_to_end(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The error beside its bound until ε, and every inequality of the proof at its worst step."""
    problems = draw.labels_of(data, "problem")
    figure, axes = draw.panels(len(problems) + 1, width=5.0, height=4.3)
    for ax, problem in zip(axes, problems, strict=False):
        runs = data.sel(problem=problem)
        T = draw.positive(runs.predicted_steps)
        draw.paths(ax, runs, relative_square(runs), label="seeds and mean", clock=runs.step / T)
        end = float((-claimed_decay(runs) * T).median())
        grid = np.linspace(0, 1, 2)
        draw.predicted(ax, np.exp(grid * end), r"paper: at most $(1-m\eta\lambda/2)^t$", x=grid)
        draw.corrected(ax, np.exp(4 * grid * end), r"true rate $2m\eta\lambda$", x=grid)
        draw.moment(ax, 0.25, "$T/4$")
        draw.moment(ax, 1.0, "$T$", left=True)
        ax.set_xlim(-0.02, 1.05)
        draw.log_y(ax)
        ax.set_ylim(bottom=float(relative_square(runs).min().fillna(1e-4)) / 10)
        draw.finish(ax, f"{problem}: error until $\\varepsilon$", r"$\|e(t)\|^2/\|e(0)\|^2$", "training step $t$ / $T$")
    last = axes[-1]
    ratios = lm.stack({name: ratio(data) for name, ratio in INEQUALITIES.items()}, "inequality")
    draw.groups(last, ratios.where(ratios > 0), "inequality", "problem", middle="median")
    draw.claimed(last, claims["x9-reached"], words="paper")
    draw.log_y(last)
    draw.finish(last, "inequalities of the proof, worst step", "left side / right side", legend=3)
    return figure

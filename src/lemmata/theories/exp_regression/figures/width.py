"""Widths and limits: frontier (X4), activations (X7), vacuity (X8), the theorem end to end (X9), one point (Q21)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, dodge, legend_below, log_y, panels
from lemmata.theories.exp_regression.bounds import RUNNABLE
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import ACTIVATION_COLORS, coloured, positive, seeds_at, word
from lemmata.theories.exp_regression.measures import FLOORS, REACHED, frontier, successes, widths
from lemmata.theories.exp_regression.training import SMALL_STEP


def frontier_points(data: xr.Dataset) -> Figure:
    """Success over the width for every number of points, and the width that suffices."""
    return _frontier(data, "samples", data.samples.values, "n", "points $n$")


def frontier_lambda(data: xr.Dataset) -> Figure:
    """Success over the width for every angle of the pairs, and the width that suffices over 1/λ."""
    lam = data.limit_least.mean(["network", "seed"]).transpose("pair_angle").values
    return _frontier(data, "pair_angle", 1 / positive(lam), r"\theta", r"$1/\lambda$ (mean over seeds)")


def _frontier(data: xr.Dataset, along: str, x: np.ndarray, symbol: str, xlabel: str) -> Figure:
    figure, (left, right) = panels(2, height=4.3)
    labels, m = widths(data)
    rates = successes(data).mean("seed")
    frozen = [str(label) for label in data.network.values if str(label) not in labels]
    for value, color in coloured(data[along].values):
        mine = rates.sel({along: value})
        if labels:
            left.plot(m, mine.sel(network=labels), "o-", color=color, markersize=5, label=f"${symbol}$ = {word(value)}")
        for label in frozen:
            width = float(label.split()[0])
            left.plot(width, float(mine.sel(network=label)), "x", color=color, markersize=7)
    if frozen:
        left.plot([], [], "x", color=GREY, label="frozen weights (control)")
    left.axhline(REACHED, label=f"wanted: {100 * REACHED:.0f} % of the seeds", color=GREY, linestyle=":", linewidth=1)
    if m.size:
        common.width_axis(left, m)
    left.set_ylim(-0.03, 1.05)
    left.set_ylabel(r"share of seeds that reach $\varepsilon$ within $T$")
    left.set_title("success", fontsize=10)
    found = frontier(data, along).values if labels else np.full(len(x), np.inf)
    _frontier_law(right, x, found, xlabel)
    for ax in (left, right):
        legend_below(ax)
    return figure


def _frontier_law(ax: Axes, x: np.ndarray, found: np.ndarray, xlabel: str) -> None:
    """The width that suffices beside the document's second power, which is an upper bound."""
    known = np.isfinite(found) & np.isfinite(x)
    words = f"{100 * REACHED:.0f} % of the seeds"
    if known.sum() > 1 and len(np.unique(x[known])) > 1:
        words += f" (exponent {common.signed(np.polyfit(np.log(x[known]), np.log(found[known]), 1)[0])})"
    ax.plot(x[known], found[known], "o-", color=BLUE, label=words)
    beyond = np.isposinf(found) & np.isfinite(x)
    if beyond.any():
        ax.plot(
            x[beyond], np.full(beyond.sum(), 0.97), "^", color=BLUE, clip_on=False, transform=ax.get_xaxis_transform(),
            label="wider than the grid",
        )  # fmt: skip
    if np.isfinite(x).any():
        order = np.sort(x[np.isfinite(x)])
        base = found[known][np.argmin(x[known])] if known.any() else 1.0
        common.predicted(ax, order, base * (order / order[0]) ** 2, "document: exponent at most 2")
        common.number_axis(ax, np.round(order, 2), xlabel)
        ax.set_yscale("log", base=2)
        low, high = ax.get_ylim()
        ax.set_ylim(low / 1.5, high * 1.5)
        ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlabel(xlabel)
    ax.set_ylabel("smallest sufficient width $m$")
    ax.set_title("over-parameterisation frontier", fontsize=10)


PAIRS = {"generic": "generic", "parallel": r"parallel, $x_2=\rho x_1$", "antipodal": "antipodal, $x_2=-x_1$"}


def activations(data: xr.Dataset) -> Figure:
    """Final error with its closed-form floors, steps to ε, and how singular the kernel is, by data and activation."""
    figure, axes = panels(3, width=5.0, height=4.3)
    ends, steps, kernels = axes
    pairs = [str(pair) for pair in data.pair.values]
    names = [str(name) for name in data.activation.values]
    least = (data.limit_least / data.limit_largest).clip(common.TINY)
    drawn = False
    for name, x in zip(names, dodge(len(names), 0.8), strict=True):
        color = ACTIVATION_COLORS.get(name, GREY)
        for i, pair in enumerate(pairs):
            label = name if i == 0 else None
            part = data.sel(pair=pair, activation=name)
            seeds_at(ends, i + x, part.final_square.clip(1e-34), color, label, 0.06)
            seeds_at(steps, i + x, part.hit_step, color, label, 0.06)
            seeds_at(kernels, i + x, least.sel(pair=pair, activation=name), color, label, 0.06)
            floor = FLOORS.get((pair, name))
            if floor is not None:
                words = None if drawn else "closed-form floor (singular kernel)"
                ends.plot([i + x - 0.16, i + x + 0.16], [floor] * 2, label=words, **{**PREDICTED, "linewidth": 1.6})
                higher = floor == max(value for (other, _), value in FLOORS.items() if other == pair)
                place, side = (3, "bottom") if higher else (1 / 3, "top")
                ends.text(i + x, place * floor, f"{floor:.3f}", ha="center", va=side, fontsize=7.5)
                drawn = True
    if not drawn:
        ends.axhline(0.0, label="document: 0", **PREDICTED)
    for ax in axes:
        common.names_axis(ax, [PAIRS.get(pair, pair) for pair in pairs], "data")
        log_y(ax)
    ends.set_ylim(top=20 * max(1.0, ends.get_ylim()[1] / 20))
    ends.set_ylabel(r"final $\|e\|^2$")
    ends.set_title("final error", fontsize=10)
    steps.set_ylabel(r"steps to $\|e\|^2\leq\varepsilon$")
    steps.set_title("training time", fontsize=10)
    kernels.axhline(1e-12, label="singular below", **PREDICTED)
    kernels.set_ylabel(r"$\lambda/\lambda_\max$ of the infinite-width kernel")
    kernels.set_title("which kernels are singular", fontsize=10)
    for ax in axes:
        legend_below(ax, 3)
    return figure


def vacuity(data: xr.Dataset) -> Figure:
    """Width and steps that the document asks for, in powers of ten, beside those one would run."""
    scales = data.weight_scale.values
    figure, axes = panels(2 * len(scales), rows=2, width=4.6, height=3.5)
    n = data.samples.values
    rows = (
        (axes[: len(scales)], data.log_width, data.practical_width, "width $m$"),
        (axes[len(scales) :], data.log_iterations, data.practical_iterations, "steps $T$"),
    )
    data_top = 1.0
    for row, document, practical, what in rows:
        finite = document.where(np.isfinite(document))
        top = max(float(finite.max().fillna(1.0)), data_top)
        for ax, sigma in zip(row, scales, strict=True):
            for C, color in coloured(data.tail_constant.values):
                values = finite.sel(weight_scale=sigma, tail_constant=C).mean("seed")
                values = values.transpose("failure_probability", "samples").values
                ax.fill_between(n, values.min(axis=0), values.max(axis=0), color=color, alpha=0.25, linewidth=0)
                ax.plot(
                    n,
                    np.median(values, axis=0),
                    color=color,
                    linestyle="--",
                    marker=".",
                    label=f"document, $C$ = {C:g}",
                )
            usable = np.log10(positive(practical.sel(weight_scale=sigma).isel(failure_probability=0, tail_constant=0)))
            ax.plot(n, usable.mean("seed").transpose("samples"), "o-", color="black", markersize=4, label="practical")
            ax.axhline(np.log10(RUNNABLE), color=GREY, linestyle=":", linewidth=1, label="what can be run: $10^7$")
            common.number_axis(ax, n, "points $n$")
            ax.set_ylim(-1, 1.05 * top)
            ax.set_ylabel(rf"$\log_{{10}}$ of the {what}")
            ax.set_title(rf"{what}, $\sigma$ = {sigma:g}", fontsize=10)
    axes[0].fill_between([], [], [], color=GREY, alpha=0.3, label=r"range over $\delta$")
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=min(6, 2 * len(scales)), fontsize=8, frameon=False)
    return figure


def theorem(data: xr.Dataset) -> Figure:
    """Every explicit condition met: the error beside its bound, the hitting time, and every inequality of the proof."""
    cases = [str(case) for case in data.case.values]
    figure, axes = panels(len(cases) + 2, width=4.4, height=4.2)
    for ax, case in zip(axes, cases, strict=False):
        part = data.sel(case=case)
        time = part.step / part.predicted_steps.where(np.isfinite(part.predicted_steps) & (part.predicted_steps > 0))
        error = common.relative_square(part)
        bound = -common.claimed_decay(part) * part.predicted_steps
        grid = np.linspace(0, 1, 2)
        for i in range(part.sizes["seed"]):
            label = "seeds" if i == 0 else None
            ax.plot(time.isel(seed=i), error.isel(seed=i), color=BLUE, linewidth=1.3, alpha=0.8, label=label)
            end = float(bound.isel(seed=i))
            if np.isfinite(end):
                words = r"bound $(1-m\eta\lambda/2)^t$" if i == 0 else None
                ax.plot(grid, np.exp(grid * end), label=words, **PREDICTED)
        ax.axvline(1.0, color="black", linestyle="-.", linewidth=0.9, label="$T$")
        ax.axvline(0.25, color=GREEN, linestyle="-.", linewidth=0.9, label=r"$T/4$: true rate $2m\eta\lambda$")
        ax.set_xlim(-0.02, 1.05)
        log_y(ax)
        ax.set_xlabel("training step $t$ / $T$")
        ax.set_ylabel(r"$\|e(t)\|^2/\|e(0)\|^2$")
        ax.set_title(f"case {case}, until $\\varepsilon$", fontsize=10)
    hits, proof = axes[-2:]
    scaled = 4 * data.hit_step / data.predicted_steps.where(data.predicted_steps > 0)
    for i, case in enumerate(cases):
        seeds_at(hits, i, scaled.sel(case=case), BLUE, "seeds and median" if i == 0 else None)
    hits.axhline(1.0, label="true rate: 1", **PREDICTED)
    hits.axhspan(0.97, 1.03, color=GREY, alpha=0.2, linewidth=0, label="claimed: 0.97 to 1.03")
    hits.axhline(4.0, color="black", linestyle="-.", linewidth=0.9, label="document: at most 4 ($T$)")
    hits.set_yscale("log", base=2)
    hits.set_ylim(0.85, 5)
    hits.set_yticks([1, 2, 4], ["1", "2", "4"])
    common.names_axis(hits, [f"case {case}" for case in cases])
    hits.set_ylabel(r"4 × steps to $\varepsilon$ / $T$")
    hits.set_title("hitting time", fontsize=10)
    groups = (
        ("$\\|e\\|^2$\n/ bound", data.contraction.sel(rate_of="limit")),
        ("drift\n/ $D$", data.largest_drift / data.document_drift),
        ("$D$ / $R$", data.document_drift / data.document_radius),
        ("step\n/ 0.01", data.step_length / SMALL_STEP),
        ("kernel\n/ $\\lambda/4$", 4 * data.kernel_error / data.limit_least),
    )
    for (case, color), x in zip(coloured(cases), dodge(len(cases), 0.5), strict=True):
        for i, (_, values) in enumerate(groups):
            seeds_at(
                proof, i + x, positive(values.sel(case=case).values), color, f"case {case}" if i == 0 else None, 0.06
            )
    common.bound_line(proof, names=[name for name, _ in groups])
    log_y(proof)
    proof.set_title("inequalities of the proof, worst step", fontsize=10)
    for ax in axes:
        legend_below(ax, 2)
    return figure


def flow(data: xr.Dataset) -> Figure:
    """Where descent on one point ends against gradient flow, over the step constant, and the line it moves on."""
    figure, (left, right) = panels(2, height=4.2)
    cases = [str(case) for case in data.case.values]
    single = [case for case in cases if case.startswith("c=")]
    constants = (data.rate * data.start_largest).mean("seed")
    if single:
        c = constants.sel(case=single).values
        order = np.argsort(c)
        chosen = data.flow_error.sel(case=[single[k] for k in order])
        c = c[order]
        for formula, color in (("exact", BLUE), ("a_r dropped", ORANGE)):
            values = chosen.sel(formula=formula)
            words = "closed form" if formula == "exact" else "control: $a_r$ dropped"
            common.over(left, c, values, "case", words, color)
        most = positive(chosen.sel(formula="exact").isel(case=-1).values)
        if np.isfinite(most).any():
            common.predicted(left, c, np.nanmedian(most) * c / c[-1], r"reference: $\propto c$")
        common.number_axis(left, c.round(9), r"step constant $c=m\eta\lambda_\max(H(0))$")
    common.faint(left, 1e-6, "claimed at $c=10^{-3}$: at most $10^{-6}$")
    log_y(left)
    left.set_xlabel(r"step constant $c=m\eta\lambda_\max(H(0))$")
    left.set_ylabel(r"largest error of $\langle w_r,x\rangle$ at the end")
    left.set_title("end of descent against gradient flow", fontsize=10)
    for i, case in enumerate(cases):
        color = BLUE if case in single else RED
        label = {single[0] if single else None: "one point", next(iter(set(cases) - set(single)), ""): "control"}.get(
            case
        )
        seeds_at(right, i, data.flow_across.sel(case=case).clip(common.TINY), color, label)
    right.axhline(1e-12, label="exact: 0 (claimed: at most $10^{-12}$)", **PREDICTED)
    common.names_axis(right, [case.replace("c=", "$c$ = ") for case in cases])
    log_y(right)
    right.set_ylabel("largest part of a path orthogonal to $x$")
    right.set_title("weights move along the point", fontsize=10)
    for ax in (left, right):
        legend_below(ax, 2)
    return figure

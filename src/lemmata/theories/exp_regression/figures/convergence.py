"""Along training: convergence, orthonormal points and modes (X2), other data and the paper's step (Q16)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREY, ORANGE, PREDICTED, dodge, legend_below, log_y, panels
from lemmata.lab.measures import at_end
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import coloured, over, positive, seeds_at, word
from lemmata.theories.exp_regression.measures import gated, median_slope
from lemmata.theories.exp_regression.probes import SMALL_STEP


def convergence(data: xr.Dataset) -> Figure:
    """Errors in the claimed time for every problem; below, the kernel's loss, the deviation from linear, hits of ε."""
    problems = data.problem.values
    columns = max(3, len(problems))
    figure, axes = panels(2 * columns, rows=2, width=4.6, height=4.1)
    inits = [str(init) for init in data.init.values]
    main = data.sel(init="coupled" if "coupled" in inits else inits[0])
    for ax, problem in zip(axes, problems, strict=False):
        for m, color in coloured(data.neurons.values):
            common.decay_curves(ax, main.sel(problem=problem, neurons=m), f"$m$ = {m:g}", color)
        common.decay_axes(ax)
        ax.set_title(f"{problem}: every seed", fontsize=10)
    kept, deviation, hits = axes[columns : columns + 3]
    _kept(kept, main)
    _deviation(deviation, data, inits)
    _hits(hits, main)
    for ax in (*axes[len(problems) : columns], *axes[columns + 3 :]):
        figure.delaxes(ax)
    for ax in figure.axes:
        legend_below(ax)
    return figure


def _kept(ax: Axes, data: xr.Dataset) -> None:
    """The smallest λ_min(H(t)) of every run, and the share of runs that keep half of λ."""
    m = data.neurons.values
    for problem, color in coloured(data.problem.values):
        over(ax, m, data.kernel_kept.sel(problem=problem), "neurons", str(problem), color)
    ax.axhline(0.5, label=r"paper: at least $\lambda/2$", **PREDICTED)
    shares = gated(data).mean(["problem", "seed"]).transpose("neurons").values
    common.width_axis(ax, m)
    ax.set_ylim(0, 1.1 * max(1.0, float(data.kernel_kept.max().fillna(1.0))))
    for x, share in zip(m, shares, strict=True):
        ax.text(x, 0.03, f"{100 * share:.0f} %", ha="center", fontsize=7.5, transform=ax.get_xaxis_transform())
    ax.set_ylabel(r"$\min_t\lambda_\min(H(t))\,/\,\lambda$")
    ax.set_title(r"kernel along training (below: share $\geq 1/2$)", fontsize=10)


def _deviation(ax: Axes, data: xr.Dataset, inits: list[str]) -> None:
    """How far ‖e‖² is from that of the linearised dynamics, coupled (solid) and independent (dotted)."""
    m = data.neurons.values
    for problem, color in coloured(data.problem.values):
        for init in inits:
            values = data.linear_deviation.sel(problem=problem, init=init)
            label = f"{problem}{common.slope_words(values, 'neurons', median_slope)}"
            over(ax, m, values, "neurons", label, color, linestyle=":" if init == "independent" else "-")
    first = positive(data.linear_deviation.isel(init=0, neurons=0).transpose("problem", "seed").values)
    if np.isfinite(first).any():
        start = np.nanmedian(first)
        common.predicted(ax, m, start * m[0] / m, "reference: $m^{-1}$")
    common.width_axis(ax, m)
    log_y(ax)
    ax.set_ylabel(r"relative deviation of $\|e\|^2$")
    ax.set_title("from the linearised dynamics (dotted: independent)", fontsize=10)


def _hits(ax: Axes, data: xr.Dataset) -> None:
    """When ε is reached, as a share of the predicted T: runs that keep their kernel are filled."""
    widths = data.neurons.values
    share = data.reached_step / data.predicted_steps.where(np.isfinite(data.predicted_steps))
    keeps = gated(data)
    offsets = dodge(data.sizes["problem"], 0.6)
    for (problem, color), x in zip(coloured(data.problem.values), offsets, strict=True):
        for i, m in enumerate(widths):
            values, full = share.sel(problem=problem, neurons=m), keeps.sel(problem=problem, neurons=m)
            seeds_at(ax, i + x, values.where(full), color, str(problem) if i == 0 else None, 0.06)
            others = positive(values.where(~full).values)
            ax.plot(np.full(others.size, i + x), others, "x", color=color, markersize=4, alpha=0.7)
    ax.plot([], [], "x", color=GREY, markersize=4, label=r"kernel below $\lambda/2$")
    ax.axhline(1.0, label="paper: within $T$", **PREDICTED)
    common.names_axis(ax, [word(m) for m in widths], "width $m$")
    log_y(ax)
    ax.set_ylabel(r"steps to $\varepsilon$ / predicted $T$")
    ax.set_title("hitting time", fontsize=10)


def orthonormal(data: xr.Dataset) -> Figure:
    """The common rate of orthonormal points beside the claimed one, and joint against separate training."""
    constants, samplers = data.step_constant.values, [str(name) for name in data.data_law.values]
    figure, axes = panels(len(constants) + 1, width=4.7, height=4.3)
    for ax, c in zip(axes, constants, strict=False):
        end = 1.0
        for data_law, color in coloured(samplers):
            part = data.sel(data_law=data_law, step_constant=c)
            error = common.relative_square(part)
            for i in reversed(range(part.sizes["seed"])):
                label = data_law if i == 0 else None
                ax.plot(part.step.isel(seed=i), error.isel(seed=i), color=color, alpha=0.6, linewidth=1, label=label)
            end = max(end, float(part.step.where(error.notnull()).max().fillna(1.0)))
        first = data.sel(data_law=samplers[0], step_constant=c)
        speed = float((first.rate * first.limit_least).median())
        grid = np.linspace(0, end, 200)
        claimed = np.exp(grid * np.log1p(-min(speed / 2, 1 - 1e-12)))
        wide = np.exp(2 * grid * np.log(max(abs(1 - speed), 1e-12)))
        words = rf"{samplers[0]}, claimed: $(1-m\eta\lambda/2)^t$"
        ax.plot(grid, np.where(claimed > 1e-22, claimed, np.nan), label=words, **PREDICTED)
        label = rf"{samplers[0]}, $m\to\infty$: $(1-m\eta\lambda)^{{2t}}$"
        ax.plot(grid, np.where(wide > 1e-22, wide, np.nan), color="black", linestyle=":", label=label)
        ax.set_yscale("log")
        ax.set_xlabel("training step $t$")
        ax.set_title(f"$c$ = {c:g}: every seed", fontsize=10)
    axes[0].set_ylabel(r"$\|e(t)\|^2/\|e(0)\|^2$")
    for ax in axes[1:-1]:
        ax.set_ylabel(r"$\|e(t)\|^2/\|e(0)\|^2$")
    last = axes[-1]
    for (c, color), x in zip(coloured(constants), dodge(len(constants)), strict=True):
        for i, data_law in enumerate(samplers):
            difference = data.separate_difference.sel(data_law=data_law, step_constant=c)
            seeds_at(last, i + x, difference.clip(common.TINY), color, f"$c$ = {c:g}" if i == 0 else None, 0.08)
    last.axhline(1e-12, label="exact for orthonormal points: 0 (claimed: at most $10^{-12}$)", **PREDICTED)
    common.names_axis(last, [word(name) for name in samplers], "data")
    log_y(last)
    last.set_ylabel("largest difference from separate runs")
    last.set_title("all points together or each alone", fontsize=10)
    for ax in axes[:-1]:
        legend_below(ax)
    legend_below(last, 1)
    return figure


def modes(data: xr.Dataset) -> Figure:
    """Residuals along the eigenvectors of the initial kernel, and their rates in every seed."""
    widths = data.neurons.values
    figure, axes = panels(len(widths) + 1, width=4.8, height=4.2)
    values = positive(data.mode_value.transpose("neurons", "seed", "mode").values)
    low, high = (np.nanmin(values), np.nanmax(values)) if np.isfinite(values).any() else (1.0, 2.0)
    norm = LogNorm(low / 1.01, high * 1.01)
    shade = colormaps["viridis_r"]
    for k, (ax, m) in enumerate(zip(axes, widths, strict=False)):
        part = data.sel(neurons=m).isel(seed=0)
        floor = 1e-15 * float(np.sqrt((part.mode_residual.isel(record=0) ** 2).sum()))
        for j in range(data.sizes["mode"]):
            measured = np.abs(part.mode_residual.isel(mode=j))
            linear = np.abs(part.linear_mode_residual.isel(mode=j))
            color = shade(norm(np.nan_to_num(values[k, 0, j], nan=low)))
            ax.plot(part.step, measured.where(measured > floor), color=color, linewidth=2, alpha=0.85)
            ax.plot(part.step, linear.where(linear > floor), **PREDICTED)
        ax.plot([], [], color=shade(0.7), linewidth=2, label="measured")
        ax.plot([], [], label=r"linearised: $(1-m\eta\lambda_k)^t$", **PREDICTED)
        log_y(ax)
        ax.set_xlabel("training step $t$")
        ax.set_ylabel(r"$|\langle q_k,e(t)\rangle|$")
        ax.set_title(f"$m$ = {m:g}, first seed", fontsize=10)
    figure.colorbar(
        ScalarMappable(norm, shade), ax=axes[len(widths) - 1], label=r"eigenvalue $\lambda_k$ of $H(0)$"
    )  # fmt: skip
    _mode_rates(axes[-1], data)
    for ax in axes:
        legend_below(ax)
    return figure


def _mode_rates(ax: Axes, data: xr.Dataset) -> None:
    """Decay per step of every mode, from the last record that is far above rounding, against ln(1 - m η λ_k)."""
    start = np.abs(data.mode_residual.isel(record=0))
    above = (np.abs(data.mode_residual) > 1e-3 * start).astype(int).cumprod("record") > 0
    seen = above & (data.step > 0) & (start > 0)
    span = data.step.where(seen)
    last = span == span.max("record")
    slope = -np.log(positive(np.abs(data.mode_residual) / start)) / span.where(span > 0)
    measured = slope.where(last).mean("record")
    predicted = -np.log(positive(np.abs(1 - data.rate * data.mode_value)))
    for m, color in coloured(data.neurons.values):
        x, y = (positive(v.sel(neurons=m).transpose("seed", "mode").values.ravel()) for v in (predicted, measured))
        ax.plot(x, y, "o", color=color, markersize=4, alpha=0.7, label=f"$m$ = {m:g}, every seed")
    ends = positive(predicted.values)
    if np.isfinite(ends).any():
        line = np.array([np.nanmin(ends), np.nanmax(ends)])
        ax.plot(line, line, label="linearised: equal", **PREDICTED)
        ax.set_xscale("log")
    log_y(ax)
    ax.set_xlabel(r"predicted rate $-\ln(1-m\eta\lambda_k)$")
    ax.set_ylabel("measured rate per step")
    ax.set_title("rate of every eigenvector", fontsize=10)


def samplers(data: xr.Dataset) -> Figure:
    """Errors on other data in the claimed time, and the worst step of every run against the bound."""
    figure, (left, right) = panels(2, height=4.4)
    names = [str(name) for name in data.data_law.values]
    for name, color in coloured(names):
        common.decay_curves(left, data.sel(data_law=name), word(name), color)
    common.decay_axes(left)
    left.set_title("every seed", fontsize=10)
    kinds = (("H(0)", r"$\lambda$ of $H(0)$", BLUE), ("limit", r"$\lambda$ of $H^\mathrm{cts}$", ORANGE))
    for (rate, words, color), x in zip(kinds, dodge(2), strict=True):
        for i, name in enumerate(names):
            values = positive(data.contraction.sel(data_law=name, rate_of=rate).values)
            seeds_at(right, i + x, values, color, words if i == 0 else None)
    common.bound_line(right, "paper: at most 1", names=[word(name) for name in names])
    right.set_xlabel("data")
    right.set_ylabel(r"$\max_t\|e(t)\|^2/(1-m\eta\lambda/2)^t\|e(0)\|^2$")
    right.set_title("worst step of every run", fontsize=10)
    for ax in (left, right):
        legend_below(ax)
    return figure


def theory_step(data: xr.Dataset) -> Figure:
    """The paper's step is tiny: how much of the error is gone, and what Lemma 7.4 promises of every step."""
    figure, (left, right) = panels(2, height=4.2)
    claimed = positive(-np.expm1(-common.claimed_decay(data) * data.step))
    lost, linear = (1 - data[name] / data.initial_square for name in ("square", "linear_square"))
    gone = at_end(lost).values
    words = "seeds"
    if np.isfinite(gone).any():
        words += f" (at the end {np.nanmin(gone):.0e} to {np.nanmax(gone):.0e} of the error is gone)"
    for i, color in coloured(range(data.sizes["seed"])):
        t = data.step.isel(seed=i)
        left.plot(t, (lost / claimed).isel(seed=i), color=color, linewidth=1.5, label=words if i == 0 else None)
        label = "linearised dynamics" if i == 0 else None
        left.plot(t, (linear / claimed).isel(seed=i), color="black", linestyle=":", linewidth=1, label=label)
    left.axhline(1.0, label="paper: at least 1", **PREDICTED)
    log_y(left)
    left.set_xlabel("training step $t$")
    left.set_ylabel(r"$(1-\|e(t)\|^2/\|e(0)\|^2)\;/\;(1-(1-m\eta\lambda/2)^t)$")
    left.set_title("error that is gone, measured / claimed", fontsize=10)
    groups = (
        (rf"$\eta\|\Delta w_r\|$ / {SMALL_STEP:g}", data.step_length / SMALL_STEP),
        (r"$\|e(t)\|$ / $\sqrt{n}$", data.error_norm),
        ("drift / $D$", data.drift_ratio),
    )
    common.limits(right, groups)
    log_y(right)
    right.set_xlabel("largest over all steps")
    right.set_title("Lemmas 7.2 and 7.4", fontsize=10)
    for ax in (left, right):
        legend_below(ax, 1)
    return figure

"""Along training: convergence, orthonormal points and modes (X2), other data and the paper's step (Q16), drift (X3)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.exp_regression.measures import claimed_decay, relative_square
from lemmata.theories.exp_regression.theorem import contraction, kernel_kept, step_used, time_used

ERROR = r"$\|e(t)\|^2/\|e(0)\|^2$"
WORST = r"$\max_t\|e(t)\|^2/(1-m\eta\lambda/2)^t\|e(0)\|^2$"
LINEARISED = {"color": "black", "linestyle": ":", "linewidth": 1.2}


def decay(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Errors in the claimed time for every problem, the worst step, deviation from linear training, hitting times."""
    problems = draw.labels_of(data, "problem")
    figure, axes = draw.panels(len(problems) + 3, rows=2, width=5.0, height=4.4)
    coupled = data.sel(init="coupled") if "coupled" in data.init.values else data.isel(init=0)
    for ax, problem in zip(axes, problems, strict=False):
        _in_claimed_time(ax, coupled.sel(problem=problem), "neurons", "$m$ = {}")
        draw.finish(ax, f"{problem}: first seed")
    worst, deviation, hits = axes[len(problems) :]
    _deviation(deviation, data, claims)
    kept = kernel_kept(coupled)
    draw.groups(worst, contraction(coupled).where(kept), "neurons", "problem", middle="median")
    draw.claimed(worst, claims["q16-contraction-cts"], words="paper")
    draw.finish(worst, r"worst step of runs that keep $\lambda/2$", WORST, "width $m$", legend=3)
    draw.groups(hits, time_used(coupled).where(kept), "neurons", "problem", middle="median")
    draw.claimed(hits, claims["q17-hitting"], words="paper: within $T$")
    draw.log_y(hits)
    y = r"steps to $\varepsilon$ / predicted $T$"
    draw.finish(hits, r"hitting time of runs that keep $\lambda/2$", y, "width $m$", legend=3)
    return figure


def _in_claimed_time(ax: Axes, data: xr.Dataset, by: str, label: str) -> None:
    """The error of the first seed for every label, in the time in which the claimed bound is a straight line."""
    first = data.isel(seed=0)
    time = claimed_decay(first) * first.step
    draw.paths(ax, first, relative_square(first), by, label, clock=time, spread="")
    linear = relative_square(first, "linear_square")
    for i, name in enumerate(first[by].values):
        said = "linearised dynamics" if i == 0 else None
        ax.plot(time.sel({by: name}), linear.sel({by: name}), label=said, zorder=3, **LINEARISED)
    right = min(ax.dataLim.x1, 60.0) if np.isfinite(ax.dataLim.x1) and ax.dataLim.x1 > 0 else 1.0
    grid = np.linspace(0, right, 50)
    draw.predicted(ax, np.exp(-grid), r"paper: at most $(1-m\eta\lambda/2)^t$", x=grid)
    draw.log_y(ax)
    ax.set_xlim(0, 1.02 * right)
    draw.finish(ax, "", ERROR, r"claimed time $-t\,\ln(1-m\eta\lambda/2)$")


def _deviation(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """How far ‖e‖² is from that of the linearised dynamics, coupled and independent."""
    values = draw.positive(data.linear_deviation)
    for i, problem in enumerate(data.problem.values):
        kind = draw.look(i)
        for init, style in zip(data.init.values, ("-", ":"), strict=False):
            how = {"color": kind.color, "marker": kind.marker, "linestyle": style, "middle": "median"}
            draw.curves(ax, values.sel(problem=problem, init=init), "neurons", label=f"{problem}, {init}", **how)
    draw.claimed(ax, claims["q18-deviation"], words=r"claimed, coupled, $m\geq 1024$")
    draw.numbers(ax, data.neurons.values, "width $m$")
    draw.log_y(ax)
    draw.finish(ax, "distance from the linearised dynamics", r"relative deviation of $\|e\|^2$ (median)")


def orthonormal(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The common rate of orthonormal points beside the claimed one, and joint against separate training."""
    constants, first = data.step_constant.values, data.data_law.values[0]
    figure, axes = draw.panels(len(constants) + 1, width=4.8, height=4.3)
    for ax, c in zip(axes, constants, strict=False):
        runs = data.sel(step_constant=c)
        error = relative_square(runs)
        draw.paths(ax, runs, error, "data_law")
        own = runs.sel(data_law=first)
        speed = float((own.rate * own.limit_least).median())
        grid = np.linspace(0, float(runs.step.where(error.notnull()).max().fillna(1.0)), 200)
        claimed = np.exp(grid * np.log1p(-min(speed / 2, 1 - 1e-12)))
        wide = np.exp(2 * grid * np.log(max(abs(1 - speed), 1e-12)))
        label = rf"paper, {first}: at most $(1-m\eta\lambda/2)^t$"
        draw.predicted(ax, np.where(claimed > 1e-22, claimed, np.nan), label, x=grid)
        label = rf"exact, {first}, $m\to\infty$: $(1-m\eta\lambda)^{{2t}}$"
        draw.corrected(ax, np.where(wide > 1e-22, wide, np.nan), label, x=grid)
        draw.log_y(ax)
        draw.finish(ax, f"$c$ = {c:g}: seeds and mean", ERROR, "training step $t$", legend=1)
    last = axes[-1]
    difference = data.separate_difference.clip(1e-18)
    draw.groups(last, difference, "data_law", "step_constant", "$c$ = {}", middle="median")
    draw.claimed(last, claims["q21-decoupling"], words="claimed, orthonormal")
    draw.log_y(last)
    draw.finish(last, "all points together or each alone", "largest difference from separate runs", "data", legend=1)
    return figure


def modes(data: xr.Dataset) -> Figure:
    """Residuals along the eigenvectors of the initial kernel, and their rates in every seed."""
    widths = data.neurons.values
    figure, axes = draw.panels(len(widths) + 1, width=4.8, height=4.2)
    values = draw.positive(data.mode_value)
    low, high = float(values.min().fillna(1.0)), float(values.max().fillna(2.0))
    norm, shade = LogNorm(low / 1.01, high * 1.01), colormaps["viridis_r"]
    for ax, m in zip(axes, widths, strict=False):
        runs = data.sel(neurons=m).isel(seed=0)
        floor = 1e-15 * float(np.sqrt((runs.mode_residual.isel(record=0) ** 2).sum()))
        residuals = (runs[name] for name in ("mode_residual", "linear_mode_residual"))
        measured, linear = (abs(residual).where(abs(residual) > floor) for residual in residuals)
        labels = ["measured", r"linearised: $(1-m\eta\lambda_k)^t$"]
        for j, color in enumerate(shade(norm(draw.positive(runs.mode_value).fillna(low)))):
            ax.plot(runs.step, measured.isel(mode=j), color=color, linewidth=2, alpha=0.85, label=labels[0])
            draw.predicted(ax, linear.isel(mode=j), labels[1], x=runs.step)
            labels = [None, None]
        draw.log_y(ax)
        draw.finish(ax, f"$m$ = {m:g}, first seed", r"$|\langle q_k,e(t)\rangle|$", "training step $t$")
    figure.colorbar(ScalarMappable(norm, shade), ax=axes[len(widths) - 1], label=r"eigenvalue $\lambda_k$ of $H(0)$")
    _mode_rates(axes[-1], data)
    return figure


def _mode_rates(ax: Axes, data: xr.Dataset) -> None:
    """Decay per step of every mode, from the last record that is far above rounding, against ln(1 - m η λ_k)."""
    size = np.abs(data.mode_residual)
    start = size.isel(record=0)
    above = (size > 1e-3 * start).astype(int).cumprod("record") > 0
    span = data.step.where(above & (data.step > 0) & (start > 0))
    slope = -np.log(draw.positive(size / start)) / span
    measured = draw.positive(slope.where(span == span.max("record")).mean("record"))
    rate = draw.positive(-np.log(draw.positive(np.abs(1 - data.rate * data.mode_value))))
    for i, m in enumerate(data.neurons.values):
        x, y = (values.sel(neurons=m).transpose("seed", "mode").values.ravel() for values in (rate, measured))
        how = {"color": draw.look(i).color, "markersize": 4, "alpha": 0.7}
        ax.plot(x, y, draw.look(i).marker, label=f"$m$ = {m:g}, every seed", **how)
    line = np.array([float(rate.min()), float(rate.max())])
    if np.isfinite(line).all():
        draw.predicted(ax, line, "linearised: equal", x=line)
    draw.log_x(ax)
    draw.log_y(ax)
    draw.finish(ax, "rate of every eigenvector", "measured rate per step", r"predicted rate $-\ln(1-m\eta\lambda_k)$")


def other_data(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Errors on other data in the claimed time, and the worst step of every run against the bound."""
    figure, (left, right) = draw.panels(2, height=4.4)
    _in_claimed_time(left, data, "data_law", "{}")
    draw.finish(left, "first seed")
    rates = data.contraction.sel(rate_of=["H(0)", "limit"])
    draw.groups(right, draw.positive(rates), "data_law", "rate_of", r"$\lambda$ of {}", middle="median")
    draw.claimed(right, claims["q16-contraction-dis"], label="q16-samplers", words="paper")
    draw.finish(right, "worst step of every run", WORST, "data")
    return figure


def paper_step(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """The paper's step is tiny: how much of the error is gone, and what Lemma 7.4 promises of every step."""
    figure, (left, right) = draw.panels(2, height=4.2)
    claimed = draw.positive(-np.expm1(-claimed_decay(data) * data.step))
    gone, linear = (1 - data[name] / data.initial_square for name in ("square", "linear_square"))
    ends = lm.at_end(gone)
    label = f"seeds and mean (at the end {float(ends.min()):.0e} to {float(ends.max()):.0e} of the error is gone)"
    draw.paths(left, data, gone / claimed, label=label)
    draw.paths(left, data, linear / claimed, label="linearised dynamics", spread="", **LINEARISED)
    draw.predicted(left, 1.0, "paper: at least 1")
    draw.log_y(left)
    y = r"$(1-\|e(t)\|^2/\|e(0)\|^2)\;/\;(1-(1-m\eta\lambda/2)^t)$"
    draw.finish(left, "error that is gone, measured / claimed", y, "training step $t$", legend=1)
    ratios = {
        r"$\eta\|\Delta w_r\|$ / 0.01": step_used(data),
        r"$\|e(t)\|$ / $\sqrt{n}$": data.error_norm,
        "drift / $D$": data.drift_ratio,
    }
    values = draw.positive(lm.stack(ratios, "inequality"))
    draw.groups(right, values, "inequality", label="runs and median", middle="median")
    draw.claimed(right, claims["q14-step"], part="error", words="paper")
    draw.log_y(right)
    draw.finish(right, "Lemmas 7.2, 7.4 and 8.6", "left side / right side, worst step", legend=1)
    return figure


def by_width(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """How far the weights move over the width, beside the paper's D, for both output scales; the lazy prediction."""
    kappa = {"one": "1", "inv_sqrt_m": "1/√m"}
    named = data.assign_coords(scale=[rf"$\kappa$ = {kappa[scale]}" for scale in draw.labels_of(data, "scale")])
    figure, axes = draw.panels(data.sizes["scale"] + 1, width=4.8, height=4.4)
    m = data.neurons.values
    for ax, scale in zip(axes, named.scale.values, strict=False):
        runs = named.sel(scale=scale)
        _powers(ax, lm.at_end(runs.drift), "statistic")
        D = draw.positive(runs.largest_drift / runs.drift_ratio)
        label = f"paper: $D$, exponent {draw.stated(lm.log_slopes(D, 'neurons'))}"
        draw.predicted(ax, D.median("seed"), label, x=m)
        draw.finish(ax, f"drift, {scale}", r"$\|w_r(t)-w_r(0)\|$ over the neurons $r$")
    _powers(axes[-1], named.lazy_error, "scale")
    draw.claimed(axes[-1], claims["q15-lazy-drift"], words=r"claimed, $\kappa$ = 1, $m$ = 128")
    draw.finish(axes[-1], "lazy prediction of the final weights", "relative Frobenius error")
    for ax in axes:
        draw.numbers(ax, m)
        draw.log_y(ax)
        draw.finish(ax, x="width $m$", legend=1)
    return figure


def _powers(ax: Axes, values: xr.DataArray, by: str) -> None:
    """Geometric means over the width by label, their exponents in the legend."""
    for i, name in enumerate(values[by].values):
        rows, kind = draw.positive(values.sel({by: name})), draw.look(i)
        label = f"{name}: exponent {draw.stated(lm.log_slopes(rows, 'neurons'))}"
        draw.curves(ax, rows, "neurons", label=label, color=kind.color, middle="geometric", marker=kind.marker)

"""Samples and steps: zero risk, Figures 2.1 and 2.3, token noise, sparsification (Figure 2.5); steps to small loss
(Figure 2.2, the step-size sweep) and to zero loss (the initial model)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.vit.figures import ATTENTION_COLORS, SUCCESS, VARIANT_NAMES
from lemmata.theories.vit.measures import by_reading, half_thresholds, success
from lemmata.theories.vit.training import SMALL_LOSS

SAMPLES = "training samples $N$"
RATE = "success rate over seeds"
STEPS = r"steps $T_\varepsilon$ to training loss 0.001"
SMALLER = r"paper (Remark 3): smaller $\delta$ needs fewer samples"
HALF = "samples at which half of the seeds succeed"
ERRORS = {
    "value_error": (r"\sigma", HALF, r"initial value error $\sigma$"),
    "attention_error": (r"\delta", SMALLER, r"initial error $\delta$ of keys and queries"),
}
"""Field -> symbol, the title of N_50, and its axis."""


def zero_risk(data: xr.Dataset) -> Figure:
    """Test hinge of every seed, true and shuffled labels."""
    figure, (ax,) = draw.panels(1, width=6.4)
    draw.groups(ax, data.test_hinge, "variant", "label_order", "{} labels", words=VARIANT_NAMES)
    draw.predicted(ax, SMALL_LOSS, SUCCESS)
    draw.loss_scale(ax, 1e-4)
    title = "risk well above the sample threshold (Theorem 1)"
    draw.finish(ax, title, "test hinge loss", "reading of the output signs")
    return figure


def sample_map(data: xr.Dataset, power: int, who: str) -> Figure:
    """Success rates over (α_*^-power, N), and N_50 with the paper's law and the fits that section 6 asks for."""
    figure, (left, right) = draw.panels(2, width=5.8, height=4.2)
    x = rf"$\alpha_*^{{-{power}}}$"
    rates = success(data).sortby("relevant_fraction", ascending=False)
    inverse = (rates.relevant_fraction**-power).values.round(1)
    draw.success_map(left, rates.assign_coords(relevant_fraction=inverse), "relevant_fraction", "samples", RATE)
    draw.finish(left, f"{who}: success is a test hinge below 0.001", SAMPLES, x)
    thresholds = half_thresholds(data)
    alpha = np.asarray(list(thresholds))
    confusion = data.confusion_fraction.values if "confusion_fraction" in data.coords else 0 * alpha
    _thresholds(right, alpha**-power, list(thresholds.values()), data.samples.values)
    inside = np.asarray([not threshold.censored for threshold in thresholds.values()])
    counts = np.asarray([threshold.estimate.value for threshold in thresholds.values()])
    if inside.any():
        label = rf"paper: $N \propto \alpha_*^{{-{power}}}$"
        draw.law(right, alpha**-power, np.where(inside, counts, np.nan), alpha**-power, label)
    _fits(right, alpha[inside], (alpha - confusion)[inside], counts[inside], power)
    right.set_yscale("log", base=2)
    draw.finish(right, HALF, "$N_{50}$ with 95 % interval", x, legend=1)
    return figure


def _thresholds(ax: Axes, x: np.ndarray, thresholds: list[lm.Threshold], counts: np.ndarray) -> None:
    """N_50 with its interval, cut to one octave beyond the grid; those beyond the grid as triangles."""
    for threshold, place in zip(thresholds, x, strict=True):
        value, label = threshold.estimate.value, None if ax.lines else "measured $N_{50}$"
        if threshold.censored == "above":
            draw.never(ax, [place], draw.GREY, "beyond the grid")
        elif threshold.censored == "below":
            ax.plot(place, counts.min(), "v", color=draw.GREY)
        else:
            ends = np.clip([threshold.estimate.low, threshold.estimate.high], counts.min() / 2, 2 * counts.max())
            error = np.abs(ends - value)[:, None]
            ax.errorbar(place, value, error, fmt="o", color=draw.BLUE, capsize=3, label=label)


def _fits(ax: Axes, alpha: np.ndarray, lead: np.ndarray, counts: np.ndarray, power: int) -> None:
    """Three fits of N_50: a power of α_*, an offset square, a power of α_* - α_#."""
    x = alpha**-power
    try:
        pure, offset = lm.power_law(alpha, counts), lm.offset_power_law(alpha, counts, exponent=-2.0, nonnegative=True)
        margin = lm.power_law(lead, counts)
    except lm.CannotFit:
        return
    shift, own_power, lead_power = offset.offset.value, pure.exponent.value, margin.exponent.value
    shapes = (
        (rf"\alpha_*^{{{own_power:.1f}}}", alpha**own_power, pure),
        (rf"(\alpha_*-{shift:.2f})^{{-2}}", (alpha - shift) ** -2.0, offset),
        (rf"(\alpha_*-\alpha_\#)^{{{lead_power:.1f}}}", lead**lead_power, margin),
    )
    order = np.argsort(x)
    for i, (formula, shape, law) in enumerate(shapes, 1):
        how = {"color": draw.look(i).color, "linestyle": draw.look(i).linestyle, "linewidth": 1.2}
        label = rf"fit: $N \propto {formula}$, $R^2$ = {law.r_squared:.2f}"
        ax.plot(x[order], law.prefactor * shape[order], label=label, **how)


def _rates(ax: Axes, rates: xr.DataArray, by: str, label: str, title: str) -> None:
    """Success rate against N."""
    draw.curves(ax, rates, "samples", by, label, spread="")
    draw.numbers(ax, rates.samples)
    ax.set_ylim(-0.05, 1.05)
    draw.finish(ax, title, RATE, SAMPLES)


def shared(data: xr.Dataset) -> Figure:
    """Success rate against N: with shared signs there is no transition."""
    figure, axes = draw.panels(data.sizes["attention"], sharey=True)
    for ax, attention in zip(axes, draw.labels_of(data, "attention"), strict=True):
        draw.predicted(ax, 0.5, "paper: crossed at $N_{50}$")
        rates = success(data).sel(attention=attention)
        _rates(ax, rates, "relevant_fraction", r"$\alpha_*$ = {}", f"shared signs, attention {attention}")
    return figure


def initial_error(data: xr.Dataset, error: str) -> Figure:
    """Success rate against N for every size of an initial error and its directions, and N_50 against the size. Beside
    N_50 stands what the paper says: its law of σ, or that a smaller δ needs fewer samples."""
    if "value_error_law" not in data.dims:
        data = data.expand_dims(value_error_law=["random"])
    symbol, title, x = ERRORS[error]
    figure, (*axes, last) = draw.panels(data.sizes["value_error_law"] + 1, width=4.8)
    for i, (ax, law) in enumerate(zip(axes, draw.labels_of(data, "value_error_law"), strict=True)):
        runs = data.sel(value_error_law=law)
        _rates(ax, success(runs), error, f"${symbol}$ = {{}}", f"per-token signs, {law} directions of the error")
        thresholds = half_thresholds(runs, error)
        sizes, middle = np.asarray(list(thresholds)), np.asarray([n.estimate.value for n in thresholds.values()])
        kind, label = draw.look(i), f"measured $N_{{50}}$, {law} directions"
        inside = (middle > 0) & np.isfinite(middle)
        last.plot(sizes, np.where(inside, middle, np.nan), color=kind.color, marker=kind.marker, label=label)
        draw.never(last, sizes[np.isposinf(middle)], kind.color, "beyond the grid")
        if error == "value_error" and inside[0]:
            grid = np.linspace(0, sizes.max(), 50)
            said = r"paper: $N \propto (1-\sigma)^{-2}$ from $\sigma=0$" if i == 0 else None
            draw.predicted(last, middle[0] * (1 - grid) ** -2.0, said, grid, color=kind.color)
    draw.log_y(last)
    draw.finish(last, title, "$N_{50}$", x, legend=1)
    return figure


def token_noise(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Test hinge against the token noise, with the levels claimed at its ends."""
    figure, (ax,) = draw.panels(1, width=6.4)
    draw.curves(ax, data.test_hinge, "token_noise", label="median over seeds, and every seed", middle="median")
    for end, place in (("least", 0), ("most", -1)):
        label = f"claimed of the median at $c_0$ = {data.token_noise.values[place]:g}"
        draw.claimed(ax, claims["v6-token-noise"], end, words=label)
    draw.loss_scale(ax, 1e-4, top=0.2)
    draw.finish(ax, "paper: token noise raises the risk", "test hinge loss at $N=64$", "token noise $c_0$", legend=1)
    return figure


def sparsification(data: xr.Dataset) -> Figure:
    """Test loss against the fraction of removed tokens by strategy, and what the removal does to the data."""
    figure, axes = draw.panels(3, width=4.9, height=4.2)
    data = data.sortby("keep", ascending=False)
    removed = (1 - data.keep.values).round(9)
    panels = (
        ("test_hinge", "test loss (Figure 2.5)", "test hinge loss"),
        ("relevant_share", r"paper: irrelevant raises $\alpha_*$", r"fraction of label-relevant tokens $\alpha_*$"),
        ("noise_norm", r"paper: noisy lowers $\tau$", r"largest noise of a kept token, $\tau$"),
    )
    for ax, (name, title, y) in zip(axes, panels, strict=True):
        draw.curves(ax, data[name], "keep", "strategy", "{} dropped first", x=removed)
        if name == "test_hinge" and data.keep.values[0] == 1:
            whole = float(data.test_hinge.isel(keep=0, strategy=0).mean("seed"))
            draw.predicted(ax, whole, "paper: random stays here, irrelevant and noisy fall")
        draw.from_zero(ax, 1.05 if name == "relevant_share" else 0.0)
        ax.set_xticks(removed, [f"{share:g}" for share in removed])
        draw.finish(ax, title, y, "fraction of removed tokens")
    return figure


def iterations(data: xr.Dataset) -> Figure:
    """Mean T_ε against 1/α_* beside the paper's proportionality and straight-line fits."""
    figure, axes = draw.panels(data.sizes["variant"])
    x = 1 / data.relevant_fraction.values
    for ax, variant in zip(axes, draw.labels_of(data, "variant"), strict=True):
        times = data.small_loss_step.sel(variant=variant)
        how = {"x": x, "linestyle": "none"}
        draw.curves(ax, times, "relevant_fraction", "attention", "attention {}", ATTENTION_COLORS, **how)
        times = times.transpose("attention", "seed", "relevant_fraction")
        for attention in draw.labels_of(data, "attention"):
            _line_fit(ax, x, times.sel(attention=attention).values, attention)
        trained = times.sel(attention=draw.present(data, "attention", ["trained"]))
        draw.law(ax, x, trained, x, r"paper: $T \propto 1/\alpha_*$")
        draw.from_zero(ax)
        draw.finish(ax, VARIANT_NAMES.get(variant, variant), STEPS, r"$1/\alpha_*$")
    return figure


def _line_fit(ax: Axes, x: np.ndarray, times: np.ndarray, attention: str) -> None:
    try:
        line = lm.line(x, times)
    except lm.CannotFit:
        return
    ends = np.asarray([x.min(), x.max()])
    label = f"fit: straight line, $R^2$ = {line.r_squared:.3f}"
    how = {"color": ATTENTION_COLORS.get(attention, draw.GREY), "linewidth": 1.2}
    ax.plot(ends, line.intercept.value + line.slope.value * ends, label=label, **how)


def step_size(data: xr.Dataset) -> Figure:
    """T_ε against the step size, with the paper's exponent and gradient flow's through the smallest step."""
    sweeps = by_reading(data)
    figure, axes = draw.panels(len(sweeps))
    for ax, (reading, runs) in zip(axes, sweeps.items(), strict=True):
        x = runs.step_size.values
        draw.curves(ax, runs.small_loss_step, "step_size", label="measured", linestyle="none")
        first = float(runs.small_loss_step.isel(step_size=0).mean("seed"))
        draw.predicted(ax, first * (x / x[0]) ** -0.6, r"paper: $\eta^{-3/5}$", x)
        draw.corrected(ax, first * (x / x[0]) ** -1.0, r"gradient flow: $\eta^{-1}$", x)
        draw.numbers(ax, x)
        draw.log_y(ax)
        draw.finish(ax, VARIANT_NAMES.get(reading, reading), STEPS, r"step size $\eta$")
    return figure


def initial_model(data: xr.Dataset) -> Figure:
    """T_0 against σ for both directions of the error and every δ."""
    figure, axes = draw.panels(data.sizes["value_error_law"], sharey=True)
    for ax, law in zip(axes, draw.labels_of(data, "value_error_law"), strict=True):
        times = data.reached_step.sel(value_error_law=law).sortby("attention_error")
        draw.curves(ax, times, "value_error", "attention_error", r"$\delta$ = {}")
        title = f"{law} directions of the error (paper: rises)"
        draw.finish(ax, title, "steps $T_0$ to training loss 0", r"initial value error $\sigma$", legend=3)
    return figure

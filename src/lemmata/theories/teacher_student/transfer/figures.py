"""What is lost on other data (T4 to T7, row B): laws of the inputs, adversarial responses, bounds and their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.figures import activations, exponent_of, extent, slope_beside
from lemmata.theories.teacher_student.measures import multiples

NAMES = {
    "exponential": "Exp(1)",
    "gaussian": "standard Gaussian",
    "uniform": "uniform",
    "student_t": "Student t",
    "rademacher": "Rademacher",
    "correlated": "correlated Gaussian",
    "worst": "worst case, sign corrected",
    "worst_printed": "worst case as printed",
    "exact": "exact worst case",
    "independent": "independent response",
}
CLEAN, ADVERSARIAL = list(NAMES)[:6], ["worst", "worst_printed", "exact"]
"""Laws whose responses are the teacher's with noise, and responses that are not."""
TIME, CLEAN_EXCESS = "time $T/T^*$", r"clean excess loss $\frac{1}{2}\Delta^2$"
LATE = (1e2, 1e4)
"""The late window, in units of T*."""


def shifted(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Clean and adversarial excess over time, and every bound, formula and noise law of the proof."""
    figure, axes = draw.panels(6, rows=2, width=5.6, height=4.6)
    _clean(axes[0], activations(data))
    _laws(axes[1], data.sel(negative_slope=data.negative_slope.values.max()))
    _responses(axes[2], data)
    _bounds(axes[3], data)
    _formula(axes[4], data)
    _noise(axes[5], activations(data), claims["t7-batch-noise"])
    return figure


def _finish(ax: Axes, title: str, y: str, columns: int = 2) -> None:
    draw.log_x(ax)
    draw.log_y(ax)
    draw.moment(ax, 1.0, "$T^*$")
    draw.finish(ax, title, y, TIME, legend=columns)


def _named(data: xr.Dataset, wanted: Sequence[str]) -> xr.Dataset:
    """The data of these laws and responses, called by their names."""
    known = draw.present(data, "test_data", wanted)
    return data.sel(test_data=known).assign_coords(test_data=[NAMES[name] for name in known])


def _beside(ax: Axes, data: xr.Dataset, values: xr.DataArray, powers: Mapping[float, str]) -> None:
    """Slopes to compare with in the late window, above the data."""
    top = extent(values.where(multiples(data) >= 0.999 * LATE[0]))
    for power, words in powers.items() if top else ():
        style = draw.CORRECTED if words.startswith("derived") else {}
        slope_beside(ax, LATE, 2.5 * top[1], power, words, **style)  # pyright: ignore[reportOptionalSubscript]


def _clean(ax: Axes, data: xr.Dataset) -> None:
    """½Δ² on exponential inputs, all activations: the bump of phase 2, and the slope -1 of the late phase."""
    if not draw.present(data, "test_data", ["exponential"]):
        ax.set_axis_off()
        return
    data = data.sel(test_data="exponential")
    words = [
        f"{name}: late slope {exponent_of(data.half_gap.sel(activation=name), data.sel(activation=name))}"
        for name in draw.labels_of(data, "activation")
    ]
    named = data.assign_coords(activation=words)
    draw.paths(ax, named, draw.positive(named.half_gap), "activation", clock=draw.positive(multiples(named)))
    first = (data.fitted_step / data.escape_step).mean("seed")
    for i, at in enumerate(first.values):
        ax.plot(at, 0.03, "^", color=draw.look(i).color, transform=ax.get_xaxis_transform(), clip_on=False)
    ax.plot([], [], "^", color=draw.GREY, label="$t_1$ (phase 2 lies between it and $T^*$)")
    _beside(ax, data, data.half_gap, {-0.5: "paper (Figure 2b): slope −1/2", -1.0: "derived: slope −1"})
    _finish(ax, "Exp(1) inputs, the teacher's response: a bump, then $1/T$", CLEAN_EXCESS)


def _laws(ax: Axes, data: xr.Dataset) -> None:
    """½Δ² by law, one activation: every law falls as 1/T; some are drawn at a few times only."""
    named = _named(data, CLEAN)
    draw.paths(ax, named, draw.positive(named.half_gap), "test_data", clock=draw.positive(multiples(named)), marker=".")
    _beside(ax, named, named.half_gap, {-1.0: "derived: slope −1"})
    title = f"laws of the inputs, κ = {float(data.negative_slope):g}: only a mean makes a bump"
    _finish(ax, title, CLEAN_EXCESS)


def _responses(ax: Axes, data: xr.Dataset) -> None:
    """Adversarial responses: positive with slope -1/2; with the printed sign negative, of which |·| is shown."""
    data = _named(data, ADVERSARIAL)
    late = data.ood_excess.where(multiples(data) >= LATE[0])
    words = []
    for name in draw.labels_of(data, "test_data"):
        negative = bool((late.sel(test_data=name) < 0).any())
        slope = exponent_of(abs(data.ood_excess.sel(test_data=name)), data.sel(test_data=name))
        words.append(f"{name}{' (negative: |·| shown)' if negative else ''}: slope {slope}")
    named = data.assign_coords(test_data=words)
    sizes = draw.positive(abs(named.ood_excess.where(multiples(named) >= 1)))
    draw.paths(ax, named, sizes, "test_data", clock=draw.positive(multiples(named)))
    _beside(ax, named, abs(named.ood_excess), {-0.5: "paper: slope −1/2"})
    title = "worst cases attain $T^{-1/2}$; the printed sign helps the student"
    _finish(ax, title, "|excess loss| on adversarial responses", 1)


def _bounds(ax: Axes, data: xr.Dataset) -> None:
    """Left side over right side of the parts of row B and of T4, every law, record, activation and seed."""
    delta, R = np.sqrt(2 * data.half_gap), np.sqrt(data.teacher_gap)
    promised = data.ood_excess.where(abs(multiples(data) / 2e3 - 1) < 1e-3)
    sides = {
        r"excess $\leq\frac{1}{2}\Delta^2+\Delta R$": data.ood_excess / (data.half_gap + delta * R),
        r"$\Delta^2\leq$ its bound": 2 * data.half_gap / data.gap_bound,
        r"$R^2\leq2D\xi(1+\|V^*\|_F^2)$": data.teacher_gap / data.teacher_gap_bound,
        r"excess at $T_\epsilon\leq\epsilon$": promised / data.promise,
    }
    ratios = draw.positive(lm.stack(sides, "side"))
    style = {"markersize": 2.5, "alpha": 0.35, "middle": "median", "words": NAMES}
    draw.groups(ax, ratios, "test_data", "side", sideways=True, **style)
    draw.predicted(ax, [-0.5, data.sizes["test_data"] - 0.5], "paper: at most 1", [1.0, 1.0])
    ax.invert_yaxis()
    draw.log_x(ax)
    x = "left side / right side (positive ones; bar: median)"
    draw.finish(ax, "row B and Theorem 3.2 at every record", "law or response", x)


def _formula(ax: Axes, data: xr.Dataset) -> None:
    """The formula of T7 for κ = 1 against the sample, in standard errors, with and without the term of the mean."""
    known = draw.present(data, "test_data", ["exponential", "gaussian"])
    if 1.0 not in data.negative_slope.values or not known:
        ax.set_axis_off()
        return
    data = data.sel(test_data=known, negative_slope=1.0)
    for terms, style, words in (("all", "-", "{}"), ("without_mean", ":", "{}, term of the mean left out")):
        formula = data.formula.sel(terms=terms)
        off = extent(abs(data.half_gap - formula) / data.half_gap_error)
        label = words + (f" (off by at most {off[1]:.2g} s.e.)" if off else "")
        clock = draw.positive(multiples(data))
        draw.paths(ax, data, data.half_gap / formula, "test_data", label, clock=clock, linestyle=style)
    first = data.isel(test_data=0, seed=0)
    error = 4 * (first.half_gap_error / first.half_gap)
    x = draw.positive(multiples(first))
    ax.fill_between(x, 1 - error, 1 + error, color=draw.GREY, alpha=0.25, linewidth=0, label="4 standard errors")
    draw.corrected(ax, 1.0, "derived: the formula of T7")
    _finish(ax, "identity: the sample against the closed form", r"$\frac{1}{2}\Delta^2$ measured / formula", 1)


def _noise(ax: Axes, data: xr.Dataset, claim: lm.Claim) -> None:
    """Spread of the excess of a noisy batch over its law σΔ_N/√N, every law."""
    named = _named(data, CLEAN)
    draw.groups(ax, named.noise_ratio, "test_data", "activation", sideways=True)
    draw.corrected(
        ax, [-0.5, max(named.sizes["test_data"], 1) - 0.5], r"derived: $\sigma_\xi\Delta_N/\sqrt{N}$", [1, 1]
    )
    draw.claimed(ax, claim, across=True)
    title, x = "what the noise of a fixed batch adds at $10^3T^*$", "standard deviation over noise draws / law"
    draw.finish(ax, title, "law of the inputs", x)

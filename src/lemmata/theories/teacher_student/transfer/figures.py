"""What is lost on other data (T4 to T7, row B): laws of the inputs, adversarial responses, bounds and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PREDICTED,
    RED,
    dodge,
    labels_of,
    log_y,
    panels,
    present,
    strip,
)
from lemmata.theories.teacher_student.figures import (
    DERIVED,
    PURPLE,
    accept,
    anchored,
    by_slope,
    ends,
    finite_mean,
    legend,
    log_x,
    names,
    positive,
    slope_of,
)
from lemmata.theories.teacher_student.measures import multiples

NAMES = {
    "exponential": ("Exp(1)", BLUE), "gaussian": ("standard Gaussian", GREEN), "uniform": ("uniform", ORANGE),
    "student_t": ("Student t", RED), "rademacher": ("Rademacher", PURPLE), "correlated": ("correlated", "#8c6d31"),
    "worst": ("worst case, sign corrected", BLUE), "worst_printed": ("worst case as printed", RED),
    "exact": ("exact worst case", PURPLE), "independent": ("independent response", GREY),
}  # fmt: skip
CLEAN = ("exponential", "gaussian", "uniform", "student_t", "rademacher", "correlated")
"""Laws whose responses are the teacher's with noise."""
MARKS = {"uniform": "s", "student_t": "^", "rademacher": "v", "correlated": "D"}
"""Laws that are drawn at a few times only."""
ADVERSARIAL = ("worst", "worst_printed", "exact")
IN_TIME = "time $T/T^*$"
FIRST, LAST = 1e2, 1e4
"""The late window, in units of T*."""


def shifted(data: xr.Dataset) -> Figure:
    """Clean and adversarial excess over time, and every bound, formula and noise law of the proof."""
    figure, axes = panels(6, rows=2, width=5.8, height=4.9)
    slopes = data.negative_slope.values
    one = data.sel(negative_slope=slopes.max())
    _clean(axes[0], data)
    _laws(axes[1], one)
    _responses(axes[2], data)
    _bounds(axes[3], data)
    _formula(axes[4], data)
    _noise(axes[5], data)
    return figure


def _over(ax: Axes, cell: xr.Dataset, values: xr.DataArray, label: str | None, color: str, **style: Any) -> None:
    """One line a seed over T/T*."""
    for i in range(cell.sizes["seed"]):
        x, y = positive(multiples(cell).isel(seed=i)), positive(values.isel(seed=i))
        how = {"linewidth": 1.2, "alpha": 0.8, **style}
        ax.plot(x, y, color=color, label=label if i == 0 else None, **how)


def _time(ax: Axes, words: str) -> None:
    log_x(ax, IN_TIME)
    log_y(ax)
    ax.set_ylabel(words)
    ax.axvline(1.0, color=GREY, linewidth=0.8)


def _late(data: xr.Dataset, values: xr.DataArray) -> float | None:
    """The largest value from 10² T* on."""
    found = ends(values.where(multiples(data) >= 0.999 * FIRST))
    return None if found is None else found[1]


def _clean(ax: Axes, data: xr.Dataset) -> None:
    """½Δ² on exponential inputs, all activations: the bump of phase 2, and the slope -1 of the late phase."""
    if not present(data, "test_data", ["exponential"]):
        ax.set_axis_off()
        return
    cells = data.sel(test_data="exponential")
    for cell, words, color in by_slope(cells):
        found = slope_of(cell.half_gap, cell)
        _over(ax, cell, cell.half_gap, f"{words}" + (f": late slope {found}" if found else ""), color)
        first = finite_mean(cell.fitted_step / cell.escape_step)
        ax.plot([first], [0.03], "^", color=color, transform=ax.get_xaxis_transform(), markersize=7, clip_on=False)
    ax.plot([], [], "^", color=GREY, label="$t_1$ (phase 2 lies between it and $T^*$)", markersize=7)
    top = _late(cells, cells.half_gap)
    if top is not None:
        anchored(ax, (FIRST, LAST), 2.5 * top, -0.5, "paper (Figure 2b): slope −1/2")
        anchored(ax, (FIRST, LAST), 2.5 * top, -1.0, "derived: slope −1", **DERIVED)
    _time(ax, r"clean excess loss $\frac{1}{2}\Delta^2$")
    ax.set_title("Exp(1) inputs, the teacher's response: a bump, then $1/T$", fontsize=10)
    legend(ax, 2)


def _laws(ax: Axes, data: xr.Dataset) -> None:
    """½Δ² by law, one activation: every law falls as 1/T."""
    laws = present(data, "test_data", CLEAN)
    for name in laws:
        cell = data.sel(test_data=name)
        words, color = NAMES[name]
        points = bool((cell.step.notnull().sum("record") < 10).all())
        style = {"marker": "o", "markersize": 2.5}
        if points:
            style = {"marker": MARKS.get(name, "o"), "markersize": 6, "linestyle": "none", "markerfacecolor": "none"}
        _over(ax, cell, cell.half_gap, words, color, **style)
    late = data.sel(test_data=laws)
    top = _late(late, late.half_gap) if laws else None
    if top is not None:
        anchored(ax, (FIRST, LAST), 2.5 * top, -1.0, "derived: slope −1", **DERIVED)
    _time(ax, r"clean excess loss $\frac{1}{2}\Delta^2$")
    kappa = float(data.negative_slope)
    ax.set_title(rf"laws of the inputs, $\kappa$ = {kappa:g}: only a mean makes a bump", fontsize=10)
    legend(ax, 2)


def _responses(ax: Axes, data: xr.Dataset) -> None:
    """Adversarial responses: positive with slope -1/2; with the printed sign negative (open triangles show |·|)."""
    top: list[float] = []
    marks = {"worst": "-", "worst_printed": "none", "exact": "--"}
    for name in present(data, "test_data", ADVERSARIAL):
        cells = data.sel(test_data=name)
        cells = cells.where(multiples(cells) >= 1)
        words, color = NAMES[name]
        negative = bool((cells.ood_excess.where(multiples(cells) >= FIRST) < 0).any())
        values = -cells.ood_excess if negative else cells.ood_excess
        style = {"marker": "v", "markersize": 5, "markerfacecolor": "none"} if negative else {}
        found = slope_of(values, cells)
        label = f"{words}{' (negative: |·| shown)' if negative else ''}" + (f": slope {found}" if found else "")
        for i, kappa in enumerate(data.negative_slope.values):
            cell = cells.sel(negative_slope=kappa)
            shown = label if i == 0 else None
            _over(ax, cell, values.sel(negative_slope=kappa), shown, color, linestyle=marks[name], **style)
        highest = _late(cells, abs(cells.ood_excess))
        top += [] if highest is None else [highest]
    if top:
        anchored(ax, (FIRST, LAST), 2.2 * max(top), -0.5, "paper: slope −1/2")
    _time(ax, "|excess loss| on adversarial responses")
    ax.set_title("worst cases attain $T^{-1/2}$; the printed sign helps the student", fontsize=10)
    legend(ax, 1)


def _bounds(ax: Axes, data: xr.Dataset) -> None:
    """Left side over right side of the parts of row B and of T4, every law, record, activation and seed."""
    delta, R = np.sqrt(2 * data.half_gap), np.sqrt(data.teacher_gap)
    promised = data.ood_excess.where(abs(multiples(data) / 2e3 - 1) < 1e-3)
    sides = (
        (r"excess $\leq\frac{1}{2}\Delta^2+\Delta R$", data.ood_excess / (data.half_gap + delta * R), BLUE),
        (r"$\Delta^2\leq$ its bound", 2 * data.half_gap / data.gap_bound, GREEN),
        (r"$R^2\leq2D\xi(1+\|V^*\|_F^2)$", data.teacher_gap / data.teacher_gap_bound, PURPLE),
        (r"excess at $T_\epsilon\leq\epsilon$", promised / data.promise, ORANGE),
    )
    known = labels_of(data, "test_data")
    order = [name for name in NAMES if name in known] + [name for name in known if name not in NAMES]
    for (words, ratio, color), shift in zip(sides, dodge(len(sides), 0.8), strict=True):
        for i, name in enumerate(order):
            values = ratio.sel(test_data=name).values.ravel()
            style = {"markersize": 2.5, "alpha": 0.35, "sideways": True, "median": True, "width": 0.06}
            strip(ax, i + shift, positive(values[np.isfinite(values)]), color, words if i == 0 else None, **style)
    ax.axvline(1.0, label="paper: at most 1", **PREDICTED)
    ax.set_yticks(range(len(order)), [NAMES.get(name, (name,))[0] for name in order], fontsize=8)
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.set_xscale("log")
    ax.set_xlabel("left side / right side (positive ones; bar: median)")
    ax.set_title("row B and Theorem 3.2 at every record", fontsize=10)
    legend(ax, 2)


def _formula(ax: Axes, data: xr.Dataset) -> None:
    """The formula of T7 for κ = 1 against the sample, in standard errors, with and without the term of the mean."""
    known = present(data, "test_data", ["exponential", "gaussian"])
    if 1.0 not in data.negative_slope.values or not known:
        ax.set_axis_off()
        return
    for name in known:
        cell = data.sel(test_data=name, negative_slope=1.0)
        words, color = NAMES[name]
        for terms, style in (("all", "-"), ("without_mean", ":")):
            ratio = cell.half_gap / cell.formula.sel(terms=terms)
            off = ends(abs(cell.half_gap - cell.formula.sel(terms=terms)) / cell.half_gap_error)
            rest = ", without the mean" if terms != "all" else ""
            rest += rf": off by at most {off[1]:.2g} s.e." if off else ""
            _over(ax, cell, ratio, f"{words}{rest}", color, linestyle=style)
        if name == known[0]:
            error = 4 * (cell.half_gap_error / cell.half_gap).isel(seed=0)
            x = positive(multiples(cell).isel(seed=0))
            ax.fill_between(x, 1 - error, 1 + error, color=GREY, alpha=0.25, linewidth=0, label="4 standard errors")
    ax.axhline(1.0, label="derived: the formula of T7", **DERIVED)
    _time(ax, r"$\frac{1}{2}\Delta^2$ measured / formula")
    ax.set_title("identity: the sample against the closed form", fontsize=10)
    legend(ax, 1)


def _noise(ax: Axes, data: xr.Dataset) -> None:
    """Spread of the excess of a noisy batch over its law σΔ_N/√N, every law."""
    known = present(data, "test_data", CLEAN)
    places = dodge(data.sizes["negative_slope"])
    for (cells, words, color), shift in zip(by_slope(data), places, strict=True):
        for i, name in enumerate(known):
            strip(ax, i + shift, cells.noise_ratio.sel(test_data=name), color, words if i == 0 else None, width=0.06)
    ax.axhline(1.0, label=r"derived: $\sigma_\xi\Delta_N/\sqrt{N}$", **DERIVED)
    accept(ax, 0.75, 1.25, "claimed: within 25 %")
    names(ax, [NAMES[name][0].replace(" ", "\n") for name in known])
    ax.set_ylim(0.5, 1.5)
    ax.set_ylabel(r"standard deviation over noise draws / law")
    ax.set_title("what the noise of a fixed batch adds at $10^3T^*$", fontsize=10)
    legend(ax, 2)

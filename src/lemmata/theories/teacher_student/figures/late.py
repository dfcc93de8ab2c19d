"""Late times (Theorem 3.1): the rates of scores, values and loss, their constants, and their powers of D."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import GREY, RED, colour, dodge, labels_of, log_y, panels
from lemmata.theories.teacher_student.bounds import late_mass
from lemmata.theories.teacher_student.figures import (
    DERIVED,
    anchored,
    between,
    by_slope,
    ends,
    fitted,
    late_excess,
    law,
    legend,
    log_x,
    names,
    numbers,
    positive,
    signed,
    slope_of,
)
from lemmata.theories.teacher_student.measures import (
    EPSILON,
    MOMENT,
    READ_AT,
    at_fixed_time,
    multiples,
    passage,
    task_of,
)

INTACT = "none"
FROZEN = {"attention": ("attention frozen", GREY, ":"), "values": ("values frozen at $V^*$", RED, "--")}
IN_TIME = r"$T/T^*$"


class Law(NamedTuple):
    """A quantity of Theorem 3.1: how to read it, its derived law, the power of T, and what its panels say."""

    measured: Callable[[xr.Dataset], xr.DataArray]
    derived: Callable[[xr.Dataset], xr.DataArray]
    power: float
    symbol: str
    words: str
    band: tuple[float, float]
    shown: tuple[float, float]
    title: str


def _score_law(data: xr.Dataset) -> xr.DataArray:
    """D√((D - K)/(2a_κη‖V*‖²T)): ‖S - S*‖ = Dδ/√(K(D - K)) with the late δ."""
    task = task_of(data)
    return task.tokens * late_mass(task, positive(data.step)) / np.sqrt(task.support * (task.tokens - task.support))


LAWS = (
    Law(lambda d: d.score_error, _score_law, -0.5, r"$\|S-S^*\|_F$",
        r"$D\sqrt{(D-K)/(2a_\kappa\eta\|V^*\|_F^2T)}$", (0.97, 1.03), (0.0, 1.2), "scores"),
    Law(lambda d: abs(d.value - 1), lambda d: d.odds, -0.5, r"$|C_1-1|=\|W_V-V^*\|_F/\|V^*\|_F$",
        r"the odds $o=\delta/(Kp)$ of the same run", (0.98, 1.02), (0.0, 1.2), "values"),
    Law(lambda d: d.excess, late_excess, -1.0, r"$\mathcal{L}-\mathcal{L}_{opt}$",
        r"$KD(D-K)/(4\eta T)$", (0.99, 1.02), (0.9, 1.2), "excess loss"),
)  # fmt: skip
JUDGED = 1e3
"""Where the constants are judged, in units of T*."""
ROUNDING = 1e-9
"""Below this an error is none: with frozen attention the identity has C_1 = 1."""


def late(data: xr.Dataset) -> Figure:
    """Above the rates with their slopes, below every run over its derived law."""
    figure, axes = panels(6, rows=2, width=5.4, height=4.9)
    for rate, constant, quantity in zip(axes[:3], axes[3:], LAWS, strict=True):
        _rates(rate, data, quantity)
        _constants(constant, data, quantity)
    return figure


def _cells(data: xr.Dataset, frozen: str) -> list[tuple[str, xr.Dataset]]:
    if frozen not in labels_of(data, "frozen"):
        return []
    return [(size, data.sel(frozen=frozen, size=size)) for size in labels_of(data, "size")]


def _lines(ax: Axes, cell: xr.Dataset, values: xr.DataArray, label: str | None, color: str, **style: Any) -> None:
    """One line an activation and seed, over T/T*."""
    flat = positive(values).stack(run=("negative_slope", "seed"))  # pyright: ignore[reportAttributeAccessIssue]
    times = positive(multiples(cell)).stack(run=("negative_slope", "seed"))  # pyright: ignore[reportAttributeAccessIssue]
    for i in range(flat.sizes["run"]):
        how = {"linewidth": 1.3, "alpha": 0.85, **style}
        ax.plot(times.isel(run=i), flat.isel(run=i), color=color, label=label if i == 0 else None, **how)


def _plain(size: str) -> str:
    return size.replace("‖V*‖²", r"$\|V^*\|_F^2$")


def _rates(ax: Axes, data: xr.Dataset, quantity: Law) -> None:
    tops = []
    for i, (size, cell) in enumerate(_cells(data, INTACT)):
        values = quantity.measured(cell)
        found = slope_of(values, cell)
        words = _plain(size) + (f": slope {found}" if found else "")
        _lines(ax, cell, values, words, colour(i))
        derived = quantity.derived(cell).isel(seed=0, negative_slope=-1)
        label = f"derived: {quantity.words}" if i == 0 else None
        ax.plot(positive(multiples(cell).isel(seed=0, negative_slope=-1)), positive(derived), label=label, **DERIVED)
        tops.append(ends(values.where(cell.step > 0)))
    # one size is enough to see that the controls do not follow
    for name, (words, color, style) in FROZEN.items():
        for _, cell in _cells(data, name)[-1:]:
            values = quantity.measured(cell)
            values = values.where((values > ROUNDING) & (cell.step > 0))
            if np.isfinite(values).any():
                _lines(ax, cell, values, f"control: {words}", color, linestyle=style)
    span, tops = ends(multiples(data)), [top for top in tops if top]
    if span is not None and tops:
        start = 1.6 * max(top[1] for top in tops)
        anchored(ax, np.asarray(span), start, quantity.power, rf"paper: $\propto T^{{{quantity.power:g}}}$")
    log_x(ax, f"time {IN_TIME}")
    log_y(ax)
    ax.set_ylabel(quantity.symbol)
    ax.set_title(f"rate of the {quantity.title}, all activations", fontsize=10)
    legend(ax, 1)


def _constants(ax: Axes, data: xr.Dataset, quantity: Law) -> None:
    """Measured over derived: 1 for all cells, if the constant does not depend on anything else."""
    for i, (size, cell) in enumerate(_cells(data, INTACT)):
        _lines(ax, cell, quantity.measured(cell) / quantity.derived(cell), _plain(size), colour(i))
    bottom, top = quantity.shown
    for name, (words, color, style) in FROZEN.items():
        for j, (_, cell) in enumerate(_cells(data, name)):
            ratio = quantity.measured(cell) / quantity.derived(cell)
            inside = bool(((ratio > bottom) & (ratio < top)).any())
            shown = f"control: {words}" if j == 0 and inside else None
            _lines(ax, cell, ratio.where(ratio > ROUNDING), shown, color, linestyle=style, linewidth=0.8, alpha=0.5)
    ax.axhline(1.0, label=f"derived: {quantity.words}", **DERIVED)
    low, high = quantity.band
    ax.plot([JUDGED, JUDGED], [low, high], color="black", linewidth=4, alpha=0.5, solid_capstyle="butt",
            label=rf"claimed at $10^3T^*$: [{low:g}, {high:g}]")  # fmt: skip
    log_x(ax, f"time {IN_TIME}")
    ax.set_ylim(bottom, top)
    ax.set_ylabel(f"{quantity.title}: measured / derived")
    ax.set_title(f"constant of the {quantity.title}: one for all sizes, $\\kappa$, $V^*$", fontsize=10)
    legend(ax, 2)


class Power(NamedTuple):
    """A quantity with its printed and its corrected power of D."""

    measured: Callable[[xr.Dataset], xr.DataArray]
    symbol: str
    printed: float
    corrected: float


POWERS = (
    Power(lambda d: at_fixed_time(d).mass / d.support_count, "$1/K-p$", 2.0, 1.0),
    Power(lambda d: at_fixed_time(d).score_error, r"$\|S-S^*\|_F$", 2.5, 1.5),
    Power(lambda d: at_fixed_time(d).value_error, r"$\|W_V-V^*\|_F/\|V^*\|_F$", 2.0, 1.0),
    Power(lambda d: at_fixed_time(d).excess, r"$\mathcal{L}-\mathcal{L}_{opt}$", 4.0, 2.0),
    Power(lambda d: passage(d) * d.eta, rf"$\eta T_\epsilon$, $\epsilon$ = {EPSILON:g}, $\xi$ = {MOMENT:g}", 6.0, 4.0),
)


def dimension(data: xr.Dataset) -> Figure:
    """Every late quantity against D at one ηT, with the printed and the corrected power, and all exponents."""
    figure, axes = panels(6, rows=2, width=5.0, height=4.7)
    D = data.tokens.values.astype(float)
    summary = axes[-1]
    for i, (ax, power) in enumerate(zip(axes, POWERS, strict=False)):
        values = power.measured(data).transpose("negative_slope", "seed", "tokens").values
        places = i + dodge(len(values))
        for j, (_, words, color) in enumerate(by_slope(data)):
            found = fitted(ax, D, values[j], color, words)
            if found is not None:
                summary.plot(places[j], found.value, "o", color=color, markersize=6, label=words if i == 0 else None)
                if j == len(values) - 1:
                    summary.annotate(signed(found.value), (places[j], found.value), (5, -3), fontsize=8,
                                     textcoords="offset points")  # fmt: skip
        finite = np.where(np.isfinite(values), values, np.nan)
        law(ax, D, finite, D**power.printed, rf"paper: $\propto D^{{{power.printed:g}}}$")
        law(ax, D, finite, D**power.corrected, rf"corrected: $\propto D^{{{power.corrected:g}}}$", **DERIVED)
        between(summary, i, power.printed, "paper" if i == 0 else None)
        between(summary, i, power.corrected, "corrected" if i == 0 else None, **DERIVED)
        numbers(ax, D, "tokens $D$")
        log_y(ax)
        ax.set_ylabel(power.symbol)
        where = (
            rf"at $\eta T = 10^{{{np.log10(READ_AT):g}}}$"
            if power is not POWERS[-1]
            else "first passage of the bound B"
        )
        ax.set_title(where, fontsize=10)
        legend(ax, 1)
    short = ("$1/K-p$", r"$\|S-S^*\|$", r"$\|W_V-V^*\|$", "excess", r"$T_\epsilon$")
    names(summary, short)
    summary.set_ylabel("exponent of $D$")
    *first, last = (f"{power.printed - power.corrected:g}" for power in POWERS)
    summary.set_title(f"printed powers are too large by {', '.join(first)} and {last}", fontsize=10)
    summary.set_ylim(0, 6.6)
    legend(summary, 2)
    return figure

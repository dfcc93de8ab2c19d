"""How the end of the second phase scales (P17), and how fast the score escapes from 1/D on the way (C2, 9.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import PREDICTED, dodge, labels_of, log_y, panels
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import slow_rate
from lemmata.theories.teacher_student.figures import (
    CLAIM,
    DERIVED,
    NAMED,
    accept,
    between,
    by_slope,
    fitted,
    law,
    legend,
    level,
    log_x,
    names,
    numbers,
    scalar_task,
    signed,
)
from lemmata.theories.teacher_student.gaussian import mean_square_slope


class Sweep(NamedTuple):
    """A part of the axis `variant` of p17-escape: which labels, over what, and the law of the paper."""

    belongs: Callable[[str], bool]
    x: Callable[[xr.Dataset], Any]
    words: str
    printed: float
    formula: str
    title: str


SWEEPS = (
    Sweep(lambda s: s.startswith("λ="), lambda d: np.sqrt(d.squared_norm), r"$\|V^*\|_F$ of $\lambda V^*$",
          -1.0, r"(\sum\|v_m^*\|)^{-1}", "scale of the teacher's values"),
    Sweep(lambda s: s.startswith("M="), lambda d: d.row_norms, r"$\sum\|v_m^*\|$ = $M$, unit rows",
          -1.0, r"(\sum\|v_m^*\|)^{-1}", "number of unit rows"),
    Sweep(lambda s: s.startswith("η="), lambda d: d.eta, r"step size $\eta$", -1.0, r"\eta^{-1}", "step size"),
    Sweep(lambda s: s.endswith("K=D/20"), lambda d: d.token_count, "tokens $D$ at fixed $D/K$",
          3.0, r"KD^2\propto D^3", "tokens at fixed $D/K$"),
    Sweep(lambda s: s.endswith("K=1"), lambda d: d.token_count, "tokens $D$ at $K=1$", 2.0, "D^2",
          "tokens at fixed $K$"),
)  # fmt: skip


def escape(data: xr.Dataset) -> Figure:
    """T* against everything that is swept: fitted exponents, the paper's, and the quadrature."""
    figure, axes = panels(6, rows=2, width=5.0, height=4.7)
    for ax, sweep in zip(axes, SWEEPS, strict=False):
        labels = [label for label in labels_of(data, "variant") if sweep.belongs(label)]
        if not labels:
            ax.set_axis_off()
            continue
        _escapes(ax, data.sel(variant=labels), sweep)
    _prefactor(axes[-1], data)
    return figure


def _estimate(cell: xr.Dataset) -> float:
    """T* by quadrature on the slow manifold."""
    task = scalar_task(cell)
    return escape_integral(task) / task.step_size


def _escapes(ax: Axes, data: xr.Dataset, sweep: Sweep) -> None:
    x = np.asarray(sweep.x(data.isel(seed=0, negative_slope=0)), float)
    order = np.argsort(x)
    data, x = data.isel(variant=order), x[order]
    times = data.escape_step.transpose("negative_slope", "seed", "variant").values
    estimates = [[_estimate(cells.isel(variant=j)) for j in range(x.size)] for cells, _, _ in by_slope(data)]
    for i, (_, words, color) in enumerate(by_slope(data)):
        fitted(ax, x, times[i], color, words)
    for i, found in enumerate(estimates):
        powers = np.diff(np.log(found)) / np.diff(np.log(x))
        name = next(iter(by_slope(data)))[1]
        words = "derived: quadrature" + (f" ({name}: exponent {signed(powers.mean())})" if powers.size else "")
        ax.plot(x, found, label=words if i == 0 else None, **DERIVED)
    law(ax, x, np.where(np.isfinite(times), times, np.nan), x**sweep.printed, rf"paper: $\propto {sweep.formula}$")
    numbers(ax, x, sweep.words)
    log_y(ax)
    ax.set_ylabel("$T^*$, first step with $p\\geq1/(2K)$")
    ax.set_title(f"end of phase 2 by {sweep.title}", fontsize=10)
    legend(ax, 1)


def _prefactor(ax: Axes, data: xr.Dataset) -> None:
    """T* in its unit against D/K, all sweeps together: the function φ of P17."""
    for i, (cells, words, color) in enumerate(by_slope(data.isel(seed=0))):
        ratio = (cells.token_count / cells.support_count).values
        unit = (cells.separation * cells.eta).values
        reached = cells.escape_step.where(np.isfinite(cells.escape_step)).values
        ax.plot(ratio, reached * unit, "o", color=color, markersize=5, alpha=0.7, label=words)
        order = np.argsort(ratio)
        found = [_estimate(cells.isel(variant=int(j))) * unit[j] for j in order]
        label = r"derived: quadrature, $\phi(D/K,\kappa)$" if i == 0 else None
        ax.plot(ratio[order], found, label=label, **DERIVED)
        kappa = float(cells.slope.isel(variant=0))
        label = r"its limit: 1 (identity), $1/(1+\kappa^2)$" if i == 0 else None
        ax.axhline(1.0 if kappa == 1 else 1 / (1 + kappa**2), label=label, **CLAIM)
    numbers(ax, data.token_count / data.support_count, "$D/K$")
    ax.set_ylim(0, ax.get_ylim()[1])
    ax.set_ylabel(r"$\eta\|V^*\|_F^2\,T^*/(KD^2)$")
    ax.set_title(r"paper: $T^*=\Theta(KD^2/(\eta\|V^*\|_F^2))$, all runs", fontsize=10)
    legend(ax, 1)


BELOW, ABOVE, FIRST, LATE = "1.9/D", "2.1/D", "1.1/D", "0.4/K"
"""Levels of p: on both sides of 2/D, just after the start, and late in the escape."""
CUBIC, QUADRATIC = 3.0, 2.0


def phases(data: xr.Dataset) -> Figure:
    """How the speed of the escape depends on p: its local exponent, and its size at the start and late."""
    figure, axes = panels(4, rows=2, width=6.0, height=4.4)
    sizes = labels_of(data, "size")
    data = data.isel(seed=0).assign(slope=data.negative_slope)
    _speeds(axes[0], data.sel(size=sizes[0]), sizes[0])
    _exponents(axes[1], data)
    _starts(axes[2], data)
    _second_half(axes[3], data)
    for ax in axes:
        legend(ax)
    return figure


def _speeds(ax: Axes, data: xr.Dataset, size: str) -> None:
    """dp/dt over p with the slow manifold, and the powers 3 and 2 from the first level on."""
    for i, (cell, words, color) in enumerate(by_slope(data)):
        task = scalar_task(cell)
        scale = task.step_size * task.strength / task.support
        ax.plot(cell.score, cell.rate / scale, "o", color=color, markersize=6, label=f"{words}, continuous limit")
        p = np.geomspace(1.02 / task.tokens, 0.9 / task.support, 200)
        label = "derived: slow manifold (6.1)" if i == 0 else None
        ax.plot(p, slow_rate(task, p) / scale, label=label, **DERIVED)
        span = p[p <= 2 / np.sqrt(task.tokens * task.support)]
        label = r"paper: $\dot p\propto p^3$" if i == 0 else None
        ax.plot(span, float(cell.rate.sel(level=FIRST)) / scale * (span / (1.1 / task.tokens)) ** CUBIC, label=label,
                **PREDICTED)  # fmt: skip
    log_x(ax, "score $p$ on the supports")
    log_y(ax)
    ax.set_ylabel(r"$K\dot p/(\eta\|V^*\|_F^2)$")
    ax.set_title(f"speed of the escape, {size}: cubic for the identity alone", fontsize=10)


def _places(data: xr.Dataset) -> Any:
    """All cells beside each other: place, cell, its size, and the name and colour of its activation."""
    count = data.sizes["negative_slope"]
    for i, size in enumerate(labels_of(data, "size")):
        for (cell, words, color), shift in zip(by_slope(data.sel(size=size)), dodge(count), strict=True):
            yield i + shift, cell, i, words, color


def _mark(ax: Axes, place: float, value: float, first: bool, words: str, color: str) -> None:
    ax.plot(place, value, "o", color=color, markersize=7, label=words if first else None)
    ax.annotate(signed(value), (place, value), (0, 7), textcoords="offset points", ha="center", fontsize=8)


def _exponents(ax: Axes, data: xr.Dataset) -> None:
    """d ln(dp/dt) / d ln p at p = 2/D."""

    def exponent(below: Any, above: Any, p: Any) -> float:
        return float(np.log(above / below) / np.log(p.sel(level=ABOVE) / p.sel(level=BELOW)))

    for place, cell, i, words, color in _places(data):
        p = cell.score
        _mark(ax, place, exponent(cell.rate.sel(level=BELOW), cell.rate.sel(level=ABOVE), p), i == 0, words, color)
        below, above = (slow_rate(scalar_task(cell), float(p.sel(level=at))) for at in (BELOW, ABOVE))
        first = i == 0 and words == NAMED[1.0][0]
        between(ax, place, exponent(below, above, p), "derived: slow manifold" if first else None, half=0.09, **DERIVED)
    ax.axhline(CUBIC, label="paper: cubic, 3", **PREDICTED)
    level(ax, QUADRATIC, r"derived for $\kappa<1$, $D\gg K$: quadratic, 2")
    ax.set_ylim(1.7, 3.3)
    names(ax, labels_of(data, "size"), "size of the problem, $K=1$")
    ax.set_ylabel(r"$d\ln\dot p/d\ln p$ at $p=2/D$")
    ax.set_title("local exponent of the escape", fontsize=10)


def _starts(ax: Axes, data: xr.Dataset) -> None:
    """K dp/dt / (η‖V*‖² p³) just after the start: a constant, if the escape were cubic with an absolute constant."""
    for cells, words, color in by_slope(data):
        found = [cells.sel(size=size) for size in labels_of(data, "size")]
        tasks = [scalar_task(cell) for cell in found]
        D = np.array([task.tokens / task.support for task in tasks])
        unit = [t.step_size * t.strength / t.support * float(c.score.sel(level=FIRST)) ** 3
                for t, c in zip(tasks, found, strict=True)]  # fmt: skip
        y = np.array([float(c.rate.sel(level=FIRST)) / u for c, u in zip(found, unit, strict=True)])
        slow = [slow_rate(t, float(c.score.sel(level=FIRST))) / u for t, c, u in zip(tasks, found, unit, strict=True)]
        grown = f": grows {y[-1] / y[0]:.2f}-fold" if y.size > 1 else ""
        ax.plot(D, y, "o-", color=color, label=words + grown)
        ax.plot(D, slow, label="derived: slow manifold" if words == NAMED[1.0][0] else None, **DERIVED)
        ax.plot(D, np.full(D.size, y[0]), label="paper: constant" if words == NAMED[1.0][0] else None, **PREDICTED)
    numbers(ax, [scalar_task(cell).tokens / scalar_task(cell).support for _, cell, *_ in _places(data)], "$D/K$")
    ax.set_ylim(0, 1.1 * ax.get_ylim()[1])
    ax.set_ylabel(r"$K\dot p/(\eta\|V^*\|_F^2p^3)$ at $p=1.1/D$")
    ax.set_title(r"is $\dot p\leq c\,\eta\|V^*\|_F^2p^3/K$ with one $c$?", fontsize=10)


def _second_half(ax: Axes, data: xr.Dataset) -> None:
    """The speed late in the escape over the derived law."""
    for place, cell, i, words, color in _places(data):
        task = scalar_task(cell)
        p = float(cell.score.sel(level=LATE))
        unit = task.step_size * task.strength * (1 - task.support * p) ** 3 / (task.support**3 * task.tokens**2 * p)
        factor = 1.0 if task.slope == 1 else mean_square_slope(task.slope)
        _mark(ax, place, float(cell.rate.sel(level=LATE)) / (factor * unit), i == 0, words, color)
    ax.axhline(1.0, label=r"derived: $\eta\|V^*\|_F^2\delta^3/(K^3D^2p)\times$(1 or $a_\kappa$)", **DERIVED)
    accept(ax, 0.95, 1.05, "claimed at the smaller $D$: within 5 %")
    ax.set_ylim(0.8, 1.2)
    names(ax, labels_of(data, "size"), "size of the problem, $K=1$")
    ax.set_ylabel(r"$\dot p$ at $p=0.4/K$ over the derived law")
    ax.set_title("second half of the escape", fontsize=10)

"""How the end of the second phase scales (P17), and how fast the score escapes from 1/D on the way (C2, 9.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import slow_rate
from lemmata.theories.teacher_student.experiments import SWEEPS
from lemmata.theories.teacher_student.figures import SCORE, activations, scalar_task
from lemmata.theories.teacher_student.gaussian import mean_square_slope


class Sweep(NamedTuple):
    """One of the sweeps of p17-escape: over which variable, and the law of the paper."""

    over: str
    words: str
    printed: float
    formula: str
    title: str


SHOWN = {
    "norm": Sweep("norm", r"$\|V^*\|_F$ of $\lambda V^*$", -1.0, r"(\sum\|v_m^*\|)^{-1}", "scale of the values"),
    "rows": Sweep("row_norms", r"$\sum\|v_m^*\|$ = $M$, unit rows", -1.0, r"(\sum\|v_m^*\|)^{-1}", "unit rows"),
    "step": Sweep("eta", r"step size $\eta$", -1.0, r"\eta^{-1}", "step size"),
    "ratio": Sweep("token_count", "tokens $D$ at $D/K=20$", 3.0, r"KD^2\propto D^3", "tokens at fixed $D/K$"),
    "dimension": Sweep("token_count", "tokens $D$ at $K=1$", 2.0, "D^2", "tokens at fixed $K$"),
}


def escape(data: xr.Dataset) -> Figure:
    """T* against everything that is swept: fitted exponents, the paper's, and the quadrature."""
    figure, axes = draw.panels(6, rows=2, width=5.0, height=4.6)
    data = activations(data.assign(norm=np.sqrt(data.squared_norm)))
    estimate = xr.full_like(data.eta.isel(seed=0, drop=True), np.nan)
    for cell in np.ndindex(estimate.shape):
        task = scalar_task(data.isel(dict(zip(estimate.dims, cell, strict=True))))
        estimate[cell] = escape_integral(task) / task.step_size
    for ax, (name, sweep) in zip(axes, SHOWN.items(), strict=False):
        labels = draw.present(data, "variant", list(SWEEPS[name]))
        if labels:
            _escapes(ax, data.sel(variant=labels), estimate.sel(variant=labels), sweep)
        else:
            ax.set_axis_off()
    _prefactor(axes[-1], data, estimate)
    return figure


def _escapes(ax: Axes, data: xr.Dataset, estimate: xr.DataArray, sweep: Sweep) -> None:
    x = data[sweep.over].isel(seed=0, activation=0).values
    times = data.escape_step
    draw.curves(ax, times, "variant", "activation", x=x, linestyle="none")
    for i, words in enumerate(draw.labels_of(data, "activation")):
        rows = times.sel(activation=words).transpose("seed", "variant").values
        draw.fit(ax, x, rows, draw.look(i).color, f"fit, {words}")
        draw.corrected(ax, estimate.isel(activation=i), "derived: quadrature" if i == 0 else None, x)
    finite = times.where(np.isfinite(times)).transpose(..., "variant").values
    draw.law(ax, x, finite, x**sweep.printed, rf"paper: $\propto {sweep.formula}$")
    draw.numbers(ax, x)
    draw.log_y(ax)
    title, y = f"end of phase 2 by {sweep.title}", r"$T^*$, first step with $p\geq1/(2K)$"
    draw.finish(ax, title, y, sweep.words, legend=1)


def _prefactor(ax: Axes, data: xr.Dataset, estimate: xr.DataArray) -> None:
    """T* in its unit against D/K, all sweeps together: the function φ of P17."""
    data = data.isel(seed=0)
    unit, ratio = data.separation * data.eta, data.token_count / data.support_count
    for i, words in enumerate(draw.labels_of(data, "activation")):
        cells = {"activation": words}
        order = np.argsort(ratio.sel(cells).values)
        x, kind, kappa = ratio.sel(cells).values, draw.look(i), float(data.negative_slope[i])
        scaled = (data.escape_step * unit).sel(cells)
        ax.plot(x, scaled.where(np.isfinite(scaled)), kind.marker, color=kind.color, alpha=0.7, label=words)
        first = i == 0
        curve = (estimate * unit).sel(cells).values
        draw.corrected(ax, curve[order], r"derived: quadrature, $\phi(D/K,\kappa)$" if first else None, x[order])
        limit = 1.0 if kappa == 1 else 1 / (1 + kappa**2)
        draw.corrected(ax, limit, r"its limit: 1 (identity), $1/(1+\kappa^2)$" if first else None, linestyle=":")
    draw.numbers(ax, ratio)
    draw.from_zero(ax)
    title = r"paper: $T^*=\Theta(KD^2/(\eta\|V^*\|_F^2))$, all runs"
    draw.finish(ax, title, r"$\eta\|V^*\|_F^2\,T^*/(KD^2)$", "$D/K$", legend=1)


BELOW, ABOVE, FIRST, LATE = "1.9/D", "2.1/D", "1.1/D", "0.4/K"
"""Levels of p: on both sides of 2/D, just after the start, and late in the escape."""


def phases(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """How the speed of the escape depends on p: its local exponent, and its size at the start and late."""
    figure, (speed, exponent, start, late) = draw.panels(4, rows=2, width=5.8, height=4.3)
    data = activations(data.isel(seed=[0]))
    K, M = data.support_count, data.squared_norm
    scaled = K * data.rate / (data.eta * M)
    _speeds(speed, data, scaled)

    local = np.log(scaled.sel(level=ABOVE) / scaled.sel(level=BELOW)) / np.log(2.1 / 1.9)
    draw.groups(exponent, local, "size", "activation")
    draw.predicted(exponent, 3.0, "paper: cubic, 3")
    draw.corrected(exponent, 2.0, r"derived for $\kappa<1$, $D\gg K$: quadratic, 2")
    draw.claimed(exponent, claims["c2-escape-identity"], words="claimed, identity, D = 400")
    draw.claimed(exponent, claims["c2-escape-corrected"], words="claimed, other, D = 400")
    exponent.set_ylim(1.7, 3.3)
    draw.finish(exponent, "local exponent of the escape", r"$d\ln\dot p/d\ln p$ at $p=2/D$", "size, $K=1$")

    cubic = scaled.sel(level=FIRST) / data.score.sel(level=FIRST) ** 3
    x = (data.token_count / K).isel(activation=0, seed=0).values
    grown = [f"{cubic.values[-1, i, 0] / cubic.values[0, i, 0]:.2f}" for i in range(data.sizes["activation"])]
    draw.curves(start, cubic, "size", "activation", "{}, measured", x=x)
    draw.predicted(start, float(cubic.isel(size=0).max()), "paper: constant in $D/K$")
    draw.numbers(start, x)
    draw.from_zero(start)
    title = rf"is $\dot p\leq c\,\eta\|V^*\|_F^2p^3/K$? it grows {', '.join(grown)}-fold"
    draw.finish(start, title, r"$K\dot p/(\eta\|V^*\|_F^2p^3)$ at $p=1.1/D$", "$D/K$")

    p = data.score.sel(level=LATE)
    law = (1 - K * p) ** 3 / (K**2 * data.token_count**2 * p) * mean_square_slope(data.negative_slope)
    draw.groups(late, scaled.sel(level=LATE) / law, "size", "activation")
    draw.corrected(late, 1.0, r"derived: $\eta\|V^*\|_F^2\,a_\kappa\delta^3/(K^3D^2p)$")
    draw.claimed(late, claims["c2-second-half"], words="claimed at $D$ = 400")
    late.set_ylim(0.8, 1.2)
    draw.finish(late, "second half of the escape", r"$\dot p$ at $p=0.4/K$ over the derived law", "size, $K=1$")
    return figure


def _speeds(ax: Axes, data: xr.Dataset, scaled: xr.DataArray) -> None:
    """dp/dt over p with the slow manifold, and the power 3 from the first level on; the smallest problem."""
    size = draw.labels_of(data, "size")[0]
    for i, words in enumerate(draw.labels_of(data, "activation")):
        cell, kind = data.sel(size=size, activation=words), draw.look(i)
        task = scalar_task(cell.assign(slope=cell.negative_slope))
        speed = scaled.sel(size=size, activation=words).isel(seed=0)
        order = np.argsort(cell.score.isel(seed=0).values)
        ax.plot(cell.score.isel(seed=0)[order], speed[order], kind.marker, color=kind.color, label=f"{words}, measured")
        p = np.geomspace(1.02 / task.tokens, 0.9 / task.support, 200)
        slow = slow_rate(task, p) * task.support / (task.step_size * task.strength)
        draw.corrected(ax, slow, "derived: slow manifold" if i == 0 else None, p, color=kind.color)
        span = p[p <= 2 / np.sqrt(task.tokens * task.support)]
        cubic = float(speed.sel(level=FIRST)) * (span * task.tokens / 1.1) ** 3
        draw.predicted(ax, cubic, r"paper: $\dot p\propto p^3$" if i == 0 else None, span)
    draw.log_x(ax)
    draw.log_y(ax)
    title = f"speed of the escape, {size}: cubic for the identity alone"
    draw.finish(ax, title, r"$K\dot p/(\eta\|V^*\|_F^2)$", SCORE)

"""Late times (Theorem 3.1): the rates of scores, values and loss, their constants, and their powers of D."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.figures import activations, exponent_of, extent, slope_beside
from lemmata.theories.teacher_student.measures import (
    EPSILON,
    MOMENT,
    QUANTITIES,
    READ_AT,
    at_fixed_time,
    multiples,
    passage,
)
from lemmata.theories.teacher_student.theorem import OVER_LAW

CONTROLS = {"attention": ("attention frozen", draw.GREY, ":"), "values": ("values frozen at $V^*$", draw.PURPLE, "--")}
TIME = r"time $T/T^*$"
ROUNDING = 1e-9
"""Below this an error is none: with frozen attention the identity has C_1 = 1."""


class Law(NamedTuple):
    """A part of Theorem 3.1: which quantity, over which law, the power of T, and what its panels say."""

    quantity: str
    over: str
    power: float
    symbol: str
    words: str
    claim: str


LAWS = {
    "scores": Law(
        "score_error", "scores", -0.5, r"$\|S-S^*\|_F$", r"$D\sqrt{(D-K)/(2a_\kappa\eta\|V^*\|_F^2T)}$", "t1"
    ),
    "values": Law("value_error", "values", -0.5, r"$\|W_V-V^*\|_F/\|V^*\|_F$", r"the odds $\delta/(Kp)$", "t2"),
    "excess loss": Law("excess", "excess", -1.0, r"$\mathcal{L}-\mathcal{L}_{opt}$", r"$KD(D-K)/(4\eta T)$", "t3"),
}


def late(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Above the rates with their exponents, below every run over its derived law."""
    figure, axes = draw.panels(6, rows=2, width=5.3, height=4.3)
    for rate, constant, (title, law) in zip(axes[:3], axes[3:], LAWS.items(), strict=True):
        _rates(rate, data, title, law)
        _constants(constant, data, title, law, claims[f"{law.claim}-constant"])
    return figure


def _of(data: xr.Dataset, frozen: str, values: xr.DataArray) -> xr.DataArray | None:
    """The values of the cells with this frozen, over runs: activations and seeds as one dimension of seeds."""
    if frozen not in draw.labels_of(data, "frozen"):
        return None
    return draw.positive(values.sel(frozen=frozen).where(values.sel(frozen=frozen) > ROUNDING))


def _controls(ax: Axes, data: xr.Dataset, values: xr.DataArray) -> None:
    """One size is enough to see that the controls do not follow."""
    for name, (words, color, style) in CONTROLS.items():
        cells = _of(data.isel(size=[-1]), name, values.isel(size=[-1]))
        if cells is not None and np.isfinite(cells).any():
            clock = draw.positive(multiples(data.isel(size=-1).sel(frozen=name)))
            how = {"clock": clock, "spread": "", "linestyle": style, "linewidth": 1.8}
            draw.paths(ax, data, cells.isel(size=0), label=f"control: {words}", color=color, **how)


def _rates(ax: Axes, data: xr.Dataset, title: str, law: Law) -> None:
    values = QUANTITIES[law.quantity](data).where(data.step > 0)
    intact, clock = _of(data, "none", values), draw.positive(multiples(data))
    exponent = "none"
    if intact is not None:
        cells = data.sel(frozen="none")
        exponent = exponent_of(intact, cells)
        draw.paths(ax, cells, intact, "size", "", clock=clock.sel(frozen="none"), spread="")
        top, span = extent(intact), extent(clock)
        if top and span:
            slope_beside(ax, span, 1.6 * top[1], law.power, rf"paper: $\propto T^{{{law.power:g}}}$")
    _controls(ax, data, values)
    draw.log_x(ax)
    draw.log_y(ax)
    draw.finish(ax, f"rate of the {title}: exponents {exponent}", law.symbol, TIME, legend=1)


def _constants(ax: Axes, data: xr.Dataset, title: str, law: Law, claim: lm.Claim) -> None:
    """Measured over derived: 1 for all cells, if the constant does not depend on anything else."""
    values = OVER_LAW[law.over](data).where(data.step > 0)
    intact, clock = _of(data, "none", values), draw.positive(multiples(data))
    if intact is not None:
        draw.paths(ax, data, intact, "size", "{}", clock=clock.sel(frozen="none"))
    draw.corrected(ax, 1.0, f"derived: {law.words}")
    draw.claimed(ax, claim, words=r"claimed at $10^3T^*$")
    _controls(ax, data, values)
    draw.log_x(ax)
    ax.set_ylim(0.85, 1.15)
    draw.finish(ax, f"constant of the {title}: one for all sizes, κ, $V^*$", "measured / derived", TIME)


POWERS = {
    "p18": ("off_support", "$1/K-p$"),
    "t1": ("score_error", r"$\|S-S^*\|_F$"),
    "t2": ("value_error", r"$\|W_V-V^*\|_F/\|V^*\|_F$"),
    "t3": ("excess", r"$\mathcal{L}-\mathcal{L}_{opt}$"),
    "t4-epsilon": ("epsilon", rf"$\eta T_\epsilon$, $\epsilon$ = {EPSILON:g}, $\xi$ = {MOMENT:g}"),
}


def dimension(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Every late quantity against D at one ηT, with the printed and the corrected power, and all exponents."""
    figure, (*axes, summary) = draw.panels(6, rows=2, width=5.0, height=4.5)
    data = activations(data)
    D, kinds = data.tokens.values.astype(float), draw.labels_of(data, "activation")
    for i, (ax, (row, (quantity, symbol))) in enumerate(zip(axes, POWERS.items(), strict=True)):
        values = passage(data) * data.eta if quantity == "epsilon" else QUANTITIES[quantity](at_fixed_time(data))
        printed, right = (claims[f"{row}-dimension{end}"].judge.predicted for end in ("", "-corrected"))  # pyright: ignore[reportFunctionMemberAccess]
        draw.curves(ax, values, "tokens", "activation", linestyle="none")
        for j, words in enumerate(kinds):
            rows = values.sel(activation=words).transpose("seed", "tokens").values
            draw.fit(ax, D, rows, draw.look(j).color, f"fit, {words}")
        exponents = lm.log_slopes(values, "tokens")
        for j, place in enumerate(i + draw.dodge(len(kinds))):
            kind, shown = draw.look(j), kinds[j] if i == 0 else None
            draw.strip(summary, place, exponents.isel(activation=j), kind.color, shown, marker=kind.marker, width=0.05)
        finite = values.where(np.isfinite(values)).transpose(..., "tokens").values
        draw.law(ax, D, finite, D**printed, rf"paper: $\propto D^{{{printed:g}}}$")
        draw.law(ax, D, finite, D**right, rf"corrected: $\propto D^{{{right:g}}}$", **draw.CORRECTED)
        draw.predicted(summary, printed, "paper" if i == 0 else None, at=i)
        draw.corrected(summary, right, "corrected" if i == 0 else None, at=i)
        draw.numbers(ax, D)
        draw.log_y(ax)
        where = (
            "first passage of the bound B" if quantity == "epsilon" else rf"at $\eta T = 10^{{{np.log10(READ_AT):g}}}$"
        )
        draw.finish(ax, where, symbol, "tokens $D$", legend=1)
    draw.names(summary, ["$1/K-p$", r"$\|S-S^*\|$", r"$\|W_V-V^*\|$", "excess", r"$T_\epsilon$"])
    summary.set_ylim(0, 6.6)
    draw.finish(summary, "powers of $D$: fitted, printed and corrected", "exponent of $D$", "quantity")
    return figure

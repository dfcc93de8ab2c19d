"""Late times (Theorem 3.1): the rates of scores, values and loss, their constants, and their powers of D."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student import measures
from lemmata.theories.teacher_student.figures import EXCESS, IN_TIME, clock, exponents, loglog, named
from lemmata.theories.teacher_student.measures import excess_law, score_law


class Law(NamedTuple):
    """A quantity of Theorem 3.1: its derived law, its power of T, and the claim about its constant."""

    quantity: str
    derived: Callable[[xr.Dataset], xr.DataArray]
    power: float
    symbol: str
    words: str
    title: str
    constant: str


SCORES, VALUES = r"$\|S-S^*\|_F$", r"$\|W_V-V^*\|_F/\|V^*\|_F$"
SCORE_LAW = r"$D\sqrt{(D-K)/(2a_\kappa\eta\|V^*\|_F^2T)}$"
LAWS = (
    Law("score_error", score_law, -0.5, SCORES, SCORE_LAW, "the scores", "t1-constant"),
    Law("value_error", lambda data: data.odds, -0.5, VALUES, r"$\delta/(Kp)$ of the run", "the values", "t2-constant"),
    Law("excess", excess_law, -1.0, EXCESS, r"$KD(D-K)/(4\eta T)$", "the excess loss", "t3-constant"),
)
FROZEN = {"attention": ("attention", draw.GREY, ":"), "values": ("values, at $V^*$", draw.RED, "--")}
ROUNDING = 1e-9
"""Below this an error is none: with frozen attention the identity has C_1 = 1."""


def late(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Above the rates, below every run over its derived law at 10³T*."""
    figure, axes = draw.panels(6, rows=2, width=4.5, height=4.4)
    data = named(data)
    for ax, below, law in zip(axes[:3], axes[3:], LAWS, strict=True):
        _rates(ax, data, law)
        _constants(below, data, law)
        draw.claimed(below, claims[law.constant])
        draw.finish(below, f"constant of {law.title} at $10^3T^*$", "measured / derived", "tokens $D$, support $K$")
    return figure


def _runs(ax: Axes, data: xr.Dataset, values: xr.DataArray, label: str, color: str, linestyle: str = "-") -> None:
    """All runs over T/T* alike."""
    pairs = xr.broadcast(clock(data), draw.positive(values))
    x, y = (part.stack(run=[dim for dim in part.dims if dim != "record"]).transpose("record", "run") for part in pairs)
    ax.plot(x, y, color=color, linestyle=linestyle, linewidth=1)[0].set_label(label)


def _rates(ax: Axes, data: xr.Dataset, law: Law) -> None:
    for kind in draw.present(data, "frozen", ["none"]):
        cells = data.sel(frozen=kind)
        values = cells[law.quantity].where(cells.step > 0)
        _runs(ax, cells, values, f"all sizes and $\\kappa$: slope {exponents(values, cells)}", draw.BLUE)
        _runs(ax, cells, law.derived(cells).isel(activation=[-1]), f"derived: {law.words}", draw.ORANGE, "-.")
        x = np.nanquantile(clock(cells), [0, 1])
        y = 2 * float(values.max()) * (x / x[0]) ** law.power
        draw.predicted(ax, y, f"paper: slope {draw.signed(law.power)}", x)
    # one size is enough to see that the controls do not follow
    for kind in draw.present(data, "frozen", list(FROZEN)):
        words, color, style = FROZEN[kind]
        cells = data.sel(frozen=kind).isel(size=[-1])
        values = cells[law.quantity].where((cells[law.quantity] > ROUNDING) & (cells.step > 0))
        if bool(values.notnull().any()):
            _runs(ax, cells, values, f"control: frozen {words}", color, style)
    loglog(ax)
    draw.finish(ax, f"rate of {law.title}", law.symbol, IN_TIME, legend=1)


def _constants(ax: Axes, data: xr.Dataset, law: Law) -> None:
    """Measured over derived: 1 in all cells, if the constant does not depend on anything else."""
    for kind in draw.present(data, "frozen", ["none"]):
        cells = data.sel(frozen=kind)
        draw.groups(ax, lm.at(cells[law.quantity] / law.derived(cells), clock(cells), 1e3), "size", "activation")
        draw.names(ax, [f"{D:g}, {K:g}" for D, K in zip(cells.tokens.values, cells.support.values, strict=True)])
    draw.corrected(ax, 1.0, f"derived: {law.words}")
    ax.set_ylim(0.95, 1.05)


POWERS: dict[str, tuple[str, float, float]] = {
    "mass": ("$1/K-p$", 2.0, 1.0),
    "score_error": (r"$\|S-S^*\|$", 2.5, 1.5),
    "value_error": (r"$\|W_V-V^*\|$", 2.0, 1.0),
    "excess": (r"$\mathcal{L}-\mathcal{L}_{opt}$", 4.0, 2.0),
    "passage": (r"$T_\epsilon$", 6.0, 4.0),
}
"""Late quantities with the printed and the corrected power of D."""


def dimension(data: xr.Dataset) -> Figure:
    """The loss and the passage of B against D, and the exponents of all late quantities."""
    figure, (loss, time, powers) = draw.panels(3, width=4.5, height=4.2)
    data = named(data)
    values = {**measures.at_fixed_time(data), "passage": measures.passage(data) * data.eta}
    _over_tokens(loss, values["excess"], *POWERS["excess"][1:])
    draw.finish(loss, rf"excess loss at $\eta T=10^{{{np.log10(measures.READ_AT):g}}}$", EXCESS)
    _over_tokens(time, values["passage"], *POWERS["passage"][1:])
    level, moment = measures.EPSILON, measures.MOMENT
    draw.finish(time, rf"when the bound B is {level:g}, for moments $\xi$ = {moment:g}", r"$\eta T_\epsilon$")
    fits = lm.stack({name: lm.log_slopes(values[name], "tokens") for name in POWERS}, "quantity")
    words = {name: symbol for name, (symbol, *_) in POWERS.items()}
    draw.groups(powers, fits, "quantity", "activation", "fit, {}", words=words)
    for i, (_, printed, corrected) in enumerate(POWERS.values()):
        draw.predicted(powers, printed, None if i else "paper", at=i)
        draw.corrected(powers, corrected, None if i else "corrected", at=i)
    draw.from_zero(powers, 6.6)
    draw.finish(powers, "powers of $D$: the printed ones are too large", "exponent of $D$")
    return figure


def _over_tokens(ax: Axes, values: xr.DataArray, *powers: float) -> None:
    D: Any = values.tokens.values
    draw.curves(ax, values, "tokens", "activation", middle="geometric")
    for power, words, style in zip(powers, ("paper", "corrected"), ({}, draw.CORRECTED), strict=True):
        law = rf"{words}: $\propto D^{{{power:g}}}$"
        draw.law(ax, D, values.transpose(..., "tokens").values, D**power, law, **style)
    draw.numbers(ax, D, "tokens $D$")
    draw.log_y(ax)

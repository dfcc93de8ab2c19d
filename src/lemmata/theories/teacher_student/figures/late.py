"""How the score escapes and T* scales (P17, C2), and the late times of Theorem 3.1: rates, constants, powers of D."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student import measures
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import slow_rate
from lemmata.theories.teacher_student.figures import EXCESS, IN_TIME, clock, exponents, loglog, named, plain_task
from lemmata.theories.teacher_student.gaussian import mean_square_slope
from lemmata.theories.teacher_student.measures import SWEEPS, excess_law, score_law

SWEPT = {
    "norm": ("norm", r"$\|V^*\|_F$", "the scale of $V^*$", -1.0, r"(\sum\|v_m^*\|)^{-1}"),
    "rows": ("row_norms", r"$\sum\|v_m^*\|=M$", "the number of unit rows", -1.0, r"(\sum\|v_m^*\|)^{-1}"),
    "step": ("eta", r"step size $\eta$", "the step size", -1.0, r"\eta^{-1}"),
    "ratio": ("token_count", "tokens $D$, $D/K=20$", "tokens at fixed $D/K$", 3.0, r"KD^2\propto D^3"),
    "dimension": ("token_count", "tokens $D$, $K=1$", "tokens at fixed $K$", 2.0, "D^2"),
}
"""By sweep of p17-escape: over what it is drawn, what that and the sweep are called, the power and law of the paper."""
PLACES = "size of the problem, $K=1$"
POWERS: dict[str, tuple[str, float, float]] = {
    "mass": ("$1/K-p$", 2.0, 1.0),
    "score_error": (r"$\|S-S^*\|$", 2.5, 1.5),
    "value_error": (r"$\|W_V-V^*\|$", 2.0, 1.0),
    "excess": (r"$\mathcal{L}-\mathcal{L}_{opt}$", 4.0, 2.0),
    "passage": (r"$T_\epsilon$", 6.0, 4.0),
}
"""Late quantities with the printed and the corrected power of D."""


def escape(data: xr.Dataset) -> Figure:
    """T* against everything that is swept: fitted exponents, the paper's, and the quadrature."""
    figure, axes = draw.panels(6, rows=2, width=4.5, height=4.4)
    data = named(data.assign(norm=np.sqrt(data.squared_norm)))
    data = data.assign(quadrature=xr.zeros_like(data.escape_step.isel(seed=0)))
    for cell in np.ndindex(data.quadrature.shape):
        task = plain_task(data.isel(dict(zip(data.quadrature.dims, cell, strict=True))))
        data.quadrature.values[cell] = escape_integral(task) / task.step_size
    for ax, (name, sweep) in zip(axes, SWEPT.items(), strict=False):
        labels = draw.present(data, "variant", list(SWEEPS[name]))
        if labels:
            _times(ax, data.sel(variant=labels), *sweep)
        else:
            ax.set_axis_off()
    _prefactor(axes[-1], data)
    return figure


def _times(ax: Axes, data: xr.Dataset, along: str, words: str, title: str, power: float, law: str) -> None:
    data = data.isel(variant=np.argsort(data[along].isel(seed=0, activation=0).values))
    x = data[along].isel(seed=0, activation=0).values
    draw.curves(ax, data.escape_step, "variant", "activation", "", x=x, middle="geometric", linestyle="none")
    for i, name in enumerate(data.activation.values):
        cells = data.sel(activation=name)
        draw.fit(ax, x, cells.escape_step.transpose("seed", "variant").values, draw.look(i).color, f"fit, {name}")
        draw.corrected(ax, cells.quadrature, None if i else "derived: quadrature", x)
    draw.law(ax, x, data.escape_step.transpose(..., "variant"), x**power, rf"paper: $\propto {law}$")
    draw.numbers(ax, x, words)
    draw.log_y(ax)
    draw.finish(ax, f"end of phase 2 by {title}", r"$T^*$, first step with $p\geq1/(2K)$", legend=1)


def _prefactor(ax: Axes, data: xr.Dataset) -> None:
    """T* in its unit against D/K, all sweeps together: the function φ of P17."""
    data = data.isel(seed=0)
    ratio = (data.token_count / data.support_count).isel(activation=0)
    data = data.isel(variant=np.argsort(ratio.values))
    unit, x = data.separation * data.eta, np.sort(ratio.values)
    draw.curves(ax, data.escape_step * unit, "variant", "activation", x=x, linestyle="none", alpha=0.7)
    for i, name in enumerate(data.activation.values):
        words = r"derived: quadrature, $\phi(D/K,\kappa)$"
        draw.corrected(ax, (data.quadrature * unit).sel(activation=name), None if i else words, x)
    draw.predicted(ax, 1.0, r"derived limit for $\kappa$ = 0 and 1", **draw.CLAIMED)
    draw.numbers(ax, x, "$D/K$")
    draw.from_zero(ax)
    title = r"paper: $T^*=\Theta(KD^2/(\eta\|V^*\|_F^2))$, all runs"
    draw.finish(ax, title, r"$\eta\|V^*\|_F^2\,T^*/(KD^2)$", legend=1)


def phases(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """How the speed of the escape depends on p: along p, its local exponent, its size at the start and late."""
    figure, (speeds, exponent, start, late) = draw.panels(4, rows=2, width=5.2, height=4.2)
    data = named(data.assign(slope=data.negative_slope))
    D, K = data.token_count, data.support_count
    unit = data.eta * data.squared_norm / K
    _speeds(speeds, data.isel(size=0, seed=0))
    # on both sides of 2/D, just after the start, and late in the escape
    below, above, first, last = (data.sel(level=level, drop=True) for level in ("1.9/D", "2.1/D", "1.1/D", "0.4/K"))
    draw.groups(exponent, np.log(above.rate / below.rate) / np.log(above.score / below.score), "size", "activation")
    draw.predicted(exponent, 3.0, "paper: cubic, 3")
    draw.corrected(exponent, 2.0, r"derived for $\kappa<1$, $D\gg K$: 2")
    draw.claimed(exponent, claims["c2-escape-identity"], words="claimed at $D=400$, identity")
    draw.claimed(exponent, claims["c2-escape-corrected"], words=r"claimed at $D=400$, $\kappa<1$")
    exponent.set_ylim(1.7, 3.3)
    draw.finish(exponent, "local exponent of the escape", r"$d\ln\dot p/d\ln p$ at $p=2/D$", PLACES)
    cubic = first.rate / (unit * first.score**3)
    x = (D / K).isel(seed=0, activation=0).values
    draw.curves(start, cubic / cubic.isel(size=0), "size", "activation", x=x)
    draw.predicted(start, 1.0, "paper: one constant")
    draw.claimed(start, claims["c2-cubic-upper"])
    draw.numbers(start, x, "$D/K$")
    draw.from_zero(start)
    words = rf"$K\dot p/(\eta\|V^*\|_F^2p^3)$ over that at $D/K$ = {x[0]:g}"
    draw.finish(start, r"is $\dot p\leq c\,\eta\|V^*\|_F^2p^3/K$ with one $c$? At $p=1.1/D$", words)
    law = unit * (1 - K * last.score) ** 3 / (K**2 * D**2 * last.score) * mean_square_slope(data.slope)
    draw.groups(late, last.rate / law, "size", "activation")
    draw.corrected(late, 1.0, r"derived: $a_\kappa\eta\|V^*\|_F^2\delta^3/(K^3D^2p)$")
    draw.claimed(late, claims["c2-second-half"], words="claimed at $D=400$")
    late.set_ylim(0.8, 1.2)
    draw.finish(late, "second half of the escape, at $p=0.4/K$", r"$\dot p$ over the derived law", PLACES)
    return figure


def _speeds(ax: Axes, data: xr.Dataset) -> None:
    """dp/dt over p on the slow manifold, and the cube of p from the first level on."""
    for i, name in enumerate(data.activation.values):
        cell, look = data.sel(activation=name), draw.look(i)
        task = plain_task(cell)
        scale = task.step_size * task.strength / task.support
        ax.plot(cell.score, cell.rate / scale, look.marker, color=look.color, markersize=7, label=f"measured, {name}")
        p = np.geomspace(1.02 / task.tokens, 0.9 / task.support, 200)
        words = f"derived: slow manifold, {name}"
        draw.corrected(ax, slow_rate(task, p) / scale, words, p, color=look.color, linewidth=1)
        span = p[p <= 2 / np.sqrt(task.tokens * task.support)]
        start = float(cell.rate.sel(level="1.1/D")) / scale
        draw.predicted(ax, start * (span * task.tokens / 1.1) ** 3, None if i else r"paper: $\dot p\propto p^3$", span)
    loglog(ax)
    ratio = float((data.token_count / data.support_count).isel(activation=0))
    title = f"speed of the escape at $D/K$ = {ratio:g}: cubic for the identity alone"
    draw.finish(ax, title, r"$K\dot p/(\eta\|V^*\|_F^2)$", "score $p$ on the supports")


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
        # measured over derived: 1 in all cells, if the constant does not depend on anything else
        for kind in draw.present(data, "frozen", ["none"]):
            cells = data.sel(frozen=kind)
            ratio = cells[law.quantity] / law.derived(cells)
            draw.groups(below, lm.at(ratio, clock(cells), 1e3), "size", "activation")
            sizes = zip(cells.tokens.values, cells.support.values, strict=True)
            draw.names(below, [f"{D:g}, {K:g}" for D, K in sizes])
        draw.corrected(below, 1.0, f"derived: {law.words}")
        below.set_ylim(0.95, 1.05)
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

"""What is lost on other data (T4 to T7, row B): laws of the inputs, adversarial responses, bounds and their parts."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.figures import IN_TIME, clock, exponents, loglog, named
from lemmata.theories.teacher_student.measures import SIDES

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
"""Laws whose responses are the teacher's with noise, and responses that are chosen against the student."""
CLEAN_EXCESS = r"clean excess loss $\frac{1}{2}\Delta^2$"
LATE = np.array([1e2, 1e4])
"""The late window, in units of T*."""
Claims = Mapping[str, lm.Claim]


def shifted(data: xr.Dataset, claims: Claims) -> Figure:
    """Clean and adversarial excess over time, and every bound, formula and noise law of the proof."""
    figure, (clean, laws, responses, bounds, formula, noise) = draw.panels(6, rows=2, width=4.9, height=4.5)
    shown = (
        (clean, _clean, ["exponential"]),
        (laws, _laws, CLEAN),
        (responses, _responses, ADVERSARIAL),
        (bounds, _bounds, list(NAMES)),
        (formula, _formula, ["exponential", "gaussian"]),
        (noise, _noise, CLEAN),
    )
    for ax, panel, wanted in shown:
        if known := draw.present(data, "test_data", wanted):
            names = [NAMES[name] for name in known]
            panel(ax, named(data).sel(test_data=known).assign_coords(test_data=names), claims)
        else:
            ax.set_axis_off()
    return figure


def _finish(ax: Axes, title: str, y: str, columns: int = 2) -> None:
    loglog(ax)
    draw.moment(ax, 1.0, "$T^*$")
    draw.finish(ax, title, y, IN_TIME, legend=columns)


def _slopes(ax: Axes, data: xr.Dataset, values: xr.DataArray, powers: Mapping[float, str]) -> None:
    """Slopes to compare with in the late window, above the data."""
    top = 2.5 * float(values.where(clock(data) > 0.999 * LATE[0]).max())
    for power, words in powers.items():
        drawn = draw.corrected if words.startswith("derived") else draw.predicted
        drawn(ax, top * (LATE / LATE[0]) ** power, words, LATE)


def _clean(ax: Axes, data: xr.Dataset, claims: Claims) -> None:
    """½Δ² on exponential inputs, all activations: the bump of phase 2, and the slope -1 of the late phase."""
    draw.paths(ax, data, draw.positive(data.half_gap), "activation", clock=clock(data))
    for i, place in enumerate((data.fitted_step / data.escape_step).mean(["seed", "test_data"]).values):
        words = None if i else "$t_1$, from which on phase 2 lasts to $T^*$"
        ax.plot(place, 0.03, "^", color=draw.look(i).color, transform=ax.get_xaxis_transform(), label=words)
    _slopes(ax, data, data.half_gap, {-0.5: "paper (Figure 2b): slope −1/2", -1.0: "derived: slope −1"})
    _finish(ax, f"Exp(1) inputs: a bump, then slope {exponents(data.half_gap, data)}", CLEAN_EXCESS)


def _laws(ax: Axes, data: xr.Dataset, claims: Claims) -> None:
    """½Δ² by law, one activation: every law falls as 1/T; some are drawn at a few times only."""
    data = data.isel(activation=0)
    draw.paths(ax, data, draw.positive(data.half_gap), "test_data", clock=clock(data), marker=".")
    _slopes(ax, data, data.half_gap, {-1.0: "derived: slope −1"})
    _finish(ax, f"laws of the inputs, {data.activation.item()}: only a mean makes a bump", CLEAN_EXCESS)


def _responses(ax: Axes, data: xr.Dataset, claims: Claims) -> None:
    """Adversarial responses: positive with slope -1/2; with the printed sign negative, of which |·| is shown."""
    late = data.where(clock(data) > 1)
    words = []
    for name in draw.labels_of(data, "test_data"):
        excess = late.ood_excess.sel(test_data=name)
        sign = " (negative: |·| shown)" if bool((excess < 0).any()) else ""
        words.append(f"{name}{sign}: slope {exponents(abs(excess), data.sel(test_data=name))}")
    late = late.assign_coords(test_data=words)
    draw.paths(ax, late, draw.positive(abs(late.ood_excess)), "test_data", clock=clock(late))
    _slopes(ax, late, abs(late.ood_excess), {-0.5: "paper: slope −1/2"})
    _finish(ax, "worst cases: the printed sign helps the student", "|excess loss| on adversarial responses", 1)


def _bounds(ax: Axes, data: xr.Dataset, claims: Claims) -> None:
    """Left side over right side of the parts of row B and of T4, every law, record, activation and seed."""
    words = r"excess $\leq\frac{1}{2}\Delta^2+\Delta R$", r"$\Delta^2\leq$ its bound", r"$R^2\leq2D\xi(1+\|V^*\|^2)$"
    pairs = {said: sides(data) for said, sides in zip(words, SIDES.values(), strict=True)}
    promised = data.ood_excess.where(abs(clock(data) / 2e3 - 1) < 1e-3)
    pairs[r"excess at $T_\epsilon\leq\epsilon$"] = promised, data.promise
    sides = {said: left / right for said, (left, right) in pairs.items()}
    how = {"sideways": True, "middle": "median", "markersize": 2.5, "alpha": 0.35}
    draw.groups(ax, draw.positive(lm.stack(sides, "side")), "test_data", "side", **how)
    ax.axvline(1.0, label="paper: at most 1", **draw.PREDICTED)
    ax.invert_yaxis()
    draw.log_x(ax)
    draw.finish(ax, "bounds of Theorem 3.2 at every record", "", "left side / right side, where positive (bar: median)")


def _formula(ax: Axes, data: xr.Dataset, claims: Claims) -> None:
    """The formula of T7 for κ = 1 against the sample, in standard errors, with and without the term of the mean."""
    if "identity" not in data.activation.values:
        ax.set_axis_off()
        return
    data = data.sel(activation="identity")
    for terms, style, words in (("all", "-", "{}"), ("without_mean", ":", "{}, without the mean")):
        off = abs(data.half_gap - data.formula.sel(terms=terms)) / data.half_gap_error
        draw.paths(ax, data, draw.positive(off), "test_data", words, clock=clock(data), linestyle=style)
    draw.claimed(ax, claims["t7-identity-formula"], words="derived: the formula of T7; claimed")
    _finish(ax, r"identity: $\frac{1}{2}\Delta^2$ against its closed form", "distance in standard errors")


def _noise(ax: Axes, data: xr.Dataset, claims: Claims) -> None:
    """Spread of the excess of a noisy batch over its law σΔ_N/√N, every law."""
    draw.groups(ax, data.noise_ratio, "test_data", "activation", sideways=True)
    draw.claimed(ax, claims["t7-batch-noise"], words=r"derived: $\sigma_\xi\Delta_N/\sqrt{N}$; claimed", across=True)
    draw.finish(ax, "what the noise of a fixed batch adds at $10^3T^*$", "", "spread over noise draws / derived law")

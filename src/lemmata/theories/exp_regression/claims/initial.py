"""Random networks: projections (Q2), kernels in closed form (Q3), concentration (Q5, X1), initial outputs (Q7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.intervals import Estimate
from lemmata.lab.judges import all_of, at_least, at_most, within
from lemmata.theories.exp_regression.bounds import projection_bound
from lemmata.theories.exp_regression.claims.common import SLACK
from lemmata.theories.exp_regression.measures import resampled, rms_slope, runs_where, share

DELTA = 0.05
POINTS = 10
SMALL = [0.25, 0.5]
"""The σ at which the kernel's tails are light enough to judge."""


def _beyond(data: xr.Dataset, source: str, C: float = 10.0) -> xr.DataArray:
    """1 where some projection of an initialisation exceeds B."""
    B = np.broadcast_to(projection_bound(POINTS, data.neurons.values, DELTA, 1.0, C, source), data.neurons.shape)
    beyond = data.projection > xr.DataArray(B, coords={"neurons": data.neurons})
    return (beyond * 1.0).where(data.projection.notnull())


def _tails(source: str, C: float = 10.0) -> Evidence:
    """The share of initialisations beyond B, by width."""

    def evidence(datasets: Datasets) -> dict[str, Estimate]:
        beyond = _beyond(datasets["q2-tails"], source, C)
        return {f"m={m:g}": share(beyond.sel(neurons=m)) for m in beyond.neurons.values}

    return evidence


def _growing_tails(C: float) -> Evidence:
    """The share beyond B at the smallest width, and the low end of its interval at the largest."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        beyond = _beyond(datasets["q2-tails"], "paper", C)
        return {"narrow": share(beyond.isel(neurons=0)), "wide": share(beyond.isel(neurons=-1)).low}

    return evidence


Formula = Callable[[xr.Dataset], xr.DataArray]


def _exp(data: xr.Dataset, half: float = 0.5, squares: str = "square_sum") -> xr.DataArray:
    return data.inner * np.exp(half * data.weight_scale**2 * data[squares])


def _hyperbolic(sign: int) -> Formula:
    def formula(data: xr.Dataset) -> xr.DataArray:
        return data.inner * (_growth(data, "square_sum") + sign * _growth(data, "square_difference")) / 2

    return formula


def _growth(data: xr.Dataset, squares: str) -> xr.DataArray:
    return np.exp(data.weight_scale**2 * data[squares] / 2)


def _kernel(activation: str, formula: Formula | None = None) -> Evidence:
    """Largest |Monte Carlo - closed form| in exact standard errors over the entries i ≤ j, by σ."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["q3-montecarlo"].sel(activation=activation).isel(seed=0)
        closed = data.closed_form if formula is None else formula(data)
        return (abs(data.estimate - closed) / data.standard_error).max(("point", "other"))

    return evidence


def _kernel_claim(activation: str, words: str, *controls: Control) -> Claim:
    return Claim(
        name=f"q3-kernel-{activation}",
        reference="Q3, derived",
        kind="identity",
        statement=f"The infinite-width kernel of {activation} is {words}: Monte Carlo with 10⁶ weights agrees within 5 "
        "exact standard errors in every entry, at σ = 0.25 and 0.5.",
        reads=("q3-montecarlo",),
        evidence=_kernel(activation),
        judge=at_most(5.0),
        controls=controls,
    )


def _printed_entry(source: str) -> Evidence:
    """Share of draws with max-entry error ≤ e^{2B} √ln(n/δ) / m at σ = 0.25 and the largest width."""

    def evidence(datasets: Datasets) -> Estimate:
        data = datasets["x1-kernel"].sel(weight_scale=0.25).isel(neurons=-1)
        B = data.projection if source == "empirical" else projection_bound(POINTS, 1, DELTA, 0.25, 10.0, "paper")
        return share(data.entry_error <= np.exp(2 * B) * math.sqrt(math.log(POINTS / DELTA)) / data.neurons)

    return evidence


def _corrected_entry(printed: bool = False) -> Evidence:
    """Share of draws with max-entry error ≤ e^{2B} √(ln(2n²/δ) / 2m_eff), by cell; or 1/m for 1/√m, at σ = 0.25."""

    def evidence(datasets: Datasets) -> dict[str, Estimate]:
        found = {}
        for sigma in [0.25] if printed else SMALL:
            for m in datasets["x1-kernel"].neurons.values:
                data = datasets["x1-kernel"].sel(weight_scale=sigma, neurons=m)
                rate = math.sqrt(math.log(POINTS / DELTA)) / m
                if not printed:
                    rate = math.sqrt(math.log(2 * POINTS**2 / DELTA) / m)  # 2 m_eff = m, the pairs being equal
                found[f"σ={sigma:g}, m={m:g}"] = share(data.entry_error <= np.exp(2 * data.projection) * rate)
        return found

    return evidence


def _weyl(kept: float) -> Evidence:
    """λ_min(H^dis)/λ times 0.75/kept in every draw with ‖H^dis - H^cts‖_F ≤ λ/4."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        parts = []
        for name in ("q5-width", "x1-kernel"):
            data = datasets[name]
            ratio = (data.kernel_least / data.limit_least).values.ravel()
            close = (data.frobenius_error <= data.limit_least / 4).values.ravel()
            parts.append((ratio, close))
        ratios, close = (np.concatenate(part) for part in zip(*parts, strict=True))
        gate = xr.DataArray(close, dims="seed")
        return runs_where(xr.DataArray(ratios, dims="seed"), gate, "the kernel is within λ/4") * 0.75 / kept

    return evidence


def _width_draw(sigma: int) -> Evidence:
    """Share of draws with ‖H^dis - H^cts‖_F ≤ λ/4 and λ_min ≥ ¾ λ at the printed width; σ by position."""

    def evidence(datasets: Datasets) -> Estimate:
        data = datasets["q5-width"].isel(weight_scale=sigma)
        good = (data.frobenius_error <= data.limit_least / 4) & (data.kernel_least >= 0.75 * data.limit_least)
        return share(good)

    return evidence


def _chebyshev(C: float, sigmas: tuple[float, ...]) -> Evidence:
    """Q5(d): log of e^{2B} √ln(n/δ) over 32 e^{8σ²} (1 - e^{-4σ²}) / δ (coupled pairs), at its smallest."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        n, delta, sigma = np.meshgrid([10, 100, 1000], [0.1, 0.05, 0.01], sigmas, indexing="ij")
        left = 2 * C * sigma * np.sqrt(np.log(n / delta)) + np.log(np.log(n / delta)) / 2
        right = np.log(32 / delta) + 8 * sigma**2 + np.log(-np.expm1(-4 * sigma**2))
        return xr.DataArray((left - right).min(axis=(0, 1)), coords={"weight_scale": list(sigmas)})

    return evidence


def _ratio(factor: float = 1.0) -> Evidence:
    """RMS kernel error / exact prediction, by cell."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["x1-kernel"].sel(weight_scale=SMALL)
        rms = np.sqrt((data.frobenius_error**2).mean("seed"))
        return factor * rms / data.predicted_error.isel(seed=0)

    return evidence


def _slope(shift: float = 0.0) -> Evidence:
    """Slope of the RMS kernel error over m, by σ."""

    def evidence(datasets: Datasets) -> dict[str, Estimate]:
        errors = datasets["x1-kernel"].frobenius_error
        errors = errors * errors.neurons**shift
        return {
            f"σ={sigma:g}": resampled(lambda v: rms_slope(v, "neurons"), errors.sel(weight_scale=sigma))
            for sigma in SMALL
        }

    return evidence


def _zero(init: str) -> Evidence:
    return lambda datasets: abs(datasets["q7-initial"].outputs.sel(init=init)).max("point")


def _initial_loss(init: str) -> Evidence:
    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        data = datasets["q7-initial"].sel(init=init)
        return {"equal": abs(data.error_square - data.target_square), "bound": data.error_square / data.sizes["point"]}

    return evidence


def _output_variance(init: str) -> Evidence:
    """(mean over seeds of F_i(0)²/m - closed form) in sample standard errors, by point and width."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["q7-initial"].sel(init=init)
        squares = data.outputs**2 / data.neurons
        error = squares.std("seed", ddof=1) / math.sqrt(squares.sizes["seed"])
        with np.errstate(divide="ignore"):
            return (squares.mean("seed") - data.output_variance.isel(seed=0)) / error

    return evidence


CLAIMS = (
    Claim(
        name="q2-projection-union",
        reference="Lemma 6.2, part 1; erratum 3",
        kind="bound",
        statement="With B from the union bound, the share of initialisations with some |<w_r, x_i>| > B is at most δ = "
        "0.05 at m = 64, 1024 and 16384.",
        formula="B = σ √(2 ln(2mn/δ))",
        reads=("q2-tails",),
        evidence=_tails("union"),
        judge=at_most(DELTA),
        controls=(Control("the document's B with C = 1.5, which lacks ln m", _tails("paper", 1.5)),),
    ),
    Claim(
        name="q2-projection-paper",
        reference="Definition 6.1, Lemma 6.2, part 1",
        kind="bound",
        statement="With the document's B, C = 10, no initialisation exceeds B at any of these widths.",
        formula="B = C σ √ln(n/δ)",
        reads=("q2-tails",),
        evidence=_tails("paper"),
        judge=at_most(0.0),
        controls=(Control("C = 1.5", _tails("paper", 1.5)),),
    ),
    Claim(
        name="q2-projection-constant",
        reference="Lemma 6.2, part 1; erratum 3",
        kind="ordering",
        statement="A B without ln m fails as the network widens: with C = 2 the share beyond B is at most δ at the "
        "smallest width and its interval lies above δ at the largest.",
        reads=("q2-tails",),
        evidence=_growing_tails(2.0),
        judge=all_of(narrow=at_most(DELTA), wide=at_least(DELTA, strict=True)),
        controls=(Control("C = 10", _growing_tails(10.0)),),
    ),
    _kernel_claim(
        "exp",
        "G e^{σ²s_+/2}",
        Control("exponent without the ½", _kernel("exp", lambda data: _exp(data, 1.0))),
        Control("s_- for s_+", _kernel("exp", lambda data: _exp(data, squares="square_difference"))),
    ),
    _kernel_claim("cosh", "G (e^{σ²s_+/2} - e^{σ²s_-/2})/2", Control("sinh's kernel", _kernel("cosh", _hyperbolic(1)))),
    _kernel_claim(
        "sinh", "G (e^{σ²s_+/2} + e^{σ²s_-/2})/2", Control("cosh's kernel", _kernel("sinh", _hyperbolic(-1)))
    ),
    _kernel_claim(
        "relu",
        "G (π - θ)/2π",
        Control("θ for π - θ", _kernel("relu", lambda data: data.inner * data.angle / (2 * np.pi))),
    ),
    Claim(
        name="q5-entrywise",
        reference="Lemma 6.3, as printed",
        kind="bound",
        statement="The largest entry of H^dis - H^cts is at most e^{2B} √ln(n/δ)/m in 95 % of draws, at σ = 0.25 with "
        "the empirical B, at the largest width.",
        reads=("x1-kernel",),
        evidence=_printed_entry("empirical"),
        judge=at_least(1 - DELTA),
        expected=FAILS,
        controls=(Control("the document's B with C = 10, which is far larger", _printed_entry("paper"), HOLDS),),
    ),
    Claim(
        name="q5-entrywise-corrected",
        reference="Lemma 6.3, erratum 1",
        kind="bound",
        statement="The largest entry of H^dis - H^cts is at most e^{2B} √(ln(2n²/δ)/2m_eff) in 95 % of draws, at every "
        "width and σ ≤ 0.5.",
        reads=("x1-kernel",),
        evidence=_corrected_entry(),
        judge=at_least(1 - DELTA),
        controls=(Control("the printed rate 1/m for 1/√m, σ = 0.25", _corrected_entry(printed=True)),),
    ),
    Claim(
        name="q5-weyl",
        reference="Lemma 6.3, part 2",
        kind="bound",
        statement="Every draw with ‖H^dis - H^cts‖_F ≤ λ/4 has λ_min(H^dis) ≥ ¾ λ.",
        reads=("q5-width", "x1-kernel"),
        evidence=_weyl(0.75),
        judge=at_least(0.75 / SLACK, by="every"),
        controls=(Control("¾ replaced by 1.3", _weyl(1.3)),),
    ),
    Claim(
        name="q5-width-chebyshev",
        reference="Lemma 6.3 (conclusion, by the exact variance)",
        kind="bound",
        statement="At C = 10 the printed width with constant 1 exceeds what Chebyshev's inequality needs, for n = 10, "
        "100, 1000, δ = 0.1, 0.05, 0.01 and σ = 1, 0.25, 0.05.",
        formula="e^{2B} √ln(n/δ) ≥ 32 e^{8σ²} (1 - e^{-4σ²})/δ",
        evidence=_chebyshev(10.0, (1.0, 0.25, 0.05)),
        judge=at_least(0.0),
        controls=(Control("C = 1, σ = 1", _chebyshev(1.0, (1.0,))),),
    ),
    Claim(
        name="q5-width-draw",
        reference="Lemma 6.3 (conclusion)",
        kind="bound",
        statement="At the printed width with constant 1 (orthonormal n = d = 5, σ = 0.05, m = 456) the kernel is "
        "within λ/4 of its limit and keeps ¾ λ in at least 95 % of 200 draws.",
        reads=("q5-width",),
        evidence=_width_draw(0),
        judge=at_least(1 - DELTA),
        controls=(Control("σ = 1 at the same width", _width_draw(-1)),),
    ),
    Claim(
        name="q7-zero-output",
        reference="Claim 6.8",
        kind="identity",
        statement="With coupled initialisation the initial output is exactly zero, in every seed.",
        reads=("q7-initial",),
        evidence=_zero("coupled"),
        judge=at_most(0.0, by="every"),
        controls=(Control("independent initialisation", _zero("independent")),),
    ),
    Claim(
        name="q7-initial-loss",
        reference="Claim 6.8",
        kind="bound",
        statement="With coupled initialisation ‖y - F(0)‖² = ‖y‖² ≤ n, in every seed.",
        reads=("q7-initial",),
        evidence=_initial_loss("coupled"),
        judge=all_of(equal=at_most(0.0, by="every"), bound=at_most(1.0, by="every")),
        controls=(Control("independent initialisation", _initial_loss("independent")),),
    ),
    Claim(
        name="q7-independent-variance",
        reference="erratum 13",
        kind="identity",
        statement="With independent initialisation the mean of F_i(0)²/m is e^{2σ²‖x_i‖²} within 5 standard errors, at "
        "every point.",
        reads=("q7-initial",),
        evidence=_output_variance("independent"),
        judge=within(-5.0, 5.0, predicted=0.0),
        controls=(Control("coupled initialisation", _output_variance("coupled")),),
    ),
    Claim(
        name="x1-ratio",
        reference="Lemma 6.3, exact variance",
        kind="identity",
        statement="The root mean square of ‖H^dis - H^cts‖_F over draws is √(Σ Var_ij/m_eff), m_eff = m/2 in pairs: "
        "ratio in [0.9, 1.1] at every width and σ ≤ 0.5.",
        reads=("x1-kernel",),
        evidence=_ratio(),
        judge=within(0.9, 1.1, predicted=1.0),
        controls=(Control("m_eff = m for coupled pairs", _ratio(math.sqrt(2))),),
    ),
    Claim(
        name="x1-slope",
        reference="Lemma 6.3, erratum 1",
        kind="scaling",
        statement="The root mean square of ‖H^dis - H^cts‖_F falls like m^-1/2, at σ = 0.25 and 0.5.",
        reads=("x1-kernel",),
        evidence=_slope(),
        judge=within(-0.55, -0.45, predicted=-0.5),
        # if the error fell like 1/m, the error times √m would fall like m^-1/2
        controls=(Control("a claimed slope of -1 (the error times √m)", _slope(0.5)),),
    ),
)

"""Steps: V3 (step size, relevant fraction), V4 (frozen attention), V7 (initial model), V16 (margins); Figure 2.2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.fits import line
from lemmata.lab.judges import all_of, at_least, at_most, equal, increasing, within
from lemmata.lab.measures import log_slopes, on_law, ratio_of_means
from lemmata.theories.vit.bounds import margin_lower_bound
from lemmata.theories.vit.measures import require_converged, split_runs


def _step_slopes(law: float | None = None) -> Evidence:
    """The slope of log T_ε between the two smallest step sizes, per seed and variant; `law`: residuals put on it."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        slopes: dict[str, xr.DataArray] = {}
        for variant, times in split_runs(datasets["f2-step-size"], "small_loss_step").items():
            smallest = times.isel(step_size=slice(0, 2))
            slopes[variant] = log_slopes(smallest if law is None else on_law(smallest, "step_size", law), "step_size")
        return xr.concat(list(slopes.values()), xr.Variable("variant", list(slopes)))

    return evidence


def _times(datasets: Datasets, attention: str) -> xr.DataArray:
    return datasets["f2-iterations"].small_loss_step.sel(attention=attention, drop=True)


def _fraction_slopes(law: float | None = None) -> Evidence:
    """The slope of log T_ε in log α with trained attention, per seed and variant; `law`: residuals put on it."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        times = _times(datasets, "trained")
        if law is not None:
            moved = [on_law(times.sel(variant=variant), "relevant_fraction", law) for variant in times.variant.values]
            times = xr.concat(moved, times.variant)
        return log_slopes(times, "relevant_fraction")

    return evidence


def _difference(exchanged: bool) -> Evidence:
    """T_ε frozen minus trained."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        gap = _times(datasets, "frozen") - _times(datasets, "trained")
        return -gap if exchanged else gap

    return evidence


def _slope_difference(replaced: bool) -> Evidence:
    """Paired difference of the exponents in α, frozen minus trained.

    `replaced`: the frozen times are the trained ones of the same seed times a constant of that seed (the geometric mean
    of frozen / trained), so that the two exponents agree.
    """

    def evidence(datasets: Datasets) -> xr.DataArray:
        trained, frozen = _times(datasets, "trained"), _times(datasets, "frozen")
        if replaced:
            frozen = trained * np.exp(xr.DataArray(np.log(frozen / trained)).mean("relevant_fraction"))
        return log_slopes(frozen, "relevant_fraction") - log_slopes(trained, "relevant_fraction")

    return evidence


def _line_fits(flat: bool) -> Evidence:
    """R² of the seed mean of T_ε against 1/α. `flat`: residuals around a constant instead of the fitted line."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        times = datasets["f2-iterations"].small_loss_step.transpose("variant", "attention", "seed", "relevant_fraction")
        x = 1 / times.relevant_fraction.values
        found = np.empty(times.shape[:2])
        for index in np.ndindex(found.shape):
            values = times.values[index]
            if flat:
                fit = line(x, values)
                values = values - fit.slope.value * (x - x.mean())
            found[index] = line(x, values).r_squared
        return xr.DataArray(found, coords={"variant": times.variant, "attention": times.attention})

    return evidence


def _ratio(at: float, above: str = "frozen") -> Evidence:
    """Seed mean of T_ε frozen / trained at one α."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        chosen = {"relevant_fraction": at}
        return ratio_of_means(_times(datasets, above).sel(chosen), _times(datasets, "trained").sel(chosen))

    return evidence


_SIZES, _FRACTIONS = ("f2-step-size",), ("f2-iterations",)


def _initial(error: str) -> Evidence:
    """T_0 along σ; the gate looks at the intact cells (value_error_law = confuse)."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        steps = datasets["v7-initial-model"].reached_step.sel(attention_error=0.2)
        require_converged(steps.sel(value_error_law="confuse"))
        times = steps.sel(value_error_law=error)
        total = ratio_of_means(times.sel(value_error=0.6), times.sel(value_error=0.0))
        return {"order": times, "total": total}

    return evidence


def _margins(margin: Formula) -> Evidence:
    """The numbers of oracle 8.16 and, at 100 random inputs, the sum of the two terms by their logarithms."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        # at η = 1 the values at t = 1 and 2 are a_0 + a_1 and 32 a_0 + 4 a_1
        one, two = (margin(0.5, 0.9, 0.05, 1.0, t) for t in (1, 2))
        found = [(32 * one - two) / 28, (two - 4 * one) / 28, margin(0.5, 0.9, 0.05, 0.01, 100)]
        draw = np.random.default_rng(datasets.seed)
        inputs = {
            "alpha": draw.uniform(0.05, 1, 100),
            "p": draw.uniform(0.05, 1, 100),
            "error": draw.uniform(0, 0.2, 100),
            "eta": 10 ** draw.uniform(-4, 0, 100),
            "t": 10 ** draw.uniform(0, 4, 100),
        }
        return {
            "numbers": {"measured": found, "predicted": [0.0140625, 1.779785e-4, 3.1860352]},
            "random": {"measured": margin(**inputs), "predicted": _margin_by_logarithms(**inputs)},
        }

    return evidence


def _margin_by_logarithms(alpha: Any, p: Any, error: Any, eta: Any, t: Any) -> Any:
    """(A.51) with every product a sum of logarithms."""
    from scipy.special import logsumexp

    gap = alpha * p / 4 - error
    fifth = 6 * np.log(alpha) + 3 * np.log(p) - 6 * math.log(2) + 3 * np.log(eta) + 5 * np.log(t)
    square = 2 * np.log(alpha) + np.log(p) + np.log(np.abs(gap)) + np.log(eta) + 2 * np.log(t)
    total, sign = logsumexp([fifth, square], axis=0, b=[np.ones_like(gap), np.sign(gap)], return_sign=True)
    return sign * np.exp(total)


def _margin_with_square(alpha: Any, p: Any, error: Any, eta: Any, t: Any) -> Any:
    """(A.51) with p² in place of p³ in a_0."""
    return alpha**6 * p**2 / 64 * eta**3 * t**5 + alpha**2 * p * (alpha * p / 4 - error) * eta * t**2


CLAIMS = (
    Claim(
        name="v3-iterations-eta",
        reference="(2.10)",
        kind="scaling",
        statement="As stated: the number of steps grows as η^(-3/5) when the step size falls.",
        formula="T = Θ(η^(-3/5) α_*^-1)",
        reads=_SIZES,
        evidence=_step_slopes(),
        judge=within(-0.66, -0.54, predicted=-0.6),
        expected=FAILS,
        controls=(Control("residuals put on η^(-3/5)", _step_slopes(law=-0.6), HOLDS),),
    ),
    Claim(
        name="v3-iterations-eta-corrected",
        reference="(2.10), corrected",
        kind="scaling",
        statement="Corrected: small steps follow gradient flow, so the number of steps grows as η^-1.",
        formula="T ∝ η^-1 as η → 0",
        reads=_SIZES,
        evidence=_step_slopes(),
        judge=within(-1.05, -0.93, predicted=-1.0),
        controls=(Control("residuals put on η^(-3/5)", _step_slopes(law=-0.6)),),
    ),
    Claim(
        name="v3-iterations-alpha",
        reference="(2.10)",
        kind="scaling",
        statement="The number of steps grows as the inverse of the relevant fraction (exponent between -1.4 and -0.6).",
        formula="T ∝ α_*^-1",
        reads=_FRACTIONS,
        evidence=_fraction_slopes(),
        judge=within(-1.4, -0.6, predicted=-1.0),
        controls=(Control("residuals put on α_*^-2", _fraction_slopes(law=-2.0)),),
    ),
    Claim(
        name="v4-iterations-order",
        reference="Proposition 1",
        kind="ordering",
        statement="Frozen attention never trains in fewer steps: the seed mean of T_ε is at least that of trained "
        "attention at every α_*.",
        reads=_FRACTIONS,
        evidence=_difference(exchanged=False),
        judge=at_least(0.0, by="mean"),
        controls=(Control("trained and frozen exchanged", _difference(exchanged=True)),),
    ),
    Claim(
        name="v4-iterations-same",
        reference="Proposition 1",
        kind="scaling",
        statement="As stated: frozen and trained attention have the same scale of T, so the exponents in α_* agree.",
        reads=_FRACTIONS,
        evidence=_slope_difference(replaced=False),
        judge=within(-0.1, 0.1, predicted=0.0),
        expected=FAILS,
        controls=(
            Control(
                "frozen times replaced by the trained ones times a constant per seed", _slope_difference(True), HOLDS
            ),
        ),
    ),
    Claim(
        name="v4-iterations-same-corrected",
        reference="Proposition 1, corrected",
        kind="scaling",
        statement="Corrected: the gap grows as α_* falls; the exponent of frozen attention is lower by at least 0.15.",
        reads=_FRACTIONS,
        evidence=_slope_difference(replaced=False),
        judge=at_most(-0.15),
        controls=(
            Control("frozen times replaced by the trained ones times a constant per seed", _slope_difference(True)),
        ),
    ),
    Claim(
        name="f2-line",
        reference="Figure 2.2",
        kind="scaling",
        statement="The seed mean of T_ε is a straight line in 1/α_*: R² at least 0.9, trained and frozen.",
        reads=_FRACTIONS,
        evidence=_line_fits(flat=False),
        judge=at_least(0.9),
        controls=(Control("residuals put on a T_ε that does not depend on α_*", _line_fits(flat=True)),),
    ),
    Claim(
        name="f2-ratio-small",
        reference="Figure 2.2",
        kind="comparison",
        statement="At α_* = 0.15 frozen attention needs at least 1.3 times as many steps.",
        reads=_FRACTIONS,
        evidence=_ratio(0.15),
        judge=at_least(1.3, by="mean"),
        controls=(Control("trained in place of frozen", _ratio(0.15, above="trained")),),
    ),
    Claim(
        name="f2-ratio-large",
        reference="Figure 2.2",
        kind="comparison",
        statement="At α_* = 0.8 attention hardly matters: frozen over trained steps lies between 0.95 and 1.1.",
        reads=_FRACTIONS,
        evidence=_ratio(0.8),
        judge=within(0.95, 1.1, by="mean", predicted=1.0),
        controls=(Control("read at α_* = 0.15", _ratio(0.15)),),
    ),
    Claim(
        name="v7-initial-sigma",
        reference="Remark 3",
        kind="ordering",
        statement="A larger error of the initial value map slows training: the seed mean of T_0 increases along "
        "σ = 0, 0.2, 0.4, 0.6 with confusing error directions, in total by at least 15 %.",
        reads=("v7-initial-model",),
        evidence=_initial("confuse"),
        judge=all_of(order=increasing("value_error", by="mean"), total=at_least(1.15, by="mean")),
        controls=(Control("random error directions", _initial("random")),),
    ),
    Claim(
        name="v16-margin",
        reference="(A.51)",
        kind="identity",
        statement="The margin bound gives the paper's numbers (to 10⁻⁶) and, at 100 random inputs, the sum of its "
        "terms evaluated by logarithms (to 10⁻⁹).",
        formula="y F ≳ a_0 η³ t⁵ + a_1 η t², a_1 = α² p (α p/4 - σ - τ), a_0 = α⁶ p³/64",
        evidence=_margins(margin_lower_bound),
        judge=all_of(numbers=equal(1e-6, relative=True), random=equal(1e-9, relative=True)),
        controls=(Control("p² in place of p³ in a_0", _margins(_margin_with_square)),),
    ),
)

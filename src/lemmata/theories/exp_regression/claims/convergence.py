"""Convergence: steps (Q14), contraction (Q16), hitting time (Q17), the linearised limit (Q18)."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from lemmata.lab.claims import HOLDS, INCONCLUSIVE, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.intervals import Estimate
from lemmata.lab.judges import all_of, at_most
from lemmata.theories.exp_regression.claims.common import LIMIT, SLACK, START, START_FAST, all_runs, contraction, worst
from lemmata.theories.exp_regression.measures import gated, median_slope, resampled, runs_where

ENOUGH = 0.5
"""The share of runs that must be gated."""


CAP = 20_000


def _coupled(datasets: Datasets) -> xr.Dataset:
    return datasets["x2-convergence"].sel(init="coupled")


def _unstable(datasets: Datasets, c: float = 2.5) -> xr.Dataset:
    return datasets["x6-stability"].sel(step_constant=c)


def _steps(*names: str) -> Evidence:
    """η‖Δw_r‖ and ‖e‖/√n at their largest, in every run."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        parts = [_unstable(datasets)] if not names else [datasets[name] for name in names]
        return {
            "length": xr.concat([all_runs(part.step_length) for part in parts], "seed"),
            "error": xr.concat([all_runs(part.error_norm) for part in parts], "seed"),
        }

    return evidence


def _contraction_start(datasets: Datasets) -> xr.DataArray:
    """The worst run of every experiment, λ = λ_min(H(0))."""
    stable = datasets["x6-stability"]
    return worst(
        x2_convergence=contraction(_coupled(datasets), START),
        q16_samplers=contraction(datasets["q16-samplers"], START),
        q16_theory=contraction(datasets["q16-theory"], START),
        x6_stability=contraction(stable.sel(step_constant=stable.step_constant[stable.step_constant <= 1]), START),
    )


def _too_fast(datasets: Datasets) -> xr.DataArray:
    data = datasets["x2-orthonormal"].sel(data_law="orthonormal").isel(step_constant=0)
    return worst(x2_convergence=contraction(data, START_FAST))


def _gated_contraction(choose: Callable[[xr.Dataset], xr.Dataset] = lambda data: data) -> Evidence:
    """The worst gated run by width, λ of the limit; the share of gated runs stands in the label."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = choose(_coupled(datasets))
        gate = gated(data)
        wide = gate.sel(neurons=gate.neurons[gate.neurons >= min(256, float(gate.neurons.max()))])
        if float(wide.mean()) < ENOUGH:
            raise NotApplicable(f"conditions not met: λ_min(H(t)) ≥ λ/2 in only {float(wide.mean()):.0%} of the runs")
        found = {}
        for m in gate.neurons.values:
            here = gate.sel(neurons=m)
            if bool(here.any()):
                ratios = contraction(data, LIMIT).sel(neurons=m).transpose(*here.dims).values[here.values]
                found[f"{m:g} ({float(here.mean()):.0%} gated)"] = float(ratios.max())
        return xr.DataArray(list(found.values()), coords={"m": list(found)})

    return evidence


def _gated_unstable(datasets: Datasets) -> xr.DataArray:
    """c = 2.5 at the largest width, in the seeds whose intact run (c = 0.5) is gated."""
    stable = datasets["x6-stability"].isel(neurons=-1)
    return runs_where(
        contraction(stable.sel(step_constant=2.5), LIMIT),
        gated(stable.sel(step_constant=0.5)),
        "the intact run keeps λ/2",
    )


def _cell(problem: int, width: int) -> Callable[[xr.Dataset], xr.Dataset]:
    return lambda data: data.isel(problem=[problem], neurons=[width])


def _hitting(datasets: Datasets) -> xr.DataArray:
    """Hitting time / T in gated runs with T within the cap."""
    data = _coupled(datasets)
    gate = gated(data) & (data.predicted_steps <= CAP)
    return runs_where(data.reached_step / data.predicted_steps, gate, "the kernel keeps λ/2 and T ≤ 20000")


def _hitting_early(datasets: Datasets) -> xr.DataArray:
    data = datasets["x2-orthonormal"].sel(data_law="orthonormal", step_constant=0.5)
    return data.reached_step / (data.predicted_steps / 10)


def _deviation(init: str) -> Evidence:
    """Relative deviation of ‖e(20)‖² from the linearised value, at the widths from 1024 on."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        found = datasets["x2-convergence"].linear_deviation.sel(init=init)
        return found.sel(neurons=found.neurons[found.neurons >= min(1024, float(found.neurons.max()))])

    return evidence


def _deviation_slope(init: str) -> Evidence:
    def evidence(datasets: Datasets) -> dict[str, Estimate]:
        found = datasets["x2-convergence"].linear_deviation.sel(init=init)
        return {
            str(problem): resampled(lambda v: median_slope(v, "neurons"), found.sel(problem=problem))
            for problem in found.problem.values
        }

    return evidence


CLAIMS = (
    Claim(
        name="q14-step",
        reference="Lemmas 7.4 and 8.6",
        kind="bound",
        statement="With the paper's step size η‖Δw_r‖ ≤ 0.01 and ‖e(t)‖ ≤ √n at every step.",
        reads=("q16-theory", "x9-theorem", "x6-stability"),
        evidence=_steps("q16-theory", "x9-theorem"),
        judge=all_of(length=at_most(0.01 * SLACK, by="every"), error=at_most(SLACK, by="every")),
        controls=(Control("practical step, c = 2.5", _steps()),),
    ),
    Claim(
        name="q16-contraction-dis",
        reference="Lemmas 7.3 and 9.2",
        kind="bound",
        statement="‖e(t)‖² ≤ (1 - mηλ/2)^t ‖e(0)‖² with λ = λ_min(H(0)), at every step of every run (practical step "
        "with c ≤ 1, and the paper's step).",
        reads=("x2-convergence", "q16-samplers", "q16-theory", "x6-stability", "x2-orthonormal"),
        evidence=_contraction_start,
        judge=at_most({"x2-convergence": SLACK, "q16-samplers": SLACK, "q16-theory": 1 + 1e-12, "x6-stability": SLACK}),
        controls=(
            Control("rate 1 - 3mηλ, orthonormal data, c = 0.05", _too_fast),
            Control("c = 2.5", lambda datasets: worst(x6_stability=contraction(_unstable(datasets), START))),
        ),
    ),
    Claim(
        name="q16-contraction-cts",
        reference="Lemmas 7.3 and 9.2",
        kind="bound",
        statement="‖e(t)‖² ≤ (1 - mηλ/2)^t ‖e(0)‖² with λ of the limit kernel, at every step of every run that keeps "
        "λ_min(H(t)) ≥ λ/2.",
        reads=("x2-convergence", "x6-stability"),
        evidence=_gated_contraction(),
        judge=at_most(SLACK, by="every"),
        controls=(Control("c = 2.5 at the largest width", _gated_unstable),),
    ),
    Claim(
        name="q16-contraction-narrow",
        reference="Lemmas 7.3 and 9.2",
        kind="bound",
        statement="The same at n = d = 20 and m = 64, a width at which the kernel rarely keeps λ/2.",
        reads=("x2-convergence",),
        evidence=_gated_contraction(_cell(-1, 0)),
        judge=at_most(SLACK, by="every"),
        expected=INCONCLUSIVE,
        controls=(Control("n = d = 20, m = 1024", _gated_contraction(_cell(-1, -2)), HOLDS),),
    ),
    Claim(
        name="q17-hitting",
        reference="Theorems 1.1 and 7.1",
        kind="bound",
        statement="‖e‖² ≤ ε by T = ⌈2 ln(‖y‖²/ε)/(mηλ)⌉ with the practical step, in every run that keeps λ/2 (T ≤ "
        "20000).",
        reads=("x2-convergence", "x2-orthonormal"),
        evidence=_hitting,
        judge=at_most(1.0, by="every"),
        controls=(Control("T/10 on orthonormal data, c = 0.5", _hitting_early),),
    ),
    Claim(
        name="q18-deviation",
        reference="Theorem 7.1 (T does not depend on m)",
        kind="limit",
        statement="At fixed mη training tends to the linearised dynamics: ‖e(20)‖² deviates from it by less than 1e-3 "
        "in the median at m ≥ 1024, for all three (n, d).",
        reads=("x2-convergence",),
        evidence=_deviation("coupled"),
        judge=at_most(1e-3, by="median", strict=True),
        controls=(Control("independent initialisation", _deviation("independent")),),
    ),
    Claim(
        name="q18-slope",
        reference="Theorem 7.1 (T does not depend on m)",
        kind="scaling",
        statement="That deviation falls at least like m^-0.9, for all three (n, d).",
        reads=("x2-convergence",),
        evidence=_deviation_slope("coupled"),
        judge=at_most(-0.9),
        controls=(Control("independent initialisation", _deviation_slope("independent")),),
    ),
)

"""The theorem as printed, which cannot be run (Q17), and end to end where every condition is met (X9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import HOLDS, INCONCLUSIVE, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import all_of, at_most, within
from lemmata.theories.exp_regression.bounds import RUNNABLE
from lemmata.theories.exp_regression.claims.common import LIMIT, LIMIT_FAST, SLACK, all_runs, contraction


def _paper_width(datasets: Datasets) -> xr.DataArray:
    """The printed width, step and T at n = 10, δ = 0.05, C = 10, σ = 1: hopeless, or the error reached by them."""
    where = {"samples": 10, "failure_probability": 0.05, "tail_constant": 10, "weight_scale": 1}
    data = datasets["x8-vacuity"].sel(where).isel(seed=0)
    width, steps = float(data.log_width), float(data.log_iterations)
    if width > np.log10(RUNNABLE) or steps > np.log10(RUNNABLE):
        raise NotApplicable(
            f"vacuous here: the paper asks for 10^{width:.1f} neurons and 10^{steps:.1f} steps of size "
            f"10^{float(data.log_step):.1f}; usable instead: {float(data.practical_width):.0f} neurons, step "
            f"{float(data.practical_step):.2g}, {float(data.practical_iterations):.0f} steps"
        )
    raise NotApplicable("the printed width can be run; no experiment does")


def _theorem_reached(datasets: Datasets) -> xr.DataArray:
    data = datasets["x9-theorem"].isel(problem=0)
    return data.reached_step / data.predicted_steps


def _scaled(choose: Callable[[xr.Dataset], xr.DataArray], name: str = "x9-theorem") -> Evidence:
    """One number of every run."""
    return lambda datasets: all_runs(choose(datasets[name]))


def _theorem_drift(factor: float = 1.0) -> Evidence:
    """Drift / D (divided by `factor`), and D / R, with the union bound's B."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        data = datasets["x9-theorem"]
        return {
            "drift": all_runs(factor * data.largest_drift / data.drift_bound),
            "radius": all_runs(data.drift_bound / data.ball_radius),
        }

    return evidence


def _x9(name: str, reference: str, kind: str, statement: str, **rest: Any) -> Claim:
    extra = rest.pop("extra", ())
    return Claim(name=name, reference=reference, kind=kind, statement=statement, reads=("x9-theorem", *extra), **rest)


CLAIMS = (
    Claim(
        name="q17-paper-width",
        reference="Theorem 7.1, as stated",
        kind="bound",
        statement="The printed width, step size and T (C = 10, n = 10, δ = 0.05, σ = 1) can be run and reach ε.",
        reads=("x8-vacuity", "x9-theorem"),
        evidence=_paper_width,
        judge=at_most(1.0, by="every"),
        expected=INCONCLUSIVE,
        controls=(Control("the theorem end to end, n = 2, σ = 0.05", _theorem_reached, HOLDS),),
    ),
    _x9(
        "x9-reached",
        "Theorem 7.1",
        "bound",
        "With every explicit condition met and the paper's step, ‖e‖² ≤ ε is reached by T, in both cases and every "
        "seed.",
        evidence=_scaled(lambda data: data.reached_step / data.predicted_steps),
        judge=at_most(1.0, by="every"),
        controls=(Control("T/5 steps", _scaled(lambda data: 5 * data.reached_step / data.predicted_steps)),),
    ),
    _x9(
        "x9-contraction",
        "Lemma 9.2",
        "bound",
        "In these runs ‖e(t)‖² ≤ (1 - mηλ/2)^t ‖e(0)‖² with λ of the limit kernel, at every step.",
        evidence=_scaled(lambda data: contraction(data, LIMIT)),
        judge=at_most(SLACK, by="every"),
        controls=(Control("rate 1 - 3mηλ", _scaled(lambda data: contraction(data, LIMIT_FAST))),),
    ),
    _x9(
        "x9-drift",
        "Lemma 7.2",
        "bound",
        "In these runs no weight moves farther than D, and D < R.",
        evidence=_theorem_drift(),
        judge=all_of(drift=at_most(SLACK, by="every"), radius=at_most(1.0, by="every", strict=True)),
        controls=(Control("D/1000", _theorem_drift(1000.0)),),
    ),
    _x9(
        "x9-step",
        "Lemma 7.4",
        "bound",
        "In these runs η‖Δw_r‖ ≤ 0.01 at every step.",
        extra=("x6-stability",),
        evidence=_scaled(lambda data: data.step_length),
        judge=at_most(0.01 * SLACK, by="every"),
        controls=(
            Control(
                "practical step, c = 2.5",
                lambda datasets: all_runs(datasets["x6-stability"].sel(step_constant=2.5).step_length),
            ),
        ),
    ),
    _x9(
        "x9-kernel",
        "Lemma 6.3",
        "bound",
        "In these runs the initial kernel is within λ/4 of its limit.",
        extra=("q5-width",),
        evidence=_scaled(lambda data: 4 * data.kernel_error / data.limit_least),
        judge=at_most(SLACK, by="every"),
        controls=(
            Control(
                "σ = 1 at m = 456",
                _scaled(lambda data: (4 * data.frobenius_error / data.limit_least).isel(weight_scale=-1), "q5-width"),
            ),
        ),
    ),
    _x9(
        "x9-hitting",
        "Theorem 7.1",
        "identity",
        "The true rate is 2mηλ, so ε is hit at T/4: 4·hit/T in [0.97, 1.03] in every seed.",
        evidence=_scaled(lambda data: 4 * data.reached_step / data.predicted_steps),
        judge=within(0.97, 1.03, by="every", predicted=1.0),
        controls=(
            Control(
                "T with the rate mηλ, half of T", _scaled(lambda data: 8 * data.reached_step / data.predicted_steps)
            ),
        ),
    ),
)

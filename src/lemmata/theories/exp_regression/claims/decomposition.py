"""One step taken apart: the decomposition (Q8), its three terms (Q9, Q11, Q12), the asymmetric kernel (Q10), Q13."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import all_of, at_most, equal, within
from lemmata.theories.exp_regression.claims.common import (
    RESIDUAL,
    SLACK,
    TWO_POINTS,
    TWO_TARGETS,
    all_runs,
    in_float64,
    network,
    tight_network,
    tight_ratio,
    tight_step,
    two_point,
    worst,
)
from lemmata.theories.exp_regression.decomposition import asymmetric_kernel, decomposition_errors, take_step
from lemmata.theories.exp_regression.network import lengths, loss_gradient, read_out


def _initialisation(variable: str) -> Evidence:
    """The largest error of the decomposition in every run with independent initialisation."""
    return lambda datasets: all_runs(datasets["x5-initialisation"].sel(init="independent")[variable])


@in_float64
def _one_neuron(datasets: Datasets) -> float:
    """C_1 without m where m = 1: the first step of one neuron on the two points."""
    weights, head = network([[0.5, 0.0], [0.0, 0.0]], [1, 0])
    terms = take_step(weights, head, jnp.asarray(TWO_POINTS), jnp.asarray(TWO_TARGETS), 0.01)
    return float(decomposition_errors(terms, head.width)["decomposition_first"])


@in_float64
def _small_second(datasets: Datasets) -> float:
    """C_2 reversed where it is 1.6e-13: the first step of the two-point network with η = 1e-4."""
    return float(decomposition_errors(two_point(1e-4), jnp.asarray(4.0))["decomposition_second"])


def _decomposition(datasets: Datasets) -> xr.DataArray:
    stable = datasets["x6-stability"]
    return worst(
        x2_convergence=datasets["x2-convergence"].decomposition,
        x5_initialisation=datasets["x5-initialisation"].decomposition,
        x6_stability=stable.decomposition.sel(step_constant=stable.step_constant[stable.step_constant <= 3]),
    )


CONDITIONAL = ("first_order", "second_order_printed", "third_order", "third_order_stated")
"""Bounds with a hypothesis: a run in which it holds at no step is not applicable. The others are judged in all."""


def _along(variable: str, *names: str, **where: Any) -> Evidence:
    """The running maximum of left side / right side in every run to which the bound applies."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        drop = variable in CONDITIONAL
        runs = [all_runs(datasets[name].sel(where)[variable], drop) for name in names or ("x2-convergence",)]
        joined = xr.concat(runs, "seed")
        if joined.size == 0:
            raise NotApplicable("not applicable: the hypothesis holds at no step of any run")
        return joined

    return evidence


def _asymmetric(share: float = 1.0, halved: bool = False) -> Evidence:
    """The tight case with P ≡ share: the only entry of H_asy against e^{2(B+R)} = 1, or half of it."""

    @in_float64
    def evidence(datasets: Datasets) -> Any:
        weights, head = tight_network()
        entry = asymmetric_kernel(head, jnp.exp(weights), jnp.ones((1, 1)), jnp.full((1, 8), share))
        return float(entry[0, 0]) * (2 if halved else 1)

    return evidence


def _one(evidence: Evidence) -> Evidence:
    """A ratio that should be 1."""
    return lambda datasets: {"measured": evidence(datasets), "predicted": 1.0}


def _remainder(reach: float) -> Evidence:
    """Largest |e^z - 1 - z| / (0.51 z²) over |z| ≤ reach."""

    def evidence(datasets: Datasets) -> float:
        z = np.linspace(-reach, reach, 4000)
        return float(np.max(np.abs(np.expm1(z) - z) / (0.51 * z**2)))

    return evidence


def _third_tight(projection: float) -> Evidence:
    """C_3 over its bound in the tight case against ((1 - e^{-ηe})/2ηe)², and near its limit ¼."""

    @in_float64
    def evidence(datasets: Datasets) -> dict[str, Any]:
        etas = (1e-2, 1e-3, 1e-4)
        error = 8 * math.cosh(projection) - 0.3
        return {
            "formula": {
                "measured": [tight_step(projection, eta)[1]["third_order"] for eta in etas],
                "predicted": [(-math.expm1(-eta * error) / (2 * eta * error)) ** 2 for eta in etas],
            },
            "limit": tight_step(projection, 1e-5)[1]["third_order"],
        }

    return evidence


def _gradients(projection: float = 0.0) -> Evidence:
    """‖Δw_r‖ over its bound e^B √n ‖e‖, neuron by neuron, in the tight case."""

    @in_float64
    def evidence(datasets: Datasets) -> dict[str, Any]:
        weights, head = tight_network(projection)
        values = jnp.exp(weights)
        residual = read_out(head, values) - 0.3
        steep = lengths(loss_gradient(head, values, jnp.ones((1, 1)), residual))
        return {"measured": steep / (math.exp(projection) * abs(float(residual[0]))), "predicted": 1.0}

    return evidence


CLAIMS = (
    Claim(
        name="q8-first-order",
        reference="Lemma 7.3, as printed",
        kind="identity",
        statement="‖e(t+1)‖² = ‖e‖² + C_1 + C_2 + C_3 with C_1 = -2η eᵀHe (without m), at every step, independent "
        "initialisation.",
        reads=("x5-initialisation",),
        evidence=_initialisation("decomposition_first"),
        judge=at_most(RESIDUAL, by="every"),
        expected=FAILS,
        controls=(Control("one neuron, where m = 1", _one_neuron, HOLDS),),
    ),
    Claim(
        name="q8-second-order-sign",
        reference="Lemma 7.3 and Claim 9.4, as printed",
        kind="identity",
        statement="‖e(t+1)‖² = ‖e‖² + C_1 + C_2 + C_3 with C_2 = -2 eᵀv_2, at every step, independent initialisation.",
        reads=("x5-initialisation",),
        evidence=_initialisation("decomposition_second"),
        judge=at_most(RESIDUAL, by="every"),
        expected=FAILS,
        controls=(
            Control("the first step of the two-point network at η = 1e-4, C_2 ≈ -1.6e-13", _small_second, HOLDS),
        ),
    ),
    Claim(
        name="q8-decomposition-corrected",
        reference="Lemma 9.1, errata 6 and 7",
        kind="identity",
        statement="‖e(t+1)‖² = ‖e‖² + C_1 + C_2 + C_3 with C_1 = -2mη eᵀHe and C_2 = 2 eᵀv_2, at every step of every "
        "run, both initialisations, catapults (c ≤ 3) included.",
        formula="residual ≤ 1e-10 max(1, ‖e‖² + |C_1| + |C_2| + C_3)",
        reads=("x2-convergence", "x5-initialisation", "x6-stability"),
        evidence=_decomposition,
        judge=at_most(RESIDUAL),
        controls=(Control("C_2 reversed, independent initialisation", _initialisation("decomposition_second")),),
    ),
    Claim(
        name="q9-first-order-bound",
        reference="Claim 9.3",
        kind="bound",
        statement="C_1 ≤ -mηλ‖e‖² at every step with λ_min(H(t)) ≥ λ/2.",
        reads=("x2-convergence",),
        evidence=_along("first_order"),
        judge=at_most(SLACK, by="every"),
        controls=(Control("e := lowest eigenvector of H, λ := 2.1 λ_min(H)", _along("first_order_defect")),),
    ),
    Claim(
        name="q10-asymmetric",
        reference="Claim 8.4",
        kind="bound",
        statement="No entry of H_asy exceeds e^{2(B+R)} at the final weights, for P uniform on [-1, 1] and P = ±1 at "
        "random.",
        reads=("x2-convergence",),
        evidence=_along("asymmetric"),
        judge=at_most(SLACK, by="every"),
        controls=(Control("the tight case with half the bound", _asymmetric(halved=True)),),
    ),
    Claim(
        name="q10-tight",
        reference="Claim 8.4",
        kind="identity",
        statement="The bound on H_asy is reached in the tight case (W = 0, one point, P ≡ 1), to 1e-12.",
        evidence=_one(_asymmetric()),
        judge=equal(1e-12),
        controls=(Control("P ≡ 0.5", _one(_asymmetric(0.5))),),
    ),
    Claim(
        name="q11-second-order",
        reference="Claim 9.4, as printed",
        kind="bound",
        statement="C_2 ≤ 2mη²ne^{4B}‖e‖², in the tight case.",
        reads=("x2-convergence",),
        evidence=tight_ratio("second_order_printed"),
        judge=at_most(SLACK, by="every"),
        expected=FAILS,
        controls=(
            Control(
                "coupled runs, steps with ‖e‖ ≤ √n and n ≤ 1.9e^{B-3R}",
                _along("second_order_printed", init="coupled"),
                HOLDS,
            ),
        ),
    ),
    Claim(
        name="q11-second-order-corrected",
        reference="Claim 9.4, erratum 8",
        kind="bound",
        statement="C_2 ≤ 2mη p_max n e^{2(B+R)}‖e‖² with p_max = max |e^z - 1 - z|/|z|, at every step, both "
        "initialisations.",
        reads=("x2-convergence", "x5-initialisation"),
        evidence=_along("second_order", "x2-convergence", "x5-initialisation"),
        judge=at_most(SLACK, by="every"),
        controls=(Control("the printed bound in the tight case", tight_ratio("second_order_printed")),),
    ),
    Claim(
        name="q11-remainder",
        reference="Claim 9.4",
        kind="bound",
        statement="|e^z - 1 - z|/|z| ≤ 0.51 |z| for |z| ≤ 0.05.",
        evidence=_remainder(0.05),
        judge=at_most(1.0),
        controls=(Control("|z| ≤ 0.2", _remainder(0.2)),),
    ),
    Claim(
        name="q11-tight",
        reference="Claim 9.4, erratum 8",
        kind="identity",
        statement="The corrected bound on C_2 is reached in the tight case, to 1e-9.",
        evidence=_one(tight_ratio("second_order")),
        judge=equal(1e-9),
        controls=(Control("<w_r, x> = ±0.5 for W = 0", _one(tight_ratio("second_order", projection=0.5))),),
    ),
    Claim(
        name="q12-third-term",
        reference="Claim 9.5, as proved",
        kind="bound",
        statement="C_3 ≤ 4m²η²n²e^{4(B+R)}‖e‖² at every step with η‖Δw_r‖ ≤ 0.01.",
        reads=("x2-convergence",),
        evidence=_along("third_order"),
        judge=at_most(SLACK, by="every"),
        controls=(Control("the tight case with 4 replaced by 0.9", tight_ratio("third_order", 4 / 0.9)),),
    ),
    Claim(
        name="q12-third-term-stated",
        reference="Claim 9.5, as stated",
        kind="bound",
        statement="C_3 ≤ m²η²n²e^{8B}‖e‖² at those steps with B ≥ 0.35 + R.",
        reads=("x2-convergence",),
        evidence=_along("third_order_stated"),
        judge=at_most(SLACK, by="every"),
        controls=(Control("the tight case, right side times 0.9, any B", tight_ratio("third_order_stated", 1 / 0.9)),),
    ),
    Claim(
        name="q12-tight",
        reference="Claim 9.5",
        kind="limit",
        statement="In the tight case C_3 over its bound is ((1 - e^{-ηe})/2ηe)², to 1e-10, and tends to ¼: within "
        "[0.2499, 0.25] at η = 1e-5.",
        evidence=_third_tight(0.0),
        judge=all_of(formula=equal(1e-10), limit=within(0.2499, 0.25, predicted=0.25)),
        controls=(Control("<w_r, x> = ±0.5 for W = 0", _third_tight(0.5)),),
    ),
    Claim(
        name="q13-gradient-norm",
        reference="Lemma 8.5",
        kind="bound",
        statement="‖Δw_r‖ ≤ e^{B+R} √n ‖e‖ at every step, for every neuron.",
        reads=("x2-convergence", "x5-initialisation"),
        evidence=_along("gradient_norm", "x2-convergence", "x5-initialisation"),
        judge=at_most(SLACK, by="every"),
        controls=(Control("the tight case with half the bound", tight_ratio("gradient_norm", 2.0)),),
    ),
    Claim(
        name="q13-tight",
        reference="Lemma 8.5",
        kind="identity",
        statement="The bound on ‖Δw_r‖ is reached in the tight case, to 1e-12.",
        evidence=_gradients(),
        judge=equal(1e-12),
        controls=(Control("<w_r, x> = ±0.5 for W = 0", _gradients(0.5)),),
    ),
)

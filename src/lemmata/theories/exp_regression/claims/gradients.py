"""Equation (1): the gradients of output and loss against automatic differentiation (Q1)."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_most
from lemmata.lab.simulation import stream
from lemmata.networks.activations import ACTIVATIONS
from lemmata.theories.exp_regression.claims.common import in_float64
from lemmata.theories.exp_regression.data import draw
from lemmata.theories.exp_regression.network import forward, initialise, loss_gradient, output_gradient, project
from lemmata.theories.exp_regression.setting import Setting

DRAWS = 10
INITS = ("coupled", "independent")
SCALES = ("one", "inv_sqrt_m")


@functools.partial(jax.jit, static_argnames=("name", "of", "defect"))
def _error(name: str, of: str, defect: bool, weights: Any, head: Any, data: Any) -> Any:
    """max |closed form - autodiff| / max |autodiff|; the defect leaves a_r out, or has y - F for F - y."""
    activation = ACTIVATIONS[name]
    slopes = activation.slope(project(weights, data.x))
    outputs = forward(weights, head, data.x, activation)
    if of == "output":
        signless = head._replace(signs=head.used) if defect else head
        closed = output_gradient(signless, slopes, data.x)
        exact = jax.jacrev(lambda w: forward(w, head, data.x, activation))(weights)
    else:
        closed = loss_gradient(head, slopes, data.x, (data.y - outputs) if defect else (outputs - data.y))
        exact = jax.grad(lambda w: jnp.sum((forward(w, head, data.x, activation) - data.y) ** 2) / 2)(weights)
    return jnp.max(jnp.abs(closed - exact)) / jnp.max(jnp.abs(exact))


def _gradient(of: str, defect: bool = False) -> Evidence:
    """The largest error over ten draws, by activation, initialisation and scale."""

    @in_float64
    def evidence(datasets: Datasets) -> xr.DataArray:
        def largest(activation: str, init: str, scale: str) -> float:
            problem = Setting(neurons=64, init=init, scale=scale).problem()
            errors = []
            for seed in range(datasets.seed, datasets.seed + DRAWS):
                key = jax.random.key(seed)
                weights, head = initialise(problem, stream(key, "init"))
                errors.append(float(_error(activation, of, defect, weights, head, draw(problem, key))))
            return max(errors)

        found = [[[largest(a, i, s) for s in SCALES] for i in INITS] for a in ACTIVATIONS]
        coords: dict[str, Any] = {"activation": list(ACTIVATIONS), "init": list(INITS), "scale": list(SCALES)}
        return xr.DataArray(found, coords=coords, dims=tuple(coords))

    return evidence


def _claim(name: str, statement: str, formula: str, of: str, defect: str) -> Claim:
    return Claim(
        name=name,
        reference="Equation (1)",
        kind="identity",
        statement=statement,
        formula=formula,
        evidence=_gradient(of),
        judge=at_most(1e-12),
        controls=(Control(defect, _gradient(of, defect=True)),),
    )


CLAIMS = (
    _claim(
        "q1-gradient-output",
        "The gradient of the output is a_r x φ'(<w_r, x>): equal to automatic differentiation to 1e-12, in ten draws, "
        "for both initialisations, four activations and both scales.",
        "∂F/∂w_r = κ a_r φ'(<w_r, x>) x",
        "output",
        "a_r left out",
    ),
    _claim(
        "q1-gradient-loss",
        "The gradient of the loss is Δw_r: equal to automatic differentiation to 1e-12, in the same draws.",
        "∇_{w_r} L = κ a_r Σ_i (F_i - y_i) φ'(<w_r, x_i>) x_i",
        "loss",
        "y - F for F - y",
    ),
)

"""What the claims share: the slack of bounds, evidence in float64, runs in one row, the small cases of section 8."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from lemmata.lab.claims import Datasets, Evidence
from lemmata.lab.precision import numerics
from lemmata.theories.exp_regression.decomposition import Terms, step_bounds, take_step
from lemmata.theories.exp_regression.network import Head, Weights

SLACK = 1 + 1e-9
"""Bounds are compared with this relative slack."""
RESIDUAL = 1e-10
"""Q8: allowed error of the decomposition, relative to max(1, ‖e‖² + |C_1| + |C_2| + C_3)."""

START, LIMIT, START_FAST, LIMIT_FAST = range(4)
"""Positions of `contraction`: λ of H(0) or of the limit, at the claimed rate or at 1 - 3mηλ."""

TWO_POINTS = np.array([[1.0, 0.0], [0.6, 0.8]])
TWO_TARGETS = np.array([0.5, -0.25])


def in_float64(evidence: Callable[[Datasets], Any]) -> Evidence:
    """Evidence that computes with JAX."""

    @functools.wraps(evidence)
    def taken(datasets: Datasets) -> Any:
        with numerics("float64"):
            return evidence(datasets)

    return taken


def all_runs(values: xr.DataArray, drop: bool = False) -> xr.DataArray:
    """Every cell and seed in one dimension `seed`; with `drop`, without the runs in which nothing was judged."""
    flat = np.ravel(values.values)
    return xr.DataArray(flat[~np.isnan(flat)] if drop else flat, dims="seed")


def contraction(data: xr.Dataset, which: int) -> xr.DataArray:
    """Largest ‖e(t)‖² over its bound, by whose λ and which rate."""
    return data.contraction.isel(rate_of=which)


def worst(**values: xr.DataArray) -> xr.DataArray:
    """The largest value of every experiment (underscores stand for the hyphens of its name); NaN if a run has none."""
    found = {name.replace("_", "-"): float(value.max(skipna=False)) for name, value in values.items()}
    return xr.DataArray(list(found.values()), coords={"experiment": list(found)})


def network(weights: Any, signs: Any) -> tuple[Weights, Head]:
    """A small network by hand, output scale 1; `weights` has one row a neuron."""
    return jnp.asarray(weights, float).T, Head(jnp.asarray(signs, float), jnp.asarray(1.0))


def two_point(eta: float) -> Terms:
    """The first step of the two-point example: m = 4, two opposite pairs."""
    weights, head = network([[0.5, 0], [0, -1], [0.5, 0], [0, -1]], [1, -1, -1, 1])
    return take_step(weights, head, jnp.asarray(TWO_POINTS), jnp.asarray(TWO_TARGETS), eta)


def tight_network(projection: float = 0.0) -> tuple[Weights, Head]:
    """The tight case: m = 8, a_r = 1, n = 1, x = (1); W = 0, or <w_r, x> = ±projection for its controls."""
    return network([[projection * (-1) ** r] for r in range(8)], np.ones(8))


def tight_step(projection: float = 0.0, eta: float = 1e-3) -> tuple[Terms, dict[str, float]]:
    """One step of the tight case, y = 0.3, and its left sides / right sides with B the projection and R = 0."""
    weights, head = tight_network(projection)
    terms = take_step(weights, head, jnp.ones((1, 1)), jnp.asarray([0.3]), eta)
    bounds = step_bounds(terms, head, 1, jnp.asarray(eta), jnp.asarray(projection), jnp.asarray(0.0))
    return terms, {name: float(value) for name, value in bounds.items()}


def tight_ratio(name: str, factor: float = 1.0, projection: float = 0.0) -> Evidence:
    """One left side / right side of the tight case; the right side divided by `factor`."""
    return in_float64(lambda datasets: factor * tight_step(projection)[1][name])

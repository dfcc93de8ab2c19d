"""When the infinite-width kernel is positive definite (Q4)."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import xarray as xr

from lemmata.lab.claims import HOLDS, INCONCLUSIVE, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import at_least, at_most
from lemmata.networks.kernels import SINGULAR, limit_kernel, spectrum
from lemmata.theories.exp_regression.claims.common import in_float64

DRAWS = 10
Points = Callable[[np.random.Generator], np.ndarray]


def _unit(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _generic(rng: np.random.Generator) -> np.ndarray:
    return _unit(rng, 6, 6)


def _tied(factor: float) -> Points:
    """Six points in six dimensions, the second `factor` times the first."""

    def points(rng: np.random.Generator) -> np.ndarray:
        x = _generic(rng)
        x[1] = factor * x[0]
        return x

    return points


def _antipodal_pairs(rng: np.random.Generator) -> np.ndarray:
    """d + 1 antipodal pairs in three dimensions."""
    x = _unit(rng, 4, 3)
    return np.concatenate([x, -x])


def _lone_pair(rng: np.random.Generator) -> np.ndarray:
    x = _unit(rng, 1, 3)
    return np.concatenate([x, -x])


PARALLEL, ANTIPODAL, DUPLICATE, ZERO = (_tied(factor) for factor in (0.5, -1.0, 1.0, 0.0))


def _ratio(activation: str, **cases: Points) -> Evidence:
    """λ_min/λ_max over ten draws, by case."""

    @in_float64
    def evidence(datasets: Datasets) -> xr.DataArray:
        found = []
        for points in cases.values():
            rng = np.random.default_rng(datasets.seed)
            spectra = [spectrum(limit_kernel(activation, jnp.asarray(points(rng)))) for _ in range(DRAWS)]
            found.append([float(s.least / s.largest) for s in spectra])
        return xr.DataArray(found, coords={"points": list(cases)}, dims=("points", "seed"))

    return evidence


def _size(activation: str, **cases: Points) -> Evidence:
    return lambda datasets: abs(_ratio(activation, **cases)(datasets))


def _decided(points: Points) -> Evidence:
    """The ratio, if float64 can tell it from zero."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        ratio = _ratio("exp", crowded=points)(datasets)
        if float(ratio.min()) <= SINGULAR:
            raise NotApplicable(
                f"numerically singular: λ_min/λ_max = {float(ratio.min()):.2g} although the points are distinct"
            )
        return ratio

    return evidence


def _singular(activation: str, statement: str, evidence: Evidence, *controls: Control) -> Claim:
    return Claim(
        name=f"q4-{activation}-singular",
        reference="Q4, derived",
        kind="identity",
        statement=statement,
        evidence=evidence,
        judge=at_most(SINGULAR, by="every"),
        controls=controls,
    )


CLAIMS = (
    Claim(
        name="q4-exp-definite",
        reference="Q4, derived",
        kind="identity",
        statement="The exponential kernel is positive definite on distinct non-zero points, parallel and antipodal "
        "ones included: λ_min/λ_max > 1e-12 in ten draws.",
        evidence=_ratio("exp", generic=_generic, parallel=PARALLEL, antipodal=ANTIPODAL),
        judge=at_least(SINGULAR, by="every", strict=True),
        controls=(
            Control("a row twice", _ratio("exp", duplicate=DUPLICATE)),
            Control("a zero row", _ratio("exp", zero=ZERO)),
        ),
    ),
    _singular(
        "exp",
        "The exponential kernel is singular with a repeated or a zero row.",
        _size("exp", duplicate=DUPLICATE, zero=ZERO),
        Control("distinct points", _size("exp", generic=_generic)),
    ),
    _singular(
        "relu",
        "The ReLU kernel is singular on two points of one direction, and on d + 1 antipodal pairs.",
        _size("relu", parallel=PARALLEL, pairs=_antipodal_pairs),
        Control("a lone antipodal pair", _size("relu", pair=_lone_pair)),
    ),
    _singular(
        "cosh",
        "The cosh kernel is singular on an antipodal pair.",
        _size("cosh", antipodal=ANTIPODAL),
        Control("generic points", _size("cosh", generic=_generic)),
    ),
    _singular(
        "sinh",
        "The sinh kernel is singular on an antipodal pair.",
        _size("sinh", antipodal=ANTIPODAL),
        Control("generic points", _size("sinh", generic=_generic)),
    ),
    Claim(
        name="q4-crowded",
        reference="Q4, derived",
        kind="identity",
        statement="The exponential kernel is positive definite on 40 distinct points of the circle, as far as float64 "
        "can tell.",
        evidence=_decided(lambda rng: _unit(rng, 40, 2)),
        judge=at_least(SINGULAR, by="every", strict=True),
        expected=INCONCLUSIVE,
        controls=(Control("ten orthonormal points", _decided(lambda rng: np.eye(10)), HOLDS),),
    ),
)

"""Subroutine 1, the tensor initialisation: subspace, directions and magnitudes of W* from moments (4.3).

Least squares on Q_1 gives z_j E[φ'(z_j w̄_jᵀx)] / K, not the magnitude z_j: the literal mode takes it for z_j, the
corrected mode solves for z_j, of the two possible roots the one whose third moment fits.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.theories.group_imbalance.data import Mixture, check_labels
from lemmata.theories.group_imbalance.decompositions import decomposed
from lemmata.theories.group_imbalance.moments import Moments, averages, sampled
from lemmata.theories.group_imbalance.network import SIGMOID, Activation, Inputs, Labels, Matrix, Vector, Weights

Array = np.ndarray
LONGEST = 50.0
"""No magnitude is looked for beyond it."""
GRID = np.geomspace(1e-3, LONGEST, 400)


class Magnitude(NamedTuple):
    """z_j, the other root (NaN if there is none), whether α̂_j lay above the peak, and the amplification A_j."""

    value: float
    other: float
    clipped: bool
    amplification: float


class Start(NamedTuple):
    """What Subroutine 1 returns, with its diagnostics."""

    weights: Weights
    literal: Weights
    directions: Weights
    subspace: Weights
    matrix: Matrix
    """M, whose eigenvectors span the subspace"""
    eigenvalues: Vector
    residual: float
    slopes: Float[Array, " neurons"]
    """α̂"""
    magnitudes: tuple[Magnitude, ...]


def slope_of(mixture: Mixture, direction: Vector, z: Any, neurons: int, phi: Activation = SIGMOID) -> Labels:
    """h_j(z) = (z/K) E[φ'(z w̄_jᵀx)]."""
    z = np.atleast_1d(z)
    return z * averages(mixture, np.outer(direction, z), phi) / neurons


def magnitude(
    mixture: Mixture, direction: Vector, slope: float, weight: float, neurons: int, phi: Activation = SIGMOID
) -> Magnitude:
    """The root of h_j(z) = α̂_j whose predicted third moment is nearest to the fitted weight c_j."""
    from scipy.optimize import brentq, minimize_scalar

    def off(z: Any) -> Any:
        return slope_of(mixture, direction, z, neurons, phi)[0] - slope

    values = slope_of(mixture, direction, GRID, neurons, phi) - slope
    roots = [GRID[i] for i in np.flatnonzero(values == 0)]
    crossings = np.flatnonzero(values[:-1] * values[1:] < 0)
    roots += [brentq(off, GRID[i], GRID[i + 1], xtol=1e-13, rtol=np.float64(1e-14)) for i in crossings]
    clipped = not roots and values[0] <= 0
    if not roots and values[0] > 0:
        roots = [GRID[0] * slope / (slope + values[0])]  # so small that h is linear
    elif not roots:
        top = int(np.argmax(values))
        ends = GRID[max(top - 1, 0)], GRID[min(top + 1, len(GRID) - 1)]
        lowest: Any = minimize_scalar(lambda z: -off(z), bounds=ends, method="bounded")
        roots = [float(lowest.x)]
    at = np.array(roots)
    third = at**3 * averages(mixture, np.outer(direction, at), phi, 3) / neurons
    order = np.argsort(abs(third - weight))
    best = float(at[order[0]])
    step = 1e-4 * best
    rise = (off(best + step) - off(best - step)) / (2 * step)
    amplification = abs((off(best) + slope) / (best * rise)) if rise else np.inf
    return Magnitude(best, float(at[order[1]]) if len(at) > 1 else np.nan, clipped, amplification)


def decompose(
    moments: Moments,
    mixture: Mixture,
    neurons: int,
    rng: np.random.Generator,
    *,
    backend: str = "kcl",
    phi: Activation = SIGMOID,
) -> Start:
    """Steps 2 to 9 of Subroutine 1 from the moments; the best of five random α for a symmetric mixture."""
    if mixture.is_symmetric():
        directions = rng.standard_normal((5, mixture.dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        candidates = moments.contracted(directions)
        M = max(candidates, key=lambda each: np.sort(np.abs(np.linalg.eigvalsh(each)))[-neurons])
    else:
        M = moments.second()
    values, vectors = np.linalg.eigh(M)
    largest = np.argsort(-np.abs(values))
    U = vectors[:, largest[:neurons]]
    found = decomposed(moments.projected(U), U.T @ M @ U, rng, backend)
    q = moments.first()
    slopes = np.linalg.lstsq(U @ found.vectors, q, rcond=None)[0]
    signs = np.where(slopes < 0, -1.0, 1.0)  # φ' > 0, so that α̂_j ≥ 0 gives the sign
    directions, slopes, weights = U @ (found.vectors * signs), slopes * signs, found.weights * signs
    columns = zip(directions.T, slopes.tolist(), weights.tolist(), strict=True)
    sizes = tuple(magnitude(mixture, *column, neurons, phi) for column in columns)
    corrected = directions * np.array([size.value for size in sizes])
    return Start(corrected, directions * slopes, directions, U, M, values[largest], found.residual, slopes, sizes)


def tensor_start(
    mixture: Mixture, x: Inputs, y: Labels, neurons: int, seed: int = 0, *, centre: float = 0.5, **how: Any
) -> Start:
    """Subroutine 1 on a sample; centre=0 is the literal version of the moments, `how` is said to `decompose`. A clipped
    magnitude is warned of."""
    if not np.isfinite(x).all():
        raise lm.UserError("The samples of a tensor start must be finite numbers.")
    rng = lm.generator(seed, "tensor")
    found = decompose(sampled(mixture, x, check_labels(y), rng, centre), mixture, neurons, rng, **how)
    if clipped := [str(column) for column, size in enumerate(found.magnitudes, 1) if size.clipped]:
        beyond = f"no magnitude fits column {', '.join(clipped)} of W_0: the largest slope that can be is taken instead"
        warnings.warn(beyond, lm.AssumptionWarning, stacklevel=2)
    return found

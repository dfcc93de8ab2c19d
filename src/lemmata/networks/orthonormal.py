"""Random matrices with orthonormal columns."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def orthonormalise(matrix: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """Q of the QR decomposition with positive diagonal of R; Haar distributed for a Gaussian matrix."""
    q, r = jnp.linalg.qr(matrix)
    return q * jnp.sign(jnp.diag(r))


def orthonormal(key: jax.Array, rows: int, columns: int) -> Float[Array, "rows columns"]:
    """A uniformly random matrix with orthonormal columns."""
    return orthonormalise(jax.random.normal(key, (rows, columns)))

"""Activations of two-layer networks by name: value and derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array


class Activation(NamedTuple):
    """phi and phi'. The derivative at a kink is 0."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]


ACTIVATIONS = {
    "exp": Activation(jnp.exp, jnp.exp),
    "cosh": Activation(jnp.cosh, jnp.sinh),
    "sinh": Activation(jnp.sinh, jnp.cosh),
    "relu": Activation(lambda z: jnp.maximum(z, 0), lambda z: (z > 0).astype(z.dtype)),
}

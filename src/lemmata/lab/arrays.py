"""Which array library a formula computes with: one formula serves compiled code and the host."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def library_of(*values: Any) -> Any:
    """`jax.numpy` where one of these is an array of JAX, else NumPy; JAX is not loaded for that."""
    jax = sys.modules.get("jax")
    return jax.numpy if jax is not None and any(isinstance(value, jax.Array) for value in values) else np

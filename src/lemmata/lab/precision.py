"""Precision: true float32 or float64. Only `lab` enters `enable_x64`, which is thread-local and changes draws."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal, get_args

import jax

Precision = Literal["float32", "float64"]
PRECISIONS = get_args(Precision)


@contextlib.contextmanager
def numerics(precision: str) -> Iterator[None]:
    """True float32 (no tf32 products) or float64, for this thread only.

    with lm.numerics("float64"):
        vit.simulate(vit.Setting(), 0)
    """
    assert precision in PRECISIONS, precision
    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision("highest"):
        yield

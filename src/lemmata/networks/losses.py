"""Losses of a margin y F: value and derivative. The sub-gradient at a kink is 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class MarginLoss(NamedTuple):
    """A loss as a function of the margin, with its derivative."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]

    def push(self, label: Any, weight: Any = 1.0) -> Callable[[Any], Any]:
        """The derivative of weight * loss(y F) as a function of F."""
        return lambda f: weight * label * self.slope(label * f)


def hinge(margin: Any = 1.0) -> MarginLoss:
    """max(gamma - m, 0); from m = gamma on everything is exactly 0."""
    return MarginLoss(
        # not jnp.maximum, whose automatic derivative at the kink is a half; NaN stays NaN
        lambda m: jnp.where(m >= margin, 0.0, margin - m),
        lambda m: jnp.where(margin - m > 0, -1.0, 0.0).astype(jnp.result_type(m)),
    )


def logistic() -> MarginLoss:
    """log(1 + exp(-m))."""
    return MarginLoss(lambda m: jax.nn.softplus(-m), lambda m: -jax.nn.sigmoid(-m))


def linear() -> MarginLoss:
    """-m: the gradient never saturates."""
    return MarginLoss(lambda m: -m, lambda m: -jnp.ones_like(m))

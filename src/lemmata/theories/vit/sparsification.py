"""Token sparsification (2.5): which tokens of a sample are kept. A dropped token is masked: neither query nor key.

A strategy is named by what it drops first. It gives every token a score; the `kept` tokens of largest score stay.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def score(strategy: str, uniform: Float[Array, "*samples tokens"], **known: Any) -> Float[Array, "*samples tokens"]:
    """The worth of every token. `uniform` in [0, 1) orders the tokens of a tier at random.

    known, as far as the strategy reads it: relevant, discriminative, background: 1 on tokens of that kind. noise: the
    distance of a token from its pattern. attention: w_{l,s} under a given model; token s is worth sum_l w_{l,s}.
    """
    return {
        "random": lambda: uniform,
        "irrelevant": lambda: known["relevant"] + uniform,
        "nondiscriminative": lambda: known["discriminative"] + uniform,
        "noisy": lambda: -known["noise"],
        "attention": lambda: jnp.sum(known["attention"], axis=-2),
        "relevant": lambda: uniform - known["relevant"],
        "spurious": lambda: uniform - known["background"],
    }[strategy]()


def keep_best(worth: Float[Array, "*samples tokens"], kept: int | Array) -> Float[Array, "*samples tokens"]:
    """1 on the `kept` tokens of largest worth, 0 on the others; of equal ones the first stays."""
    order = jnp.argsort(-worth, axis=-1)
    rank = jnp.argsort(order, axis=-1)
    return (rank < kept) * 1.0

"""Token sparsification (2.5): which tokens of a sample are kept. A dropped token is masked: neither query nor key.

A strategy is named by what it drops first. It gives every token a score; the `kept` tokens of largest score stay.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

STRATEGIES = ("random", "irrelevant", "nondiscriminative", "noisy", "attention", "relevant")
"""What is dropped first: tokens at random, label-irrelevant, non-discriminative, or noisy ones, those that attract the
least attention, or (a control) the label-relevant ones. Images have one more: `spurious`, the background tokens."""


def score(
    strategy: str,
    uniform: Float[Array, "*samples tokens"],
    *,
    relevant: Array | None = None,
    discriminative: Array | None = None,
    noise: Array | None = None,
    attention: Float[Array, "*samples tokens tokens"] | None = None,
    background: Array | None = None,
) -> Float[Array, "*samples tokens"]:
    """The worth of every token. `uniform` in [0, 1) orders the tokens of a tier at random.

    relevant, discriminative, background: 1 on tokens of that kind. noise: the distance of a token from its pattern.
    attention: w_{l,s} under a given model; token s is worth sum_l w_{l,s}.
    """

    def given(value: Array | None) -> Array:
        assert value is not None, f"the strategy {strategy} reads something that was not given"
        return value

    match strategy:
        case "random":
            return uniform
        case "irrelevant":
            return given(relevant) + uniform
        case "nondiscriminative":
            return given(discriminative) + uniform
        case "noisy":
            return -given(noise)
        case "attention":
            return jnp.sum(given(attention), axis=-2)
        case "relevant":
            return uniform - given(relevant)
        case "spurious":
            return uniform - given(background)
    raise ValueError(f"no strategy {strategy}")


def keep_best(worth: Float[Array, "*samples tokens"], kept: int | Array) -> Float[Array, "*samples tokens"]:
    """1 on the `kept` tokens of largest worth, 0 on the others; of equal ones the first stays."""
    order = jnp.argsort(-worth, axis=-1)
    rank = jnp.argsort(order, axis=-1)
    return (rank < kept) * 1.0

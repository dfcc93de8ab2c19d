"""An offset of the logits (a positional encoding), several heads and queries, in the forward pass and the gradient."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.networks.shallow import Network, gradient, gradient_with_offset, products, run_forward, split_heads

SAMPLES, QUERIES, TOKENS, DIMENSION, KEY, NEURONS = 3, 2, 5, 4, 3, 6
FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}
KINDS = [(1, True, False), (2, True, False), (2, False, False), (1, True, True)]
"""Heads, whether the queries are other tokens, skip connection."""


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Case:
    """A random network, tokens of which some are masked, queries and offsets."""

    def __init__(self, seed: int, heads: int, apart: bool) -> None:
        rng = np.random.default_rng(seed)
        leading = (heads,) if heads > 1 else ()
        shapes = ((NEURONS, DIMENSION), (DIMENSION, DIMENSION), (KEY, DIMENSION), (KEY, DIMENSION))
        self.network = Network(*(rng.normal(size=leading + shape) / 2 for shape in shapes))
        self.signs = rng.choice([-1.0, 1.0], NEURONS)
        self.tokens = rng.normal(size=(SAMPLES, TOKENS, DIMENSION))
        self.weight = rng.choice([0.0, 1.0, 2.0], (SAMPLES, TOKENS))
        self.weight[:, 0] = 1.0
        self.queries = rng.normal(size=(SAMPLES, QUERIES, DIMENSION)) if apart else None
        self.offset = 2 * rng.normal(size=(SAMPLES, QUERIES if apart else TOKENS, TOKENS))
        self.slope = rng.normal(size=SAMPLES)

    def plain(self, network: Network, offset: Any, skip: bool) -> Any:
        """F by the definition: an average over the queries; tokens of weight 0 are neither keys nor queries."""
        queries = self.tokens if self.queries is None else self.queries
        counted = self.weight if self.queries is None else np.ones(queries.shape[:2])
        share = counted / counted.sum(axis=1, keepdims=True)
        hidden = 0.0
        for head in split_heads(network):
            logits = jnp.einsum("nlk,nsk->nls", queries @ head.query.T, self.tokens @ head.key.T) + offset
            mass = self.weight[:, None] * jnp.exp(logits)
            mixed = mass / mass.sum(axis=2, keepdims=True) @ (self.tokens @ head.value.T)
            hidden += (mixed + queries if skip else mixed) @ head.output.T
        return jnp.sum(share * (jnp.maximum(hidden, 0) @ self.signs), axis=1)


def close(one: Any, two: Any, tolerance: float = 1e-11) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("heads", "apart", "skip"), KINDS)
def test_outputs_and_gradients_with_an_offset_are_those_of_the_definition_and_its_autodiff(heads, apart, skip):
    case = Case(heads + 10 * apart, heads, apart)

    def ours(network: Network, offset: Any) -> Any:
        run = run_forward(products(network, skip), case.signs, case.tokens, case.weight, skip, case.queries, offset)
        found = gradient_with_offset(
            network, case.signs, case.tokens, case.weight, lambda f: case.slope, offset, skip, case.queries
        )
        return run.output, run.answer, run.share, found

    def theirs(network: Network, offset: Any) -> Any:
        total = lambda n, o: jnp.sum(case.slope * case.plain(n, o, skip))  # noqa: E731
        return case.plain(network, offset, skip), jax.grad(total, argnums=(0, 1))(network, offset)

    output, answer, share, found = jax.jit(ours, **FAST)(case.network, case.offset)
    expected, automatic = jax.jit(theirs, **FAST)(case.network, case.offset)
    close(output, expected)
    close(jnp.sum(answer * share, axis=1), expected)
    close(found, automatic)
    assert np.abs(found[1]).max() > 1e-3
    # the tilt of every query adds up to zero: a constant in the offset changes nothing
    close(jnp.sum(found[1], axis=2), np.zeros(found[1].shape[:2]))


def test_no_offset_is_an_offset_of_zero_and_a_constant_one_changes_nothing():
    case = Case(3, 1, True)
    slope = lambda f: case.slope  # noqa: E731
    arguments = (case.network, case.signs, case.tokens, case.weight, slope)

    @functools.partial(jax.jit, **FAST)
    def all_ways() -> Any:
        zero, constant = (
            gradient_with_offset(*arguments, jnp.full((SAMPLES, QUERIES, TOKENS), c), queries=case.queries)
            for c in (0.0, 2.5)
        )
        return gradient(*arguments, queries=case.queries), zero, constant

    plain, zero, constant = all_ways()
    close(zero[0], plain)
    close(constant, zero)


def test_an_offset_of_minus_infinity_leaves_a_key_out():
    case = Case(4, 1, True)
    case.weight[:] = 1.0
    offset = np.zeros((SAMPLES, QUERIES, TOKENS))
    offset[:, :, 3:] = -np.inf

    @functools.partial(jax.jit, **FAST)
    def both(network: Network) -> Any:
        maps = products(network)
        out = run_forward(maps, case.signs, case.tokens, case.weight, False, case.queries, offset)
        return out, run_forward(maps, case.signs, case.tokens[:, :3], case.weight[:, :3], False, case.queries, None)

    out, short = both(case.network)
    close(out.output, short.output)
    assert not np.asarray(out.attention[0])[:, :, 3:].any()

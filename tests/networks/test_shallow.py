"""One layer of attention with given queries, as in `icl`; tokens that are their own queries are tested with `vit`."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.networks.shallow import Network, attention, forward, gradient, products, run_forward, split_heads

SAMPLES, QUERIES, TOKENS, DIMENSION, KEY, NEURONS = 3, 2, 5, 4, 3, 6
FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Case:
    """A random network, tokens of which some are masked, and other tokens as queries."""

    def __init__(self, seed: int, heads: int = 1) -> None:
        rng = np.random.default_rng(seed)
        leading = (heads,) if heads > 1 else ()
        shapes = ((NEURONS, DIMENSION), (DIMENSION, DIMENSION), (KEY, DIMENSION), (KEY, DIMENSION))
        self.network = Network(*(rng.normal(size=leading + shape) / 2 for shape in shapes))
        self.signs = rng.choice([-1.0, 1.0], NEURONS)
        self.tokens = rng.normal(size=(SAMPLES, TOKENS, DIMENSION))
        self.weight = rng.choice([0.0, 1.0, 2.0], (SAMPLES, TOKENS))
        self.weight[:, 0] = 1.0
        self.queries = rng.normal(size=(SAMPLES, QUERIES, DIMENSION))
        self.slope = rng.normal(size=SAMPLES)


run = jax.jit(forward, static_argnames="skip", **FAST)


def plain(case: Case, network: Network, skip: bool) -> Any:
    """F by the definition: an average over all queries, whatever the weights of the tokens."""
    hidden = 0.0
    for head in split_heads(network):
        keys, queries = case.tokens @ head.key.T, case.queries @ head.query.T
        mass = case.weight[:, None] * jnp.exp(queries @ keys.transpose(0, 2, 1))
        mixed = mass / mass.sum(axis=2, keepdims=True) @ (case.tokens @ head.value.T)
        hidden += (mixed + case.queries if skip else mixed) @ head.output.T
    return jnp.mean(jnp.maximum(hidden, 0) @ case.signs, axis=1)


@pytest.mark.parametrize(("heads", "skip"), [(1, False), (2, False), (1, True)])
def test_outputs_and_gradients_of_given_queries_equal_the_definition_and_its_autodiff(heads: int, skip: bool) -> None:
    case = Case(heads, heads)
    network = jax.tree.map(jnp.asarray, case.network)
    found = run(network, case.signs, case.tokens, case.weight, skip=skip, queries=case.queries)
    np.testing.assert_allclose(found, jax.jit(lambda n: plain(case, n, skip), **FAST)(network), rtol=1e-12)
    closed = jax.jit(
        lambda n: gradient(n, case.signs, case.tokens, case.weight, lambda _: case.slope, skip, case.queries), **FAST
    )(network)
    automatic = jax.jit(jax.grad(lambda n: jnp.sum(case.slope * plain(case, n, skip))), **FAST)(network)
    for name, one, two in zip(Network._fields, closed, automatic, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-12, err_msg=name)


def test_the_tokens_as_given_queries_are_the_tokens_as_their_own_queries() -> None:
    case = Case(3)
    ones = np.ones((SAMPLES, TOKENS))
    given = run(case.network, case.signs, case.tokens, ones, queries=case.tokens)
    np.testing.assert_allclose(given, run(case.network, case.signs, case.tokens, ones), rtol=1e-13)


def test_a_masked_token_is_no_query_of_its_own_but_a_given_query_always_counts() -> None:
    case = Case(4)
    case.weight[:, 1] = 0.0
    given = run(case.network, case.signs, case.tokens, case.weight, queries=case.tokens)
    assert np.max(np.abs(given - run(case.network, case.signs, case.tokens, case.weight))) > 1e-3
    shares = lambda n, a, x, c, q: run_forward(products(n), a, x, c, queries=q).share  # noqa: E731
    share = jax.jit(shares, **FAST)(case.network, case.signs, case.tokens, case.weight, case.queries)
    np.testing.assert_array_equal(share, 1 / QUERIES)


def test_a_single_key_gives_keys_and_queries_no_gradient_to_the_bit() -> None:
    with numerics("float32"):
        case = Case(5, heads=2)
        network = jax.tree.map(np.float32, case.network)
        weight = np.eye(TOKENS, dtype="f")[[1, 4, 0]]
        tokens, queries = np.float32(case.tokens), np.float32(case.queries)
        closed = jax.jit(lambda n, a, x, c, q: gradient(n, a, x, c, jnp.ones_like, queries=q), **FAST)
        d = closed(network, np.float32(case.signs), tokens, weight, queries)
        np.testing.assert_array_equal(d.key, 0)
        np.testing.assert_array_equal(d.query, 0)
        assert np.abs(d.value).max() > 1e-2


def test_products_stand_side_by_side_and_attention_is_the_mean_of_the_heads() -> None:
    case = Case(6, heads=2)
    attend = jax.jit(attention, **FAST)
    maps, logits = products(case.network)
    for head, one in enumerate(split_heads(case.network)):
        np.testing.assert_allclose(maps[:, head * DIMENSION : (head + 1) * DIMENSION], one.output @ one.value)
        np.testing.assert_allclose(logits[head], one.key.T @ one.query)
    each = [attend(one, case.tokens, case.weight) for one in split_heads(case.network)]
    np.testing.assert_allclose(attend(case.network, case.tokens, case.weight), (each[0] + each[1]) / 2, rtol=1e-12)

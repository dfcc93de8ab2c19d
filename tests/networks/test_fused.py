"""The kernels of the fused gradient, emulated on the CPU, against plain JAX and float64; and when they are used."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import math
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata.lab import devices
from lemmata.lab.precision import numerics
from lemmata.networks import fused
from lemmata.networks.shallow import Network, gradient

ROUTES = ("plain", "interpret")
FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}


@pytest.fixture(autouse=True)
def _float32() -> Iterator[None]:
    with numerics("float32"):
        yield


def draw(
    seed: int, samples: int, tokens: int, dimension: int, neurons: int, per_token: bool, size: float = 1.0
) -> tuple[Any, ...]:
    """A network, signs of all magnitudes, tokens of the given size of which some count several times and some, which
    are huge, are masked, weights, labels; numbers that float32 has."""
    rng = np.random.default_rng(seed)
    widths = ((neurons, 3), (3, dimension), (2, dimension), (2, dimension))
    network = Network(*(rng.normal(size=width) / (2 * size) for width in widths))
    signs = rng.normal(size=(tokens, neurons) if per_token else neurons) / neurons
    x = size * rng.normal(size=(samples, tokens, dimension))
    weight = rng.choice([0.0, 1.0, 3.0], (samples, tokens))
    weight[np.arange(samples), rng.integers(tokens, size=samples)] = 1.0
    x[weight == 0] *= 1e6
    return jax.tree.map(np.float32, (network, signs, x, weight, rng.choice([-1.0, 1.0], samples)))


def logistic(network: Network, signs: Any, tokens: Any, weight: Any, label: Any) -> Network:
    """The gradient of the logistic loss: the slope of a sample depends on its output."""
    return gradient(network, signs, tokens, weight, lambda f: -label * jax.nn.sigmoid(-label * f))


def descend(network: Network, *data: Any) -> Network:
    """Three steps of gradient descent."""

    def step(_: Any, now: Network) -> Network:
        return jax.tree.map(lambda w, g: w - 0.5 * g, now, logistic(now, *data))

    return jax.lax.fori_loop(0, 3, step, network)


def compute(route: str, function: Any, case: tuple[Any, ...]) -> Network:
    with fused.route(route):
        return jax.tree.map(np.float64, jax.jit(lambda *given: function(*given), **FAST)(*case))


def exact(function: Any, case: tuple[Any, ...]) -> Network:
    with numerics("float64"):
        return compute("plain", function, jax.tree.map(np.float64, case))


def errors(found: Network, truth: Network) -> np.ndarray:
    """The errors of every matrix of every run, relative to the size of the matrix."""
    pairs = zip(found, truth, strict=True)
    sizes = [np.linalg.norm((one - two, two), axis=(-2, -1)) for one, two in pairs]
    return np.array([error / np.maximum(size, 1e-30) for error, size in sizes])


@pytest.mark.parametrize(
    ("samples", "tokens", "dimension", "neurons", "per_token", "size"),
    [
        (1, 1, 2, 8, False, 1.0),
        (3, 7, 5, 300, False, 1e3),
        (2, 50, 10, 100, True, 1.0),
        (5, 20, 17, 70, True, 1e-3),
        (2, 90, 33, 130, False, 1.0),
    ],
)
def test_the_gradient_is_as_near_to_float64_as_plain_float32(
    samples: int, tokens: int, dimension: int, neurons: int, per_token: bool, size: float
) -> None:
    cases = [draw(seed, samples, tokens, dimension, neurons, per_token, size) for seed in range(5)]
    stack = jax.tree.map(lambda *leaves: np.stack(leaves), *cases)
    truth = exact(jax.vmap(logistic), stack)
    # the median of five draws: a gate at the edge, open in float64 and shut in float32, is no error of the kernels
    plain, found = (np.median(errors(compute(route, jax.vmap(logistic), stack), truth), axis=1) for route in ROUTES)
    np.testing.assert_array_less(found, 2 * plain + 1e-7)


@pytest.mark.parametrize("per_token", [False, True])
def test_stacked_runs_in_a_loop_train_as_plain_float32_does(per_token: bool) -> None:
    cases = [draw(seed, 2, 6, 3, 40, per_token) for seed in range(3)]
    stack = jax.tree.map(lambda *leaves: np.stack(leaves), *cases)
    found = compute("interpret", jax.vmap(descend), stack)
    np.testing.assert_array_less(errors(found, exact(jax.vmap(descend), stack)), 1e-6)


def test_a_single_key_gives_keys_and_queries_no_gradient_to_the_bit() -> None:
    network, signs, tokens, weight, label = draw(0, 2, 5, 4, 20, False)
    weight = 7 * np.eye(5, dtype="f")[[1, 4]]
    tokens[weight > 0] = np.abs(tokens[weight > 0])
    network = network._replace(key=-1e3 * abs(network.query), query=abs(network.query))  # a logit far below 0
    found = compute("interpret", logistic, (network, signs, tokens, weight, label))
    np.testing.assert_array_equal(found.key, 0)
    np.testing.assert_array_equal(found.query, 0)
    assert np.abs(found.value).max() > 1e-3


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_weight_that_is_no_number_is_not_hidden(bad: float) -> None:
    network, *data = draw(0, 2, 5, 4, 20, False)
    network.output[3, 1] = bad
    assert np.all(np.isnan(compute("interpret", logistic, (network, *data)).value))


halve = jax.jit(fused.split, static_argnums=1)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(-90, 90), st.booleans())
def test_two_float16_matrices_are_a_float32_matrix_to_its_last_bit(seed: int, exponent: int, by_row: bool) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.float32(rng.normal(size=(3, 4)) * 2.0 ** (exponent + rng.integers(-12, 1, (3, 4))))
    pair = halve(jnp.asarray(matrix), by_row)
    assert pair.high.dtype == pair.low.dtype == jnp.float16
    found = np.float64(pair.scale) * (np.float64(pair.high) + np.float64(pair.low))
    largest = np.abs(matrix).max(axis=1, keepdims=True) if by_row else np.abs(matrix).max()
    assert np.all(np.abs(found - matrix) <= 2.0**-23 * np.abs(matrix) + 2.0**-37 * largest)


def largest_array(program: str) -> int:
    """The entries of the largest array in a lowered program, outside of its kernels."""
    shapes = re.findall(r"tensor<((?:\d+x)+)\w+>", re.sub(r'"(?:[^"\\]|\\.)*"', "", program))
    return max(math.prod(map(int, shape.split("x")[:-1])) for shape in shapes)


@pytest.mark.parametrize("per_token", [False, True])
def test_the_program_for_a_gpu_has_two_kernels_and_no_array_of_the_size_of_the_hidden_layer(per_token: bool) -> None:
    runs, samples, tokens, neurons = 3, 20, 50, 1000
    case = draw(0, samples, tokens, 10, neurons, per_token)
    stack = jax.tree.map(lambda leaf: np.stack([leaf] * runs), case)
    hidden = runs * samples * tokens * neurons
    for route, kernels in (("fused", 1), ("plain", 0)):
        with fused.route(route):
            traced = jax.jit(lambda *given: jax.vmap(descend)(*given)).trace(*stack)
            program = traced.lower(lowering_platforms=("cuda",)).as_text()
        assert program.count('name = "shallow_sample"') == program.count('name = "shallow_neurons"') == kernels
        assert (largest_array(program) < hidden) == bool(kernels)


def kernels(*given: Any, **more: Any) -> int:
    network, signs, tokens, weight, label = given
    traced = jax.make_jaxpr(lambda: gradient(network, signs, tokens, weight, lambda f: label * f, **more))()
    return str(traced).count("pallas_call")


def test_a_cpu_uses_plain_jax() -> None:
    case = draw(0, 2, 20, 4, 10, False)
    assert kernels(*case) == 0
    with fused.route("fused"):
        assert kernels(*case) == 2


@pytest.mark.parametrize(("capability", "tokens", "used"), [("9.0", 20, True), ("9.0", 5, False), ("8.6", 20, False)])
def test_a_gpu_that_can_uses_the_kernels_unless_sequences_are_short(
    capability: str, tokens: int, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, signs, x, _, _ = draw(0, 2, tokens, 4, 10, False)
    monkeypatch.setattr(devices, "device", lambda: SimpleNamespace(compute_capability=capability))
    assert fused.applies(network.output, signs, x) == used
    with fused.route("plain"):
        assert not fused.applies(network.output, signs, x)


def test_what_the_kernels_do_not_know_is_left_to_plain_jax() -> None:
    network, signs, *data = draw(0, 2, 5, 3, 10, False)
    with fused.route("fused"):
        assert kernels(network, signs, *data) == 2
        assert kernels(network, signs, *data, queries=data[0][:, :2]) == 0
        assert kernels(network, signs, *data, skip=True) == 0
        assert kernels(jax.tree.map(lambda leaf: np.stack([leaf] * 2), network), signs, *data) == 0
        assert kernels(network, np.ones((2, 5, 10), "f"), *data) == 0
        assert kernels(network, np.ones((1, 10), "f"), *data) == 0
        assert kernels(*draw(0, 1, fused.LONGEST + 1, 3, 10, False)) == 0
        assert kernels(*draw(0, 1, 5, fused.WIDEST + 1, 10, False)) == 0
        with numerics("float64"):
            assert kernels(*jax.tree.map(np.float64, (network, signs, *data))) == 0

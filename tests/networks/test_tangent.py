"""The empirical tangent kernel against the explicit Jacobian, and that it is not what the Jacobian costs."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.networks import shallow
from lemmata.networks.tangent import empirical_kernel
from lemmata.networks.transformer import Block, Dense, Norm, transform

SAMPLES, OTHERS, DIMENSION, NEURONS, TOKENS = 5, 3, 4, 12, 3


@pytest.fixture(autouse=True)
def _double_precision():
    with numerics("float64"):
        yield


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled with less optimisation: every program runs once."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def normal(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape))


def by_jacobian(forward: Callable[..., Any], parameters: Any, inputs: Any) -> np.ndarray:
    """J J^T, from the gradient of every output of every input."""
    slopes = jax.tree.leaves(jitted(jax.jacrev(forward))(parameters, inputs))
    outputs = jax.eval_shape(forward, parameters, inputs).shape
    flat = np.concatenate([np.asarray(slope).reshape(*outputs, -1) for slope in slopes], axis=-1)
    return np.einsum("iap,jbp->ijab" if len(outputs) == 2 else "ip,jp->ij", flat, flat)


def kernel(forward: Callable[..., Any], parameters: Any, inputs: Any) -> np.ndarray:
    return np.asarray(jitted(lambda p, x: empirical_kernel(forward, p, x))(parameters, inputs))


def equations(program: Any) -> Iterator[Any]:
    """All equations, those of nested programs included."""
    for equation in program.eqns:
        yield equation
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda p: hasattr(p, "jaxpr") or hasattr(p, "eqns")
        ):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from equations(inner)


def largest(forward: Callable[..., Any], parameters: Any, inputs: Any) -> int:
    """The size of the largest array in the program of the kernel."""
    program = jax.make_jaxpr(lambda p, x: empirical_kernel(forward, p, x))(parameters, inputs)
    return max(math.prod(v.aval.shape) for equation in equations(program.jaxpr) for v in equation.outvars)


def loops(forward: Callable[..., Any], parameters: Any, inputs: Any) -> int:
    program = jax.make_jaxpr(lambda p, x: empirical_kernel(forward, p, x))(parameters, inputs)
    return sum(equation.primitive.name == "scan" for equation in equations(program.jaxpr))


def signs(neurons: int) -> np.ndarray:
    return np.where(np.arange(neurons) % 3 == 0, -1.0, 1.0) / math.sqrt(neurons)


def halves(w: Any, x: Any) -> Any:
    each = jax.nn.relu(jnp.einsum("rd,nd->nr", w, x)) * signs(len(w))
    return jnp.sum(each[:, : len(w) // 2] + each[:, len(w) // 2 :], axis=1)


TWO_LAYERS: dict[str, Callable[..., Any]] = {
    "a product with the transpose": lambda w, x: jax.nn.relu(x @ w.T) @ signs(len(w)),
    "the leaf first": lambda w, x: signs(len(w)) @ jax.nn.relu(w @ x.T),
    "einsum": lambda w, x: jnp.einsum("nr,r->n", jax.nn.gelu(jnp.einsum("nd,rd->nr", x, w)), signs(len(w))),
    "vmap of one input": lambda w, x: jax.vmap(lambda x: signs(len(w)) @ jnp.tanh(w @ x))(x),
    "vmap over neurons": lambda w, x: jax.vmap(lambda w: jnp.tanh(x @ w), out_axes=-1)(w) @ signs(len(w)),
    "two halves added": halves,
    "nested jit": jax.jit(lambda w, x: jax.jit(lambda w, x: jnp.tanh(x @ w.T))(w, x) @ signs(len(w))),
    "reshaped": lambda w, x: jnp.sum(
        jnp.tanh(x @ w.reshape(-1, 2, w.shape[1]).transpose(2, 1, 0).reshape(-1, len(w))), 1
    ),
    "one head of a vector": lambda w, x: jnp.tanh(jnp.tensordot(x, w, (1, 1)))[:, 0] ** 2,
}


@pytest.mark.parametrize("written", TWO_LAYERS)
def test_however_two_layers_are_written_the_kernel_is_exact_and_no_gradient_is_formed(written: str) -> None:
    forward, w, x = TWO_LAYERS[written], normal(0, NEURONS, DIMENSION), normal(1, SAMPLES, DIMENSION)
    np.testing.assert_allclose(kernel(forward, w, x), by_jacobian(forward, w, x), rtol=1e-12, atol=1e-13)
    samples, neurons, dimension = 20, 64, 16
    wide = normal(0, neurons, dimension), normal(1, samples, dimension)
    assert largest(forward, *wide) == max(samples * neurons, neurons * dimension)
    assert loops(forward, *wide) == 0


def test_the_compiled_kernel_of_two_layers_needs_the_memory_of_activations() -> None:
    samples, neurons, dimension = 32, 512, 16
    forward = TWO_LAYERS["a product with the transpose"]
    program = jax.jit(lambda w, x: empirical_kernel(forward, w, x))
    compiled = program.lower(normal(0, neurons, dimension), normal(1, samples, dimension)).compile()
    analysis = compiled.memory_analysis()
    assert analysis is not None
    assert analysis.temp_size_in_bytes < 8 * 4 * samples * (neurons + samples) < 8 * samples * neurons * dimension / 3


def test_two_layers_have_the_kernel_in_closed_form() -> None:
    w, x = normal(0, NEURONS, DIMENSION), normal(1, SAMPLES, DIMENSION)
    gate = np.where(x @ w.T > 0, signs(NEURONS), 0)
    found = kernel(TWO_LAYERS["a product with the transpose"], w, x)
    np.testing.assert_allclose(found, (gate @ gate.T) * (x @ x.T), rtol=1e-12, atol=1e-14)


def test_at_a_kink_the_kernel_has_the_derivative_that_relu_declares() -> None:
    w, x = jnp.zeros((NEURONS, DIMENSION)), normal(1, SAMPLES, DIMENSION)
    assert np.all(kernel(TWO_LAYERS["a product with the transpose"], w, x) == 0)
    assert np.all(np.diag(kernel(lambda w, x: jnp.sum(jnp.maximum(x @ w.T, 0), 1), w, x)) > 0)


def scanned(parameters: Any, x: Any) -> Any:
    stack, readout = parameters
    return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, stack)[0] @ readout


def tied(parameters: Any, x: Any) -> Any:
    w, a = parameters
    return jnp.tanh(jnp.tanh(x @ w) @ w.T) @ a


def tokens(parameters: Any, x: Any) -> Any:
    w, b, a = parameters
    return jnp.mean(jax.nn.gelu(x @ w + b), axis=1) @ a


def convolution(parameters: Any, x: Any) -> Any:
    filters, a = parameters
    return jnp.tanh(jax.lax.conv_general_dilated(x, filters, (1,), "SAME")).reshape(len(x), -1) @ a


def with_integers(parameters: Any, x: Any) -> Any:
    return jnp.tanh(x @ parameters["w"] ** parameters["power"]) @ parameters["a"]


@jax.custom_vjp
def doubled(w: Any, x: Any) -> Any:
    return jnp.sin(x @ w)


doubled.defvjp(
    lambda w, x: (jnp.sin(x @ w), (w, x)),
    lambda kept, g: (2 * kept[1].T @ (g * jnp.cos(kept[1] @ kept[0])), (g * jnp.cos(kept[1] @ kept[0])) @ kept[0].T),
)

NETWORKS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...], tuple[int, ...]]] = {
    "biases and a trained output": (
        lambda p, x: jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3],
        ((4, 12), (12,), (12,), ()),
        (4,),
    ),
    "three layers, vector outputs": (
        lambda p, x: jnp.tanh(jnp.tanh(x @ p[0]) @ p[1]) @ p[2] + p[3],
        ((4, 12), (12, 9), (9, 3), (3,)),
        (4,),
    ),
    "one output in a vector": (lambda p, x: jnp.tanh(x @ p[0]) @ p[1], ((4, 12), (12, 1)), (4,)),
    "tokens in a wide layer": (tokens, ((16, 30), (30,), (30, 2)), (TOKENS, 16)),
    "tokens in a narrow layer": (tokens, ((2, 3), (3,), (3,)), (7, 2)),
    "two axes of tokens, two contracted": (
        lambda p, x: jnp.sum(jnp.tanh(jnp.einsum("nabij,ijm->nabm", x, p[0])), (1, 2, 3)),
        ((4, 5, 30),),
        (2, 2, 4, 5),
    ),
    "tokens, the leaf first": (
        lambda p, x: jnp.sum(jnp.tanh(jnp.tensordot(p[0], x, (1, 2))) ** 2, 2).T[:, :2],
        ((20, 9),),
        (TOKENS, 9),
    ),
    "a leaf used twice": (tied, ((4, 12), (4,)), (4,)),
    "a leaf squared": (lambda p, x: jnp.tanh(x @ p[0] @ p[0]) @ p[1], ((5, 5), (5, 2)), (5,)),
    "a product of leaves": (lambda p, x: jnp.tanh(x @ (p[0] @ p[1])) @ p[2], ((4, 2), (2, 12), (12,)), (4,)),
    "a batched product per head": (
        lambda p, x: jnp.sum(jnp.tanh(jnp.einsum("nhd,hdm->nhm", x, p[0])), (1, 2)),
        ((3, 4, 6),),
        (3, 4),
    ),
    "a leaf repeated before its product": (
        lambda p, x: jnp.tanh(x @ jnp.broadcast_to(p[0], (12, 4)).T) @ jnp.arange(12.0),
        ((1, 4),),
        (4,),
    ),
    "a scanned stack": (scanned, ((3, 6, 6), (6, 2)), (6,)),
    "a convolution": (convolution, ((5, 2, 3), (40,)), (2, 8)),
    "scales and shifts": (lambda p, x: jnp.sum(jnp.tanh(p[0] * x + p[1]), (1, 2)), ((4,), (3, 1)), (3, 4)),
    "rematerialised": (
        lambda p, x: jax.checkpoint(lambda p, x: jnp.tanh(x @ p[0]) @ p[1])(p, x),
        ((4, 12), (12,)),
        (4,),
    ),
    "a derivative of its own": (lambda p, x: jnp.sum(doubled(p[0], x), 1), ((4, 12),), (4,)),
    "a leaf that is not used": (lambda p, x: jnp.sum(jnp.tanh(x @ p[0]), 1), ((4, 12), (7,)), (4,)),
    "a leaf that is the output": (lambda p, x: jnp.broadcast_to(p[0], (len(x), 3)), ((1, 3),), (4,)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_kernel_is_that_of_the_explicit_jacobian(name: str) -> None:
    forward, shapes, shape = NETWORKS[name]
    parameters = [normal(i, *each) / 2 for i, each in enumerate(shapes)]
    x = normal(90, SAMPLES, *shape)
    every = jitted(lambda p, x: (empirical_kernel(forward, p, x), empirical_kernel(forward, p, x, x[:OTHERS])))
    found, between = map(np.asarray, every(parameters, x))
    assert found.dtype == np.float64
    expected = by_jacobian(forward, parameters, x)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(between, expected[:, :OTHERS], rtol=1e-11, atol=1e-12)
    square = found if found.ndim == 2 else found.transpose(0, 2, 1, 3).reshape(2 * [SAMPLES * found.shape[2]])
    np.testing.assert_array_equal(square, square.T)
    assert np.linalg.eigvalsh(square).min() > -1e-12 * np.abs(square).max()


def test_without_jit_and_in_single_precision_the_kernel_is_the_same() -> None:
    w, x = normal(0, NEURONS, DIMENSION), normal(1, SAMPLES, DIMENSION)
    forward = TWO_LAYERS["a product with the transpose"]
    expected = by_jacobian(forward, w, x)
    np.testing.assert_allclose(empirical_kernel(forward, w, x), expected, rtol=1e-12, atol=1e-13)
    with numerics("float32"):
        single = kernel(forward, np.asarray(w, np.float32), np.asarray(x, np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-5, atol=1e-5)


def test_integers_among_the_parameters_are_constants() -> None:
    parameters = {"w": normal(0, DIMENSION, NEURONS), "a": normal(1, NEURONS), "power": np.array(2)}
    x = normal(2, SAMPLES, DIMENSION)

    def floating(some: Any, x: Any) -> Any:
        return with_integers(some | {"power": 2}, x)

    expected = by_jacobian(floating, {name: parameters[name] for name in ("w", "a")}, x)
    np.testing.assert_allclose(kernel(with_integers, parameters, x), expected, rtol=1e-12)


def test_a_wide_layer_on_tokens_forms_neither_gradients_nor_all_pairs_of_tokens() -> None:
    samples, wide = 2 * TOKENS**2 + 1, 48  # two inputs at a time, and one that is left over
    forward, x = NETWORKS["tokens in a wide layer"][0], normal(0, samples, TOKENS, wide)
    parameters = [normal(1, wide, wide), normal(2, wide), normal(3, wide)]
    np.testing.assert_allclose(kernel(forward, parameters, x), by_jacobian(forward, parameters, x), rtol=1e-10)
    assert largest(forward, parameters, x) <= samples * TOKENS * wide < samples * wide * wide / 8


def test_a_scanned_stack_is_done_with_the_memory_of_one_gradient() -> None:
    samples, width, depth = 64, 16, 4
    parameters = [normal(0, depth, width, width), normal(1, width)]
    x = normal(2, samples, width)
    assert largest(scanned, parameters, x) <= samples * width * depth < samples * width * width * depth


def test_the_transformer_has_the_kernel_of_its_jacobian() -> None:
    width, depth = 4, 2
    shapes = [(width,), (width,), (width, 3 * width), (3 * width,), (width, width), (width,)]
    shapes += [(width,), (width,), (width, width), (width,)]
    leaves = [normal(i, depth, *shape) for i, shape in enumerate(shapes)]
    layers = [pair(*leaves[2 * i : 2 * i + 2]) for i, pair in enumerate((Norm, Dense, Dense, Norm, Dense))]
    blocks = Block(*layers)  # pyright: ignore[reportArgumentType]
    x = normal(20, SAMPLES, TOKENS, width), jnp.ones((SAMPLES, TOKENS))

    def forward(blocks: Block, x: Any) -> Any:
        return transform(blocks, *x, heads=2)[0][:, 0, 0]

    np.testing.assert_allclose(kernel(forward, blocks, x), by_jacobian(forward, blocks, x), rtol=1e-10, atol=1e-11)


def test_the_shallow_vision_transformer_has_the_kernel_of_its_jacobian() -> None:
    matrices = shallow.Network(*(normal(i, *shape) for i, shape in enumerate(((16, 4), (4, 4), (4, 4), (4, 4)))))
    x = normal(8, SAMPLES, TOKENS, 4), jnp.ones((SAMPLES, TOKENS))

    def forward(matrices: Any, x: Any) -> Any:
        return shallow.forward(matrices, jnp.asarray(signs(16)), *x)

    np.testing.assert_allclose(kernel(forward, matrices, x), by_jacobian(forward, matrices, x), rtol=1e-10, atol=1e-11)


def test_the_kernel_of_a_wide_relu_layer_is_the_arc_cosine_kernel() -> None:
    neurons = 20_000
    w, x = normal(0, neurons, DIMENSION), normal(2, SAMPLES, DIMENSION)
    found = kernel(lambda w, x: jnp.sum(jax.nn.relu(x @ w.T), 1) / math.sqrt(neurons), w, x)
    length = np.linalg.norm(x, axis=1)
    angle = np.arccos(np.clip((x @ x.T) / np.outer(length, length), -1, 1))
    share = (np.pi - angle) / (2 * np.pi)
    deviation = np.abs(x @ x.T) * np.sqrt(share * (1 - share) / neurons)
    assert np.all(np.abs(found - (x @ x.T) * share) < 5 * deviation)


def test_the_kernel_equals_that_of_neural_tangents() -> None:
    try:
        import neural_tangents  # pyright: ignore[reportMissingImports]
    except ImportError as problem:
        pytest.skip(f"neural_tangents cannot be imported: {problem}")
    forward = TWO_LAYERS["a product with the transpose"]
    w, x, others = normal(0, NEURONS, DIMENSION), normal(1, SAMPLES, DIMENSION), normal(2, OTHERS, DIMENSION)
    theirs = neural_tangents.empirical_ntk_fn(lambda w, x: forward(w, x)[:, None], trace_axes=(-1,))(x, others, w)
    np.testing.assert_allclose(empirical_kernel(forward, w, x, others), theirs, rtol=1e-10, atol=1e-12)

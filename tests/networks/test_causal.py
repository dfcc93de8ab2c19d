"""The causal transformer against PyTorch's modules and closed forms, and what causality and masking promise."""

import math
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.lab.precision import numerics
from lemmata.networks.causal import POSITIONS, Causal, draw_causal, forward, sinusoidal
from lemmata.networks.transformer import Norm

WIDTH, HEADS, DEPTH, TOKENS, ROWS, SAMPLES, INPUTS, OUTPUTS = 6, 2, 2, 5, 7, 3, 4, 2


@pytest.fixture(autouse=True)
def _double_precision():
    with numerics("float64"):
        yield


draw = partial(draw_causal, inputs=INPUTS, outputs=OUTPUTS, width=WIDTH, rows=ROWS)
# every program runs a few times only
jitted = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


@cache
def perturbed(positions: str = "learned", blocks: int = DEPTH) -> Causal:
    """A network in which every parameter, biases and norms included, is away from its initial value."""
    shapes = jax.eval_shape(partial(draw, blocks=blocks, positions=positions, mlp=8), jax.random.key(0))
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda leaf: 0.5 * rng.standard_normal(leaf.shape), shapes)


def sequences(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((SAMPLES, TOKENS, INPUTS))


def normed(norm: Norm, x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * norm.scale + norm.shift


@partial(jitted, static_argnames=("positions", "show"))
def run(network: Causal, x: Any, weight: Any = None, *, positions: str = "learned", show: tuple[str, ...] = ()) -> Any:
    return forward(network, x, heads=HEADS, positions=positions, mask=weight, show=show)


def answers(*given: Any, positions: str = "learned") -> np.ndarray:
    return np.asarray(run(*given, positions=positions)[0])


def test_the_network_equals_one_of_pytorch_modules() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")
    nn, network, x = torch.nn, perturbed(), sequences()
    real = {"dtype": torch.float64}
    tensor = lambda leaf: torch.tensor(np.asarray(leaf))  # noqa: E731

    def linear(layer: Any) -> Any:
        module = nn.Linear(*layer.matrix.shape, **real)
        module.load_state_dict({"weight": tensor(layer.matrix.T), "bias": tensor(layer.bias)})
        return module

    def norm(layer: Any) -> Any:
        module = nn.LayerNorm(WIDTH, **real)
        module.load_state_dict({"weight": tensor(layer.scale), "bias": tensor(layer.shift)})
        return module

    def attention(block: Any) -> Any:
        module = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, **real)
        module.in_proj_weight.copy_(tensor(block.query_key_value.matrix.T))
        module.in_proj_bias.copy_(tensor(block.query_key_value.bias))
        module.out_proj = linear(block.attention_output)
        return module

    with torch.no_grad():
        later = torch.triu(torch.ones(TOKENS, TOKENS, dtype=torch.bool), diagonal=1)
        tokens = linear(network.embedding)(tensor(x)) + tensor(network.positions)[:TOKENS]
        for i in range(DEPTH):
            block: Any = jax.tree.map(lambda leaf, i=i: leaf[i], network.blocks)
            given = norm(block.attention_norm)(tokens)
            tokens = tokens + attention(block)(given, given, given, attn_mask=later)[0]
            mlp = nn.Sequential(linear(block.mlp), nn.GELU(), linear(block.mlp_output))
            tokens = tokens + mlp(norm(block.mlp_norm)(tokens))
        expected = linear(network.unembedding)(norm(network.last_norm)(tokens))
    np.testing.assert_allclose(answers(network, x), expected.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("positions", POSITIONS)
def test_without_attention_a_network_is_its_perceptrons_applied_to_input_and_position(positions: str) -> None:
    network, x = perturbed(positions, blocks=1), sequences()
    silent = network.blocks._replace(attention_output=jax.tree.map(np.zeros_like, network.blocks.attention_output))
    table = {
        "learned": network.positions,
        "sinusoidal": np.asarray(sinusoidal(ROWS, WIDTH)),
        "none": np.zeros((ROWS, 1)),
    }
    tokens = x @ network.embedding.matrix + network.embedding.bias + table[positions][:TOKENS]
    block: Any = jax.tree.map(lambda leaf: leaf[0], silent)
    before = normed(block.mlp_norm, tokens) @ block.mlp.matrix + block.mlp.bias
    gelu = before * stats.norm.cdf(before)
    tokens = tokens + gelu @ block.mlp_output.matrix + block.mlp_output.bias
    expected = normed(network.last_norm, tokens) @ network.unembedding.matrix + network.unembedding.bias
    found = answers(network._replace(blocks=silent), x, positions=positions)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_sinusoidal_positions_are_sines_and_cosines_of_geometric_frequencies() -> None:
    frequencies = (1, 0.01)  # 10000^{-2i/4}
    expected = [[f(p * w) for w in frequencies for f in (math.sin, math.cos)] for p in range(50)]
    np.testing.assert_allclose(sinusoidal(50, 4), expected, rtol=1e-12, atol=1e-14)


def test_a_change_of_a_token_changes_no_answer_before_it_and_all_from_it_on() -> None:
    network, x = perturbed(), sequences()
    for t in range(TOKENS):
        changed = x.copy()
        changed[:, t] += 1.0
        moved = np.abs(answers(network, changed) - answers(network, x)).max(axis=(0, 2))
        assert np.all(moved[:t] == 0)
        assert np.all(moved[t:] > 1e-6)


@pytest.mark.parametrize("positions", POSITIONS)
def test_masking_tokens_equals_deleting_them_wherever_they_stand(positions: str) -> None:
    network, x = perturbed(positions), sequences()
    present = np.array([[0, 1, 1, 0, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], dtype=float)
    masked = answers(network, x, present, positions=positions)
    assert np.isfinite(masked).all()
    deleted = answers(network, np.stack([x[i, row > 0] for i, row in enumerate(present)]), positions=positions)
    np.testing.assert_allclose([masked[i, row > 0] for i, row in enumerate(present)], deleted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("blocks", [1, 2])
def test_without_positions_one_block_reads_the_earlier_tokens_as_a_set_and_two_blocks_do_not(blocks: int) -> None:
    network, x = perturbed("none", blocks=blocks), sequences()
    plain, permuted = (answers(network, v, positions="none")[:, -1] for v in (x, x[:, [2, 0, 3, 1, 4]]))
    assert np.allclose(plain, permuted, rtol=1e-12, atol=1e-12) is (blocks == 1)


def test_attention_and_tokens_of_every_block_are_shown_on_request() -> None:
    network, x = perturbed(), sequences()
    found, shown = run(network, x, show=("attention", "tokens"))
    attention = np.asarray(shown["attention"])
    assert attention.shape == (DEPTH, SAMPLES, HEADS, TOKENS, TOKENS)
    np.testing.assert_allclose(attention.sum(-1), 1, rtol=1e-12)
    assert np.all((attention > 0) == np.tri(TOKENS, dtype=bool))
    read = (
        normed(network.last_norm, np.asarray(shown["tokens"][-1])) @ network.unembedding.matrix
        + network.unembedding.bias
    )
    np.testing.assert_allclose(found, read, rtol=1e-12)
    assert run(network, x)[1] == {}


def test_initial_weights_are_normal_and_those_that_write_into_the_residual_stream_smaller() -> None:
    drawn = jitted(partial(draw_causal, inputs=20, outputs=30, width=32, blocks=8, rows=40))(jax.random.key(3))
    network: Causal = jax.tree.map(np.asarray, drawn)
    blocks, standard = network.blocks, []
    for weights, shape, scale in (
        (network.embedding.matrix, (20, 32), 0.02),
        (network.positions, (40, 32), 0.02),
        (blocks.query_key_value.matrix, (8, 32, 96), 0.02),
        (blocks.attention_output.matrix, (8, 32, 32), 0.005),
        (blocks.mlp.matrix, (8, 32, 128), 0.02),
        (blocks.mlp_output.matrix, (8, 128, 32), 0.005),
        (network.unembedding.matrix, (32, 30), 0.02),
    ):
        assert weights.shape == shape
        standard.append(np.ravel(weights) / scale)
        assert stats.kstest(standard[-1], "norm").pvalue > 1e-3
    every = np.round(np.concatenate(standard), 10)
    assert np.unique(every).size > 0.999 * every.size  # no two layers or blocks share their draw
    for layer in (*blocks[1:3], *blocks[4:], network.embedding, network.unembedding):
        assert layer.bias.shape == (*layer.matrix.shape[:-2], layer.matrix.shape[-1])
        assert not np.any(layer.bias)
    for norm in (blocks.attention_norm, blocks.mlp_norm, network.last_norm):
        assert np.all(norm.scale == 1)
        assert not np.any(norm.shift)


def test_every_parameter_of_an_ensemble_in_float32_has_a_finite_gradient() -> None:
    x, weight = sequences().astype(np.float32), np.ones((SAMPLES, TOKENS), np.float32)
    weight[0, :2] = 0

    def loss(network: Causal) -> Any:
        found, _ = forward(network, jnp.asarray(x), heads=HEADS, mask=jnp.asarray(weight))
        return jnp.sum((found[:, -1] - 1) ** 2)

    @jitted
    @jax.vmap
    def slopes(key: Any) -> Causal:
        return jax.grad(loss)(draw(key, blocks=DEPTH))

    with numerics("float32"):
        found = slopes(jax.random.split(jax.random.key(0), 2))
    for leaf in jax.tree.leaves(found):
        assert leaf.dtype == np.float32
        assert np.isfinite(leaf).all()
        assert np.all(np.abs(leaf).reshape(2, -1).max(axis=1) > 0)


@pytest.mark.parametrize("positions", POSITIONS)
def test_only_learned_positions_are_parameters(positions: str) -> None:
    assert (perturbed(positions).positions is None) is (positions != "learned")


def test_what_does_not_fit_the_network_is_refused() -> None:
    network, x = perturbed(), sequences()
    with pytest.raises(AssertionError, match="4 heads do not divide the width 6"):
        forward(network, jnp.asarray(x), heads=4)
    with pytest.raises(AssertionError, match="8 tokens, but positions for 7"):
        forward(network, jnp.zeros((8, INPUTS)), heads=HEADS)
    with pytest.raises(AssertionError, match="not drawn with sinusoidal positions"):
        forward(network, jnp.asarray(x), heads=HEADS, positions="sinusoidal")
    with pytest.raises(AssertionError, match="learned, sinusoidal, none, not rotary"):
        perturbed("rotary")

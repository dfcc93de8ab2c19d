"""The transformer blocks against independent forward passes and their symmetries, in float64."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.networks import transformer
from lemmata.networks.transformer import Block, Dense, Norm, draw_blocks, layer_norm, self_attention

WIDTH, HEADS, DEPTH, TOKENS, SAMPLES = 6, 2, 3, 5, 4
transform = jax.jit(transformer.transform, static_argnames=("heads", "causal", "last", "show"))


@pytest.fixture(autouse=True)
def _double_precision():
    with numerics("float64"):
        yield


def perturbed(seed: int = 0) -> Block:
    """Blocks in which every parameter, norms included, is away from its initial value."""
    blocks = draw_blocks(jax.random.key(seed), blocks=DEPTH, width=WIDTH)
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: leaf + 0.3 * rng.standard_normal(leaf.shape), blocks)


def tokens(count: int = TOKENS, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((SAMPLES, count, WIDTH))


def ones(x: np.ndarray) -> np.ndarray:
    return np.ones(x.shape[:-1])


def by_hand(blocks: Block, sample: np.ndarray, causal: bool = False) -> np.ndarray:
    """The forward pass of one sample, token by token and head by head, in plain NumPy."""

    def norm(parameters: Norm, i: int, x: np.ndarray) -> np.ndarray:
        standard = (x - x.mean()) / math.sqrt(x.var() + 1e-5)
        return standard * np.asarray(parameters.scale[i]) + np.asarray(parameters.shift[i])

    def affine(layer: Dense, i: int, x: np.ndarray) -> np.ndarray:
        return np.asarray(layer.matrix[i]).T @ x + np.asarray(layer.bias[i])

    for i in range(DEPTH):
        query_key_value = [affine(blocks.query_key_value, i, norm(blocks.attention_norm, i, x)) for x in sample]
        size = WIDTH // HEADS
        after = []
        for t, x in enumerate(sample):
            mixed = []
            for h in range(HEADS):
                part = slice(h * size, (h + 1) * size)
                query, keys, values = (
                    query_key_value[t][:WIDTH][part],
                    [other[WIDTH : 2 * WIDTH][part] for other in query_key_value],
                    [other[2 * WIDTH :][part] for other in query_key_value],
                )
                seen = range(t + 1) if causal else range(len(sample))
                mass = np.exp([query @ keys[s] / math.sqrt(size) for s in seen])
                mixed.append(sum(m * values[s] for m, s in zip(mass, seen, strict=True)) / mass.sum())
            x = x + affine(blocks.attention_output, i, np.concatenate(mixed))
            after.append(x + np.maximum(affine(blocks.mlp, i, norm(blocks.mlp_norm, i, x)), 0))
        sample = np.stack(after)
    return sample


@pytest.mark.parametrize("causal", [False, True])
def test_a_stack_of_blocks_equals_the_forward_pass_written_by_hand(causal: bool) -> None:
    blocks, x = perturbed(), tokens()
    found, _ = transform(blocks, jnp.asarray(x), jnp.asarray(ones(x)), heads=HEADS, causal=causal)
    np.testing.assert_allclose(found, [by_hand(blocks, sample, causal) for sample in x], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_masking_tokens_equals_deleting_them(causal: bool) -> None:
    blocks, x = perturbed(), tokens()
    keep = np.array([1, 2, 4])  # the first token is masked: a causal query could see nothing at all
    mask = ones(x)
    mask[:, [0, 3]] = 0
    masked, _ = transform(blocks, jnp.asarray(x), jnp.asarray(mask), heads=HEADS, causal=causal)
    short = x[:, keep]
    deleted, _ = transform(blocks, jnp.asarray(short), jnp.asarray(ones(short)), heads=HEADS, causal=causal)
    np.testing.assert_allclose(masked[:, keep], deleted, rtol=1e-13, atol=1e-13)
    assert np.isfinite(masked).all()


@pytest.mark.parametrize("causal", [False, True])
def test_to_ask_the_last_token_only_gives_its_answer_attention_and_gradient(causal: bool) -> None:
    blocks, x = perturbed(), jnp.asarray(tokens())
    mask = jnp.asarray(ones(tokens())).at[:, 1].set(0)

    def answer(blocks: Block, last: bool) -> Any:
        how: dict[str, Any] = {"heads": HEADS, "causal": causal, "last": last, "show": ("attention", "tokens")}
        found, shown = transform(blocks, x, mask, **how)
        return jnp.sum(found[:, -1] ** 3), jax.tree.map(lambda part: part[..., -1:, :], (found, shown))

    slopes = jax.jit(jax.grad(answer, has_aux=True), static_argnums=1)
    (slope, whole), (slope_last, alone) = (slopes(blocks, last) for last in (False, True))
    assert transform(blocks, x, mask, heads=HEADS, causal=causal, last=True)[0].shape == (x.shape[0], 1, WIDTH)
    for one, other in zip(jax.tree.leaves((slope, whole)), jax.tree.leaves((slope_last, alone)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_masked_tokens_leave_finite_gradients_in_the_causal_transformer() -> None:
    blocks, x = perturbed(), tokens()
    mask = ones(x)
    mask[:, 0] = 0

    def total(blocks: Block) -> Any:
        found, _ = transform(blocks, jnp.asarray(x), jnp.asarray(mask), heads=HEADS, causal=True)
        return jnp.sum(found[:, 1:] ** 2)

    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.jit(jax.grad(total))(blocks)))


def test_a_token_of_weight_three_stands_for_three_equal_tokens() -> None:
    blocks, x = perturbed(), tokens()
    weight = ones(x)
    weight[:, 1] = 3
    heavy, _ = transform(blocks, jnp.asarray(x), jnp.asarray(weight), heads=HEADS)
    repeated = x[:, [0, 1, 1, 1, 2, 3, 4]]
    written_out, _ = transform(blocks, jnp.asarray(repeated), jnp.asarray(ones(repeated)), heads=HEADS)
    np.testing.assert_allclose(heavy[:, [0, 1, 4]], written_out[:, [0, 2, 6]], rtol=1e-12, atol=1e-12)


def test_a_causal_output_does_not_depend_on_later_tokens_and_others_do() -> None:
    blocks, x = perturbed(), tokens()
    changed = x.copy()
    changed[:, 3:] += 1.0
    for causal in (True, False):
        before, after = (
            np.asarray(transform(blocks, jnp.asarray(v), jnp.asarray(ones(x)), heads=HEADS, causal=causal)[0])
            for v in (x, changed)
        )
        assert np.array_equal(before[:, :3], after[:, :3]) is causal
        assert np.abs(before[:, 3:] - after[:, 3:]).min() > 1e-6


def test_permuting_the_tokens_permutes_the_outputs() -> None:
    blocks, x = perturbed(), tokens()
    order = np.array([3, 0, 4, 1, 2])
    plain, _ = transform(blocks, jnp.asarray(x), jnp.asarray(ones(x)), heads=HEADS)
    permuted, _ = transform(blocks, jnp.asarray(x[:, order]), jnp.asarray(ones(x)), heads=HEADS)
    np.testing.assert_allclose(permuted, plain[:, order], rtol=1e-12, atol=1e-12)


def test_autodiff_gradients_equal_finite_differences() -> None:
    blocks, x = perturbed(), tokens()
    direction = np.random.default_rng(5).standard_normal(x.shape)

    @jax.jit
    def total(blocks: Block) -> Any:
        return jnp.sum(direction * transform(blocks, jnp.asarray(x), jnp.asarray(ones(x)), heads=HEADS)[0])

    leaves, tree = jax.tree.flatten(blocks)
    slopes = jax.tree.leaves(jax.device_get(jax.jit(jax.grad(total))(blocks)))
    rng = np.random.default_rng(6)
    for i, (leaf, slope) in enumerate(zip(leaves, slopes, strict=True)):
        step = rng.standard_normal(leaf.shape)
        moved = [
            total(jax.tree.unflatten(tree, [*leaves[:i], leaf + sign * 1e-6 * step, *leaves[i + 1 :]]))
            for sign in (1, -1)
        ]
        np.testing.assert_allclose(np.sum(slope * step), (moved[0] - moved[1]) / 2e-6, rtol=1e-6)


def test_attention_and_tokens_of_every_block_are_shown_on_request() -> None:
    blocks, x = perturbed(), tokens()
    weight = ones(x)
    weight[:, 2] = 0
    final, shown = transform(blocks, jnp.asarray(x), jnp.asarray(weight), heads=HEADS, show=("attention", "tokens"))
    assert shown["attention"].shape == (DEPTH, SAMPLES, HEADS, TOKENS, TOKENS)
    np.testing.assert_allclose(shown["attention"].sum(-1), 1, rtol=1e-12)
    assert np.all(np.asarray(shown["attention"])[..., 2] == 0)
    np.testing.assert_array_equal(shown["tokens"][-1], final)
    _, nothing = transform(blocks, jnp.asarray(x), jnp.asarray(weight), heads=HEADS)
    assert nothing == {}


def test_a_causal_query_gives_no_attention_to_later_keys() -> None:
    x = tokens()
    _, shown = transform(
        perturbed(), jnp.asarray(x), jnp.asarray(ones(x)), heads=HEADS, causal=True, show=("attention",)
    )
    attention = np.asarray(shown["attention"])
    assert np.all(np.triu(np.ones((TOKENS, TOKENS)), 1) * attention == 0)
    np.testing.assert_allclose(attention.sum(-1), 1, rtol=1e-12)


def test_initial_blocks_differ_and_stay_within_one_over_the_root_of_their_inputs() -> None:
    blocks = draw_blocks(jax.random.key(0), blocks=DEPTH, width=48)
    for layer in (blocks.query_key_value, blocks.attention_output, blocks.mlp):
        for leaf in layer:
            assert 0.9 / math.sqrt(48) < np.abs(leaf).max() <= 1 / math.sqrt(48)
            assert not np.allclose(leaf[0], leaf[1])
    assert np.all(np.asarray(blocks.attention_norm.scale) == 1)


def test_attention_and_layer_norm_equal_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")
    blocks, x = perturbed(), tokens()
    first: Block = jax.tree.map(lambda leaf: leaf[0], blocks)
    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, dtype=torch.float64)
    as_tensor = lambda leaf: torch.tensor(np.asarray(leaf))  # noqa: E731
    with torch.no_grad():
        theirs.in_proj_weight.copy_(as_tensor(first.query_key_value.matrix.T))
        theirs.in_proj_bias.copy_(as_tensor(first.query_key_value.bias))
        theirs.out_proj.weight.copy_(as_tensor(first.attention_output.matrix.T))
        theirs.out_proj.bias.copy_(as_tensor(first.attention_output.bias))
        later = torch.triu(torch.ones(TOKENS, TOKENS, dtype=torch.bool), diagonal=1)
        for causal in (False, True):
            given = as_tensor(x)
            expected, _ = theirs(given, given, given, attn_mask=later if causal else None)
            ours, _ = self_attention(
                first.query_key_value,
                first.attention_output,
                jnp.asarray(x),
                jnp.asarray(ones(x)),
                heads=HEADS,
                causal=causal,
            )
            np.testing.assert_allclose(ours, expected.numpy(), rtol=1e-10, atol=1e-12)
        scale, shift = (as_tensor(leaf) for leaf in first.attention_norm)
        expected = torch.nn.functional.layer_norm(as_tensor(x), (WIDTH,), scale, shift)
        np.testing.assert_allclose(layer_norm(first.attention_norm, jnp.asarray(x)), expected.numpy(), rtol=1e-10)

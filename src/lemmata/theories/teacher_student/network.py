"""The students (section 3) and the per-sample gradient of the position-only one (Lemma C.1).

Inputs are stored feature first, X[feature, ..., token]: a batch is then one matrix product away from its outputs.
Row = key, column = query: S[i_1, i] is the weight that output column i gives to token i_1, and columns of S add to 1.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Values = Float[Array, "output feature"]
Scores = Float[Array, "token token"]
Positions = Float[Array, "position token"]
Attention = Float[Array, "position position"]
Inputs = Float[Array, "feature *batch token"]
Outputs = Float[Array, "output *batch token"]
Logits = Float[Array, "*batch key query"]
"""W_V or V*, S or S*, P, W_KQ, X, the answers, and what the softmax takes."""


class Weights(NamedTuple):
    """W_V and W_KQ: of the position-only student, or over Z = [X; P]."""

    values: Float[Array, "output input"]
    attention: Float[Array, "width width"]


class Factored(NamedTuple):
    """W_V, W_K, W_Q of a student with separate keys and queries, W_KQ = W_K^T W_Q: of positions or over Z = [X; P]."""

    values: Float[Array, "output input"]
    keys: Float[Array, "width width"]
    queries: Float[Array, "width width"]


def activate(z: Array, slope: Any, kink: Any = 1.0) -> Array:
    """σ_κ: identity for κ = 1, ReLU for κ = 0. Its derivative at 0, which autodiff takes, is `kink`."""
    return jnp.where(z > 0, z, jnp.where(z < 0, slope * z, kink * z))


def activation_slope(z: Array, slope: Any, kink: Any = 1.0) -> Array:
    """σ'_κ."""
    return jnp.where(z > 0, 1.0, jnp.where(z < 0, slope, kink))


def _turned(matrix: Logits, rows: Any) -> Logits:
    """The transposed matrix where `rows` is 1."""
    return matrix if rows is None else jnp.where(rows > 0, jnp.swapaxes(matrix, -1, -2), matrix)


def softmax(logits: Logits, rows: Any = None) -> Logits:
    """S: every column adds to 1; with `rows` = 1, a defect, every row does."""
    return _turned(jax.nn.softmax(_turned(logits, rows), axis=-2), rows)


def softmax_pullback(scores: Logits, gradient: Logits, rows: Any = None) -> Logits:
    """The gradient in the logits from the one in the scores: S ⊙ (∇ - ⟨S, ∇⟩)."""
    product = _turned(scores * gradient, rows)
    mean = jnp.broadcast_to(jnp.sum(product, axis=-2, keepdims=True), product.shape)
    return scores * (gradient - _turned(mean, rows))


def position_scores(attention: Attention, positions: Positions, temperature: Any = 1.0, rows: Any = None) -> Scores:
    """S = softmax(P^T W_KQ P / √D); the same for every input. `temperature` multiplies √D."""
    scale = temperature * jnp.sqrt(positions.shape[-1])
    return softmax(positions.T @ attention @ positions / scale, rows)


def position_gradient(logits: Scores, positions: Positions, temperature: Any = 1.0) -> Attention:
    """∇_{W_KQ} = P [ℓ_1 ... ℓ_D] P^T / √D from the gradient in the logits."""
    return positions @ logits @ positions.T / (temperature * jnp.sqrt(positions.shape[-1]))


def respond(values: Values, scores: Scores, inputs: Inputs, slope: Any, kink: Any = 1.0) -> Outputs:
    """σ(V X S): the position-only student, and the teacher with V*, S*."""
    return activate(jnp.einsum("mf,f...t->m...t", values, inputs @ scores), slope, kink)


def half_mean_square(difference: Float[Array, "output sample token"]) -> Float[Array, ""]:
    """½‖·‖_F², the mean over samples."""
    return 0.5 * jnp.sum(difference**2) / difference.shape[1]


def batch_gradient(
    weights: Weights,
    positions: Positions,
    inputs: Inputs,
    labels: Outputs,
    slope: Any,
    kink: Any = 1.0,
    temperature: Any = 1.0,
) -> Weights:
    """The gradient of the batch mean of ½‖Y - TF‖² (Lemma C.1), with U = W_V X and R = (σ(US) - Y) ⊙ σ'(US)."""
    scores = position_scores(weights.attention, positions, temperature)
    samples = inputs.shape[1]
    mixed = inputs @ scores
    before = jnp.einsum("mf,fnt->mnt", weights.values, mixed)
    error = (activate(before, slope, kink) - labels) * activation_slope(before, slope, kink)
    unmixed = jnp.einsum("mf,fnt->mnt", weights.values, inputs)
    in_scores = jnp.einsum("mnk,mnt->kt", unmixed, error) / samples
    attention = position_gradient(softmax_pullback(scores, in_scores), positions, temperature)
    return Weights(jnp.einsum("mnt,fnt->mf", error, mixed) / samples, attention)


def concatenated(inputs: Inputs, positions: Positions) -> Float[Array, "width *batch token"]:
    """Z = [X; P]."""
    spread = jnp.expand_dims(positions, tuple(range(1, inputs.ndim - 1)))
    return jnp.concatenate([inputs, jnp.broadcast_to(spread, (positions.shape[0], *inputs.shape[1:]))])


def full_respond(
    weights: Weights, both: Float[Array, "width *batch token"], slope: Any, kink: Any = 1.0, temperature: Any = 1.0
) -> Outputs:
    """σ(W_V Z softmax(Z^T W_KQ Z / √D)) with Z = [X; P]: keys are rows of the logits, queries columns."""
    scale = temperature * jnp.sqrt(both.shape[-1])
    asked = jnp.einsum("wv,v...t->w...t", weights.attention, both)
    scores = softmax(jnp.einsum("w...k,w...t->...kt", both, asked) / scale)
    unmixed = jnp.einsum("mw,w...k->m...k", weights.values, both)
    return activate(jnp.einsum("m...k,...kt->m...t", unmixed, scores), slope, kink)


def blocks(attention: Float[Array, "width width"], features: int) -> dict[str, Array]:
    """W^xx, W^xp, W^px, W^pp of a W_KQ over Z = [X; P]."""
    x, p = slice(None, features), slice(features, None)
    return {"xx": attention[x, x], "xp": attention[x, p], "px": attention[p, x], "pp": attention[p, p]}

"""The one-layer transformer (3.1, 3.2): F = a^T ReLU(W_O sum_i attn_i W_V p_i), attention of the query on the contexts.

It is `lemmata.networks.shallow` with one query, the contexts as keys and output weights ±1/m (or ±1/√m). Several heads
are stacked; concatenating their outputs before W_O is adding up W_O,h V_h.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks import shallow
from lemmata.networks.attention import concentration
from lemmata.networks.shallow import Network, Pass
from lemmata.theories.icl.data import Prompts
from lemmata.theories.icl.setting import Setting


@lm.piece("dimension", "label_dimension", "neurons", "key_width", "value_width", "heads", once=True)
def initialise(problem: Setting, key: jax.Array) -> tuple[Network, Float[Array, " neurons"]]:
    """The initial network and the output layer a, which is never trained.

    W_V is δ on its diagonal, W_Q and W_K on the first d_x diagonal entries; W_O is N(0, 1/m).
    """
    output_key, sign_key = jax.random.split(lm.stream(key, "init"))
    width = problem.dimension + problem.label_dimension
    m, delta = problem.neurons, jnp.asarray(problem.initial_scale, jnp.result_type(float))
    signs = problem.output_size * jax.random.rademacher(sign_key, (m,), delta.dtype)
    output = jax.random.normal(output_key, (problem.heads, m, problem.value_width)) / jnp.sqrt(m)
    score = delta * jnp.eye(problem.key_width, width) * (jnp.arange(width) < problem.dimension)
    head = Network(output[0], delta * jnp.eye(problem.value_width, width), score, score)
    if problem.heads == 1:
        return head, signs
    stacked = Network(*(jnp.broadcast_to(matrix, (problem.heads, *matrix.shape)) for matrix in head))
    return stacked._replace(output=jnp.where(problem.equal_blocks > 0, stacked.output, output)), signs


def _keys(prompts: Prompts, include_query: bool) -> tuple[Array, Array]:
    """The tokens that are attended to, with their weights: the contexts, and the query itself if it is included."""
    return prompts.columns() if include_query else (prompts.contexts, prompts.weight)


def run_forward(network: Network, signs: Array, prompts: Prompts, include_query: bool = False) -> Pass:
    """The forward pass on prompts; its hidden layer and attention have one query."""
    tokens, weight = _keys(prompts, include_query)
    maps = shallow.products(network)
    return shallow.run_forward(maps, signs, tokens, weight, queries=prompts.query[:, None])


def gradient(
    network: Network,
    signs: Array,
    prompts: Prompts,
    slope: Callable[[Float[Array, " prompts"]], Float[Array, " prompts"]],
    include_query: bool = False,
) -> Network:
    """The mean over prompts of slope(F) dF/dW, in closed form (section 4)."""
    (tokens, weight), count = _keys(prompts, include_query), prompts.label.shape[0]
    return shallow.gradient(network, signs, tokens, weight, lambda f: slope(f) / count, queries=prompts.query[:, None])


def attention_on(run: Pass, target: Float[Array, "prompts contexts"]) -> Float[Array, "heads prompts"]:
    """The attention of every head on these contexts; where the query is a key too, renormalised over the contexts."""
    length = target.shape[1]
    on_contexts = jnp.stack([w[:, :, :length] for w in run.attention])
    on_contexts = on_contexts / jnp.sum(on_contexts, axis=-1, keepdims=True)
    return concentration(on_contexts, target)[..., 0]


def maps(network: Network) -> tuple[Array, Array]:
    """W_Q and W_K."""
    return network.query, network.key


def neurons(network: Network) -> Float[Array, "neurons parts"]:
    """r_i, the rows of W_O W_V (of several heads side by side)."""
    return shallow.products(network)[0]

"""The one-layer graph transformer (3.1) and its kin: GCN, no encoding, GAT (3.3 - 3.6); their initial weights (3.2).

    F(x_n) = a^T ReLU(W_O V_n),  V_n = sum_s α_sn W_V x_s,  α_sn = softmax_s((W_K x_s)^T W_Q x_n + b_{bin(s,n)})

over the nodes s that n attends to. It is `networks.shallow` with one query per sample and the encoding as offset. A GCN
is the same network with W_K = W_Q = 0 and b = 0, frozen. With additive scores (GAT) the logits are
LeakyReLU(c^T [W x_n, W x_s]) instead; W is kept in the place of W_K and c beside it.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

import lemmata as lm
from lemmata.networks import shallow
from lemmata.networks.orthonormal import orthonormal
from lemmata.networks.shallow import Network, Pass, products
from lemmata.theories.graph_transformer.setting import NetworkSetting

SLOPE = 0.2
"""Of the leaky ReLU in additive scores."""


class Parameters(NamedTuple):
    """What is trained: the matrices, the encoding b, and (additive scores) the vector c."""

    network: Network
    encoding: Float[Array, " bins"]
    additive: Float[Array, " two_key_widths"]


class Tokens(NamedTuple):
    """What some nodes attend to: features of the nodes themselves and of their keys, weights (0: no key), bins."""

    query: Float[Array, "rows inputs"]
    keys: Float[Array, "rows keys inputs"]
    weight: Float[Array, "rows keys"]
    bins: Int[Array, "rows keys"]


def tokens_of(world: Any, rows: Array, keys: Array, weight: Array, bins: Any) -> Tokens:
    """Rows of nodes with their keys as the network reads them; `world` has features and a table, `bins` is Z."""
    far = jnp.minimum(world.table[rows[:, None], keys].astype(jnp.int32), bins - 1)
    return Tokens(world.features[rows], world.features[keys], weight, far)


@lm.piece("inputs", "neuron_room", "key_width", "value_width", "bin_room", "init", "row_norm", once=True)
def initialise(problem: NetworkSetting, key: jax.Array, directions: Array) -> tuple[Parameters, Array]:
    """The initial parameters and the output weights a; neurons beyond m have a_i = 0."""
    names = ("output", "sign", "shared", "value", "e_k", "e_q", "e_v", "c")
    keys: dict[str, jax.Array] = dict(zip(names, jax.random.split(lm.stream(key, "init"), 8), strict=True))
    width, inputs = problem.key_width, problem.inputs
    real = jnp.result_type(float)
    spread = problem.output_scale / (jnp.sqrt(problem.value_width) if problem.row_norm else 1.0)
    output = spread * jax.random.normal(keys["output"], (problem.neuron_room, problem.value_width))
    used = jnp.arange(problem.neuron_room) < problem.neurons
    signs = jnp.where(jax.random.bernoulli(keys["sign"], 0.5, used.shape), 1.0, -1.0) / jnp.sqrt(problem.neurons)

    def near(key: jax.Array, base: Array, error: Any) -> Array:
        """O + E with max_j |E μ_j| equal to the error bound (Assumption B.2.1)."""
        noise = jax.random.normal(key, base.shape)
        return base + error * noise / jnp.max(jnp.linalg.norm(noise @ directions, axis=0))

    shared = semi_orthogonal(keys["shared"], width, inputs)
    turned = semi_orthogonal(keys["value"], problem.value_width, inputs)
    if problem.init == "literal":
        scale = jnp.maximum(problem.feature_noise, 1e-12) ** 2
        k = q = problem.key_error**2 / scale * jnp.eye(width, inputs)
        v = problem.value_error**2 / scale * turned
    elif problem.init == "gaussian":
        k, q, v = (
            jax.random.normal(keys[name], (rows, inputs)) / jnp.sqrt(inputs)
            for name, rows in (("e_k", width), ("e_q", width), ("e_v", problem.value_width))
        )
    elif problem.init == "identity":
        k, q, v = shared, shared, turned
    else:
        k, q = near(keys["e_k"], shared, problem.key_error), near(keys["e_q"], shared, problem.key_error)
        v = near(keys["e_v"], turned, problem.value_error)
    network = Network(output, v * problem.value_columns, problem.attention_scale * k, problem.attention_scale * q)
    network = jax.tree.map(lambda leaf: leaf.astype(real), network)
    c = 0.1 * jax.random.normal(keys["c"], (2 * width,))
    return Parameters(network, jnp.zeros(problem.bin_room), c), jnp.where(used, signs, 0.0)


def semi_orthogonal(key: jax.Array, rows: int, columns: int) -> Float[Array, "rows columns"]:
    """Uniformly random with orthonormal columns, or rows where there are fewer of them."""
    return orthonormal(key, rows, columns) if rows >= columns else orthonormal(key, columns, rows).T


def offsets(parameters: Parameters, query: Array, keys: Array, bins: Array, scores: str) -> Array:
    """What is added to the products (W_K x_s)^T W_Q x_n of query n and key s: b at the bin, or additive scores."""
    if scores == "dot":
        return parameters.encoding[bins]
    c_query, c_key = jnp.split(parameters.additive, 2)
    w = parameters.network.key
    raw = (query @ w.T @ c_query)[..., None] + keys @ w.T @ c_key
    return jnp.where(raw > 0, raw, SLOPE * raw)


def matrices(parameters: Parameters, scores: str) -> Network:
    """The matrices of the forward pass; with additive scores there are no products."""
    network = parameters.network
    none = {"key": jnp.zeros_like(network.key), "query": jnp.zeros_like(network.query)}
    return network if scores == "dot" else network._replace(**none)


def run_sampled(parameters: Parameters, signs: Array, tokens: Tokens, scores: str = "dot") -> Pass:
    """F of every row, one query each: `answer[:, 0]`, `attention[0][:, 0]`, `mixed[:, 0]`."""
    offset = offsets(parameters, tokens.query, tokens.keys, tokens.bins, scores)
    network, queries = products(matrices(parameters, scores)), tokens.query[:, None]
    return shallow.run_forward(network, signs, tokens.keys, tokens.weight, queries=queries, offset=offset[:, None])


def run_full(
    parameters: Parameters, signs: Array, query: Array, keys: Array, bins: Array, allowed: Array, scores: str = "dot"
) -> Pass:
    """The same with all nodes as keys of every query, as far as `allowed`: `answer[0]`, `attention[0][0]`."""
    offset = offsets(parameters, query, keys, bins, scores)
    weight = jnp.ones((1, keys.shape[0]), keys.dtype)
    network, offset = products(matrices(parameters, scores)), jnp.where(allowed, offset, -jnp.inf)[None]
    return shallow.run_forward(network, signs, keys[None], weight, queries=query[None], offset=offset)


def gradient(parameters: Parameters, signs: Array, tokens: Tokens, slope: Any, scores: str = "dot") -> Parameters:
    """sum_n slope_n(F) dF_n/dW in closed form (oracle 8.2); additive scores by automatic differentiation."""
    if scores == "additive":

        def total(p: Parameters) -> Array:
            f = run_sampled(p, signs, tokens, scores).output
            return jnp.sum(jax.lax.stop_gradient(slope(f)) * f)

        return jax.grad(total)(parameters)
    network, b, c = parameters
    offset, query = b[tokens.bins][:, None], tokens.query[:, None]
    step, tilt = shallow.gradient_with_offset(network, signs, tokens.keys, tokens.weight, slope, offset, queries=query)
    return Parameters(step, by_bin(tilt[:, 0], tokens.bins, b.shape[0]), jnp.zeros_like(c))


def by_bin(values: Float[Array, "rows keys"], bins: Int[Array, "rows keys"], room: int) -> Float[Array, " bins"]:
    """Sums over all entries of each bin."""
    return jnp.stack([jnp.sum(jnp.where(bins == z, values, 0.0)) for z in range(room)])

"""What the initial network satisfies before any training: lucky sets (V10), noise (V9) and attention bounds (V24)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

import lemmata as lm
from lemmata.networks.attention import concentration
from lemmata.networks.shallow import Network, attention, products, run_forward
from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.network import Features, draw_signs, initial_errors, initialise
from lemmata.theories.vit.neurons import SIDES, find_lucky, single_fractions
from lemmata.theories.vit.setting import Setting

BOUNDS = ("paper", "theorem", "theorem, δ = 0")
"""Lower bounds on the attention on relevant tokens: p_n of Definition A.2.2, the one that is a theorem, and the latter
with the error of the maps left out (a control)."""


@lm.piece("sample_room", "neurons", "init", once=True)
def measure(
    problem: Setting, network: Network, features: Features, basis: Array, signs: Array, data: Data
) -> dict[str, Array]:
    """All that is measured, on the training samples."""
    data = jax.tree.map(lambda leaf: leaf[: problem.sample_room], data)
    used = jnp.arange(problem.sample_room) < problem.training_samples
    return {
        **lucky_fractions(network, signs, data, used),
        "neurons": jnp.asarray(problem.neurons, network.output.dtype),
        **noise_bound(network, features, basis, data, used),
        **attention_bounds(problem, network, features, basis, data, used),
    }


def lucky_fractions(network: Network, signs: Array, data: Data, used: Bool[Array, " samples"]) -> dict[str, Array]:
    """Shares of all neurons: active on one relevant token, and on all relevant tokens of a class (Lemma A.5.1)."""
    run = run_forward(products(network), signs, data.tokens, data.weight)
    unsigned, signed = single_fractions(run, signs, data._replace(weight=data.weight * used[:, None]))
    lucky = find_lucky(run, signs, data, used * 1.0, jax.random.key(0))
    return {
        "active_on_one": unsigned,
        "lucky_on_one": signed,
        "active_on_all": jnp.mean(lucky.unsigned * 1.0, axis=1),
        "lucky_on_all": jnp.mean(lucky.signed * 1.0, axis=1),
    }


def noise_bound(
    network: Network, features: Features, basis: Array, data: Data, used: Bool[Array, " samples"]
) -> dict[str, Array]:
    """The largest |W_O,i (W_V x_l - p_z(l))| over all neurons and tokens, relative to its Cauchy-Schwarz bound
    (σ + |W_V| τ) |W_O,i| (V9) with the empirical τ, and to the same with σ = 0."""
    sigma, _ = initial_errors(network, features, basis)
    tau = jnp.max(used[:, None] * data.noise)
    rest = data.tokens @ network.value.T - features.value.T[data.pattern]
    rows = network.output / jnp.linalg.norm(network.output, axis=1, keepdims=True)
    largest = jnp.max(used[:, None, None] * jnp.abs(rest @ rows.T))
    norm = jnp.linalg.norm(network.value, ord=2)
    return {"noise_ratio": largest / (sigma + norm * tau), "noise_ratio_without_error": largest / (norm * tau)}


def attention_bounds(
    problem: Setting, network: Network, features: Features, basis: Array, data: Data, used: Bool[Array, " samples"]
) -> dict[str, Array]:
    """How far the attention of relevant queries on relevant tokens exceeds its lower bounds, and how often it does not.

    p_n (A.15) with the measured |q_k|^2 = <W_K μ_k, q_k> <W_Q μ_k, q_k> of the sample's class k; and the theorem at
    t = 0 (V24): with D = δ + max(|W_K|, |W_Q|) τ logits of one pattern are at least 1 - 2D - D^2, those of two
    patterns at most 2D + D^2.
    """
    on_relevant = concentration(attention(network, data.tokens, data.weight), data.relevant())
    relevant = jnp.sum(data.relevant() * data.weight, axis=1)
    others = jnp.sum(data.weight, axis=1) - relevant
    _, delta = initial_errors(network, features, basis)
    tau = jnp.maximum(problem.noise_radius, jnp.max(used[:, None] * data.noise))

    own = jnp.diagonal(features.key.T @ network.key @ basis) * jnp.diagonal(features.key.T @ network.query @ basis)
    square = jnp.maximum(own[data.own()], 0.0)
    paper = relevant / (relevant + others * jnp.exp((delta + tau) * jnp.sqrt(square) - square))

    def theorem(error: Array) -> Array:
        norm = jnp.maximum(jnp.linalg.norm(network.key, ord=2), jnp.linalg.norm(network.query, ord=2))
        total = error + norm * tau
        same, cross = 1 - 2 * total - total**2, 2 * total + total**2
        return relevant / (relevant + others * jnp.exp(cross - same))

    bounds = jnp.stack([paper, theorem(delta), theorem(jnp.zeros_like(delta))])
    # the directions of a given model concern the class +1 alone
    judged = used[:, None] & (data.relevant() > 0) & ((data.vote > 0)[:, None] | (problem.init != "given"))
    excess = jnp.where(judged, on_relevant - bounds[:, :, None], jnp.inf)
    broken = jnp.sum((excess < -1e-6) & judged, axis=(1, 2)) / jnp.sum(judged)  # but for rounding
    return {
        "attention_excess": jnp.min(excess, axis=(1, 2)),
        "attention_broken": broken,
        "attention_least": jnp.min(jnp.where(judged, on_relevant, jnp.inf)),
    }


@lm.simulation(
    lm.Variable("active_on_one", ("side",), "", "share of neurons active on one relevant token of the class", True),
    lm.Variable("lucky_on_one", ("side",), "", "share of neurons that also have the sign of the class", True),
    lm.Variable("active_on_all", ("side",), "|W|/m", "share of neurons active on all relevant tokens of the class"),
    lm.Variable("lucky_on_all", ("side",), "", "share of neurons that also have the sign of the class"),
    lm.Variable("neurons", (), "m", "hidden neurons"),
    lm.Variable("noise_ratio", (), "", "largest response to token noise over its bound (σ + |W_V| τ) |W_O|", True),
    lm.Variable("noise_ratio_without_error", (), "", "the same with σ = 0 in the bound", True),
    lm.Variable("attention_excess", ("bound",), "", "smallest attention of a relevant query minus its lower bound"),
    lm.Variable("attention_broken", ("bound",), "", "share of relevant queries whose attention is below the bound"),
    lm.Variable("attention_least", (), "", "smallest attention of a relevant query on relevant tokens"),
    labels={"side": SIDES, "bound": BOUNDS},
)
def measure_initial(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Draw data and an initial network, and measure; nothing is trained."""
    plain = problem.heads == 1 and problem.classes == 2 and problem.members == 1 and problem.output == "shared"
    if not plain or problem.skip or problem.sparsified:
        allowed = "heads = 1, skip = false, classes = 2, members = 1, keep = 1 and output = shared"
        raise lm.UserError(f"The initial network is measured with {allowed} only.")
    basis = draw_patterns(problem, lm.stream(key, "data"))
    data = draw(problem, lm.stream(key, "data"), basis, count=problem.drawn_room)
    network, features = initialise(problem, lm.stream(key, "init"), basis)
    signs = draw_signs(problem, lm.stream(key, "init"))
    return measure(problem, network, features, basis, signs, data)

"""Single neurons (probes 5.6 to 5.8): which are lucky at initialisation, and what becomes of them.

A neuron i is lucky for class +1 if a_i > 0 and it is active, W_O,i V_l(0) > 0, on every label-relevant token of every
sample of that class; likewise for class -1 with a_i < 0 (Definition A.2.3, with the signs that the proof uses). The
other neurons are unlucky. Only output signs shared by all positions make this a property of a neuron.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

import lemmata as lm
from lemmata.networks.neurons import alignment, group_mean
from lemmata.networks.shallow import Network, Pass
from lemmata.theories.vit.data import Data
from lemmata.theories.vit.network import Features

GROUPS = ("plus", "minus", "unlucky")
GATE_GROUPS = ("plus", "minus", "random plus", "random minus")
SIDES = ("plus", "minus")
"""The two classes, or the two groups of lucky neurons."""
LABELS = {"group": GROUPS, "gate_group": GATE_GROUPS, "side": SIDES, "pair": ("same set", "different sets")}
BY_GROUP = ("record", "group")

NEURONS = (
    lm.Variable("alignment", ("record", "side"), "", "mean cosine of lucky neurons with their feature p_1, p_2", True),
    lm.Variable("component", (*BY_GROUP, "feature"), "|W_O p_j|", "mean size of W_O p_j by group of neurons", True),
    lm.Variable("square_norm", BY_GROUP, "|W_O|²", "mean squared norm of a row of W_O by group", True),
    lm.Variable("persistence", ("record", "gate_group"), "", "share of active (neuron, relevant token) pairs", True),
    lm.Variable("value_growth", (*BY_GROUP, "side"), "V_i^(k)", "mean coefficient of value growth", True),
    lm.Variable("value_size", (*BY_GROUP, "side"), "|V_i^(k)|", "mean size of the coefficient", True),
    lm.Variable("group_output", (*BY_GROUP, "side"), "", "what a group of neurons adds to |F|, by class", True),
    lm.Variable("unsolved", ("record", "side"), "", "share of the training samples of a class that have loss", True),
)


class Lucky(NamedTuple):
    """Sets of neurons as masks: active on all relevant tokens of a class, signed or not; random halves of each sign."""

    unsigned: Bool[Array, "side neurons"]
    signed: Bool[Array, "side neurons"]
    halves: Bool[Array, "side neurons"]

    def groups(self) -> Float[Array, "group neurons"]:
        """The masks of GROUPS."""
        return jnp.concatenate([self.signed, ~jnp.any(self.signed, axis=0, keepdims=True)]) * 1.0


def relevant_by_side(data: Data, sample_weight: Float[Array, " samples"]) -> Bool[Array, "side samples tokens"]:
    """The label-relevant tokens of the used samples of each class."""
    relevant = (data.relevant() > 0) & (sample_weight > 0)[:, None]
    return jnp.stack([relevant & (data.vote > 0)[:, None], relevant & (data.vote < 0)[:, None]])


def find_lucky(run: Pass, signs: Array, data: Data, sample_weight: Array, key: jax.Array) -> Lucky:
    """The lucky sets of a network (Definition A.2.3) from its forward pass on the data."""
    chosen = relevant_by_side(data, sample_weight)
    active = run.hidden > 0
    unsigned = jnp.stack([jnp.all(active | ~tokens[:, :, None], axis=(0, 1)) for tokens in chosen])
    sign = jnp.stack([signs > 0, signs < 0])
    marks = jax.random.uniform(key, signs.shape)
    middle = jnp.nanmedian(jnp.where(sign, marks, jnp.nan), axis=1, keepdims=True)
    return Lucky(unsigned, unsigned & sign, sign & (marks <= middle))


def single_fractions(run: Pass, signs: Array, data: Data) -> tuple[Float[Array, " side"], Float[Array, " side"]]:
    """Shares of the neurons active on the first relevant token of the first sample of each class: un-signed, signed."""
    chosen = relevant_by_side(data, jnp.ones(data.weight.shape[0])).reshape(2, -1)
    active = (run.hidden > 0).reshape(chosen.shape[1], -1)[jnp.argmax(chosen, axis=1)]  # [side, neurons]
    signed = active & jnp.stack([signs > 0, signs < 0])
    absent = jnp.where(jnp.any(chosen, axis=1), 0.0, jnp.nan)
    return jnp.mean(active * 1.0, axis=1) + absent, jnp.mean(signed * 1.0, axis=1) + absent


def neuron_probe(
    run: Pass,
    network: Network,
    features: Features,
    basis: Array,
    signs: Float[Array, " neurons"],
    data: Data,
    sample_weight: Float[Array, " samples"],
    unsolved: Float[Array, " samples"],
    lucky: Lucky,
) -> dict[str, Array]:
    """Probes 5.7 and 5.8 by group of neurons: `NEURONS`, with V_i^(k) of (A.176) over the samples with loss
    (`unsolved`) and, of several heads, the alignment with the normalised concatenation of their features."""
    groups = lucky.groups()
    rows, directions = _rows(network, features)
    along = rows @ directions  # [neurons, patterns]
    norms = jnp.linalg.norm(rows, axis=1)
    cosines = group_mean(alignment(rows, directions[:, :2]).T, groups)
    chosen = relevant_by_side(data, sample_weight) * 1.0
    active = (run.hidden > 0) * 1.0
    firing = jnp.einsum("knl,nli->ki", chosen, active) / jnp.sum(chosen, axis=(1, 2))[:, None]  # [side, neurons]
    gates = jnp.concatenate([lucky.signed, lucky.halves]) * 1.0
    fire = group_mean(firing, gates)  # [gate group, side]

    dimension = data.tokens.shape[2]
    heads = len(run.attention)
    pooled = sum(run.mixed[:, :, h * dimension : (h + 1) * dimension] for h in range(heads)) / heads
    pushes = (sample_weight * unsolved * data.label)[:, None] * run.share
    growth = -jnp.einsum("nl,nli,nlk->ki", pushes, run.gate, pooled @ basis[:, :2])  # [k, neurons]

    of_class = jnp.stack([data.vote > 0, data.vote < 0]) * sample_weight
    of_class = of_class / jnp.sum(of_class, axis=1, keepdims=True)
    fired = jnp.abs(signs) * jnp.maximum(run.hidden, 0.0)
    added = jnp.einsum("kn,nl,nli,gi->gk", of_class, run.share, fired, groups)
    return {
        "alignment": jnp.stack([cosines[0, 0], cosines[1, 1]]),
        "component": group_mean(jnp.abs(along).T, groups),
        "square_norm": group_mean(norms**2, groups),
        "persistence": jnp.stack([fire[0, 0], fire[1, 1], fire[2, 0], fire[3, 1]]),
        "value_growth": group_mean(growth, groups),
        "value_size": group_mean(jnp.abs(growth), groups),
        "group_output": added,
        "unsolved": of_class @ unsolved,
    }


def _rows(network: Network, features: Features) -> tuple[Float[Array, "neurons width"], Float[Array, "width patterns"]]:
    """The rows of W_O and the directions p_j; of several heads the concatenations (p_1,j; ..; p_H,j) / sqrt(H)."""
    if network.output.ndim == 2:
        return network.output, features.value
    heads, neurons, _ = network.output.shape
    rows = jnp.moveaxis(network.output, 0, 1).reshape(neurons, -1)
    return rows, features.value.reshape(-1, features.value.shape[2]) / jnp.sqrt(heads)


def class_displacement(
    before: Network, after: Network, features: Features, signs: Array
) -> Float[Array, "group class"]:
    """Mean displacement of W_O,i along p_k, by neuron group (the class its signs name) and class pattern (V19)."""
    outputs, _, _ = signs.shape
    bits = (signs[:, 0, :] < 0) * 1
    own = (2 ** jnp.arange(outputs)[::-1]) @ bits
    groups = (own[None, :] == jnp.arange(2**outputs)[:, None]) * 1.0
    (start, directions), (end, _) = _rows(before, features), _rows(after, features)
    moved = (end - start) @ directions[:, : 2**outputs]
    return group_mean(moved.T, groups)


def member_cosines(before: Network, after: Network, members: Array) -> Float[Array, " pair"]:
    """Cosine of the displacements of W_Q on two members: of one set (μ_11, μ_12), of two (μ_11, μ_21) (V20)."""
    moved = jnp.einsum("...kd,dlb->...klb", after.query - before.query, members)

    def cosine(a: Array, b: Array) -> Array:
        # frozen attention does not move: no direction, cosine 0
        product = jnp.linalg.norm(a) * jnp.linalg.norm(b)
        return jnp.where(product > 0, jnp.sum(a * b) / jnp.where(product > 0, product, 1.0), 0.0)

    one, same, other = moved[..., 0, 0], moved[..., 0, 1], moved[..., 1, 0]
    return jnp.stack([cosine(one, same), cosine(one, other)])

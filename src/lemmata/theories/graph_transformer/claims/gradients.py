"""Gradients: identities in float64 (P13, P14), and how far a batch lies from the mean (P16)."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.network import Parameters, Tokens, gradient, initialise, run_sampled, tokens_of
from lemmata.theories.graph_transformer.probes import draw_watched, value_coefficients
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.studies.batch_gradients import DRAWS, LIMIT

CASES = 20
BINS, KEYS, WIDTH, NEURONS = 4, 9, 5, 30
SMALL = Setting(
    nodes=80,
    degree=8,
    patterns=4,
    dimension=6,
    key_width=6,
    value_width=6,
    neurons=40,
    labelled=40,
    batch=20,
    sample=12,
    feature_noise=0.0,
    test_draws=1,
)
BATCH = 100
"""The batch whose tail is judged."""


def random_cases(seed: int) -> list[tuple[Parameters, jax.Array, Tokens]]:
    """Random parameters, output weights and one node with its keys."""
    draws = np.random.default_rng(seed)
    return [_random_case(draws) for _ in range(CASES)]


def _random_case(draws: np.random.Generator) -> tuple[Parameters, jax.Array, Tokens]:
    def normal(*shape: int) -> jax.Array:
        return jnp.asarray(draws.normal(size=shape))

    network = Network(normal(NEURONS, WIDTH), normal(WIDTH, WIDTH), normal(WIDTH, WIDTH) / 2, normal(WIDTH, WIDTH) / 2)
    signs = jnp.asarray(draws.choice([1.0, -1.0], NEURONS)) / np.sqrt(NEURONS)
    bins = jnp.asarray(draws.integers(0, BINS, (1, KEYS)))
    tokens = Tokens(normal(1, WIDTH), normal(1, KEYS, WIDTH), jnp.ones((1, KEYS)), bins)
    return Parameters(network, normal(BINS), jnp.zeros(2 * WIDTH)), signs, tokens


def encoding_derivative(parameters: Parameters, signs: Any, tokens: Tokens, *, centred: bool = True) -> np.ndarray:
    """∂F/∂b_z = sum_{s in N_z} α_s (e_s - F), e_s = r^T W_V x_s, r = W_O^T(a ⊙ 1[W_O V_n > 0]), for one node.

    Written out in NumPy, apart from the network's own code; `centred` = False leaves -F out.
    """
    w_o, w_v, w_k, w_q = (np.asarray(matrix) for matrix in parameters.network)
    a, b = np.asarray(signs), np.asarray(parameters.encoding)
    keys, bins, query = np.asarray(tokens.keys)[0], np.asarray(tokens.bins)[0], np.asarray(tokens.query)[0]
    logits = keys @ w_k.T @ (w_q @ query) + b[bins]
    alpha = np.exp(logits - logits.max())
    alpha /= alpha.sum()
    values = keys @ w_v.T
    r = w_o.T @ (a * (w_o @ (alpha @ values) > 0))
    e = values @ r
    push = alpha * (e - (alpha @ e if centred else 0.0))
    return np.array([push[bins == z].sum() for z in range(len(b))])


@lm.evidence(precision="float64")
def derivatives(seed: int, centred: bool = True) -> dict[str, np.ndarray]:
    """The formula against automatic differentiation."""
    formula, auto = [], []
    total = jax.grad(lambda b, p, a, t: run_sampled(p._replace(encoding=b), a, t).output[0])
    for parameters, signs, tokens in random_cases(seed):
        formula.append(encoding_derivative(parameters, signs, tokens, centred=centred))
        auto.append(np.asarray(total(parameters.encoding, parameters, signs, tokens)))
    return {"measured": np.stack(formula), "predicted": np.stack(auto)}


@lm.evidence("p7-training", precision="float64")
def encoding_sums(data: xr.Dataset, seed: int, centred: bool = True) -> dict[str, Any]:
    """max_t |sum_z b_z| of training, and the largest |sum_z| of the formula."""
    data = lm.cells(data, variant="intact")
    path = abs(data.distance_bias.sum("bin", skipna=False)).where(data.step.notnull()).max("record")
    sums = [encoding_derivative(*case, centred=centred).sum() for case in random_cases(seed)]
    return {"path": path, "formula": float(np.abs(sums).max())}


@lm.evidence(precision="float64")
def value_update(seed: int, head_first: bool = False) -> dict[str, np.ndarray]:
    """-η sum_i V_i^(j) W_O,i against the change of W_V μ_j over one step; `head_first`: W_O is updated before."""
    problem, key, eta = SMALL.problem(), jax.random.key(seed), SMALL.step_size
    world = jax.tree.map(
        lambda leaf: jnp.asarray(leaf, float) if np.asarray(leaf).dtype.kind == "f" else jnp.asarray(leaf),
        prepare(SMALL, seed),
    )
    parameters, signs = initialise(problem, key, world.directions)
    watched = draw_watched(problem, key, world)
    tokens = tokens_of(world, watched.node, watched.keys[0], watched.weight[0], SMALL.bins)
    batch = jax.tree.map(lambda leaf: leaf[: SMALL.batch], tokens)
    slope = hinge(SMALL.margin).push(world.label[watched.node][: SMALL.batch], 1 / SMALL.batch)
    output = parameters.network.output
    coefficients = value_coefficients(problem, signs, world, watched, run_sampled(parameters, signs, tokens))
    moved = parameters
    if head_first:
        step = gradient(parameters, signs, batch, slope).network.output
        moved = parameters._replace(network=parameters.network._replace(output=output - eta * step))
    after = -eta * gradient(moved, signs, batch, slope).network.value @ world.directions
    return {"measured": np.asarray(-eta * output.T @ coefficients), "predicted": np.asarray(after)}


@lm.evidence("p16-batch")
def batch_exponent(data: xr.Dataset, name: str = "deviation") -> xr.DataArray:
    """The exponent of the mean relative deviation in B."""
    return lm.log_slopes(data[name], "size", x=data["size"].astype(float))


@lm.evidence("p16-batch")
def tail_frequency(data: xr.Dataset, seed: int, exact: bool = False) -> float:
    """Lower 95 % Clopper-Pearson limit of the frequency of deviations beyond ε; `exact`: drawn with the stated tail."""
    from scipy.stats import beta

    exceeds = data.exceeds.sel(moment="start", part="W_O", size=str(BATCH))
    trials = DRAWS * exceeds.sizes["seed"]
    count = round(float(exceeds.mean()) * trials)
    if exact:  # P(deviation > ε) = e^{-B ε²}
        drawn = np.sqrt(-np.log(np.random.default_rng(seed).random(trials)) / BATCH)
        count = int(np.sum(drawn > LIMIT))
    return float(beta.ppf(0.025, count, trials - count + 1)) if count else 0.0


NOT_CENTRED = lm.Control("the formula without -F", centred=False)

CLAIMS = (
    lm.Claim(
        "p13-gradient",
        "Lemma B.3.3",
        "identity",
        "∂F/∂b_z is the attention in bin z times how far its scores exceed F: equal to automatic differentiation to "
        "1e-10 at 20 random draws.",
        derivatives(),
        lm.equal(1e-10),
        NOT_CENTRED,
        formula="∂F/∂b_z = Σ_{s∈N_z} α_s (e_s - F)",
        source="derived",
    ),
    lm.Claim(
        "p13-sum",
        "Lemma B.3.3",
        "identity",
        "The sum of b never changes: below 1e-5 at every record of training (float32), below 1e-10 in the formula.",
        encoding_sums(),
        lm.all_of(path=lm.at_most(1e-5, "every", strict=True), formula=lm.at_most(1e-10, strict=True)),
        NOT_CENTRED,
        formula="Σ_z b_z = 0",
        source="derived",
    ),
    lm.Claim(
        "p14-update",
        "Lemma B.3.4",
        "identity",
        "One step of SGD moves W_V μ_j by -η Σ_i V_i^(j) W_O,i exactly (1e-10, float64, c_0 = 0).",
        value_update(),
        lm.equal(1e-10),
        lm.Control("W_O updated before W_V", head_first=True),
    ),
    lm.Claim(
        "p16-slope",
        "(B.63)",
        "scaling",
        "The relative deviation of a batch gradient falls as B^(-1/2): exponent in [-.6, -.4] for each of the five "
        "parameters, at the start and at η t = 15.",
        batch_exponent(),
        lm.within(-0.6, -0.4, "clear", predicted=-0.5),
        lm.Control("B copies of one sample", name="copies"),
        formula="deviation ∝ B^-1/2",
    ),
    lm.Claim(
        "p16-probability",
        "(B.63)",
        "bound",
        "As stated: a batch gradient deviates by more than ε with probability at most e^{-B ε²} (W_O at the start, "
        "B = 100, ε = .5; lower 95 % limit of the frequency).",
        tail_frequency(),
        lm.at_most(math.exp(-BATCH * LIMIT**2)),
        lm.Control("deviations drawn with exactly that tail", exact=True),
        expected=lm.FAILS,
        formula="e^{-B ε²}",
    ),
)

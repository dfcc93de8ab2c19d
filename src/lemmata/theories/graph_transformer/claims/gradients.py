"""Gradients: identities in float64 (P13, P14), and how far a batch lies from the mean (P16)."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.data import World, prepare
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


def random_cases(seed: int) -> tuple[Parameters, np.ndarray, Tokens]:
    """Random parameters, output weights and one node with its keys, stacked."""
    draws = np.random.default_rng(seed)
    cases = [_random_case(draws) for _ in range(CASES)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *cases)


def _random_case(draws: np.random.Generator) -> tuple[Parameters, np.ndarray, Tokens]:
    def normal(*shape: int) -> Any:
        return draws.normal(size=shape)

    network = Network(normal(NEURONS, WIDTH), normal(WIDTH, WIDTH), normal(WIDTH, WIDTH) / 2, normal(WIDTH, WIDTH) / 2)
    signs = draws.choice([1.0, -1.0], NEURONS) / np.sqrt(NEURONS)
    bins: Any = draws.integers(0, BINS, (1, KEYS))
    tokens = Tokens(normal(1, WIDTH), normal(1, KEYS, WIDTH), np.ones((1, KEYS)), bins)  # pyright: ignore[reportArgumentType]
    return Parameters(network, normal(BINS), np.zeros(2 * WIDTH)), signs, tokens  # pyright: ignore[reportArgumentType]


def encoding_derivatives(seed: int, centred: bool = True) -> np.ndarray:
    """∂F/∂b_z = sum_{s in N_z} α_s (e_s - F), e_s = r^T W_V x_s, r = W_O^T(a ⊙ 1[W_O V_n > 0]), of every random case.

    Written out in NumPy, apart from the network's own code; `centred` = False leaves -F out.
    """
    cases: Any = random_cases(seed)
    ((w_o, w_v, w_k, w_q), b, _), a, (query, keys, _, bins) = cases
    keys, bins = keys[:, 0], bins[:, 0]
    logits = np.einsum("cki,cwi,cwj,cj->ck", keys, w_k, w_q, query[:, 0]) + np.take_along_axis(b, bins, axis=1)
    alpha = np.exp(logits - logits.max(axis=1, keepdims=True))
    alpha /= alpha.sum(axis=1, keepdims=True)
    values = keys @ w_v.swapaxes(1, 2)
    active = np.einsum("cnw,ckw,ck->cn", w_o, values, alpha) > 0
    e = np.einsum("ckw,cnw,cn->ck", values, w_o, a * active)
    push = alpha * (e - ((alpha * e).sum(axis=1, keepdims=True) if centred else 0.0))
    return np.stack([np.where(bins == z, push, 0.0).sum(axis=1) for z in range(BINS)], axis=1)


@jax.jit
@jax.vmap
def automatic_derivative(parameters: Parameters, signs: jax.Array, tokens: Tokens) -> jax.Array:
    """∂F/∂b of one node."""
    return jax.grad(lambda b: run_sampled(parameters._replace(encoding=b), signs, tokens).output[0])(
        parameters.encoding
    )


@lm.evidence(precision="float64")
def derivatives(seed: int, centred: bool = True) -> dict[str, np.ndarray]:
    """The formula against automatic differentiation."""
    auto = np.asarray(automatic_derivative(*random_cases(seed)))
    return {"measured": encoding_derivatives(seed, centred), "predicted": auto}


@lm.evidence("p7-training")
def encoding_sums(data: xr.Dataset, seed: int, centred: bool = True) -> dict[str, Any]:
    """max_t |sum_z b_z| of training, and the largest |sum_z| of the formula."""
    data = lm.cells(data, variant="intact")
    path = abs(data.distance_bias.sum("bin", skipna=False)).where(data.step.notnull()).max("record")
    sums = encoding_derivatives(seed, centred).sum(axis=1)
    return {"path": path, "formula": float(np.abs(sums).max())}


@jax.jit
def update_values(seed: int, world: World, head_first: float) -> tuple[jax.Array, jax.Array]:
    """-η sum_i V_i^(j) W_O,i, and the change of W_V μ_j over one step of SGD."""
    problem, key, eta = SMALL.problem(), jax.random.key(seed), SMALL.step_size
    parameters, signs = initialise(problem, key, world.directions)
    watched = draw_watched(problem, key, world)
    tokens = tokens_of(world, watched.node, watched.keys[0], watched.weight[0], SMALL.bins)
    batch = jax.tree.map(lambda leaf: leaf[: SMALL.batch], tokens)
    slope = hinge(SMALL.margin).push(world.label[watched.node][: SMALL.batch], 1 / SMALL.batch)
    network = parameters.network
    coefficients = value_coefficients(problem, signs, world, watched, run_sampled(parameters, signs, tokens))
    step = gradient(parameters, signs, batch, slope).network.output
    moved = parameters._replace(network=network._replace(output=network.output - head_first * eta * step))
    after = gradient(moved, signs, batch, slope).network.value @ world.directions
    return -eta * network.output.T @ coefficients, -eta * after


@lm.evidence(precision="float64")
def value_update(seed: int, head_first: bool = False) -> dict[str, np.ndarray]:
    """-η sum_i V_i^(j) W_O,i against the change of W_V μ_j over one step; `head_first`: W_O is updated before."""
    world = jax.tree.map(lambda leaf: leaf.astype(float) if leaf.dtype.kind == "f" else leaf, prepare(SMALL, seed))
    coefficients, after = update_values(seed, world, float(head_first))
    return {"measured": np.asarray(coefficients), "predicted": np.asarray(after)}


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
    lm.Claim("p13-gradient", "Lemma B.3.3", "identity", source="derived")
    .states("""∂F/∂b_z is the attention in bin z times how far its scores exceed F: equal to automatic differentiation
        to 1e-10 at 20 random draws.""")
    .in_symbols(r"\frac{\partial F}{\partial b_z} = \sum_{s\in\mathcal{N}_z}\alpha_s(e_s-F)")
    .judged(derivatives(), lm.equal(1e-10), NOT_CENTRED),
    lm.Claim("p13-sum", "Lemma B.3.3", "identity", source="derived")
    .states("""The sum of the encoding b never changes: below 1e-5 at every record of training (float32), below 1e-10 in
        the formula for its gradient.""")
    .in_symbols(r"\sum_zb_z(t) = 0,\ \sum_z\frac{\partial F}{\partial b_z} = 0")
    .judged(
        encoding_sums(),
        lm.all_of(path=lm.at_most(1e-5, "every", strict=True), formula=lm.at_most(1e-10, strict=True)),
        NOT_CENTRED,
    ),
    lm.Claim("p14-update", "Lemma B.3.4", "identity")
    .states("One step of SGD moves W_V μ_j by -η Σ_i V_i^(j) W_O,i exactly (1e-10, float64, c_0 = 0).")
    .in_symbols(r"(W_V^{(t+1)}-W_V^{(t)})\mu_j = -\eta\sum_iV_i^{(j)}W_{O,i}^\top")
    .judged(value_update(), lm.equal(1e-10), lm.Control("W_O updated before W_V", head_first=True)),
    lm.Claim("p16-slope", "(B.63)", "scaling")
    .states("""The relative deviation of a batch gradient falls as B^(-1/2): exponent in [-.6, -.4] for each of the five
        parameters, at the start and at η t = 15.""")
    .in_symbols(r"\frac{\lVert\hat{g}_B-g\rVert}{\lVert g\rVert} \propto B^{-1/2}")
    .judged(
        batch_exponent(),
        lm.within(-0.6, -0.4, "clear", predicted=-0.5),
        lm.Control("B copies of one sample", name="copies"),
    ),
    lm.Claim("p16-probability", "(B.63)", "bound")
    .states("""As stated: a batch gradient deviates by more than ε with probability at most e^{-B ε²} (W_O at the start,
        B = 100, ε = .5; lower 95 % limit of the frequency).""")
    .in_symbols(r"\Pr\left(\frac{\lVert\hat{g}_B-g\rVert}{\lVert g\rVert} > \epsilon\right) \le e^{-B\epsilon^2}")
    .judged(
        tail_frequency(),
        lm.at_most(math.exp(-BATCH * LIMIT**2)),
        lm.Control("deviations drawn with exactly that tail", exact=True),
        expected=lm.FAILS,
    ),
)

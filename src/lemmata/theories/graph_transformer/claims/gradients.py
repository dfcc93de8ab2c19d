"""Gradients: identities in float64 (P13, P14), and how far a batch lies from the mean (P16)."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_most, equal, within
from lemmata.lab.measures import log_slopes
from lemmata.lab.precision import numerics
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.network import Parameters, Tokens, gradient, initialise, run_sampled, tokens_of
from lemmata.theories.graph_transformer.probes import draw_watched, value_coefficients
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.studies.batch_gradients import DRAWS, LIMIT

CASES = 20
BINS, KEYS, WIDTH, NEURONS = 4, 9, 5, 30
SMALL: dict[str, Any] = {
    "nodes": 80, "degree": 8, "patterns": 4, "dimension": 6, "key_width": 6, "value_width": 6, "neurons": 40,
    "labelled": 40, "batch": 20, "sample": 12, "feature_noise": 0.0, "test_draws": 1,
}  # fmt: skip


def _random_case(draws: np.random.Generator) -> tuple[Parameters, jax.Array, Tokens]:
    normal = lambda *shape: jnp.asarray(draws.normal(size=shape))  # noqa: E731
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


def _cases(datasets: Datasets) -> list[tuple[Parameters, jax.Array, Tokens]]:
    draws = np.random.default_rng(datasets.seed)
    return [_random_case(draws) for _ in range(CASES)]


def _derivatives(centred: bool) -> Evidence:
    """The formula against automatic differentiation."""

    def evidence(datasets: Datasets) -> dict[str, np.ndarray]:
        formula, auto = [], []
        with numerics("float64"):
            for parameters, signs, tokens in _cases(datasets):
                formula.append(encoding_derivative(parameters, signs, tokens, centred=centred))
                total = jax.grad(lambda b, p, a, t: run_sampled(p._replace(encoding=b), a, t).output[0])
                auto.append(np.asarray(total(parameters.encoding, parameters, signs, tokens)))
        return {"measured": np.stack(formula), "predicted": np.stack(auto)}

    return evidence


def _sums(centred: bool) -> Evidence:
    """max_t |sum_z b_z| of training, and the largest |sum_z| of the formula."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        data = datasets["p7-training"].sel(variant="intact", drop=True)
        path = abs(data.distance_bias.sum("bin", skipna=False)).where(data.step.notnull()).max("record")
        with numerics("float64"):
            sums = [encoding_derivative(*case, centred=centred).sum() for case in _cases(datasets)]
        return {"path": path, "formula": xr.DataArray(float(np.abs(sums).max()))}

    return evidence


def _update(head_first: bool) -> Evidence:
    """-η sum_i V_i^(j) W_O,i against the change of W_V μ_j over one step; `head_first`: W_O is updated before."""

    def evidence(datasets: Datasets) -> dict[str, np.ndarray]:
        setting = Setting(**SMALL)
        problem = setting.problem()
        eta, loss = setting.step_size, hinge(setting.margin)
        with numerics("float64"):
            key = jax.random.key(datasets.seed)
            world = jax.tree.map(
                lambda leaf: jnp.asarray(leaf, float) if np.asarray(leaf).dtype.kind == "f" else jnp.asarray(leaf),
                prepare(setting, datasets.seed),
            )
            parameters, signs = initialise(problem, key, world.directions)
            watched = draw_watched(problem, key, world)
            rows = slice(0, setting.batch)
            tokens = tokens_of(world, watched.node, watched.keys[0], watched.weight[0], setting.bins)
            batch = jax.tree.map(lambda leaf: leaf[rows], tokens)
            label = world.label[watched.node][rows]
            slope = loss.push(label, 1 / setting.batch)
            output = parameters.network.output
            coefficients = value_coefficients(problem, signs, world, watched, run_sampled(parameters, signs, tokens))
            moved = parameters
            if head_first:
                step = gradient(parameters, signs, batch, slope).network.output
                moved = parameters._replace(network=parameters.network._replace(output=output - eta * step))
            after = -eta * gradient(moved, signs, batch, slope).network.value @ world.directions
            return {"measured": np.asarray(-eta * output.T @ coefficients), "predicted": np.asarray(after)}

    return evidence


def _batch_slopes(name: str) -> Evidence:
    """The exponent of the mean relative deviation in B."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        deviation = datasets["p16-batch"][name]
        return log_slopes(deviation.assign_coords(size=[float(b) for b in deviation["size"].values]), "size")

    return evidence


def _lower_limit(count: int, trials: int) -> xr.DataArray:
    """The lower 95 % Clopper-Pearson limit of a frequency."""
    from scipy.stats import beta

    return xr.DataArray(float(beta.ppf(0.025, count, trials - count + 1)) if count else 0.0)


def _frequency(datasets: Datasets) -> xr.DataArray:
    exceeds = datasets["p16-batch"].exceeds.sel(moment="start", part="W_O", size="100")
    trials = DRAWS * exceeds.sizes["seed"]
    return _lower_limit(round(float(exceeds.mean()) * trials), trials)


def _exact_tail(datasets: Datasets) -> xr.DataArray:
    """Deviations drawn with P(deviation > ε) = e^{-B ε²}."""
    trials = DRAWS * datasets["p16-batch"].sizes["seed"]
    draws = np.random.default_rng(datasets.seed).random(trials)
    return _lower_limit(int(np.sum(np.sqrt(-np.log(draws) / 100) > LIMIT)), trials)


CLAIMS = (
    Claim(
        name="p13-gradient", reference="Lemma B.3.3", kind="identity",
        statement="∂F/∂b_z is the attention in bin z times how far its scores exceed F: equal to automatic "
        "differentiation to 1e-10 at 20 random draws.",
        formula="∂F/∂b_z = Σ_{s∈N_z} α_s (e_s - F)", evidence=_derivatives(True), judge=equal(1e-10),
        controls=(Control("the formula without -F", _derivatives(False)),),
    ),
    Claim(
        name="p13-sum", reference="Lemma B.3.3", kind="identity", reads=("p7-training",),
        statement="The sum of b never changes: below 1e-5 at every record of training (float32), below 1e-10 in the "
        "formula.",
        formula="Σ_z b_z = 0", evidence=_sums(True),
        judge=all_of(path=at_most(1e-5, "every", strict=True), formula=at_most(1e-10, strict=True)),
        controls=(Control("the formula without -F", _sums(False)),),
    ),
    Claim(
        name="p14-update", reference="Lemma B.3.4", kind="identity",
        statement="One step of SGD moves W_V μ_j by -η Σ_i V_i^(j) W_O,i exactly (1e-10, float64, c_0 = 0).",
        evidence=_update(False), judge=equal(1e-10),
        controls=(Control("W_O updated before W_V", _update(True)),),
    ),
    Claim(
        name="p16-slope", reference="(B.63)", kind="scaling", reads=("p16-batch",),
        statement="The relative deviation of a batch gradient falls as B^(-1/2): exponent in [-.6, -.4] for each of "
        "the five parameters, at the start and at η t = 15.",
        formula="deviation ∝ B^-1/2", evidence=_batch_slopes("deviation"),
        judge=within(-0.6, -0.4, "clear", predicted=-0.5),
        controls=(Control("B copies of one sample", _batch_slopes("copies")),),
    ),
    Claim(
        name="p16-probability", reference="(B.63)", kind="bound", reads=("p16-batch",), expected=FAILS,
        statement="As stated: a batch gradient deviates by more than ε with probability at most e^{-B ε²} (W_O at the"
        " start, B = 100, ε = .5; lower 95 % limit of the frequency).",
        formula="e^{-B ε²}", evidence=_frequency, judge=at_most(math.exp(-25.0)),
        controls=(Control("deviations drawn with exactly that tail", _exact_tail, HOLDS),),
    ),
)  # fmt: skip

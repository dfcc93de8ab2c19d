"""Algorithm 1 (4.2): full-batch gradient descent from a start near, far from or given by tensors, with gradient noise.

`prepare` draws the run and finds the minimum Ŵ_n on the host; `train` is the compiled descent; `simulate` is one run.
"""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance import network
from lemmata.theories.group_imbalance.bounds import Constants
from lemmata.theories.group_imbalance.data import Mixture, Sample, World, draw_data, draw_tests, draw_world
from lemmata.theories.group_imbalance.initialisation import tensor_start
from lemmata.theories.group_imbalance.minimum import Minimum, distance, matching, minimise
from lemmata.theories.group_imbalance.network import ACTIVATIONS
from lemmata.theories.group_imbalance.setting import Setting

Array = np.ndarray
FIRST = 20
"""Every one of the first steps is recorded."""


def step_of(setting: Setting, mixture: Mixture, at_start: float, at_limit: float) -> float:
    """η₀ by the rule of the setting; `at_start` and `at_limit` are λ_max(∇²f_n) there."""
    constant = setting.step_constant or 4 * setting.neurons
    rules = {"hessian": 1 / at_start, "limit": 1 / at_limit, "theory": constant / mixture.moment(2)}
    return setting.step_factor * rules.get(setting.step_rule, setting.step_size)


def initialise(setting: Setting, world: World, sample: Sample, limit: Array, slowest: Array, seed: int) -> Array:
    """W_0: on the sphere or in the ball around W*, far out, by tensors, or along the slowest direction from Ŵ_n."""
    rng = lm.generator(seed, "start")
    noise = rng.standard_normal(world.truth.shape)
    offset = setting.start_distance * noise / np.linalg.norm(noise)
    if setting.start == "local":
        return world.truth + offset
    if setting.start == "ball":
        return world.truth + offset * rng.random() ** (1 / noise.size)
    if setting.start == "far":
        return 5.0 * noise
    if setting.start == "tensor":
        with warnings.catch_warnings(action="ignore", category=lm.AssumptionWarning):
            found = tensor_start(world.mixture, sample.x, sample.y, setting.neurons, seed, phi=setting.phi)
        return found.weights if setting.magnitudes == "corrected" else found.literal
    if setting.start == "slowest":
        return limit + setting.start_distance * network.unflatten(slowest, setting.neurons)
    return limit + offset


def draw_noise(rng: np.random.Generator, level: float, count: int, shape: tuple[int, int]) -> Array:
    """ν_i, uniform on [-ξ, ξ] in every entry."""
    return rng.uniform(-level, level, (count, *shape))


def mean_noise(setting: Setting, slowest: Array, seed: int) -> Array:
    """The mean over samples of ν_i, uniform on [-ξ, ξ]; biased: with the mean ξ/2 along the signs of the slowest
    direction. For noise_law=fresh it is drawn anew at each step, as its normal limit (the kurtosis is off by 1.2/n)."""
    d, K = setting.dimension, setting.neurons
    if not setting.noise_level or setting.noise_law == "fresh":
        return np.zeros((d, K))
    rng, total = lm.generator(seed, "noise"), np.zeros((d, K))
    for count in np.diff(np.unique(np.append(np.arange(0, setting.count, 10_000), setting.count))):
        total += draw_noise(rng, setting.noise_level, count, (d, K)).sum(0)
    bias = setting.noise_level / 2 * np.sign(network.unflatten(slowest, K)) if setting.noise_law == "biased" else 0.0
    return total / setting.count + bias


def record_at(steps: int, records: int) -> Array:
    """The first steps one by one, then evenly spaced ones; -1 where a record is not used."""
    early = np.arange(min(FIRST, steps, records - 2) + 1)
    late = np.round(np.linspace(0, steps, records - len(early) + 1)).astype(int)
    at = np.unique(np.append(early, late))[:records]
    at[-1] = steps
    return np.append(at, np.full(records - len(at), -1)).astype(np.int32)


def prepare(setting: Setting, seed: int) -> dict[str, Any]:
    """The data of a run, padded to their room, with its start, its minimum and the curvature there."""
    world = draw_world(setting, seed)
    sample = draw_data(setting, world, seed)
    phi, n = setting.phi, setting.count
    found: Minimum = minimise(sample.x, sample.y, world.truth, phi)
    slope, curvature = network.flatten(found.at.gradient), found.at.hessian
    values, vectors = np.linalg.eigh(curvature)
    start = initialise(setting, world, sample, found.weights, vectors[:, 0], seed)
    at_start = np.linalg.eigvalsh(network.hessian(start, sample.x, sample.y, phi))[-1]
    step = step_of(setting, world.mixture, at_start, values[-1])
    wanted = setting.horizon / (step * max(values[0], 1e-12))
    steps = int(min(setting.steps, np.ceil(wanted))) if setting.horizon else setting.steps
    noise = mean_noise(setting, vectors[:, 0], seed)
    room = setting.sample_room
    fill = lambda rows: np.concatenate([rows, np.zeros((room - n, *rows.shape[1:]))])  # noqa: E731
    scalars = {
        "rate_least": values[0],
        "rate_second": values[1],
        "rate_largest": values[-1],
        "step_used": step,
        "limit_error": distance(found.weights, world.truth),
        "start_error": distance(start, world.truth) / np.linalg.norm(world.truth),
        "rounding": np.linalg.norm(np.linalg.solve(curvature, slope)),
        "predicted_shift": np.linalg.norm(np.linalg.solve(curvature, network.flatten(noise))),
        "noise_norm": np.linalg.norm(noise),
        "capped": float(bool(setting.horizon) and wanted > setting.steps),
        "minimum_found": float(found.converged),
        "noise_radius": np.sqrt(world.truth.size * np.log(n) / n),
        "rate_factor": Constants(world.mixture, world.truth).rate_factor,
    }
    return {
        "x": fill(sample.x),
        "y": fill(sample.y),
        "weights": fill(np.full(n, 1 / n)),
        "tests": draw_tests(setting, world, seed),
        "truth": world.truth[:, matching(found.weights, world.truth)],
        "limit": found.weights,
        "start": start,
        "noise": noise,
        "at": record_at(steps, setting.records),
        "scalars": {name: np.float64(value) for name, value in scalars.items()},
    }


@lm.piece("activation", "noise_law")
def train(problem: Setting, prepared: dict[str, Any], key: jax.Array) -> lm.Run:
    """W_{t+1} = W_t - η₀ (∇f_n(W_t) + mean_i ν_i), recorded against Ŵ_n and W*."""
    phi = ACTIVATIONS[problem.activation]
    x, y, weights = prepared["x"], prepared["y"], prepared["weights"]
    signed = ((2 * y - 1)[:, None] * x).T
    step_size = prepared["scalars"]["step_used"]
    # the mean of n uniforms on [-ξ, ξ] has the variance ξ²/(3n)
    deviation = problem.noise_level * jnp.sqrt(jnp.sum(weights**2) / 3)

    def step(t: jax.Array, W: jax.Array) -> jax.Array:
        noise = prepared["noise"]
        if problem.noise_law == "fresh":
            noise = deviation * jax.random.normal(jax.random.fold_in(key, t), W.shape)
        return W - step_size * (network.signed_gradient(W, signed, weights, phi) + noise)

    def probe(W: jax.Array, previous: jax.Array) -> dict[str, jax.Array]:
        return {
            "limit_distance": jnp.linalg.norm(W - prepared["limit"]),
            "truth_distance": jnp.linalg.norm(W - prepared["truth"]),
            "train_loss": weights @ network.losses(W, x, y, phi),
            "gradient_norm": jnp.linalg.norm(network.signed_gradient(W, signed, weights, phi)),
            "group_excess": jax.vmap(lambda test: network.excess(W, prepared["truth"], test, phi))(prepared["tests"]),
        }

    stop = lambda probed: probed["gradient_norm"] <= problem.tolerance  # noqa: E731
    return lm.loop(step, prepared["start"], probe, prepared["at"], stop=stop)


@lm.simulation(
    *lm.RUN,
    lm.Variable("limit_distance", ("record",), "‖W_t - Ŵ_n‖", "distance from the minimum of the empirical risk"),
    lm.Variable("truth_distance", ("record",), "‖W_t - W*‖", "distance from the ground truth, columns lined up"),
    lm.Variable("train_loss", ("record",), "f_n", "empirical risk"),
    lm.Variable("gradient_norm", ("record",), "‖∇f_n‖", "norm of the gradient"),
    lm.Variable("group_excess", ("record", "group"), "f̄_l - f̄_l(W*)", "excess risk of every group, on test points"),
    lm.Variable("rate_least", (), "λ_min", "least eigenvalue of ∇²f_n at the minimum"),
    lm.Variable("rate_second", (), "λ₂", "second eigenvalue of ∇²f_n at the minimum"),
    lm.Variable("rate_largest", (), "λ_max", "largest eigenvalue of ∇²f_n at the minimum"),
    lm.Variable("step_used", (), "η₀", "step size"),
    lm.Variable("limit_error", (), "‖Ŵ_n - W*‖", "distance of the minimum from the ground truth"),
    lm.Variable("start_error", (), "", "relative distance of the start from the ground truth"),
    lm.Variable("rounding", (), "", "how far Ŵ_n may be off: ‖∇²f_n⁻¹ ∇f_n‖ there"),
    lm.Variable("predicted_shift", (), "‖∇²f_n⁻¹ ν̄‖", "shift of the limit that the noise predicts"),
    lm.Variable("noise_norm", (), "‖ν̄‖", "norm of the mean noise"),
    lm.Variable("capped", (), "", "1 if the run is shorter than its horizon"),
    lm.Variable("minimum_found", (), "", "1 if Newton's method arrived"),
    lm.Variable("noise_radius", (), "√(dK log n/n)", "what bounds the mean noise, over ξ"),
    lm.Variable("rate_factor", (), "q", "factor of the paper's rate, v = 1 - q/K²"),
    prepare=prepare,
    precision="float64",
)
def simulate(problem: Setting, key: jax.Array, prepared: Any = None) -> dict[str, Any]:
    """One run of Algorithm 1."""
    run = train(problem, prepared, lm.stream(key, "noise"))
    return {**run.results(), **prepared["scalars"]}

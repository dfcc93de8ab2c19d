"""Runs that the tests of training share, each simulated once, and their oracle: gradient descent written in NumPy."""

import functools
import math

import jax
import numpy as np

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.lab.training import Run
from lemmata.theories.exp_regression.data import draw
from lemmata.theories.exp_regression.experiments import TINY
from lemmata.theories.exp_regression.network import Constants, find_constants, initialise
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.training import simulate, train

SIZES = {name: TINY[name] for name in ("samples", "dimension", "neuron_room", "records")}
SMALL = Setting(**SIZES, neurons=16, steps=40, stop="never", track="bounds", least_target=0.2)
"""Of the sizes of smoke, whose programs it shares."""
FIRST, SECOND = slice(0, 8), slice(32, 40)
"""Where the first and the second members of its pairs are kept; the rest of the room is not used."""
TWO_POINTS = Setting(
    data_law="given", inputs=[[1, 0], [0.6, 0.8]], targets=[0.5, -0.25], samples=2, dimension=2,
    init="given", weights=[[0.5, 0], [0.5, 0], [0, -1], [0, -1]], output_signs=[1, -1, -1, 1], neurons=4, neuron_room=4,
    step="given", step_size=0.01, steps=100, records=101, stop="never", track="points",
)  # fmt: skip
STOPPING = SMALL.replace(stop="tolerance", steps=400, step_constant=1.0)


@functools.cache
def simulated(setting: Setting, seed: int = 0) -> dict[str, np.ndarray]:
    return jax.device_get(simulate(setting, seed))


@functools.cache
def started(setting: Setting, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """x, y, W(0) (one column a neuron), a and κ, without the room that is not used."""
    with numerics("float64"):
        problem, key = setting.problem(), jax.random.key(seed)
        data = jax.device_get(draw(problem, key))
        weights, head = jax.device_get(initialise(problem, stream(key, "init")))
    used = head.signs != 0
    return data.x, data.y, weights[:, used], head.signs[used], float(head.scale)


def trained(setting: Setting, seed: int = 0) -> Run:
    """The loop's own result: the weights are in its state."""
    with numerics("float64"):
        problem, key = setting.problem(), jax.random.key(seed)
        data = draw(problem, key)
        weights, head = initialise(problem, stream(key, "init"))
        known = find_constants(problem, data, weights, head)
        return jax.device_get(train(problem, data, weights, head, known))


def constants(setting: Setting, seed: int = 0) -> Constants:
    with numerics("float64"):
        problem, key = setting.problem(), jax.random.key(seed)
        weights, head = initialise(problem, stream(key, "init"))
        return jax.device_get(find_constants(problem, draw(problem, key), weights, head))


def plain_outputs(x: np.ndarray, W: np.ndarray, a: np.ndarray, kappa: float) -> np.ndarray:
    return kappa * np.exp(x @ W) @ a


def plain_kernel(x: np.ndarray, W: np.ndarray) -> np.ndarray:
    values = np.exp(x @ W)
    return (x @ x.T) * (values @ values.T) / W.shape[1]


def plain_limit(x: np.ndarray) -> np.ndarray:
    """H^cts at σ = 1."""
    return np.array([[u @ v * math.exp((u + v) @ (u + v) / 2) for v in x] for u in x])


def plain_step(x: np.ndarray, y: np.ndarray, W: np.ndarray, a: np.ndarray, kappa: float, eta: float) -> np.ndarray:
    """W(t+1), neuron by neuron."""
    error = plain_outputs(x, W, a, kappa) - y
    moved = W.copy()
    for r in range(W.shape[1]):
        gradient = sum(error[i] * kappa * a[r] * x[i] * math.exp(W[:, r] @ x[i]) for i in range(len(x)))
        moved[:, r] -= eta * gradient
    return moved


def plain_path(setting: Setting, seed: int, eta: float, steps: int) -> list[np.ndarray]:
    """W(0), ..., W(steps)."""
    x, y, W, a, kappa = started(setting, seed)
    path = [W]
    for _ in range(steps):
        path.append(plain_step(x, y, path[-1], a, kappa, eta))
    return path


RUNS = {
    "coupled": SMALL,
    "independent": SMALL.replace(init="independent", step_constant=0.3),
    "catapult": SMALL.replace(step_constant=2.2),
    "scaled": SMALL.replace(scale="inv_sqrt_m"),
    "short steps": SMALL.replace(step_constant=0.02),
    "rounding": SMALL.replace(step_constant=1.0, steps=1500),
}
SEED = 1

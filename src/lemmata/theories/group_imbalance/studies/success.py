"""Success maps (F4.2, F4.3): do several starts of the same data agree on one minimum?"""

from functools import partial
from typing import Any

import jax
import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance import population
from lemmata.theories.group_imbalance.data import Sample, draw_data, draw_world
from lemmata.theories.group_imbalance.minimum import Minimum, minimise, spread
from lemmata.theories.group_imbalance.network import Activation, hessian, signed_gradient
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.studies import study

AGREE = 1e-3
"""V_W up to which the starts have found one minimum."""


@partial(jax.jit, static_argnames="phi")
def _steps(signed: Any, weights: Any, start: Any, step: float, steps: int, phi: Activation) -> tuple[Any, Any]:
    """Where gradient descent is after so many steps, and its last gradient."""

    def one(_: Any, at: tuple[Any, Any]) -> tuple[Any, Any]:
        slope = signed_gradient(at[0], signed, weights, phi)
        return at[0] - step * slope, slope

    return jax.lax.fori_loop(0, steps, one, (start, start))


def descend(setting: Setting, sample: Sample, start: np.ndarray) -> Minimum:
    """Plain gradient descent for `steps` steps, step 1/λ_max at the start; a run at the cap has not converged."""
    n = len(sample.y)
    room = lm.capacity(n, ratio=4)  # few programs: the control is small
    signed, weights = np.zeros((setting.dimension, room)), np.zeros(room)
    signed[:, :n], weights[:n] = (2 * sample.y - 1) * sample.x.T, 1 / n
    step = 1 / np.linalg.eigvalsh(hessian(start, sample.x, sample.y, setting.phi))[-1]
    W, slope = _steps(signed, weights, start, step, setting.steps, setting.phi)
    return Minimum(np.asarray(W), float(np.linalg.norm(slope)) <= 1e-8)


@study(
    lm.Variable("success", (), "", "1 if all starts agree on one minimum: V_W ≤ 10⁻³"),
    lm.Variable("spread", (), "V_W", "root mean square distance of the minima from their mean", optional=True),
    lm.Variable("walked_away", (), "", "1 if a start ran off to infinity"),
    lm.Variable("stopped_early", (), "", "1 if a start did not arrive at a minimum"),
    lm.Variable("inverse_trace", (), "tr F⁻¹", "n times the predicted squared error, exact", optional=True),
)
def success(setting: Setting, seed: int) -> dict[str, Any]:
    """M random starts near W* on the same data."""
    world = draw_world(setting, seed)
    sample = draw_data(setting, world, seed)
    found = []
    for m in range(setting.starts):
        noise = lm.generator(seed, "start", str(m)).standard_normal(world.truth.shape)
        start = world.truth + setting.start_distance * noise / np.linalg.norm(noise)
        if setting.optimiser == "descent":
            found.append(descend(setting, sample, start))
        else:
            found.append(minimise(sample.x, sample.y, start, setting.phi, centre=world.truth))
    away, early = (
        any(each) for each in zip(*((f.diverged, not (f.converged or f.diverged)) for f in found), strict=True)
    )
    apart = np.nan if away else spread([each.weights for each in found])
    trace = population.parameter_variance(world.mixture.weights, population.fishers(*world.parts, setting.phi))
    good = not away and not early and apart <= AGREE
    flags = {"success": good, "walked_away": away, "stopped_early": early}
    return {name: float(flag) for name, flag in flags.items()} | {"spread": float(apart), "inverse_trace": trace}

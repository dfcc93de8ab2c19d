"""The limit of training, found by Newton's method, beside its exact predictors (F4.5-F4.7), success maps (F4.2, F4.3)
and Table 4.1. Raw risk, floor and excess stand apart: the raw risk moves with the floor, which no training changes."""

from functools import partial
from typing import Any

import jax
import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance import population
from lemmata.theories.group_imbalance.bounds import Constants
from lemmata.theories.group_imbalance.data import Sample, World, draw_data, draw_tests, draw_world
from lemmata.theories.group_imbalance.minimum import Minimum, distance, minimise, spread
from lemmata.theories.group_imbalance.network import Activation, cross_entropy, hessian, sides, signed_gradient
from lemmata.theories.group_imbalance.setting import CENTRED, OPPOSITE, WIDE, Setting
from lemmata.theories.group_imbalance.studies import study

GROUPS = ("first", "second")
RISKS = {"excess": ("f̄{}(Ŵ_n) - f̄{}(W*)", "excess risk"), "raw_risk": ("f̄{}(Ŵ_n)", "cross entropy")}


def risks(setting: Setting, world: World, weights: np.ndarray, seed: int) -> dict[str, Any]:
    """Excess and raw risk of a network, by group and on average."""
    over, raw = [], []
    for x in draw_tests(setting, world, seed):
        known, fit = (sides(W, x, setting.phi) for W in (world.truth, weights))
        raw.append(cross_entropy(known, fit).mean())
        over.append(raw[-1] - cross_entropy(known, known).mean())
    found = {"excess": np.array(over), "raw_risk": np.array(raw)}
    return found | {f"average_{name}": world.mixture.weights @ values for name, values in found.items()}


@study(
    lm.Variable("error", (), "‖Ŵ_n - W*‖", "distance of the minimum from the ground truth", optional=True),
    lm.Variable("relative_error", (), "", "that distance over ‖W*‖", optional=True),
    *(
        lm.Variable(prefix + name, dims, symbol.format(index, index), words + of, optional=True)
        for prefix, dims, index, of in (("", ("group",), "_l", " of the group"), ("average_", (), "", " on average"))
        for name, (symbol, words) in RISKS.items()
    ),
    lm.Variable("floor", ("group",), "f̄_l(W*)", "noise floor of the group, exact"),
    lm.Variable("factor", ("group",), "tr(F_l F⁻¹)", "2n times the predicted excess risk of the group, exact"),
    lm.Variable("inverse_trace", (), "tr F⁻¹", "n times the predicted squared error, exact"),
    lm.Variable("count", (), "n", "samples"),
    lm.Variable("diverged", (), "", "1 if the minimum was not found or lies at infinity"),
    labels={"group": GROUPS},
)
def limit(setting: Setting, seed: int) -> dict[str, Any]:
    """Ŵ_n of one draw, its errors and risks, and the exact predictors."""
    world = draw_world(setting, seed)
    share, each = world.mixture.weights, population.fishers(*world.parts, setting.phi)
    exact = {
        "floor": population.floors(*world.parts, setting.phi),
        "factor": population.group_risk_factors(share, each),
        "inverse_trace": population.parameter_variance(share, each),
        "count": float(setting.count),
    }
    if setting.optimiser == "none":
        nothing = dict.fromkeys(("error", "relative_error", "average_excess", "average_raw_risk"), np.nan)
        return {**exact, **nothing, "excess": share * np.nan, "raw_risk": share * np.nan, "diverged": 0.0}
    sample = draw_data(setting, world, seed)
    found = minimise(sample.x, sample.y, world.truth, setting.phi)
    error = distance(found.weights, world.truth)
    errors = {"error": error, "relative_error": error / np.linalg.norm(world.truth)}
    return {**exact, **errors, **risks(setting, world, found.weights, seed), "diverged": float(not found.converged)}


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
    away, arrived = any(each.diverged for each in found), all(each.converged for each in found)
    apart = np.nan if away else spread([each.weights for each in found])
    return {
        "success": float(arrived and apart <= AGREE),
        "spread": float(apart),
        "walked_away": float(away),
        "stopped_early": float(any(not (each.converged or each.diverged) for each in found)),
        "inverse_trace": population.parameter_variance(
            world.mixture.weights, population.fishers(*world.parts, setting.phi)
        ),
    }


CHANGES: dict[str, tuple[dict[str, Any], str, tuple[float, float], float, int]] = {
    "small covariance": (OPPOSITE, "first_scale", (0.1, 0.5), 2.0, 0),
    "large covariance": (OPPOSITE, "first_scale", (2.0, 5.0), 2.0, 0),
    "mean": ({"second_mean": -1.0}, "first_mean", (0.5, 2.0), 1.0, 0),
    "fraction, smallest covariance": ({**CENTRED, "first_scale": WIDE}, "fraction", (0.1, 0.5), 1.0, 1),
    "fraction, largest covariance": ({**CENTRED, "second_scale": WIDE}, "fraction", (0.1, 0.5), 1.0, 1),
}
"""Base fields, the field that changes, its ends, the power of it that the table uses (‖Σ‖ = σ²), and the group."""
QUANTITIES = ("samples", "rate", "error", "average risk", "group risk")


def _values(setting: Setting, group: int, seed: int) -> np.ndarray:
    """Every quantity of the table by every source, at one mixture; [source, quantity]."""
    world = draw_world(setting, seed)
    bound = Constants(world.mixture, world.truth, tau_one=True)
    share, each = world.mixture.weights, population.fishers(*world.parts, setting.phi)
    values = np.linalg.eigvalsh(population.average_fisher(share, each))
    spread = float(population.parameter_variance(share, each))
    factor = population.group_risk_factors(share, each)
    sample = draw_data(setting, world, seed)
    found = minimise(sample.x, sample.y, world.truth, setting.phi)
    seen = np.linalg.eigvalsh(found.at.hessian)
    error, risk = distance(found.weights, world.truth), risks(setting, world, found.weights, seed)
    bounds = bound.rate_factor, bound.estimation_factor, bound.risk_factor, bound.group_risk_factors[group]
    rows = [
        (bound.less_relaxed_samples(), *bounds),
        (spread, values[0] / values[-1], np.sqrt(spread), share @ factor, factor[group]),
        (error**2, abs(seen[0]) / seen[-1], error, risk["average_excess"], risk["excess"][group]),
    ]
    return np.array(rows)


@study(
    lm.Variable("exponent", ("change", "source", "quantity"), "", "local exponent in what changes, between its ends"),
    labels={"change": tuple(CHANGES), "source": ("bound", "exact", "measured"), "quantity": QUANTITIES},
)
def table_4_1(setting: Setting, seed: int) -> dict[str, Any]:
    """Rows 6-10, P1-P5: the local exponent of every quantity along every sweep, for one W*."""
    found = []
    for fields, name, ends, power, group in CHANGES.values():
        few, many = (_values(setting.replace(**{**fields, name: end}), group, seed) for end in ends)
        found.append(np.log(many / few) / (power * np.log(ends[1] / ends[0])))
    return {"exponent": np.stack(found)}

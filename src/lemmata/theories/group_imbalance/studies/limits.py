"""The limit of training, found by Newton's method, beside its exact predictors (F4.5-F4.7, rows 3, 4).

Raw risk, floor and excess stand apart: the raw cross entropy moves with the floor, which no training can change.
"""

from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance import population
from lemmata.theories.group_imbalance.data import World, draw_data, draw_tests, draw_world
from lemmata.theories.group_imbalance.minimum import distance, minimise
from lemmata.theories.group_imbalance.network import cross_entropy, sides
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.studies import study

GROUPS = ("first", "second")


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
    lm.Variable("excess", ("group",), "f̄_l(Ŵ_n) - f̄_l(W*)", "excess risk of the group", optional=True),
    lm.Variable("raw_risk", ("group",), "f̄_l(Ŵ_n)", "cross entropy of the group", optional=True),
    lm.Variable("average_excess", (), "f̄(Ŵ_n) - f̄(W*)", "average excess risk", optional=True),
    lm.Variable("average_raw_risk", (), "f̄(Ŵ_n)", "average cross entropy", optional=True),
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
    each = population.fishers(*world.parts, setting.phi)
    share = world.mixture.weights
    results = {
        "floor": population.floors(*world.parts, setting.phi),
        "factor": population.group_risk_factors(share, each),
        "inverse_trace": population.parameter_variance(share, each),
        "count": float(setting.count),
    }
    if setting.optimiser == "none":
        nothing = dict.fromkeys(("error", "relative_error", "average_excess", "average_raw_risk"), np.nan)
        return {**results, **nothing, "excess": share * np.nan, "raw_risk": share * np.nan, "diverged": 0.0}
    sample = draw_data(setting, world, seed)
    found = minimise(sample.x, sample.y, world.truth, setting.phi)
    error = distance(found.weights, world.truth)
    results |= {"error": error, "relative_error": error / np.linalg.norm(world.truth)}
    return results | risks(setting, world, found.weights, seed) | {"diverged": float(not found.converged)}

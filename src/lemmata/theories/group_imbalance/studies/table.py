"""Table 4.1: what each change of the mixture does, by the paper's bounds, exactly, and measured (rows 6-10, P1-P5)."""

from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.group_imbalance import population
from lemmata.theories.group_imbalance.bounds import Constants
from lemmata.theories.group_imbalance.data import draw_data, draw_world
from lemmata.theories.group_imbalance.minimum import distance, minimise
from lemmata.theories.group_imbalance.setting import CENTRED, OPPOSITE, WIDE, Setting
from lemmata.theories.group_imbalance.studies import study
from lemmata.theories.group_imbalance.studies.limits import risks

CHANGES: dict[str, tuple[dict[str, Any], str, tuple[float, float], float, int]] = {
    "small covariance": (OPPOSITE, "first_scale", (0.1, 0.5), 2.0, 0),
    "large covariance": (OPPOSITE, "first_scale", (2.0, 5.0), 2.0, 0),
    "mean": ({"second_mean": -1.0}, "first_mean", (0.5, 2.0), 1.0, 0),
    "fraction, smallest covariance": ({**CENTRED, "first_scale": WIDE}, "fraction", (0.1, 0.5), 1.0, 1),
    "fraction, largest covariance": ({**CENTRED, "second_scale": WIDE}, "fraction", (0.1, 0.5), 1.0, 1),
}
"""Base fields, the field that changes, its ends, the power of it that the table uses (‖Σ‖ = σ²), and the group."""
QUANTITIES = ("samples", "rate", "error", "average risk", "group risk")
SOURCES = ("bound", "exact", "measured")


def _values(setting: Setting, group: int, seed: int) -> np.ndarray:
    """Every quantity of the table by every source, at one mixture; [source, quantity]."""
    world = draw_world(setting, seed)
    bound = Constants(world.mixture, world.truth, tau_one=True)
    each = population.fishers(*world.parts, setting.phi)
    share = world.mixture.weights
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
    labels={"change": tuple(CHANGES), "source": SOURCES, "quantity": QUANTITIES},
)
def table_4_1(setting: Setting, seed: int) -> dict[str, Any]:
    """The local exponent of every quantity along every sweep, for one W*."""
    found = []
    for fields, name, ends, power, group in CHANGES.values():
        few, many = (_values(setting.replace(**{**fields, name: end}), group, seed) for end in ends)
        found.append(np.log(many / few) / (power * np.log(ends[1] / ends[0])))
    return {"exponent": np.stack(found)}

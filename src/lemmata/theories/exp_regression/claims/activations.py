"""Which activations can fit parallel and antipodal points (X7)."""

from __future__ import annotations

import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.measures import FLOORS


@lm.evidence("x7-activations")
def final_error(data: xr.Dataset, activation: str, pair: str) -> xr.DataArray:
    """‖e‖² at the end."""
    return lm.cells(data, activation=activation, pair=pair).final_square


@lm.evidence("x7-activations")
def steps_to_tolerance(data: xr.Dataset, on_parallel: str = "exp") -> xr.DataArray:
    """Steps to ε of exp on the three kinds of data; on the parallel pair those of another activation, if given."""
    steps = lm.cells(data, activation="exp").reached_step
    return xr.where(steps.pair == "parallel", lm.cells(data, activation=on_parallel).reached_step, steps)


def _floor(pair: str, activation: str) -> lm.Claim:
    floor = FLOORS[pair, activation]
    return lm.Claim(
        f"x7-floor-{activation}",
        "experiment X7",
        "limit",
        f"On {'two points of one direction' if pair == 'parallel' else 'an antipodal pair'} the loss of {activation} "
        f"cannot go below a closed form and converges to it: within 1 % of {floor:.3f} in every seed.",
        final_error(activation, pair),
        lm.within(0.99 * floor, 1.01 * floor, by="every", predicted=floor),
        lm.Control("generic data", pair="generic"),
        source="derived",
    )


CLAIMS = (
    *(_floor(pair, activation) for pair, activation in FLOORS),
    lm.Claim(
        "x7-exp",
        "experiment X7",
        "comparison",
        "The exponential network reaches ε on generic data, on the parallel and on the antipodal pair, in every seed.",
        steps_to_tolerance(),
        lm.at_most(4000.0, by="every"),
        lm.Control("relu's cell on the parallel pair in place of exp's", on_parallel="relu"),
        source="derived",
    ),
)

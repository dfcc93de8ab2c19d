"""Which activations can fit parallel and antipodal points (X7)."""

from __future__ import annotations

import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_most, within
from lemmata.theories.exp_regression.measures import FLOORS


def _floor(activation: str, pair: str) -> Evidence:
    return lambda datasets: datasets["x7-activations"].final_square.sel(activation=activation, pair=pair)


def _floor_claim(pair: str, activation: str) -> Claim:
    floor = FLOORS[pair, activation]
    return Claim(
        name=f"x7-floor-{activation}",
        reference="experiment X7",
        kind="limit",
        statement=f"On {'two points of one direction' if pair == 'parallel' else 'an antipodal pair'} the loss of "
        f"{activation} cannot go below a closed form and converges to it: within 1 % of {floor:.3f} in every seed.",
        reads=("x7-activations",),
        evidence=_floor(activation, pair),
        judge=within(0.99 * floor, 1.01 * floor, by="every", predicted=floor),
        controls=(Control("generic data", _floor(activation, "generic")),),
    )


def _reaches(swap: bool = False) -> Evidence:
    """Steps to ε of exp on the three kinds of data; the control takes relu's cell on the parallel pair."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        hits = datasets["x7-activations"].reached_step
        exp = hits.sel(activation="exp", drop=True)
        if swap:
            exp = xr.where(exp.pair == "parallel", hits.sel(activation="relu", drop=True), exp)
        return exp

    return evidence


CLAIMS = (
    *(_floor_claim(pair, activation) for pair, activation in FLOORS),
    Claim(
        name="x7-exp",
        reference="experiment X7",
        kind="comparison",
        statement="The exponential network reaches ε on generic data, on the parallel and on the antipodal pair, in "
        "every seed.",
        reads=("x7-activations",),
        evidence=_reaches(),
        judge=at_most(4000.0, by="every"),
        controls=(Control("relu's cell on the parallel pair in place of exp's", _reaches(swap=True)),),
    ),
)

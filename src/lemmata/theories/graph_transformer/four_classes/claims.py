"""Two networks find the core distances of four classes (P21)."""

from __future__ import annotations

import xarray as xr

import lemmata as lm
from lemmata.theories.graph_transformer.measures import lead

CORES = {"first": 4, "second": 2}


@lm.evidence("p21-four")
def leads(data: xr.Dataset, variant: str = "per coordinate") -> xr.DataArray:
    """b of each network at its coordinate's core distance less the largest other one."""
    data = lm.cells(data, variant=variant)
    encoding = lm.at_end(data.distance_bias)
    parts = {name: lead(encoding.sel(coordinate=name, drop=True), z, data.bins_used) for name, z in CORES.items()}
    return lm.stack(parts, "coordinate")


@lm.evidence("p21-four")
def accuracy(data: xr.Dataset, variant: str = "per coordinate") -> xr.DataArray:
    """Class accuracy at the end of training."""
    return lm.at_end(lm.cells(data, variant=variant).accuracy)


@lm.evidence("p21-four")
def joint(data: xr.Dataset, variant: str = "joint") -> dict[str, xr.DataArray]:
    """The joint loss and the class accuracy at the end of training."""
    data = lm.cells(data, variant=variant)
    return {"loss": lm.at_end(data.joint_loss), "accuracy": lm.at_end(data.accuracy)}


CLAIMS = (
    lm.Claim(
        "p21-four-core",
        "(B.225) - (B.232)",
        "limit",
        "With four classes b of the two networks is largest at their own core distances, 4 and 2, in every seed (loss "
        "of each coordinate).",
        leads(),
        lm.at_least(0.0, "every", strict=True),
        lm.Control("distances permuted", variant="permuted"),
    ),
    lm.Claim(
        "p21-four-accuracy",
        "(B.225) - (B.232)",
        "comparison",
        "With the loss of each coordinate the class accuracy is at least .93.",
        accuracy(),
        lm.at_least(0.93, "clear"),
        lm.Control("joint loss", variant="joint"),
        corrects="p21-four-joint",
    ),
    lm.Claim(
        "p21-four-joint",
        "(B.225) - (B.232)",
        "comparison",
        "As printed: with the joint loss max{1 - yᵀF, 0} the loss falls below .02 and the class accuracy is at "
        "least .93.",
        joint(),
        lm.all_of(loss=lm.at_most(0.02, "clear", strict=True), accuracy=lm.at_least(0.93, "clear")),
        lm.Control("trained on each coordinate", variant="per coordinate"),
        expected=lm.FAILS,
    ),
)

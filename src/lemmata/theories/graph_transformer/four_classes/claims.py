"""Two networks find the core distances of four classes (P21)."""

from __future__ import annotations

import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most
from lemmata.lab.measures import at_end, stack
from lemmata.theories.graph_transformer.measures import lead, of

CORES = {"first": 4, "second": 2}


def _accuracy(experiment: str, name: str = "accuracy", **cell: object) -> Evidence:
    """Accuracy at the end of training."""
    return of(experiment, lambda data: at_end(data[name]), **cell)


def _leads(case: str) -> Evidence:
    """b of each network at its coordinate's core distance less the largest other one."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["p21-four"].sel(variant=case, drop=True)
        encoding = at_end(data.distance_bias)
        parts = {c: lead(encoding.sel(coordinate=c, drop=True), z, data.bins_used) for c, z in CORES.items()}
        return stack(parts, "coordinate")

    return evidence


def _joint(case: str) -> Evidence:
    return of("p21-four", lambda d: {"loss": at_end(d.joint_loss), "accuracy": at_end(d.accuracy)}, variant=case)


CLAIMS = (
    Claim(
        name="p21-four-core", reference="(B.225) - (B.232)", kind="limit", reads=("p21-four",),
        statement="With four classes b of the two networks is largest at their own core distances, 4 and 2, in every "
        "seed (loss of each coordinate).",
        evidence=_leads("per coordinate"), judge=at_least(0.0, "every", strict=True),
        controls=(Control("distances permuted", _leads("permuted")),),
    ),
    Claim(
        name="p21-four-accuracy", reference="(B.225) - (B.232)", kind="comparison", reads=("p21-four",),
        statement="With the loss of each coordinate the class accuracy is at least .93.",
        evidence=_accuracy("p21-four", variant="per coordinate"), judge=at_least(0.93, "clear"),
        controls=(Control("joint loss", _accuracy("p21-four", variant="joint")),),
    ),
    Claim(
        name="p21-four-joint", reference="(B.225) - (B.232)", kind="comparison", reads=("p21-four",), expected=FAILS,
        statement="As printed: with the joint loss max{1 - yᵀF, 0} the loss falls below .02 and the class accuracy is"
        " at least .93.",
        evidence=_joint("joint"),
        judge=all_of(loss=at_most(0.02, "clear", strict=True), accuracy=at_least(0.93, "clear")),
        controls=(Control("trained on each coordinate", _joint("per coordinate"), HOLDS),),
    ),
)  # fmt: skip

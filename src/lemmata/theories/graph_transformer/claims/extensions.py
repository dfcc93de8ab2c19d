"""The extensions (P21): absolute encodings, labels of whole graphs, four classes, GAT."""

from __future__ import annotations

import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most
from lemmata.lab.measures import at_end, stack
from lemmata.theories.graph_transformer.claims.common import of, value_at
from lemmata.theories.graph_transformer.measures import lead

CORES = {"first": 4, "second": 2}


def _accuracy(experiment: str, name: str = "accuracy", **case: object) -> Evidence:
    """Accuracy at the end of training."""
    return of(experiment, lambda data: at_end(data[name]), **case)


def _above_counting(trained: int) -> Evidence:
    """Accuracy less that of counting on the same graphs."""
    return of("p21-graph", lambda data: at_end(data.accuracy) - data.counting_accuracy, train_b=trained)


def _leads(case: str) -> Evidence:
    """b of each network at its coordinate's core distance less the largest other one."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["p21-four"].sel(case=case, drop=True)
        encoding = at_end(data.distance_bias)
        parts = {c: lead(encoding.sel(coordinate=c, drop=True), z, data.bins_used) for c, z in CORES.items()}
        return stack(parts, "coordinate")

    return evidence


def _joint(case: str) -> Evidence:
    return of("p21-four", lambda d: {"loss": at_end(d.joint_loss), "accuracy": at_end(d.accuracy)}, case=case)


CLAIMS = (
    Claim(
        name="p21-laplacian", reference="B.5.2", kind="comparison", reads=("p21-absolute",),
        statement="Where clusters decide the label, Laplacian eigenvectors in keys and queries carry it to clusters "
        "that were never labelled: accuracy of other nodes at least .8.",
        evidence=_accuracy("p21-absolute", "other_accuracy", case="with PE"), judge=at_least(0.8, "clear"),
        controls=(
            Control("patterns permuted", _accuracy("p21-absolute", "other_accuracy", case="patterns permuted")),
        ),
    ),
    Claim(
        name="p21-laplacian-zeroed", reference="B.5.2", kind="comparison", reads=("p21-absolute",),
        statement="Without the encoding (its columns zeroed) that accuracy is at most .6.",
        evidence=_accuracy("p21-absolute", "other_accuracy", case="PE zeroed"), judge=at_most(0.6, "clear"),
        controls=(Control("with the encoding", _accuracy("p21-absolute", "other_accuracy", case="with PE")),),
    ),
    Claim(
        name="p21-graph-pe", reference="(B.224)", kind="comparison", reads=("p21-graph",),
        statement="Whole graphs are classified with the encoding: accuracy at least .95.",
        evidence=_accuracy("p21-graph", train_b=1), judge=at_least(0.95, "clear"),
        controls=(Control("without the encoding", _accuracy("p21-graph", train_b=0)),),
    ),
    Claim(
        name="p21-graph-without", reference="(B.224)", kind="comparison", reads=("p21-graph",),
        statement="Without it nothing is learned beyond counting the patterns: accuracy at most that of counting plus"
        " .05.",
        evidence=_above_counting(0), judge=at_most(0.05, "clear"),
        controls=(Control("with the encoding", _above_counting(1)),),
    ),
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
        evidence=_accuracy("p21-four", case="per coordinate"), judge=at_least(0.93, "clear"),
        controls=(Control("joint loss", _accuracy("p21-four", case="joint")),),
    ),
    Claim(
        name="p21-four-joint", reference="(B.225) - (B.232)", kind="comparison", reads=("p21-four",), expected=FAILS,
        statement="As printed: with the joint loss max{1 - yᵀF, 0} the loss falls below .02 and the class accuracy is"
        " at least .93.",
        evidence=_joint("joint"),
        judge=all_of(loss=at_most(0.02, "clear", strict=True), accuracy=at_least(0.93, "clear")),
        controls=(Control("trained on each coordinate", _joint("per coordinate"), HOLDS),),
    ),
    Claim(
        name="p21-gat-near", reference="B.5.3", kind="comparison", reads=("p21-gat",),
        statement="Where the core distance is 1 a graph attention network suffices: loss below .05 at η t = 30 on the"
        " chapter's graph.",
        evidence=value_at("p21-gat", "loss", 30, case="G1, dot"), judge=at_most(0.05, "clear", strict=True),
        controls=(Control("++--++--", value_at("p21-gat", "loss", 30, case="++--++--, dot")),),
    ),
    Claim(
        name="p21-gat-zero-margin", reference="B.5.3", kind="limit", reads=("p21-gat",),
        statement="Where the margin at distance 1 is zero (++--++--) its loss on other nodes stays at .9 or more.",
        evidence=value_at("p21-gat", "other_loss", 40, case="++--++--, dot"), judge=at_least(0.9, "clear"),
        controls=(Control("restricted to distance 4", value_at("p21-gat", "other_loss", 40, case="++--++--, z=4")),),
    ),
    Claim(
        name="p21-gat-opposite", reference="B.5.3", kind="comparison", reads=("p21-gat",),
        statement="Where that margin is negative everywhere (+-+-) it learns the opposite sign: accuracy at least "
        ".95.",
        evidence=value_at("p21-gat", "accuracy", 40, case="+-+-, dot"), judge=at_least(0.95, "clear"),
        controls=(Control("++--++--", value_at("p21-gat", "accuracy", 40, case="++--++--, dot")),),
    ),
)  # fmt: skip

"""The extensions on the same setting (P21): absolute encodings, GAT."""

from __future__ import annotations

from lemmata.lab.claims import Claim, Control, Evidence
from lemmata.lab.judges import at_least, at_most
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.measures import of, value_at


def _accuracy(experiment: str, name: str = "accuracy", **cell: object) -> Evidence:
    """Accuracy at the end of training."""
    return of(experiment, lambda data: at_end(data[name]), **cell)


CLAIMS = (
    Claim(
        name="p21-laplacian", reference="B.5.2", kind="comparison", reads=("p21-absolute",),
        statement="Where clusters decide the label, Laplacian eigenvectors in keys and queries carry it to clusters "
        "that were never labelled: accuracy of other nodes at least .8.",
        evidence=_accuracy("p21-absolute", "other_accuracy", variant="with PE"), judge=at_least(0.8, "clear"),
        controls=(
            Control("patterns permuted", _accuracy("p21-absolute", "other_accuracy", variant="patterns permuted")),
        ),
    ),
    Claim(
        name="p21-laplacian-zeroed", reference="B.5.2", kind="comparison", reads=("p21-absolute",),
        statement="Without the encoding (its columns zeroed) that accuracy is at most .6.",
        evidence=_accuracy("p21-absolute", "other_accuracy", variant="PE zeroed"), judge=at_most(0.6, "clear"),
        controls=(Control("with the encoding", _accuracy("p21-absolute", "other_accuracy", variant="with PE")),),
    ),
    Claim(
        name="p21-gat-near", reference="B.5.3", kind="comparison", reads=("p21-gat",),
        statement="Where the core distance is 1 a graph attention network suffices: loss below .05 at η t = 30 on the"
        " chapter's graph.",
        evidence=value_at("p21-gat", "loss", 30, variant="G1, dot"), judge=at_most(0.05, "clear", strict=True),
        controls=(Control("++--++--", value_at("p21-gat", "loss", 30, variant="++--++--, dot")),),
    ),
    Claim(
        name="p21-gat-zero-margin", reference="B.5.3", kind="limit", reads=("p21-gat",),
        statement="Where the margin at distance 1 is zero (++--++--) its loss on other nodes stays at .9 or more.",
        evidence=value_at("p21-gat", "other_loss", 40, variant="++--++--, dot"), judge=at_least(0.9, "clear"),
        controls=(Control("restricted to distance 4", value_at("p21-gat", "other_loss", 40, variant="++--++--, z=4")),),
    ),
    Claim(
        name="p21-gat-opposite", reference="B.5.3", kind="comparison", reads=("p21-gat",),
        statement="Where that margin is negative everywhere (+-+-) it learns the opposite sign: accuracy at least "
        ".95.",
        evidence=value_at("p21-gat", "accuracy", 40, variant="+-+-, dot"), judge=at_least(0.95, "clear"),
        controls=(Control("++--++--", value_at("p21-gat", "accuracy", 40, variant="++--++--, dot")),),
    ),
)  # fmt: skip

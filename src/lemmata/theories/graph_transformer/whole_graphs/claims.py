"""Whole graphs are classified with the encoding, and without it no better than by counting (P21)."""

from __future__ import annotations

from lemmata.lab.claims import Claim, Control, Evidence
from lemmata.lab.judges import at_least, at_most
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.measures import of


def _accuracy(experiment: str, name: str = "accuracy", **case: object) -> Evidence:
    """Accuracy at the end of training."""
    return of(experiment, lambda data: at_end(data[name]), **case)


def _above_counting(trained: int) -> Evidence:
    """Accuracy less that of counting on the same graphs."""
    return of("p21-graph", lambda data: at_end(data.accuracy) - data.counting_accuracy, train_encoding=trained)


CLAIMS = (
    Claim(
        name="p21-graph-pe", reference="(B.224)", kind="comparison", reads=("p21-graph",),
        statement="Whole graphs are classified with the encoding: accuracy at least .95.",
        evidence=_accuracy("p21-graph", train_encoding=1), judge=at_least(0.95, "clear"),
        controls=(Control("without the encoding", _accuracy("p21-graph", train_encoding=0)),),
    ),
    Claim(
        name="p21-graph-without", reference="(B.224)", kind="comparison", reads=("p21-graph",),
        statement="Without it nothing is learned beyond counting the patterns: accuracy at most that of counting plus"
        " .05.",
        evidence=_above_counting(0), judge=at_most(0.05, "clear"),
        controls=(Control("with the encoding", _above_counting(1)),),
    ),
)  # fmt: skip

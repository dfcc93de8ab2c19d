"""The margins of Figure 3.2."""

from __future__ import annotations

from lemmata.lab.claims import Claim, Control, Evidence
from lemmata.lab.judges import equal
from lemmata.theories.graph_transformer.measures import of


def _hand(label: int) -> Evidence:
    return of(
        "f32-margins", lambda d: {"measured": d.margin.isel(distance=[1, 2]), "predicted": [-2.0, 3.0]}, label=label
    )


CLAIMS = (
    Claim(
        name="f32-margins", reference="Figure 3.2", kind="identity", reads=("f32-margins",),
        statement="The node of Figure 3.2 has winning margins -2 at distance 1 and 3 at distance 2.",
        evidence=_hand(1), judge=equal(0.0), controls=(Control("y = -1", _hand(-1)),),
    ),
)  # fmt: skip

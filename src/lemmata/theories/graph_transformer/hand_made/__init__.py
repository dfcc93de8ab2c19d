"""The drawing of a winning margin (Figure 3.2): one node of a graph made by hand."""

from lemmata.theories.graph_transformer.hand_made.claims import CLAIMS
from lemmata.theories.graph_transformer.hand_made.experiments import EXPERIMENTS

__all__ = ["CLAIMS", "EXPERIMENTS"]

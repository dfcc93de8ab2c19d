"""The drawing of a winning margin (Figure 3.2): one node with five neighbours at distance 1 and more at distance 2."""

from lemmata.theories.graph_transformer.hand_made.experiments import CLAIMS, EXPERIMENTS

__all__ = ["CLAIMS", "EXPERIMENTS"]

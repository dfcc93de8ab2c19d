"""Labels of whole graphs (3.8): a root and three layers, of which the second decides the label."""

from lemmata.theories.graph_transformer.whole_graphs.experiments import CLAIMS, EXPERIMENTS

__all__ = ["CLAIMS", "EXPERIMENTS"]

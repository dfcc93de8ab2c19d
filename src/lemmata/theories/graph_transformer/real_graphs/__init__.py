"""The paper's tables and figures about real graphs (appendix B): discriminative nodes, margins, balance, sizes."""

from lemmata.theories.graph_transformer.real_graphs.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]

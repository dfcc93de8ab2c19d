"""Deep graph transformers and GCNs on real graphs (3.10): figures 3.8, 3.9, B.7 and B.8."""

from lemmata.theories.graph_transformer.deep.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]

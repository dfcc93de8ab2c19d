"""A tool for users' own graphs: what their neighbourhoods tell about the label, and what to sample."""

from lemmata.theories.graph_transformer.diagnose.diagnosis import diagnose

__all__ = ["diagnose"]

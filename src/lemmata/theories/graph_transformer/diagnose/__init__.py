"""A tool for users' own graphs: which distances carry the label, how surely, and what to sample and encode."""

from lemmata.theories.graph_transformer.diagnose.diagnosis import Core, Diagnosis, diagnose

__all__ = ["Core", "Diagnosis", "diagnose"]

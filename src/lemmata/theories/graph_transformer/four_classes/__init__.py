"""Four classes (3.9): two networks, one per coordinate of the label, on a cycle with two core distances."""

from lemmata.theories.graph_transformer.four_classes.experiments import CLAIMS, EXPERIMENTS

__all__ = ["CLAIMS", "EXPERIMENTS"]

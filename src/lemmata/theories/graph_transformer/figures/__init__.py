"""The figures of the experiments, by topic: the measurement, and the document's prediction beside it."""

from lemmata.theories.graph_transformer.figures.draws import batches, sampler, sampling
from lemmata.theories.graph_transformer.figures.encoding import cores, known_core
from lemmata.theories.graph_transformer.figures.extensions import absolute, four_classes, gat, graph_labels
from lemmata.theories.graph_transformer.figures.floor import noise
from lemmata.theories.graph_transformer.figures.hand import hand_margins
from lemmata.theories.graph_transformer.figures.masses import attention
from lemmata.theories.graph_transformer.figures.proof import training
from lemmata.theories.graph_transformer.figures.shells import exchanges, literal_graph, shares, variance
from lemmata.theories.graph_transformer.figures.success import (
    gcn_samples,
    samples_confusion,
    samples_error,
    samples_fraction,
)
from lemmata.theories.graph_transformer.figures.times import gcn_iterations, iterations, steps, width
from lemmata.theories.graph_transformer.figures.variants import variants

__all__ = [
    "absolute", "attention", "batches", "cores", "exchanges", "four_classes", "gat", "gcn_iterations", "gcn_samples",
    "graph_labels", "hand_margins", "iterations", "known_core", "literal_graph", "noise", "sampler",
    "samples_confusion", "samples_error",
    "samples_fraction", "sampling", "shares", "steps", "training", "variance", "variants", "width",
]  # fmt: skip

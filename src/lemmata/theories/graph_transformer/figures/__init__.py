"""The figures of the experiments, by topic: the measurement, and the paper's prediction beside it."""

from lemmata.theories.graph_transformer.figures.attention import attention
from lemmata.theories.graph_transformer.figures.encoding import cores, known_core
from lemmata.theories.graph_transformer.figures.extensions import gat
from lemmata.theories.graph_transformer.figures.gradients import batches
from lemmata.theories.graph_transformer.figures.iterations import gcn_iterations, iterations, sampler, steps
from lemmata.theories.graph_transformer.figures.proof import training
from lemmata.theories.graph_transformer.figures.samples import (
    gcn_samples,
    noise,
    samples_confusion,
    samples_error,
    samples_fraction,
)
from lemmata.theories.graph_transformer.figures.shells import exchanges, literal_graph, sampling, shares, variance

__all__ = [
    "attention",
    "batches",
    "cores",
    "exchanges",
    "gat",
    "gcn_iterations",
    "gcn_samples",
    "iterations",
    "known_core",
    "literal_graph",
    "noise",
    "sampler",
    "samples_confusion",
    "samples_error",
    "samples_fraction",
    "sampling",
    "shares",
    "steps",
    "training",
    "variance",
]

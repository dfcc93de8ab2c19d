"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size."""

from lemmata.theories.graph_transformer.experiments import (
    encoding,
    extensions,
    gradients,
    iterations,
    proof,
    samples,
    shells,
)

TOPICS = (iterations, samples, encoding, proof, gradients, shells, extensions)
EXPERIMENTS = tuple(one for topic in TOPICS for one in topic.EXPERIMENTS)

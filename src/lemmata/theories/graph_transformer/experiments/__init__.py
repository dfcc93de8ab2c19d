"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size."""

from lemmata.theories.graph_transformer.experiments import (
    attention,
    encoding,
    extensions,
    gradients,
    iterations,
    proof,
    samples,
    shells,
)

EXPERIMENTS = (
    *iterations.EXPERIMENTS,
    *samples.EXPERIMENTS,
    *attention.EXPERIMENTS,
    *encoding.EXPERIMENTS,
    *proof.EXPERIMENTS,
    *gradients.EXPERIMENTS,
    *shells.EXPERIMENTS,
    *extensions.EXPERIMENTS,
)

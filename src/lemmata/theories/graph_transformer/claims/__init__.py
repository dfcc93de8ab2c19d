"""The claims register: every statement with its judge, expected outcome and control."""

from lemmata.theories.graph_transformer.claims import (
    attention,
    extensions,
    facts,
    gradients,
    iterations,
    proof,
    samples,
    training,
)

CLAIMS = (
    *training.CLAIMS,
    *samples.CLAIMS,
    *iterations.CLAIMS,
    *attention.CLAIMS,
    *proof.CLAIMS,
    *gradients.CLAIMS,
    *facts.CLAIMS,
    *extensions.CLAIMS,
)

"""The claims register: every statement with its judge, expected outcome and control."""

from lemmata.theories.graph_transformer import theorem
from lemmata.theories.graph_transformer.claims import (
    attention,
    encoding,
    extensions,
    gradients,
    iterations,
    proof,
    samples,
    shells,
)

CLAIMS = (
    *theorem.CLAIMS,
    *iterations.CLAIMS,
    *samples.CLAIMS,
    *attention.CLAIMS,
    *encoding.CLAIMS,
    *proof.CLAIMS,
    *gradients.CLAIMS,
    *shells.CLAIMS,
    *extensions.CLAIMS,
)

"""The claims register: every statement with its judge, expected outcome and control."""

from lemmata.theories.graph_transformer import theorem
from lemmata.theories.graph_transformer.claims import (
    encoding,
    extensions,
    gradients,
    iterations,
    proof,
    samples,
    shells,
)

TOPICS = (theorem, iterations, samples, encoding, proof, gradients, shells, extensions)
CLAIMS = tuple(one for topic in TOPICS for one in topic.CLAIMS)

"""The claims register: every statement with its judge, expected outcome and control."""

from lemmata.theories.graph_transformer import theorem
from lemmata.theories.graph_transformer.claims import encoding, proof, requirements, steps
from lemmata.theories.graph_transformer.extensions import experiments as extensions
from lemmata.theories.graph_transformer.hand_made import experiments as hand_made

TOPICS = (theorem, requirements, encoding, proof, steps, hand_made, extensions)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

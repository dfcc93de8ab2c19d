"""The claims register: every statement with its judge, expected outcome and control."""

from lemmata.theories.graph_transformer import theorem
from lemmata.theories.graph_transformer.claims import encoding, needs, proof, steps
from lemmata.theories.graph_transformer.extensions import experiments as extensions
from lemmata.theories.graph_transformer.hand_made import experiments as hand_made

CLAIMS = tuple(one for topic in (theorem, needs, encoding, proof, steps, hand_made, extensions) for one in topic.CLAIMS)

"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size."""

from lemmata.theories.graph_transformer.deep import experiments as deep
from lemmata.theories.graph_transformer.experiments import encoding, needs, proof, steps
from lemmata.theories.graph_transformer.extensions import experiments as extensions
from lemmata.theories.graph_transformer.hand_made import experiments as hand_made
from lemmata.theories.graph_transformer.real_graphs import experiments as real_graphs

TOPICS = (needs, encoding, proof, steps, hand_made, extensions, real_graphs, deep)
EXPERIMENTS = tuple(one for topic in TOPICS for one in topic.EXPERIMENTS)

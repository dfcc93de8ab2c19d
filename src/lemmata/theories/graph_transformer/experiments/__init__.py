"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size."""

from lemmata.theories.graph_transformer.deep.experiments import EXPERIMENTS as DEEP
from lemmata.theories.graph_transformer.experiments import cores, extensions, samples, training
from lemmata.theories.graph_transformer.real.experiments import EXPERIMENTS as REAL

EXPERIMENTS = (
    *training.EXPERIMENTS,
    *cores.EXPERIMENTS,
    *samples.EXPERIMENTS,
    *extensions.EXPERIMENTS,
    *REAL,
    *DEEP,
)

"""Graph transformers with a distance encoding: which neighbourhood decides a label, and whether attention finds it."""

from lemmata.datasets.graphs import from_arrays
from lemmata.lab.theory import Theory
from lemmata.theories.graph_transformer import bounds
from lemmata.theories.graph_transformer.card import CARD
from lemmata.theories.graph_transformer.claims import CLAIMS
from lemmata.theories.graph_transformer.diagnosis import diagnose
from lemmata.theories.graph_transformer.experiments import EXPERIMENTS
from lemmata.theories.graph_transformer.generators.cycle import plan_cycle
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import simulate

theory = Theory(CARD, Setting, simulate, EXPERIMENTS, CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "diagnose", "from_arrays", "plan_cycle", "simulate", "theory"]

"""Graph transformers with a distance encoding: which neighbourhood decides a label, and whether attention finds it.

To read in this order: `setting`, `graphs` (where graphs come from), `margins` (the core distance), `sampling`, `data`,
`network`, `probes`, `training`, `bounds`, `theorem`; then `studies`, and claims, experiments and figures, which share
their topics. `hand_made`, `whole_graphs`, `four_classes`, `deep` and `real_graphs` have settings of their own.
"""

import lemmata as lm
from lemmata.datasets.graphs import from_arrays
from lemmata.theories.graph_transformer import (
    bounds,
    claims,
    deep,
    experiments,
    four_classes,
    hand_made,
    real_graphs,
    whole_graphs,
)
from lemmata.theories.graph_transformer.card import CARD
from lemmata.theories.graph_transformer.graphs.cycle import plan_cycle
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import simulate

CLAIMS = tuple(one for room in (claims, hand_made, whole_graphs, four_classes) for one in room.CLAIMS)
ROOMS = (experiments, hand_made, whole_graphs, four_classes, real_graphs, deep)
EXPERIMENTS = tuple(one for room in ROOMS for one in room.EXPERIMENTS)
theory = lm.Theory(CARD, Setting, simulate, EXPERIMENTS, CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "from_arrays", "plan_cycle", "simulate", "theory"]

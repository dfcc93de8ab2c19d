"""Graph transformers with a distance encoding: which neighbourhood decides a label, and whether attention finds it.

To read in this order: `setting`, `graphs` (where graphs come from), `margins` (the core distance), `sampling`, `data`,
`network`, `probes`, `training`, `bounds`, `theorem`; then `studies`, and claims, experiments and figures, which share
their topics. `hand_made`, `extensions`, `deep` and `real_graphs` have settings of their own.
"""

import lemmata as lm
from lemmata.datasets.graphs import from_arrays
from lemmata.theories.graph_transformer import bounds
from lemmata.theories.graph_transformer.card import CARD
from lemmata.theories.graph_transformer.claims import CLAIMS
from lemmata.theories.graph_transformer.deep.experiments import EXPERIMENTS as DEEP
from lemmata.theories.graph_transformer.experiments import EXPERIMENTS as ONE_LAYER
from lemmata.theories.graph_transformer.extensions.experiments import EXPERIMENTS as EXTENSIONS
from lemmata.theories.graph_transformer.graphs.cycle import plan_cycle
from lemmata.theories.graph_transformer.hand_made.experiments import EXPERIMENTS as HAND_MADE
from lemmata.theories.graph_transformer.real_graphs.experiments import EXPERIMENTS as REAL
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import simulate

EXPERIMENTS = (*ONE_LAYER, *HAND_MADE, *EXTENSIONS, *REAL, *DEEP)
theory = lm.Theory(CARD, Setting, simulate, EXPERIMENTS, CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "from_arrays", "plan_cycle", "simulate", "theory"]

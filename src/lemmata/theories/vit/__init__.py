"""The shallow vision transformer: sample complexity, attention concentration, token sparsification.

In reading order: `setting`, `data`, `network`, `training`, `probes` and `neurons` (what is measured
along training), `bounds`, `theorem`. `studies` has the simulations without training, `images` the experiment on real
images with its own setting; `experiments`, `claims` and `figures` go by topic.
"""

import lemmata as lm
from lemmata.theories.vit import bounds
from lemmata.theories.vit.card import CARD
from lemmata.theories.vit.claims import CLAIMS
from lemmata.theories.vit.experiments import EXPERIMENTS
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import simulate

theory = lm.Theory(CARD, Setting, simulate, EXPERIMENTS, CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "simulate", "theory"]

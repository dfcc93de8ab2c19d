"""Group imbalance: a one-hidden-layer network on Gaussian groups, and what more minority data does to each group.

In reading order: `setting`, `data`, `network`, `moments`, `decompositions` and `initialisation` (the tensor start),
`training` and `minimum`, `population` (Fisher information, floors, predictors), `rho`, `bounds`,
`theorem`; `baselines` see the groups. `mixture` estimates Ψ. `studies` has the simulations without gradient descent,
`images` and `census` the same questions on real data with settings of their own, `diagnose` the tool for users' tables.
"""

import lemmata as lm
from lemmata.theories.group_imbalance import bounds
from lemmata.theories.group_imbalance.card import CARD
from lemmata.theories.group_imbalance.claims import CLAIMS
from lemmata.theories.group_imbalance.experiments import EXPERIMENTS
from lemmata.theories.group_imbalance.images.experiments import EXPERIMENTS as IMAGES
from lemmata.theories.group_imbalance.setting import Setting
from lemmata.theories.group_imbalance.training import simulate

theory = lm.Theory(CARD, Setting, simulate, (*EXPERIMENTS, *IMAGES), CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "simulate", "theory"]

"""Over-parameterised exponential regression: the tangent kernel of a two-layer exponential network.

In reading order: setting, data, network (with kernels, step size, horizon), training, decomposition (one step taken
apart), probes, flow (one point in closed form), bounds, theorem; then studies, claims, experiments and figures.
"""

import lemmata as lm
from lemmata.theories.exp_regression import bounds
from lemmata.theories.exp_regression.card import CARD
from lemmata.theories.exp_regression.claims import CLAIMS
from lemmata.theories.exp_regression.experiments import EXPERIMENTS
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.training import fit, simulate

theory = lm.Theory(CARD, Setting, simulate, EXPERIMENTS, CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "fit", "simulate", "theory"]

"""Chain of thought against in-context inference: a one-layer attention model trained on multi-step prompts.

To be read in this order: `setting`; `transitions` (and tasks); `data` (prompts); `network`, `voters`, `training`;
`probes`; `bounds`; `theorem`. Then what is asked (`experiments`, `studies`), said (`claims`) and shown (`figures`).
`deep` is a three-layer transformer on the same prompts, `diagnose` a tool for reasoning chains of your own.
"""

import lemmata as lm
from lemmata.theories.cot import bounds
from lemmata.theories.cot.card import CARD
from lemmata.theories.cot.claims import CLAIMS
from lemmata.theories.cot.deep.experiments import EXPERIMENTS as DEEP
from lemmata.theories.cot.experiments import EXPERIMENTS
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.training import simulate

theory = lm.Theory(CARD, Setting, simulate, (*EXPERIMENTS, *DEEP), CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "simulate", "theory"]

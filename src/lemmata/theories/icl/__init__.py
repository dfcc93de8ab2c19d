"""In-context learning by a nonlinear transformer: a one-layer network that solves tasks it was not trained on.

To be read in this order: `setting`, with `tasks`; `data` (prompts); `network`, `training`; `probes`;
`bounds`; `theorem`. Then what is asked (`experiments`, `studies`), said (`claims`) and shown
(`figures`). `gpt` is another network on the same prompts.
"""

import lemmata as lm
from lemmata.theories.icl import bounds
from lemmata.theories.icl.card import CARD
from lemmata.theories.icl.claims import CLAIMS
from lemmata.theories.icl.experiments import EXPERIMENTS
from lemmata.theories.icl.gpt.experiments import EXPERIMENTS as GPT
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.tasks import check_condition, cyclic_tasks, subsampled_tasks
from lemmata.theories.icl.training import simulate

theory = lm.Theory(CARD, Setting, simulate, (*EXPERIMENTS, *GPT), CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "check_condition", "cyclic_tasks", "simulate", "subsampled_tasks", "theory"]

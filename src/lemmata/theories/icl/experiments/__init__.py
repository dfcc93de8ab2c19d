"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size."""

from lemmata.theories.icl.experiments import iterations, mechanism, tests
from lemmata.theories.icl.gpt.experiments import EXPERIMENTS as GPT

EXPERIMENTS = (*mechanism.EXPERIMENTS, *iterations.EXPERIMENTS, *tests.EXPERIMENTS, *GPT)

"""The experiments (section 7 and the claims register): settings, axes and seeds at `smoke`, `quick` and `paper` size.

The document has no experiments of its own; `paper` has the specification's largest widths and more seeds.
"""

from lemmata.theories.exp_regression.experiments import initial, training, width

EXPERIMENTS = (*initial.EXPERIMENTS, *training.EXPERIMENTS, *width.EXPERIMENTS)

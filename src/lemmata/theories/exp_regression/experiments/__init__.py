"""The experiments (section 7 and the claims register): settings, axes and seeds at `smoke`, `quick` and `paper` size.

The paper has no experiments of its own; `paper` has the specification's largest widths and more seeds.
"""

from lemmata.theories.exp_regression.experiments import (
    activations,
    convergence,
    drift,
    flow,
    frontier,
    initialisation,
    kernel,
    perturbation,
    stability,
    theorem,
    vacuity,
)

EXPERIMENTS = (
    *kernel.EXPERIMENTS,
    *initialisation.EXPERIMENTS,
    *perturbation.EXPERIMENTS,
    *convergence.EXPERIMENTS,
    *drift.EXPERIMENTS,
    *frontier.EXPERIMENTS,
    *stability.EXPERIMENTS,
    *activations.EXPERIMENTS,
    *vacuity.EXPERIMENTS,
    *theorem.EXPERIMENTS,
    *flow.EXPERIMENTS,
)

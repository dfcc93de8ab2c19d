"""The claims register, by topic. Outcomes that the specification expects to fail stand beside their corrected twins."""

from lemmata.theories.exp_regression import theorem
from lemmata.theories.exp_regression.claims import (
    activations,
    convergence,
    decomposition,
    drift,
    flow,
    frontier,
    gradients,
    inequalities,
    initialisation,
    kernel,
    perturbation,
    stability,
    vacuity,
)  # fmt: skip

CLAIMS = (
    *theorem.CLAIMS,
    *gradients.CLAIMS,
    *kernel.CLAIMS,
    *initialisation.CLAIMS,
    *perturbation.CLAIMS,
    *decomposition.CLAIMS,
    *convergence.CLAIMS,
    *drift.CLAIMS,
    *frontier.CLAIMS,
    *stability.CLAIMS,
    *activations.CLAIMS,
    *vacuity.CLAIMS,
    *flow.CLAIMS,
    *inequalities.CLAIMS,
)

"""The claims register, by topic. Outcomes that the specification expects to fail stand beside their corrected twins."""

from lemmata.theories.exp_regression.claims import (
    calculators,
    convergence,
    facts,
    flow,
    gradients,
    initial,
    kernels,
    perturbation,
    regimes,
    steps,
    theorem,
)

CLAIMS = (
    *gradients.CLAIMS,
    *initial.CLAIMS,
    *kernels.CLAIMS,
    *perturbation.CLAIMS,
    *steps.CLAIMS,
    *convergence.CLAIMS,
    *theorem.CLAIMS,
    *regimes.CLAIMS,
    *flow.CLAIMS,
    *calculators.CLAIMS,
    *facts.CLAIMS,
)

"""The claims register, by topic. Outcomes that the specification expects to fail stand beside their corrected twins."""

from lemmata.theories.exp_regression import theorem
from lemmata.theories.exp_regression.claims import (
    activations,
    convergence,
    decomposition,
    drift,
    flow,
    frontier,
    inequalities,
    initialisation,
    kernel,
    perturbation,
    stability,
    vacuity,
)

TOPICS = (
    theorem,
    kernel,
    initialisation,
    perturbation,
    decomposition,
    convergence,
    drift,
    frontier,
    stability,
    activations,
    flow,
    vacuity,
    inequalities,
)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

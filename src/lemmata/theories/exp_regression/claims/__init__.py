"""The claims register, by topic. Outcomes that the specification expects to fail stand beside their corrected twins."""

from lemmata.theories.exp_regression import theorem
from lemmata.theories.exp_regression.claims import (
    convergence,
    decomposition,
    inequalities,
    initialisation,
    kernel,
    step_size,
    width,
)

TOPICS = (theorem, kernel, initialisation, decomposition, convergence, width, step_size, inequalities)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

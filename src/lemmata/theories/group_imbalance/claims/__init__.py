"""The claims of the register, by topic."""

from lemmata.theories.group_imbalance import theorem
from lemmata.theories.group_imbalance.claims import (
    calculators,
    concentration,
    curvature,
    descent,
    groups,
    rho,
    samples,
    tensors,
)

TOPICS = (theorem, descent, groups, samples, calculators, rho, curvature, concentration, tensors)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

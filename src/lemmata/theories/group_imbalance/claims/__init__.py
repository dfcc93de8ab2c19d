"""The claims of the register, by topic."""

from lemmata.theories.group_imbalance import theorem
from lemmata.theories.group_imbalance.claims import calculators, curvature, descent, groups, rho, tensors

TOPICS = (theorem, descent, groups, calculators, rho, curvature, tensors)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

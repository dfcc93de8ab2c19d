"""The claims of the register: the headline theorems, then by topic."""

from lemmata.theories.cot import theorem
from lemmata.theories.cot.claims import figures, limits, mechanism, stages

TOPICS = (theorem, stages, mechanism, limits, figures)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

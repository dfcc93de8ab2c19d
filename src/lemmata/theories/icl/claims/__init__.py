"""The claims of the register: the headline theorem, then by topic."""

from lemmata.theories.icl import theorem
from lemmata.theories.icl.claims import attention, neurons, testing, training, variants

TOPICS = (theorem, training, testing, attention, neurons, variants)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

"""The claims of the register: the headline theorem, then by topic."""

from lemmata.theories.icl import theorem
from lemmata.theories.icl.claims import attention, contexts, iterations, neurons, pruning, shift, tasks, variants

TOPICS = (theorem, iterations, tasks, contexts, shift, attention, neurons, pruning, variants)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

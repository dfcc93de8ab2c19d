"""The claims of the register: the headline theorems, then by topic, each with its formula."""

from lemmata.theories.cot import theorem
from lemmata.theories.cot.claims import testing, training
from lemmata.theories.cot.claims.formulas import FORMULAS
from lemmata.theories.cot.deep import experiments as deep

TOPICS = (theorem, training, testing, deep)
CLAIMS = tuple(
    claim.states(claim.statement).in_symbols(FORMULAS[claim.name]) for topic in TOPICS for claim in topic.CLAIMS
)

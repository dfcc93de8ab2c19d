"""The claims of the register: the headline theorems, then by topic, each in words and in the paper's symbols.

In formulas ℓ is the loss on fresh tasks; R the error of CoT or ICL, V of the ideal voter; S_k* the matching columns of
step k, s_i the attention on column i, off-step attention that on other steps; D a projected gradient p̃'ᵀ∇_Wℓ p̃ with its
relation of (pattern, step); l* the length at which the error is 0.05; t at a condition the first time it is met.
"""

from lemmata.theories.cot import theorem
from lemmata.theories.cot.claims import testing, training
from lemmata.theories.cot.deep import experiments as deep

CLAIMS = (*theorem.CLAIMS, *training.CLAIMS, *testing.CLAIMS, *deep.CLAIMS)

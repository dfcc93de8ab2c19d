"""The claims register, by topic. What the document gets wrong stands beside its corrected twin."""

from lemmata.theories.teacher_student.claims import algebra, lemmas, mnist, sequences

CLAIMS = (*algebra.CLAIMS, *lemmas.CLAIMS, *sequences.CLAIMS, *mnist.CLAIMS)

"""The claims register: the theorem, then by topic. What the paper gets wrong stands beside its corrected twin."""

from lemmata.theories.teacher_student import theorem
from lemmata.theories.teacher_student.claims import gaussian, late, online, proof, sequences, value_scale
from lemmata.theories.teacher_student.mnist import claims as mnist
from lemmata.theories.teacher_student.transfer import claims as transfer

TOPICS = (theorem, proof, value_scale, late, transfer, gaussian, sequences, online, mnist)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

"""The experiments of the claims register and of section 7, by topic."""

from lemmata.theories.teacher_student.experiments import exact, online, transfer
from lemmata.theories.teacher_student.real.experiments import EXPERIMENTS as REAL

EXPERIMENTS = (*exact.EXPERIMENTS, *transfer.EXPERIMENTS, *online.EXPERIMENTS, *REAL)

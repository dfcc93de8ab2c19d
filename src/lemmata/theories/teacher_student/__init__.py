"""Teachers and students: position-only attention learns a class of bilinear teachers by gradient descent."""

from lemmata.lab.theory import Theory
from lemmata.theories.teacher_student import bounds
from lemmata.theories.teacher_student.card import CARD
from lemmata.theories.teacher_student.claims import CLAIMS
from lemmata.theories.teacher_student.experiments import EXPERIMENTS
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.training import simulate

theory = Theory(CARD, Setting, simulate, EXPERIMENTS, CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "simulate", "theory"]

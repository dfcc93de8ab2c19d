"""The figures of population gradient descent, the exact recursion and its limit."""

from lemmata.theories.teacher_student.figures.along import along, portrait
from lemmata.theories.teacher_student.figures.late import dimension, late
from lemmata.theories.teacher_student.figures.pattern import pattern, temperature
from lemmata.theories.teacher_student.figures.rates import escape, phases

__all__ = ["along", "dimension", "escape", "late", "pattern", "phases", "portrait", "temperature"]

"""How the presets of an experiment are made."""

from __future__ import annotations

from functools import partial

from lemmata.lab.theory import make_experiment
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.training import simulate

SLOPES = [1.0, 0.1, 0.0]
"""κ of identity, leaky ReLU and ReLU."""
TINY = {"steps": 40, "records": 8}
"""What every smoke preset has in common."""

experiment = partial(make_experiment, kind=Setting, simulation=simulate, tiny=TINY)

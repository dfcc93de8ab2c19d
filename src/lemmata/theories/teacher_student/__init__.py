"""Teachers and students: position-only attention learns a class of bilinear teachers by gradient descent.

In reading order: `setting`, `teachers` and `data` (section 2), `network` (3), `gaussian` and `dynamics` (4 to 6.1),
`probes` (5), `training`, `bounds` and `theorem` (6.2); `studies` are further simulations of the same setting.
`transfer` tests the student on other data, `mnist` trains it on the layer of a real network.
"""

import lemmata as lm
from lemmata.theories.teacher_student import bounds, experiments
from lemmata.theories.teacher_student.card import CARD
from lemmata.theories.teacher_student.claims import CLAIMS
from lemmata.theories.teacher_student.mnist import experiments as mnist
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.training import simulate

EXPERIMENTS = (*experiments.EXPERIMENTS, *mnist.EXPERIMENTS)
theory = lm.Theory(CARD, Setting, simulate, EXPERIMENTS, CLAIMS, bounds.BOUNDS, source=__path__[0])

__all__ = ["Setting", "bounds", "simulate", "theory"]

"""Along training: the attention groups with the late law (Figure 7.6), times of the stages, gradients."""

from __future__ import annotations

import lemmata as lm

reference = lm.show("train_loss")
pool = clocks = times = stages = gradients = late = lm.show("train_loss")

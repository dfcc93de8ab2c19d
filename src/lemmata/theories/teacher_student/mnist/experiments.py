"""Experiment E4 (Figures 4 and 5), read from $LEMMATA_DATA/mnist; `smoke` takes the stand-in, which needs no file."""

from __future__ import annotations

import lemmata as lm
from lemmata.theories.teacher_student.mnist import figures
from lemmata.theories.teacher_student.mnist.setting import MnistSetting
from lemmata.theories.teacher_student.mnist.training import simulate

LEAKY = 0.1
VARIANTS = {
    "ReLU": {"negative_slope": 0.0, "patch_order": "ordered"},
    "leaky": {"negative_slope": LEAKY, "patch_order": "ordered"},
    "shuffled": {"negative_slope": 0.0, "patch_order": "shuffled"},
}
TINY = {"image_source": "digits", "samples": 60, "test_samples": 60, "batch": 10, "teacher_batch": 10, "kernels": 4} | {
    "teacher_steps": 10,
    "steps": 12,
    "every": 4,
    "records": 6,
}
"""The sizes of `smoke`."""

EXPERIMENTS = (
    lm.experiment(
        "exp-e4-mnist",
        reference="Figures 4 and 5",
        question="Does a student with attention over positions learn a convolution layer that was trained on MNIST "
        "(without it: scikit-learn digits), and where does its attention stay behind?",
        plot=figures.mnist,
        setting={},
        axes={"variant": VARIANTS},
        seeds=2,
        kind=MnistSetting,
        simulation=simulate,
        tiny=TINY,
        paper={"samples": 60_000, "test_samples": 10_000, "teacher_steps": 18_750, "steps": 20_000, "records": 70},
        paper_seeds=5,
    ),
)

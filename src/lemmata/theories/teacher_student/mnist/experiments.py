"""Experiment E4 (Figures 4 and 5), read from $LEMMATA_DATA/mnist; `smoke` takes the stand-in, which needs no file."""

import functools

import lemmata as lm
from lemmata.theories.teacher_student.mnist import figures
from lemmata.theories.teacher_student.mnist.setting import MnistSetting
from lemmata.theories.teacher_student.mnist.training import simulate

VARIANTS = {
    "ReLU": {"negative_slope": 0.0, "patch_order": "ordered"},
    "leaky": {"negative_slope": 0.1, "patch_order": "ordered"},
    "shuffled": {"negative_slope": 0.0, "patch_order": "shuffled"},
}
TINY = {"image_source": "digits", "samples": 60, "test_samples": 60, "batch": 10, "teacher_batch": 10, "kernels": 4}
TINY |= {"teacher_steps": 10, "steps": 12, "every": 4, "records": 6}
"""The sizes of `smoke`."""
FROM_ZERO = {"initial_scale": 0.0, "steps": 8000, "records": 30}
"""The theory's start. Values drawn at random end in another basin in some runs, which `exp-e4-start` counts."""
CHOICES = {
    "Adam": {"optimiser": "adam", "scaling": "standard"},
    "pixels in [0, 1]": {"optimiser": "adam", "scaling": "unit"},
    "SGD, η = 0.01": {"optimiser": "sgd", "scaling": "standard", "step_size": 0.01},
}
WHOLE = {"samples": 60_000, "test_samples": 10_000, "teacher_steps": 18_750}
"""All images of MNIST, as in the paper."""
LONG = {**WHOLE, "steps": 20_000, "records": 70}
LEARNED = lm.show("cosine", "loss", "in_basin", levels={"cosine": "exp-e4-cosine"})

experiment = functools.partial(lm.experiment, kind=MnistSetting, simulation=simulate, tiny=TINY)

EXPERIMENTS = (
    experiment(
        "exp-e4-mnist",
        reference="Figures 4 and 5",
        question="Does a student with attention over positions learn a convolution layer that was trained on MNIST "
        "(without it: scikit-learn digits), and where does its attention stay behind?",
        plot=figures.mnist,
        setting=FROM_ZERO,
        axes={"variant": VARIANTS},
        seeds=5,
        paper=LONG,
        paper_seeds=5,
    ),
    experiment(
        "exp-e4-start",
        reference="Figure 4(b), other starts",
        question="In which share of runs does a student whose values start at random find the teacher's direction?",
        table=figures.basins,
        setting={"steps": 8000, "records": 30},
        axes={"initial_scale": [0.01, 0.0001]},
        seeds=12,
        paper=LONG,
        paper_seeds=20,
    ),
    experiment(
        "exp-e4-choices",
        reference="Figure 4, choices that the paper leaves open",
        question="What do pixels in [0, 1] and plain SGD change?",
        plot=LEARNED,
        setting={**FROM_ZERO, "steps": 12_000, "records": 43},
        axes={"variant": CHOICES},
        seeds=2,
        smoke={"variant": CHOICES},
        paper={**WHOLE, "steps": 40_000, "records": 140},
        paper_seeds=5,
    ),
)

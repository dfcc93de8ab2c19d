"""Figures 4.1 and 4.8 on Adult. The paper says nothing about it, so there is no claim."""

from functools import partial

import lemmata as lm
from lemmata.theories.group_imbalance.census.training import CensusSetting, simulate
from lemmata.theories.group_imbalance.images.figures import sweep

experiment = partial(lm.experiment, kind=CensusSetting, simulation=simulate, tiny={}, seeds=10, paper_seeds=20)

adult = partial(sweep, title="Adult", split="minority")

EXPERIMENTS = (
    experiment(
        "f41-adult",
        reference="Figure 4.1",
        question="Does noise on added minority rows of Adult first help and then hurt?",
        axes={"minority": ["Female", "Black"], "noise_variance": [0.0, 1e-2, 1e-1, 1.0, 10.0]},
        setting={"extra": 300},
        smoke={"minority": ["Female"], "noise_variance": [0.0, 1.0], "samples": 400, "extra": 40},
        plot=partial(adult, along="noise_variance", x=r"noise of the extra rows $\delta^2$", scale="symlog"),
    ),
    experiment(
        "f48-adult",
        reference="Figure 4.8",
        question="What does a larger share of one group do to both groups of Adult?",
        axes={"minority": ["Female", "Male"], "fraction": [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]},
        smoke={"minority": ["Female"], "fraction": [0.1, 0.5], "samples": 400},
        plot=partial(adult, along="fraction", x=r"fraction of the minority $\lambda$"),
    ),
)

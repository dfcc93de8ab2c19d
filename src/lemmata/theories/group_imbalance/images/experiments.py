"""F4.1 and F4.8 on the rendered stand-in, which says so, and on CelebA, read from $LEMMATA_DATA/celeba.

The paper states no numbers, so these are experiments without claims.
"""

from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.group_imbalance.images import figures
from lemmata.theories.group_imbalance.images.setting import ImageSetting
from lemmata.theories.group_imbalance.images.training import simulate

TINY = {"samples": 40, "extra": 0, "batch": 10, "epochs": 1, "width": 2, "side": 8, "test_samples": 20}
"""The one set of sizes of every smoke preset."""
FACES = {"image_source": "celeba", "samples": 5000, "batch": 128, "side": 64, "width": 64, "test_samples": 500}
VARIANCES = [0.0, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0]
FRACTIONS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]

experiment = partial(lm.experiment, kind=ImageSetting, simulation=simulate, tiny=TINY, seeds=5, paper_seeds=5)
noise_plot = partial(figures.sweep, along="noise_variance", x=r"noise of the extra images $\delta^2$", scale="symlog")
fraction_plot = partial(figures.sweep, along="fraction", x=r"fraction of the minority $\lambda$", split="minority")
_NOISE: Any = {"axes": {"noise_variance": [0.0, 1e-2, 1e-1, 1.0]}, "smoke": {"noise_variance": [0.0, 1.0], "extra": 4}}
_FRACTION: Any = {
    "axes": {"minority": ["male", "female"], "fraction": [0.02, 0.1, 0.3, 0.5]},
    "smoke": {"minority": ["male"], "fraction": [0.1, 0.5]},
}

EXPERIMENTS = (
    experiment(
        "f41-rendered",
        reference="Figure 4.1",
        question="Does noise on added minority images first help and then hurt (stand-in: rendered patterns)?",
        setting={"extra": 24},
        plot=partial(noise_plot, title="rendered stand-in"),
        **_NOISE,
    ),
    experiment(
        "f48-rendered",
        reference="Figure 4.8",
        question="Does a larger minority help a narrow group and hurt a wide one (stand-in: rendered patterns)?",
        plot=partial(fraction_plot, title="rendered stand-in"),
        **_FRACTION,
    ),
    experiment(
        "f41-celeba",
        reference="Figure 4.1",
        question="The question of f41-rendered on CelebA (blond hair, groups by Male), read from $LEMMATA_DATA/celeba.",
        setting={**FACES, "extra": 300},
        plot=partial(noise_plot, title="CelebA"),
        paper={"noise_variance": VARIANCES, "epochs": 30},
        **_NOISE,
    ),
    experiment(
        "f48-celeba",
        reference="Figure 4.8",
        question="The question of f48-rendered on CelebA (blond hair, groups by Male), read from $LEMMATA_DATA/celeba.",
        setting=FACES,
        plot=partial(fraction_plot, title="CelebA"),
        paper={"fraction": FRACTIONS, "epochs": 30},
        **_FRACTION,
    ),
)

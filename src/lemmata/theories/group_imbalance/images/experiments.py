"""F4.1 and F4.8 on the rendered stand-in, which says so, on CelebA and on Adult, read from $LEMMATA_DATA.

The paper states no numbers, so these are experiments without claims.
"""

from functools import partial
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.group_imbalance import census
from lemmata.theories.group_imbalance.images.setting import ImageSetting
from lemmata.theories.group_imbalance.images.training import simulate

TINY = {"samples": 40, "extra": 0, "batch": 10, "epochs": 1, "width": 2, "side": 8, "test_samples": 20}
"""The one set of sizes of every smoke preset."""
FACES = {"image_source": "celeba", "samples": 5000, "batch": 128, "side": 64, "width": 64, "test_samples": 500}
VARIANCES = {"noise_variance": [0.0, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0], "epochs": 30}
FRACTIONS = {"fraction": [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]}
WORDS = {"minority": "minority", "majority": "majority", "test": "both groups"}


def sweep(title: str, along: str, what: str, split: str = "") -> Any:
    """A figure of accuracy and cross entropy of either group and of both, two panels for each value of `split`."""
    x = rf"noise of the extra {what} $\delta^2$" if along == "noise_variance" else r"fraction of the minority $\lambda$"

    def plot(data: xr.Dataset) -> Figure:
        cases = list(data[split].values) if split else [None]
        figure, axes = draw.panels(2 * len(cases))
        for place, ax in enumerate(axes):
            case, measure = cases[place // 2], ("accuracy", "loss")[place % 2]
            chosen = data if case is None else data.sel({split: case})
            groups = lm.stack({words: chosen[f"{name}_{measure}"] for name, words in WORDS.items()}, "group")
            draw.curves(ax, groups, along, "group")
            if along == "noise_variance":
                ax.set_xscale("symlog", linthresh=1e-3)
            draw.finish(ax, title if case is None else f"{title}, minority: {case}", f"test {measure}", x)
        return figure

    return plot


experiment = partial(lm.experiment, kind=ImageSetting, simulation=simulate, tiny=TINY, seeds=5, paper_seeds=5)
VARIED = {"axes": {"noise_variance": [0.0, 1e-2, 1e-1, 1.0]}, "smoke": {"noise_variance": [0.0, 1.0], "extra": 4}}
noise: Any = partial(experiment, reference="Figure 4.1", **VARIED)
SHARES = {"minority": ["male", "female"], "fraction": [0.02, 0.1, 0.3, 0.5]}
FEWER = {"minority": ["male"], "fraction": [0.1, 0.5]}
fraction: Any = partial(experiment, reference="Figure 4.8", axes=SHARES, smoke=FEWER)
ON_CELEBA = "The question of {} on CelebA (blond hair, groups by Male), read from $LEMMATA_DATA/celeba."
STAND_IN = "rendered stand-in"
on_adult: Any = partial(
    lm.experiment, kind=census.CensusSetting, simulation=census.simulate, tiny={}, seeds=10, paper_seeds=20
)

EXPERIMENTS = (
    noise(
        "f41-rendered",
        question="Does noise on added minority images first help and then hurt (stand-in: rendered patterns)?",
        setting={"extra": 24},
        plot=sweep(STAND_IN, "noise_variance", "images"),
    ),
    fraction(
        "f48-rendered",
        question="Does a larger minority help a narrow group and hurt a wide one (stand-in: rendered patterns)?",
        plot=sweep(STAND_IN, "fraction", "images", "minority"),
    ),
    noise(
        "f41-celeba",
        question=ON_CELEBA.format("f41-rendered"),
        setting={**FACES, "extra": 300},
        paper=VARIANCES,
        plot=sweep("CelebA", "noise_variance", "images"),
    ),
    fraction(
        "f48-celeba",
        question=ON_CELEBA.format("f48-rendered"),
        setting=FACES,
        paper={**FRACTIONS, "epochs": 30},
        plot=sweep("CelebA", "fraction", "images", "minority"),
    ),
    on_adult(
        "f41-adult",
        reference="Figure 4.1",
        question="Does noise on added minority rows of Adult first help and then hurt?",
        axes={"minority": ["Female", "Black"], "noise_variance": [0.0, 1e-2, 1e-1, 1.0, 10.0]},
        setting={"extra": 300},
        smoke={"minority": ["Female"], "noise_variance": [0.0, 1.0], "samples": 400, "extra": 40},
        plot=sweep("Adult", "noise_variance", "rows", "minority"),
    ),
    on_adult(
        "f48-adult",
        reference="Figure 4.8",
        question="What does a larger share of one group do to both groups of Adult?",
        axes={"minority": ["Female", "Male"], **FRACTIONS},
        smoke={"minority": ["Female"], "fraction": [0.1, 0.5], "samples": 400},
        plot=sweep("Adult", "fraction", "rows", "minority"),
    ),
)

"""The image experiments (7.F6): the stand-ins that claims read, and the same questions on the user's own CIFAR-10."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.vit.images import figures
from lemmata.theories.vit.images.setting import ImageSetting
from lemmata.theories.vit.images.training import simulate

TINY = {"width": 8, "heads": 2, "blocks": 2, "batch": 2, "samples": 20, "epochs": 1, "test_samples": 20}
"""The one set of sizes of every smoke preset; 18 and 20 images share their programs."""

ASKED = {
    "f6a-images": """Figure 2.6: Do more images and fewer background tokens raise the accuracy of a deep transformer
        (stand-in: digits)?""",
    "f6c-spurious": """Figure 2.6: Does dropping background tokens, or a better initial model, help where backgrounds
        are spuriously correlated with the class (stand-in: digits)?""",
    "f6a-cifar10": "Figure 2.6: The question of f6a-images on CIFAR-10, read from $LEMMATA_DATA/cifar10.",
    "f6c-cifar10": """Figure 2.6: The question of f6c-spurious on CIFAR-10 (bird against airplane), read from
        $LEMMATA_DATA/cifar10.""",
}
"""Where each experiment stands in the paper, and what it asks."""
asks = lm.asking(ASKED, kind=ImageSetting, simulation=simulate, tiny=TINY, seeds=3, paper_seeds=5)
JUDGED = {"seeds": 8, "paper_seeds": 8}
"""Three seeds say too little by an interval."""

FRACTIONS = {"relevant_fraction": [0.656, 1.0]}
PAPER_FRACTIONS = {"relevant_fraction": [0.656, 0.8, 1.0]}


def samples_axis(epochs: Mapping[int, int]) -> dict[str, Any]:
    """N with its number of epochs."""
    return {"samples": {n: {"samples": n, "epochs": count} for n, count in epochs.items()}}


def initial_axis(good: tuple[int, int], poor: tuple[int, int]) -> dict[str, Any]:
    """Initial models by (images, epochs) of pre-training; the last one is fine-tuned on uncorrelated backgrounds."""
    fields = ("pretraining_samples", "pretraining_epochs", "plants_first", "plants_second")
    models = {"good": (*good, 0.9, 0.1), "poor": (*poor, 0.9, 0.1), "poor, balanced": (*poor, 0.5, 0.5)}
    return {"variant": {name: dict(zip(fields, values, strict=True)) for name, values in models.items()}}


SAMPLES = {**samples_axis({150: 40, 600: 20}), **FRACTIONS, "smoke": samples_axis({18: 1, 20: 1})}
INITIAL = {
    **FRACTIONS,
    **initial_axis(good=(1000, 15), poor=(80, 60)),
    "smoke": initial_axis(good=(20, 1), poor=(18, 1)),
}
PAIR = {"task": "pair", "samples": 200, "epochs": 15}
CIFAR10 = {"image_source": "cifar10"}

EXPERIMENTS = (
    asks("f6a-images", partial(figures.samples, image_source="digits"), **JUDGED)(
        paper={**samples_axis({150: 40, 300: 30, 600: 20}), **PAPER_FRACTIONS}, **SAMPLES
    ),
    asks("f6c-spurious", partial(figures.spurious, image_source="digits"), **JUDGED)(PAIR, **INITIAL),
    asks("f6a-cifar10", partial(figures.samples, **CIFAR10))(
        CIFAR10,
        paper={"test_samples": 10_000, **samples_axis({600: 20, 1000: 20, 5000: 20}), **PAPER_FRACTIONS},
        **SAMPLES,
    ),
    asks("f6c-cifar10", partial(figures.spurious, **CIFAR10))(
        {**CIFAR10, **PAIR},
        paper={"test_samples": 2000, "samples": 1000, **initial_axis(good=(4000, 15), poor=(80, 60))},
        **INITIAL,
    ),
)

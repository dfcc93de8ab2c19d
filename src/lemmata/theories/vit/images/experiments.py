"""The image experiments (7.F6): the stand-ins that claims read, and the same questions on the user's own CIFAR-10."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.vit.images import figures
from lemmata.theories.vit.images.setting import ImageSetting
from lemmata.theories.vit.images.training import simulate

TINY = {"width": 8, "heads": 2, "blocks": 2, "batch": 2, "samples": 20, "epochs": 1, "test_samples": 20}
"""The one set of sizes of every smoke preset; 18 and 20 images share their programs."""

experiment = partial(
    lm.experiment, reference="Figure 2.6", kind=ImageSetting, simulation=simulate, tiny=TINY, seeds=3, paper_seeds=5
)


def samples_axis(epochs: Mapping[int, int]) -> dict[int, dict[str, int]]:
    """N with its number of epochs."""
    return {n: {"samples": n, "epochs": count} for n, count in epochs.items()}


def initial_axis(good: tuple[int, int], poor: tuple[int, int]) -> dict[str, dict[str, Any]]:
    """Initial models by (images, epochs) of pre-training; the last one is fine-tuned on uncorrelated backgrounds."""

    def model(images: int, epochs: int, first: float = 0.9, second: float = 0.1) -> dict[str, Any]:
        pretraining = {"pretraining_samples": images, "pretraining_epochs": epochs}
        return {**pretraining, "plants_first": first, "plants_second": second}

    return {"good": model(*good), "poor": model(*poor), "poor, balanced": model(*poor, 0.5, 0.5)}


_SAMPLES = {
    "axes": {"samples": samples_axis({150: 40, 600: 20}), "relevant_fraction": [0.656, 1.0]},
    "smoke": {"samples": samples_axis({18: 1, 20: 1})},
}
_INITIAL = {
    "axes": {"relevant_fraction": [0.656, 1.0], "variant": initial_axis(good=(1000, 15), poor=(80, 60))},
    "smoke": {"variant": initial_axis(good=(20, 1), poor=(18, 1))},
}
_PAIR = {"task": "pair", "samples": 200, "epochs": 15}

EXPERIMENTS = (
    experiment(
        "f6a-images",
        question="Do more images and fewer background tokens raise the accuracy of a deep transformer (stand-in: "
        "digits)?",
        plot=partial(figures.samples, image_source="digits"),
        paper={"samples": samples_axis({150: 40, 300: 30, 600: 20}), "relevant_fraction": [0.656, 0.8, 1.0]},
        **_SAMPLES,
    ),
    experiment(
        "f6c-spurious",
        question="Does dropping background tokens, or a better initial model, help where backgrounds are spuriously "
        "correlated with the class (stand-in: digits)?",
        plot=partial(figures.spurious, image_source="digits"),
        setting=_PAIR,
        seeds=8,
        paper_seeds=8,
        **_INITIAL,
    ),
    experiment(
        "f6a-cifar10",
        question="The question of f6a-images on CIFAR-10, read from $LEMMATA_DATA/cifar10.",
        plot=partial(figures.samples, image_source="cifar10"),
        setting={"image_source": "cifar10"},
        paper={
            "test_samples": 10_000,
            "samples": samples_axis({600: 20, 1000: 20, 5000: 20}),
            "relevant_fraction": [0.656, 0.8, 1.0],
        },
        **_SAMPLES,
    ),
    experiment(
        "f6c-cifar10",
        question="The question of f6c-spurious on CIFAR-10 (bird against airplane), read from $LEMMATA_DATA/cifar10.",
        plot=partial(figures.spurious, image_source="cifar10"),
        setting={"image_source": "cifar10", **_PAIR},
        paper={"test_samples": 2000, "samples": 1000, "variant": initial_axis(good=(4000, 15), poor=(80, 60))},
        **_INITIAL,
    ),
)

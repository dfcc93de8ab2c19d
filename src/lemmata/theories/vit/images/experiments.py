"""The image experiments (7.F6): the stand-ins that claims read, and the same questions on the user's own CIFAR-10."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.theory import Experiment, Preset
from lemmata.theories.vit.images import figures
from lemmata.theories.vit.images.setting import ImageSetting
from lemmata.theories.vit.images.training import simulate

FRACTIONS = [0.656, 1.0]
TINY = {"width": 8, "heads": 2, "blocks": 2, "batch": 2, "samples": 20, "epochs": 1, "test_samples": 20}
"""The one set of sizes of every smoke preset; 18 and 20 images share their programs."""


def samples_axis(epochs: Mapping[int, int]) -> dict[int, dict[str, int]]:
    """N with its number of epochs."""
    return {n: {"samples": n, "epochs": count} for n, count in epochs.items()}


def initial_axis(good: tuple[int, int], poor: tuple[int, int]) -> dict[str, dict[str, Any]]:
    """Initial models by (images, epochs) of pre-training; the last one is fine-tuned on uncorrelated backgrounds."""

    def model(images: int, epochs: int, first: float = 0.9, second: float = 0.1) -> dict[str, Any]:
        return {
            "pretraining_samples": images, "pretraining_epochs": epochs, "plants_first": first, "plants_second": second,
        }  # fmt: skip

    return {"good": model(*good), "poor": model(*poor), "poor, balanced": model(*poor, 0.5, 0.5)}


def _experiment(
    name: str,
    question: str,
    plot: Callable[[xr.Dataset], Figure],
    setting: Mapping[str, Any],
    axes: Mapping[str, Any],
    smoke: Mapping[str, Any],
    paper: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> Experiment:
    base = ImageSetting(**setting)
    presets = {
        "smoke": Preset(base.replace(**TINY), {**axes, **smoke}, 2),
        "quick": Preset(base, axes, 3),
        "paper": Preset(base.replace(**paper[0]), {**axes, **paper[1]}, 5),
    }
    return Experiment(name, question, "Figure 2.6", simulate, presets, plot)


_SAMPLES = {"samples": samples_axis({150: 40, 600: 20}), "relevant_fraction": FRACTIONS}
_SAMPLES_SMOKE = {"samples": samples_axis({18: 1, 20: 1})}
_INITIAL = {"relevant_fraction": FRACTIONS, "variant": initial_axis(good=(1000, 15), poor=(80, 60))}
_INITIAL_SMOKE = {"variant": initial_axis(good=(20, 1), poor=(18, 1))}
_PAIR = {"task": "pair", "samples": 200, "epochs": 15}

EXPERIMENTS = (
    _experiment(
        "f6a-images",
        "Do more images and fewer background tokens raise the accuracy of a deep transformer (stand-in: digits)?",
        figures.samples("digits"),
        {},
        _SAMPLES,
        _SAMPLES_SMOKE,
        ({}, {"samples": samples_axis({150: 40, 300: 30, 600: 20}), "relevant_fraction": [0.656, 0.8, 1.0]}),
    ),
    _experiment(
        "f6c-spurious",
        "Does dropping background tokens, or a better initial model, help where backgrounds are spuriously correlated "
        "with the class (stand-in: digits)?",
        figures.spurious("digits"),
        _PAIR,
        _INITIAL,
        _INITIAL_SMOKE,
        ({}, {}),
    ),
    _experiment(
        "f6a-cifar10",
        "The question of f6a-images on CIFAR-10, read from $LEMMATA_DATA/cifar10.",
        figures.samples("cifar10"),
        {"image_source": "cifar10"},
        _SAMPLES,
        _SAMPLES_SMOKE,
        (
            {"test_samples": 10_000},
            {"samples": samples_axis({600: 20, 1000: 20, 5000: 20}), "relevant_fraction": [0.656, 0.8, 1.0]},
        ),
    ),
    _experiment(
        "f6c-cifar10",
        "The question of f6c-spurious on CIFAR-10 (bird against airplane), read from $LEMMATA_DATA/cifar10.",
        figures.spurious("cifar10"),
        {"image_source": "cifar10", **_PAIR},
        _INITIAL,
        _INITIAL_SMOKE,
        ({"test_samples": 2000, "samples": 1000}, {"variant": initial_axis(good=(4000, 15), poor=(80, 60))}),
    ),
)

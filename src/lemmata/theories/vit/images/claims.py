"""The image experiment F6 (Figure 2.6): accuracy against samples, relevant fraction, initial model and backgrounds.

All of it is judged on the stand-in, digits over procedural plants, never on CIFAR-10. A network that has learned
nothing says nothing: below a gate on the best cell's accuracy every verdict is inconclusive.
"""

from functools import partial
from typing import Any

import xarray as xr

import lemmata as lm

WHOLE, SPARSE = 0.656, 1.0
"""The relevant fraction of whole images, and of images without background tokens."""

Stated = tuple[xr.DataArray, str]
"""Evidence, and the accuracies that it was taken from in words."""


def _stated(evidence: xr.DataArray, data: xr.Dataset) -> Stated:
    cells = data.test_accuracy.mean("seed")
    chance = float(data.chance.mean())
    return evidence, f"seed-mean accuracies {float(cells.min()):.3f} to {float(cells.max()):.3f}, chance {chance:.3g}"


def _fraction_gain(accuracy: xr.DataArray) -> xr.DataArray:
    """Accuracy at relevant fraction 1 minus that of whole images."""
    return lm.cells(accuracy, relevant_fraction=SPARSE) - lm.cells(accuracy, relevant_fraction=WHOLE)


@lm.evidence("f6a-images")
def by_samples(data: xr.Dataset, reverse: bool = False) -> Stated:
    """Test accuracy along the number of training images."""
    return _stated(data.test_accuracy.isel(samples=slice(None, None, -1 if reverse else 1)), data)


@lm.evidence("f6a-images")
def fraction_gain(data: xr.Dataset, reverse: bool = False) -> Stated:
    """The gain of dropping the background, averaged over the numbers of images."""
    gain = _fraction_gain(data.test_accuracy).mean("samples")
    return _stated(-gain if reverse else gain, data)


@lm.evidence("f6c-spurious")
def model_gain(data: xr.Dataset, better: str = "good", worse: str = "poor", alpha: Any = (WHOLE, SPARSE)) -> Stated:
    """Accuracy from one initial model minus that from another, at each relevant fraction or at one."""
    accuracy = lm.cells(data.test_accuracy, relevant_fraction=alpha)
    return _stated(lm.cells(accuracy, variant=better) - lm.cells(accuracy, variant=worse), data)


@lm.evidence("f6c-spurious")
def background_gain(data: xr.Dataset, reverse: bool = False) -> Stated:
    """The gain of dropping the background, averaged over the two initial models."""
    gain = _fraction_gain(lm.cells(data.test_accuracy, variant=["good", "poor"])).mean("variant")
    return _stated(-gain if reverse else gain, data)


TEN_CLASSES = lm.Gate(
    "not learned: even the best cell classifies less than twice as many images as guessing",
    lambda data: data.test_accuracy.mean("seed").max() >= 2 * data.chance.mean(),
)
TWO_CLASSES = lm.Gate(
    "not learned: even the best cell does not reach half-way between chance and 1",
    lambda data: data.test_accuracy.mean("seed").max() >= (1 + data.chance.mean()) / 2,
)

ABOVE_ZERO = lm.stating(lm.at_least(0.0, strict=True))
"""Paired differences of accuracies all have the same rule, the interval over seeds, and as many seeds."""
REVERSED = lm.Control("α_* axis reversed", reverse=True)

ten_classes = partial(lm.Claim, source="figure", gate=TEN_CLASSES)
two_classes = partial(lm.Claim, source="figure", gate=TWO_CLASSES)

CLAIMS = (
    ten_classes("f6a-samples", "Figure 2.6 (a)", "ordering")
    .states("Test accuracy rises with the number of training images, at each relevant fraction (stand-in: digits).")
    .in_symbols(r"N < N' \Rightarrow \mathrm{acc}(N) < \mathrm{acc}(N')")
    .judged(by_samples(), lm.stating(lm.increasing("samples", by="mean")), lm.Control("N axis reversed", reverse=True)),
    ten_classes("f6a-fraction", "Figure 2.6 (a)", "comparison")
    .states("""Test accuracy is higher without background tokens (α_* = 1) than with all of them (α_* = 0.656), averaged
        over the numbers of training images (stand-in: digits).""")
    .in_symbols(r"\mathrm{acc}(\alpha_*=1) > \mathrm{acc}(\alpha_*=0.656)")
    .judged(fraction_gain(), ABOVE_ZERO, REVERSED),
    two_classes("f6c-initial", "Figure 2.6 (c), Remark 3", "comparison")
    .states("""With correlated backgrounds a better initial model gives a higher test accuracy, at each relevant
        fraction (stand-in: digits).""")
    .in_symbols(r"\mathrm{acc}_{\text{good}} > \mathrm{acc}_{\text{poor}}")
    .judged(model_gain(), ABOVE_ZERO, lm.Control("good and poor exchanged", better="poor", worse="good")),
    two_classes("f6c-background", "Figure 2.6 (c), Remark 2", "comparison")
    .states("""With correlated backgrounds test accuracy is higher without background tokens than with them, averaged
        over the two initial models (stand-in: digits).""")
    .in_symbols(r"\mathrm{acc}(\alpha_*=1) > \mathrm{acc}(\alpha_*=0.656)")
    .judged(background_gain(), ABOVE_ZERO, REVERSED),
    two_classes("f6c-shortcut", "Figure 2.6 (c)", "comparison")
    .states("""With all tokens and the poor initial model, training on backgrounds that do not depend on the class gives
        a test accuracy higher by at least 0.1 than training on correlated ones (stand-in: digits).""")
    .in_symbols(r"\mathrm{acc}_{\text{uncorrelated}}-\mathrm{acc}_{\text{correlated}} \ge 0.1")
    .judged(
        model_gain("poor, balanced", alpha=WHOLE),
        lm.stating(lm.at_least(0.1)),
        lm.Control("correlated backgrounds in both places", better="poor"),
    ),
)

"""The image experiment F6 (Figure 2.6): accuracy against samples, relevant fraction, initial model and backgrounds.

All of it is judged on the stand-in, digits over procedural plants, never on CIFAR-10. A network that has learned
nothing says nothing: below a gate on the best cell's accuracy every verdict is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from lemmata.lab.claims import (
    HOLDS,
    INCONCLUSIVE,
    Claim,
    Control,
    Datasets,
    Evidence,
    NotApplicable,
    Verdict,
)
from lemmata.lab.judges import at_least, increasing, stating

WHOLE, SPARSE = 0.656, 1.0
"""The relevant fraction of whole images, and of images without background tokens."""
MODELS = ["good", "poor"]
ENOUGH_SEEDS = 5
"""From so many seeds on the register judges more strictly."""

Stated = tuple[xr.DataArray, str]
"""Evidence, and the accuracies that it was taken from in words."""


def _gated(name: str, gate: Callable[[float], float], take: Callable[[xr.DataArray], xr.DataArray]) -> Evidence:
    """What `take` makes of the accuracies of an experiment, if its best cell reaches gate(chance)."""

    def evidence(datasets: Datasets) -> Stated:
        data = datasets[name]
        accuracy, chance = data.test_accuracy, float(data.chance.mean())
        cells = accuracy.mean("seed")
        low, high = float(cells.min()), float(cells.max())
        said = f"stand-in digits, seed-mean accuracies {low:.3f} to {high:.3f}, chance {chance:.3g}"
        if high < gate(chance):
            raise NotApplicable(f"not learned: {said}, and the best cell is below {gate(chance):.3g}")
        return take(accuracy), said

    return evidence


def _ten(take: Callable[[xr.DataArray], xr.DataArray]) -> Evidence:
    """Ten classes: the best cell reaches twice chance."""
    return _gated("f6a-images", lambda chance: 2 * chance, take)


def _two(take: Callable[[xr.DataArray], xr.DataArray]) -> Evidence:
    """Two classes: twice chance would be 100 %, so the best cell reaches half-way between chance and 1, i.e. 0.75."""
    return _gated("f6c-spurious", lambda chance: (1 + chance) / 2, take)


def _clear_of_zero(difference: xr.DataArray) -> Verdict:
    """Above 0, below 0 or undecided by the t interval; with five seeds or more twice the standard error decides."""
    return at_least(0.0, "clear" if difference.sizes["seed"] >= ENOUGH_SEEDS else "interval", strict=True)(difference)


def _reversed(accuracy: xr.DataArray) -> xr.DataArray:
    return accuracy.isel(samples=slice(None, None, -1))


def _fraction_gain(accuracy: xr.DataArray) -> xr.DataArray:
    """Accuracy at relevant fraction 1 minus that of whole images."""
    whole, sparse = (accuracy.sel(relevant_fraction=value, drop=True) for value in (WHOLE, SPARSE))
    return sparse - whole


def _lifted(accuracy: xr.DataArray) -> xr.DataArray:
    """The same data, had dropping the background added 0.1 in every seed."""
    whole = accuracy.sel(relevant_fraction=WHOLE)
    return xr.concat([whole, (whole + 0.1).assign_coords(relevant_fraction=SPARSE)], "relevant_fraction")


def _model_gain(better: str, worse: str) -> Callable[[xr.DataArray], xr.DataArray]:
    """Accuracy from one initial model minus that from another, at each relevant fraction."""
    return lambda accuracy: accuracy.sel(variant=better, drop=True) - accuracy.sel(variant=worse, drop=True)


def _background_gain(accuracy: xr.DataArray) -> xr.DataArray:
    """The gain of dropping the background: averaged over the two initial models, with five seeds or more of each."""
    gain = _fraction_gain(accuracy.sel(variant=MODELS))
    return gain if gain.sizes["seed"] >= ENOUGH_SEEDS else gain.mean("variant")


def _balance_gain(balanced: str) -> Callable[[xr.DataArray], xr.DataArray]:
    """What uncorrelated backgrounds add for whole images and the poor model."""
    return lambda accuracy: _model_gain(balanced, "poor")(accuracy).sel(relevant_fraction=WHOLE, drop=True)


CLAIMS = (
    Claim(
        name="f6a-samples",
        reference="Figure 2.6 (a)",
        kind="ordering",
        statement="Test accuracy rises with the number of training images, at each relevant fraction.",
        reads=("f6a-images",),
        evidence=_ten(lambda accuracy: accuracy),
        judge=stating(increasing("samples")),
        controls=(Control("N axis reversed", _ten(_reversed)),),
    ),
    Claim(
        name="f6a-fraction",
        reference="Figure 2.6 (a)",
        kind="comparison",
        statement="Test accuracy is higher without background tokens (α_* = 1) than with all of them (α_* = 0.656), "
        "averaged over the numbers of training images.",
        reads=("f6a-images",),
        evidence=_ten(lambda accuracy: _fraction_gain(accuracy).mean("samples")),
        judge=stating(_clear_of_zero),
        expected=INCONCLUSIVE,
        controls=(
            Control(
                "accuracies at α_* = 1 set to those at 0.656 plus 0.1, seed by seed",
                _ten(lambda accuracy: _fraction_gain(_lifted(accuracy)).mean("samples")),
                HOLDS,
            ),
        ),
    ),
    Claim(
        name="f6c-initial",
        reference="Figure 2.6 (c), Remark 3",
        kind="comparison",
        statement="With correlated backgrounds a better initial model gives a higher test accuracy, at each relevant "
        "fraction.",
        reads=("f6c-spurious",),
        evidence=_two(_model_gain("good", "poor")),
        judge=stating(at_least(0.0, by="mean", strict=True)),
        controls=(Control("good and poor exchanged", _two(_model_gain("poor", "good"))),),
    ),
    Claim(
        name="f6c-background",
        reference="Figure 2.6 (c), Remark 2",
        kind="comparison",
        statement="With correlated backgrounds test accuracy is higher without background tokens than with them.",
        reads=("f6c-spurious",),
        evidence=_two(_background_gain),
        judge=stating(at_least(0.0, by="mean", strict=True)),
        controls=(Control("α_* axis reversed", _two(lambda accuracy: -_background_gain(accuracy))),),
    ),
    Claim(
        name="f6c-shortcut",
        reference="Figure 2.6 (c)",
        kind="comparison",
        statement="The loss of accuracy is due to the shortcut: with all tokens and the poor model, backgrounds that "
        "do not depend on the class give at least 0.1 more.",
        reads=("f6c-spurious",),
        evidence=_two(_balance_gain("poor, balanced")),
        judge=stating(at_least(0.1, by="mean")),
        controls=(Control("correlated backgrounds in both places", _two(_balance_gain("poor"))),),
    ),
)

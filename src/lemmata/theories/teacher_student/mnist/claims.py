"""Experiment E4 (Figures 4 and 5): the student learns a convolution layer that was trained on MNIST.

A teacher that has learned nothing says nothing: with an accuracy below one half every verdict is inconclusive. On the
stand-in, scikit-learn's digits, the cosine is not judged, and the masses are compared at the last record.
"""

from collections.abc import Sequence

import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student.mnist.training import SHARP

INTACT = ("ReLU", "leaky")
LEARNED = lm.Gate(
    "the teacher has not learned enough: its accuracy is below 0.5 in some run",
    lambda data: data.teacher_accuracy >= 0.5,
    intact={"variant": INTACT},
)
Stated = tuple[xr.DataArray, str]
"""Evidence, and what it was taken from in words."""


def is_stand_in(data: xr.Dataset) -> bool:
    return bool(data.is_digits.max() > 0)


def said(data: xr.Dataset) -> str:
    """Which images, and how good the teachers are."""
    accuracy = lm.cells(data, variant=INTACT).teacher_accuracy
    source = "stand-in digits" if is_stand_in(data) else "MNIST"
    return f"{source}, teacher's accuracy {float(accuracy.min()):.3f} to {float(accuracy.max()):.3f}"


def record_from_which_above(values: xr.DataArray, limit: float) -> xr.DataArray:
    """The index of the first record from which the values stay above a limit; past the end if there is none."""
    above = ((values > limit) | values.isnull()).astype(int)
    backwards = above.isel(record=slice(None, None, -1))
    return (backwards.cumprod("record") == 0).sum("record")


@lm.evidence("exp-e4-mnist")
def final_cosine(data: xr.Dataset, variants: Sequence[str] = INTACT) -> Stated:
    """The cosine of W_V and V* at the end."""
    if is_stand_in(data):
        raise lm.NotApplicable(f"MNIST only: {said(data)}")
    return lm.at_end(lm.cells(data, variant=variants).cosine), said(data)


@lm.evidence("exp-e4-mnist")
def loss_left(data: xr.Dataset, variants: Sequence[str] = INTACT) -> Stated:
    """The last loss as a share of the first."""
    loss = lm.cells(data, variant=variants).loss
    return lm.at_end(loss) / loss.isel(record=0), said(data)


@lm.evidence("exp-e4-mnist")
def mass_ratio(data: xr.Dataset, variants: Sequence[str] = INTACT, when: Sequence[str] = INTACT) -> Stated:
    """Interior over boundary mass of `variants`, at the record that the cosine of the variants `when` decides."""
    cosine = lm.cells(data, variant=when).cosine
    last = cosine.notnull().sum("record") - 1
    record = last if is_stand_in(data) else record_from_which_above(cosine, SHARP)
    if bool((record > last).any()):
        raise lm.NotApplicable(f"the cosine does not stay above {SHARP:g} in every run")
    run = lm.cells(data, variant=variants).isel(record=record.assign_coords(variant=list(variants)))
    return run.interior_mass / run.boundary_mass, said(data)


SHUFFLED = lm.Control("patches shuffled in every image, ReLU", variants=["shuffled"])
CLAIMS = (
    lm.Claim("exp-e4-cosine", "Figure 4(b)", "bound", source="figure", gate=LEARNED)
    .states("""On MNIST a student that starts at W_V = 0 and trains by Adam for 8000 steps ends with a cosine above 0.9
        between its values and the teacher's kernels, with ReLU and with leaky ReLU, in every seed.""")
    .in_symbols(r"\cos(W_V,V^*) > 0.9")
    .judged(final_cosine(), lm.stating(lm.at_least(SHARP, by="every", strict=True)), SHUFFLED),
    lm.Claim("exp-e4-loss", "Figure 4(a)", "bound", source="figure", gate=LEARNED)
    .states("""On MNIST the training loss of a student that starts at W_V = 0 and trains by Adam ends below a tenth of
        its first value, in every seed.""")
    .in_symbols(r"\mathcal{L}(T) < 0.1\,\mathcal{L}(0)")
    .judged(loss_left(), lm.stating(lm.at_most(0.1, by="every", strict=True)), SHUFFLED),
    lm.Claim("exp-e4-mass", "Figure 5", "ordering", source="figure", gate=LEARNED)
    .states("""On MNIST attention finds the groups inside the image first (start W_V = 0, Adam): when the cosine has
        passed 0.9 for good (digits: at the end), the relative mass of interior patches is more than 1.5 times that of
        the first and last row, in every seed.""")
    .in_symbols(r"\mathrm{mass}_{\text{interior}} > 1.5\,\mathrm{mass}_{\text{boundary}}")
    .judged(
        mass_ratio(),
        lm.stating(lm.at_least(1.5, by="every", strict=True)),
        lm.Control("patches shuffled in every image, ReLU, same record", variants=["shuffled"], when=["ReLU"]),
    ),
)

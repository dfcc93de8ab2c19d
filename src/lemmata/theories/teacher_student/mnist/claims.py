"""Experiment E4 (Figures 4 and 5): the student learns a convolution layer that was trained on MNIST.

A teacher that has learned nothing says nothing: with an accuracy below one half every verdict is inconclusive. On the
stand-in, scikit-learn's digits, the cosine is not judged, and the masses are compared at the last record.
"""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import at_least, at_most, stating
from lemmata.lab.measures import at_end

EXPERIMENT = "exp-e4-mnist"
INTACT, BROKEN = ["ReLU", "leaky"], "shuffled"
CLASSIFIES, SHARP = 0.5, 0.9
"""The teacher's accuracy from which on claims are judged, and the cosine that the student must pass."""

Stated = tuple[xr.DataArray, str]
"""Evidence, and what it was taken from in words."""


def last_record(values: xr.DataArray) -> xr.DataArray:
    """The index of the last used record of every run."""
    return values.notnull().sum("record") - 1


def record_from_which_above(values: xr.DataArray, limit: float) -> xr.DataArray:
    """The index of the first record from which the values stay above a limit; past the end if there is none."""
    above = ((values > limit) | values.isnull()).astype(int)
    backwards = above.isel(record=slice(None, None, -1))
    return (backwards.cumprod("record") == 0).sum("record")


def _gated(take: Callable[[xr.Dataset, bool], xr.DataArray], mnist_only: bool = False) -> Evidence:
    """What `take` makes of the data, told whether they are the stand-in's, if every teacher has learned enough."""

    def evidence(datasets: Datasets) -> Stated:
        data = datasets[EXPERIMENT]
        accuracy = data.teacher_accuracy.sel(variant=INTACT)
        digits = bool(data.is_digits.max() > 0)
        source = "stand-in digits" if digits else "MNIST"
        said = f"{source}, teacher's accuracy {float(accuracy.min()):.3f} to {float(accuracy.max()):.3f}"
        if mnist_only and digits:
            raise NotApplicable(f"MNIST only: {said}")
        if not bool((accuracy >= CLASSIFIES).all()):
            raise NotApplicable(f"the teacher has not learned enough: {said}, and {CLASSIFIES:g} is the least")
        return take(data, digits), said

    return evidence


def _final_cosine(variants: list[str] | str) -> Evidence:
    return _gated(lambda data, digits: at_end(data.cosine.sel(variant=variants)), mnist_only=True)


def _loss_left(variants: list[str] | str) -> Evidence:
    """The last loss as a share of the first."""

    def take(data: xr.Dataset, digits: bool) -> xr.DataArray:
        loss = data.loss.sel(variant=variants)
        return at_end(loss) / loss.isel(record=0)

    return _gated(take)


def _mass_ratio(variants: list[str] | str, when: list[str] | str) -> Evidence:
    """Interior over boundary mass of `variants`, at the record that the cosine of the variants `when` decides."""

    def take(data: xr.Dataset, digits: bool) -> xr.DataArray:
        cosine = data.cosine.sel(variant=when)
        last = last_record(cosine)
        record = last if digits else record_from_which_above(cosine, SHARP)
        if bool((record > last).any()):
            raise NotApplicable(f"the cosine does not stay above {SHARP:g} in every run")
        record = record.drop_vars("variant") if isinstance(when, str) else record
        part = data.sel(variant=variants).isel(record=record)
        return part.interior_mass / part.boundary_mass

    return _gated(take)


CLAIMS = (
    Claim(
        name="exp-e4-cosine",
        reference="Figure 4(b)",
        kind="bound",
        statement="On MNIST the cosine between the student's values and the teacher's kernels ends above 0.9, with "
        "ReLU and with leaky ReLU.",
        formula="cos(W_V, V*) > 0.9",
        reads=(EXPERIMENT,),
        evidence=_final_cosine(INTACT),
        judge=stating(at_least(SHARP, by="every", strict=True)),
        controls=(Control("patches shuffled in every image, ReLU", _final_cosine(BROKEN)),),
    ),
    Claim(
        name="exp-e4-loss",
        reference="Figure 4(a)",
        kind="bound",
        statement="The training loss ends below a tenth of its first value.",
        reads=(EXPERIMENT,),
        evidence=_loss_left(INTACT),
        judge=stating(at_most(0.1, by="every", strict=True)),
        controls=(Control("patches shuffled in every image, ReLU", _loss_left(BROKEN)),),
    ),
    Claim(
        name="exp-e4-mass",
        reference="Figure 5",
        kind="ordering",
        statement="Attention finds the groups inside the image first: when the cosine has passed 0.9 for good (digits: "
        "at the end), the relative mass of interior patches is more than 1.5 times that of the first and last row.",
        reads=(EXPERIMENT,),
        evidence=_mass_ratio(INTACT, INTACT),
        judge=stating(at_least(1.5, by="every", strict=True)),
        controls=(Control("patches shuffled in every image, ReLU, same record", _mass_ratio(BROKEN, "ReLU")),),
    ),
)

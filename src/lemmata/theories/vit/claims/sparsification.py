"""Token sparsification: V6 (Remark 2) and Figure 2.5."""

from __future__ import annotations

from functools import partial

import xarray as xr

import lemmata as lm


def _kept(data: xr.Dataset, strategy: str | list[str]) -> xr.DataArray:
    """Test loss with 70 % of the tokens kept."""
    return lm.cells(data.test_hinge, keep=0.7, strategy=strategy)


def _whole(data: xr.Dataset) -> xr.DataArray:
    """Test loss without sparsification."""
    return lm.cells(data.test_hinge, keep=1.0, strategy="random")


@lm.evidence("f5-sparsification")
def relative_loss(data: xr.Dataset, strategy: str) -> xr.DataArray:
    """Seed-mean loss at keep 0.7 relative to the unsparsified one."""
    return lm.ratio_of_means(_kept(data, strategy), _whole(data))


@lm.evidence("f5-sparsification")
def losses(data: xr.Dataset, strategies: tuple[str, ...] = ("irrelevant", "noisy", "random")) -> xr.DataArray:
    """Loss at keep 0.7, in this order of strategies."""
    return _kept(data, list(strategies))


def _in_between(data: xr.Dataset) -> xr.DataArray:
    """The unsparsified loss has neither vanished nor stayed where it began."""
    mean = _whole(data).mean("seed")
    return (mean >= 0.15) & (mean <= 0.8)


IN_BETWEEN = lm.Gate("not applicable: the mean of the unsparsified loss is outside [0.15, 0.8]", _in_between)
_RELEVANT_FIRST = lm.Control("relevant tokens dropped first", strategy="relevant")

claim = partial(lm.Claim, gate=IN_BETWEEN)

CLAIMS = (
    claim(
        "v6-sparsify-irrelevant",
        "Remark 2",
        "comparison",
        "Dropping label-irrelevant tokens down to 70 % at least halves the test loss (seed means).",
        relative_loss("irrelevant"),
        lm.at_most(0.5, by="mean"),
        _RELEVANT_FIRST,
    ),
    claim(
        "v6-sparsify-noisy",
        "Remark 2",
        "comparison",
        "Dropping the noisiest tokens down to 70 % lowers the test loss to at most 0.8 of it (seed means).",
        relative_loss("noisy"),
        lm.at_most(0.8, by="mean"),
        _RELEVANT_FIRST,
    ),
    claim(
        "f5-order",
        "Figure 2.5",
        "ordering",
        "With 70 % of the tokens kept, the test loss is lowest after dropping irrelevant tokens, then noisy ones, then "
        "random ones (seed means).",
        losses(),
        lm.increasing("strategy", by="mean"),
        lm.Control("irrelevant and random exchanged", strategies=("random", "noisy", "irrelevant")),
        source="figure",
    ),
    claim(
        "f5-random-flat",
        "Figure 2.5",
        "comparison",
        "Dropping tokens at random down to 70 % leaves the test loss within 0.65 to 1.15 of it (seed means).",
        relative_loss("random"),
        lm.within(0.65, 1.15, by="mean", predicted=1.0),
        _RELEVANT_FIRST,
        source="figure",
    ),
)

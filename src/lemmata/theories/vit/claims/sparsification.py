"""Token sparsification: V6 (Remark 2) and Figure 2.5."""

from __future__ import annotations

import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import at_most, increasing, within
from lemmata.lab.measures import ratio_of_means


def _sparsified(datasets: Datasets) -> tuple[xr.DataArray, xr.DataArray]:
    """Test loss at keep 0.7 by strategy, and without sparsification; the latter's mean must lie in [0.15, 0.8]."""
    loss = datasets["f5-sparsification"].test_hinge
    whole = loss.sel(keep=1.0, strategy="random", drop=True)
    mean = float(whole.mean("seed"))
    if not 0.15 <= mean <= 0.8:
        raise NotApplicable(f"not applicable: the unsparsified loss {mean:.3g} is outside [0.15, 0.8]")
    return loss.sel(keep=0.7, drop=True), whole


def _kept(strategy: str) -> Evidence:
    """Seed-mean loss at keep 0.7 relative to the unsparsified one."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        loss, whole = _sparsified(datasets)
        return ratio_of_means(loss.sel(strategy=strategy, drop=True), whole)

    return evidence


def _order(*strategies: str) -> Evidence:
    return lambda datasets: _sparsified(datasets)[0].sel(strategy=list(strategies))


_RELEVANT_FIRST = "relevant tokens dropped first"

CLAIMS = (
    Claim(
        name="v6-sparsify-irrelevant",
        reference="Remark 2",
        kind="comparison",
        statement="Dropping label-irrelevant tokens down to 70 % at least halves the test loss (seed means).",
        reads=("f5-sparsification",),
        evidence=_kept("irrelevant"),
        judge=at_most(0.5, by="mean"),
        controls=(Control(_RELEVANT_FIRST, _kept("relevant")),),
    ),
    Claim(
        name="v6-sparsify-noisy",
        reference="Remark 2",
        kind="comparison",
        statement="Dropping the noisiest tokens down to 70 % lowers the test loss to at most 0.8 of it (seed means).",
        reads=("f5-sparsification",),
        evidence=_kept("noisy"),
        judge=at_most(0.8, by="mean"),
        controls=(Control(_RELEVANT_FIRST, _kept("relevant")),),
    ),
    Claim(
        name="f5-order",
        reference="Figure 2.5",
        kind="ordering",
        statement="With 70 % of the tokens kept, the test loss is lowest after dropping irrelevant tokens, then noisy "
        "ones, then random ones (seed means).",
        reads=("f5-sparsification",),
        evidence=_order("irrelevant", "noisy", "random"),
        judge=increasing("strategy", by="mean"),
        controls=(Control("irrelevant and random exchanged", _order("random", "noisy", "irrelevant")),),
    ),
    Claim(
        name="f5-random-flat",
        reference="Figure 2.5",
        kind="comparison",
        statement="Dropping tokens at random down to 70 % leaves the test loss within 0.65 to 1.15 of it (seed means).",
        reads=("f5-sparsification",),
        evidence=_kept("random"),
        judge=within(0.65, 1.15, by="mean", predicted=1.0),
        controls=(Control(_RELEVANT_FIRST, _kept("relevant")),),
    ),
)

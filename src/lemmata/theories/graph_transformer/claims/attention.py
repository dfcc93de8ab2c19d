"""What attention concentrates on (P7, Figure 3.5)."""

from __future__ import annotations

import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, within
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.measures import (
    CONFUSION,
    at_time,
    of,
    up_to,
)

LATE = 60
SPLIT = ["discriminative", "other"]


def _masses(data: xr.Dataset, time: float) -> xr.DataArray:
    """The relevant masses of discriminative and other labelled nodes."""
    return at_time(data, data.relevant_mass, time).sel(group=SPLIT)


def _rise(variant: str) -> Evidence:
    return of("p7-training", lambda data: _masses(data, 30) - _masses(data, 0), variant=variant)


def _core_ratio(variant: str) -> Evidence:
    """The ratio at the record where its seed mean is farthest from 1 - ε_S."""

    def take(data: xr.Dataset) -> xr.DataArray:
        ratio = up_to(data, data.core_ratio, LATE)
        worst = abs(ratio.mean("seed") - (1 - CONFUSION)).argmax("record")
        return ratio.isel(record=worst, drop=True)

    return of("p7-training", take, variant=variant)


def _limits(variant: str) -> Evidence:
    def take(data: xr.Dataset) -> dict[str, xr.DataArray]:
        masses = _masses(data, LATE)
        return {name: masses.sel(group=name, drop=True) for name in SPLIT}

    return of("p7-training", take, variant=variant)


def _gain(high: str, low: str) -> Evidence:
    """Masses at the larger margin minus those at margin 1."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["p7-training"]
        return _masses(data.sel(variant=high, drop=True), LATE) - _masses(data.sel(variant=low, drop=True), LATE)

    return evidence


def _end_mass(margin: float) -> Evidence:
    """The relevant mass of all labelled nodes at the end, on the graph with edges inside patterns."""
    take = lambda data: at_end(data.relevant_mass.sel(group="all", drop=True))  # noqa: E731
    return of("f35-attention", take, margin=margin, intra_degree=-1)


LIMITS = all_of(
    discriminative=at_least(0.9, "clear", strict=True),
    other=within(1 - CONFUSION - 0.06, 1 - CONFUSION + 0.06, "clear", predicted=1 - CONFUSION),
)
P7 = {"reference": "Lemma 3.4.5", "reads": ("p7-training",)}

CLAIMS = (
    Claim(
        name="p7-mass-increase", kind="ordering", **P7,
        statement="Attention on class-relevant nodes rises by at least .1 to η t = 30, for discriminative and for "
        "other nodes, in every seed.",
        evidence=_rise("intact"), judge=at_least(0.1, "every"),
        controls=(Control("attention frozen", _rise("frozen")),),
    ),
    Claim(
        name="p7-core-ratio", kind="limit", **P7,
        statement="Inside the core shell the share of relevant among decisive attention stays within .02 of 1 - ε_S "
        "for other nodes, at every record up to η t = 60.",
        evidence=_core_ratio("intact"),
        judge=within(1 - CONFUSION - 0.02, 1 - CONFUSION + 0.02, "clear", predicted=1 - CONFUSION),
        controls=(Control("labels permuted", _core_ratio("permuted")),),
    ),
    Claim(
        name="p7-limit", kind="limit", **P7,
        statement="As stated, with margin 1: at η t = 60 the relevant mass exceeds .9 for discriminative nodes and is"
        " within .06 of 1 - ε_S for others.",
        formula="1 - η^C; 1 - ε_S - η^C", evidence=_limits("intact"), judge=LIMITS, expected=FAILS,
        controls=(Control("margin 10", _limits("margin 10"), HOLDS),),
    ),
    Claim(
        name="p7-limit-corrected", kind="limit", reads=("p7-training",), reference="Lemma 3.4.5, corrected",
        statement="Corrected, with margin 10, where the gradient does not die: the same two limits.",
        evidence=_limits("margin 10"), judge=LIMITS, controls=(Control("margin 1", _limits("intact")),),
    ),
    Claim(
        name="p7-plateau-margin", kind="ordering", **P7,
        statement="Both masses at η t = 60 are larger by at least .05 at margin 10 than at margin 1, in every seed.",
        evidence=_gain("margin 10", "intact"), judge=at_least(0.05, "every"),
        controls=(Control("attention frozen at both margins", _gain("frozen, margin 10", "frozen")),),
    ),
    Claim(
        name="f35-close-to-one", reference="Figure 3.5", kind="limit", reads=("f35-attention",),
        statement="As reported: with margin 1 the attention on class-relevant nodes ends close to 1 (at least .9), "
        "over all labelled nodes.",
        evidence=_end_mass(1.0),
        judge=at_least(0.9, "clear"), expected=FAILS,
        controls=(Control("margin 10", _end_mass(10.0), HOLDS),),
    ),
)  # fmt: skip

"""Attention: what the query and key maps have learnt (P6, P7) and what drives them (P13)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most, equal, within
from lemmata.lab.measures import at_end, stack
from lemmata.theories.icl.measures import (
    DEFAULT,
    at_growth,
    both_maps,
    last_known,
    mean_entry,
    of_default,
    other_entries,
    own_entries,
    require_trained,
)

DELTA, BETA, M1, M2, B = (
    DEFAULT.initial_scale, DEFAULT.pattern_norm, DEFAULT.patterns, DEFAULT.irrelevant, DEFAULT.batch,
)  # fmt: skip


def _own(data: xr.Dataset, first: bool = False) -> xr.DataArray:
    """The smallest diagonal entry of G^Q and of G^K."""
    blocks = both_maps(data)
    return own_entries(blocks.isel(record=0) if first else at_end(blocks)).min("pattern")


def _off_identity(data: xr.Dataset, names: tuple[str, str], dims: tuple[str, str]) -> xr.DataArray:
    """The largest distance of an entry of two blocks from δ I."""
    blocks = stack({"query": data[names[0]], "key": data[names[1]]}, "map")
    size = blocks.sizes[dims[0]]
    return abs(at_end(blocks) - xr.DataArray(DELTA * np.eye(size), dims=dims)).max(dims)


def _entries(partners: bool) -> Callable[[xr.Dataset], dict[str, xr.DataArray]]:
    """The largest entry and the mean entry of partners or of non-partners."""

    def take(data: xr.Dataset) -> dict[str, xr.DataArray]:
        chosen = other_entries(at_end(both_maps(data)), data.partner, partners)
        return {"largest": abs(chosen).max(["pattern", "other"]), "mean": mean_entry(chosen)}

    return take


def _logit_margin(shifted: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """The logit between equal patterns, less the largest between different ones: β² sum_i G^K_ik G^Q_ij, smallest j."""

    def take(data: xr.Dataset) -> xr.DataArray:
        query, key = (
            at_end(data[name]).transpose("seed", "pattern", "other") for name in ("query_patterns", "key_patterns")
        )
        rows = np.roll(key.values, 1, axis=1) if shifted else key.values
        logits = BETA**2 * np.swapaxes(rows, 1, 2) @ query.values  # [seed, k, j]
        same = np.diagonal(logits, axis1=1, axis2=2)
        others = np.where(np.eye(logits.shape[1], dtype=bool), -np.inf, logits).max(axis=1)
        return xr.DataArray((same - others).min(axis=1), dims="seed")

    return take


def _partner_ratio(blocks: xr.DataArray, partner: xr.DataArray) -> xr.DataArray:
    """Entries of partners over the own entry of their row."""
    return other_entries(blocks, partner, partners=True) / own_entries(blocks)


def _ratio_size(small: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """Mean |partner| / G_jj; `small`: had every partner entry been G_jj / (2 M_1)."""

    def take(data: xr.Dataset) -> xr.DataArray:
        blocks = at_end(both_maps(data))
        if small:
            blocks = blocks.where(data.partner == 0, own_entries(blocks) / (2 * M1))
        return mean_entry(abs(_partner_ratio(blocks, data.partner)))

    return take


def _spread_ratio(datasets: Datasets) -> xr.DataArray:
    """Mean partner / G_jj of networks trained on all tasks."""
    data = datasets["p5-shift"].sel(variant="U=5", drop=True).isel(shift=0, drop=True)
    require_trained(data.seen_hinge)
    return mean_entry(_partner_ratio(both_maps(data), data.partner))


def _concentration(data: xr.Dataset) -> dict[str, xr.DataArray]:
    end, start = (data[name].isel(head=0) for name in ("concentration", "initial_concentration"))
    return {"value": end, "rise": end - start}


def _mean_updates(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """Mean update by kind of entry, along `map` and `record`."""
    update = data.map_update
    return {
        "own": own_entries(update).mean("pattern"),
        "partners": mean_entry(other_entries(update, data.partner, partners=True)),
        "non-partners": mean_entry(other_entries(update, data.partner, partners=False)),
        "irrelevant": data.irrelevant_update,
    }


def _growing(take: Callable[[xr.Dataset], xr.DataArray]) -> Evidence:
    """The smallest value over the growth records."""
    return of_default(lambda data: at_growth(data, take(data)).min("record"))


def _relative(kind: str) -> Evidence:
    """The largest |mean update| of a kind over the mean own update, among the growth records."""

    def take(data: xr.Dataset) -> xr.DataArray:
        means = _mean_updates(data)
        # where the own update is not positive nothing is small beside it
        ratio = (abs(means[kind]) / means["own"]).where(means["own"] > 0, np.inf)
        return at_growth(data, ratio).max("record")

    return of_default(take)


def _label_columns(name: str) -> Evidence:
    def take(data: xr.Dataset) -> dict[str, Any]:
        values = data.label_gradient.sel(map=name).values
        return {"measured": values[~np.isnan(data.step.values)], "predicted": 0.0}

    return of_default(take)


def _stopped(at_growth_end: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """The own update at the last record (or the last growth record) over its largest."""

    def take(data: xr.Dataset) -> xr.DataArray:
        own = _mean_updates(data)["own"]
        end = last_known(at_growth(data, own)) if at_growth_end else at_end(own)
        return end / own.max("record")

    return take


def _last_ratio(centred: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """Partner / own update at the last growth record; `centred`: the ratio put on 0 with its residuals."""

    def take(data: xr.Dataset) -> xr.DataArray:
        means = _mean_updates(data)
        ratio = last_known(at_growth(data, means["partners"] / means["own"]))
        return ratio - ratio.mean("seed") if centred else ratio

    return take


def _ratio_range(kind: str) -> Evidence:
    """The smallest and the largest ratio of a kind of update to the own one over the growth records."""

    def take(data: xr.Dataset) -> xr.DataArray:
        means = _mean_updates(data)
        ratio = at_growth(data, means[kind] / means["own"])
        return stack({"smallest": ratio.min("record"), "largest": ratio.max("record")}, "extreme")

    return of_default(take)


def _label_key(replaced: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """max_j β |W_K(0;q)| / |W_K(μ_j;0)|; `replaced`: the label column is half a pattern column."""

    def take(data: xr.Dataset) -> xr.DataArray:
        patterns = at_end(data.key_pattern_norm)
        label = patterns / (2 * BETA) if replaced else at_end(data.key_label_norm)
        return (BETA * label / patterns).max("pattern")

    return take


_READS = ("p1-default",)
_IRRELEVANT = (("query_irrelevant", "key_irrelevant"), ("idi", "other_idi"))
_RELEVANT = (("query_patterns", "key_patterns"), ("pattern", "other"))
_PARTNERS = "updates of partners read in their place"

CLAIMS = (
    Claim(
        name="p6-own",
        reference="Proposition 6.4.1",
        kind="bound",
        statement="Query and key maps grow along every relevant pattern: the smallest own entry of G^Q and G^K is at "
        "least 3δ.",
        reads=_READS,
        evidence=of_default(_own),
        judge=at_least(3 * DELTA),
        controls=(Control("weights of step 0", of_default(lambda data: _own(data, first=True))),),
    ),
    Claim(
        name="p6-irrelevant",
        reference="Proposition 6.4.1",
        kind="bound",
        statement="They do not move along irrelevant patterns: every entry of both ν blocks stays within 0.005 of δI.",
        reads=_READS,
        evidence=of_default(lambda data: _off_identity(data, *_IRRELEVANT)),
        judge=at_most(0.005, by="every"),
        controls=(Control("μ block read in its place", of_default(lambda data: _off_identity(data, *_RELEVANT))),),
    ),
    Claim(
        name="p6-non-partners",
        reference="Proposition 6.4.1, (6.18)",
        kind="bound",
        statement="Patterns that form no training task stay apart: their entries of G^Q, G^K are at most 0.08 in "
        "size, and 0 within 0.02 in the mean.",
        reads=_READS,
        evidence=of_default(_entries(partners=False)),
        judge=all_of(largest=at_most(0.08, by="every"), mean=within(-0.02, 0.02, by="every", predicted=0.0)),
        controls=(Control("entries of partners read in their place", of_default(_entries(partners=True))),),
    ),
    Claim(
        name="p6-logit-order",
        reference="Proposition 6.4.1",
        kind="ordering",
        statement="A pattern's logit with itself exceeds that with every other pattern.",
        formula="μ_j^T W_K^T W_Q μ_j > μ_k^T W_K^T W_Q μ_j, k ≠ j",
        reads=_READS,
        evidence=of_default(_logit_margin(shifted=False)),
        judge=at_least(0.0, by="every", strict=True),
        controls=(Control("rows of G^K shifted by one pattern", of_default(_logit_margin(shifted=True))),),
    ),
    Claim(
        name="p6-partners",
        reference="Proposition 6.4.1, (6.18)",
        kind="bound",
        statement="As stated: entries of task partners are smaller than the own entry by a factor M_1.",
        formula="|G_jk| ≤ G_jj / M_1",
        reads=_READS,
        evidence=of_default(_ratio_size(small=False)),
        judge=at_most(1 / M1),
        expected=FAILS,
        controls=(Control("partner entries set to G_jj / (2 M_1)", of_default(_ratio_size(small=True)), HOLDS),),
    ),
    Claim(
        name="p6-partners-corrected",
        reference="Proposition 6.4.1, (6.18), corrected",
        kind="bound",
        statement="Corrected: with one cycle of tasks a partner's entry is about -0.45 of the own entry, since the "
        "two partners share what the conservation law leaves.",
        formula="G_jk / G_jj in [-0.55, -0.35]",
        reads=("p1-default", "p5-shift"),
        evidence=of_default(lambda data: mean_entry(_partner_ratio(at_end(both_maps(data)), data.partner))),
        judge=within(-0.55, -0.35),
        controls=(Control("trained on all tasks (U = 5)", _spread_ratio),),
    ),
    Claim(
        name="p7-concentration",
        reference="Corollary 6.4.3",
        kind="limit",
        statement="Attention concentrates on contexts with the query's pattern: at least 0.95, and 0.3 more than at "
        "the start.",
        reads=_READS,
        evidence=of_default(_concentration),
        judge=all_of(value=at_least(0.95), rise=at_least(0.3)),
        controls=(Control("frozen attention", of_default(_concentration, "frozen")),),
    ),
    Claim(
        name="p13-own-update",
        reference="Lemma E.4.5",
        kind="bound",
        statement="While the loss is active, every update of W_Q and W_K pushes patterns along themselves.",
        reads=_READS,
        evidence=_growing(lambda data: _mean_updates(data)["own"]),
        judge=at_least(0.0, by="every", strict=True),
        controls=(Control("gradients with z negated", _growing(lambda data: data.negated_update)),),
    ),
    Claim(
        name="p13-non-partners",
        reference="Lemma E.4.5",
        kind="bound",
        statement="Updates along patterns that are no partners are at most 1/M_1 of the own one.",
        reads=_READS,
        evidence=_relative("non-partners"),
        judge=at_most(1 / M1),
        controls=(Control(_PARTNERS, _relative("partners")),),
    ),
    Claim(
        name="p13-irrelevant",
        reference="Lemma E.4.5",
        kind="bound",
        statement="Updates along irrelevant patterns are at most 1/M_2 of the own one.",
        reads=_READS,
        evidence=_relative("irrelevant"),
        judge=at_most(1 / M2),
        controls=(Control(_PARTNERS, _relative("partners")),),
    ),
    Claim(
        name="p13-label-columns",
        reference="Lemma E.4.5",
        kind="identity",
        statement="The label columns of the gradient of W_Q are exactly 0: the query has no label.",
        reads=_READS,
        evidence=_label_columns("query"),
        judge=equal(0.0),
        controls=(Control("label columns of the gradient of W_K", _label_columns("key")),),
    ),
    Claim(
        name="p13-growth-stops",
        reference="Lemma E.4.5",
        kind="limit",
        statement="Growth stops when attention is concentrated and the hinge inactive: the last own update is at most "
        "a tenth of the largest.",
        reads=_READS,
        evidence=of_default(_stopped(at_growth_end=False)),
        judge=at_most(0.1),
        controls=(Control("last growth record in place of the last one", of_default(_stopped(at_growth_end=True))),),
    ),
    Claim(
        name="p13-partners",
        reference="(E.7), (E.11)",
        kind="bound",
        statement="As stated: updates along task partners are suppressed; at the last growth record at most 0.1 of "
        "the own one.",
        reads=_READS,
        evidence=of_default(_last_ratio(centred=False)),
        judge=within(-0.1, 0.1, predicted=0.0),
        expected=FAILS,
        controls=(Control("ratio put on 0 with its residuals", of_default(_last_ratio(centred=True)), HOLDS),),
    ),
    Claim(
        name="p13-partners-corrected",
        reference="(E.7), (E.11), corrected",
        kind="bound",
        statement="Corrected: they are negative and about half of the own one throughout, between -0.7 and -0.3.",
        reads=_READS,
        evidence=_ratio_range("partners"),
        judge=within(-0.7, -0.3),
        controls=(Control("updates of non-partners read in their place", _ratio_range("non-partners")),),
    ),
    Claim(
        name="p13-label-key",
        reference="(E.161)",
        kind="bound",
        statement="Keys hardly see labels: β‖W_K(0;q)‖ is at most √(log B / B) of every ‖W_K(μ_j;0)‖.",
        reads=_READS,
        evidence=of_default(_label_key(replaced=False)),
        judge=at_most(math.sqrt(math.log(B) / B)),
        controls=(Control("label column replaced by half a pattern column", of_default(_label_key(replaced=True))),),
    ),
)

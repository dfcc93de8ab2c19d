"""Attention concentration: V8 (Proposition 2), Figure 2.4, and its bounds before training (V24)."""

from __future__ import annotations

from typing import Any

import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_least, at_most, equal
from lemmata.lab.measures import at_end
from lemmata.theories.vit.measures import converged

VARIANTS = ["shared", "per_token"]


def _model_curve(data: xr.Dataset) -> xr.DataArray:
    """1 - 1/(2(1+t)) on the same records: a curve that does tend to 1 at rate 1/t."""
    return 1 - 1 / (2 * (1 + data.step))


def _final(curve: bool) -> Evidence:
    """All-query concentration at T_0."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = converged(datasets["dynamics"], VARIANTS).sel(attention="trained", drop=True)
        return at_end(_model_curve(data) if curve else data.concentration.sel(query="all", drop=True))

    return evidence


def _rise(name: str, queries: list[str], attention: str) -> Evidence:
    """Concentration at the last record minus that at the first."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = converged(datasets[name], VARIANTS).sel(attention=attention, drop=True)
        chosen = data.concentration.sel(query=queries)
        return at_end(chosen) - chosen.isel(record=0)

    return evidence


def _margin(attention: str) -> Evidence:
    """All-query concentration at the end: hinge margin 10 minus margin 1."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        final = at_end(datasets["v8-losses"].concentration.sel(query="all", drop=True))
        wide = final.sel(loss="hinge margin 10", attention=attention, drop=True)
        return wide - final.sel(loss="hinge margin 1", attention="trained", drop=True)

    return evidence


def _sums(without_confusion: bool) -> Evidence:
    """Attention on relevant tokens plus attention on the others, against 1."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        data = converged(datasets["f4-attention"], VARIANTS).sel(query="all")
        rest = data.complement - data.confused if without_confusion else data.complement
        return {"measured": data.concentration + rest, "predicted": 1.0}

    return evidence


def _movement(from_start: bool) -> Evidence:
    """The largest parameter change between records after T_0 (control: from the start)."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        data = converged(datasets["f4-attention"], VARIANTS).sel(attention="trained")
        late = data.step > (0 if from_start else data.reached_step)
        moved = data.movement.values[late.transpose(*data.movement.dims).values]
        return {"measured": moved, "predicted": 0.0}

    return evidence


def _highest(curve: bool) -> Evidence:
    """The largest all-query concentration of a run."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = converged(datasets["f4-attention"], VARIANTS).sel(attention="trained", drop=True)
        return (_model_curve(data) if curve else data.concentration.sel(query="all", drop=True)).max("record")

    return evidence


def _constant(attention: str) -> Evidence:
    """Concentration at every record against its first value."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        values = converged(datasets["f4-attention"], VARIANTS).concentration.sel(attention=attention)
        return {"measured": values, "predicted": values.isel(record=[0] * values.sizes["record"]).values}

    return evidence


_RISES = {"shared": 0.03, "per_token": 0.1}


def _excess(bound: str, cases: list[str] | None = None) -> Evidence:
    """The smallest attention of a relevant query minus its lower bound, by case."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        values = datasets["v24-initial-attention"].attention_excess.sel(bound=bound, drop=True)
        return values if cases is None else values.sel(variant=cases)

    return evidence


_EXACT = ["random 0", "confuse 0"]

CLAIMS = (
    Claim(
        name="v8-concentration",
        reference="Proposition 2, (2.15)",
        kind="limit",
        statement="As stated: attention on label-relevant tokens tends to 1 for every query; at T_0 its mean over all "
        "queries is at least 0.99.",
        formula="sum over S_* of softmax → 1 - η^C",
        reads=("dynamics",),
        evidence=_final(curve=False),
        judge=at_least(0.99, fails_if="all"),
        expected=FAILS,
        controls=(Control("the curve 1 - 1/(2(1+t)) on the same records", _final(curve=True), HOLDS),),
    ),
    Claim(
        name="v8-concentration-corrected",
        reference="Proposition 2, corrected",
        kind="ordering",
        statement="Corrected: up to T_0 attention on relevant tokens rises for relevant and for neutral queries, by at "
        "least 0.03 (shared signs) or 0.1 (per-token signs).",
        reads=("dynamics",),
        evidence=_rise("dynamics", ["relevant", "neutral"], "trained"),
        judge=at_least(_RISES, by="every"),
        controls=(Control("frozen attention", _rise("dynamics", ["relevant", "neutral"], "frozen")),),
    ),
    Claim(
        name="v8-concentration-margin",
        reference="Proposition 2, errata E6",
        kind="comparison",
        statement="The hinge stops attention: with margin 10 in place of 1 it ends higher by at least 0.1.",
        reads=("v8-losses",),
        evidence=_margin("trained"),
        judge=at_least(0.1, by="every"),
        controls=(Control("margin 10 with frozen attention", _margin("frozen")),),
    ),
    Claim(
        name="f4-complement",
        reference="Figure 2.4",
        kind="identity",
        statement="Attention on relevant tokens and on all others, summed separately, add up to 1 at every record.",
        reads=("f4-attention",),
        evidence=_sums(without_confusion=False),
        judge=equal(1e-6),
        controls=(Control("confusion tokens left out of the second sum", _sums(without_confusion=True)),),
    ),
    Claim(
        name="f4-rise",
        reference="Figure 2.4",
        kind="ordering",
        statement="The all-query mean rises over 400 steps by at least 0.15 (per-token signs) or 0.03 (shared signs).",
        reads=("f4-attention",),
        evidence=_rise("f4-attention", ["all"], "trained"),
        judge=at_least({"shared": 0.03, "per_token": 0.15}, by="every"),
        controls=(Control("frozen attention", _rise("f4-attention", ["all"], "frozen")),),
    ),
    Claim(
        name="f4-freeze",
        reference="Figure 2.4, errata E6",
        kind="identity",
        statement="Once the training loss is 0 nothing moves: the parameters are constant to the bit after T_0.",
        reads=("f4-attention",),
        evidence=_movement(from_start=False),
        judge=equal(0.0),
        controls=(Control("at all records from the start", _movement(from_start=True)),),
    ),
    Claim(
        name="f4-below-one",
        reference="Figure 2.4, errata E6",
        kind="bound",
        statement="Under the hinge loss the all-query mean stays below 0.95 at every record.",
        reads=("f4-attention",),
        evidence=_highest(curve=False),
        judge=at_most(0.95, by="every", strict=True),
        controls=(Control("the curve 1 - 1/(2(1+t)) on the same records", _highest(curve=True)),),
    ),
    Claim(
        name="f4-frozen-constant",
        reference="Figure 2.4",
        kind="identity",
        statement="With frozen attention the concentration is constant to the bit.",
        reads=("f4-attention",),
        evidence=_constant("frozen"),
        judge=equal(0.0),
        controls=(Control("trained attention", _constant("trained")),),
    ),
    Claim(
        name="v24-attention-pn",
        reference="(A.15), (A.175)",
        kind="bound",
        statement="As stated: initially every relevant query puts at least p_n on the relevant tokens.",
        formula="conc_l ≥ p_n",
        reads=("v24-initial-attention",),
        evidence=_excess("paper"),
        judge=at_least(-1e-6, by="every"),
        expected=FAILS,
        controls=(Control("δ = τ = 0, where p_n is exact", _excess("paper", _EXACT), HOLDS),),
    ),
    Claim(
        name="v24-attention-pn-corrected",
        reference="(A.15) corrected",
        kind="bound",
        statement="Corrected: with D = δ + max(|W_K|, |W_Q|) τ every relevant query puts at least "
        "n_1 e^s / (n_1 e^s + n_0 e^c) on the relevant tokens, s = 1 - 2D - D², c = 2D + D².",
        reads=("v24-initial-attention",),
        evidence=_excess("theorem"),
        judge=at_least(-1e-6, by="every"),
        controls=(
            Control("the bound with δ = 0 on the counter-example", _excess("theorem, δ = 0", ["counter-example"])),
        ),
    ),
)

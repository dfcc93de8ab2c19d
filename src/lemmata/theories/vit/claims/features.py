"""Features of keys and queries: their growth (V12), the steps of attention (V13), cross terms (V25)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most
from lemmata.lab.measures import at_end
from lemmata.theories.vit.measures import by_side, converged, growth, own_coordinates

MODES = ["shared", "per_token"]


def _runs(datasets: Datasets, attention: str, modes: list[str]) -> xr.Dataset:
    return converged(datasets["dynamics"], modes).sel(attention=attention, drop=True)


def _net_growth(attention: str) -> Evidence:
    """<W mu_k, q_k> at T_0 minus its value at 0, for the query and the key map."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _runs(datasets, attention, MODES)
        own = [own_coordinates(data[name]) for name in ("query_features", "key_features")]
        change = [at_end(values) - values.isel(record=0) for values in own]
        return xr.concat(change, "map").assign_coords(map=["query", "key"])

    return evidence


def _growth_steps(attention: str) -> Evidence:
    """The share of positive factors over K and Q, both patterns and the steps with non-zero training loss."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _runs(datasets, attention, [*MODES, "shared-b20"])
        factors = growth(data)
        return (factors > 0).where(factors.notnull()).mean(["record", "side", "factor"])

    return evidence


def _rise_steps(attention: str) -> Evidence:
    """Along the steps up to T_0: the share on which concentration rises, and the largest drop."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        values = _runs(datasets, attention, MODES).concentration.sel(query=["relevant", "neutral"])
        change = values.isel(record=slice(1, None)) - values.isel(record=slice(None, -1)).values
        return {
            "share": (change > 0).where(change.notnull()).mean("record"),
            "drop": np.maximum(-change, 0).max("record"),
        }

    return evidence


def _cross_growth(attention: str) -> Evidence:
    """The displacement of C_Q up to T_0: own entry less the largest other of its column; mean of the neutral rows."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        matrix = _runs(datasets, attention, ["shared"]).query_features.sel(mode="shared", drop=True)
        moved = at_end(matrix) - matrix.isel(record=0)
        lead, neutral = [], []
        for k in (0, 1):
            column = moved.isel(pattern=k)
            others = [j for j in range(column.sizes["feature"]) if j != k]
            lead.append(column.isel(feature=k) - np.abs(column.isel(feature=others)).max("feature"))
            neutral.append(column.isel(feature=slice(2, None)).mean("feature"))
        return {"lead": by_side(lead), "neutral": by_side(neutral)}

    return evidence


def _key_growth(attention: str) -> Evidence:
    """Cumulated K and Q over the run, and cumulated Q minus half (1 - lambda) of cumulated K."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        data = _runs(datasets, attention, ["shared"]).sel(mode="shared", drop=True)
        total = growth(data).sum("record")
        query, key = total.sel(factor="K", drop=True), total.sel(factor="Q", drop=True)
        return {"cumulated": total, "key": key - 0.5 * (1 - data.similarity) * query}

    return evidence


CLAIMS = (
    Claim(
        name="v12-growth-net",
        reference="Claim 2, (A.170)-(A.173)",
        kind="ordering",
        statement="Up to T_0 the query and key maps grow along the discriminative features: <W_Q μ_k, q_k> and "
        "<W_K μ_k, q_k> end higher than they began, k = 1, 2.",
        reads=("dynamics",),
        evidence=_net_growth("trained"),
        judge=at_least(0.0, by="every", strict=True),
        controls=(Control("frozen attention", _net_growth("frozen")),),
    ),
    Claim(
        name="v12-growth-steps",
        reference="Claim 2, (A.170)-(A.173)",
        kind="bound",
        statement="The growth factors K, Q are positive on at least 90 % of the steps with loss (shared signs), 80 % "
        "(shared signs, B = 20), 70 % (per-token signs).",
        reads=("dynamics",),
        evidence=_growth_steps("trained"),
        judge=at_least({"shared": 0.9, "shared-b20": 0.8, "per_token": 0.7}, by="every"),
        controls=(Control("frozen attention", _growth_steps("frozen")),),
    ),
    Claim(
        name="v13-rise-steps",
        reference="(A.31), (A.33)",
        kind="bound",
        statement="Attention of relevant and of neutral queries on relevant tokens rises on at least 90 % of the steps "
        "up to T_0 and never drops by 0.001 (shared signs); on 75 %, never by 0.05 (per-token signs).",
        reads=("dynamics",),
        evidence=_rise_steps("trained"),
        judge=all_of(
            share=at_least({"shared": 0.9, "per_token": 0.75}, by="every"),
            drop=at_most({"shared": 1e-3, "per_token": 0.05}, by="every", strict=True),
        ),
        controls=(Control("frozen attention", _rise_steps("frozen")),),
    ),
    Claim(
        name="v25-cross-growth",
        reference="(A.126), (A.131), (A.132)",
        kind="ordering",
        statement="The query map of a discriminative pattern gains most along its own feature, more than it gains or "
        "loses along any other, and on average loses along the neutral ones.",
        reads=("dynamics",),
        evidence=_cross_growth("trained"),
        judge=all_of(lead=at_least(0.0, by="every", strict=True), neutral=at_most(0.0, by="every", strict=True)),
        controls=(Control("frozen attention", _cross_growth("frozen")),),
    ),
    Claim(
        name="v25-key-growth",
        reference="(A.147)-(A.150)",
        kind="comparison",
        statement="Keys grow with queries: cumulated K and Q are positive, and cumulated Q is at least 0.5 (1-λ) times "
        "cumulated K.",
        reads=("dynamics",),
        evidence=_key_growth("trained"),
        judge=all_of(cumulated=at_least(0.0, by="every", strict=True), key=at_least(0.0, by="every")),
        controls=(Control("frozen attention", _key_growth("frozen")),),
    ),
)

"""Attention concentration: V8 (Proposition 2), Figure 2.4, and its bounds before training (V24)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import xarray as xr

import lemmata as lm
from lemmata.theories.vit.measures import READINGS, converged


def _all_queries(data: xr.Dataset, curve: str) -> xr.DataArray:
    """Mean attention on relevant tokens over all queries; `model`: a curve on the same records that tends to 1."""
    runs = lm.cells(data, attention="trained", variant=READINGS)
    return 1 - 1 / (2 * (1 + runs.step)) if curve == "model" else lm.cells(runs.concentration, query="all")


@lm.evidence("dynamics")
def final(data: xr.Dataset, curve: str = "measured") -> xr.DataArray:
    """All-query concentration at T_0."""
    return lm.at_end(_all_queries(data, curve))


@lm.evidence("f4-attention")
def highest(data: xr.Dataset, curve: str = "measured") -> xr.DataArray:
    """The largest all-query concentration of a run."""
    return _all_queries(data, curve).max("record")


@lm.evidence("dynamics")
def rise(data: xr.Dataset, queries: list[str], attention: str = "trained") -> xr.DataArray:
    """Concentration at the last record minus that at the first."""
    values = lm.cells(data, attention=attention, variant=READINGS).concentration.sel(query=queries)
    return lm.at_end(values) - values.isel(record=0)


@lm.evidence("v8-losses")
def margin_gain(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """All-query concentration at the end: hinge margin 10 minus margin 1."""
    final = lm.at_end(lm.cells(data.concentration, query="all"))
    wide = lm.cells(final, loss="hinge margin 10", attention=attention)
    return wide - lm.cells(final, loss="hinge margin 1", attention="trained")


@lm.evidence("f4-attention")
def sums(data: xr.Dataset, without_confusion: bool = False) -> dict[str, Any]:
    """Attention on relevant tokens plus attention on the others, against 1."""
    data = lm.cells(data, variant=READINGS, query="all")
    rest = data.complement - data.confused if without_confusion else data.complement
    return {"measured": data.concentration + rest, "predicted": 1.0}


@lm.evidence("f4-attention")
def movement(data: xr.Dataset, from_start: bool = False) -> dict[str, Any]:
    """The largest parameter change between records after T_0, or between all of them."""
    data = lm.cells(data, attention="trained", variant=READINGS)
    late = data.step > (0 if from_start else data.reached_step)
    return {"measured": data.movement.values[late.transpose(*data.movement.dims).values], "predicted": 0.0}


@lm.evidence("f4-attention")
def path(data: xr.Dataset, attention: str = "frozen") -> dict[str, Any]:
    """Concentration at every record against its first value."""
    values = lm.cells(data, attention=attention, variant=READINGS).concentration
    return {"measured": values, "predicted": values.isel(record=[0] * values.sizes["record"]).values}


@lm.evidence("v24-initial-attention")
def excess(data: xr.Dataset, bound: str, where: Mapping[str, Any] = MappingProxyType({})) -> xr.DataArray:
    """The smallest attention of a relevant query minus its lower bound, in these cells."""
    return lm.cells(data.attention_excess, bound=bound, **where)


FROZEN = lm.Control("frozen attention", attention="frozen")
MODEL = lm.Control("the curve 1 - 1/(2(1+t)) on the same records", curve="model")
CONVERGED = converged(attention="trained", variant=READINGS)

figure = partial(lm.Claim, source="figure", gate=CONVERGED)

CLAIMS = (
    lm.Claim("v8-concentration", "Proposition 2, (2.15)", "limit", gate=CONVERGED)
    .states("""As stated: attention on label-relevant tokens tends to 1 for every query; at T_0 its mean over all
        queries is at least 0.99.""")
    .in_symbols(r"\mathrm{conc}_l^n(t) = \sum_{i\in\mathcal{S}_*^n} w_{l,i}^n(t) \to 1-\eta^C")
    .judged(final(), lm.at_least(0.99, fails_if="all"), MODEL, expected=lm.FAILS),
    lm.Claim(
        "v8-concentration-corrected",
        "Proposition 2, corrected",
        "ordering",
        corrects="v8-concentration",
        gate=CONVERGED,
    )
    .states("""Corrected: up to T_0 attention on relevant tokens rises for relevant and for neutral queries, by at least
        0.03 (shared signs) or 0.1 (per-token signs).""")
    .in_symbols(r"""\mathrm{conc}_l(T_0)-\mathrm{conc}_l(0) \ge 0.03 \text{ (shared)},\ 0.1 \text{ (per token)}, \quad l
        \text{ relevant or neutral}""")
    .judged(rise(["relevant", "neutral"]), lm.at_least({"shared": 0.03, "per_token": 0.1}, by="every"), FROZEN),
    lm.Claim("v8-concentration-margin", "Proposition 2, errata E6", "comparison", source="derived")
    .states("""The hinge stops attention: with margin 10 in place of 1 the attention on relevant tokens ends higher by
        at least 0.1.""")
    .in_symbols(r"\mathrm{conc}_{\text{margin 10}}-\mathrm{conc}_{\text{margin 1}} \ge 0.1")
    .judged(
        margin_gain(), lm.at_least(0.1, by="every"), lm.Control("margin 10 with frozen attention", attention="frozen")
    ),
    figure("f4-complement", "Figure 2.4", "identity")
    .states("Attention on relevant tokens and on all others, summed separately, add up to 1 at every record.")
    .in_symbols(r"\sum_{i\in\mathcal{S}_*}w_{l,i}+\sum_{i\notin\mathcal{S}_*}w_{l,i} = 1")
    .judged(sums(), lm.equal(1e-6), lm.Control("confusion tokens left out of the second sum", without_confusion=True)),
    figure("f4-rise", "Figure 2.4", "ordering")
    .states("""Attention on relevant tokens, averaged over all queries, rises over 400 steps by at least 0.15 (per-token
        signs) or 0.03 (shared signs).""")
    .in_symbols(r"\mathrm{conc}(400)-\mathrm{conc}(0) \ge 0.15 \text{ (per token)},\ 0.03 \text{ (shared)}")
    .judged(rise.of("f4-attention")(["all"]), lm.at_least({"shared": 0.03, "per_token": 0.15}, by="every"), FROZEN),
    figure("f4-freeze", "Figure 2.4, errata E6", "identity")
    .states("Once the training loss is 0 nothing moves: the parameters are constant to the bit after T_0.")
    .in_symbols(r"W^{(t)} = W^{(T_0)} \quad (t \ge T_0)")
    .judged(movement(), lm.equal(0.0), lm.Control("at all records from the start", from_start=True)),
    figure("f4-below-one", "Figure 2.4, errata E6", "bound")
    .states("""Under the hinge loss the attention on relevant tokens, averaged over all queries, stays below 0.95 at
        every record.""")
    .in_symbols(r"\max_t\mathrm{conc}(t) < 0.95")
    .judged(highest(), lm.at_most(0.95, by="every", strict=True), MODEL),
    figure("f4-frozen-constant", "Figure 2.4", "identity")
    .states("With frozen attention the attention on relevant tokens is constant to the bit.")
    .in_symbols(r"\mathrm{conc}(t) = \mathrm{conc}(0)")
    .judged(path(), lm.equal(0.0), lm.Control("trained attention", attention="trained")),
    lm.Claim("v24-attention-pn", "(A.15), (A.175)", "bound")
    .states("""As stated: initially every relevant query puts at least p_n on the relevant tokens, p_n the bound (A.15)
        with the measured ‖q_1‖.""")
    .in_symbols(r"\mathrm{conc}_l^n(0) \ge p_n(0) \quad (l\in\mathcal{S}_*^n)")
    .judged(
        excess("paper"),
        lm.at_least(-1e-6, by="every"),
        lm.Control("δ = τ = 0, where p_n is exact", where={"attention_error": 0.0}),
        expected=lm.FAILS,
    ),
    lm.Claim("v24-attention-pn-corrected", "(A.15) corrected", "bound", corrects="v24-attention-pn")
    .states("""Corrected: with D = δ + max(|W_K|, |W_Q|) τ every relevant query puts at least n_1 e^s / (n_1 e^s + n_0
        e^c) on the relevant tokens, s = 1 - 2D - D², c = 2D + D².""")
    .in_symbols(r"""\mathrm{conc}_l^n(0) \ge \frac{n_1e^{1-2D-D^2}}{n_1e^{1-2D-D^2}+n_0e^{2D+D^2}}, \quad D =
        \delta+\max(\lVert W_K\rVert,\lVert W_Q\rVert)\,\tau""")
    .judged(
        excess("theorem"),
        lm.at_least(-1e-6, by="every"),
        lm.Control(
            "the bound with δ = 0 on the counter-example",
            bound="theorem, δ = 0",
            where={"variant": "counter-example"},
        ),
    ),
)

"""How many iterations a graph transformer and a GCN need: P8, Figures 3.7 and B.6a."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most, decreasing, within
from lemmata.lab.measures import log_slopes, on_law
from lemmata.theories.graph_transformer.claims.common import value_at
from lemmata.theories.graph_transformer.measures import straight_line, uncensored


def _times(model: str) -> Callable[[Datasets], xr.DataArray]:
    """T of b6a-iterations along γ_d, in steps; at most one cell may have runs that did not arrive."""

    def take(datasets: Datasets) -> xr.DataArray:
        data = datasets["b6a-iterations"].sel(model=model, drop=True)
        return uncensored(data.reached_step, "γ_d", data.last_step)

    return take


def _exponent(model: str, law: float | None = None, size: bool = False) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        times = _times(model)(datasets)
        slopes = log_slopes(times if law is None else on_law(times, "discriminative", law), "discriminative")
        return abs(slopes) if size else slopes

    return evidence


def _ratio(datasets: Datasets, above: str = "GCN core") -> xr.DataArray:
    return _times(above)(datasets) / _times("GT core")(datasets)


def _start(above: str) -> Evidence:
    return lambda datasets: _ratio(datasets, above).isel(discriminative=0, drop=True)


def _order(above: str) -> Evidence:
    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        ratio = _ratio(datasets, above)
        return {
            "order": ratio,
            "fall": ratio.isel(discriminative=0, drop=True) - ratio.isel(discriminative=-1, drop=True),
        }

    return evidence


def _line_in_time(times: Callable[[Datasets], xr.DataArray]) -> Evidence:
    """R² of the seed means of T against γ_d^-2, and T(.25)/T(.8)."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        mean = times(datasets).mean("seed")
        _, fit = straight_line(mean.discriminative.values**-2.0, mean.values)
        return {"fit": xr.DataArray(fit), "ratio": xr.DataArray(mean.values[0] / mean.values[-1])}

    return evidence


def _gcn_times(datasets: Datasets) -> xr.DataArray:
    data = datasets["f37-gcn-iterations"]
    return uncensored(data.reached_step, "γ_d", data.last_step)


CLAIMS = (
    Claim(
        name="p8-gt-exponent", reference="Theorem 3.4.6, Figure B.6a", kind="scaling", reads=("b6a-iterations",),
        statement="The iterations of the graph transformer hardly depend on γ_d: |exponent| below .6 (core sampling).",
        formula="T ∝ γ_d^0", evidence=_exponent("GT core", size=True), judge=at_most(0.6, "clear", strict=True),
        controls=(Control("GCN", _exponent("GCN core", size=True)),),
    ),
    Claim(
        name="p8-gcn-exponent", reference="Theorem 3.4.6", kind="scaling", reads=("b6a-iterations",), expected=FAILS,
        statement="As stated: the iterations of a GCN that is told the core grow as γ_d^-2.", formula="T ∝ γ_d^-2",
        evidence=_exponent("GCN core"), judge=within(-2.2, -1.8, predicted=-2.0),
        controls=(Control("T put on γ_d^-2", _exponent("GCN core", law=-2.0), HOLDS),),
    ),
    Claim(
        name="p8-gcn-exponent-corrected", reference="Theorem 3.4.6, corrected", kind="scaling",
        reads=("b6a-iterations",), statement="Corrected: they grow with an exponent below -1.",
        evidence=_exponent("GCN core"), judge=at_most(-1.0, "clear", strict=True),
        controls=(Control("graph transformer", _exponent("GT core")),),
    ),
    Claim(
        name="p8-ratio-start", reference="Theorem 3.4.6", kind="comparison", reads=("b6a-iterations",),
        statement="At γ_d = .25 a GCN needs more than 1.5 times the iterations of a graph transformer.",
        evidence=_start("GCN core"), judge=at_least(1.5, "clear", strict=True),
        controls=(Control("graph transformer in both slots", _start("GT core")),),
    ),
    Claim(
        name="p8-ratio-order", reference="Theorem 3.4.6", kind="ordering", reads=("b6a-iterations",),
        statement="That ratio does not rise with γ_d by more than .3, and falls by at least 1 from .25 to .8.",
        evidence=_order("GCN core"),
        judge=all_of(order=decreasing("discriminative", "mean", slack=0.3), fall=at_least(1.0, "clear")),
        controls=(Control("graph transformer in both slots", _order("GT core")),),
    ),
    Claim(
        name="p8-gcn-chance", reference="Theorem 3.4.6", kind="limit", reads=("p10-known-core",),
        statement="A GCN that samples distances 1 and 2 stays at chance on the chapter's graph: loss .9 or more at η "
        "t = 40.",
        evidence=value_at("p10-known-core", "loss", 40, model="GCN"), judge=at_least(0.9, "clear"),
        controls=(Control("GCN on the core", value_at("p10-known-core", "loss", 40, model="GCN core")),),
    ),
    Claim(
        name="f37-linear", reference="Figure 3.7", kind="scaling", reads=("f37-gcn-iterations", "b6a-iterations"),
        statement="As reported: the iterations of a GCN are linear in γ_d^-2: R² ≥ .9 and T(.25)/T(.8) at least 2.5.",
        formula="T ∝ γ_d^-2", evidence=_line_in_time(_gcn_times), judge=all_of(fit=at_least(0.9), ratio=at_least(2.5)),
        controls=(Control("graph transformer on the core", _line_in_time(_times("GT core"))),),
    ),
)  # fmt: skip

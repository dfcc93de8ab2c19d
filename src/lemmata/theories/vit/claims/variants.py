"""Other data and networks: four classes (V19), pattern sets (V20), heads (V21), skip connection (V22)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most
from lemmata.lab.measures import at_end
from lemmata.theories.vit.measures import converged
from lemmata.theories.vit.training import SMALL_LOSS


def _class_table(rotation: int) -> Evidence:
    """The displacement table split into its own, opposite (all coordinates flipped) and adjacent entries."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        table = converged(datasets["v19-multiclass"]).class_displacement.roll({"class": rotation})
        count = table.sizes["own"]
        own = [table.isel({"own": k, "class": k}) for k in range(count)]
        opposite = [table.isel({"own": k, "class": count - 1 - k}) for k in range(count)]
        adjacent = [
            np.abs(table.isel({"own": k, "class": j})) / own[k]
            for k in range(count)
            for j in range(count)
            if j not in (k, count - 1 - k)
        ]
        parts = {"own": own, "opposite": opposite, "adjacent": adjacent}
        return {name: xr.concat(values, "entry") for name, values in parts.items()}

    return evidence


def _class_risk(untrained: bool) -> Evidence:
    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        data = converged(datasets["v19-multiclass"])
        if untrained:
            return {"error": data.untrained_test_error, "hinge": data.untrained_test_hinge}
        return {"error": data.test_error, "hinge": data.test_hinge}

    return evidence


def _risk(name: str, untrained: bool) -> Evidence:
    """The test hinge at T_0 (or untrained) of the cells with trained attention."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = converged(datasets[name])
        if "attention" in data.dims:
            data = data.sel(attention="trained", drop=True)
        return data.untrained_test_hinge if untrained else data.test_hinge

    return evidence


def _rise(name: str, attention: str) -> Evidence:
    """Concentration of relevant queries at T_0 minus its value at 0."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        values = converged(datasets[name]).concentration.sel(attention=attention, query="relevant", drop=True)
        return at_end(values) - values.isel(record=0)

    return evidence


def _direction(pair: str) -> Evidence:
    return lambda datasets: converged(datasets["v20-patterns"]).member_cosine.sel(
        attention="trained", pair=pair, drop=True
    )


def _heads(untrained: bool) -> Evidence:
    """Mean cosine of lucky_plus with the concatenation of the heads' p_1."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        values = converged(datasets["v21-heads"]).alignment.sel(side="plus", drop=True)
        return values.isel(record=0) if untrained else at_end(values)

    return evidence


def _risk_claim(name: str, experiment: str, reference: str, words: str) -> Claim:
    return Claim(
        name=name,
        reference=reference,
        kind="bound",
        statement=f"{words}, SGD still reaches zero risk: test hinge below 0.001 at T_0.",
        reads=(experiment,),
        evidence=_risk(experiment, untrained=False),
        judge=at_most(SMALL_LOSS, by="every", strict=True),
        controls=(Control("untrained", _risk(experiment, untrained=True)),),
    )


def _rise_claim(name: str, experiment: str, reference: str, words: str) -> Claim:
    return Claim(
        name=name,
        reference=reference,
        kind="ordering",
        statement=f"{words}, attention still concentrates: that of relevant queries on relevant tokens rises by at "
        "least 0.03 up to T_0.",
        reads=(experiment,),
        evidence=_rise(experiment, "trained"),
        judge=at_least(0.03, by="every"),
        controls=(Control("frozen attention", _rise(experiment, "frozen")),),
    )


CLAIMS = (
    Claim(
        name="v19-multiclass-table",
        reference="Appendix A.6.1, (A.217)-(A.224)",
        kind="ordering",
        statement="With four classes the neurons of a class grow along its pattern, shrink along the opposite one, and "
        "move along the two adjacent ones by less than 0.3 of that.",
        reads=("v19-multiclass",),
        evidence=_class_table(0),
        judge=all_of(
            own=at_least(0.0, by="every", strict=True),
            opposite=at_most(0.0, by="every", strict=True),
            adjacent=at_most(0.3, by="every", strict=True),
        ),
        controls=(Control("patterns rotated by one class", _class_table(1)),),
    ),
    Claim(
        name="v19-multiclass-risk",
        reference="Appendix A.6.1",
        kind="bound",
        statement="With four classes SGD still learns: no test error and test hinge below 0.005.",
        reads=("v19-multiclass",),
        evidence=_class_risk(untrained=False),
        judge=all_of(error=at_most(0.0, by="every"), hinge=at_most(5e-3, by="every", strict=True)),
        controls=(Control("untrained", _class_risk(untrained=True)),),
    ),
    _risk_claim("v20-patterns-risk", "v20-patterns", "Appendix A.6.2", "With sets of patterns"),
    _rise_claim("v20-patterns-concentration", "v20-patterns", "Appendix A.6.2", "With sets of patterns"),
    Claim(
        name="v20-patterns-direction",
        reference="Appendix A.6.2",
        kind="comparison",
        statement="Queries of two members of a set move in the same direction: cosine at least 0.99.",
        reads=("v20-patterns",),
        evidence=_direction("same set"),
        judge=at_least(0.99, by="every"),
        controls=(Control("members of two different sets", _direction("different sets")),),
    ),
    _risk_claim("v21-heads-risk", "v21-heads", "Appendix A.6.3", "With 1, 2 and 4 heads"),
    Claim(
        name="v21-heads-alignment",
        reference="Appendix A.6.3",
        kind="bound",
        statement="With 1, 2 and 4 heads the lucky neurons learn all heads' features: mean cosine of lucky_plus with "
        "the concatenation of the p_1 at least 0.8 at T_0.",
        reads=("v21-heads",),
        evidence=_heads(untrained=False),
        judge=at_least(0.8, by="every"),
        controls=(Control("untrained", _heads(untrained=True)),),
    ),
    _risk_claim("v22-skip-risk", "v22-skip", "Appendix A.6.4", "With a skip connection"),
    _rise_claim("v22-skip-concentration", "v22-skip", "Appendix A.6.4", "With a skip connection"),
)

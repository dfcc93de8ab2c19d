"""Other data and networks: four classes (V19), pattern sets (V20), heads (V21), skip connection (V22)."""

from functools import partial

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.vit.measures import FROZEN, NEGATIVE, POSITIVE, UNTRAINED, at_end_or_start, converged
from lemmata.theories.vit.training import SMALL_LOSS


@lm.evidence("v19-multiclass")
def class_table(data: xr.Dataset, rotation: int = 0) -> dict[str, xr.DataArray]:
    """The displacements split into own, opposite (all coordinates flipped) and adjacent ones, patterns rotated."""
    table = data.class_displacement.roll({"class": rotation})
    classes = range(table.sizes["own"])
    opposite = classes[::-1]

    def entry(own: int, other: int) -> xr.DataArray:
        return table.isel({"own": own, "class": other})

    entries = {
        "own": [entry(k, k) for k in classes],
        "opposite": [entry(k, opposite[k]) for k in classes],
        "adjacent": [np.abs(entry(k, j)) / entry(k, k) for k in classes for j in classes if j not in (k, opposite[k])],
    }
    return {name: xr.concat(values, "entry") for name, values in entries.items()}


@lm.evidence("v19-multiclass")
def class_risk(data: xr.Dataset, untrained: bool = False) -> dict[str, xr.DataArray]:
    """0-1 error and hinge loss on the test samples."""
    network = "untrained_test" if untrained else "test"
    return {"error": data[f"{network}_error"], "hinge": data[f"{network}_hinge"]}


@lm.evidence("v20-patterns")
def risk(data: xr.Dataset, untrained: bool = False) -> xr.DataArray:
    """The test hinge at T_0, or untrained, of the cells with trained attention."""
    data = lm.cells(data, attention="trained") if "attention" in data.dims else data
    return data.untrained_test_hinge if untrained else data.test_hinge


@lm.evidence("v20-patterns")
def rise(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """Concentration of relevant queries at T_0 minus its value at 0."""
    values = lm.cells(data.concentration, attention=attention, query="relevant")
    return lm.at_end(values) - values.isel(record=0)


@lm.evidence("v20-patterns")
def direction(data: xr.Dataset, pair: str = "same set") -> xr.DataArray:
    """Cosine of the displacements of W_Q on two members."""
    return lm.cells(data.member_cosine, attention="trained", pair=pair)


@lm.evidence("v21-heads")
def alignment(data: xr.Dataset, untrained: bool = False) -> xr.DataArray:
    """Mean cosine of lucky_plus with the concatenation of the heads' p_1."""
    return at_end_or_start(lm.cells(data.alignment, side="plus"), untrained)


claim = partial(lm.Claim, gate=converged(attention="trained"))


def _risk_claim(name: str, experiment: str, reference: str, where: str) -> lm.Claim:
    return (
        claim(name, reference, "bound")
        .states(f"{where}, SGD still reaches zero risk: test hinge below 0.001 at T_0.")
        .in_symbols(r"\ell_{\text{test}}(T_0) < 10^{-3}")
        .judged(risk.of(experiment)(), lm.at_most(SMALL_LOSS, by="every", strict=True), UNTRAINED)
    )


def _rise_claim(name: str, experiment: str, reference: str, where: str) -> lm.Claim:
    return (
        claim(name, reference, "ordering")
        .states(f"""{where}, attention still concentrates: that of relevant queries on relevant tokens rises by at least
            0.03 up to T_0.""")
        .in_symbols(r"\mathrm{conc}_l(T_0)-\mathrm{conc}_l(0) \ge 0.03 \quad (l\in\mathcal{S}_*)")
        .judged(rise.of(experiment)(), lm.at_least(0.03, by="every"), FROZEN)
    )


CLAIMS = (
    claim("v19-multiclass-table", "Appendix A.6.1, (A.217)-(A.224)", "ordering")
    .states("""With four classes the neurons of a class grow along its pattern, shrink along the opposite one, and move
        along the two adjacent ones by less than 0.3 of that.""")
    .in_symbols(r"""\Delta_{kk} > 0,\ \Delta_{k\bar{k}} < 0,\ |\Delta_{kj}| < 0.3\,\Delta_{kk}\ (j\ne k,\bar{k}), \quad
        \Delta_{kj} = \mathrm{mean}_{i\in\mathcal{W}_k}\Delta W_{O,i}\,p_j""")
    .judged(
        class_table(),
        lm.all_of(own=POSITIVE, opposite=NEGATIVE, adjacent=lm.at_most(0.3, by="every", strict=True)),
        lm.Control("patterns rotated by one class", rotation=1),
    ),
    claim("v19-multiclass-risk", "Appendix A.6.1", "bound")
    .states("With four classes SGD still learns: no test error and test hinge below 0.005.")
    .in_symbols(r"\mathrm{err}_{\text{test}} = 0,\ \ell_{\text{test}} < 5\cdot10^{-3}")
    .judged(
        class_risk(),
        lm.all_of(error=lm.at_most(0.0, by="every"), hinge=lm.at_most(5e-3, by="every", strict=True)),
        UNTRAINED,
    ),
    _risk_claim("v20-patterns-risk", "v20-patterns", "Appendix A.6.2", "With sets of patterns"),
    _rise_claim("v20-patterns-concentration", "v20-patterns", "Appendix A.6.2", "With sets of patterns"),
    claim("v20-patterns-direction", "Appendix A.6.2", "comparison")
    .states("Queries of two members of a set move in the same direction: cosine at least 0.99.")
    .in_symbols(r"\cos(\Delta W_Q\,\mu_{1,1},\ \Delta W_Q\,\mu_{1,2}) \ge 0.99")
    .judged(
        direction(), lm.at_least(0.99, by="every"), lm.Control("members of two different sets", pair="different sets")
    ),
    _risk_claim("v21-heads-risk", "v21-heads", "Appendix A.6.3", "With 1, 2 and 4 heads"),
    claim("v21-heads-alignment", "Appendix A.6.3", "bound")
    .states("""With 1, 2 and 4 heads the lucky neurons learn all heads' features: mean cosine of lucky_plus with the
        concatenation of the p_1 at least 0.8 at T_0.""")
    .in_symbols(r"\mathrm{mean}_{i\in\mathcal{W}}\cos(W_{O,i},\,(p_{1,1};\ldots;p_{H,1})) \ge 0.8")
    .judged(alignment(), lm.at_least(0.8, by="every"), UNTRAINED),
    _risk_claim("v22-skip-risk", "v22-skip", "Appendix A.6.4", "With a skip connection"),
    _rise_claim("v22-skip-concentration", "v22-skip", "Appendix A.6.4", "With a skip connection"),
)

"""Lucky neurons: their alignment and norms (V9), number (V10) and gates (V11), value growth (V14), outputs (V15)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most, within
from lemmata.lab.measures import at_end
from lemmata.theories.vit.bounds import cap_probability
from lemmata.theories.vit.measures import by_side, converged


def _shared(datasets: Datasets) -> xr.Dataset:
    """The runs with shared signs and trained attention, up to T_0."""
    return converged(datasets["dynamics"], ["shared"]).sel(variant="shared", attention="trained", drop=True)


def _when(measure: Callable[[xr.Dataset], Any], untrained: bool = False) -> Evidence:
    """A measure at T_0 (the last record), or at t = 0."""

    def evidence(datasets: Datasets) -> Any:
        data = _shared(datasets)
        return measure(data.isel(record=0) if untrained else _last(data))

    return evidence


def _last(data: xr.Dataset) -> xr.Dataset:
    """Every recorded variable at its last record."""
    return data.map(lambda values: at_end(values) if "record" in values.dims else values)


def _by_side(of: Callable[[int, int], xr.DataArray]) -> xr.DataArray:
    """`of(k, other)` for the class +1 (k = 0) and -1 (k = 1), along the dimension side."""
    return by_side([of(0, 1), of(1, 0)])


def _components(data: xr.Dataset) -> xr.DataArray:
    """Mean |W_O,i p_k| of the lucky neurons of class k over the largest along any other p_j."""

    def of(k: int, other: int) -> xr.DataArray:
        mine = data.component.isel(group=k, drop=True)
        others = [j for j in range(mine.sizes["feature"]) if j != k]
        return mine.isel(feature=k) / mine.isel(feature=others).max("feature")

    return _by_side(of)


def _norms(data: xr.Dataset) -> xr.DataArray:
    """Mean squared norm of unlucky rows over that of the lucky rows of each class."""
    unlucky = data.square_norm.sel(group="unlucky", drop=True)
    return _by_side(lambda k, other: unlucky / data.square_norm.isel(group=k, drop=True))


def _output_ratio(data: xr.Dataset) -> xr.DataArray:
    """On y = +1 samples: output of lucky_minus over lucky_plus, relative to α_#/α_*."""
    added = data.group_output.sel(side="plus", drop=True)
    ratio = added.sel(group="minus", drop=True) / added.sel(group="plus", drop=True)
    return ratio / (data.confusion_share / data.relevant_share)


def _gates(groups: list[str]) -> Evidence:
    """The smallest gate persistence at any record."""
    return lambda datasets: _shared(datasets).persistence.sel(gate_group=groups).min("record")


def _both_active(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The records at which at least 10 % of each class still has loss; NaN at the others."""
    return values.where((data.unsolved > 0.1 - 1e-6).all("side"))  # 5 of 50 are 10 % however they are rounded


def _value(k: int, group: int) -> Callable[[xr.Dataset], xr.DataArray]:
    return lambda data: data.value_growth.isel(group=group, side=k, drop=True)


def _as_stated(sign: float) -> Evidence:
    """The smallest V^(2) of lucky_minus over the active steps."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _shared(datasets)
        return (sign * _both_active(data, _value(1, 1)(data))).min("record")

    return evidence


def _own_value(exchanged: bool) -> Evidence:
    """The largest own-pattern coefficient over the active steps: V^(1) of lucky_plus and V^(2) of lucky_minus."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _shared(datasets)
        own = _by_side(lambda k, other: _value(k, other if exchanged else k)(data))
        return _both_active(data, own).max("record")

    return evidence


def _cross_value(exchanged: bool) -> Evidence:
    """At t = 0: V^(1) of lucky_minus and V^(2) of lucky_plus."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _shared(datasets).isel(record=0)
        return _by_side(lambda k, other: _value(k, k if exchanged else other)(data))

    return evidence


def _small_value(own_group: bool) -> Evidence:
    """Time mean over the active steps of mean |V^(k)| of the unlucky neurons over that of the own lucky group."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _shared(datasets)

        def of(k: int, other: int) -> xr.DataArray:
            size = data.value_size.isel(side=k, drop=True)
            own = size.isel(group=k, drop=True)
            return (own if own_group else size.sel(group="unlucky", drop=True)) / own

        return _both_active(data, _by_side(of)).mean("record")

    return evidence


def _value_features(order: list[int]) -> Evidence:
    """The diagonal of C_V at T_0 over its value at 0, in this order of entries."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        matrix = _shared(datasets).value_features
        ratio = at_end(matrix) / matrix.isel(record=0)
        rest = list(range(4, matrix.sizes["pattern"]))
        diagonal = xr.concat([ratio.isel(feature=j, pattern=j) for j in order + rest], "entry")
        return {"discriminative": diagonal.isel(entry=[0, 1]), "neutral": diagonal.isel(entry=slice(2, None))}

    return evidence


def _single(defect: str) -> Evidence:
    """Fractions on one token in standard deviations of a binomial from 1/2 (un-signed) and 1/4 (signed)."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        data = datasets["v10-lucky-sets"].sel(defect=defect)
        return {
            "unsigned": (data.active_on_one - 0.5) / np.sqrt(0.25 / data.neurons),
            "signed": (data.lucky_on_one - 0.25) / np.sqrt(0.1875 / data.neurons),
        }

    return evidence


def _all(defect: str) -> Evidence:
    """The mean of the two signed fractions of neurons that are lucky on all relevant tokens."""
    return lambda datasets: datasets["v10-lucky-sets"].lucky_on_all.sel(defect=defect).mean("side")


def _noise(variable: str) -> Evidence:
    return lambda datasets: datasets["v10-lucky-sets"][variable].sel(defect="none", drop=True)


_LEMMA = "Lemma A.3.1 claim 1"
_SHIFT = "output weights shifted by -2ξ p_1"
COLATITUDE = math.pi / 2 - 0.15
"""The guard angle π/2 - (σ+τ) of Lemma A.5.1."""


def _cap(factor: float) -> Evidence:
    """Share of 2·10⁵ uniform directions inside the cap, minus `factor` times its probability, in standard errors."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        draw = np.random.default_rng(datasets.seed)
        draws, widths = 2 * 10**5, [5, 10, 20]
        deviations = []
        for width in widths:
            normal = draw.standard_normal((draws, width))
            cosine = normal[:, 0] / np.linalg.norm(normal, axis=1)
            share = np.mean(cosine >= math.cos(COLATITUDE))
            error = math.sqrt(share * (1 - share) / draws)
            deviations.append((share - factor * cap_probability(width, COLATITUDE)) / error)
        return xr.DataArray(deviations, coords={"m_a": widths})

    return evidence


CLAIMS = (
    Claim(
        name="v9-lucky-alignment",
        reference=_LEMMA,
        kind="bound",
        statement="At T_0 the lucky neurons point along the feature of their class: the mean cosine of lucky_plus with "
        "p_1 and of lucky_minus with p_2 exceeds 0.8.",
        reads=("dynamics",),
        evidence=_when(lambda data: data.alignment),
        judge=at_least(0.8, by="every", strict=True),
        controls=(Control("untrained", _when(lambda data: data.alignment, untrained=True)),),
    ),
    Claim(
        name="v9-lucky-components",
        reference=_LEMMA,
        kind="comparison",
        statement="At T_0 the lucky neurons' mean component along their own feature is at least twice that along any "
        "other.",
        reads=("dynamics",),
        evidence=_when(_components),
        judge=at_least(2.0, by="every"),
        controls=(Control("untrained", _when(_components, untrained=True)),),
    ),
    Claim(
        name="v9-lucky-norms",
        reference=_LEMMA,
        kind="comparison",
        statement="At T_0 the mean squared norm of the unlucky neurons is less than half that of the lucky ones.",
        reads=("dynamics",),
        evidence=_when(_norms),
        judge=at_most(0.5, by="every", strict=True),
        controls=(Control("untrained", _when(_norms, untrained=True)),),
    ),
    Claim(
        name="v9-noise-bound",
        reference=_LEMMA,
        kind="bound",
        statement="Initially no neuron responds to the noise of any token by more than (σ + |W_V| τ) |W_O,i|.",
        formula="|W_O,i (W_V x_l - p_z(l))| ≤ (σ + |W_V| τ) |W_O,i|",
        reads=("v10-lucky-sets",),
        evidence=_noise("noise_ratio"),
        judge=at_most(1.0, by="every"),
        controls=(Control("the bound with σ = 0", _noise("noise_ratio_without_error")),),
    ),
    Claim(
        name="v10-lucky-single",
        reference="Lemma A.5.1",
        kind="bound",
        statement="Half of the neurons are active on a given relevant token, a quarter are so and have the sign of its "
        "class: within 4 standard deviations of the binomial.",
        reads=("v10-lucky-sets",),
        evidence=_single("none"),
        judge=all_of(
            unsigned=within(-4.0, 4.0, "every", predicted=0.0), signed=within(-4.0, 4.0, "every", predicted=0.0)
        ),
        controls=(Control(_SHIFT, _single("shifted")),),
    ),
    Claim(
        name="v10-lucky-all",
        reference="Lemma A.5.1",
        kind="bound",
        statement="A constant share of the neurons is lucky: at least 0.2 are active on all relevant tokens of a class "
        "and have its sign (mean over both classes).",
        reads=("v10-lucky-sets",),
        evidence=_all("none"),
        judge=at_least(0.2, by="every"),
        controls=(Control(_SHIFT, _all("shifted")),),
    ),
    Claim(
        name="v11-gate-persistence",
        reference="Lemma A.5.2",
        kind="bound",
        statement="Lucky neurons stay active on relevant tokens: at every record up to T_0 at least 0.99 of the pairs.",
        reads=("dynamics",),
        evidence=_gates(["plus", "minus"]),
        judge=at_least(0.99, by="every"),
        controls=(
            Control("a random half of the neurons of each sign instead", _gates(["random plus", "random minus"])),
        ),
    ),
    Claim(
        name="v14-value-own",
        reference="(A.17), (A.178)",
        kind="ordering",
        statement="As stated: the coefficient V^(2) of the lucky_minus neurons is positive at every step at which 10 % "
        "of each class has loss.",
        reads=("dynamics",),
        evidence=_as_stated(1.0),
        judge=at_least(0.0, by="every", strict=True),
        expected=FAILS,
        controls=(Control("sign of V reversed", _as_stated(-1.0), HOLDS),),
    ),
    Claim(
        name="v14-value-own-corrected",
        reference="Claim 3 (A.36)-(A.39), errata E23",
        kind="ordering",
        statement="Corrected: own-pattern coefficients are negative, V^(1) on lucky_plus and V^(2) on lucky_minus, at "
        "every step at which 10 % of each class has loss; so the values grow along their features.",
        reads=("dynamics",),
        evidence=_own_value(exchanged=False),
        judge=at_most(0.0, by="every", strict=True),
        controls=(Control("lucky_plus and lucky_minus exchanged", _own_value(exchanged=True)),),
    ),
    Claim(
        name="v14-value-cross",
        reference="Claim 3 (A.36)-(A.39)",
        kind="ordering",
        statement="Initially the cross coefficients, V^(1) on lucky_minus and V^(2) on lucky_plus, are positive.",
        reads=("dynamics",),
        evidence=_cross_value(exchanged=False),
        judge=at_least(0.0, by="every", strict=True),
        controls=(Control("lucky_plus and lucky_minus exchanged", _cross_value(exchanged=True)),),
    ),
    Claim(
        name="v14-value-unlucky",
        reference="Claim 3, (A.179)",
        kind="comparison",
        statement="The coefficients of unlucky neurons are small: less than half the own-pattern magnitude on average "
        "over the steps at which 10 % of each class has loss.",
        reads=("dynamics",),
        evidence=_small_value(own_group=False),
        judge=at_most(0.5, by="every", strict=True),
        controls=(Control("the own lucky group in place of the unlucky", _small_value(own_group=True)),),
    ),
    Claim(
        name="v14-value-growth",
        reference="Claim 3 (A.36)-(A.39)",
        kind="comparison",
        statement="Up to T_0 the value map grows along the discriminative features by at least 30 % and changes along "
        "the others by at most 20 %.",
        reads=("dynamics",),
        evidence=_value_features([0, 1, 2, 3]),
        judge=all_of(discriminative=at_least(1.3, by="every"), neutral=within(0.8, 1.2, by="every", predicted=1.0)),
        controls=(Control("entries 1, 2 exchanged with 3, 4", _value_features([2, 3, 0, 1])),),
    ),
    Claim(
        name="v15-output-ratio",
        reference="(A.43)",
        kind="bound",
        statement="At T_0, on samples of class +1, the output of the lucky_minus neurons is at most 1.5 α_#/α_* times "
        "that of the lucky_plus neurons (measured: the ratio relative to α_#/α_*).",
        reads=("dynamics",),
        evidence=_when(_output_ratio),
        judge=at_most(1.5, by="every"),
        controls=(Control("untrained", _when(_output_ratio, untrained=True)),),
    ),
    Claim(
        name="v10-cap-probability",
        reference="Lemma A.5.1, (A.189)",
        kind="identity",
        statement="The share of 2·10⁵ uniform directions inside a cap of colatitude π/2 - 0.15 equals its closed form "
        "within 4 standard errors, in 5, 10 and 20 dimensions.",
        formula="1/2 I_{sin² φ}((m_a-1)/2, 1/2)",
        evidence=_cap(1.0),
        judge=within(-4.0, 4.0, predicted=0.0),
        controls=(Control("the formula without the factor 1/2", _cap(2.0)),),
    ),
)

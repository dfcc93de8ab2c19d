"""What the proof follows: neurons (P11, P15), keys and queries (P12), values (P14); printed initial weights (9.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Evidence, NotApplicable
from lemmata.lab.judges import at_least, at_most, within
from lemmata.lab.measures import stack
from lemmata.theories.graph_transformer.measures import at_time, of, up_to, value_at

END = 30


def _of(take: Callable[[xr.Dataset], Any], variant: str = "intact") -> Evidence:
    return of("p7-training", take, variant=variant)


def _directions(first: str = "W", second: str = "U") -> Evidence:
    """Mean W_O,i p̂_1 less 3 times the mean |W_O,i p̂_j|, j >= 3, and less 3 times that along p̂_2; and 1, 2 changed."""

    def take(data: xr.Dataset) -> xr.DataArray:
        along, size = (at_time(data, values, END) for values in (data.lucky_along, data.lucky_along_size))
        found = {}
        for crowd, own, other in ((first, 0, 1), (second, 1, 0)):
            mine = along.sel(crowd=crowd, drop=True).isel(pattern=own, drop=True)
            plain = size.sel(crowd=crowd, drop=True).isel(pattern=slice(2, None)).mean("pattern")
            found[f"{crowd}, others"] = mine - 3 * plain
            found[f"{crowd}, opposite"] = mine - 3 * along.sel(crowd=crowd, drop=True).isel(pattern=other, drop=True)
        return stack(found, "against")

    return _of(take)


def _superlinear(variant: str) -> Evidence:
    """The log-log slope in t of the growth of W_O,i p̂_1 over W, from η t = 5 on while the training loss exceeds .3."""

    def take(data: xr.Dataset) -> xr.DataArray:
        along = data.lucky_along.sel(crowd="W", drop=True).isel(pattern=0, drop=True)
        grown = along - along.isel(record=0, drop=True)
        used = (data.time >= 5) & (data.train_loss > 0.3) & (grown > 0)
        if (used.sum("record") < 4).any():
            raise NotApplicable("fewer than 4 records of growth in some seed")
        x, y = (np.log(values.where(used)) for values in (data.time, grown))
        x, y = (values - values.mean("record") for values in (x, y))
        return (x * y).sum("record") / (x**2).sum("record")

    return _of(take, variant)


def _growing(variant: str) -> Evidence:
    """The share of records, until the training loss is below .1, in which each of four norms rose."""

    def take(data: xr.Dataset) -> xr.DataArray:
        going = (data.train_loss >= 0.1).cumprod("record").isel(record=slice(None, -1)) > 0
        shares = {}
        for name in ("key_norm", "query_norm"):
            rose = data[name].isel(pattern=slice(2)).diff("record") > 0
            rose = rose.assign_coords(record=going.record) if "record" in going.coords else rose
            share = (rose & going).sum("record") / going.sum("record")
            shares |= {f"{name} {j + 1}": share.isel(pattern=j, drop=True) for j in range(2)}
        return stack(shares, "norm")

    return _of(take, variant)


def _excess(variant: str) -> Evidence:
    """Growth factors of the discriminative keys and queries less the mean one of the other patterns."""

    def take(data: xr.Dataset) -> xr.DataArray:
        found = {}
        for name in ("key_norm", "query_norm"):
            factor = at_time(data, data[name], END) / data[name].isel(record=0)
            plain = factor.isel(pattern=slice(2, None)).mean("pattern")
            found |= {f"{name} {j + 1}": factor.isel(pattern=j, drop=True) - plain for j in range(2)}
        return stack(found, "norm")

    return _of(take, variant)


def _cross(variant: str) -> Evidence:
    """Mean logit of a discriminative key and another query, and how much it has risen."""

    def take(data: xr.Dataset) -> xr.DataArray:
        logits = data.cross_logits.isel(pattern=slice(2), other=slice(2, None)).mean(["pattern", "other"])
        now = at_time(data, logits, END)
        return stack({"value": now, "rise": now - logits.isel(record=0)}, "logit")

    return _of(take, variant)


def _at_end(name: str, variant: str = "intact") -> Evidence:
    return _of(lambda data: at_time(data, data[name], END), variant)


def _value_growth(variant: str) -> Evidence:
    return _of(lambda d: at_time(d, d.value_along_first, END) - d.value_along_first.isel(record=0), variant)


def _others(*patterns: int) -> Evidence:
    """||dV_j|| / ||dV_1|| of these patterns, counted from 1; none: all from the third on."""

    def take(data: xr.Dataset) -> xr.DataArray:
        moved = at_time(data, data.value_moved, END)
        moved = moved.assign_coords(pattern=np.arange(1, moved.sizes["pattern"] + 1))
        return (moved / moved.sel(pattern=1, drop=True)).sel(pattern=list(patterns or moved.pattern.values[2:]))

    return _of(take)


def _coefficients(name: str, labels: list[str]) -> Evidence:
    """Shares of lucky neurons, means over the records with training loss above .1."""

    def take(data: xr.Dataset) -> xr.DataArray:
        return data[name].sel(label=labels).where(data.train_loss > 0.1).mean("record")

    return _of(take)


def _persistence(crowds: list[str]) -> Evidence:
    return _of(lambda data: up_to(data, data.persistence.sel(crowd=crowds), END).min("record"))


P11 = {"reference": "Lemma B.3.1", "reads": ("p7-training",)}
P12 = {"reference": "Lemma B.3.2", "reads": ("p7-training",)}
P14 = {"reference": "Lemma B.3.4", "reads": ("p7-training",)}
WRONG = "neurons with a_i < 0 that are active on D_1, in the place of W"

CLAIMS = (
    Claim(
        name="p11-lucky-directions", kind="ordering", **P11,
        statement="Lucky neurons point to their own pattern: at η t = 30 the mean of W_O,i p̂_1 over W exceeds 3 "
        "times that along every other direction, and the same for U, in every seed.",
        evidence=_directions(), judge=at_least(0.0, "every", strict=True),
        controls=(Control(WRONG, _directions("wrong W")),),
    ),
    Claim(
        name="p11-superlinear", kind="scaling", **P11,
        statement="They grow faster than linearly before saturation: exponent above 1.2 in every seed.",
        formula="W_O,i p_1 ∝ t^k, k > 1.2", evidence=_superlinear("intact"), judge=at_least(1.2, "every", strict=True),
        controls=(Control("only W_O is trained", _superlinear("only head")),),
    ),
    Claim(
        name="p11-unlucky-norms", kind="ordering", **P11,
        statement="Unlucky neurons stay smaller: mean squared row norm below .7 of the lucky one at η t = 30, in "
        "every seed.",
        evidence=_at_end("norm_ratio"), judge=at_most(0.7, "every", strict=True),
        controls=(Control("before training", _of(lambda data: data.norm_ratio.isel(record=0))),),
    ),
    Claim(
        name="p12-growth", kind="ordering", **P12,
        statement="Keys and queries of both discriminative patterns grow in at least 90 % of the records until the "
        "training loss is below .1, in every seed.",
        formula="K(t), Q(t) > 0", evidence=_growing("intact"), judge=at_least(0.9, "every"),
        controls=(Control("attention frozen", _growing("frozen")),),
    ),
    Claim(
        name="p12-disc-exceeds", kind="ordering", **P12,
        statement="They grow by a factor that exceeds the mean one of the other patterns by more than .1, in every "
        "seed.",
        evidence=_excess("intact"), judge=at_least(0.1, "every", strict=True),
        controls=(Control("attention frozen", _excess("frozen")),),
    ),
    Claim(
        name="p12-cross-logit", kind="limit", **P12,
        statement="The logit of a discriminative key and another node's query rises above 0: by more than .03, to "
        "more than .03, at η t = 30.",
        evidence=_cross("intact"), judge=at_least(0.03, "clear", strict=True),
        controls=(Control("attention frozen", _cross("frozen")),),
    ),
    Claim(
        name="p14-value-growth", kind="ordering", **P14,
        statement="The value of μ_1 grows along its own direction by more than .3 to η t = 30, in every seed.",
        evidence=_value_growth("intact"), judge=at_least(0.3, "every", strict=True),
        controls=(Control("W_V frozen", _value_growth("frozen values")),),
    ),
    Claim(
        name="p14-opposition", kind="ordering", **P14,
        statement="The values of μ_1 and μ_2 move against each other: ⟨dV_1, dV_2⟩ < -.1 in every seed.",
        evidence=_at_end("value_opposition"), judge=at_most(-0.1, "every", strict=True),
        controls=(Control("W_V frozen", _at_end("value_opposition", "frozen values")),),
    ),
    Claim(
        name="p14-lucky", kind="ordering", **P14,
        statement="They move along their lucky neurons: the means of W_O,i dV_1 over W and of W_O,i dV_2 over U "
        "exceed .05 in every seed.",
        evidence=_at_end("lucky_value"), judge=at_least(0.05, "every", strict=True),
        controls=(Control("W_V frozen", _at_end("lucky_value", "frozen values")),),
    ),
    Claim(
        name="p14-others-small", kind="bound", **P14,
        statement="The values of all other patterns move by less than a fifth of that of μ_1, in every seed.",
        evidence=_others(), judge=at_most(0.2, "every", strict=True),
        controls=(Control("pattern 2 in the place of j", _others(2)),),
    ),
    Claim(
        name="p14-sign", reference="(B.32)", kind="ordering", reads=("p7-training",),
        statement="As printed: the coefficient V_i^(2) is positive for at least 90 % of U, mean over records with "
        "training loss above .1.",
        evidence=_coefficients("coefficient_positive", ["-1"]), judge=at_least(0.9, "clear"), expected=FAILS,
        controls=(Control("coefficients times -1", _coefficients("coefficient_negative", ["-1"]), HOLDS),),
    ),
    Claim(
        name="p14-sign-corrected", reference="(B.32), corrected", kind="ordering", reads=("p7-training",),
        statement="Corrected: V_i^(1) on W and V_i^(2) on U are negative for at least 90 %, on the same records.",
        evidence=_coefficients("coefficient_negative", ["+1", "-1"]), judge=at_least(0.9, "clear"),
        controls=(Control("coefficients times -1", _coefficients("coefficient_positive", ["+1", "-1"])),),
    ),
    Claim(
        name="p15-init-fraction", reference="Lemma B.3.5", kind="bound", reads=("p7-training",),
        statement="Before training the share of active neurons, averaged over nodes, lies between .35 and .65 in "
        "every seed.",
        evidence=_of(lambda data: data.active_fraction.isel(record=0)),
        judge=within(0.35, 0.65, "every", predicted=0.5),
        controls=(
            Control("all rows of W_O equal", _of(lambda data: data.active_fraction_alike.isel(record=0))),
        ),
    ),
    Claim(
        name="p15-persistence", reference="Lemma B.3.6", kind="bound", reads=("p7-training",),
        statement="Lucky neurons stay active on the nodes of their pattern: at least .9 of the pairs, at every record"
        " up to η t = 30, in every seed.",
        evidence=_persistence(["W", "U"]), judge=at_least(0.9, "every"),
        controls=(Control(WRONG, _persistence(["wrong W"])),),
    ),
    Claim(
        name="e4-literal-init", reference="erratum 9.4", kind="comparison",
        statement="As printed: with W_Q = W_K = δ²/c_0² I and W_V = σ²/c_0² U training reaches accuracy .95 by η t = "
        "30.",
        reads=("p7-training",), evidence=value_at("p7-training", "accuracy", 30, variant="literal init"),
        judge=at_least(0.95, "clear"), expected=FAILS,
        controls=(Control("intact", value_at("p7-training", "accuracy", 30, variant="intact"), HOLDS),),
    ),
)  # fmt: skip

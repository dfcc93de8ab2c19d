"""How keys and queries grow: V12 (own features), V13 (attention, step by step), V25 (cross terms).

The recursion and the increments are closed forms: they read no experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence
from lemmata.lab.judges import all_of, at_least, at_most, decreasing, within
from lemmata.lab.measures import at_end
from lemmata.theories.vit.bounds import nu_n, q_recursion
from lemmata.theories.vit.measures import by_side, converged, growth, own_coordinates

Formula = Callable[..., Any]
ERROR, ETA = 0.2, 0.1
STEPS = [10**3, 10**4, 10**5]


def _squares() -> xr.DataArray:
    """‖q_1‖² of the scalar recursion (A.34) after 10³, 10⁴, 10⁵ steps."""
    return xr.DataArray(q_recursion(STEPS, ETA, 1.0, ERROR), coords={"steps": STEPS})


def _fast_decay() -> xr.DataArray:
    """The same with e^{-2‖q‖²}: s ← s (1 + η e^{-2s + e √s}) is the recursion of 2s, its error divided by √2."""
    return xr.DataArray(q_recursion(STEPS, ETA, 2.0, ERROR / math.sqrt(2)) / 2, coords={"steps": STEPS})


def _logarithm(squares: Callable[[], xr.DataArray]) -> Evidence:
    """‖q_1‖² / log(η t)."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        ratio = squares()
        ratio = ratio / np.log(ETA * ratio.steps)
        return {"falls": ratio, "stays": ratio}

    return evidence


def _rate(squares: Callable[[], xr.DataArray]) -> Evidence:
    """t (1-p), with 1-p = (|S| - |S_1|) ν_n of a half relevant sample (α = 1/2), and its product with η ‖q_1‖²."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        square = squares()
        scaled = square.steps * nu_n(2, 1, np.sqrt(square), ERROR, 0.0)
        return {"falls": scaled, "product": scaled * ETA * square}

    return evidence


def _increments(low: float, high: float, factor: Formula = lambda growth, square: growth) -> Evidence:
    """The smallest ratio of the exact rise (fall) of one relevant (other) token to the printed one, over 20000 draws.

    Exact: a softmax over the 50 logits, n_1 of them g and then g' = g + K ‖q_1‖², the others 0. Printed (A.31, A.33):
    (n_0 or n_1) e^g / (n_1 e^{g'} + n_0)² times K, or times another `factor`.
    """

    def evidence(datasets: Datasets) -> xr.DataArray:
        draw = np.random.default_rng(datasets.seed)
        tokens, draws = 50, 20000
        relevant = draw.integers(1, tokens, draws)
        q, error = draw.uniform(low, high, draws), draw.uniform(0, 0.5, draws)
        growth = 10 ** draw.uniform(-3, math.log10(0.3), draws)
        before = q**2 - error * q
        after = (1 + growth) * q**2 - error * q
        # the first token is relevant (n_1 >= 1) and the last is not (n_1 <= 49)
        chosen = np.arange(tokens) < relevant[:, None]
        first, last = (_softmax(chosen * after[:, None]) - _softmax(chosen * before[:, None]))[:, [0, -1]].T
        scale = np.exp(before) / (relevant * np.exp(after) + tokens - relevant) ** 2 * factor(growth, q**2)
        ratios = {"rise": first / ((tokens - relevant) * scale), "fall": -last / (relevant * scale)}
        labels = [f"{name} ({np.sum(ratio < 1)} of {draws} draws below)" for name, ratio in ratios.items()]
        return xr.DataArray([ratio.min() for ratio in ratios.values()], coords={"increment": labels})

    return evidence


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


_FASTER = "e^{-2‖q_1‖²} in place of e^{-‖q_1‖²}"
VARIANTS = ["shared", "per_token"]


def _runs(datasets: Datasets, attention: str, variants: list[str]) -> xr.Dataset:
    return converged(datasets["dynamics"], variants).sel(attention=attention, drop=True)


def _net_growth(attention: str) -> Evidence:
    """<W μ_k, q_k> at T_0 minus its value at 0, for the query and the key map."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _runs(datasets, attention, VARIANTS)
        own = [own_coordinates(data[name]) for name in ("query_features", "key_features")]
        change = [at_end(values) - values.isel(record=0) for values in own]
        return xr.concat(change, "map").assign_coords(map=["query", "key"])

    return evidence


def _growth_steps(attention: str) -> Evidence:
    """The share of positive factors over K and Q, both patterns and the steps with non-zero training loss."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _runs(datasets, attention, [*VARIANTS, "shared-b20"])
        factors = growth(data)
        return (factors > 0).where(factors.notnull()).mean(["record", "side", "factor"])

    return evidence


def _rise_steps(attention: str) -> Evidence:
    """Along the steps up to T_0: the share on which concentration rises, and the largest drop."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        values = _runs(datasets, attention, VARIANTS).concentration.sel(query=["relevant", "neutral"])
        change = values.isel(record=slice(1, None)) - values.isel(record=slice(None, -1)).values
        return {
            "share": (change > 0).where(change.notnull()).mean("record"),
            "drop": np.maximum(-change, 0).max("record"),
        }

    return evidence


def _cross_growth(attention: str) -> Evidence:
    """The displacement of C_Q up to T_0: own entry less the largest other of its column; mean of the neutral rows."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        matrix = _runs(datasets, attention, ["shared"]).query_features.sel(variant="shared", drop=True)
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
    """Cumulated K and Q over the run, and cumulated Q minus half (1 - λ) of cumulated K."""

    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        data = _runs(datasets, attention, ["shared"]).sel(variant="shared", drop=True)
        total = growth(data).sum("record")
        query, key = total.sel(factor="K", drop=True), total.sel(factor="Q", drop=True)
        return {"cumulated": total, "key": key - 0.5 * (1 - data.similarity) * query}

    return evidence


CLAIMS = (
    Claim(
        name="v12-recursion-log",
        reference="(A.34), (A.45), (A.48)",
        kind="limit",
        statement="The recursion of the logit grows like log t: ‖q_1‖² / log(η t) falls and stays above 1 at "
        "t = 10³, 10⁴, 10⁵.",
        formula="‖q_1(t+1)‖² = ‖q_1‖² (1 + η e^{-‖q_1‖² + (δ+τ)‖q_1‖}) = Θ(log t)",
        evidence=_logarithm(_squares),
        judge=all_of(falls=decreasing("steps"), stays=at_least(1.0, strict=True)),
        controls=(Control(_FASTER, _logarithm(_fast_decay)),),
    ),
    Claim(
        name="v12-recursion-rate",
        reference="(A.49)",
        kind="limit",
        statement="On the same recursion attention tends to 1 at rate 1/t: t (1-p) falls, and its product with "
        "η ‖q_1‖² lies in [1, 1.4].",
        formula="1 - p_n(t) = O(1/t)",
        evidence=_rate(_squares),
        judge=all_of(falls=decreasing("steps"), product=within(1.0, 1.4)),
        controls=(Control(_FASTER, _rate(_fast_decay)),),
    ),
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
        name="v13-increment",
        reference="(A.31), (A.33)",
        kind="bound",
        statement="As stated: in one step attention on a relevant token rises, and on any other falls, by at least the "
        "printed increment, at 20000 draws with ‖q_1‖ in [0.3, 3].",
        formula="rise ≥ (|S|-|S_1|) e^g K / (|S_1| e^{g'} + |S| - |S_1|)², fall ≥ |S_1| e^g K / (...)²",
        evidence=_increments(0.3, 3.0),
        judge=at_least(1.0),
        expected=FAILS,
        controls=(
            Control(
                "e^{K ‖q_1‖²} - 1 in place of K",
                _increments(0.3, 3.0, lambda growth, square: np.expm1(growth * square)),
                HOLDS,
            ),
        ),
    ),
    Claim(
        name="v13-increment-corrected",
        reference="(A.31), (A.33), errata E24",
        kind="bound",
        statement="Corrected: the exact increments are at least the printed ones wherever ‖q_1‖ ≥ 1 (20000 draws with "
        "‖q_1‖ in [1, 3]).",
        formula="g' - g = K ‖q_1‖² ≥ K",
        evidence=_increments(1.0, 3.0),
        judge=at_least(1.0),
        controls=(Control("‖q_1‖ in [0.3, 1)", _increments(0.3, 1.0)),),
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

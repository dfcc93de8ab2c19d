"""Attention and its growth: concentration (V8, Proposition 2; Figure 2.4), its bounds before training (V24), the maps
along their own features (V12), attention in single steps (V13), cross terms (V25).

The recursion and the increments are closed forms: they read no experiment.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.vit.bounds import nu_n, q_recursion
from lemmata.theories.vit.measures import FROZEN, POSITIVE, READINGS, by_side, converged, own_coordinates, share_of_runs


@lm.evidence("dynamics")
def all_queries(data: xr.Dataset, largest: bool = False, curve: str = "measured") -> xr.DataArray:
    """Mean attention on relevant tokens over all queries, at T_0 or the largest of the run; `model`: a curve on the
    same records that tends to 1."""
    runs = lm.cells(data, attention="trained", variant=READINGS)
    values = 1 - 1 / (2 * (1 + runs.step)) if curve == "model" else lm.cells(runs.concentration, query="all")
    return values.max("record") if largest else lm.at_end(values)


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
def excess(data: xr.Dataset, bound: str, where: Mapping[str, Any] | None = None) -> xr.DataArray:
    """The smallest attention of a relevant query minus its lower bound, in these cells."""
    return lm.cells(data.attention_excess, bound=bound, **(where or {}))


ERROR, ETA = 0.2, 0.1
STEPS = [10**3, 10**4, 10**5]


def _squares(decay: float) -> xr.DataArray:
    """‖q_1‖² of the scalar recursion (A.34) with e^{-decay ‖q‖²} after 10³, 10⁴, 10⁵ steps.

    s ← s (1 + η e^{-d s + e √s}) is the recursion of d s with decay 1, its error divided by √d.
    """
    return xr.DataArray(q_recursion(STEPS, ETA, decay, ERROR / math.sqrt(decay)) / decay, coords={"steps": STEPS})


@lm.fact
def logarithm(decay: float = 1.0) -> dict[str, xr.DataArray]:
    """‖q_1‖² / log(η t)."""
    ratio = _squares(decay)
    ratio = ratio / np.log(ETA * ratio.steps)
    return {"falls": ratio, "stays": ratio}


@lm.fact
def rate(decay: float = 1.0) -> dict[str, xr.DataArray]:
    """t (1-p), with 1-p = (|S| - |S_1|) ν_n of a half relevant sample (α = 1/2), and its product with η ‖q_1‖²."""
    square = _squares(decay)
    scaled = square.steps * nu_n(2, 1, np.sqrt(square), ERROR, 0.0)
    return {"falls": scaled, "product": scaled * ETA * square}


@lm.fact
def increments(low: float, high: float, exponential: bool = False, *, seed: int) -> xr.DataArray:
    """The smallest ratio of the exact rise (fall) of one relevant (other) token to the printed one, over 20000 draws.

    Exact: a softmax over the 50 logits, n_1 of them g and then g' = g + K ‖q_1‖², the others 0. Printed (A.31, A.33):
    (n_0 or n_1) e^g / (n_1 e^{g'} + n_0)² times K; `exponential`: times e^{K ‖q_1‖²} - 1.
    """
    from scipy.special import softmax

    draw = np.random.default_rng(seed)
    tokens, draws = 50, 20000
    relevant = draw.integers(1, tokens, draws)
    q, error = draw.uniform(low, high, draws), draw.uniform(0, 0.5, draws)
    factor = 10 ** draw.uniform(-3, math.log10(0.3), draws)
    before = q**2 - error * q
    after = (1 + factor) * q**2 - error * q
    # the first token is relevant (n_1 >= 1) and the last is not (n_1 <= 49)
    chosen = np.arange(tokens) < relevant[:, None]
    first, last = (softmax(chosen * after[:, None], axis=1) - softmax(chosen * before[:, None], axis=1))[:, [0, -1]].T
    scale = np.exp(before) / (relevant * np.exp(after) + tokens - relevant) ** 2
    scale = scale * (np.expm1(factor * q**2) if exponential else factor)
    ratios = {"rise": first / ((tokens - relevant) * scale), "fall": -last / (relevant * scale)}
    labels = [f"{name} ({np.sum(ratio < 1)} of {draws} draws below)" for name, ratio in ratios.items()]
    return xr.DataArray([ratio.min() for ratio in ratios.values()], coords={"increment": labels})


@lm.evidence("dynamics")
def net_growth(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """<W μ_k, q_k> at T_0 minus its value at 0, for the query and the key map."""
    runs = lm.cells(data, attention=attention, variant=READINGS)
    own = {name: own_coordinates(runs[f"{name}_features"]) for name in ("query", "key")}
    return lm.stack({name: lm.at_end(values) - values.isel(record=0) for name, values in own.items()}, "map")


def growth(data: xr.Dataset) -> xr.DataArray:
    """The growth factors K(t) of the query map and Q(t) of the key map (probe 5.5) at every step, along record."""
    factors = {}
    for factor, name in (("K", "query_features"), ("Q", "key_features")):
        own = own_coordinates(data[name])
        factors[factor] = own.isel(record=slice(1, None)) / own.isel(record=slice(None, -1)).values - 1
    return lm.stack(factors, "factor")


@lm.evidence("dynamics")
def growth_steps(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """The share of positive factors over K and Q, both patterns and the steps with non-zero training loss."""
    factors = growth(lm.cells(data, attention=attention))
    return (factors > 0).where(factors.notnull()).mean(["record", "side", "factor"])


@lm.evidence("dynamics")
def rise_steps(data: xr.Dataset, attention: str = "trained") -> dict[str, xr.DataArray]:
    """Along the steps up to T_0: the share on which concentration rises, and the largest drop."""
    runs = lm.cells(data, attention=attention, variant=READINGS)
    values = runs.concentration.sel(query=["relevant", "neutral"])
    change = values.isel(record=slice(1, None)) - values.isel(record=slice(None, -1)).values
    return {"share": (change > 0).where(change.notnull()).mean("record"), "drop": np.maximum(-change, 0).max("record")}


@lm.evidence("v25-cross")
def cross_growth(data: xr.Dataset, attention: str = "trained") -> lm.Estimate:
    """The share of runs whose displacement of C_Q up to T_0 has, for both discriminative patterns, its largest entry on
    the own feature and a negative mean on the neutral ones."""
    matrix = lm.cells(data, attention=attention, variant="shared").query_features
    moved = lm.at_end(matrix) - matrix.isel(record=0)
    columns = [moved.isel(pattern=k) for k in (0, 1)]
    leads = by_side([c.isel(feature=k) - np.abs(c.drop_isel(feature=k)).max("feature") for k, c in enumerate(columns)])
    falls = by_side([column.isel(feature=slice(2, None)).mean("feature") for column in columns])
    return share_of_runs(((leads > 0) & (falls < 0)).all("side"), leads + falls)


@lm.evidence("dynamics")
def key_growth(data: xr.Dataset, attention: str = "trained") -> dict[str, xr.DataArray]:
    """Cumulated K and Q over the run, and cumulated Q minus half (1 - λ) of cumulated K."""
    runs = lm.cells(data, attention=attention, variant="shared")
    total = growth(runs).sum("record")
    query, key = lm.cells(total, factor="K"), lm.cells(total, factor="Q")
    return {"cumulated": total, "key": key - 0.5 * (1 - runs.similarity) * query}


MODEL = lm.Control("the curve 1 - 1/(2(1+t)) on the same records", curve="model")
FASTER = lm.Control("e^{-2‖q_1‖²} in place of e^{-‖q_1‖²}", decay=2.0)
INCREMENTS = r"""\Delta w_i \ge
    \frac{(|\mathcal{S}|-|\mathcal{S}_1|)e^gK}{(|\mathcal{S}_1|e^{g'}+|\mathcal{S}|-|\mathcal{S}_1|)^2}\
    (i\in\mathcal{S}_1), \quad -\Delta w_i \ge
    \frac{|\mathcal{S}_1|e^gK}{(|\mathcal{S}_1|e^{g'}+|\mathcal{S}|-|\mathcal{S}_1|)^2}\ (i\notin\mathcal{S}_1)"""

claim = partial(lm.Claim, gate=converged(attention="trained", variant=READINGS))
figure = partial(claim, source="figure")
shared = partial(lm.Claim, gate=converged(attention="trained", variant="shared"))

CLAIMS = (
    claim("v8-concentration", "Proposition 2, (2.15)", "limit")
    .states("""As stated: attention on label-relevant tokens tends to 1 for every query; at T_0 its mean over all
        queries is at least 0.99.""")
    .in_symbols(r"\mathrm{conc}_l^n(t) = \sum_{i\in\mathcal{S}_*^n} w_{l,i}^n(t) \to 1-\eta^C")
    .judged(all_queries(), lm.at_least(0.99, fails_if="all"), MODEL, expected=lm.FAILS),
    claim("v8-concentration-corrected", "Proposition 2, corrected", "ordering", corrects="v8-concentration")
    .states("""Corrected: up to T_0 attention on relevant tokens rises for relevant and for neutral queries, by at least
        0.03 (shared signs) or 0.1 (per-token signs).""")
    .in_symbols(r"""\mathrm{conc}_l(T_0)-\mathrm{conc}_l(0) \ge 0.03 \text{ (shared)},\ 0.1 \text{ (per token)}, \quad l
        \text{ relevant or neutral}""")
    .judged(rise(["relevant", "neutral"]), lm.at_least({"shared": 0.03, "per_token": 0.1}, by="every"), FROZEN),
    lm.Claim("v8-concentration-margin", "Proposition 2", "comparison", source="derived")
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
    figure("f4-freeze", "Figure 2.4", "identity")
    .states("Once the training loss is 0 nothing moves: the parameters are constant to the bit after T_0.")
    .in_symbols(r"W^{(t)} = W^{(T_0)} \quad (t \ge T_0)")
    .judged(movement(), lm.equal(0.0), lm.Control("at all records from the start", from_start=True)),
    figure("f4-below-one", "Figure 2.4", "bound")
    .states("""Under the hinge loss the attention on relevant tokens, averaged over all queries, stays below 0.95 at
        every record.""")
    .in_symbols(r"\max_t\mathrm{conc}(t) < 0.95")
    .judged(all_queries.of("f4-attention")(largest=True), lm.at_most(0.95, by="every", strict=True), MODEL),
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
            "the bound with δ = 0 on the counter-example", bound="theorem, δ = 0", where={"variant": "counter-example"}
        ),
    ),
    lm.Claim("v12-recursion-log", "(A.34), (A.45), (A.48)", "limit")
    .states("""The recursion of the logit grows like log t: ‖q_1‖² / log(η t) falls and stays above 1 at t = 10³, 10⁴,
        10⁵.""")
    .in_symbols(r"""\lVert q_1(t+1)\rVert^2 = \lVert q_1\rVert^2(1+\eta e^{-\lVert q_1\rVert^2+(\delta+\tau)\lVert
        q_1\rVert}) \Rightarrow \lVert q_1(t)\rVert^2 = \Theta(\log t)""")
    .judged(
        logarithm(), lm.all_of(falls=lm.decreasing("steps", by="value"), stays=lm.at_least(1.0, strict=True)), FASTER
    ),
    lm.Claim("v12-recursion-rate", "(A.49)", "limit")
    .states("""On the recursion of the logit (A.34) attention tends to 1 at rate 1/t: t (1-p) falls, and its product
        with η ‖q_1‖² lies in [1, 1.4].""")
    .in_symbols(r"1-p_n(t) = O(1/t), \quad 1 \le t(1-p_n(t))\,\eta\lVert q_1\rVert^2 \le 1.4")
    .judged(rate(), lm.all_of(falls=lm.decreasing("steps", by="value"), product=lm.within(1.0, 1.4)), FASTER),
    claim("v12-growth-net", "Claim 2, (A.170)-(A.173)", "ordering")
    .states("""Up to T_0 the query and key maps grow along the discriminative features: <W_Q μ_k, q_k> and <W_K μ_k,
        q_k> end higher than they began, k = 1, 2.""")
    .in_symbols(r"""\langle W_Q^{(T_0)}\mu_k,q_k\rangle > \langle W_Q^{(0)}\mu_k,q_k\rangle,\ \langle
        W_K^{(T_0)}\mu_k,q_k\rangle > \langle W_K^{(0)}\mu_k,q_k\rangle \quad (k=1,2)""")
    .judged(net_growth(), POSITIVE, FROZEN),
    lm.Claim("v12-growth-steps", "Claim 2, (A.170)-(A.173)", "bound", gate=converged(attention="trained"))
    .states("""The growth factors K of the query map and Q of the key map are positive on at least 90 % of the steps
        with non-zero training loss (shared signs), 80 % (shared signs, B = 20), 70 % (per-token signs), in the mean
        over seeds.""")
    .in_symbols(r"""\text{share of }K(t),Q(t)>0 \text{ is } \ge 0.9 \text{ (shared)},\ 0.8 \text{ (shared, }B=20),\ 0.7
        \text{ (per token)}""")
    .judged(growth_steps(), lm.at_least({"shared": 0.9, "shared-b20": 0.8, "per_token": 0.7}, by="mean"), FROZEN),
    lm.Claim("v13-increment", "(A.31), (A.33)", "bound")
    .states("""As stated: in one step attention on a relevant token rises, and on any other falls, by at least the
        printed increment, at 20000 draws with ‖q_1‖ in [0.3, 3].""")
    .in_symbols(INCREMENTS)
    .judged(
        increments(0.3, 3.0),
        lm.at_least(1.0),
        lm.Control("e^{K ‖q_1‖²} - 1 in place of K", exponential=True),
        expected=lm.FAILS,
    ),
    lm.Claim("v13-increment-corrected", "(A.31), (A.33), corrected", "bound", corrects="v13-increment")
    .states("""Corrected: the exact increments are at least the printed ones wherever ‖q_1‖ ≥ 1 (20000 draws with ‖q_1‖
        in [1, 3]).""")
    .in_symbols(r"\lVert q_1\rVert \ge 1: \quad " + INCREMENTS)
    .judged(increments(1.0, 3.0), lm.at_least(1.0), lm.Control("‖q_1‖ in [0.3, 1)", low=0.3, high=1.0)),
    claim("v13-rise-steps", "(A.31), (A.33)", "bound")
    .states("""Attention of relevant and of neutral queries on relevant tokens rises on at least 90 % of the steps up to
        T_0 and never drops by 0.001 (shared signs); on 75 %, never by 0.05 (per-token signs).""")
    .in_symbols(r"""\text{share of }\Delta\mathrm{conc}(t)>0 \text{ is } \ge 0.9 \text{ (shared)},\ 0.75 \text{ (per
        token)}; \quad \Delta\mathrm{conc}(t) > -10^{-3} \text{ (shared)},\ -0.05 \text{ (per token)}""")
    .judged(
        rise_steps(),
        lm.all_of(
            share=lm.at_least({"shared": 0.9, "per_token": 0.75}, by="every"),
            drop=lm.at_most({"shared": 1e-3, "per_token": 0.05}, by="every", strict=True),
        ),
        FROZEN,
    ),
    shared("v25-cross-growth", "(A.126), (A.131), (A.132)", "ordering")
    .states("""In more than half of the runs the query map of both discriminative patterns gains most along their own
        feature, more than it gains or loses along any other, and on average loses along the neutral ones.""")
    .in_symbols(r"""\Pr\{\Delta C_Q[k,k] > \max_{l\ne k}|\Delta C_Q[l,k]|,\ \mathrm{mean}_{l\ge3}\,\Delta C_Q[l,k] < 0,\
        k=1,2\} > \frac{1}{2}""")
    .judged(cross_growth(), lm.at_least(0.5, strict=True), FROZEN),
    shared("v25-key-growth", "(A.147)-(A.150)", "comparison")
    .states("""Keys grow with queries: the growth factors K of the query map and Q of the key map, cumulated over the
        run, are positive, and cumulated Q is at least 0.5 (1-λ) times cumulated K.""")
    .in_symbols(r"\sum_tK(t) > 0,\ \sum_tQ(t) > 0,\ \sum_tQ(t) \ge \frac{1-\lambda}{2}\sum_tK(t)")
    .judged(key_growth(), lm.all_of(cumulated=POSITIVE, key=lm.at_least(0.0, by="every")), FROZEN),
)

"""Attention: what the query and key maps have learnt (P6, P7) and what drives them (P13)."""

import math
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.icl import measures
from lemmata.theories.icl.measures import POSITIVE, intact, learnt, setting_of


@intact
def least_own(data: xr.Dataset, moment: str = "end") -> xr.DataArray:
    """The smallest diagonal entry of G^Q and of G^K, in units of the initial one, δ."""
    own = measures.own_entries(measures.both_maps(data))
    start = own.isel(record=0)
    return ((lm.at_end(own) if moment == "end" else start) / start).min("pattern")


@intact
def off_identity(data: xr.Dataset, patterns: str = "irrelevant") -> xr.DataArray:
    """The largest change of an entry of the blocks of W_Q and W_K on these patterns, which start as δI."""
    blocks = measures.both_maps(data, patterns)
    dims = ("idi", "other_idi") if patterns == "irrelevant" else ("pattern", "other")
    return abs(lm.at_end(blocks) - blocks.isel(record=0)).max(dims)


@intact
def foreign_entries(data: xr.Dataset, partners: bool = False) -> dict[str, xr.DataArray]:
    """The largest and the mean entry of G^Q, G^K between patterns that form no training task, or that form one."""
    chosen = measures.other_entries(lm.at_end(measures.both_maps(data)), data.partner, partners)
    return {"largest": abs(chosen).max(["pattern", "other"]), "mean": chosen.mean(["pattern", "other"])}


@intact
def logit_margin(data: xr.Dataset, rolled: int = 0) -> xr.DataArray:
    """The logit between equal patterns, less the largest between different ones: β² Σ_i G^K_ik G^Q_ij, smallest j.

    rolled: rows by which G^K is shifted.
    """
    blocks = lm.at_end(measures.both_maps(data)).transpose("map", "seed", "pattern", "other")
    square, (query, key) = setting_of(data).pattern_norm ** 2, blocks.values
    logits = square * np.swapaxes(np.roll(key, rolled, axis=1), 1, 2) @ query  # [seed, k, j]
    same = np.diagonal(logits, axis1=1, axis2=2)
    others = np.where(np.eye(logits.shape[1], dtype=bool), -np.inf, logits).max(axis=1)
    return xr.DataArray((same - others).min(axis=1), dims="seed")


def _partner_ratio(blocks: xr.DataArray, partner: xr.DataArray) -> xr.DataArray:
    """Entries of partners over the own entry of their row."""
    return measures.other_entries(blocks, partner, partners=True) / measures.own_entries(blocks)


@intact
def partner_ratio(data: xr.Dataset, size: bool = False, entry: str = "measured") -> xr.DataArray:
    """Mean partner / G_jj, or M_1 times that of its size; entry: every partner's as measured, or as G_jj / (2 M_1)."""
    blocks = lm.at_end(measures.both_maps(data))
    if entry == "small":
        blocks = blocks.where(data.partner == 0, measures.own_entries(blocks) / (2 * blocks.sizes["pattern"]))
    ratio = _partner_ratio(blocks, data.partner)
    return (abs(ratio) * blocks.sizes["pattern"] if size else ratio).mean(["pattern", "other"])


@lm.evidence("p5-shift")
def spread_partner_ratio(data: xr.Dataset) -> xr.DataArray:
    """Mean partner / G_jj of networks trained on all tasks."""
    data = lm.cells(data, variant="U=5").isel(shift=0, drop=True)
    return _partner_ratio(measures.both_maps(data), data.partner).mean(["pattern", "other"])


@lm.evidence("p1-default")
def concentration(data: xr.Dataset, variant: str = "intact") -> dict[str, xr.DataArray]:
    """Attention on contexts with the query's pattern, and its rise since the start."""
    data = lm.cells(data, variant=variant).isel(head=0)
    return {"value": data.concentration, "rise": data.concentration - data.initial_concentration}


@intact
def least_own_update(data: xr.Dataset, labels: str = "true") -> xr.DataArray:
    """The smallest mean own update of W_Q and W_K over the growth records; labels: of the queries, true or negated."""
    update = measures.mean_updates(data)["own"] if labels == "true" else data.negated_update
    return measures.at_growth(data, update).min("record")


@intact
def relative_update(data: xr.Dataset, kind: str) -> xr.DataArray:
    """The largest |mean update| of a kind over the mean own update, among the growth records, times the number of
    patterns of that kind (M_2 for irrelevant ones, M_1 for others)."""
    means = measures.mean_updates(data)
    # where the own update is not positive nothing is small beside it
    ratio = (abs(means[kind]) / means["own"]).where(means["own"] > 0, np.inf)
    return measures.at_growth(data, ratio).max("record") * data.sizes["idi" if kind == "irrelevant" else "pattern"]


@intact
def label_columns(data: xr.Dataset, map: str = "query") -> dict[str, Any]:
    """The largest entry of the label columns of a gradient at every record."""
    return {"measured": data.label_gradient.sel(map=map).values[data.step.notnull().values], "predicted": 0.0}


@intact
def last_own_update(data: xr.Dataset, moment: str = "end") -> xr.DataArray:
    """The own update at the last record (or the last growth record) over its largest."""
    own = measures.mean_updates(data)["own"]
    return lm.at_end(own if moment == "end" else measures.at_growth(data, own)) / own.max("record")


def _to_own(data: xr.Dataset, kind: str) -> xr.DataArray:
    """The mean update of a kind over the own one at the growth records."""
    means = measures.mean_updates(data)
    return measures.at_growth(data, means[kind] / means["own"])


@intact
def last_update(data: xr.Dataset, kind: str = "partners", law: float | None = None) -> xr.DataArray:
    """Mean update of a kind over the own one at the last growth record; law: put on this ratio with its residuals."""
    ratio = lm.at_end(_to_own(data, kind))
    return ratio if law is None else ratio - ratio.mean("seed") + law


@intact
def update_range(data: xr.Dataset, kind: str) -> xr.DataArray:
    """The smallest and the largest ratio of a kind of update to the own one over the growth records."""
    ratio = _to_own(data, kind)
    return lm.stack({"smallest": ratio.min("record"), "largest": ratio.max("record")}, "extreme")


@intact
def moved_sum(data: xr.Dataset, map: str = "key") -> dict[str, Any]:
    """Where W_K (or W_Q) sends the unit vector along (Σ_j μ_j; 0), along and across it, at every record and at the
    first, in units of δ."""
    sums = data.mapped_sum.sel(map=map).transpose("seed", "record", "part")
    start = sums.isel(record=0).sel(part="along")
    there = (sums / start).values[data.step.notnull().values]
    return {"measured": there, "predicted": np.array([1.0, 0.0])}


@intact
def label_key(data: xr.Dataset, column: str = "measured") -> xr.DataArray:
    """max_j β ‖W_K(0;q)‖ / ‖W_K(μ_j;0)‖ over √(log B/B); column: of the label as measured, or half a pattern column."""
    patterns, setting = lm.at_end(data.key_pattern_norm), setting_of(data)
    norm, limit = setting.pattern_norm, math.sqrt(math.log(setting.batch) / setting.batch)
    label = lm.at_end(data.key_label_norm) if column == "measured" else patterns / (2 * norm)
    return (norm * label / patterns).max("pattern") / limit


PARTNERS = lm.Control("updates of partners read in their place", kind="partners")
NON_PARTNERS = lm.Control("updates of non-partners read in their place", kind="non-partners")
UPDATE = r"\quad D_{jk} = \beta^{-2}\mu_j^\top(-\nabla_W)\mu_k"

CLAIMS = (
    learnt("p6-own", "Proposition 6.4.1", "bound")
    .states("""Query and key maps grow along every relevant pattern: the smallest own entry of G^Q and of G^K is at
        least 3 times the initial one, δ.""")
    .in_symbols(r"\min_jG^Q_{jj} \ge 3\delta,\ \min_jG^K_{jj} \ge 3\delta")
    .judged(least_own(), lm.at_least(3.0), lm.Control("weights of step 0", moment="start")),
    learnt("p6-irrelevant", "Proposition 6.4.1", "bound")
    .states("""Query and key maps do not move along irrelevant patterns: every entry of both ν blocks stays within 0.005
        of δI.""")
    .in_symbols(r"\max_{j,k}|\beta^{-2}\nu_j^\top W\nu_k-\delta I_{jk}| \le 0.005 \quad (W=W_Q,W_K)")
    .judged(
        off_identity(), lm.at_most(0.005, by="every"), lm.Control("μ block read in its place", patterns="patterns")
    ),
    learnt("p6-non-partners", "Proposition 6.4.1, (6.18)", "bound")
    .states("""Patterns that form no training task stay apart: their entries of G^Q, G^K are at most 0.08 in size, and 0
        within 0.02 in the mean.""")
    .in_symbols(r"|G_{jk}| \le 0.08,\ |\mathrm{mean}\,G_{jk}| \le 0.02 \quad ((j,k),(k,j)\notin\mathcal{T}_{tr})")
    .judged(
        foreign_entries(),
        lm.all_of(largest=lm.at_most(0.08, by="every"), mean=lm.within(-0.02, 0.02, by="every", predicted=0.0)),
        lm.Control("entries of partners read in their place", partners=True),
    ),
    learnt("p6-logit-order", "Proposition 6.4.1", "ordering")
    .states("A pattern's logit with itself exceeds that with every other pattern.")
    .in_symbols(r"\mu_j^\top W_K^\top W_Q\mu_j > \mu_k^\top W_K^\top W_Q\mu_j \quad (k\ne j)")
    .judged(logit_margin(), POSITIVE, lm.Control("rows of G^K shifted by one pattern", rolled=1)),
    learnt("p6-partners", "Proposition 6.4.1, (6.18)", "bound")
    .states("""As stated: entries of task partners are smaller than the own entry by a factor M_1: the mean of M_1
        |G_jk| / G_jj is at most 1.""")
    .in_symbols(r"\mathrm{mean}\frac{M_1|G_{jk}|}{G_{jj}} \le 1 \quad (j,k\text{ task partners})")
    .judged(
        partner_ratio(size=True),
        lm.at_most(1.0),
        lm.Control("partner entries set to G_jj / (2 M_1)", entry="small"),
        expected=lm.FAILS,
    ),
    learnt("p6-partners-corrected", "Proposition 6.4.1, (6.18), corrected", "bound", corrects="p6-partners")
    .states("""Corrected: with one cycle of tasks the mean entry of task partners is between -0.55 and -0.35 of the own
        one.""")
    .in_symbols(r"-0.55 \le \mathrm{mean}\frac{G_{jk}}{G_{jj}} \le -0.35 \quad (j,k\text{ task partners})")
    .judged(
        partner_ratio(), lm.within(-0.55, -0.35), lm.Control("trained on all tasks (U = 5)", spread_partner_ratio())
    ),
    learnt("p7-concentration", "Corollary 6.4.3", "limit")
    .states("""Attention concentrates on contexts with the query's pattern: they get at least 0.95 of it, and 0.3 more
        than at the start.""")
    .in_symbols(r"A(T) \ge 0.95,\ A(T)-A(0) \ge 0.3, \quad A = \sum_{s\in\mathcal{N}_*}\mathrm{attn}_s")
    .judged(
        concentration(),
        lm.all_of(value=lm.at_least(0.95), rise=lm.at_least(0.3)),
        lm.Control("frozen attention", variant="frozen"),
    ),
    learnt("p13-own-update", "Lemma E.4.5", "bound")
    .states("""While attention grows (half of the prompts have loss, t ≥ max(100, T*/3)), gradient descent on W_Q and on
        W_K pushes patterns along themselves: the update of the own entries, averaged over patterns, is positive.""")
    .in_symbols(r"\mathrm{mean}_j\,D_{jj} > 0, " + UPDATE)
    .judged(least_own_update(), POSITIVE, lm.Control("gradients with z negated", labels="negated")),
    learnt("p13-non-partners", "Lemma E.4.5", "bound")
    .states("""While attention grows, updates along patterns that are no partners cancel: their mean over all such
        pairs, with its sign, is in size at most 1/M_1 of the mean own one (M_1 times the ratio is at most 1).""")
    .in_symbols(r"|\mathrm{mean}\,D_{jk}| \le \frac{1}{M_1}\mathrm{mean}\,D_{jj}, " + UPDATE)
    .judged(relative_update("non-partners"), lm.at_most(1.0), PARTNERS),
    learnt("p13-irrelevant", "Lemma E.4.5", "bound")
    .states("""While attention grows, the mean size of the updates along irrelevant patterns is at most 1/M_2 of the
        mean own one (M_2 times the ratio is at most 1).""")
    .in_symbols(
        r"\mathrm{mean}|\beta^{-2}\nu_k^\top(-\nabla_W)\mu_j| \le \frac{1}{M_2}\mathrm{mean}\,D_{jj}, " + UPDATE
    )
    .judged(relative_update("irrelevant"), lm.at_most(1.0), PARTNERS),
    learnt("p13-conservation", "oracle O3", "identity", source="derived")
    .states("""W_K keeps the sum of all relevant patterns: at every record of training W_K(Σ_j μ_j; 0) = δ(Σ_j μ_j; 0),
        to 10⁻⁵ of its size (float32).""")
    .in_symbols(r"W_K\left(\sum_j\mu_j;\,0\right) = \delta\left(\sum_j\mu_j;\,0\right)")
    .judged(moved_sum(), lm.equal(1e-5), lm.Control("W_Q of the same runs, which nothing protects", map="query")),
    learnt("p13-label-columns", "Lemma E.4.5", "identity")
    .states("The label columns of the gradient of W_Q are exactly 0 at every record.")
    .in_symbols(r"\nabla_{W_Q}(0;\,v) = 0 \quad (v\in\mathbb{R}^{d_y})")
    .judged(label_columns(), lm.equal(0.0), lm.Control("label columns of the gradient of W_K", map="key")),
    learnt("p13-growth-stops", "Lemma E.4.5", "limit")
    .states("""The growth of W_Q and W_K along the own pattern stops: the mean own update at the last record is at most
        a tenth of the largest.""")
    .in_symbols(r"\mathrm{mean}_j\,D_{jj}(T) \le 0.1\,\max_t\mathrm{mean}_j\,D_{jj}(t), " + UPDATE)
    .judged(
        last_own_update(), lm.at_most(0.1), lm.Control("last growth record in place of the last one", moment="growth")
    ),
    learnt("p13-partners", "(E.7), (E.11)", "bound")
    .states("""As stated: updates along task partners are suppressed; at the last record at which attention grows their
        mean is at most 0.1 of the own one.""")
    .in_symbols(r"|\mathrm{mean}\,D_{jk}| \le 0.1\,\mathrm{mean}\,D_{jj} \quad (j,k\text{ task partners}), " + UPDATE)
    .judged(
        last_update(),
        lm.within(-0.1, 0.1, predicted=0.0),
        lm.Control("updates along irrelevant patterns read in their place", kind="irrelevant"),
        lm.Control("ratio put on 0 with its residuals", law=0.0),
        expected=lm.FAILS,
    ),
    learnt("p13-partners-corrected", "(E.7), (E.11), corrected", "bound", corrects="p13-partners")
    .states("""Corrected: while attention grows the mean update along task partners is between -0.7 and -0.3 of the own
        one.""")
    .in_symbols(
        r"-0.7 \le \frac{\mathrm{mean}\,D_{jk}}{\mathrm{mean}\,D_{jj}} \le -0.3 \quad (j,k\text{ task partners}), "
        + UPDATE
    )
    .judged(update_range("partners"), lm.within(-0.7, -0.3), NON_PARTNERS),
    learnt("p13-label-key", "(E.161)", "bound")
    .states("""Keys hardly see labels: β‖W_K(0;q)‖ is at most √(log B / B) of every ‖W_K(μ_j;0)‖ (their largest ratio,
        over √(log B / B), is at most 1).""")
    .in_symbols(r"\beta\lVert W_K(0;q)\rVert \le \sqrt{\log B/B}\,\lVert W_K(\mu_j;0)\rVert")
    .judged(
        label_key(),
        lm.at_most(1.0),
        lm.Control("label column replaced by half a pattern column", column="half a pattern"),
    ),
)

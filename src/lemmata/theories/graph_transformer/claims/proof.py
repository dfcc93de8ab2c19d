"""What the proof follows: attention (P7, Figure 3.5), neurons (P11, P15), keys and queries (P12), values (P14), and
printed initial weights (9.4)."""

from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.graph_transformer.measures import CONFUSION, above, below, up_to, value_at

END, LATE = 30, 60
SPLIT = ["discriminative", "other"]
NORMS = ("key_norm", "query_norm")


def masses(data: xr.Dataset, variant: str, time: float) -> xr.DataArray:
    """The relevant masses of discriminative and other labelled nodes at this η t."""
    return value_at.function(data, "relevant_mass", time, variant).sel(group=SPLIT)


@lm.evidence("p7-training")
def mass_rise(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """How much the relevant masses rise to η t = 30."""
    return masses(data, variant, END) - masses(data, variant, 0)


@lm.evidence("p7-training")
def core_ratio(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """Relevant among decisive attention in the core shell, at the record where its mean is farthest from 1 - ε_S."""
    cell = lm.cells(data, variant=variant)
    ratio = up_to(cell.core_ratio, cell.time, LATE)
    return ratio.isel(record=abs(ratio.mean("seed") - (1 - CONFUSION)).argmax("record"), drop=True)


@lm.evidence("p7-training")
def mass_limits(data: xr.Dataset, variant: str) -> dict[str, xr.DataArray]:
    """The relevant masses at η t = 60."""
    return {group: masses(data, variant, LATE).sel(group=group, drop=True) for group in SPLIT}


@lm.evidence("p7-training")
def margin_gain(data: xr.Dataset, high: str = "margin 10", low: str = "intact") -> xr.DataArray:
    """The relevant masses at the larger margin less those at margin 1, at η t = 60."""
    return masses(data, high, LATE) - masses(data, low, LATE)


@lm.evidence("f35-attention")
def end_mass(data: xr.Dataset, margin: float = 1.0) -> xr.DataArray:
    """The relevant mass of all labelled nodes at the end, on the graph with edges inside patterns."""
    return lm.at_end(lm.cells(data, margin=margin, intra_degree=-1).relevant_mass.sel(group="all", drop=True))


@lm.evidence("p7-training")
def lucky_directions(data: xr.Dataset, first: str = "W", second: str = "U") -> xr.DataArray:
    """Mean W_O,i p̂_1 less 3 times the largest mean |W_O,i p̂_j|, j >= 3, and that along p̂_2; and 1, 2 changed."""
    data = lm.cells(data, variant="intact")
    along, size = (lm.at(values, data.time, END) for values in (data.lucky_along, data.lucky_along_size))
    excess = {}
    for crowd, own, other in ((first, 0, 1), (second, 1, 0)):
        mine, opposite = (along.sel(crowd=crowd, drop=True).isel(pattern=j, drop=True) for j in (own, other))
        plain = size.sel(crowd=crowd, drop=True).isel(pattern=slice(2, None)).max("pattern", skipna=False)
        excess |= {f"{crowd}, others": mine - 3 * plain, f"{crowd}, opposite": mine - 3 * opposite}
    return lm.stack(excess, "against")


@lm.evidence("p7-training")
def growth_exponent(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """The log-log slope in t of the growth of W_O,i p̂_1 over W, from η t = 5 on while the training loss exceeds .3."""
    data = lm.cells(data, variant=variant)
    along = data.lucky_along.sel(crowd="W", drop=True).isel(pattern=0, drop=True)
    grown = along - along.isel(record=0, drop=True)
    used = (data.time >= 5) & (data.train_loss > 0.3) & (grown > 0)
    if (used.sum("record") < 4).any():
        raise lm.NotApplicable("fewer than 4 records of growth in some seed")
    return lm.log_slopes(grown, "record", x=data.time, where=used)


@lm.evidence("p7-training")
def growing_share(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """The share of records, until the training loss is below .1, in which each of four norms rose."""
    data = lm.cells(data, variant=variant)
    going = (data.train_loss >= 0.1).cumprod("record").isel(record=slice(None, -1)) > 0
    rose = {name: (data[name].diff("record") > 0) & going for name in NORMS}
    return _by_norm({name: up.sum("record") / going.sum("record") for name, up in rose.items()})


@lm.evidence("p7-training")
def growth_excess(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """Growth factors of the discriminative keys and queries less the mean one of the other patterns."""
    data = lm.cells(data, variant=variant)
    factors = {name: lm.at(data[name], data.time, END) / data[name].isel(record=0) for name in NORMS}
    return _by_norm({name: f - f.isel(pattern=slice(2, None)).mean("pattern") for name, f in factors.items()})


def _by_norm(values: dict[str, xr.DataArray]) -> xr.DataArray:
    """Both discriminative patterns of every norm as criteria."""
    parts = {f"{name} {j + 1}": each.isel(pattern=j, drop=True) for name, each in values.items() for j in range(2)}
    return lm.stack(parts, "norm")


@lm.evidence("p7-training")
def cross_logit(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """Mean logit of a discriminative key and another query, and how much it has risen."""
    data = lm.cells(data, variant=variant)
    logits = data.cross_logits.isel(pattern=slice(2), other=slice(2, None)).mean(["pattern", "other"])
    now = lm.at(logits, data.time, END)
    return lm.stack({"value": now, "rise": now - logits.isel(record=0)}, "logit")


@lm.evidence("p7-training")
def value_growth(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """How much ⟨W_V μ_1, p_1(0)⟩ grows."""
    data = lm.cells(data, variant=variant)
    return lm.at(data.value_along_first, data.time, END) - data.value_along_first.isel(record=0)


@lm.evidence("p7-training")
def other_movement(data: xr.Dataset, patterns: list[int] | None = None) -> xr.DataArray:
    """‖dV_j‖/‖dV_1‖ of these patterns, counted from 1; None: all from the third on."""
    data = lm.cells(data, variant="intact")
    moved = lm.at(data.value_moved, data.time, END)
    moved = moved.assign_coords(pattern=np.arange(1, moved.sizes["pattern"] + 1))
    return (moved / moved.sel(pattern=1, drop=True)).sel(pattern=patterns or list(moved.pattern.values[2:]))


@lm.evidence("p7-training")
def coefficient_share(data: xr.Dataset, sign: str, labels: list[str]) -> xr.DataArray:
    """Shares of lucky neurons whose coefficient has this sign, means over the records with training loss above .1."""
    data = lm.cells(data, variant="intact")
    return data[f"coefficient_{sign}"].sel(label=labels).where(data.train_loss > 0.1).mean("record")


@lm.evidence("p7-training")
def least_persistence(data: xr.Dataset, crowds: list[str]) -> xr.DataArray:
    """The smallest share of active pairs of a neuron and a node at any record up to η t = 30."""
    data = lm.cells(data, variant="intact")
    return up_to(data.persistence.sel(crowd=crowds), data.time, END).min("record")


def near(distance: float) -> Any:
    """Within this distance of 1 - ε_S."""
    return lm.within(1 - CONFUSION - distance, 1 - CONFUSION + distance, "clear", predicted=1 - CONFUSION)


WRONG = "neurons with a_i < 0 that are active on D_1, in the place of W"
FROZEN = lm.Control("attention frozen", variant="frozen")
FROZEN_VALUES = lm.Control("W_V frozen", variant="frozen values")
LIMITS = lm.all_of(discriminative=lm.at_least(0.9, "clear", strict=True), other=near(0.06))
MOST = lm.at_least(0.9, "clear")
NEGATED = "coefficients times -1"

CLAIMS = (
    lm.Claim("p7-mass-increase", "Lemma 3.4.5", "ordering")
    .states("""Attention on class-relevant nodes rises by at least .1 to η t = 30, for discriminative and for other
        nodes, in every seed.""")
    .in_symbols(r"p_n(T)-p_n(0) \ge 0.1, \quad p_n(t) = \sum_{s\in\mathcal{S}_*^n}\alpha_s(t)")
    .judged(mass_rise(), lm.at_least(0.1, "every"), FROZEN),
    lm.Claim("p7-core-ratio", "Lemma 3.4.5", "limit")
    .states("""Inside the core shell the share of relevant among decisive attention stays within .02 of 1 - ε_S for
        other nodes, at every record up to η t = 60.""")
    .in_symbols(r"""\left|\frac{\alpha(\mathcal{D}_*^n\cap\mathcal{N}_{z_m}^n)}
        {\alpha((\mathcal{D}_*^n\cup\mathcal{D}_\#^n)\cap\mathcal{N}_{z_m}^n)}-(1-\epsilon_{\mathcal{S}})\right| \le
        0.02""")
    .judged(core_ratio(), near(0.02), lm.Control("labels permuted", variant="permuted")),
    lm.Claim("p7-limit", "Lemma 3.4.5", "limit")
    .states("""As stated, with margin 1: at η t = 60 the relevant mass exceeds .9 for discriminative nodes and is within
        .06 of 1 - ε_S for others.""")
    .in_symbols(r"""p_n \to 1-\eta^C \text{ (discriminative)},\ p_n \to 1-\epsilon_{\mathcal{S}}-\eta^C \text{ (other)},
        \quad p_n(t) = \sum_{s\in\mathcal{S}_*^n}\alpha_s(t)""")
    .judged(mass_limits("intact"), LIMITS, lm.Control("margin 10", variant="margin 10"), expected=lm.FAILS),
    lm.Claim("p7-limit-corrected", "Lemma 3.4.5, corrected", "limit", corrects="p7-limit")
    .states("""Corrected, with margin 10: at η t = 60 the relevant mass exceeds .9 for discriminative nodes and is
        within .06 of 1 - ε_S for others.""")
    .in_symbols(r"""p_n > 0.9 \text{ (discriminative)},\ |p_n-(1-\epsilon_{\mathcal{S}})| \le 0.06 \text{ (other)},
        \quad p_n(t) = \sum_{s\in\mathcal{S}_*^n}\alpha_s(t)""")
    .judged(mass_limits("margin 10"), LIMITS, lm.Control("margin 1", variant="intact")),
    lm.Claim("p7-plateau-margin", "Lemma 3.4.5", "ordering", source="derived")
    .states("""The relevant attention of discriminative and of other nodes at η t = 60 is larger by at least .05 at
        margin 10 than at margin 1, in every seed.""")
    .in_symbols(r"""p_n(\text{margin }10)-p_n(\text{margin }1) \ge 0.05, \quad p_n(t) =
        \sum_{s\in\mathcal{S}_*^n}\alpha_s(t)""")
    .judged(
        margin_gain(),
        lm.at_least(0.05, "every"),
        lm.Control("attention frozen at both margins", high="frozen, margin 10", low="frozen"),
    ),
    lm.Claim("f35-close-to-one", "Figure 3.5", "limit", source="figure")
    .states("""As reported: with margin 1 the attention on class-relevant nodes ends close to 1 (at least .9), over all
        labelled nodes.""")
    .in_symbols(r"\mathrm{mean}_n\,p_n(T) \ge 0.9, \quad p_n(t) = \sum_{s\in\mathcal{S}_*^n}\alpha_s(t)")
    .judged(end_mass(), MOST, lm.Control("margin 10", margin=10.0), expected=lm.FAILS),
    lm.Claim("p11-lucky-directions", "Lemma B.3.1", "ordering")
    .states("""Lucky neurons point to their own pattern: at η t = 30 the mean of W_O,i p̂_1 over W exceeds 3 times that
        along every other direction, and the same for U, in every seed.""")
    .in_symbols(r"""\mathrm{mean}_{i\in\mathcal{W}}W_{O,i}\hat{p}_1 >
        3\,\mathrm{mean}_{i\in\mathcal{W}}|W_{O,i}\hat{p}_j|\ (j\ge3),\ \mathrm{mean}_{i\in\mathcal{W}}W_{O,i}\hat{p}_1
        > 3\,\mathrm{mean}_{i\in\mathcal{W}}W_{O,i}\hat{p}_2; \quad \text{with } \mathcal{U}: 1 \leftrightarrow 2""")
    .judged(lucky_directions(), above(0.0), lm.Control(WRONG, first="wrong W")),
    lm.Claim("p11-superlinear", "Lemma B.3.1", "scaling")
    .states("Lucky neurons grow faster than linearly before saturation: exponent above 1.2 in every seed.")
    .in_symbols(r"\mathrm{mean}_{i\in\mathcal{W}}(W_{O,i}^{(t)}-W_{O,i}^{(0)})\hat{p}_1 \propto t^k, \quad k > 1.2")
    .judged(growth_exponent(), above(1.2), lm.Control("only W_O is trained", variant="only head")),
    lm.Claim("p11-unlucky-norms", "Lemma B.3.1", "ordering")
    .states("Unlucky neurons stay smaller: mean squared row norm below .7 of the lucky one at η t = 30, in every seed.")
    .in_symbols(r"""\mathrm{mean}_{\text{unlucky}}\lVert W_{O,i}\rVert^2 < 0.7\,\mathrm{mean}_{\text{lucky}}\lVert
        W_{O,i}\rVert^2""")
    .judged(value_at("norm_ratio", END), below(0.7), lm.Control("before training", time=0)),
    lm.Claim("p12-growth", "Lemma B.3.2", "ordering")
    .states("""Keys and queries of both discriminative patterns grow in at least 90 % of the records until the training
        loss is below .1, in every seed.""")
    .in_symbols(r"""\Pr_t(\lVert q_k(t+1)\rVert > \lVert q_k(t)\rVert) \ge 0.9,\ \Pr_t(\lVert r_k(t+1)\rVert > \lVert
        r_k(t)\rVert) \ge 0.9 \quad (k=1,2)""")
    .judged(growing_share(), lm.at_least(0.9, "every"), FROZEN),
    lm.Claim("p12-disc-exceeds", "Lemma B.3.2", "ordering")
    .states("""Keys and queries of both discriminative patterns grow by a factor that exceeds the mean one of the other
        patterns by more than .1, in every seed.""")
    .in_symbols(r"""\frac{\lVert q_k(T)\rVert}{\lVert q_k(0)\rVert} > \mathrm{mean}_{j\ge3}\frac{\lVert
        q_j(T)\rVert}{\lVert q_j(0)\rVert}+0.1 \quad (k=1,2), \text{ the same with } r""")
    .judged(growth_excess(), above(0.1), FROZEN),
    lm.Claim("p12-cross-logit", "Lemma B.3.2", "limit")
    .states("""The logit of a discriminative key and another node's query rises above 0: by more than .03, to more than
        .03, at η t = 30.""")
    .in_symbols(r"c(T) > 0.03,\ c(T)-c(0) > 0.03, \quad c = \mathrm{mean}_{k\le2<j}\langle W_K\mu_k,W_Q\mu_j\rangle")
    .judged(cross_logit(), lm.at_least(0.03, "clear", strict=True), FROZEN),
    lm.Claim("p14-value-growth", "Lemma B.3.4", "ordering")
    .states("The value of μ_1 grows along its own direction by more than .3 to η t = 30, in every seed.")
    .in_symbols(r"\langle W_V^{(T)}\mu_1,p_1\rangle-\langle W_V^{(0)}\mu_1,p_1\rangle > 0.3")
    .judged(value_growth(), above(0.3), FROZEN_VALUES),
    lm.Claim("p14-opposition", "Lemma B.3.4", "ordering")
    .states("The values of μ_1 and μ_2 move against each other: ⟨dV_1, dV_2⟩ < -.1 in every seed.")
    .in_symbols(r"\langle dV_1,dV_2\rangle < -0.1, \quad dV_j = (W_V^{(T)}-W_V^{(0)})\mu_j")
    .judged(value_at("value_opposition", END), below(-0.1), FROZEN_VALUES),
    lm.Claim("p14-lucky", "Lemma B.3.4", "ordering")
    .states("""The values of μ_1 and μ_2 move along their lucky neurons: the means of W_O,i dV_1 over W and of W_O,i
        dV_2 over U exceed .05 in every seed.""")
    .in_symbols(r"""\mathrm{mean}_{i\in\mathcal{W}}W_{O,i}\,dV_1 > 0.05,\ \mathrm{mean}_{i\in\mathcal{U}}W_{O,i}\,dV_2 >
        0.05, \quad dV_j = (W_V^{(T)}-W_V^{(0)})\mu_j""")
    .judged(value_at("lucky_value", END), above(0.05), FROZEN_VALUES),
    lm.Claim("p14-others-small", "Lemma B.3.4", "bound")
    .states("The values of all other patterns move by less than a fifth of that of μ_1, in every seed.")
    .in_symbols(r"\lVert dV_j\rVert < 0.2\,\lVert dV_1\rVert \quad (j\ge3), \quad dV_j = (W_V^{(T)}-W_V^{(0)})\mu_j")
    .judged(other_movement(), below(0.2), lm.Control("pattern 2 in the place of j", patterns=[2])),
    lm.Claim("p14-sign", "(B.32)", "ordering")
    .states("""As printed: the coefficient V_i^(2) is positive for at least 90 % of U, mean over records with training
        loss above .1.""")
    .in_symbols(r"\Pr_{i\in\mathcal{U}}(V_i^{(2)} > 0) \ge 0.9")
    .judged(coefficient_share("positive", ["-1"]), MOST, lm.Control(NEGATED, sign="negative"), expected=lm.FAILS),
    lm.Claim("p14-sign-corrected", "(B.32), corrected", "ordering", corrects="p14-sign")
    .states("""Corrected: the coefficients V_i^(1) on W and V_i^(2) on U are negative for at least 90 % of the neurons,
        mean over records with training loss above .1.""")
    .in_symbols(r"\Pr_{i\in\mathcal{W}}(V_i^{(1)} < 0) \ge 0.9,\ \Pr_{i\in\mathcal{U}}(V_i^{(2)} < 0) \ge 0.9")
    .judged(coefficient_share("negative", ["+1", "-1"]), MOST, lm.Control(NEGATED, sign="positive")),
    lm.Claim("p15-init-fraction", "Lemma B.3.5", "bound")
    .states("""Before training the share of neurons active on a node, averaged over nodes, lies between .35 and .65 in
        every seed.""")
    .in_symbols(r"0.35 \le \mathrm{mean}_n\frac{|\{i: W_{O,i}^{(0)}V_n(0)>0\}|}{m} \le 0.65")
    .judged(
        value_at("active_fraction", 0),
        lm.within(0.35, 0.65, "every", predicted=0.5),
        lm.Control("all rows of W_O equal", name="active_fraction_alike"),
    ),
    lm.Claim("p15-persistence", "Lemma B.3.6", "bound")
    .states("""Lucky neurons stay active on the nodes of their pattern: at least .9 of the pairs, at every record up to
        η t = 30, in every seed.""")
    .in_symbols(r"""\Pr_{i\in\mathcal{W},\,n\in\mathcal{D}_1}(W_{O,i}^{(t)}V_n(t)>0) \ge 0.9,\
        \Pr_{i\in\mathcal{U},\,n\in\mathcal{D}_2}(W_{O,i}^{(t)}V_n(t)>0) \ge 0.9""")
    .judged(least_persistence(["W", "U"]), lm.at_least(0.9, "every"), lm.Control(WRONG, crowds=["wrong W"])),
    lm.Claim("e4-literal-init", "initial weights of the experiments", "comparison")
    .states("As printed: with W_Q = W_K = δ²/c_0² I and W_V = σ²/c_0² U training reaches accuracy .95 by η t = 30.")
    .in_symbols(r"""W_Q = W_K = \frac{\delta^2}{c_0^2}I,\ W_V = \frac{\sigma^2}{c_0^2}U: \quad \mathrm{acc}(\eta t=30)
        \ge 0.95""")
    .judged(
        value_at("accuracy", END, "literal init"),
        lm.at_least(0.95, "clear"),
        lm.Control("intact", variant="intact"),
        expected=lm.FAILS,
    ),
)

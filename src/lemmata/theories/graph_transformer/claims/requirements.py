"""How many iterations a graph transformer and a GCN need (P8, Figures 3.7, B.6a), what an oracle sampler gains (P6),
how many labels are needed (P3, P8, Figures 3.3, 3.6), and what flipped labels do (Figure 3.4)."""

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.graph_transformer import bounds, measures
from lemmata.theories.graph_transformer.measures import CHANCE, by_count, minimal_counts, succeeds, value_at
from lemmata.theories.graph_transformer.studies.random_samples import preferred_ratio
from lemmata.theories.graph_transformer.theorem import at_or_above, uncensored

PREFERENCES = [1.0, 3.0, 10.0]
EXACT = {f"{beta:g}": preferred_ratio(measures.SAMPLER_CONFUSION, beta) for beta in PREFERENCES}
FEW = 4
"""Boundaries on the grid below which a fit is inconclusive."""


@lm.evidence("p6-sampler")
def confusion_ratios(data: xr.Dataset, preferences: list[float] = PREFERENCES, draw: str = "biased") -> lm.Uncertain:
    """The confusion ratio by β, with the standard error over nodes, seeds pooled."""
    ratios = lm.cells(data.node_ratio, draw=draw, preference=preferences).swap_dims(variant="preference")
    nodes = ratios.where(np.isfinite(ratios))
    count = nodes.notnull().sum(["seed", "watched"])
    return lm.Uncertain(nodes.mean(["seed", "watched"]), nodes.std(["seed", "watched"], ddof=1) / np.sqrt(count))


@lm.evidence("p6-sampler")
def sampler_times(data: xr.Dataset, preferences: list[float] = PREFERENCES) -> dict[str, xr.DataArray]:
    """T in records, in the order of these β, and how much it falls from the first to the last."""
    times = lm.cells(measures.in_records(data, data.reached_step), draw="biased").swap_dims(variant="preference")
    times = lm.cells(times, preference=preferences)
    return {"order": times, "fall": times.isel(preference=0, drop=True) - times.isel(preference=-1, drop=True)}


def times_by_fraction(data: xr.Dataset, variant: str = "") -> xr.DataArray:
    """T along γ_d, in steps; at most one cell may have runs that did not arrive."""
    data = lm.cells(data, variant=variant) if variant else data
    return uncensored(data.reached_step, "γ_d", data.last_step)


@lm.evidence("b6a-iterations")
def fraction_exponent(data: xr.Dataset, variant: str, law: float | None = None, size: bool = False) -> xr.DataArray:
    """The exponent of T in γ_d, one per seed; `law`: residuals put on that exponent; `size`: without its sign."""
    times = times_by_fraction(data, variant)
    times = times if law is None else lm.on_law(times, "discriminative", law)
    slopes = lm.log_slopes(times, "discriminative")
    return abs(slopes) if size else slopes


@lm.evidence("b6a-iterations")
def ratio(data: xr.Dataset, above: str = "GCN core", fall: bool = False) -> xr.DataArray | dict[str, xr.DataArray]:
    """How many times the iterations of the graph transformer the other model takes at the smallest γ_d; `fall`: along
    γ_d, and how much it falls from the smallest to the largest."""
    times = times_by_fraction(data, above) / times_by_fraction(data, "GT core")
    first, last = (times.isel(discriminative=i, drop=True) for i in (0, -1))
    return {"order": times, "fall": first - last} if fall else first


@lm.evidence("f37-gcn-iterations")
def line_in_time(data: xr.Dataset, variant: str = "") -> dict[str, float]:
    """R² of the seed means of T against γ_d^-2, and T(.25)/T(.8)."""
    times = times_by_fraction(data, variant).transpose("seed", "discriminative")
    mean, fit = times.mean("seed").values, lm.line(times.discriminative.values**-2.0, times.values)
    return {"fit": fit.r_squared, "ratio": float(mean[0] / mean[-1])}


def by_confusion(data: xr.Dataset, defect: str = "none") -> xr.Dataset:
    """The cells of f33b-samples along ε_S, with labels intact or permuted."""
    return lm.cells(data, defect=defect).swap_dims(variant="confusion")


@lm.evidence("f33b-samples")
def losses(data: xr.Dataset, defect: str = "none") -> dict[str, xr.DataArray]:
    """The full loss by ε_S and labelled count, and that of the largest count for ε_S ≤ .2."""
    loss = by_confusion(data, defect).full_loss
    return {"order": loss, "end": loss.isel(labelled=-1, drop=True).sel(confusion=slice(0, 0.2))}


@lm.evidence("f33b-samples")
def count_places(data: xr.Dataset, defect: str = "none") -> dict[str, xr.DataArray]:
    """Places of the minimal counts on the grid ("none" after the last), and success at the largest count, ε_S ≤ .1."""
    success = succeeds(by_confusion(data, defect).full_loss)
    counts = minimal_counts(success)
    places = counts.copy(data=np.searchsorted(success.labelled.values, counts.values).astype(float))
    return {"order": places, "top": success.isel(labelled=-1, drop=True).sel(confusion=slice(0, 0.1)).mean("seed")}


@lm.evidence("f36-gcn-samples")
def gcn_bound(
    data: xr.Dataset, shell: float | None = None, sigma: float = measures.SIGMA, defect: str = "none"
) -> xr.DataArray:
    """Success of a GCN at the labelled count that Theorem 3.4.6 asks for; `shell`: δ_zm, measured unless given."""
    cells = lm.cells(data, discriminative=measures.SHARE, defect=defect).swap_dims(variant="labelled")
    return at_or_above(cells, shell, bounds.gcn_bracket(measures.SHARE, sigma))


def line_of_counts(x: xr.DataArray, counts: xr.DataArray, inside: xr.DataArray) -> dict[str, float]:
    """Slope and R² of minimal counts against x, where the boundary lies inside of the grid."""
    if inside.sum() < FEW:
        words = ", ".join("none" if np.isinf(count) else f"{count:g}" for count in counts.values)
        raise lm.NotApplicable(f"only {int(inside.sum())} of {counts.size} boundaries lie on the grid: {words}")
    fit = lm.line(x.values[inside.values], counts.values[inside.values])
    return {"slope": fit.slope.value, "fit": fit.r_squared}


@lm.evidence("f33a-samples")
def fraction_line(data: xr.Dataset, law: float | None = None) -> dict[str, float]:
    """The line of the minimal counts against γ_d^-2, and count(.25)/count(.8); `law`: counts put on law · γ_d^-2."""
    counts = minimal_counts(succeeds(data.full_loss))
    x = counts.discriminative**-2.0
    counts = counts if law is None else law * x
    return {**line_of_counts(x, counts, counts < np.inf), "ratio": float(counts[0] / counts[-1])}


@lm.evidence("f33b-samples")
def confusion_line(data: xr.Dataset, flat: float | None = None) -> dict[str, float]:
    """The line of the minimal counts against (1 - ε_S)^-2; the smallest count of the grid is no boundary on it."""
    counts = minimal_counts(succeeds(by_confusion(data).full_loss))
    counts = counts if flat is None else xr.full_like(counts, flat)
    inside = (counts < np.inf) & (counts > data.labelled.min())
    return line_of_counts((1 - counts.confusion) ** -2.0, counts, inside)


@lm.evidence("f36-gcn-samples")
def gcn_ratio(data: xr.Dataset, law: float | None = None) -> float:
    """count(.25)/count(.8) of a GCN; `law`: counts put on law · γ_d^-4."""
    counts = minimal_counts(by_count(succeeds(data.full_loss)))
    counts = counts if law is None else law * counts.discriminative**-4.0
    return float(counts[0] / counts[-1])


def quieted(data: xr.Dataset, quiet: bool) -> xr.Dataset:
    """f34-noise as it is, or with the ε_0 = 0 run in every cell."""
    return data.isel(label_noise=[0] * data.sizes["label_noise"]).assign_coords(data.coords) if quiet else data


@lm.evidence("f34-noise")
def early_rise(data: xr.Dataset, quiet: bool = False) -> xr.DataArray:
    """How much the loss at η t = 10 rises with every step of ε_0."""
    data = quieted(data, quiet)
    return lm.at(data.loss, data.time, 10).diff("label_noise")


@lm.evidence("f34-noise")
def floor_times(data: xr.Dataset, quiet: bool = False) -> dict[str, xr.DataArray]:
    """First record with loss at most 2 ε̂_0 + .05, counted in records, and how much later it is at the largest ε_0."""
    data = quieted(data, quiet)
    first = data.step.where(data.loss <= 2 * data.flipped + 0.05).min("record").fillna(np.inf)
    order = measures.in_records(data, first)
    return {"order": order, "delay": order.isel(label_noise=-1, drop=True) - order.isel(label_noise=0, drop=True)}


PERMUTED = lm.Control("training labels permuted", defect="training_labels")
QUIET = lm.Control("the ε_0 = 0 run in every cell", quiet=True)
RISING = lm.at_least(0.0, strict=True)
NO_BOUND = "the calculator with δ_zm = 1, σ = 0; 640 permuted labels"
BOTH_SLOTS = lm.Control("graph transformer in both slots", above="GT core")

CLAIMS = (
    lm.Claim("p6-sampler-ratio", "Remark 2", "identity", source="derived")
    .states("""A sampler that prefers class-relevant nodes by β has confusion ratio ε_S/(ε_S + β(1 - ε_S)), for β = 1,
        3, 10 at ε_S = .2 within 3 standard errors.""")
    .in_symbols(r"""\epsilon_{\mathcal{S}}' =
        \frac{\epsilon_{\mathcal{S}}}{\epsilon_{\mathcal{S}}+\beta(1-\epsilon_{\mathcal{S}})}""")
    .judged(
        confusion_ratios(),
        lm.within({beta: (ratio, ratio) for beta, ratio in EXACT.items()}, se=3),
        lm.Control("β = 10 drawn without replacement", preferences=[10.0], draw="biased_apart"),
    ),
    lm.Claim("p6-sampler-iterations", "Remark 2", "ordering")
    .states("""The more a sampler prefers class-relevant nodes, the fewer iterations are needed: over β = 1, 3, 10 the
        mean rises by at most one record, and from β = 1 to 10 it falls by at least one.""")
    .in_symbols(r"T(\beta_{i+1}) \le T(\beta_i)+1,\ T(\beta=10) \le T(\beta=1)-1 \quad \text{(in records)}")
    .judged(
        sampler_times(),
        lm.all_of(order=lm.decreasing("preference", "mean", slack=1.0), fall=lm.at_least(1.0, "mean")),
        lm.Control("confusing nodes preferred (weights 1/β)", preferences=[1.0, 1 / 3, 0.1]),
    ),
    lm.Claim("p8-gt-exponent", "Theorem 3.4.6, Figure B.6a", "scaling")
    .states("The iterations of the graph transformer hardly depend on γ_d: |exponent| below .6 (core sampling).")
    .in_symbols(r"T_{\text{GT}} \propto \gamma_d^k, \quad |k| < 0.6")
    .judged(
        fraction_exponent("GT core", size=True), measures.clearly_below(0.6), lm.Control("GCN", variant="GCN core")
    ),
    lm.Claim("p8-gcn-exponent", "Theorem 3.4.6", "scaling")
    .states("As stated: the iterations of a GCN that is told the core grow as γ_d^-2.")
    .in_symbols(r"T_{\text{GCN}} \propto \gamma_d^{-2}")
    .judged(fraction_exponent("GCN core"), measures.SQUARE, lm.Control("T put on γ_d^-2", law=-2.0), expected=lm.FAILS),
    lm.Claim("p8-gcn-exponent-corrected", "Theorem 3.4.6, corrected", "scaling", corrects="p8-gcn-exponent")
    .states("Corrected: the iterations of a GCN that is told the core have an exponent in γ_d below -1.")
    .in_symbols(r"T_{\text{GCN}} \propto \gamma_d^k, \quad k < -1")
    .judged(
        fraction_exponent("GCN core"), measures.clearly_below(-1.0), lm.Control("graph transformer", variant="GT core")
    ),
    lm.Claim("p8-ratio-start", "Theorem 3.4.6", "comparison")
    .states("At γ_d = .25 a GCN needs more than 1.5 times the iterations of a graph transformer.")
    .in_symbols(r"T_{\text{GCN}}/T_{\text{GT}} > 1.5 \quad (\gamma_d=0.25)")
    .judged(ratio(), lm.at_least(1.5, "clear", strict=True), BOTH_SLOTS),
    lm.Claim("p8-ratio-order", "Theorem 3.4.6", "ordering")
    .states("""The iterations of a GCN over those of a graph transformer do not rise with γ_d by more than .3, and fall
        by at least 1 from .25 to .8.""")
    .in_symbols(r"""\rho(\gamma_{i+1}) \le \rho(\gamma_i)+0.3,\ \rho(0.8) \le \rho(0.25)-1, \quad \rho(\gamma_d) =
        T_{\text{GCN}}/T_{\text{GT}}""")
    .judged(
        ratio(fall=True),
        lm.all_of(order=lm.decreasing("discriminative", "mean", slack=0.3), fall=lm.at_least(1.0, "clear")),
        BOTH_SLOTS,
    ),
    lm.Claim("p8-gcn-chance", "Theorem 3.4.6", "limit", source="derived")
    .states("A GCN that samples distances 1 and 2 stays at chance on the paper's graph: loss .9 or more at η t = 40.")
    .in_symbols(r"\ell_{\text{GCN}}(\eta t=40) \ge 0.9")
    .judged(
        value_at.of("p10-known-core")("loss", 40, "GCN"), CHANCE, lm.Control("GCN on the core", variant="GCN core")
    ),
    lm.Claim("f37-linear", "Figure 3.7", "scaling", source="figure")
    .states("As reported: the iterations of a GCN are linear in γ_d^-2: R² ≥ .9 and T(.25)/T(.8) at least 2.5.")
    .in_symbols(r"""R^2(T_{\text{GCN}} \text{ against } \gamma_d^{-2}) \ge 0.9,\
        T_{\text{GCN}}(0.25)/T_{\text{GCN}}(0.8) \ge 2.5""")
    .judged(
        line_in_time(),
        lm.all_of(fit=lm.at_least(0.9), ratio=lm.at_least(2.5)),
        lm.Control("graph transformer on the core", line_in_time.of("b6a-iterations")("GT core")),
    ),
    lm.Claim("p3-samples-loss", "(3.9)", "ordering")
    .states("""More labels do not hurt: the median full loss does not rise with the labelled count by more than .03 at
        any ε_S, and is at most .05 at the largest count for ε_S ≤ .2.""")
    .in_symbols(r"""\ell(|\mathcal{L}|_{i+1}) \le \ell(|\mathcal{L}|_i)+0.03, \quad \ell(|\mathcal{L}|_{\max}) \le 0.05\
        (\epsilon_{\mathcal{S}}\le0.2)""")
    .judged(
        losses(),
        lm.all_of(order=lm.decreasing("labelled", "median", slack=0.03), end=lm.at_most(0.05, "median")),
        PERMUTED,
    ),
    lm.Claim("p3-samples-eps", "(3.9)", "ordering")
    .states("""More confusion needs more labels: the smallest labelled count that succeeds (full loss below 1e-3) does
        not fall with ε_S by more than one grid step, and at least 90 % succeed at the largest count for ε_S ≤ .1.""")
    .in_symbols(r"""|\mathcal{L}|_{\min}(\epsilon_{i+1}) \ge |\mathcal{L}|_{\min}(\epsilon_i) \text{ less one grid
        step}, \quad \Pr(\ell(|\mathcal{L}|_{\max}) < 10^{-3}) \ge 0.9\ (\epsilon_{\mathcal{S}}\le0.1)""")
    .judged(
        count_places(), lm.all_of(order=lm.increasing("confusion", "mean", slack=1.0), top=lm.at_least(0.9)), PERMUTED
    ),
    lm.Claim("p8-samples-bound", "Theorem 3.4.6", "bound")
    .states("""With as many labels as the theorem asks for (γ_d = .4) a GCN succeeds in every seed: full loss below
        1e-3.""")
    .in_symbols(r"""|\mathcal{L}| \ge \max\{BT,\,(\gamma_d^2-\sigma)^{-2}(1+\delta_{z_m}^2)\log N\} \Rightarrow
        \ell_{\text{GCN}} < 10^{-3}""")
    .judged(
        gcn_bound(),
        lm.at_least(1.0, "every"),
        lm.Control(NO_BOUND, shell=1.0, sigma=0.0, defect="training_labels", expected=lm.FAILS),
        expected=lm.INCONCLUSIVE,
    ),
    lm.Claim("f33a-linear", "Figure 3.3a", "scaling", source="figure")
    .states("""As reported: the minimal labelled count is linear in γ_d^-2: positive slope, R² ≥ .9, and
        count(.25)/count(.8) in [5, 20].""")
    .in_symbols(r"""|\mathcal{L}|_{\min} = a+c\,\gamma_d^{-2}, \quad c > 0,\ R^2 \ge 0.9,\ 5 \le
        |\mathcal{L}|_{\min}(0.25)/|\mathcal{L}|_{\min}(0.8) \le 20""")
    .judged(
        fraction_line(),
        lm.all_of(slope=RISING, fit=lm.at_least(0.9), ratio=lm.within(5.0, 20.0, predicted=10.24)),
        lm.Control("counts put on 40 γ_d^-2", law=40.0),
        expected=lm.FAILS,
    ),
    lm.Claim("f33b-linear", "Figure 3.3b", "scaling", source="figure")
    .states("As reported: the minimal labelled count is linear in (1 - ε_S)^-2: positive slope and R² ≥ .9.")
    .in_symbols(r"|\mathcal{L}|_{\min} = a+c\,(1-\epsilon_{\mathcal{S}})^{-2}, \quad c > 0,\ R^2 \ge 0.9")
    .judged(
        confusion_line(),
        lm.all_of(slope=RISING, fit=lm.at_least(0.9)),
        lm.Control("80 labels at every ε_S", flat=80.0, expected=lm.FAILS),
        expected=lm.INCONCLUSIVE,
    ),
    lm.Claim("f34-slower-loss", "Figure 3.4", "ordering", source="figure")
    .states("""Flipped labels slow training: the loss at η t = 10 rises by at least .05 with every step of ε_0, in every
        seed.""")
    .in_symbols(r"\ell(\epsilon_{0,i+1}) \ge \ell(\epsilon_{0,i})+0.05 \quad (\eta t=10)")
    .judged(early_rise(), lm.at_least(0.05, "every"), QUIET),
    lm.Claim("f34-slower-time", "Figure 3.4", "ordering", source="figure")
    .states("""The first record with loss at most 2 ε̂_0 + .05 does not come earlier as ε_0 grows, and at ε_0 = .2 at
        least two records later than at 0, in every seed.""")
    .in_symbols(r"""t_*(\epsilon_{0,i+1}) \ge t_*(\epsilon_{0,i}),\ t_*(0.2) \ge t_*(0)+2, \quad t_* = \min\{t: \ell(t)
        \le 2\hat{\epsilon}_0+0.05\} \text{ in records}""")
    .judged(
        floor_times(),
        lm.all_of(order=lm.increasing("label_noise", "every", slack=0.0), delay=lm.at_least(2.0, "every")),
        QUIET,
    ),
    lm.Claim("f36-linear", "Figure 3.6", "scaling", source="figure")
    .states("""As reported: the minimal labelled count of a GCN is linear in γ_d^-4: count(.25)/count(.8) is at least
        20.""")
    .in_symbols(r"|\mathcal{L}|_{\min}(0.25)/|\mathcal{L}|_{\min}(0.8) \ge 20")
    .judged(gcn_ratio(), lm.at_least(20.0), lm.Control("counts put on 2 γ_d^-4", law=2.0), expected=lm.FAILS),
)

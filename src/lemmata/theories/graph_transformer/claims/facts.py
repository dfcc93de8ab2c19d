"""What holds of drawn graphs and samples without training (P16 - P20, Figure 3.2, 9.5); which term dominates (P5)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.fits import line
from lemmata.lab.judges import all_of, at_least, at_most, equal, within
from lemmata.lab.measures import log_slopes
from lemmata.theories.graph_transformer import bounds
from lemmata.theories.graph_transformer.claims.common import CONFUSION, of
from lemmata.theories.graph_transformer.deviations import DRAWS, LIMIT

SHELL, LOSS, NEAR = 3, 0.6, 1e-3
CYCLE_BOUND = 0.018
"""2 (1 + 2² + 2²)/1000, the bound of (B.49) on a cycle of 1000 nodes."""


def _dominance(shift: float) -> Evidence:
    """The threshold, and the ratio of the two terms of (3.9), computed apart, at a shifted ε_0."""

    def evidence(datasets: Datasets) -> dict[str, object]:
        threshold = float(bounds.dominance_threshold(delta_zm=SHELL, epsilon=LOSS))
        first = SHELL**2 * math.log(1000)
        second = bounds.required_batch(epsilon=LOSS) * bounds.iterations(eta=1.0, eps_0=threshold + shift, delta=0.0)
        return {
            "threshold": {"measured": threshold, "predicted": 0.45237}, "terms": xr.DataArray(float(first / second)),
        }  # fmt: skip

    return evidence


def _batch_slopes(name: str) -> Evidence:
    """The exponent of the mean relative deviation in B."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        deviation = datasets["p16-batch"][name]
        return log_slopes(deviation.assign_coords(size=[float(b) for b in deviation["size"].values]), "size")

    return evidence


def _lower_limit(count: int, trials: int) -> xr.DataArray:
    """The lower 95 % Clopper-Pearson limit of a frequency."""
    from scipy.stats import beta

    return xr.DataArray(float(beta.ppf(0.025, count, trials - count + 1)) if count else 0.0)


def _frequency(datasets: Datasets) -> xr.DataArray:
    exceeds = datasets["p16-batch"].exceeds.sel(moment="start", part="W_O", size="100")
    trials = DRAWS * exceeds.sizes["seed"]
    return _lower_limit(round(float(exceeds.mean()) * trials), trials)


def _exact_tail(datasets: Datasets) -> xr.DataArray:
    """Deviations drawn with P(deviation > ε) = e^{-B ε²}."""
    trials = DRAWS * datasets["p16-batch"].sizes["seed"]
    draws = np.random.default_rng(datasets.seed).random(trials)
    return _lower_limit(int(np.sum(np.sqrt(-np.log(draws) / 100) > LIMIT)), trials)


def _variance(name: str, graph: str) -> Evidence:
    """The upper 95 % limit of the variance over redraws; refused where the bound says nothing."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["p17-variance"].sel(graph=graph, drop=True)
        if (data.bound > 0.25).any():
            raise NotApplicable(f"vacuous here: the bound is {float(data.bound.max()):.3g}, and 0 ≤ p_n ≤ 1 gives 1/4")
        from scipy.stats import chi2

        free = data.sizes["redraw"] - 1
        return data[name].var("redraw", ddof=1) * free / float(chi2.ppf(0.05, free))

    return evidence


def _shares(graph: str) -> Evidence:
    """The fit through the origin of the mean relevant share against γ_d."""

    def evidence(datasets: Datasets) -> dict[str, object]:
        data = datasets["p18-mass"]
        cases = [case for case in map(str, data.case.values) if case.startswith(graph)]
        fractions = [float(case.split()[1]) for case in cases]
        shares = data.relevant_share.sel(case=cases).transpose("seed", "case").values
        fit = line(fractions, shares, through_origin=True)
        return {"fit": xr.DataArray(fit.r_squared), "slope": fit.slope}

    return evidence


def _violations(sampler: str) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        sizes = [20, 60]
        share = datasets["p19-sampling"].violating_share.sel(case=[f"{sampler}, {size}" for size in sizes])
        return share.rename(case="size").assign_coords(size=sizes)

    return evidence


def _set_systems(broken: int) -> Evidence:
    """Both sides of (B.199) on 1000 random set systems; `broken` is added to one count."""

    def evidence(datasets: Datasets) -> dict[str, np.ndarray]:
        draws = np.random.default_rng(datasets.seed)
        left, right = [], []
        for _ in range(1000):
            kind, near = draws.integers(0, 3, 60), draws.random(60) < draws.random()
            star, plain = kind == 0, kind == 1
            inside = int(np.sum(star & near)) + broken
            left.append(inside * int(np.sum(plain & ~near)) - int(np.sum(plain & near)) * int(np.sum(star & ~near)))
            right.append((inside - broken) * int(np.sum(plain)) - int(np.sum(plain & near)) * int(np.sum(star)))
        return {"measured": np.array(left), "predicted": np.array(right)}

    return evidence


def _reduction(broken: int) -> Evidence:
    """(B.199) on counts with uniform shells, against Δ_n(z)|D_i|/2; `broken` is added to one count."""

    def evidence(datasets: Datasets) -> dict[str, np.ndarray]:
        left, right = [], []
        for shell in (20, 40, 60):
            nodes, share = 200, 0.4
            half, plain = int(share * nodes / 2), 40
            for margin in (-4, 0, 2, 6):
                marked = int(share * shell)
                star, other = (marked + margin) // 2 + broken, plain * shell // nodes
                left.append(star * (plain - other) - other * (half - star))
                right.append(margin * plain / 2)
        return {"measured": np.array(left), "predicted": np.array(right)}

    return evidence


def _exchange(name: str, case: str, distances: list[int] | None = None) -> Evidence:
    """Value of (B.199) at z_m minus that at every other distance."""

    def take(data: xr.Dataset) -> xr.DataArray:
        bins = len(case) // 2 + 1 if set(case) <= set("+-") else 5
        values = data[name].assign_coords(bin=np.arange(data.sizes["bin"]))
        return values.sel(bin=distances or [z for z in range(1, bins) if (data.core_distance != z).all()])

    return of("p20-shells", take, case=case)


def _hand(label: int) -> Evidence:
    return of(
        "f32-margins", lambda d: {"measured": d.margin.isel(distance=[1, 2]), "predicted": [-2.0, 3.0]}, label=label
    )


def _positive(intra: int) -> Evidence:
    return of("e5-literal-graph", lambda data: data.positive_first, intra_degree=intra)


UNIFORM = all_of(fit=at_least(0.98, strict=True), slope=within(0.93, 0.97, predicted=1 - CONFUSION))
NOT_NEGATIVE: Callable[..., object] = at_least(0.0, "every")

CLAIMS = (
    Claim(
        name="p5-dominance", reference="Remark 1, footnote", kind="identity",
        statement="The first term of (3.9) dominates below ε_0 = 1/2 - 1/2 δ_zm^-4 ε^-4, which is .45237 for δ_zm = "
        "3, ε = .6: .001 below it the terms, computed apart, order as stated.",
        formula="ε_0 < 1/2 - 1/2 δ^-4 ε^-4", evidence=_dominance(-NEAR),
        judge=all_of(threshold=equal(1e-5), terms=at_least(1.0)),
        controls=(Control(".001 above it", _dominance(NEAR)),),
    ),
    Claim(
        name="p16-slope", reference="(B.63)", kind="scaling", reads=("p16-batch",),
        statement="The relative deviation of a batch gradient falls as B^(-1/2): exponent in [-.6, -.4] for each of "
        "the five parameters, at the start and at η t = 15.",
        formula="deviation ∝ B^-1/2", evidence=_batch_slopes("deviation"),
        judge=within(-0.6, -0.4, "clear", predicted=-0.5),
        controls=(Control("B copies of one sample", _batch_slopes("copies")),),
    ),
    Claim(
        name="p16-probability", reference="(B.63)", kind="bound", reads=("p16-batch",), expected=FAILS,
        statement="As stated: a batch gradient deviates by more than ε with probability at most e^{-B ε²} (W_O at the"
        " start, B = 100, ε = .5; lower 95 % limit of the frequency).",
        formula="e^{-B ε²}", evidence=_frequency, judge=at_most(math.exp(-25.0)),
        controls=(Control("deviations drawn with exactly that tail", _exact_tail, HOLDS),),
    ),
    Claim(
        name="p17-variance", reference="(B.49)", kind="bound", reads=("p17-variance",), expected=INCONCLUSIVE,
        statement="On the chapter's graph the variance of the mean of p_n(0) is at most 2 (1 + sum δ_z²)/|L|.",
        evidence=_variance("mass_mean", "chapter"), judge=at_most(CYCLE_BOUND, "every"),
        controls=(Control("a cycle, one common coin", _variance("coin_mean", "cycle"), FAILS),),
    ),
    Claim(
        name="p17-variance-cycle", reference="(B.49)", kind="bound", reads=("p17-variance",),
        statement="On a cycle, where the bound is .018, the upper 95 % limit of that variance is below it.",
        evidence=_variance("mass_mean", "cycle"), judge=at_most(CYCLE_BOUND, "every"),
        controls=(Control("one common coin", _variance("coin_mean", "cycle")),),
    ),
    Claim(
        name="p18-mass", reference="(B.66), (B.67)", kind="scaling", reads=("p18-mass",),
        statement="On planted block graphs the share of class-relevant neighbours is (1 - ε_S) γ_d: a line through "
        "the origin with R² above .98 and slope within .02 of .95.",
        formula="E[p_n(0)] = (1-ε_S) γ_d", evidence=_shares("G2"), judge=UNIFORM,
        controls=(Control("the chapter's graph", _shares("G1")),),
    ),
    Claim(
        name="p19-sampling", reference="(B.182)", kind="bound", reads=("p19-sampling",),
        statement="A uniform sample of the whole graph shows every pattern in the shells 1 and 2 within "
        "√(log|S|/|S|), but for a share of at most 2/|S|², |S| = 20 and 60, in every seed.",
        evidence=_violations("whole"), judge=at_most({"20": 2 / 20**2, "60": 2 / 60**2}, "every"),
        controls=(Control("a sample of the core shell", _violations("core")),),
    ),
    Claim(
        name="p20-identity", reference="(B.199)", kind="identity",
        statement="|D_*∩N||D_i\\N| - |D_i∩N||D_*\\N| = |D_*∩N||D_i| - |D_i∩N||D_*|, exactly on 1000 random set "
        "systems.",
        evidence=_set_systems(0), judge=equal(0.0), controls=(Control("one count changed by 1", _set_systems(1)),),
    ),
    Claim(
        name="p20-reduction", reference="(B.199)", kind="identity",
        statement="With uniform shells its value is exactly Δ_n(z)|D_i|/2.", evidence=_reduction(0), judge=equal(0.0),
        controls=(Control("one count changed by 1", _reduction(1)),),
    ),
    Claim(
        name="p20-per-node", reference="(B.200)", kind="ordering", reads=("p20-shells",), expected=FAILS,
        statement="As printed: the value at z_m is at least that at every other distance, for every node and pattern,"
        " on +++---+++---.",
        evidence=_exchange("least_exchange", "+++---+++---"), judge=NOT_NEGATIVE,
        controls=(Control("++--++--", _exchange("least_exchange", "++--++--"), HOLDS),),
    ),
    Claim(
        name="p20-per-node-corrected", reference="(B.200), corrected", kind="ordering", reads=("p20-shells",),
        statement="Corrected: averaged over nodes and patterns it is, where shells are uniform (+++---+++---).",
        evidence=_exchange("mean_exchange", "+++---+++---"), judge=NOT_NEGATIVE,
        controls=(
            Control(
                "planted block graph, z_m = 2 against distance 1 (shells not uniform)",
                _exchange("mean_exchange", "G2", [1]),
            ),
        ),
    ),
    Claim(
        name="f32-margins", reference="Figure 3.2", kind="identity", reads=("f32-margins",),
        statement="The node of Figure 3.2 has winning margins -2 at distance 1 and 3 at distance 2.",
        evidence=_hand(1), judge=equal(0.0), controls=(Control("y = -1", _hand(-1)),),
    ),
    Claim(
        name="e5-literal-graph", reference="erratum 9.5", kind="bound", reads=("e5-literal-graph",), expected=FAILS,
        statement="As printed: on the chapter's graph (no edges asked for inside a pattern) every node has a positive"
        " margin at distance 1 (Assumption 3.4.2).",
        evidence=_positive(0), judge=at_least(1.0, "every"),
        controls=(Control("intra_degree = D", _positive(-1), HOLDS),),
    ),
)  # fmt: skip

"""What holds of the shells of graphs and of samples, without training (P17 - P20, 9.5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.fits import line
from lemmata.lab.judges import all_of, at_least, at_most, equal, within
from lemmata.theories.graph_transformer.measures import CONFUSION, of

RING_BOUND = 0.018
"""2 (1 + 2² + 2²)/1000, the bound of (B.49) on a ring of 1000 nodes."""


def _variance(name: str, generator: str) -> Evidence:
    """The upper 95 % limit of the variance over redraws; refused where the bound says nothing."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["p17-variance"].sel(generator=generator, drop=True)
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
        cases = [case for case in map(str, data.variant.values) if case.startswith(graph)]
        fractions = [float(case.split()[1]) for case in cases]
        shares = data.relevant_share.sel(variant=cases).transpose("seed", "variant").values
        fit = line(fractions, shares, through_origin=True)
        return {"fit": xr.DataArray(fit.r_squared), "slope": fit.slope}

    return evidence


def _violations(sampler: str) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        sizes = [20, 60]
        share = datasets["p19-sampling"].violating_share.sel(variant=[f"{sampler}, {size}" for size in sizes])
        return share.rename(variant="size").assign_coords(size=sizes)

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


def _exchange(name: str, graph: str, distances: list[int] | None = None) -> Evidence:
    """Value of (B.199) at z_m minus that at every other distance."""

    def take(data: xr.Dataset) -> xr.DataArray:
        bins = len(graph) // 2 + 1 if set(graph) <= set("+-") else 5
        values = data[name].assign_coords(bin=np.arange(data.sizes["bin"]))
        return values.sel(bin=distances or [z for z in range(1, bins) if (data.core_distance != z).all()])

    return of("p20-shells", take, graph=graph)


def _positive(intra: int) -> Evidence:
    return of("e5-literal-graph", lambda data: data.positive_first, intra_degree=intra)


UNIFORM = all_of(fit=at_least(0.98, strict=True), slope=within(0.93, 0.97, predicted=1 - CONFUSION))
NOT_NEGATIVE: Callable[..., object] = at_least(0.0, "every")

CLAIMS = (
    Claim(
        name="p17-variance", reference="(B.49)", kind="bound", reads=("p17-variance",), expected=INCONCLUSIVE,
        statement="On the chapter's graph the variance of the mean of p_n(0) is at most 2 (1 + sum δ_z²)/|L|.",
        evidence=_variance("mass_mean", "chapter"), judge=at_most(RING_BOUND, "every"),
        controls=(Control("a ring, one common coin", _variance("coin_mean", "ring"), FAILS),),
    ),
    Claim(
        name="p17-variance-cycle", reference="(B.49)", kind="bound", reads=("p17-variance",),
        statement="On a ring, where the bound is .018, the upper 95 % limit of that variance is below it.",
        evidence=_variance("mass_mean", "ring"), judge=at_most(RING_BOUND, "every"),
        controls=(Control("one common coin", _variance("coin_mean", "ring")),),
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
        name="e5-literal-graph", reference="erratum 9.5", kind="bound", reads=("e5-literal-graph",), expected=FAILS,
        statement="As printed: on the chapter's graph (no edges asked for inside a pattern) every node has a positive"
        " margin at distance 1 (Assumption 3.4.2).",
        evidence=_positive(0), judge=at_least(1.0, "every"),
        controls=(Control("intra_degree = D", _positive(-1), HOLDS),),
    ),
)  # fmt: skip

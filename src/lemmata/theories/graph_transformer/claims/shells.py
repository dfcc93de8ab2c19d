"""What holds of the shells of graphs and of samples, without training (P17 - P20, 9.5)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.graph_transformer.measures import CONFUSION

SAMPLES = [20, 60]


@lm.evidence("p17-variance")
def mass_variance(data: xr.Dataset, name: str = "mass_mean", generator: str = "ring") -> xr.DataArray:
    """The upper 95 % limit of the variance over redraws / the bound; refused where 0 ≤ p_n ≤ 1 says more than it."""
    from scipy.stats import chi2

    data = lm.cells(data, generator=generator)
    free = data[name].notnull().sum("redraw") - 1
    variance = data[name].var("redraw", ddof=1) * free / chi2.ppf(0.05, free)
    if (data.bound > 0.25).any():
        raise lm.NotApplicable(
            f"vacuous here: the bound is {float(data.bound.max()):.3g}, and 0 ≤ p_n ≤ 1 gives 1/4; the variance "
            f"is at most {float(variance.max()):.2g}"
        )
    return (variance / data.bound).where(data.bound.notnull(), np.inf)  # no bound is met by nothing


@lm.evidence("p18-mass")
def relevant_shares(data: xr.Dataset, generator: str = "blocks") -> dict[str, float | lm.Estimate]:
    """The fit through the origin of the mean relevant share against γ_d."""
    data = lm.cells(data, generator=generator)
    shares = data.relevant_share.transpose("seed", "variant").values
    fit = lm.line(data.discriminative.values, shares, through_origin=True)
    return {"fit": fit.r_squared, "slope": fit.slope}


@lm.evidence("p19-sampling")
def violations(data: xr.Dataset, shells: str = "whole") -> xr.DataArray:
    """The share of (node, pattern, distance) outside the interval of (B.182), by |S|."""
    return lm.cells(data.violating_share, shells=shells, sample=SAMPLES).swap_dims(variant="sample")


@lm.fact
def set_systems(seed: int, broken: int = 0) -> dict[str, np.ndarray]:
    """Both sides of (B.199) on 1000 random set systems; `broken` is added to one count."""
    draws = np.random.default_rng(seed)
    left, right = [], []
    for _ in range(1000):
        kind, near = draws.integers(0, 3, 60), draws.random(60) < draws.random()
        star, plain = kind == 0, kind == 1
        inside = int(np.sum(star & near)) + broken
        left.append(inside * int(np.sum(plain & ~near)) - int(np.sum(plain & near)) * int(np.sum(star & ~near)))
        right.append((inside - broken) * int(np.sum(plain)) - int(np.sum(plain & near)) * int(np.sum(star)))
    return {"measured": np.array(left), "predicted": np.array(right)}


@lm.fact
def uniform_shells(broken: int = 0) -> dict[str, np.ndarray]:
    """(B.199) on counts with uniform shells, against Δ_n(z)|D_i|/2; `broken` is added to one count."""
    left, right = [], []
    nodes, share, plain = 200, 0.4, 40
    half = int(share * nodes / 2)
    for shell in (20, 40, 60):
        for margin in (-4, 0, 2, 6):
            star, other = (int(share * shell) + margin) // 2 + broken, plain * shell // nodes
            left.append(star * (plain - other) - other * (half - star))
            right.append(margin * plain / 2)
    return {"measured": np.array(left), "predicted": np.array(right)}


@lm.evidence("p20-shells")
def exchange_gain(data: xr.Dataset, name: str, graph: str, distances: list[int] | None = None) -> xr.DataArray:
    """The value of (B.199) at z_m less that at these distances; None: at every other one."""
    data = lm.cells(data, graph=[graph])
    bins = int(data.bins.item())
    data = data.isel(graph=0, drop=True)
    values = data[name].assign_coords(bin=np.arange(data.sizes["bin"]))
    return values.sel(bin=distances or [z for z in range(1, bins) if (data.core_distance != z).all()])


@lm.evidence("e5-literal-graph")
def positive_share(data: xr.Dataset, intra_degree: int) -> xr.DataArray:
    """The share of nodes with a positive margin at distance 1."""
    return lm.cells(data, intra_degree=intra_degree).positive_first


BROKEN = lm.Control("one count changed by 1", broken=1)
NOT_NEGATIVE = lm.at_least(0.0, "every")

CLAIMS = (
    lm.Claim("p17-variance", "(B.49)", "bound")
    .states("""On the chapter's graph the variance of the mean over the nodes of p_n(0), the initial attention on
        relevant nodes, over fresh graphs is at most 2 (1 + sum δ_z²)/|L|, where that is below the 1/4 that 0 ≤ p_n ≤ 1
        gives.""")
    .in_symbols(r"""\mathrm{Var}\left(\frac{1}{|\mathcal{L}|}\sum_{n\in\mathcal{L}}p_n(0)\right) \le
        \frac{2}{|\mathcal{L}|}\left(1+\sum_z\delta_z^2\right)""")
    .judged(
        mass_variance(generator="chapter"),
        lm.at_most(1.0, "every"),
        lm.Control("a ring, one common coin", name="coin_mean", generator="ring", expected=lm.FAILS),
        expected=lm.INCONCLUSIVE,
    ),
    lm.Claim("p17-variance-cycle", "(B.49)", "bound")
    .states("""On a ring the upper 95 % limit of the variance of the mean over the nodes of p_n(0), the initial
        attention on relevant nodes, patterns redrawn, is at most 2 (1 + sum δ_z²)/|L|.""")
    .in_symbols(r"""\mathrm{Var}\left(\frac{1}{|\mathcal{L}|}\sum_{n\in\mathcal{L}}p_n(0)\right) \le
        \frac{2}{|\mathcal{L}|}\left(1+\sum_z\delta_z^2\right)""")
    .judged(mass_variance(), lm.at_most(1.0, "every"), lm.Control("one common coin", name="coin_mean")),
    lm.Claim("p18-mass", "(B.66), (B.67)", "scaling")
    .states("""On planted block graphs the share of class-relevant neighbours is (1 - ε_S) γ_d: a line through the
        origin with R² above .98 and slope within .02 of .95.""")
    .in_symbols(r"\mathbb{E}[p_n(0)] = (1-\epsilon_{\mathcal{S}})\gamma_d")
    .judged(
        relevant_shares(),
        lm.all_of(fit=lm.at_least(0.98, strict=True), slope=lm.within(0.93, 0.97, "value", predicted=1 - CONFUSION)),
        lm.Control("the chapter's graph", generator="chapter"),
    ),
    lm.Claim("p19-sampling", "(B.182)", "bound")
    .states("""A uniform sample of the whole graph shows every pattern in the shells 1 and 2 within √(log|S|/|S|), but
        for a share of at most 2/|S|², |S| = 20 and 60, in every seed.""")
    .in_symbols(r"""\Pr\left(\left|\frac{|\mathcal{S}_i\cap\mathcal{N}_z|}{|\mathcal{S}|}
        -\frac{|\mathcal{D}_i\cap\mathcal{N}_z|}{N}\right| > \sqrt{\frac{\log|\mathcal{S}|}{|\mathcal{S}|}}\right) \le
        \frac{2}{|\mathcal{S}|^2}""")
    .judged(
        violations(),
        lm.at_most({f"{size}": 2 / size**2 for size in SAMPLES}, "every"),
        lm.Control("a sample of the core shell", shells="single"),
    ),
    lm.Claim("p20-identity", "(B.199)", "identity")
    .states("|D_*∩N||D_i\\N| - |D_i∩N||D_*\\N| = |D_*∩N||D_i| - |D_i∩N||D_*|, exactly on 1000 random set systems.")
    .in_symbols(r"""|\mathcal{D}_*\cap\mathcal{N}||\mathcal{D}_i\setminus\mathcal{N}|
        -|\mathcal{D}_i\cap\mathcal{N}||\mathcal{D}_*\setminus\mathcal{N}| =
        |\mathcal{D}_*\cap\mathcal{N}||\mathcal{D}_i|-|\mathcal{D}_i\cap\mathcal{N}||\mathcal{D}_*|""")
    .judged(set_systems(), lm.equal(0.0), BROKEN),
    lm.Claim("p20-reduction", "(B.199)", "identity", source="derived")
    .states("With uniform shells the value |D_*∩N||D_i| - |D_i∩N||D_*| of (B.199) is exactly Δ_n(z)|D_i|/2.")
    .in_symbols(r"""|\mathcal{D}_*\cap\mathcal{N}_z||\mathcal{D}_i|-|\mathcal{D}_i\cap\mathcal{N}_z||\mathcal{D}_*| =
        \frac{1}{2}\Delta_n(z)|\mathcal{D}_i|""")
    .judged(uniform_shells(), lm.equal(0.0), BROKEN),
    lm.Claim("p20-per-node", "(B.200)", "ordering")
    .states("""As printed: the value of (B.199) at z_m is at least that at every other distance, for every node and
        pattern, on +++---+++---.""")
    .in_symbols(r"""g_n^i(z_m) \ge g_n^i(z), \quad g_n^i(z) =
        |\mathcal{D}_*^n\cap\mathcal{N}_z^n||\mathcal{D}_i|-|\mathcal{D}_i\cap\mathcal{N}_z^n||\mathcal{D}_*^n|""")
    .judged(
        exchange_gain("least_exchange", "+++---+++---"),
        NOT_NEGATIVE,
        lm.Control("++--++--", graph="++--++--"),
        expected=lm.FAILS,
    ),
    lm.Claim("p20-per-node-corrected", "(B.200), corrected", "ordering", corrects="p20-per-node")
    .states("""Corrected: averaged over nodes and patterns the value of (B.199) at z_m is at least that at every other
        distance, where shells are uniform (+++---+++---).""")
    .in_symbols(r"""\mathrm{mean}_{n,i}\,g_n^i(z_m) \ge \mathrm{mean}_{n,i}\,g_n^i(z), \quad g_n^i(z) =
        |\mathcal{D}_*^n\cap\mathcal{N}_z^n||\mathcal{D}_i|-|\mathcal{D}_i\cap\mathcal{N}_z^n||\mathcal{D}_*^n|""")
    .judged(
        exchange_gain("mean_exchange", "+++---+++---"),
        NOT_NEGATIVE,
        lm.Control("planted block graph, z_m = 2 against distance 1 (shells not uniform)", graph="G2", distances=[1]),
    ),
    lm.Claim("e5-literal-graph", "erratum 9.5", "bound")
    .states("""As printed: on the chapter's graph (no edges asked for inside a pattern) every node has a positive margin
        at distance 1 (Assumption 3.4.2).""")
    .in_symbols(r"\Delta_n(1) > 0 \quad (n\in\mathcal{V})")
    .judged(
        positive_share(0), lm.at_least(1.0, "every"), lm.Control("intra_degree = D", intra_degree=-1), expected=lm.FAILS
    ),
)

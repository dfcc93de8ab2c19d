"""Single steps of the proof: gradients as identities in float64 (P13, P14), how far a batch lies from the mean (P16),
and what holds of the shells of graphs and of samples without training (P17 - P20, 9.5)."""

import math
from typing import Any

import jax
import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.data import World, prepare
from lemmata.theories.graph_transformer.measures import CONFUSION, below, value_at
from lemmata.theories.graph_transformer.network import Parameters, Tokens, gradient, initialise, run_sampled, tokens_of
from lemmata.theories.graph_transformer.probes import draw_watched, value_coefficients
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.studies.random_samples import DRAWS, LIMIT

CASES = 20
BINS, KEYS, WIDTH, NEURONS = 4, 9, 5, 30
SMALL = Setting(nodes=80, degree=8, patterns=4, dimension=6, key_width=6, value_width=6, neurons=40, labelled=40)
SMALL = SMALL.replace(batch=20, sample=12, feature_noise=0.0, test_draws=1)
BATCH = 100
"""The batch whose tail is judged."""


def random_cases(seed: int) -> Any:
    """Random parameters, output weights and one node with its keys, stacked."""
    draws = np.random.default_rng(seed)
    cases = [_random_case(draws) for _ in range(CASES)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *cases)


def _random_case(draws: np.random.Generator) -> tuple[Parameters, np.ndarray, Tokens]:
    def normal(*shape: int) -> Any:
        return draws.normal(size=shape)

    network = Network(normal(NEURONS, WIDTH), normal(WIDTH, WIDTH), normal(WIDTH, WIDTH) / 2, normal(WIDTH, WIDTH) / 2)
    signs = draws.choice([1.0, -1.0], NEURONS) / np.sqrt(NEURONS)
    bins: Any = draws.integers(0, BINS, (1, KEYS))
    tokens = Tokens(normal(1, WIDTH), normal(1, KEYS, WIDTH), np.ones((1, KEYS)), bins)  # pyright: ignore[reportArgumentType]
    return Parameters(network, normal(BINS), np.zeros(2 * WIDTH)), signs, tokens  # pyright: ignore[reportArgumentType]


def encoding_derivatives(seed: int, centred: bool = True) -> np.ndarray:
    """∂F/∂b_z = sum_{s in N_z} α_s (e_s - F), e_s = r^T W_V x_s, r = W_O^T(a ⊙ 1[W_O V_n > 0]), of every random case.

    Written out in NumPy, apart from the network's own code; `centred` = False leaves -F out.
    """
    ((w_o, w_v, w_k, w_q), b, _), a, (query, keys, _, bins) = random_cases(seed)
    keys, bins = keys[:, 0], bins[:, 0]
    logits = np.einsum("cki,cwi,cwj,cj->ck", keys, w_k, w_q, query[:, 0]) + np.take_along_axis(b, bins, axis=1)
    alpha = np.exp(logits - logits.max(axis=1, keepdims=True))
    alpha /= alpha.sum(axis=1, keepdims=True)
    values = keys @ w_v.swapaxes(1, 2)
    active = np.einsum("cnw,ckw,ck->cn", w_o, values, alpha) > 0
    e = np.einsum("ckw,cnw,cn->ck", values, w_o, a * active)
    push = alpha * (e - ((alpha * e).sum(axis=1, keepdims=True) if centred else 0.0))
    return np.stack([np.where(bins == z, push, 0.0).sum(axis=1) for z in range(BINS)], axis=1)


@jax.jit
@jax.vmap
def automatic_derivative(parameters: Parameters, signs: jax.Array, token: Tokens) -> jax.Array:
    """∂F/∂b of one node."""
    return jax.grad(lambda b: run_sampled(parameters._replace(encoding=b), signs, token).output[0])(parameters.encoding)


@lm.evidence(precision="float64")
def derivatives(seed: int, centred: bool = True) -> dict[str, np.ndarray]:
    """The formula against automatic differentiation."""
    auto = np.asarray(automatic_derivative(*random_cases(seed)))
    return {"measured": encoding_derivatives(seed, centred), "predicted": auto}


@lm.evidence("p7-training")
def encoding_sums(data: xr.Dataset, seed: int, centred: bool = True) -> dict[str, Any]:
    """max_t |sum_z b_z| of training, and the largest |sum_z| of the formula."""
    data = lm.cells(data, variant="intact")
    path = abs(data.distance_bias.sum("bin", skipna=False)).where(data.step.notnull()).max("record")
    sums = encoding_derivatives(seed, centred).sum(axis=1)
    return {"path": path, "formula": float(np.abs(sums).max())}


@jax.jit
def update_values(seed: int, world: World, head_first: float) -> tuple[jax.Array, jax.Array]:
    """-η sum_i V_i^(j) W_O,i, and the change of W_V μ_j over one step of SGD."""
    problem, key, eta = SMALL.problem(), jax.random.key(seed), SMALL.step_size
    parameters, signs = initialise(problem, key, world.directions)
    watched = draw_watched(problem, key, world)
    tokens = tokens_of(world, watched.node, watched.keys[0], watched.weight[0], SMALL.bins)
    batch = jax.tree.map(lambda leaf: leaf[: SMALL.batch], tokens)
    slope = hinge(SMALL.margin).push(world.label[watched.node][: SMALL.batch], 1 / SMALL.batch)
    network = parameters.network
    coefficients = value_coefficients(problem, signs, world, watched, run_sampled(parameters, signs, tokens))
    step = gradient(parameters, signs, batch, slope).network.output
    moved = parameters._replace(network=network._replace(output=network.output - head_first * eta * step))
    after = gradient(moved, signs, batch, slope).network.value @ world.directions
    return -eta * network.output.T @ coefficients, -eta * after


@lm.evidence(precision="float64")
def value_update(seed: int, head_first: bool = False) -> dict[str, np.ndarray]:
    """-η sum_i V_i^(j) W_O,i against the change of W_V μ_j over one step; `head_first`: W_O is updated before."""
    world = jax.tree.map(lambda leaf: leaf.astype(float) if leaf.dtype.kind == "f" else leaf, prepare(SMALL, seed))
    coefficients, after = update_values(seed, world, float(head_first))
    return {"measured": np.asarray(coefficients), "predicted": np.asarray(after)}


@lm.evidence("p16-batch")
def batch_exponent(data: xr.Dataset, name: str = "deviation") -> xr.DataArray:
    """The exponent of the mean relative deviation in B."""
    return lm.log_slopes(data[name], "size", x=data["size"].astype(float))


@lm.evidence("p16-batch")
def tail_frequency(data: xr.Dataset, seed: int, exact: bool = False) -> float:
    """Lower 95 % Clopper-Pearson limit of the frequency of deviations beyond ε; `exact`: drawn with the stated tail."""
    from scipy.stats import beta

    exceeds = data.exceeds.sel(moment="start", part="W_O", size=str(BATCH))
    trials = DRAWS * exceeds.sizes["seed"]
    count = round(float(exceeds.mean()) * trials)
    if exact:  # P(deviation > ε) = e^{-B ε²}
        drawn = np.sqrt(-np.log(np.random.default_rng(seed).random(trials)) / BATCH)
        count = int(np.sum(drawn > LIMIT))
    return float(beta.ppf(0.025, count, trials - count + 1)) if count else 0.0


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
    sides = []
    for _ in range(1000):
        kind, near = draws.integers(0, 3, 60), draws.random(60) < draws.random()
        star, plain = kind == 0, kind == 1
        inside, beside = np.sum(star & near), np.sum(plain & near)
        left = (inside + broken) * np.sum(plain & ~near) - beside * np.sum(star & ~near)
        sides.append((left, inside * np.sum(plain) - beside * np.sum(star)))
    return dict(zip(("measured", "predicted"), np.array(sides).T, strict=True))


@lm.fact
def uniform_shells(broken: int = 0) -> dict[str, np.ndarray]:
    """(B.199) on counts with uniform shells, against Δ_n(z)|D_i|/2; `broken` is added to one count."""
    nodes, share, plain = 200, 0.4, 40
    shell, margin = np.array([20, 40, 60])[:, None], np.array([-4, 0, 2, 6])
    star, other = ((share * shell).astype(int) + margin) // 2 + broken, plain * shell // nodes
    left = star * (plain - other) - other * (int(share * nodes / 2) - star)
    return {"measured": left.ravel(), "predicted": np.tile(margin * plain / 2, 3)}


@lm.evidence("p20-shells")
def exchange_gain(data: xr.Dataset, name: str, graph: str, distances: list[int] | None = None) -> xr.DataArray:
    """The value of (B.199) at z_m less that at these distances; None: at every other one."""
    data = lm.cells(data, graph=[graph])
    bins = int(data.bins.item())
    data = data.isel(graph=0, drop=True)
    values = data[name].assign_coords(bin=np.arange(data.sizes["bin"]))
    return values.sel(bin=distances or [z for z in range(1, bins) if (data.core_distance != z).all()])


HALF = lm.within(-0.6, -0.4, "clear", predicted=-0.5)
NOT_CENTRED = lm.Control("the formula without -F", centred=False)
SAMPLES = [20, 60]
BROKEN = lm.Control("one count changed by 1", broken=1)
NOT_NEGATIVE = lm.at_least(0.0, "every")

CLAIMS = (
    lm.Claim("p13-gradient", "Lemma B.3.3", "identity", source="derived")
    .states("""∂F/∂b_z is the attention in bin z times how far its scores exceed F: equal to automatic differentiation
        to 1e-10 at 20 random draws.""")
    .in_symbols(r"\frac{\partial F}{\partial b_z} = \sum_{s\in\mathcal{N}_z}\alpha_s(e_s-F)")
    .judged(derivatives(), lm.equal(1e-10), NOT_CENTRED),
    lm.Claim("p13-sum", "Lemma B.3.3", "identity", source="derived")
    .states("""The sum of the encoding b never changes: below 1e-5 at every record of training (float32), below 1e-10 in
        the formula for its gradient.""")
    .in_symbols(r"\sum_zb_z(t) = 0,\ \sum_z\frac{\partial F}{\partial b_z} = 0")
    .judged(encoding_sums(), lm.all_of(path=below(1e-5), formula=lm.at_most(1e-10, strict=True)), NOT_CENTRED),
    lm.Claim("p14-update", "Lemma B.3.4", "identity")
    .states("One step of SGD moves W_V μ_j by -η Σ_i V_i^(j) W_O,i exactly (1e-10, float64, c_0 = 0).")
    .in_symbols(r"(W_V^{(t+1)}-W_V^{(t)})\mu_j = -\eta\sum_iV_i^{(j)}W_{O,i}^\top")
    .judged(value_update(), lm.equal(1e-10), lm.Control("W_O updated before W_V", head_first=True)),
    lm.Claim("p16-slope", "(B.63)", "scaling")
    .states("""The relative deviation of a batch gradient falls as B^(-1/2): exponent in [-.6, -.4] for each of the five
        parameters, at the start and at η t = 15.""")
    .in_symbols(r"\frac{\lVert\hat{g}_B-g\rVert}{\lVert g\rVert} \propto B^{-1/2}")
    .judged(batch_exponent(), HALF, lm.Control("B copies of one sample", name="copies")),
    lm.Claim("p16-probability", "(B.63)", "bound")
    .states("""As stated: a batch gradient deviates by more than ε with probability at most e^{-B ε²} (W_O at the start,
        B = 100, ε = .5; lower 95 % limit of the frequency).""")
    .in_symbols(r"\Pr\left(\frac{\lVert\hat{g}_B-g\rVert}{\lVert g\rVert} > \epsilon\right) \le e^{-B\epsilon^2}")
    .judged(
        tail_frequency(),
        lm.at_most(math.exp(-BATCH * LIMIT**2)),
        lm.Control("deviations drawn with exactly that tail", exact=True),
        expected=lm.FAILS,
    ),
    lm.Claim("p17-variance", "(B.49)", "bound")
    .states("""On the paper's graph the variance of the mean over the nodes of p_n(0), the initial attention on
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
        lm.Control("the paper's graph", generator="chapter"),
    ),
    lm.Claim("p19-sampling", "(B.182)", "bound")
    .states("""A uniform sample of the whole graph shows every pattern in the shells 1 and 2 within √(log|S|/|S|), but
        for a share of at most 2/|S|², |S| = 20 and 60, in every seed (far from tight).""")
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
    lm.Claim("e5-literal-graph", "graph of the experiments", "bound")
    .states("""As printed: on the paper's graph (no edges asked for inside a pattern) every node has a positive margin
        at distance 1 (Assumption 3.4.2).""")
    .in_symbols(r"\Delta_n(1) > 0 \quad (n\in\mathcal{V})")
    .judged(
        value_at.of("e5-literal-graph")("positive_first", None, 0, "intra_degree"),
        lm.at_least(1.0, "every"),
        lm.Control("intra_degree = D", variant=-1),
        expected=lm.FAILS,
    ),
)

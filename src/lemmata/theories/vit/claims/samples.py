"""Samples: V2 (trained attention), V4 and V23 (frozen attention), V5 (the ratio of their bounds), V6
(token noise; sparsification, Figure 2.5)."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.vit.bounds import samples_cnn, samples_vit
from lemmata.theories.vit.measures import half_thresholds

SIZES: dict[str, Any] = {"dimension": 10, "value_width": 10, "key_width": 10, "neurons": 1000}


def _grid(data: xr.Dataset, attention: str) -> xr.Dataset:
    """The runs over (α_*, N), of this attention where the experiment has both kinds."""
    return lm.cells(data, attention=attention) if "attention" in data.dims else data


def _ranked(threshold: lm.Threshold, data: xr.Dataset) -> float:
    """N_50 as a number for orderings: beyond the grid counts as twice the largest or half the smallest N."""
    if threshold.censored:
        return float(2 * data.samples.max() if threshold.censored == "above" else data.samples.min() / 2)
    return threshold.estimate.value


@lm.evidence("f1a-samples")
def decrease(data: xr.Dataset, reverse: bool = False, needed: int = 4) -> dict[str, float]:
    """Spearman correlation of N_50 and α_*, and the largest factor by which N_50 rises to the next α_*."""
    data = _grid(data, "trained")
    thresholds = half_thresholds(data)
    uncensored = sum(not threshold.censored for threshold in thresholds.values())
    if uncensored < needed:
        raise lm.NotApplicable(f"censored: only {uncensored} of {len(thresholds)} thresholds lie inside the grid")
    counts = np.asarray([_ranked(threshold, data) for threshold in thresholds.values()])[:: -1 if reverse else 1]
    return {"spearman": round(lm.spearman(list(thresholds), counts), 12), "rise": (counts[1:] / counts[:-1]).max()}


@lm.evidence("f1a-samples", "f3-samples-frozen")
def gap(trained: xr.Dataset, frozen: xr.Dataset, exchanged: bool = False, needed: int = 3) -> xr.DataArray:
    """log2 of N_50 frozen / N_50 trained at every α_* with slack of (2.8) at least 0.05 that is decided."""
    grids = [_grid(trained, "trained"), _grid(frozen, "frozen")]
    below, above = grids[::-1] if exchanged else grids
    slack = below.condition_slack.isel(samples=0, seed=0)
    fewer, more = half_thresholds(below), half_thresholds(above)
    ratios = {}
    for alpha in fewer:
        decided = not fewer[alpha].censored or fewer[alpha].censored != more[alpha].censored
        if decided and float(slack.sel(relevant_fraction=alpha)) >= 0.05:
            ratios[alpha] = np.log2(_ranked(more[alpha], above) / _ranked(fewer[alpha], below))
    if len(ratios) < needed:
        raise lm.NotApplicable(f"censored: only {len(ratios)} pairs of thresholds are decided")
    return xr.DataArray(list(ratios.values()), coords={"relevant_fraction": list(ratios)}, name="log2 ratio")


@lm.fact
def bound_ratio(exponent: float = 2.0) -> dict[str, Any]:
    """The two calculators' ratio, (2.13) with this inner exponent, against α_*^-2 at 100 values in (0, 1]."""
    alpha = np.arange(1, 101) / 100
    frozen = samples_cnn(alpha, 0.0, 0.0) ** (exponent / 2)
    return {"measured": frozen / samples_vit(alpha, 0.0, 0.0, 1.0), "predicted": alpha**-2}


@lm.evidence("v6-token-noise")
def noise(data: xr.Dataset, reverse: bool = False) -> dict[str, xr.DataArray]:
    """Test hinge at the least and at the most token noise, and along it."""
    loss = data.test_hinge.isel(token_noise=slice(None, None, -1 if reverse else 1))
    return {"least": loss.isel(token_noise=0), "most": loss.isel(token_noise=-1), "order": loss}


def _count() -> dict[str, int]:
    """Entries of every trained matrix of the network at the sizes of V23."""
    import jax

    from lemmata.theories.vit.network import initialise
    from lemmata.theories.vit.setting import Setting

    setting = Setting(**SIZES)
    basis = jax.ShapeDtypeStruct((setting.dimension, setting.patterns), "float32")
    network, _ = jax.eval_shape(lambda basis: initialise(setting.problem(), jax.random.key(0), basis), basis)
    return {name: matrix.size for name, matrix in network._asdict().items()}


@lm.fact
def frozen_percentage(frozen: tuple[str, ...] = ("key", "query")) -> float:
    """Percentage of the parameters that freezing these matrices removes."""
    counts = _count()
    return 100 * sum(counts[name] for name in frozen) / sum(counts.values())


@lm.fact
def parameter_counts(maps: int = 2) -> dict[str, Any]:
    """All parameters and the frozen ones, counted, against m m_a + m_a d + 2 m_b d and 2 m_b d (`maps` for 2)."""
    counts = _count()
    frozen = maps * SIZES["key_width"] * SIZES["dimension"]
    trained = SIZES["value_width"] * (SIZES["neurons"] + SIZES["dimension"])
    measured = [sum(counts.values()), counts["key"] + counts["query"]]
    return {"measured": measured, "predicted": [trained + frozen, frozen]}


def _loss(data: xr.Dataset, keep: float, strategy: str | list[str] = "random") -> xr.DataArray:
    """Test loss with this share of the tokens kept."""
    return lm.cells(data.test_hinge, keep=keep, strategy=strategy)


@lm.evidence("f5-sparsification")
def relative_loss(data: xr.Dataset, strategy: str) -> xr.DataArray:
    """Seed-mean loss at keep 0.7 relative to the unsparsified one."""
    return lm.ratio_of_means(_loss(data, 0.7, strategy), _loss(data, 1.0))


@lm.evidence("f5-sparsification")
def losses(data: xr.Dataset, strategies: tuple[str, ...] = ("irrelevant", "noisy", "random")) -> xr.DataArray:
    """Loss at keep 0.7, in this order of strategies."""
    return _loss(data, 0.7, list(strategies))


def _in_between(data: xr.Dataset) -> xr.DataArray:
    """The unsparsified loss has neither vanished nor stayed where it began."""
    mean = _loss(data, 1.0).mean("seed")
    return (mean >= 0.15) & (mean <= 0.8)


SHARED = "f1a-samples-shared"
RELEVANT_FIRST = lm.Control("relevant tokens dropped first", strategy="relevant")
sparsified = partial(
    lm.Claim, gate=lm.Gate("not applicable: the mean of the unsparsified loss is outside [0.15, 0.8]", _in_between)
)

CLAIMS = (
    lm.Claim("v2-samples-decrease", "Theorem 1, (2.11)", "ordering")
    .states("""The number of samples needed falls as the relevant fraction grows: Spearman correlation of N_50 and α_*
        at most -0.8, and no rise by more than a factor 2 between neighbours.""")
    .in_symbols(r"""\rho_{\text{Spearman}}(\alpha_*, N_{50}) \le -0.8,\quad N_{50}(\alpha_*^{(i+1)}) \le
        2\,N_{50}(\alpha_*^{(i)})""")
    .judged(
        decrease(),
        lm.all_of(spearman=lm.at_most(-0.8), rise=lm.at_most(2.0)),
        lm.Control("α_* axis reversed", reverse=True),
        lm.Control("shared output signs in its place", decrease.of(SHARED)(needed=3), expected=lm.INCONCLUSIVE),
    ),
    lm.Claim("v4-samples-gap", "Proposition 1, (2.13)", "ordering")
    .states("""Frozen attention needs at least as many samples: N_50 frozen ≥ N_50 trained at every α_* with slack of
        (2.8) at least 0.05.""")
    .in_symbols(r"N_{50}^{\text{frozen}}(\alpha_*) \ge N_{50}^{\text{trained}}(\alpha_*)")
    .judged(
        gap(),
        lm.at_least(0.0),
        lm.Control("trained and frozen exchanged", exchanged=True),
        # three values of α_*, two of them with enough slack: both must be decided
        lm.Control("shared output signs in their place", gap.of(SHARED, SHARED)(needed=2), expected=lm.INCONCLUSIVE),
    ),
    lm.Claim("v5-bound-ratio", "Remark 1", "identity")
    .states("""Without errors the bound of the frozen model exceeds that of the transformer by exactly the factor
        α_*^-2.""")
    .in_symbols(r"\frac{N_{(2.13)}}{N_{(2.11)}} = \alpha_*^{-2} \quad (\sigma=\tau=0,\ \zeta=1)")
    .judged(bound_ratio(), lm.equal(1e-12, relative=True), lm.Control("inner exponent 3 instead of 2", exponent=3.0)),
    lm.Claim("v23-share", "Remark 1, Figure 2.3", "identity")
    .states("""As stated: freezing keys and queries removes only 1 % of the parameters, as a rounded percentage of those
        counted on the network at d = m_a = m_b = 10, m = 1000.""")
    .in_symbols(r"\frac{2m_bd}{mm_a+m_ad+2m_bd} \approx 1\,\%")
    .judged(
        frozen_percentage(),
        lm.within(0.5, 1.5, predicted=1.0),
        lm.Control("only W_K counted (100 of 10300)", frozen=("key",)),
        expected=lm.FAILS,
    ),
    lm.Claim("v23-share-corrected", "Remark 1, corrected", "identity", corrects="v23-share")
    .states("""Corrected: the counted parameters are exactly m m_a + m_a d + 2 m_b d, those of keys and queries 2 m_b d
        (10300 and 200: 1.94 %).""")
    .in_symbols(r"|W_O|+|W_V|+|W_K|+|W_Q| = mm_a+m_ad+2m_bd,\quad |W_K|+|W_Q| = 2m_bd")
    .judged(parameter_counts(), lm.equal(0.0), lm.Control("m_b d in place of 2 m_b d", maps=1)),
    lm.Claim("v6-token-noise", "Remark 2", "ordering")
    .states("""Lowering the token noise lowers the test loss: at N = 64 the median test hinge is below 0.001 at c_0 =
        0.01, above 0.003 at c_0 = 0.3, and does not fall by more than 0.001 in between.""")
    .in_symbols(r"""\ell_{\text{test}}(c_0=0.01) < 10^{-3},\ \ell_{\text{test}}(c_0=0.3) > 3\cdot10^{-3},\
        \ell_{\text{test}}(c_{0,i}) \le \ell_{\text{test}}(c_{0,i+1})+10^{-3}""")
    .judged(
        noise(),
        lm.all_of(
            least=lm.at_most(1e-3, by="median", strict=True),
            most=lm.at_least(3e-3, by="median", strict=True),
            order=lm.increasing("token_noise", by="median", slack=1e-3),
        ),
        lm.Control("noise axis reversed", reverse=True),
    ),
    sparsified("v6-sparsify-irrelevant", "Remark 2", "comparison")
    .states("Dropping label-irrelevant tokens down to 70 % at least halves the test loss (seed means).")
    .in_symbols(r"\ell_{\text{irrelevant}}(70\,\%) \le 0.5\,\ell(100\,\%)")
    .judged(relative_loss("irrelevant"), lm.at_most(0.5, by="mean"), RELEVANT_FIRST),
    sparsified("v6-sparsify-noisy", "Remark 2", "comparison")
    .states("""Dropping the noisiest tokens down to 70 % lowers the test loss to at most 0.8 of the loss with all tokens
        (seed means).""")
    .in_symbols(r"\ell_{\text{noisy}}(70\,\%) \le 0.8\,\ell(100\,\%)")
    .judged(relative_loss("noisy"), lm.at_most(0.8, by="mean"), RELEVANT_FIRST),
    sparsified("f5-order", "Figure 2.5", "ordering", source="figure")
    .states("""With 70 % of the tokens kept, the test loss is lowest after dropping irrelevant tokens, then noisy ones,
        then random ones (seed means).""")
    .in_symbols(r"\ell_{\text{irrelevant}}(70\,\%) < \ell_{\text{noisy}}(70\,\%) < \ell_{\text{random}}(70\,\%)")
    .judged(
        losses(),
        lm.increasing("strategy", by="mean"),
        lm.Control("relevant tokens dropped in place of irrelevant ones", strategies=("relevant", "noisy", "random")),
    ),
    sparsified("f5-random-flat", "Figure 2.5", "comparison", source="figure")
    .states("""Dropping tokens at random down to 70 % leaves the test loss between 0.65 and 1.15 times the loss with all
        tokens (seed means).""")
    .in_symbols(r"0.65\,\ell(100\,\%) \le \ell_{\text{random}}(70\,\%) \le 1.15\,\ell(100\,\%)")
    .judged(relative_loss("random"), lm.within(0.65, 1.15, by="mean", predicted=1.0), RELEVANT_FIRST),
)

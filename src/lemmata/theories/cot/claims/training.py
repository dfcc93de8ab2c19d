"""The two stages of training: times (C2), gradients (C3, C5), attention (C4, C6), the late law (C17), labels (C18)."""

import functools
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.cot import measures
from lemmata.theories.cot.bounds import concentration, follow_gain, gradient_bounds
from lemmata.theories.cot.measures import DEFAULT, STAGE, bare, between, falling, late, near
from lemmata.theories.cot.setting import RELATIONS

M, ALPHA, EXAMPLES = DEFAULT.patterns, DEFAULT.fraction, DEFAULT.examples
SAME, OTHER_STEP, OTHER_PATTERN, OTHER = RELATIONS
FIRST = {SAME: -0.0325, OTHER_STEP: 0.0086, OTHER_PATTERN: -0.0272, OTHER: 0.0140}
"""The mean projected gradients at W = 0 (O12)."""
LEVEL, EARLY = 0.01, 0.3
ALPHAS = [0.1, 0.2, 0.4, 0.6, 0.8]
LATE = (1000, 2000, 8000)
SECOND = (500, *LATE)
CHAINS = [2, 3, 5]


@lm.evidence("c2-eta")
def loss_ratio(data: xr.Dataset, clock: str = "time") -> xr.DataArray:
    """Loss with η = 1 over loss with η = 10, at equal η t, or at equal t."""
    slow, fast = (lm.cells(data, clock=label) for label in ("η=1", "η=10"))
    loss, over = (functools.partial(measures.moment_of, run, "moment_loss") for run in (slow, fast))
    return lm.stack({f"{t}": bare(loss(t if clock == "time" else t // 10) / over(t)) for t in SECOND[:3]}, "at")


@lm.evidence("c1-reference")
def slope(
    data: xr.Dataset, of: str = "train_loss", first: float = 1000, logs: bool = True, variant: str = "intact"
) -> xr.DataArray:
    """The slope of a loss or a gain (logs: of its logarithm) on log t, from ηt = `first` to 8000."""
    run = lm.cells(data, variant=variant)
    if not bool((run.time.max("record") >= 8000).all()):
        raise lm.NotApplicable("training ends before ηt = 8000")
    used = (run.time >= first) & (run.time <= 8000)
    return lm.log_slopes(run[of] if logs else np.e ** run[of], "record", run.time, used)


@lm.evidence("c2-patterns")
def patterns_exponent(data: xr.Dataset, of: str = "loss") -> xr.DataArray:
    """The exponent in M of the time to loss 0.01, or to off-step attention 0.3."""
    times = measures.loss_time(data, LEVEL) if of == "loss" else measures.stage_time(data, EARLY)
    return lm.log_slopes(times.swap_dims(training_patterns="patterns"), "patterns")


@lm.evidence("c2-stage1")
def times(
    data: xr.Dataset, along: str, labels: list[Any], level: float = EARLY, of: str = "stage", order: int = 1
) -> xr.DataArray:
    """ηt at which off-step attention, or the loss, falls to a level along an axis; order: -1 reverses it."""
    found = {"stage": measures.stage_time, "loss": measures.loss_time}[of](lm.cells(data, **{along: labels}), level)
    return found.isel({along: slice(None, None, order)})


def _projected(data: xr.Dataset, moment: str) -> dict[str, xr.DataArray]:
    found = measures.moment_of(data, "projected", moment)
    return {name: found.sel(relation=name, drop=True) for name in RELATIONS}


@lm.evidence("c3-gradient")
def gradient_signs(data: xr.Dataset, moment: str = "0") -> dict[str, xr.DataArray]:
    """Projected gradients of equal and of unequal steps, and how far same/same is below the others."""
    found = _projected(lm.cells(data, label_order="true"), moment)
    parts = {"equal step": (SAME, OTHER_PATTERN), "unequal step": (OTHER_STEP, OTHER)}
    signs = {part: lm.stack({name: found[name] for name in names}, "relation") for part, names in parts.items()}
    return {**signs, "lead": lm.stack({name: found[name] - found[SAME] for name in RELATIONS[1:]}, "relation")}


@lm.evidence("c3-gradient")
def gradient_means(data: xr.Dataset, label_order: str = "true", over: bool = False) -> xr.DataArray:
    """The four mean projected gradients at W = 0; over: over the reference values."""
    found = _projected(lm.cells(data, label_order=label_order), "0")
    return lm.stack({name: found[name].mean("seed") / (FIRST[name] if over else 1) for name in RELATIONS}, "relation")


@lm.evidence("c1-reference")
def boundary(data: xr.Dataset, variant: str = "intact", which: str = "train_groups") -> dict[str, xr.DataArray]:
    """Off-step attention: the least before ηt = 500, and the largest from the first record at the boundary on."""
    run = lm.cells(data, variant=variant)
    off = measures.off_step(run, which)
    arrived = (off <= STAGE).where(run.time.notnull(), False).cumsum("record") > 0
    later = off.where(arrived).max("record").fillna(np.inf)
    return {"early": off.where(run.time < 500).min("record"), "later": later}


def _along(data: xr.Dataset, name: str, times: Any, chains: Any = CHAINS) -> xr.DataArray:
    """A moment's quantity, or the projected gradient of a relation, at these times and chains, along `at`."""
    data = lm.cells(data, chain=list(chains))
    values = bare(data.projected.sel(relation=name, drop=True) if name in RELATIONS else data[name])
    cells = {f"K={K}, ηt={t}": values.sel(chain=K, moment_read=f"{t}", drop=True) for K in chains for t in times}
    found = lm.stack(cells, "at")
    if bool(found.isnull().any()):
        raise lm.NotApplicable(f"not reached in this preset: ηt = {', '.join(map(str, times))}")
    return found


@lm.evidence("c17-steps")
def projected(
    data: xr.Dataset, relation: str, times: Any = SECOND, chains: Any = CHAINS, over: Any = None, law: Any = None
) -> xr.DataArray:
    """A projected gradient; over: over this many times the mean of p(1-p)²; law: put on it with its residuals."""
    found = _along(data, relation, times, chains)
    found = found if over is None else found / (over * _along(data, "moment_curvature", times, chains))
    return found if law is None else found - found.mean("seed") + law


@lm.evidence("c17-steps")
def other_step(data: xr.Dataset, moment: str = "late") -> xr.DataArray:
    """Both unequal-step gradients over the measured off-step mass; moment: gradients of W = 0 against later masses."""
    mass = _along(data, "moment_off_step", LATE).mean("seed")
    sizes = {name: abs(_along(data, name, LATE if moment == "late" else (0,)).mean("seed")) for name in RELATIONS[1::2]}
    each = 1 if moment == "late" else len(LATE)  # that of W = 0 stands for every later time of its chain
    return lm.stack({name: mass.copy(data=np.repeat(size.values, each)) / mass for name, size in sizes.items()}, "of")


@lm.evidence("c17-steps")
def factor_two(data: xr.Dataset, times: tuple[int, ...] = LATE) -> xr.DataArray:
    """|same/same| over |other pattern, same step|."""
    return abs(_along(data, SAME, times)) / abs(_along(data, OTHER_PATTERN, times))


@lm.evidence("c1-reference")
def attention_from_gain(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """p_n from u_μ less the measured one, the largest over the records from ηt = 1000 on."""
    chosen = lm.cells(data, variant=variant)
    gap = abs(concentration(ALPHA, chosen.pattern_gain) - chosen.train_groups.isel(group=0, drop=True)).mean("seed")
    worst = gap.where(chosen.time.isel(seed=0) >= 1000).max("record")
    if not np.isfinite(float(worst)):
        raise lm.NotApplicable("training ends before ηt = 1000")
    return worst


@lm.evidence("c17-steps")
def law_gap(
    data: xr.Dataset, chains: tuple[int, ...] = (1, 3, 5), divided: bool = False, sigma: float | None = None
) -> xr.DataArray:
    """u_μ less what the law says from u_μ at ηt = 500; divided: its rate over K; sigma: in place of the derived one."""
    parts = {}
    for K in chains:
        run = lm.cells(data, chain=K)
        gain, time = bare(run.pattern_gain), bare(run.time)
        start = lm.at(gain, time, 500)
        for t in (1000, 2000, 4000, 8000):
            said = follow_gain(start, 500, t, M, ALPHA, EXAMPLES, slower=K if divided else 1, sigma=sigma)
            parts[f"K={K}, ηt={t}"] = lm.at(gain, time, t) - said
    return lm.stack(parts, "at")


@lm.evidence("c17-steps")
def time_spread(data: xr.Dataset, along: str = "chain") -> xr.DataArray:
    """ηt at loss 0.01: largest over smallest mean over an axis."""
    means = measures.loss_time(data, LEVEL).mean("seed")
    return means.max(along) / means.min(along)


label_block = measures.reading(
    "label_block", "c1-reference", "The mean entries between labels and query patterns, own and other, at the end.",
    lambda run: {"own": lm.at_end(run.label_own), "other": lm.at_end(run.label_other)}, variant="intact",
)  # fmt: skip
_BOUNDS = gradient_bounds(0.131171, ALPHA, DEFAULT.reasoning_steps, M)
_BELOW, _ABOVE = lm.at_most(0.0, by="every", strict=True), lm.at_least(0.0, by="every", strict=True)
_SETTLED = lm.at_most(STAGE, by="every")
_PATTERN_TIMES = lm.Control("times over M", time_spread.of("c2-patterns")("training_patterns"))
_PERMUTED = lm.Control("targets permuted", label_order="shuffled")
_AT_ZERO = lm.Control("W = 0", times=(0,))
_FROZEN = lm.Control("frozen W", variant="frozen")

CLAIMS = (
    lm.Claim("c2-step-size", "Theorem 3", "comparison")
    .states("The loss is a function of ηt: with η = 1 and η = 10 it agrees within 5 % at ηt = 500, 1000 and 2000.")
    .in_symbols(r"\ell_{\eta=1}(\eta t) = \ell_{\eta=10}(\eta t)")
    .judged(loss_ratio(), between(0.95, 1.05, predicted=1.0), lm.Control("compared at equal t", clock="step")),
    lm.Claim("c2-loss-slope", "Theorem 3", "scaling")
    .states("Late in training the loss falls as 1/t.")
    .in_symbols(r"\ell \propto t^{-1}")
    .judged(slope(), lm.within(-1.3, -0.7, predicted=-1.0), _FROZEN),
    lm.Claim("c2-patterns", "Theorem 3", "scaling")
    .states("The time to loss 0.01 is proportional to the number of patterns.")
    .in_symbols(r"\eta t_{\ell = 0.01} \propto M")
    .judged(patterns_exponent(), lm.within(0.7, 1.3, predicted=1.0), lm.Control("time of the first stage", of="stage")),
    lm.Claim("c2-alpha", "Theorem 3", "ordering")
    .states("The time to loss 0.02 falls with the share of matching examples.")
    .in_symbols(r"\alpha_1 < \alpha_2 \Rightarrow t_{\ell = 0.02}(\alpha_1) > t_{\ell = 0.02}(\alpha_2)")
    .judged(
        times.of("c2-alpha")("fraction", ALPHAS, 0.02, "loss"),
        lm.decreasing("fraction", by="every"),
        lm.Control("α values reversed", order=-1),
    ),
    lm.Claim("c2-stage1-steps", "Theorem 3", "ordering")
    .states("The first stage lasts longer with more reasoning steps.")
    .in_symbols(r"K_1 < K_2 \Rightarrow T_1(K_1) < T_1(K_2)")
    .judged(
        times("case", [f"K={K}" for K in range(2, 7)]),
        lm.increasing("case", by="every"),
        lm.Control("K values reversed", order=-1),
    ),
    lm.Claim("c2-stage1-alpha", "Theorem 3", "ordering")
    .states("The first stage is shorter with more matching examples.")
    .in_symbols(r"\alpha_1 < \alpha_2 \Rightarrow T_1(\alpha_1) > T_1(\alpha_2)")
    .judged(
        times("case", [f"α={a:g}" for a in ALPHAS]), falling("case"), lm.Control("off-step attention 0.05", level=STAGE)
    ),
    lm.Claim("c3-signs", "Lemma F.3.5", "ordering")
    .states("""The first gradient raises the logits of the query's own step and lowers those of other steps, whatever
        the pattern, and raises that of its own step and pattern most.""")
    .in_symbols(r"D_{==} < D_{\ne=} < 0 < D_{=\ne},\, D_{\ne\ne}")
    .judged(
        gradient_signs(),
        lm.all_of(**{"equal step": _BELOW, "unequal step": _ABOVE, "lead": _ABOVE}),
        lm.Control("W at ηt = 500", moment="500"),
    ),
    lm.Claim("c3-values", "Lemma F.3.5", "comparison", source="derived")
    .states("The four mean projected gradients at W = 0 are the reference values within 5 %.")
    .in_symbols(r"(D_{==}, D_{=\ne}, D_{\ne=}, D_{\ne\ne}) = (-0.0325, 0.0086, -0.0272, 0.0140)")
    .judged(gradient_means(over=True), lm.within(0.95, 1.05, predicted=1.0), _PERMUTED),
    lm.Claim("c3-bounds", "Lemma F.3.5, (F.7)-(F.10)", "bound")
    .states("The four mean projected gradients at W = 0 satisfy the bounds of the lemma at p = 0.1312.")
    .in_symbols(r"""D_{==} \le
    \frac{(1-p)^2}{KM}\left(-4p\left(1+\frac{\alpha^2}{K^2}\right)+\ldots\right)-\frac{\alpha^2}{K^3}(1-p)^2""")
    .judged(gradient_means(), lm.within(_BOUNDS), _PERMUTED),
    lm.Claim("c4-off-step", "Lemma F.3.6", "limit")
    .states("Attention on other steps falls to 0.05 before ηt = 500 and stays there.")
    .in_symbols(r"\sum_{i \notin \mathrm{step}\,k} s_i \le \epsilon = 0.05, \quad \eta t \ge 500")
    .judged(
        boundary(),
        lm.all_of(early=_SETTLED, later=_SETTLED),
        lm.Control("all positional encodings equal", variant="equal positions"),
    ),
    late("c5-same-same", "Lemma F.3.7, (F.13)", "bound")
    .states("As stated: in the second stage the gradient of same step and pattern is at least 4/(2M) p(1-p)².")
    .in_symbols(r"D_{==} \le -\frac{4}{2M} \mathbb{E}[p_n(1-p_n)^2]")
    .judged(
        projected(SAME, over=-2 / M),
        lm.at_least(1.0),
        lm.Control("put on 1.2 times the bound", law=1.2),
        expected=lm.FAILS,
    ),
    late("c5-same-same-corrected", "Lemma F.3.7, (F.13), corrected", "bound", corrects="c5-same-same")
    .states("""Corrected: the projected gradient of same step, same pattern is at least 1/M p(1-p)² in size: all steps
    share the pattern block.""")
    .in_symbols(r"D_{==} \le -\frac{1}{M} \mathbb{E}[p_n(1-p_n)^2]")
    .judged(
        projected(SAME, over=-1 / M), lm.at_least(1.0), lm.Control("other pattern, same step", relation=OTHER_PATTERN)
    ),
    late("c5-other-pattern", "Lemma F.3.7, (F.14)", "bound")
    .states("From ηt = 1000 on the projected gradient of same step, other pattern is at most 1/(2M) p(1-p)² in size.")
    .in_symbols(r"|D_{\ne=}| \le \frac{1}{2M} \mathbb{E}[p_n(1-p_n)^2]")
    .judged(projected(OTHER_PATTERN, LATE, over=1 / (2 * M)), between(-1.0, 1.0), _AT_ZERO),
    late("c5-other-step", "Lemma F.3.7, (F.15)", "bound")
    .states("The projected gradients of other steps are at most the attention on other steps.")
    .in_symbols(r"|D_{=\ne}|,\, |D_{\ne\ne}| \le \sum_{i \notin \mathrm{step}\,k} s_i")
    .judged(other_step(), lm.at_most(1.0), lm.Control("gradients at W = 0 against the later masses", moment="start")),
    late("c5-factor-two", "Lemma F.3.7", "ordering")
    .states("The query's own pattern is pushed at least twice as much as another one.")
    .in_symbols(r"|D_{==}| \ge 2 |D_{\ne=}|")
    .judged(factor_two(), lm.at_least(2.0, by="every"), _AT_ZERO),
    late("c5-shared-block", "Lemma F.3.7", "ordering", source="derived")
    .states("The same pattern at another step is pushed up too (K = 3): the pattern block is shared by all steps.")
    .in_symbols(r"D_{=\ne} < 0")
    .judged(projected(OTHER_STEP, SECOND[:3], [3]), _BELOW, _AT_ZERO),
    late("c6-attention", "(F.24)", "comparison")
    .states("From ηt = 1000 on the attention on matching columns follows from the pattern gain within 0.02.")
    .in_symbols(r"p_n = \frac{e^{u_\mu}}{e^{u_\mu} + \frac{1-\alpha}{\alpha}}")
    .judged(attention_from_gain(), lm.at_most(0.02), _FROZEN),
    late("c6-gain-slope", "(F.31)", "scaling")
    .states("The pattern gain grows as half of log t: its slope from ηt = 2000 on is between 0.45 and 0.65.")
    .in_symbols(r"u_\mu \simeq \frac{1}{2} \log \frac{\eta (1-\alpha)^2 t}{\alpha^2 K M}")
    .judged(
        slope("pattern_gain", 2000, logs=False),
        lm.within(0.45, 0.65, predicted=0.5),
        lm.Control("step gain in its place", of="step_gain"),
    ),
    late("c17-law", "C17, derived", "comparison", source="derived")
    .states("du/d(ηt) = (1+σ)/(M-1) p(1-p)², without K: from ηt = 500 on it predicts u_μ within 0.1, K = 1, 3, 5.")
    .in_symbols(r"\frac{du_\mu}{d(\eta t)} = \frac{1+\sigma}{M-1}\, p (1-p)^2")
    .judged(law_gap(), near(0.1), lm.Control("rate divided by K, K = 3", chains=(3,), divided=True)),
    late("c17-law-single-step", "C17, derived", "comparison", source="derived")
    .states("With a single step the law du/d(ηt) = (1+σ)/(M-1) p(1-p)² predicts u_μ within 0.02.")
    .in_symbols(r"\frac{du_\mu}{d(\eta t)} = \frac{1+\sigma}{M-1}\, p (1-p)^2, \quad K = 1")
    .judged(law_gap((1,)), near(0.02), lm.Control("σ set to 0", sigma=0.0)),
    late("c17-free-of-steps", "C17, derived", "comparison", source="derived")
    .states("The time to loss 0.01 does not depend on K = 1, ..., 6: its means differ by at most 20 %.")
    .in_symbols(r"\max_K t_{\ell = 0.01} \le 1.2 \min_K t_{\ell = 0.01}")
    .judged(time_spread(), lm.at_most(1.2), _PATTERN_TIMES),
    late("c17-free-of-examples", "C17, derived", "comparison", source="derived")
    .states("The time to loss 0.01 does not depend on the number of training examples, 5 to 40.")
    .in_symbols(r"\max_{l_{tr}} t_{\ell = 0.01} \le 1.2 \min_{l_{tr}} t_{\ell = 0.01}")
    .judged(time_spread.of("c17-examples")("examples"), lm.at_most(1.2), _PATTERN_TIMES),
    late("c18-label-block", "C18, derived", "bound", source="derived")
    .states("""Votes for the query's own pattern are weighted down, since shift tasks have no fixed points: the entry
        between a label and the same query pattern is between -0.35 and -0.12, and 0 within 0.03 for others.""")
    .in_symbols(r"(0; \mu_a)^\top W (\mu_a; 0) \in [-0.35, -0.12], \quad (0; \mu_b)^\top W (\mu_a; 0) \approx 0")
    .judged(
        label_block(),
        lm.all_of(own=lm.within(-0.35, -0.12), other=lm.within(-0.03, 0.03, predicted=0.0)),
        lm.Control("trained on independent random permutations", variant="independent tasks"),
    ),
)

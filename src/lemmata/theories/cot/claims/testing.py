"""Testing prompts: votes and how many examples they need (C10, C11), how far the theorems reach (noise C12, patterns
outside the span C13, α = 1 C14, blind patterns C16), and what figures 7.1 to 7.6 show."""

from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.cot import measures
from lemmata.theories.cot.bounds import concentration, plurality_error
from lemmata.theories.cot.claims.training import boundary
from lemmata.theories.cot.measures import above, below, between, error, first_concentration, near, reading, tested
from lemmata.theories.cot.theorem import longest_errors
from lemmata.theories.cot.voters import matches

CELLS = (0.8, 5), (0.8, 10), (0.8, 20), (0.8, 40), (0.2, 40)


def vote_error(fraction: float, length: int) -> float:
    """The exact plurality probability of an error at the first step, uniform(0.5, 0.8)."""
    right = measures.DEFAULT.trajectory ** (1 / measures.DEFAULT.reasoning_steps)
    voters, shown = int(matches(fraction, length)), measures.DEFAULT.test_patterns
    return float(plurality_error(right, measures.DEFAULT.primacy, voters, shown))


@lm.evidence("c11-mechanism")
def disagreement(data: xr.Dataset, model: str = "cot", cells: tuple[tuple[float, int], ...] = CELLS) -> lm.Uncertain:
    """Differences of the first-step errors of model, ideal voter and exact plurality, with their standard errors."""
    gaps, spreads = {}, {}
    for fraction, length in cells:
        cell = lm.cells(data, test_fraction=fraction, test_examples=length, moment="end").isel(reasoning_step=0)
        prompts = float(cell.prompts.sum())
        rates = {who: float(cell[f"{who}_error"].mean()) for who in (model, "voter")}
        rates["exact"] = vote_error(fraction, length)
        variance = {who: rate * (1 - rate) / prompts for who, rate in rates.items()} | {"exact": 0.0}
        for one, other in ((model, "voter"), (model, "exact"), ("voter", "exact")):
            label = f"α'={fraction:g}, l={length}: {one} - {other}"
            gap, spread = rates[one] - rates[other], np.sqrt(variance[one] + variance[other])
            gaps[label], spreads[label] = np.sign(gap) * max(abs(gap) - 0.01, 0.0), spread
    coords = {"at": list(gaps)}
    return lm.Uncertain(*(xr.DataArray(list(v.values()), dims="at", coords=coords) for v in (gaps, spreads)))


@lm.evidence("c10-voter")
def length_exponent(data: xr.Dataset, of: str, law: float | None = None) -> xr.DataArray:
    """The exponent of the voter's l*(0.05) in α', ρ or τ; law: residuals put on that exponent."""
    chosen, field = measures.required_length(lm.cells(data, cell=list(measures.SWEEPS[of]))), measures.FIELDS[of]
    needed = chosen.swap_dims(cell=field)
    return lm.log_slopes(needed if law is None else lm.on_law(needed, field, law), field)


def _gap(cell: xr.Dataset) -> xr.DataArray:
    return first_concentration(cell) - concentration(0.8, cell.pattern_gain)


_TWENTY: Any = {"test_fraction": 0.8, "test_examples": 20, "moment": "end"}
concentrations = reading(
    "concentrations", "c11-mechanism", "Attention on S_k* at every step, α' = 0.8, 20 examples.",
    lambda cell: cell.concentration, **_TWENTY,
)  # fmt: skip
formula_gap = reading(
    "formula_gap", "c11-mechanism", "First-step concentration less α'e^u/(α'e^u+1-α'), α' = 0.8.", _gap, **_TWENTY
)
outside_gap = reading(
    "outside_gap", "c13-span", "The same outside the span.", _gap, test_fraction=0.8, pattern_law="outside"
)
agreement = reading(
    "agreement", "c11-mechanism", "Share of (prompt, step) pairs on which model and ideal voter agree.",
    lambda cell: cell.agreement, **_TWENTY,
)  # fmt: skip


@lm.evidence("c12-noise")
def noise_effect(data: xr.Dataset, noise: tuple[str, ...] = ("0.2", "0.7")) -> lm.Uncertain:
    """CoT error with noise less that without on the same prompts of all seeds, with its standard error."""
    quiet = lm.cells(data, noise="0").prompt_error.values
    changes = [(lm.cells(data, noise=label).prompt_error.values - quiet).ravel() for label in noise]
    parts = [each.mean() for each in changes], [each.std(ddof=1) / np.sqrt(each.size) for each in changes]
    return lm.Uncertain(*(xr.DataArray(part, dims="noise", coords={"noise": list(noise)}) for part in parts))


span_gap = reading(
    "span_gap", "c13-span", "First-step concentration less α'.",
    lambda cell: first_concentration(cell) - cell.test_fraction, pattern_law="outside", test_fraction=[0.2, 0.4, 0.8],
)  # fmt: skip
alpha_concentration = reading(
    "alpha_concentration", "c14-alpha-one", "First-step concentration at α' = 0.4.", first_concentration, fraction=1.0
)
blind_row = reading(
    "blind_row", "c16-blind", "The largest component of μ'_1ᵀ G^μ.",
    lambda cell: cell.first_row, pattern_law="blind", case="first",
)  # fmt: skip
blind_column = reading(
    "blind_column", "c16-blind", "The largest component of G^μ μ'_1 over u_μ.",
    lambda cell: cell.first_column / cell.pattern_gain, pattern_law="blind", case="first",
)  # fmt: skip


@lm.evidence("c14-alpha-one")
def gain_ratios(data: xr.Dataset, fraction: float = 1.0) -> dict[str, xr.DataArray]:
    """Gains of training at this α over those at α = 0.4, seed by seed."""
    one, usual = (lm.cells(data, fraction=value) for value in (fraction, 0.4))
    return {"steps": one.step_gain / usual.step_gain, "patterns": one.pattern_gain / usual.pattern_gain}


@lm.evidence("c16-blind")
def by_query(data: xr.Dataset, of: str, pattern_law: str = "blind") -> dict[str, xr.DataArray]:
    """First-step concentration, or CoT error, for the query μ'_1, for the others, and the ratio of both, α' = 0.2."""
    quantity = {"concentration": first_concentration, "error": error}[of]
    first, others = (quantity(lm.cells(data, pattern_law=pattern_law, case=name)) for name in ("first", "others"))
    return {"first": first, "others": others, "ratio": lm.ratio_of_means(first, others)}


@lm.evidence("c16-blind")
def rare_errors(data: xr.Dataset, lengths: tuple[int, ...], pattern_law: str = "blind") -> dict[str, xr.DataArray]:
    """CoT error for the query μ'_1, of model and ideal voter, with so many examples of which one in twenty matches."""
    cells = {f"{n}": lm.cells(data, pattern_law=pattern_law, case=f"first, {n}") for n in lengths}
    return {who: lm.stack({n: error(cell, who) for n, cell in cells.items()}, "examples") for who in ("cot", "voter")}


@lm.evidence("c16-blind")
def gain_deviation(data: xr.Dataset, factor: str = "derived") -> xr.DataArray:
    """Mean over j of |μ'_jᵀGμ'_j - u_μ (1-(Σλ_ji)²/M)| / u_μ with Haar patterns; factor: as derived, or 1."""
    chosen = lm.cells(data, pattern_law="haar", case="first")
    said = chosen.gain_factor if factor == "derived" else 1.0
    return (abs(chosen.own_gain - chosen.pattern_gain * said) / chosen.pattern_gain).mean("test_pattern")


_HAAR = lm.Control("Haar patterns", pattern_law="haar")
_IDENTITY = lm.Control("the training patterns themselves", pattern_law="identity")
PANELS = {"alpha": "test_fraction", "tau": "trajectory", "rho": "primacy"}


@lm.evidence("f71-example")
def example_errors(data: xr.Dataset, transitions: str = "example") -> dict[str, xr.DataArray]:
    """ICL and CoT error of the ideal voters, 1280 examples."""
    chosen = lm.cells(data, transitions=transitions, test_examples=1280)
    return {"icl": error(chosen, "icl_voter"), "cot": error(chosen, "voter")}


@lm.evidence()
def panel(data: xr.Dataset, axis: str, who: str = "cot", order: int = 1) -> xr.DataArray:
    """Errors at 20 examples along the axis of a panel; order: -1 reverses it."""
    return error(lm.cells(data, test_examples=20), who).isel({axis: slice(None, None, order)})


@lm.evidence("f74a-alpha", "f74b-tau", "f74c-rho")
def panels(alpha: xr.Dataset, tau: xr.Dataset, rho: xr.Dataset, order: int = 1) -> dict[str, xr.DataArray]:
    """ICL errors at 20 examples along every panel of Figure 7.4."""
    parts = zip(PANELS.items(), (alpha, tau, rho), strict=True)
    return {name: panel.function(data, axis, "icl", order) for (name, axis), data in parts}


@lm.evidence("c1-reference")
def final_groups(data: xr.Dataset, variant: str = "intact") -> dict[str, xr.DataArray]:
    """On testing prompts: (same, same) at the end, off-step attention before ηt = 500 and after the boundary."""
    last = lm.at_end(lm.cells(data, variant=variant).test_groups.isel(group=0, drop=True))
    return {"same": last, **boundary.function(data, variant, "test_groups")}


_SMALL, _RARE = below(0.05), below(0.02)
_REVERSED = lm.Control("values reversed", order=-1)


CLAIMS = (
    tested("c10-agreement", "C10, derived", "comparison", source="derived")
    .states("""First-step errors of model, ideal voter and the exact plurality probability agree within 3 standard
        errors of the difference and 0.01, for 4 to 32 voters.""")
    .in_symbols(r"""\bar{R}_1 = \bar{V}_1 = \Pr\left[\mathrm{arg}\max_j N_j \ne f_1(i)\right], \quad N \sim
    \mathrm{Mult}(n, A_{1(i,\cdot)})""")
    .judged(
        disagreement(),
        lm.within(0.0, 0.0, predicted=0.0, se=3),
        lm.Control("voters regardless of the input, read as the model", model="blind_voter", cells=((0.2, 40),)),
    ),
    *(
        lm.Claim(f"c10-exponent-{name}", "C10, derived", "scaling", source="derived")
        .states(f"""The number of examples that a vote needs has an exponent in {of} between {low} and {high}; the
        paper's bound has -2.""")
        .in_symbols(rf"l^* \propto {symbol}^{{k}}, \quad k \in [{low}, {high}]")
        .judged(length_exponent(of), lm.within(low, high), lm.Control(f"l* put on {of}^{law:g}", law=law))
        for name, of, symbol, low, high, law in (
            ("alpha", "α'", r"(\alpha')", -1.3, -0.7, -2),
            ("rho", "ρ", r"\rho", -2.6, -1.7, -1),
            ("tau", "τ", r"\tau", -1.9, -0.9, -3),
        )
    ),
    lm.Claim("c11-concentration", "Proposition 3, (7.23)", "limit")
    .states("At every one of the three steps at least 0.95 of the attention is on the matching columns of that step.")
    .in_symbols(r"\sum_{i \in \mathcal{S}_k^*} s_i \ge 0.95, \quad k = 1, 2, 3")
    .judged(concentrations(), lm.at_least(0.95, by="every"), lm.Control("W at ηt = 50", moment="50")),
    lm.Claim("c11-formula", "Proposition 3", "comparison", source="derived")
    .states("""At the first step the attention on matching columns is α'e^u/(α'e^u+1-α') within 0.02, u the pattern
    gain.""")
    .in_symbols(r"\sum_{i \in \mathcal{S}_1^*} s_i = \frac{\alpha' e^u}{\alpha' e^u + 1 - \alpha'}")
    .judged(formula_gap(), near(0.02), lm.Control("testing patterns outside the span", outside_gap())),
    lm.Claim("c11-voter", "Proposition 3", "comparison")
    .states("The model votes: it gives the ideal voter's output at 0.95 or more of all steps, 20 examples.")
    .in_symbols(r"\Pr[v_k = v_k^{\mathrm{voter}}] \ge 0.95")
    .judged(agreement(), above(0.95), lm.Control("W = 0", moment="0")),
    lm.Claim("c12-noise", "Theorem 4, ‖δ‖ ≤ √2/2", "comparison")
    .states("""Noise orthogonal to the patterns is harmless: at ν = 0.2 and 0.7 the CoT error on the same prompts
        changes by at most 3 standard errors, or 0.01 where that is more.""")
    .in_symbols(r"\bar{R}_{\mathrm{CoT}}(\nu) = \bar{R}_{\mathrm{CoT}}(0), \quad \nu = 0.2, 0.7")
    .judged(
        noise_effect(),
        lm.within(0.0, 0.0, predicted=0.0, se=3, floor=0.01),
        lm.Control("noise of norm 2 in the span of the testing patterns", noise=("inside",)),
    ),
    lm.Claim("c13-outside-span", "Theorem 4, (7.19)", "limit", source="derived")
    .states("Patterns outside the span get no pattern logit: first-step concentration is α' within 0.03.")
    .in_symbols(r"\mu'_j \perp \mathcal{M} \Rightarrow \sum_{i \in \mathcal{S}_1^*} s_i = \alpha'")
    .judged(span_gap(), near(0.03), lm.Control("patterns inside the span", pattern_law="haar")),
    lm.Claim("c14-positions", "footnote on α → 1", "comparison")
    .states("With α = 1 positions are learnt (at least 0.8 of the gain at α = 0.4), patterns hardly (at most 0.25).")
    .in_symbols(r"""\frac{u_c(\alpha=1)}{u_c(\alpha=0.4)} \ge 0.8, \quad \frac{u_\mu(\alpha=1)}{u_\mu(\alpha=0.4)} \le
    0.25""")
    .judged(
        gain_ratios(),
        lm.all_of(steps=lm.at_least(0.8), patterns=lm.at_most(0.25)),
        lm.Control("α = 0.4 in both places", fraction=0.4),
    ),
    lm.Claim("c14-concentration", "footnote on α → 1", "limit")
    .states("With α = 1 the first-step concentration at α' = 0.4 stays between 0.4 and 0.6.")
    .in_symbols(r"0.4 \le \sum_{i \in \mathcal{S}_1^*} s_i \le 0.6, \quad \alpha = 1, \alpha' = 0.4")
    .judged(alpha_concentration(), between(0.4, 0.6), lm.Control("α = 0.4", fraction=0.4)),
    lm.Claim("c16-blind-law", "C16, derived", "identity", source="derived")
    .states("Along the mean of all training patterns W never learns: every component of μ'_1ᵀG is below 10^-6.")
    .in_symbols(r"\left\| \mu_1'^{\top} G^\mu \right\|_\infty \le 10^{-6}")
    .judged(blind_row(), lm.at_most(1e-6, by="every"), _HAAR),
    lm.Claim("c16-blind-query", "C16, derived", "bound", source="derived")
    .states("""As a query the mean of all training patterns gets next to no logits: every component of Gμ'_1 is at most
    0.01 of the pattern gain.""")
    .in_symbols(r"\left\| G^\mu \mu'_1 \right\|_\infty \le 10^{-2}\, u_\mu")
    .judged(blind_column(), lm.at_most(1e-2, by="every"), _HAAR),
    lm.Claim("c16-concentration", "C16, derived", "comparison", source="derived")
    .states("""The mean of all training patterns, as a query, spreads its attention evenly: with α' = 0.2 concentration
    is between 0.15 and 0.25 for it, and at least 0.8 for other queries.""")
    .in_symbols(r"""\sum_{i \in \mathcal{S}_1^*} s_i \in [0.15, 0.25] \; (x = \mu'_1), \quad \sum_{i \in
    \mathcal{S}_1^*} s_i \ge 0.8 \; (x \ne \mu'_1)""")
    .judged(by_query("concentration"), lm.all_of(first=between(0.15, 0.25), others=above(0.8)), _HAAR),
    lm.Claim("c16-error", "C16, derived", "comparison", source="derived")
    .states("""For the mean of all training patterns as a query CoT errs: at least 0.4, and at least 1.5 times as often
    as for other queries.""")
    .in_symbols(r"\bar{R}_{\mathrm{CoT}}(\mu'_1) \ge \max(0.4,\, 1.5\, \bar{R}_{\mathrm{CoT}}(\mu'_{j \ne 1}))")
    .judged(by_query("error"), lm.all_of(first=above(0.4), ratio=above(1.5)), _HAAR),
    lm.Claim("c16-theorem4", "Theorem 4", "limit")
    .states("""As stated, patterns in the span suffice: for the mean of all training patterns as a query the CoT error
        is at most 0.02 with 1600 examples, one in twenty matching.""")
    .in_symbols(r"\bar{R}_{\mathrm{CoT}}(\mu'_1) \le 0.02")
    .judged(rare_errors((1600,)), lm.all_of(cot=_RARE), _IDENTITY, expected=lm.FAILS),
    lm.Claim("c16-theorem4-corrected", "Theorem 4, corrected", "bound", corrects="c16-theorem4")
    .states("""Corrected: for the mean of all training patterns as a query and α' < 1/M' CoT errs in at least 0.9 of the
    steps however many examples there are, 400 or 1600, where an ideal voter errs in at most 0.02.""")
    .in_symbols(r"\alpha' < \frac{1}{M'} \Rightarrow \bar{R}_{\mathrm{CoT}}(\mu'_1) \ge 0.9")
    .judged(rare_errors((400, 1600)), lm.all_of(cot=above(0.9), voter=_RARE), _IDENTITY),
    lm.Claim("c16-gain", "C16, derived", "comparison", source="derived")
    .states("A testing pattern gets the pattern gain times 1-(Σλ_ji)²/M, within 2 % in the mean.")
    .in_symbols(r"\mu_j'^{\top} G^\mu \mu'_j = u_\mu \left(1 - \frac{(\sum_i \lambda_{j,i})^2}{M}\right)")
    .judged(gain_deviation(), lm.at_most(0.02, by="every"), lm.Control("factor 1 in its place", factor="one")),
    lm.Claim("f71-example", "Example 1, Figure 7.1", "limit", source="figure")
    .states("In Example 1 ICL errs on one of two inputs (error 0.45 to 0.55 with 1280 examples), CoT on none (0.02).")
    .in_symbols(r"\bar{R}_{\mathrm{ICL}} \to \frac{1}{2}, \quad \bar{R}_{\mathrm{CoT}} \to 0")
    .judged(
        example_errors(),
        lm.all_of(icl=between(0.45, 0.55, predicted=0.5), cot=_RARE),
        lm.Control("second step (0.2, 0.8), (0.8, 0.2): the condition holds", transitions="direct"),
    ),
    *(
        tested(f"f73{letter}-{name}", f"Figure 7.3({letter})", "ordering", source="figure")
        .states(f"With 20 examples the CoT error falls with {words}.")
        .in_symbols(rf"{symbol} \nearrow \; \Rightarrow \; \bar{{R}}_{{\mathrm{{CoT}}}} \searrow")
        .judged(panel.of(f"f73{letter}-{name}")(PANELS[name]), measures.falling(PANELS[name]), _REVERSED)
        for letter, name, symbol, words in (
            ("a", "alpha", r"\alpha'", "the share α' of matching examples"),
            ("b", "tau", r"\tau^f", "the trajectory probability τ"),
            ("c", "rho", r"\rho^f", "the primacy ρ"),
        )
    ),
    tested("f74-order", "Figure 7.4", "ordering", source="figure")
    .states("With 20 examples the ICL error falls along every panel: α', τ_o and ρ_o.")
    .in_symbols(r"\alpha', \tau_o^f, \rho_o^f \nearrow \; \Rightarrow \; \bar{R}_{\mathrm{ICL}} \searrow")
    .judged(panels(), lm.all_of(**{name: measures.falling(axis) for name, axis in PANELS.items()}), _REVERSED),
    tested("f75-cot", "Figure 7.5", "ordering", source="figure")
    .states("With and without the condition the CoT error at 1280 is at most 0.05, and a quarter of that at 20.")
    .in_symbols(r"\bar{R}_{\mathrm{CoT}}(1280) \le \min(0.05,\, \frac{1}{4} \bar{R}_{\mathrm{CoT}}(20))")
    .judged(
        longest_errors("cot"),
        lm.all_of(long=_SMALL, ratio=below(0.25)),
        lm.Control("ICL error where the condition fails", who="icl", conditions=("fails",)),
    ),
    lm.Claim("f76-groups", "Figure 7.6", "limit", source="figure")
    .states("""On testing prompts attention ends with at least 0.95 on the same step and pattern; both groups of other
        steps together are at most 0.05 from a time before ηt = 500 on.""")
    .in_symbols(r"p_n \to 1, \quad \sum_{i \notin \mathrm{step}\,k} s_i \le 0.05")
    .judged(
        final_groups(),
        lm.all_of(same=above(0.95), early=_SMALL, later=_SMALL),
        lm.Control("all positional encodings equal", variant="equal positions"),
    ),
)

"""Attention on matching columns makes CoT a vote by step (C11), and votes say how many examples are needed (C10)."""

from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.cot import measures
from lemmata.theories.cot.bounds import concentration, plurality_error
from lemmata.theories.cot.measures import DEFAULT, above, between, first_concentration, reading, tested
from lemmata.theories.cot.theorem import FIELDS, SWEEPS
from lemmata.theories.cot.voters import matches

CELLS = [(0.8, 5), (0.8, 10), (0.8, 20), (0.8, 40), (0.2, 40)]


def vote_error(fraction: float, length: int) -> float:
    """The exact plurality probability of an error at the first step, uniform(0.5, 0.8)."""
    right, voters = DEFAULT.trajectory ** (1 / DEFAULT.reasoning_steps), int(matches(fraction, length))
    return float(plurality_error(right, DEFAULT.primacy, voters, DEFAULT.test_patterns))


@lm.evidence("c11-mechanism")
def disagreement(
    data: xr.Dataset, model: str = "cot", cells: tuple[tuple[float, int], ...] = tuple(CELLS)
) -> lm.Uncertain:
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
    chosen = measures.required_length(lm.cells(data, cell=list(SWEEPS[of])))
    needed = measures.numbered(chosen, "cell", FIELDS[of])
    return lm.log_slopes(needed if law is None else lm.on_law(needed, FIELDS[of], law), FIELDS[of])


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


def _exponent(of: str, words: str, low: float, high: float, law: float, wrong: str) -> lm.Claim:
    name = {"α'": "alpha", "ρ": "rho", "τ": "tau"}[of]
    return (
        lm.Claim(f"c10-exponent-{name}", "C10, derived", "scaling", source="derived")
        .states(f"The number of examples that a vote needs has an exponent in {of} {words}; the paper's bound has -2.")
        .judged(length_exponent(of), lm.within(low, high), lm.Control(f"l* put on {wrong}", law=law))
    )


CLAIMS = (
    tested("c10-agreement", "C10, derived", "comparison", source="derived")
    .states("""First-step errors of model, ideal voter and the exact plurality probability agree within 3 standard
        errors of the difference and 0.01, for 4 to 32 voters.""")
    .judged(
        disagreement(),
        lm.within(0.0, 0.0, predicted=0.0, se=3),
        lm.Control("voters regardless of the input, read as the model", model="blind_voter", cells=((0.2, 40),)),
    ),
    _exponent("α'", "between -1.3 and -0.7", -1.3, -0.7, -2.0, "α'^-2"),
    _exponent("ρ", "between -2.6 and -1.7", -2.6, -1.7, -1.0, "ρ^-1"),
    _exponent("τ", "between -1.9 and -0.9", -1.9, -0.9, -3.0, "τ^-3"),
    lm.Claim("c11-concentration", "Proposition 3, (7.23)", "limit")
    .states("At every one of the three steps at least 0.95 of the attention is on the matching columns of that step.")
    .judged(concentrations(), lm.at_least(0.95, by="every"), lm.Control("W at ηt = 50", moment="50")),
    lm.Claim("c11-formula", "Proposition 3", "comparison", source="derived")
    .states("At the first step it is α'e^u/(α'e^u+1-α') within 0.02, u the pattern gain.")
    .judged(
        formula_gap(),
        between(-0.02, 0.02, predicted=0.0),
        lm.Control("testing patterns outside the span", outside_gap()),
    ),
    lm.Claim("c11-voter", "Proposition 3", "comparison")
    .states("So the model votes: it gives the ideal voter's output at 0.95 or more of all steps, 20 examples.")
    .judged(agreement(), above(0.95), lm.Control("W = 0", moment="0")),
)

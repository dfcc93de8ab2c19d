"""Out of domain: shifted patterns (P5), and attention on them (the second part of P7)."""

from __future__ import annotations

import xarray as xr

import lemmata as lm
from lemmata.theories.icl.measures import learnt

LARGE = ["45", "20", "6.35"]
"""Angles of branch A with S_1 ≥ 1."""
LARGE_BOTH = [*LARGE, "70", "83.65"]
ZERO, ZERO_B, LEAST, OUTSIDE = "-45", "135", "-135", "defect"


@lm.evidence("p5-shift")
def shifted(data: xr.Dataset, what: str, shifts: list[str], variant: str = "U=1") -> xr.DataArray:
    """Error, hinge or attention out of domain, all queries, at these shifts."""
    return lm.cells(data, variant=variant, moment="end", shift=shifts)[f"shift_{what}"]


@lm.evidence("p5-shift")
def first_error(data: xr.Dataset, shifts: list[str]) -> xr.DataArray:
    """Sign error on queries with μ'_1."""
    return lm.cells(data, variant="U=1", moment="end", shift=shifts).query_error.isel(odr_pattern=0, drop=True)


@lm.evidence("p5-shift")
def lift(data: xr.Dataset, zero: str = ZERO) -> xr.DataArray:
    """Hinge on queries with μ'_1 at the angle that stands for S_1 = 0, less that at every angle with S_1 ≥ 1."""
    hinge = lm.cells(data, variant="U=1", moment="end").query_hinge.isel(odr_pattern=0, drop=True)
    return lm.cells(hinge, shift=zero) - lm.cells(hinge, shift=LARGE_BOTH)


@lm.evidence("p5-exchange")
def exchanged(data: xr.Dataset, what: str = "attention") -> dict[str, xr.DataArray]:
    """Total sign error at S_1 = 0 of the network of one cycle: what is left with W_Q and W_K (or with all its other
    weights) of the network trained on all tasks, and by how much it falls."""
    error = lm.cells(data.exchanged_error, shift=[ZERO, ZERO_B])
    given = {"attention_of": "one cycle", "rest_of": "one cycle"} | {f"{what}_of": "all tasks"}
    left = lm.cells(error, **given)
    return {"fall": lm.cells(error, attention_of="one cycle", rest_of="one cycle") - left, "left": left}


@lm.evidence("p5-shift")
def concentration(data: xr.Dataset, moment: str = "end") -> dict[str, xr.DataArray]:
    """Attention on contexts with the query's pattern and its rise since the start, trained on the cycle."""
    attention = lm.cells(data, variant="U=1", shift=LARGE).shift_concentration
    value = lm.cells(attention, moment=moment)
    return {"value": value, "rise": value - lm.cells(attention, moment="start")}


ONE_CYCLE = lm.Control("trained on one cycle (U = 1)", variant="U=1")

CLAIMS = (
    learnt("p5-sign", "Theorem 6.3.4", "bound")
    .states("""Patterns out of domain with coefficient sums S_j ≥ 1 are classified with at most 1 % error (branch A, S_1
        = 1.28, 1.16, 1.00).""")
    .in_symbols(r"S_j \ge 1 \Rightarrow \mathrm{err}_{\text{out}} \le 0.01")
    .judged(shifted("error", LARGE), lm.at_most(0.01), lm.Control("trained on 3 tasks", variant="3 tasks")),
    learnt("p5-outside-span", "Theorem 6.3.4", "bound")
    .states("""Out of domain the network needs patterns in the span of the relevant ones: at S_1 = 1.28 its sign error
        is at most 1 %, in the span of the irrelevant ones it is not.""")
    .in_symbols(r"\mu'_j\in\mathrm{span}\{\mu_i\},\ S_1 = 1.28: \quad \mathrm{err}_{\text{out}} \le 0.01")
    .judged(
        shifted("error", ["45"]),
        lm.at_most(0.01),
        lm.Control("patterns in the span of the irrelevant ones", shifts=[OUTSIDE]),
    ),
    learnt("p5-coefficient-sum", "Theorem 6.3.4", "ordering")
    .states("""The coefficient sum decides the hinge loss of its pattern: with S_1 = 0 the loss on queries with μ'_1 is
        larger by at least 0.15 than at every S_1 ≥ 1.""")
    .in_symbols(r"\ell_{\mu'_1}(S_1=0) \ge \ell_{\mu'_1}(S_1\ge1)+0.15")
    .judged(lift(), lm.at_least(0.15), lm.Control("20 degrees presented as S_1 = 0", zero="20")),
    learnt("p5-hinge", "Theorem 6.3.4", "bound")
    .states("As stated: with the M_1 tasks of one cycle the hinge loss out of domain is at most 0.05 for S_j ≥ 1.")
    .in_symbols(r"S_j \ge 1 \Rightarrow \ell_{\text{out}} \le 0.05 \quad (U=1)")
    .judged(
        shifted("hinge", LARGE),
        lm.at_most(0.05),
        lm.Control("trained on all tasks (U = 5)", variant="U=5"),
        expected=lm.FAILS,
    ),
    learnt("p5-hinge-corrected", "Theorem 6.3.4, corrected", "bound", corrects="p5-hinge")
    .states("Corrected: trained on every task (U = 5), the hinge loss out of domain is at most 0.05 for S_j ≥ 1.")
    .in_symbols(r"S_j \ge 1 \Rightarrow \ell_{\text{out}} \le 0.05 \quad (U=5)")
    .judged(shifted("hinge", LARGE, "U=5"), lm.at_most(0.05), ONE_CYCLE),
    learnt("p5-attention", "Theorem 6.3.4, Proposition 6.4.1", "comparison", source="derived")
    .states("""The sign errors at S_1 = 0 (both branches) of a network trained on one cycle come from its attention:
        with W_Q and W_K of a network trained on all tasks in place of its own they fall by at least 0.015, to at most
        0.005.""")
    .in_symbols(r"""\mathrm{err}_{\text{out}}-\mathrm{err}_{\text{exchanged}} \ge 0.015,\
        \mathrm{err}_{\text{exchanged}} \le 0.005 \quad (S_1=0)""")
    .judged(
        exchanged(),
        lm.all_of(fall=lm.at_least(0.015), left=lm.at_most(0.005)),
        lm.Control("all weights but W_Q and W_K exchanged instead", what="rest"),
    ),
    learnt("p5-sign-unneeded", "Theorem 6.3.4", "bound", source="derived")
    .states("""S_1 ≥ 1 is not needed for the sign: with S_1 = 0 queries with μ'_1 are classified with at most 1 % error
        on both branches.""")
    .in_symbols(r"\mathrm{err}_{\mu'_1}(S_1=0) \le 0.01")
    .judged(first_error([ZERO, ZERO_B]), lm.at_most(0.01), lm.Control("S_1 = -1.28", shifts=[LEAST])),
    learnt("p7-concentration-shifted", "Corollary 6.4.3", "limit")
    .states("""Out of domain, S_1 ≥ 1, attention concentrates too: at least 0.8 on contexts with the query's pattern,
        and 0.3 more than at the start.""")
    .in_symbols(r"A(T) \ge 0.8,\ A(T)-A(0) \ge 0.3, \quad A = \sum_{s\in\mathcal{N}_*}\mathrm{attn}_s")
    .judged(
        concentration(),
        lm.all_of(value=lm.at_least(0.8), rise=lm.at_least(0.3)),
        lm.Control("weights of step 0", moment="start"),
    ),
    learnt("p7-concentration-spread", "Corollary 6.4.3", "limit")
    .states("""Trained on every task (U = 5), attention out of domain, S_1 ≥ 1, puts at least 0.97 on contexts with the
        query's pattern.""")
    .in_symbols(r"\sum_{s\in\mathcal{N}_*}\mathrm{attn}_s \ge 0.97 \quad (S_1\ge1,\ U=5)")
    .judged(shifted("concentration", LARGE, "U=5"), lm.at_least(0.97), ONE_CYCLE),
)

"""What a network can do: how long prompts must be in testing (P4) and in training (figure E.1, left), the tail of the
matches (P16); shifted patterns (P5), and attention on them (the second part of P7)."""

import itertools
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.icl.bounds import chernoff, context_tail, no_match_probability
from lemmata.theories.icl.measures import FROZEN, by_length, crossing, learnt, required_length

ALPHAS, LENGTHS = [0.2, 0.4, 0.8], [2, 5, 10, 20, 40]
EXACT = [1, 2, 5, 10, 20, 40]
PURE = [1, 2, 3, 5]
ENOUGH = 50
"""Cells with fewer prompts without a match say nothing about them."""
NO_MATCH = {f"α'={a:g}, l={n}": float(no_match_probability(a, n)) for a in ALPHAS for n in LENGTHS}
"""π, the probability that no context holds the query's pattern."""
TAILS = {"length": (20, 100, 200, 400), "alpha": (0.2, 0.4, 0.8), "c": (0.3, 0.5, 1.0)}


def _on_grid(data: xr.Dataset, attention: str) -> xr.Dataset:
    """The independent prompts of every α' and length, along `at`."""
    where = {"attention": attention, "test_mode": "iid", "test_fraction": ALPHAS, "test_contexts": LENGTHS}
    stacked = lm.cells(data, **where).stack(at=("test_fraction", "test_contexts"))
    return stacked.drop_vars(["at", "test_fraction", "test_contexts"]).assign_coords(at=list(NO_MATCH))


def _share(data: xr.Dataset, matched: bool) -> xr.DataArray:
    """The share of prompts that have a match, or have none."""
    return 1 - data.unseen_no_match if matched else data.unseen_no_match


def _pooled(data: xr.Dataset, matched: bool) -> xr.DataArray:
    """The error of the prompts of all seeds that have a match, or have none."""
    share = _share(data, matched)
    wrong = share * (data.unseen_error_match if matched else data.unseen_error_no_match)
    return xr.where(share == 0, 0.0, wrong).sum("seed", skipna=False) / share.sum("seed")


def _deviation(chance: Any, count: xr.DataArray) -> Any:
    """The standard error of a share of so many prompts."""
    return np.sqrt(chance * (1 - chance) / count)


@lm.evidence("p4-contexts")
def error_with_match(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """The pooled error of prompts with a context that holds the query's pattern."""
    return _pooled(_on_grid(data, attention), matched=True)


@lm.evidence("p4-contexts")
def error_without_match(data: xr.Dataset, matched: bool = False) -> lm.Uncertain:
    """The pooled error of prompts without such a context (or with one), in cells with at least 50 without."""
    cells = _on_grid(data, "trained")
    cells = cells.isel(at=np.flatnonzero((_share(cells, False) * cells.prompts).sum("seed") >= ENOUGH))
    count = (_share(cells, matched) * cells.prompts).sum("seed")
    return lm.Uncertain(_pooled(cells, matched), _deviation(0.5, count))


@lm.evidence("p4-contexts")
def total_error(data: xr.Dataset, attention: str = "trained") -> lm.Uncertain:
    """The pooled error, with its standard error at the nearer end of [π/2, π]."""
    cells = _on_grid(data, attention)
    error, most = cells.unseen_error.mean("seed"), xr.DataArray(list(NO_MATCH.values()), dims="at")
    return lm.Uncertain(error, _deviation(xr.where(error > 0.75 * most, most, most / 2), cells.prompts.sum("seed")))


@lm.evidence("p4-contexts")
def pure_error(data: xr.Dataset, attention: str = "trained") -> lm.Uncertain:
    """The pooled error with decisive contexts only, with the standard error of 2^-l."""
    where = {"attention": attention, "test_mode": "iid", "test_fraction": 1.0, "test_contexts": PURE}
    cells = lm.cells(data, **where).rename(test_contexts="at").assign_coords(at=[f"l={n}" for n in PURE])
    law = xr.DataArray([2.0**-n for n in PURE], dims="at")
    return lm.Uncertain(cells.unseen_error.mean("seed"), _deviation(law, cells.prompts.sum("seed")))


@lm.evidence("p4-contexts")
def exact_error(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """The pooled error on prompts with exact counts, α' = 0.2."""
    where = {"attention": attention, "test_mode": "exact", "test_fraction": 0.2, "test_contexts": EXACT}
    return lm.cells(data, **where).unseen_error.mean("seed")


@lm.evidence("p4-contexts")
def length_exponent(data: xr.Dataset, reverse: bool = False) -> xr.DataArray:
    """The exponent in α' of the length at which the error is 0.05."""
    errors = lm.cells(data, attention="trained", test_mode="iid", test_fraction=ALPHAS).unseen_error
    return lm.log_slopes(crossing(errors.assign_coords(test_fraction=ALPHAS[:: -1 if reverse else 1])), "test_fraction")


@lm.fact
def tail_ratio(kind: str, alphas: tuple[float, ...] = TAILS["alpha"]) -> xr.DataArray:
    """The exact tail of the number of contexts with a decisive pattern, over its bound, on a grid of l, α, c."""
    grid = list(itertools.product(TAILS["length"], alphas, TAILS["c"]))
    ratios = [context_tail(int(n), a, c) / float(chernoff(n, a, c, kind=kind)) for n, a, c in grid]
    return xr.DataArray(ratios, coords={"at": [f"l={n}, α={a}, c={c}" for n, a, c in grid]}, dims="at")


@lm.evidence("e1-context")
def length_ratio(data: xr.Dataset, above: float = 0.2, below: float = 0.8, budget: str = "short") -> xr.DataArray:
    """Required training length at one α over that at another; one more than the longest where none suffices."""
    needed = required_length(data, budget).clip(max=float(by_length(data.last_watch_hinge, budget).contexts.max()) + 1)
    return lm.cells(needed, fraction=above) / lm.cells(needed, fraction=below)


@lm.evidence("e1-context")
def fixed_length(data: xr.Dataset, length: int = 1, fractions: list[float] | None = None) -> dict[str, Any]:
    """What one training length does, at both budgets: the change of W_Q, W_K, and the final hinge."""
    data = data if fractions is None else lm.cells(data, fraction=fractions)

    def pick(name: str) -> xr.DataArray:
        return lm.stack({b: lm.cells(by_length(data[name], b), contexts=length) for b in ("short", "long")}, "budget")

    return {"moved": {"measured": pick("attention_moved"), "predicted": 0.0}, "hinge": pick("last_watch_hinge")}


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
    learnt("p4-match", "P4, derived", "bound", source="derived")
    .states("""Whenever some context holds the query's pattern the answer is right: pooled error at most 0.005 for every
        α' and length.""")
    .in_symbols(r"\Pr(zF \le 0 \mid \mathcal{N}_*\ne\emptyset) \le 0.005")
    .judged(error_with_match(), lm.at_most(0.005), FROZEN),
    learnt("p4-no-match", "P4, derived", "bound", source="derived")
    .states("""Without a context that holds the query's pattern the answer is wrong at least every second time: pooled
        error at least 1/2 within 3 standard errors, in cells with 50 or more such prompts.""")
    .in_symbols(r"\Pr(zF \le 0 \mid \mathcal{N}_*=\emptyset) \ge \frac{1}{2}")
    .judged(
        error_without_match(),
        lm.at_least(0.5, se=3),
        lm.Control("prompts with a match in place of those without", matched=True),
    ),
    learnt("p4-total", "P4, derived", "bound", source="derived")
    .states("""The error on unseen tasks lies between π/2 and π within 3 standard errors, π = (1-α'/2)^l the probability
        that no context holds the query's pattern.""")
    .in_symbols(r"\frac{\pi}{2} \le \mathrm{err}_{\text{unseen}} \le \pi, \quad \pi = (1-\alpha'/2)^{l_{ts}}")
    .judged(total_error(), lm.within({at: (pi / 2, pi) for at, pi in NO_MATCH.items()}, se=3), FROZEN),
    learnt("p4-pure-contexts", "P4, derived", "limit", source="derived")
    .states("With decisive contexts only (α' = 1) the error on unseen tasks is 2^-l within 3 standard errors.")
    .in_symbols(r"\mathrm{err}_{\text{unseen}} = 2^{-l_{ts}} \quad (\alpha'=1)")
    .judged(pure_error(), lm.within({f"l={n}": (2.0**-n, 2.0**-n) for n in PURE}, se=3), FROZEN),
    learnt("p4-one-match", "P4, derived", "limit", source="derived")
    .states("""A few matches suffice: on exact prompts with α' = 0.2, which hold ⌈l/10⌉ contexts with the query's
        pattern (one up to l = 10, two at 20, four at 40), the pooled error is at most 0.005.""")
    .in_symbols(r"|\mathcal{N}_*| = \lceil l_{ts}/10\rceil: \quad \mathrm{err} \le 0.005")
    .judged(exact_error(), lm.at_most(0.005), FROZEN),
    learnt("p4-length", "(6.9), l_ts ≥ 1/α'", "scaling")
    .states("The length of a testing prompt at which the error is 0.05 is inversely proportional to α'.")
    .in_symbols(r"l_{ts}(\mathrm{err}=0.05) \propto \frac{1}{\alpha'}")
    .judged(
        length_exponent(),
        lm.within(-1.2, -0.8, predicted=-1.0),
        lm.Control("α' values in reversed order", reverse=True),
    ),
    lm.Claim("p16-tail", "(E.42)", "bound")
    .states("""As printed: the share of contexts with one of the two decisive patterns, say μ_a, falls to (1-c) α/2 with
        probability at most exp(-l c² α/2): the exact probability over this bound is at most 1.""")
    .in_symbols(r"""\Pr\left(\frac{n_a}{l} \le (1-c)\frac{\alpha}{2}\right) \le e^{-lc^2\alpha/2}, \quad n_a \sim
        \mathrm{Bin}(l,\alpha/2)""")
    .judged(tail_ratio("printed"), lm.at_most(1.0), lm.Control("α = 1", alphas=(1.0,)), expected=lm.FAILS),
    lm.Claim("p16-tail-corrected", "(E.42), corrected", "bound", corrects="p16-tail")
    .states("""Corrected: the share of contexts with one of the two decisive patterns, say μ_a, falls to (1-c) α/2 with
        probability at most exp(-l c² α/4), Chernoff's bound: the exact probability over this bound is at most 1.""")
    .in_symbols(r"""\Pr\left(\frac{n_a}{l} \le (1-c)\frac{\alpha}{2}\right) \le e^{-lc^2\alpha/4}, \quad n_a \sim
        \mathrm{Bin}(l,\alpha/2)""")
    .judged(tail_ratio("corrected"), lm.at_most(1.0), lm.Control("printed exponent", kind="printed")),
    lm.Claim("e1-context-order", "(6.9), Figure E.1", "ordering", source="figure")
    .states("""At a fixed, short budget of iterations rarer decisive contexts need longer training prompts: at α = 0.2
        at least twice the length at α = 0.8.""")
    .in_symbols(r"\frac{l_{tr}(\alpha=0.2)}{l_{tr}(\alpha=0.8)} \ge 2")
    .judged(
        length_ratio(),
        lm.at_least(2.0, by="every"),
        lm.Control("with the long budget", budget="long"),
        lm.Control("α values reversed (arithmetic)", above=0.8, below=0.2),
    ),
    lm.Claim("e1-context-single", "section 4", "limit", source="derived")
    .states("""With a single context attention is constant: W_Q and W_K never change, to the bit, and the hinge loss
        stays at 0.9 or more, at both budgets and every α.""")
    .in_symbols(r"l_{tr} = 1: \quad W_Q^{(T)} = W_Q^{(0)},\ W_K^{(T)} = W_K^{(0)},\ \ell \ge 0.9")
    .judged(
        fixed_length(),
        lm.all_of(moved=lm.equal(0.0), hinge=lm.at_least(0.9, by="every")),
        lm.Control("two contexts, α = 0.8", length=2, fractions=[0.8]),
    ),
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
    .states("""Corrected: trained on every task (U = 5), the hinge loss out of domain is at most 0.05 for S_j ≥ 1 (far
        from tight).""")
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

"""What the paper's figures show: Example 1 (7.1), panels of 7.3 and 7.4, CoT in 7.5, attention groups in 7.6."""

import xarray as xr

import lemmata as lm
from lemmata.theories.cot.claims.stages import boundary
from lemmata.theories.cot.measures import above, below, between, error, falling, reversed_labels, tested
from lemmata.theories.cot.theorem import along

PANELS = {"alpha": "test_fraction", "tau": "trajectory", "rho": "primacy"}


@lm.evidence("f71-example")
def example_errors(data: xr.Dataset, transitions: str = "example") -> dict[str, xr.DataArray]:
    """ICL and CoT error of the ideal voters, 1280 examples."""
    chosen = lm.cells(data, transitions=transitions, test_examples=1280)
    return {"icl": chosen.icl_voter_error, "cot": chosen.cot_voter_error.mean("reasoning_step")}


@lm.evidence()
def panel(data: xr.Dataset, axis: str, who: str = "cot", reverse: bool = False) -> xr.DataArray:
    """Errors at 20 examples along the axis of a panel."""
    return reversed_labels(error(lm.cells(data, test_examples=20), who), axis, reverse)


@lm.evidence("f74a-alpha", "f74b-tau", "f74c-rho")
def panels(alpha: xr.Dataset, tau: xr.Dataset, rho: xr.Dataset, reverse: bool = False) -> dict[str, xr.DataArray]:
    """ICL errors at 20 examples along every panel of Figure 7.4."""
    parts = zip(PANELS.items(), (alpha, tau, rho), strict=True)
    return {name: panel.function(data, axis, "icl", reverse) for (name, axis), data in parts}


@lm.evidence("f75-condition")
def chain_errors(
    data: xr.Dataset, who: str = "cot", conditions: tuple[str, ...] = ("fails", "holds", "fails, clear")
) -> dict[str, xr.DataArray]:
    """Errors at 1280 examples, and over those at 20."""
    long, short = (along(data, list(conditions), n, who) for n in (1280, 20))
    return {"long": long, "ratio": lm.ratio_of_means(long, short)}


@lm.evidence("c1-reference")
def final_groups(data: xr.Dataset, variant: str = "intact") -> dict[str, xr.DataArray]:
    """On testing prompts: (same, same) at the end, off-step attention before ηt = 500 and after the boundary."""
    last = lm.at_end(lm.cells(data, variant=variant).test_groups.isel(group=0, drop=True))
    return {"same": last, **boundary.function(data, variant, "test_groups")}


_SMALL = below(0.05)
_REVERSED = lm.Control("values reversed", reverse=True)


def _panel_claim(letter: str, name: str, words: str) -> lm.Claim:
    axis = PANELS[name]
    return (
        tested(f"f73{letter}-{name}", f"Figure 7.3({letter})", "ordering", source="figure")
        .states(f"With 20 examples the CoT error falls with {words}.")
        .judged(panel.of(f"f73{letter}-{name}")(axis), falling(axis), _REVERSED)
    )


CLAIMS = (
    lm.Claim("f71-example", "Example 1, Figure 7.1", "limit", source="figure")
    .states("In Example 1 ICL errs on one of two inputs (error 0.45 to 0.55 with 1280 examples), CoT on none (0.02).")
    .judged(
        example_errors(),
        lm.all_of(icl=between(0.45, 0.55, predicted=0.5), cot=below(0.02)),
        lm.Control("second step (0.2, 0.8), (0.8, 0.2): the condition holds", transitions="direct"),
    ),
    _panel_claim("a", "alpha", "the share α' of matching examples"),
    _panel_claim("b", "tau", "the trajectory probability τ"),
    _panel_claim("c", "rho", "the primacy ρ"),
    tested("f74-order", "Figure 7.4", "ordering", source="figure")
    .states("With 20 examples the ICL error falls along every panel: α', τ_o and ρ_o.")
    .judged(panels(), lm.all_of(**{name: falling(axis) for name, axis in PANELS.items()}), _REVERSED),
    tested("f75-cot", "Figure 7.5", "ordering", source="figure")
    .states("""With and without the condition the CoT error at 1280 examples is at most 0.05, and a quarter of that at
        20.""")
    .judged(
        chain_errors(),
        lm.all_of(long=_SMALL, ratio=below(0.25)),
        lm.Control("ICL error where the condition fails", who="icl", conditions=("fails",)),
    ),
    lm.Claim("f76-groups", "Figure 7.6", "limit", source="figure")
    .states("""On testing prompts attention ends with at least 0.95 on the same step and pattern; both groups of other
        steps together are at most 0.05 from a time before ηt = 500 on.""")
    .judged(
        final_groups(),
        lm.all_of(same=above(0.95), early=_SMALL, later=_SMALL),
        lm.Control("all positional encodings equal", variant="equal positions"),
    ),
)

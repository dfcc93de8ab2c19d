"""Online SGD: which blocks train (E1), the excess and the direction (E2), the learned scores (E3)."""

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student.measures import Labels, around

SIX = ["CNN ReLU", "CNN leaky", "GCN ReLU", "GCN leaky", "STS", "GSLP"]
MATRIX = ["key_token", "query_token"]


@lm.evidence("exp-e1-blocks")
def blocks(data: xr.Dataset, variant: str, step: float | None = None) -> xr.DataArray:
    """Inactive blocks over W^pp, W_V^p over W_V^x, the initial W^pp over the present one; at a step, or the last."""
    data = lm.cells(data, variant=variant)
    norms = lm.at_end(data.part_norm) if step is None else lm.at(data.part_norm, data.step, step)
    active = lm.cells(norms, part="pp")
    ratios = {
        "inactive": lm.cells(norms, part=["xx", "xp", "px"]).max("part") / active,
        "positional": lm.cells(norms, part="values_p") / lm.cells(norms, part="values_x"),
        "initial": lm.cells(data.part_norm, part="pp").isel(record=0) / active,
    }
    return lm.stack(ratios, "ratio")


def block_claim(name: str, variant: str, words: str, control: lm.Control) -> lm.Claim:
    """Only two blocks train."""
    converged = lm.Gate(
        "not converged: more than 0.2 of the initial excess is left",
        lambda data: lm.at_end(data.batch_excess) <= 0.2 * data.batch_excess.isel(record=0),
        intact={"variant": [variant]},
    )
    limits = {"inactive": 0.02, "positional": 0.1, "initial": 1 / 50}
    return (
        lm.Claim(name, "Figure 1", "ordering", source="figure", gate=converged)
        .states(f"""In the full transformer with {words}, only W_V^x and W^pp train: after 10⁴ steps the other blocks of
            W_KQ are at most 0.02 of W^pp, W_V^p at most 0.1 of W_V^x, and W^pp has grown at least 50 times.""")
        .in_symbols(r"""\max(\lVert W^{xx}\rVert,\lVert W^{xp}\rVert,\lVert W^{px}\rVert) \le 0.02\,\lVert
            W^{pp}\rVert,\ \lVert W_V^p\rVert \le 0.1\,\lVert W_V^x\rVert,\ \lVert W^{pp}(0)\rVert \le 0.02\,\lVert
            W^{pp}\rVert""")
        .judged(blocks(variant), lm.at_most(limits, by="every"), control)
    )


def long_enough(variants: Labels) -> lm.Gate:
    """Runs that end before 3T* have no verdict."""
    return lm.Gate(
        "a run ends before 3 T*", lambda data: data.step.max("record") >= 3 * data.escape_step, {"variant": variants}
    )


def online_runs(data: xr.Dataset, variants: Labels, frozen: bool) -> xr.Dataset:
    """The runs of online SGD by the name of the intact variant; with frozen attention those of its frozen twin."""
    labels = [f"{variant}, frozen" if frozen else variant for variant in variants]
    return lm.cells(data, variant=labels, dynamics="online").assign_coords(variant=list(variants))


@lm.evidence("exp-e2-curves")
def over_recursion(
    data: xr.Dataset, variants: Labels, frozen: bool = False, floor: bool = True, last: bool = False
) -> xr.DataArray:
    """The least and the largest excess over (recursion + floor) at marks t ≥ T*, or that at the last mark.

    `frozen`: of runs with frozen attention, against the recursion of the intact ones; `floor=False` leaves it out.
    """
    exact = lm.cells(data, variant=list(variants), dynamics="recursion")
    run = online_runs(data, variants, frozen)
    if not bool((run.step >= run.escape_step).any("record").all()):
        raise lm.NotApplicable("a run ends before T*")

    def between(at: np.ndarray, steps: np.ndarray, values: np.ndarray) -> np.ndarray:
        known = steps > 0
        return np.exp(np.interp(np.log(np.maximum(at, 1)), np.log(steps[known]), np.log(values[known])))

    core = [["record"]] * 3
    expected = xr.apply_ufunc(
        between, run.step, exact.step, exact.excess, input_core_dims=core, output_core_dims=[["record"]], vectorize=True
    )
    ratio = (run.excess / (expected + floor * run.noise_floor)).where(run.step >= run.escape_step)
    ends = {"least": ratio.min("record"), "largest": ratio.max("record")}
    return lm.at_end(ratio) if last else lm.stack(ends, "mark")


def excess_claim(name: str, variants: list[str], words: str, control: lm.Control) -> lm.Claim:
    """Online SGD follows the recursion down to the floor of its noise."""
    return (
        lm.Claim(name, "Figure 2(a)", "comparison", source="figure", gate=long_enough(variants))
        .states(f"""The excess loss of online SGD on {words} is that of the recursion plus the floor of the noise, to 10
            % at every mark from T* on.""")
        .in_symbols(r"0.9 \le \frac{\mathrm{Excess}}{\mathrm{Excess}_{\text{recursion}}+\text{floor}} \le 1.1")
        .judged(over_recursion(variants), around(1.0, 0.1), control)
    )


@lm.evidence("exp-e2-curves")
def cosines(data: xr.Dataset, variable: str = "cosine") -> xr.DataArray:
    """The least cosine at marks t ≥ T*, and the one at t = 100."""
    data = lm.cells(data, variant=SIX, dynamics="online")
    late = data[variable].where(data.step >= data.escape_step).min("record")
    return lm.stack({"late": late, "early": data[variable].where(data.step == 100).max("record")}, "mark")


def learned(data: xr.Dataset, variants: Labels, transposed: bool, frozen: bool) -> tuple[xr.DataArray, xr.DataArray]:
    """The learned scores, as they are or transposed, and those of the teacher."""
    data = online_runs(data, variants, frozen)
    turned = data.score_map.rename(key_token="query_token", query_token="key_token")
    return turned if transposed else data.score_map, data.target_map


@lm.evidence("exp-e2-curves")
def mean_score(data: xr.Dataset, variants: Labels = SIX, turned: bool = False, frozen: bool = False) -> xr.DataArray:
    """|mean score on the supports - p(T)| at the last step; `turned`: of the transposed matrix."""
    scores, target = learned(data, variants, turned, frozen)
    exact = lm.cells(data, variant=list(variants), dynamics="recursion")
    return abs(scores.where(target > 0).mean(MATRIX) - lm.at_end(exact.score))


@lm.evidence("exp-e2-curves")
def order(data: xr.Dataset, variants: Labels = SIX, turned: bool = False, frozen: bool = False) -> xr.DataArray:
    """The least score on the supports less the largest off them at the last step; `turned`: transposed."""
    scores, target = learned(data, variants, turned, frozen)
    return scores.where(target > 0).min(MATRIX) - scores.where(target == 0).max(MATRIX)


FIXED = ("CNN ReLU", "STS", "GSLP")
"""Those that also run with frozen attention."""
UNTRAINED = {variant: lm.Control("attention frozen", variants=[variant], frozen=True) for variant in FIXED}
FROZEN = lm.Control(f"attention frozen, {', '.join(FIXED)}", variants=FIXED, frozen=True)
ROLLED = lm.Control("V* with its columns rolled by one", variable="rolled_cosine")
NO_FLOOR = lm.Control("the floor left out, last mark", variants=["GCN ReLU"], floor=False, last=True)
EARLY = lm.Control("at t = 300", step=300.0)
TRANSPOSED = lm.Control("the transposed matrix, STS and GSLP", variants=["STS", "GSLP"], turned=True)
CLAIMS = (
    block_claim("exp-e1-identity", "identity", "κ = 1", EARLY),
    block_claim("exp-e1-relu", "ReLU", "ReLU", lm.Control("teacher of uniform scores, K = D", variant="ReLU, K = D")),
    block_claim("exp-e1-leaky", "leaky", "leaky ReLU", EARLY),
    excess_claim("exp-e2-excess-cnn", SIX[:2], "CNN teachers", UNTRAINED["CNN ReLU"]),
    excess_claim("exp-e2-excess-gcn", SIX[2:4], "graph teachers", NO_FLOOR),
    excess_claim("exp-e2-excess-sts", ["STS"], "token selection", UNTRAINED["STS"]),
    excess_claim("exp-e2-excess-gslp", ["GSLP"], "group-sparse regression", UNTRAINED["GSLP"]),
    lm.Claim("exp-e2-cosine", "Figure 2(c)", "bound", source="figure", gate=long_enough(SIX))
    .states("""W_V points along V*: the cosine is at least 0.95 after 100 steps and 0.999 from T* on, on all six
        teachers.""")
    .in_symbols(r"\cos(W_V,V^*) \ge 0.95\ (t=100),\ \ge 0.999\ (t\ge T^*)")
    .judged(cosines(), lm.at_least({"late": 0.999, "early": 0.95}, by="every"), ROLLED),
    lm.Claim("exp-e3-mean-score", "Figure 3", "comparison", source="figure")
    .states("At the last step the mean score on the supports is the exact p(T), to 0.01, on all six teachers.")
    .in_symbols(r"|\mathrm{mean}_{j\in G^i}S_{ji}-p(T)| \le 0.01")
    .judged(mean_score(), lm.at_most(0.01, by="every"), FROZEN, TRANSPOSED),
    lm.Claim("exp-e3-support-order", "Figure 3", "ordering", source="figure")
    .states("At the last step every score on the supports is above every other one, on all six teachers.")
    .in_symbols(r"\min_{i,\,j\in G^i}S_{ji} > \max_{i,\,j\notin G^i}S_{ji}")
    .judged(order(), lm.at_least(0.0, by="every", strict=True), FROZEN, TRANSPOSED),
)

"""Online SGD: which blocks train (E1), the excess and the direction (E2), the learned scores (E3)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import at_least, at_most, within
from lemmata.lab.measures import at_end, stack

BLOCKS, CURVES = "exp-e1-blocks", "exp-e2-curves"
SIX = ["CNN ReLU", "CNN leaky", "GCN ReLU", "GCN leaky", "STS", "GSLP"]
RANK_ONE = ["STS", "GSLP"]
"""Teachers whose S* is not its own transpose."""
CONVERGED = 0.2
"""Share of the initial excess above which E1 is not judged."""


def _blocks(variant: str, intact: str | None = None, step: float | None = None) -> Evidence:
    """Inactive blocks over W^pp, W_V^p over W_V^x, and the initial W^pp over the present one.

    `intact` is the variant whose convergence decides whether anything is judged; `step` is the record (None: the last).
    """

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[BLOCKS]
        gate = data.batch_excess.sel(variant=intact or variant)
        left = float((at_end(gate) / gate.isel(record=0)).max())
        if left > CONVERGED:
            raise NotApplicable(f"not converged: {left:.3g} of the initial excess is left, above {CONVERGED:g}")
        norms = data.part_norm.sel(variant=variant)
        steps = data.step.sel(variant=variant).isel(seed=0).values
        record = int(np.nanargmin(np.abs(steps - (np.nanmax(steps) if step is None else step))))
        part = norms.isel(record=record)
        inactive = part.sel(part=["xx", "xp", "px"]).max("part")
        own = part.sel(part="pp", drop=True)
        return stack(
            {
                "inactive": inactive / own,
                "positional": part.sel(part="values_p", drop=True) / part.sel(part="values_x", drop=True),
                "initial": norms.sel(part="pp", drop=True).isel(record=0) / own,
            },
            "ratio",
        )

    return evidence


def _block_claim(name: str, variant: str, words: str, control: Control) -> Claim:
    return Claim(
        name=name,
        reference="Figure 1",
        kind="ordering",
        statement=f"In the full transformer with {words}, only W_V^x and W^pp train: after 10⁴ steps the other blocks "
        "of W_KQ are at most 0.02 of W^pp, W_V^p at most 0.1 of W_V^x, and W^pp has grown at least 50 times.",
        reads=(BLOCKS,),
        evidence=_blocks(variant),
        judge=at_most({"inactive": 0.02, "positional": 0.1, "initial": 1 / 50}, by="every"),
        controls=(control,),
    )


def _marks(datasets: Datasets, variants: list[str]) -> tuple[xr.Dataset, xr.Dataset]:
    """Online SGD and the recursion at the same records of t ≥ T*; inconclusive before 3T*."""
    data = datasets[CURVES].sel(variant=variants)
    ended = float((data.step.max("record") / data.escape_step).min())
    if ended < 3:
        raise NotApplicable(f"the run ends at {ended:.2g} T*, before 3 T*")
    late = data.where(data.step >= data.escape_step)
    return late.sel(dynamics="online"), late.sel(dynamics="recursion")


def _excess(variants: list[str]) -> Evidence:
    """The least and the largest excess over (recursion + floor) at marks t ≥ T*, by teacher."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        measured, exact = _marks(datasets, variants)
        ratio = measured.excess / (exact.excess + measured.noise_floor)
        return stack({"least": ratio.min("record"), "largest": ratio.max("record")}, "mark")

    return evidence


def _frozen(variant: str) -> Evidence:
    """The same with attention frozen, at T* and 1.2 T*, against the exact dynamics of the intact run."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets[CURVES]
        frozen = data.sel(variant=f"{variant}, frozen", dynamics="online")
        exact = data.sel(variant=variant, dynamics="recursion")
        found = []
        for seed in data.seed.values:
            run, path = frozen.sel(seed=seed), exact.sel(seed=seed)
            known = (path.step > 0).values
            at = run.step.values[run.step.values >= float(run.escape_step)]
            if not at.size:
                raise NotApplicable("the frozen run ends before T*")
            curve = np.interp(np.log(at), np.log(path.step.values[known]), np.log(path.excess.values[known]))
            expected = np.exp(curve) + float(run.noise_floor)
            ratio = run.excess.values[run.step.values >= float(run.escape_step)] / expected
            found.append([ratio[0], ratio[-1]])
        return xr.DataArray(found, coords={"seed": data.seed, "mark": ["T*", "1.2 T*"]})

    return evidence


def _without_floor(datasets: Datasets) -> xr.DataArray:
    """GCN with ReLU at its last mark, against the recursion alone."""
    data = datasets[CURVES].sel(variant="GCN ReLU")
    return at_end(data.excess.sel(dynamics="online", drop=True)) / at_end(
        data.excess.sel(dynamics="recursion", drop=True)
    )


def _excess_claim(name: str, variants: list[str], words: str, control: Control) -> Claim:
    return Claim(
        name=name,
        reference="Figure 2(a)",
        kind="comparison",
        statement=f"The excess loss of online SGD on {words} is that of the recursion plus the floor of the noise, to "
        "10 % at every mark from T* on.",
        formula="excess / (recursion + floor) in [0.9, 1.1]",
        reads=(CURVES,),
        evidence=_excess(variants),
        judge=within(0.9, 1.1, by="every", predicted=1.0),
        controls=(control,),
    )


def _cosines(variable: str) -> Evidence:
    """The least cosine at marks t ≥ T*, and the one at t = 100."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        measured, _ = _marks(datasets, SIX)
        data = datasets[CURVES].sel(variant=SIX, dynamics="online")
        early = data[variable].where(data.step == 100).max("record")
        return stack({"late": measured[variable].min("record"), "early": early}, "mark")

    return evidence


def _maps(datasets: Datasets, variants: list[str], transposed: bool) -> tuple[xr.DataArray, xr.DataArray, xr.Dataset]:
    """Learned scores, the supports, and the data of the recursion."""
    data = datasets[CURVES].sel(variant=variants)
    online = data.sel(dynamics="online")
    scores = online.score_map
    if transposed:
        scores = scores.copy(data=scores.transpose("variant", "seed", "query_token", "key_token").values)
    return scores, online.target_map, data.sel(dynamics="recursion")


def _mean_score(variants: list[str], transposed: bool = False) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        scores, target, exact = _maps(datasets, variants, transposed)
        return abs(scores.where(target > 0).mean(["key_token", "query_token"]) - at_end(exact.score))

    return evidence


def _order(variants: list[str], transposed: bool = False) -> Evidence:
    """The least score on the supports minus the largest off them."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        scores, target, _ = _maps(datasets, variants, transposed)
        dims = ["key_token", "query_token"]
        return scores.where(target > 0).min(dims) - scores.where(target == 0).max(dims)

    return evidence


CLAIMS = (
    _block_claim("exp-e1-identity", "identity", "κ = 1", Control("at t = 300", _blocks("identity", step=300))),
    _block_claim(
        "exp-e1-relu", "ReLU", "ReLU", Control("teacher of uniform scores, K = D", _blocks("ReLU, K = D", "ReLU"))
    ),
    _block_claim("exp-e1-leaky", "leaky", "leaky ReLU", Control("at t = 300", _blocks("leaky", step=300))),
    _excess_claim("exp-e2-excess-cnn", SIX[:2], "CNN teachers", Control("attention frozen", _frozen("CNN ReLU"))),
    _excess_claim(
        "exp-e2-excess-gcn", SIX[2:4], "graph teachers", Control("the floor left out, last mark", _without_floor)
    ),
    _excess_claim("exp-e2-excess-sts", ["STS"], "token selection", Control("attention frozen", _frozen("STS"))),
    _excess_claim(
        "exp-e2-excess-gslp", ["GSLP"], "group-sparse regression", Control("attention frozen", _frozen("GSLP"))
    ),
    Claim(
        name="exp-e2-cosine",
        reference="Figure 2(c)",
        kind="bound",
        statement="W_V points along V*: the cosine is at least 0.95 after 100 steps and 0.999 from T* on, on all six.",
        reads=(CURVES,),
        evidence=_cosines("cosine"),
        judge=at_least({"late": 0.999, "early": 0.95}, by="every"),
        controls=(Control("V* with its columns rolled by one", _cosines("rolled_cosine")),),
    ),
    Claim(
        name="exp-e3-mean-score",
        reference="Figure 3",
        kind="comparison",
        statement="At the last step the mean score on the supports is the exact p(T), to 0.01, on all six.",
        formula="|mean S on support - p(T)| ≤ 0.01",
        reads=(CURVES,),
        evidence=_mean_score(SIX),
        judge=at_most(0.01, by="every"),
        controls=(Control("the transposed matrix, STS and GSLP", _mean_score(RANK_ONE, transposed=True)),),
    ),
    Claim(
        name="exp-e3-support-order",
        reference="Figure 3",
        kind="ordering",
        statement="At the last step every score on the supports is above every other one, on all six.",
        formula="min S on support - max S off it > 0",
        reads=(CURVES,),
        evidence=_order(SIX),
        judge=at_least(0.0, by="every", strict=True),
        controls=(Control("the transposed matrix, STS and GSLP", _order(RANK_ONE, transposed=True)),),
    ),
)

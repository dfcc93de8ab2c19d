"""The figures of online SGD: blocks that train (Figure 1), curves and scores (Figures 2, 3), the floor of the noise."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.figures import EXCESS, IN_TIME, clock, exponents, loglog

PARTS = {"values_x": "$W_V^x$", "values_p": "$W_V^p$"} | {part: f"$W^{{{part}}}$" for part in ("pp", "xx", "xp", "px")}
SHOWN = ("identity", "ReLU", "ReLU, K = D", "ReLU, standard")
"""The runs whose blocks are drawn: leaky looks like ReLU, and the factored student has no other block."""
MAPPED = ("CNN ReLU", "GCN ReLU", "STS", "GSLP")
"""The teachers whose scores are drawn; with leaky ReLU they look the same."""


def blocks(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Norms of the six blocks along four runs, and what E1 asks of all of them at the end."""
    figure, axes = draw.panels(6, rows=2, width=4.4, height=4.2)
    shown = (draw.present(data, "variant", SHOWN) or draw.labels_of(data, "variant"))[: len(SHOWN)]
    for ax, name in zip(axes, shown, strict=False):
        cell = data.sel(variant=name)
        norms = draw.positive(cell.part_norm.sel(part=list(PARTS))).assign_coords(part=list(PARTS.values()))
        draw.paths(ax, cell, norms, "part", clock=draw.positive(cell.step))
        loglog(ax)
        draw.finish(ax, f"{name}: norms of the blocks", "Frobenius norm of a block", "training step $t$", legend=3)
    for ax in axes[len(shown) : len(SHOWN)]:
        ax.set_axis_off()
    final = lm.at_end(data.part_norm)
    active, values = final.sel(part="pp", drop=True), final.sel(part="values_x", drop=True)
    inactive = final.sel(part=["xx", "xp", "px"]).max("part", skipna=False) / active
    title = r"max($\|W^{xx}\|$, $\|W^{xp}\|$, $\|W^{px}\|$) / $\|W^{pp}\|$ at the end"
    for ax, name, ratio, words, of in (
        (axes[-2], "inactive", inactive, title, "attention"),
        (axes[-1], "positional", final.sel(part="values_p") / values, r"$\|W_V^p\|/\|W_V^x\|$ at the end", "values"),
    ):
        draw.groups(ax, draw.positive(ratio), "variant", label="every seed", sideways=True, middle="median")
        said = "paper: only $W_V^x$, $W^{pp}$ train; claimed"
        draw.claimed(ax, claims["exp-e1-relu"], label=name, words=said, across=True)
        ax.invert_yaxis()
        draw.log_x(ax)
        draw.finish(ax, words, "", f"inactive over active block of the {of}", legend=1)
    return figure


def curves(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """All teachers together: excess loss, out-of-distribution loss, cosine, and the learned scores beside S*."""
    figure, (excess, ratio, shifted, cosine, score, maps) = draw.panels(6, rows=2, width=4.6, height=4.5)
    kinds = draw.labels_of(data, "dynamics")
    sgd, exact = data.sel(dynamics=min(kinds)), data.sel(dynamics=max(kinds))  # what is not there is the other
    frozen = [name for name in draw.labels_of(data, "variant") if name.endswith(", frozen")]
    teachers = [name for name in draw.labels_of(data, "variant") if name not in frozen] or frozen
    controls, sgd, exact = sgd.sel(variant=frozen), sgd.sel(variant=teachers), exact.sel(variant=teachers)
    late = sgd.step >= sgd.escape_step
    if "recursion" in kinds:
        _recursions(excess, exact, exact.excess)
        _recursions(shifted, exact, exact.ood_clean)
    _teachers(excess, sgd, sgd.excess)
    for i in range(len(frozen)):
        words = "" if i else "control: attention frozen"
        cell = controls.isel(variant=i)
        draw.paths(excess, cell, "excess", "", words, draw.GREY, clock=clock(cell), marker="x", markersize=3)
    draw.finish(excess, "online SGD follows the recursion", EXCESS, IN_TIME)
    _teachers(ratio, sgd, (sgd.excess / (exact.excess + sgd.noise_floor)).where(late))
    draw.corrected(ratio, 1.0, "derived: recursion plus floor")
    draw.claimed(ratio, claims["exp-e2-excess-cnn"], words="claimed of Figure 2")
    ratio.set_yscale("linear")
    draw.finish(ratio, "from $T^*$ on, over recursion plus floor of the noise", "excess / (recursion + floor)", IN_TIME)
    _teachers(shifted, sgd, sgd.ood_clean)
    x = np.array([1.0, max(2.0, float(clock(sgd).max()))])
    top = 1.5 * float(sgd.ood_clean.where(late).max())
    draw.predicted(shifted, top * x**-0.5, "paper: slope −1/2", x, color=draw.RED)
    draw.corrected(shifted, top / x, "derived: slope −1", x)
    slopes = exponents(sgd.ood_clean, sgd, 1.0, np.inf)
    title = f"exponential inputs: slopes {slopes} from $T^*$ on" if slopes else "exponential inputs"
    draw.finish(shifted, title, r"clean excess loss $\frac{1}{2}\Delta^2$", IN_TIME)
    draw.paths(cosine, sgd, sgd.cosine.where((sgd.cosine > 0) & (sgd.cosine < 1)), "variant", clock=clock(sgd))
    cosine.set_yscale("logit")
    draw.log_x(cosine)
    draw.claimed(cosine, claims["exp-e2-cosine"], label="early", words="paper: near 1; claimed at step 100")
    draw.claimed(cosine, claims["exp-e2-cosine"], label="late", words="claimed from $T^*$ on")
    draw.finish(cosine, "paper: the values point along $V^*$", "cosine of $W_V$ and $V^*$", IN_TIME)
    learned = sgd.score_map.where(sgd.target_map > 0).mean(["key_token", "query_token"])
    draw.groups(score, abs(learned - lm.at_end(exact.score)), "variant", label="every seed", sideways=True)
    draw.claimed(score, claims["exp-e3-mean-score"], words="paper: $p(T)$; claimed", across=True)
    score.invert_yaxis()
    draw.finish(score, "mean learned score on the supports", "", "distance from the paper's recursion, $|S-p(T)|$")
    shown = draw.present(sgd, "variant", MAPPED) or teachers
    _maps(maps, sgd.sel(variant=shown[: len(MAPPED)]).isel(seed=0))
    return figure


def _teachers(ax: Axes, data: xr.Dataset, values: xr.DataArray) -> None:
    draw.paths(ax, data, draw.positive(values), "variant", clock=clock(data))
    loglog(ax)


def _recursions(ax: Axes, data: xr.Dataset, values: xr.DataArray) -> None:
    for i in range(data.sizes["variant"]):
        x, y = (part.isel(variant=i).transpose("record", "seed") for part in (clock(data), draw.positive(values)))
        draw.predicted(ax, y, None, x, linewidth=0.8)
    draw.predicted(ax, [], "paper: the recursion", [], linewidth=0.8)


def _maps(ax: Axes, data: xr.Dataset) -> None:
    """K times the learned scores above those of the teacher, one column a teacher."""
    side, rows = 180, []
    for name in ("score_map", "target_map"):
        tiles = []
        for i in range(data.sizes["variant"]):
            cell = data.isel(variant=i)
            pixels = np.arange(side) * int(np.nan_to_num(cell.token_count, nan=1.0)) // side
            scores = cell.support_count * cell[name].transpose("key_token", "query_token")
            tiles.append(np.pad(scores.values[np.ix_(pixels, pixels)], 8, constant_values=np.nan))
        rows.append(tiles)
    image = ax.imshow(np.block(rows), cmap="Blues", vmin=0, vmax=1)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    places = (side + 16) * (np.arange(data.sizes["variant"]) + 0.5)
    ax.set_xticks(places, draw.labels_of(data, "variant"), fontsize=8)
    ax.set_yticks(places[:1].repeat(2) * [1, 3], ["learned $S$", "teacher $S^*$"], fontsize=8)
    ax.figure.colorbar(image, ax=ax, shrink=0.6, label="score times $K$")
    draw.finish(ax, "scores after training, key by query token", legend=0)


def floor(data: xr.Dataset) -> Figure:
    """Runs from the optimum, and the excess at which they settle over the estimate."""
    figure, (path, ratio) = draw.panels(2, width=5.2, height=4.2)
    runs = data.stack(run=("batch", "step_size"))
    words = [f"$N$ = {N:g}, $\\eta$ = {eta:g}" for N, eta in runs.run.values]
    runs = runs.drop_vars(["run", "batch", "step_size"]).assign_coords(run=words)
    draw.paths(path, runs, draw.positive(runs.excess), "run")
    for i, estimate in enumerate(runs.noise_floor.isel(seed=0).values):
        draw.predicted(path, estimate, None if i else "derived: its floor", color=draw.look(i).color)
    draw.log_y(path)
    draw.finish(path, "online SGD settles above the optimum", EXCESS, "training step $t$, from the optimum")
    settled = runs.excess.where(runs.step >= 0.5 * runs.step.max("record")).mean("record")
    draw.groups(ratio, settled / runs.noise_floor, "run", label="every seed", sideways=True)
    words = r"derived: $\eta a_\kappa\sigma^2(MdD+\|V^*\|_F^2(K-1)/K)/(4NK)$"
    ratio.axvline(1.0, label=words, **draw.CORRECTED)
    draw.finish(ratio, "the estimate is a linearised argument", "", "mean excess of the second half / estimate")
    return figure

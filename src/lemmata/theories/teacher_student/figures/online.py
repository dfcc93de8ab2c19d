"""The figures of online SGD: blocks that train (Figure 1), curves and scores (Figures 2, 3), the floor of the noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.lab.judges import level_of
from lemmata.theories.teacher_student.figures import (
    DASHED,
    EXCESS,
    STEP,
    exponent_of,
    extent,
    late_excess,
    slope_beside,
)

PARTS = {"values_x": "$W_V^x$", "values_p": "$W_V^p$"} | {part: f"$W^{{{part}}}$" for part in ("pp", "xx", "xp", "px")}


def blocks(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Norms of the six blocks along the runs that are judged, and the ratios at the end of all."""
    claim = claims["exp-e1-relu"]
    variants = draw.labels_of(data, "variant")
    shown = variants[:4]
    figure, axes = draw.panels(len(shown) + 2, rows=2, width=5.0, height=4.3)
    named = data.assign_coords(part=[PARTS.get(part, part) for part in draw.labels_of(data, "part")])
    for ax, name in zip(axes, shown, strict=False):
        cell = named.sel(variant=name)
        draw.paths(ax, cell, draw.positive(cell.part_norm), "part", clock=draw.positive(cell.step))
        start = float(data.part_norm.sel(variant=name, part="pp").isel(record=0).mean())
        draw.predicted(ax, 50 * start, r"paper: it trains (claimed: 50 times the initial $\|W^{pp}\|$)", linestyle=":")
        draw.log_x(ax)
        draw.log_y(ax)
        draw.finish(ax, f"{name}: norms of the blocks", "Frobenius norm of a block", STEP, legend=3)
    final = lm.at_end(data.part_norm)
    inactive = final.sel(part=["xx", "xp", "px"]).max("part") / final.sel(part="pp")
    positional = final.sel(part="values_p") / final.sel(part="values_x")
    words = {"inactive": r"max($W^{xx}$, $W^{xp}$, $W^{px}$) / $W^{pp}$", "positional": "$W_V^p$ / $W_V^x$"}
    for ax, (part, x), ratio in zip(axes[len(shown) :], words.items(), (inactive, positional), strict=True):
        draw.groups(ax, draw.positive(ratio), "variant", label="every seed", sideways=True)
        draw.claimed(ax, claim, label=part, words="paper: only $W_V^x$, $W^{pp}$ train; claimed", across=True)
        ax.invert_yaxis()
        draw.log_x(ax)
        draw.finish(ax, "inactive over active block at the end", "run", x, legend=1)
    return figure


FROZEN = ", frozen"


def curves(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Excess, out-of-distribution loss and cosine of all teachers (Figure 2), and the scores they learn (Figure 3)."""
    teachers = [name for name in draw.labels_of(data, "variant") if not name.endswith(FROZEN)]
    teachers = (teachers or draw.labels_of(data, "variant"))[:6]
    figure, (excess, shifted, cosine, *maps) = draw.panels(
        3 + len(teachers), rows=-(-(3 + len(teachers)) // 3), width=5.0, height=4.2
    )
    kinds = draw.labels_of(data, "dynamics")
    trained = data.sel(dynamics=kinds[0], variant=teachers)
    exact = data.sel(dynamics="recursion", variant=teachers) if "recursion" in kinds else None
    _excess(excess, trained, exact, claims["exp-e2-excess-gcn"])
    _shifted(shifted, trained, exact)
    _cosine(cosine, trained, claims["exp-e2-cosine"])
    for ax, name in zip(maps, teachers, strict=True):
        _scores(ax, name, trained.sel(variant=name), None if exact is None else exact.sel(variant=name))
    return figure


def _escaped(values: xr.DataArray, data: xr.Dataset) -> xr.DataArray:
    """The values from T* on."""
    return values.where((data.step >= data.escape_step) & (data.step > 0))


def _excess(ax: Axes, trained: xr.Dataset, exact: xr.Dataset | None, claim: lm.Claim) -> None:
    title, clock = "Figure 2(a): excess loss", draw.positive(trained.step)
    draw.paths(ax, trained, draw.positive(trained.excess), "variant", "{}", clock=clock, marker=".")
    if exact is not None:
        expected = exact.excess + trained.noise_floor
        draw.paths(ax, exact, draw.positive(expected), "variant", "", clock=draw.positive(exact.step), **DASHED)
        draw.predicted(ax, [], "paper: the recursion (+ derived floor of the noise)", [])
        law = {**DASHED, "color": draw.ORANGE, "linestyle": ":"}
        draw.paths(ax, exact, late_excess(exact, 1.0), "variant", "", clock=draw.positive(exact.step), **law)
        draw.corrected(ax, [], r"derived: $KD(D-K)/(4\eta T)$", [], linestyle=":")
        ratio = extent(_escaped(trained.excess / expected, trained))
        if ratio:
            title += rf"; SGD / (recursion + floor) {ratio[0]:.2f} to {ratio[1]:.2f} from $T^*$ on"
    draw.log_x(ax)
    draw.log_y(ax)
    draw.finish(ax, title, EXCESS, STEP)


def _shifted(ax: Axes, trained: xr.Dataset, exact: xr.Dataset | None) -> None:
    """Clean excess loss on the fixed batch of exponential inputs."""
    clean = draw.positive(trained.ood_clean)
    draw.paths(ax, trained, clean, "variant", "{}", clock=draw.positive(trained.step), marker=".")
    if exact is not None:
        draw.paths(ax, exact, exact.ood_clean, "variant", "", clock=draw.positive(exact.step), **DASHED)
        draw.predicted(ax, [], "paper: the recursion", [])
    span, top = extent(_escaped(trained.step, trained)), extent(_escaped(trained.ood_clean, trained))
    if span and top:
        slope_beside(ax, span, 1.6 * top[1], -0.5, "paper: slope −1/2", color=draw.GREY)
        slope_beside(ax, span, 1.6 * top[1], -1.0, "derived: slope −1", **draw.CORRECTED)
    draw.log_x(ax)
    draw.log_y(ax)
    exponents = exponent_of(trained.ood_clean, trained, 1.0, np.inf)
    title = rf"Figure 2(b): slopes from $T^*$ on {exponents}"
    draw.finish(ax, title, r"clean excess loss $\frac{1}{2}\Delta^2$, exponential inputs", STEP)


def _cosine(ax: Axes, trained: xr.Dataset, claim: lm.Claim) -> None:
    """1 - cos, which Figure 2(c) shows as "near 1"."""
    off = draw.positive(1 - trained.cosine)
    draw.paths(ax, trained, off, "variant", "{}", clock=draw.positive(trained.step), marker=".")
    early, late = (1 - level_of(claim.judge, label=label)[0] for label in ("early", "late"))
    times = extent(trained.escape_step)
    if times:
        x = [100.0, times[0], times[0], max(times[1], float(trained.step.max()))]
        draw.predicted(ax, [early, early, late, late], "paper: near 1 (claimed: from step 100, from $T^*$)", x)
    draw.log_x(ax)
    draw.log_y(ax)
    draw.finish(ax, "Figure 2(c): the values point along $V^*$", r"$1-\cos(W_V,V^*)$", STEP)


def _crop(matrix: xr.DataArray) -> np.ndarray:
    """The part of a stored matrix that is used."""
    values = matrix.transpose("key_token", "query_token").values
    used = np.isfinite(values)
    return values[np.ix_(used.any(axis=1), used.any(axis=0))]


def _scores(ax: Axes, name: str, trained: xr.Dataset, exact: xr.Dataset | None) -> None:
    """Learned scores of the first seed, in a diverging colour map around 0 that ends at the teacher's 1/K."""
    learned, target = (_crop(trained[variable].isel(seed=0)) for variable in ("score_map", "target_map"))
    if not learned.size:
        ax.set_axis_off()
        return
    ax.grid(False)
    top = float(target.max())
    image = ax.imshow(learned, cmap="RdBu_r", vmin=-top, vmax=top)
    ax.figure.colorbar(image, ax=ax, shrink=0.85, label=f"score ($1/K$ = {top:.3g})")
    title = f"Figure 3, {name}: mean on support {learned[target > 0].mean():.3f}"
    if exact is not None:
        title += f"\n(paper: $p(T)$ = {float(lm.at_end(exact.score).isel(seed=0)):.3f})"
    draw.finish(ax, title, "key token $i_1$", "query token $i$")


def floor(data: xr.Dataset) -> Figure:
    """The excess at which runs from the optimum settle, against the estimate."""
    figure, (left, right) = draw.panels(2, width=5.4, height=4.3)
    settled = data.excess.where(data.step >= 0.5 * data.step.max("record")).mean("record")
    draw.curves(left, settled, "step_size", "batch", "batch $N$ = {}, every seed")
    for i, batch in enumerate(data.batch.values):
        estimate = data.noise_floor.sel(batch=batch).isel(seed=0)
        draw.corrected(left, estimate, "derived: the floor of the noise" if i == 0 else None, data.step_size)
    draw.log_y(left)
    draw.curves(right, settled / data.noise_floor, "step_size", "batch", "batch $N$ = {}, every seed")
    draw.corrected(right, 1.0, "derived: a linearised argument at the optimum")
    for ax in (left, right):
        draw.numbers(ax, data.step_size)
    y = "mean excess over the second half of the run"
    draw.finish(left, "online SGD settles above the optimum", y, r"step size $\eta$")
    draw.finish(right, "measured floor over the estimate", "measured / estimate", r"step size $\eta$")
    return figure

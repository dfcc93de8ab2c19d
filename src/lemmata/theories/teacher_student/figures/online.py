"""The figures of online SGD: blocks that train (Figure 1), curves and scores (Figures 2, 3), the floor of the noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, colour, labels_of, log_y, panels, strip
from lemmata.lab.measures import at_end
from lemmata.theories.teacher_student.figures import (
    CLAIM,
    DERIVED,
    PURPLE,
    accept,
    anchored,
    ends,
    finite_mean,
    follow,
    late_excess,
    legend,
    level,
    log_x,
    moment,
    names,
    positive,
    slope_of,
)

PARTS = {
    "values_x": ("$W_V^x$", BLUE, "-"), "values_p": ("$W_V^p$", BLUE, ":"), "pp": ("$W^{pp}$", RED, "-"),
    "xx": ("$W^{xx}$", GREEN, "--"), "xp": ("$W^{xp}$", ORANGE, "--"), "px": ("$W^{px}$", PURPLE, "--"),
}  # fmt: skip
INACTIVE = ["xx", "xp", "px"]
SMALL_BLOCK, SMALL_VALUES, GROWN = 0.02, 0.1, 50.0
"""What E1 asks of the ratios at the end, and of the growth of W^pp."""
EARLY, LATE = 0.95, 0.999
"""What E2 asks of the cosine, from 100 steps and from T* on."""


def blocks(data: xr.Dataset) -> Figure:
    """Norms of the six blocks along every run, and the ratios at its end."""
    runs = labels_of(data, "variant")
    count = len(runs) + 2
    figure, axes = panels(count + count % 2, rows=2, width=4.4, height=4.7)
    for ax, name in zip(axes, runs, strict=False):
        cell = data.sel(variant=name)
        for part, (words, color, style) in PARTS.items():
            if part in labels_of(data, "part"):
                follow(ax, cell, cell.part_norm.sel(part=part), words, color, linestyle=style, linewidth=1.6)
        start = finite_mean(cell.part_norm.sel(part="pp").isel(record=0))
        level(ax, GROWN * start, rf"{GROWN:g} times the initial $\|W^{{pp}}\|$")
        log_x(ax)
        log_y(ax)
        ax.set_ylabel("Frobenius norm of a block")
        ax.set_title(f"{name}: norms of the blocks", fontsize=10)
        legend(ax, 3)
    final = at_end(data.part_norm)
    large, ratio = axes[len(runs) : len(runs) + 2]
    _ratios(large, data, final.sel(part=INACTIVE).max("part") / final.sel(part="pp"), SMALL_BLOCK,
            r"max($W^{xx}$, $W^{xp}$, $W^{px}$) / $W^{pp}$")  # fmt: skip
    _ratios(ratio, data, final.sel(part="values_p") / final.sel(part="values_x"), SMALL_VALUES, r"$W_V^p/W_V^x$")
    for ax in axes[len(runs) + 2 :]:
        ax.set_axis_off()
    return figure


def _ratios(ax: Axes, data: xr.Dataset, ratio: xr.DataArray, limit: float, words: str) -> None:
    runs = labels_of(data, "variant")
    for i, name in enumerate(runs):
        values = positive(ratio.sel(variant=name).values)
        color = BLUE if "," not in name else GREY
        label = {0: "every seed"}.get(i, "control, or another student" if color == GREY else None)
        label = None if label in ax.get_legend_handles_labels()[1] else label
        strip(ax, i, values, color, label, sideways=True, median=True)
    ax.axvline(limit, label=f"paper: only $W_V^x$, $W^{{pp}}$ train (claimed: at most {limit:g})", **PREDICTED)
    ax.set_yticks(range(len(runs)), runs, fontsize=8)
    ax.set_ylim(len(runs) - 0.5, -0.5)
    log_x(ax, words)
    ax.set_title("inactive over active block at the end", fontsize=10)
    legend(ax, 1)


FROZEN = ", frozen"
COLUMNS = 5


def curves(data: xr.Dataset) -> Figure:
    """One row a teacher: excess loss, out-of-distribution loss, cosine, learned scores and those of the teacher."""
    teachers = [name for name in labels_of(data, "variant") if not name.endswith(FROZEN)] or labels_of(data, "variant")
    figure, axes = panels(
        COLUMNS * len(teachers), rows=len(teachers), width=3.9, height=3.0 if len(teachers) > 2 else 3.6
    )
    for i, name in enumerate(teachers):
        row = axes[COLUMNS * i : COLUMNS * (i + 1)]
        cells = data.sel(variant=name)
        control = data.sel(variant=name + FROZEN) if name + FROZEN in labels_of(data, "variant") else None
        trained, exact = _kinds(cells)
        frozen = None if control is None else _kinds(control)[0]
        known = trained if trained is not None else exact
        assert known is not None
        _excess(row[0], known, exact, frozen)
        _shifted(row[1], known, exact)
        _cosine(row[2], known)
        _scores(row[3], row[4], known, exact)
        row[0].set_ylabel(f"{name}\nexcess loss $\\mathcal{{L}}-\\mathcal{{L}}_{{opt}}$")
    for column in range(3):
        _shared_legend(axes[column::COLUMNS])
    return figure


def _kinds(cells: xr.Dataset) -> tuple[xr.Dataset | None, xr.Dataset | None]:
    """Training, and the recursion beside it; either may be missing."""
    known = labels_of(cells, "dynamics") if "dynamics" in cells.dims else []
    trained, exact = (cells.sel(dynamics=kind) if kind in known else None for kind in ("online", "recursion"))
    return (cells if not known else trained), exact


def _shared_legend(column: list[Axes]) -> None:
    """What all panels of a column show, once, under the last of them."""
    found: dict[str, Any] = {}
    for ax in column:
        for handle, words in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(words, handle)
    if found:
        column[-1].legend(
            list(found.values()), list(found), loc="upper center", bbox_to_anchor=(0.5, -0.3), fontsize=8, frameon=False
        )


def _escaped(data: xr.Dataset) -> xr.DataArray:
    """The records from T* on."""
    return (data.step >= data.escape_step) & (data.step > 0)


def _excess(ax: Axes, known: xr.Dataset, exact: xr.Dataset | None, frozen: xr.Dataset | None) -> None:
    words = "excess loss"
    follow(ax, known, known.excess, "online SGD, every seed", BLUE, marker="o", markersize=3.5)
    if exact is not None:
        first = exact.isel(seed=0)
        level_of = float(known.noise_floor.isel(seed=0))
        ax.plot(positive(first.step), positive(first.excess), label="paper: the recursion", **PREDICTED)
        style = {"color": RED, "linewidth": 1.1}
        ax.plot(positive(first.step), positive(first.excess + level_of), label="recursion + floor", **style)
        ax.axhline(level_of, label="derived: floor of the noise", **CLAIM)
        ax.plot(positive(first.step), late_excess(first, 0.5), label=r"derived: $KD(D-K)/(4\eta T)$", **DERIVED)
        ratio = ends((known.excess / (exact.excess + known.noise_floor)).where(_escaped(known)))
        if ratio is not None:
            words = rf"SGD / (recursion + floor), $t\geq T^*$: {ratio[0]:.2f} to {ratio[1]:.2f}"
    if frozen is not None:
        follow(ax, frozen, frozen.excess, "control: attention frozen", GREY, marker="x", markersize=3)
    log_x(ax)
    log_y(ax)
    moment(ax, float(known.escape_step.isel(seed=0)), "$T^*$", height=0.15)
    ax.set_title(words, fontsize=9.5)


def _shifted(ax: Axes, known: xr.Dataset, exact: xr.Dataset | None) -> None:
    """Excess loss on the fixed batch of exponential inputs, clean and with its noise; negative ones are marked."""
    follow(ax, known, known.ood_clean, r"clean: $\frac{1}{2}\Delta^2$", BLUE, marker="o", markersize=3.5)
    follow(ax, known, known.ood_batch, "with the noise of the batch", GREEN, marker="s", markersize=3, linewidth=0.8)
    below = known.ood_batch.where(known.ood_batch < 0)
    if np.isfinite(below).any():
        style: dict[str, Any] = {"marker": "v", "linestyle": "none", "markersize": 5, "markerfacecolor": "none"}
        follow(ax, known, -below, "with noise: negative, |·| shown", RED, **style)
    if exact is not None:
        for i in range(exact.sizes["seed"]):
            first = exact.isel(seed=i)
            label = "paper: the recursion, clean" if i == 0 else None
            ax.plot(positive(first.step), positive(first.ood_clean), label=label, **PREDICTED)
    late = known.ood_clean.where(_escaped(known))
    span, top = ends(known.step.where(_escaped(known))), ends(late)
    if span is not None and top is not None:
        anchored(ax, span, 1.6 * top[1], -0.5, "paper: slope −1/2", color=RED)
        anchored(ax, span, 1.6 * top[1], -1.0, "derived: slope −1", **DERIVED)
    log_x(ax)
    log_y(ax)
    ax.set_ylabel("excess loss, exponential inputs")
    found = slope_of(known.ood_clean, known, 1.0, np.inf)
    ax.set_title(rf"clean slope from $T^*$ on: {found}" if found else "out of distribution", fontsize=9.5)


def _cosine(ax: Axes, known: xr.Dataset) -> None:
    """1 - cos, which Figure 2(c) shows as "near 1"."""
    follow(ax, known, 1 - known.cosine, r"$1-\cos(W_V,V^*)$, every seed", BLUE, marker="o", markersize=3.5)
    escape = float(known.escape_step.isel(seed=0))
    span = ends(known.step)
    if span is not None:
        words = "paper: cosine near 1 (claimed:\n0.95 from step 100, 0.999 from $T^*$ on)"
        x = [100.0, escape, escape, max(span[1], escape)]
        ax.plot(x, [1 - EARLY, 1 - EARLY, 1 - LATE, 1 - LATE], label=words, **PREDICTED)
    log_x(ax)
    log_y(ax)
    ax.set_ylabel(r"$1-\cos(W_V,V^*)$")
    late = ends(known.cosine.where(_escaped(known)))
    ax.set_title(rf"cosine from $T^*$ on: at least {late[0]:.4f}" if late else "cosine of the values", fontsize=9.5)


def _crop(matrix: xr.DataArray) -> np.ndarray:
    """The part of a stored matrix that is used."""
    values = matrix.transpose("key_token", "query_token").values
    used = np.isfinite(values)
    return values[np.ix_(used.any(axis=1), used.any(axis=0))]


def _scores(left: Axes, right: Axes, known: xr.Dataset, exact: xr.Dataset | None) -> None:
    """Learned scores of the first seed and the teacher's, in one diverging colour map around 0."""
    learned, target = (_crop(known[name].isel(seed=0)) for name in ("score_map", "target_map"))
    if not learned.size:
        left.set_axis_off()
        right.set_axis_off()
        return
    top = float(target.max())
    words = f"learned $S$, mean on support {learned[target > 0].mean():.3f}"
    if exact is not None:
        words += f"\n(paper: $p(T)$ = {float(at_end(exact.score).isel(seed=0)):.3f})"
    for ax, matrix, title in ((left, learned, words), (right, target, f"teacher $S^*$, $1/K$ = {top:.3g} on support")):
        ax.grid(False)
        ax.spines[["top", "right"]].set_visible(True)
        image = ax.imshow(matrix, cmap="RdBu_r", vmin=-top, vmax=top)
        ax.figure.colorbar(image, ax=ax, shrink=0.85)
        ax.set_xlabel("query token $i$")
        ax.set_ylabel("key token $i_1$")
        ax.set_title(title, fontsize=9.5)


def floor(data: xr.Dataset) -> Figure:
    """Runs from the optimum, and the excess at which they settle against the estimate."""
    figure, (left, right, spread) = panels(3, width=5.2, height=4.6)
    cells = [(N, eta) for N in data.batch.values for eta in data.step_size.values]
    low_high: list[float] = []
    for i, (N, eta) in enumerate(cells):
        cell = data.sel(batch=N, step_size=eta)
        estimate = float(cell.noise_floor.isel(seed=0))
        words = rf"$N$ = {N:g}, $\eta$ = {eta:g}"
        late = cell.excess.where(cell.step >= 0.5 * cell.step.max("record"))
        settled = late.mean("record")
        follow(left, cell, cell.excess, words, colour(i), linewidth=0.9)
        left.axhline(estimate, color=colour(i), linestyle="--", linewidth=1)
        right.plot(np.full(settled.size, estimate), settled, "o", color=colour(i), label=words)
        strip(spread, i, settled / estimate, colour(i))
        low_high += [estimate, *settled.values]
    span = ends(low_high)
    if span is not None:
        right.plot(span, span, label="derived: settles at the estimate", **DERIVED)
    left.plot([], [], color=GREY, linestyle="--", linewidth=1, label="derived: floor of each run")
    log_y(left)
    left.set_xlabel("training step $t$, from the optimum")
    left.set_ylabel(r"excess loss $\mathcal{L}-\mathcal{L}_{opt}$")
    left.set_title("online SGD settles above the optimum", fontsize=10)
    log_x(right, r"estimate $\eta a_\kappa\sigma^2(MdD+\|V^*\|_F^2(K-1)/K)/(4NK)$", plain=True)
    log_y(right)
    right.set_ylabel("mean excess over the second half of the run")
    right.set_title("measured against the estimate", fontsize=10)
    spread.axhline(1.0, label="derived", **DERIVED)
    accept(spread, 0.9, 1.1, "within 10 %")
    names(spread, [f"{N:g}\n{eta:g}" for N, eta in cells], r"batch $N$, step size $\eta$")
    spread.set_ylabel("measured / estimate, every seed")
    spread.set_title("the estimate is a linearised argument", fontsize=10)
    for ax in (left, right, spread):
        legend(ax, 2)
    return figure

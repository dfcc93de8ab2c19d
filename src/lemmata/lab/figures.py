"""Figures: one vocabulary. A plot takes a data set (and the theory's claims) and returns a figure of a few panels.

    figure, (ax,) = lm.figures.panels(1)
    lm.figures.paths(ax, data, "train_loss", "attention", "{} attention")

What is measured: `paths` along training, `curves` over a numeric axis, `groups` of runs at the places of a categorical
one, `success_map` over two axes. What stands beside it: `predicted` (the paper's value or curve), `corrected` (ours in
its place), `law` (the paper's power of x, its constant put through the data), `fit` (a fit, labelled as one), `claimed`
(the level of a claim, read from its judge), `moment` (a time). The rest (`panels`, `finish`, scales, words) comes from
`lab.panels`. A theory says `from lemmata import figures as draw`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.claims import Claim
from lemmata.lab.fits import power_law
from lemmata.lab.intervals import CannotFit, Estimate, mean_interval
from lemmata.lab.judges import level_of
from lemmata.lab.panels import (
    BLUE,
    CLAIMED,
    CORRECTED,
    GREEN,
    GREY,
    NEVER,
    ORANGE,
    PALETTE,
    PREDICTED,
    PURPLE,
    RED,
    SKY,
    Look,
    dodge,
    finish,
    from_zero,
    labels_of,
    log_x,
    log_y,
    look,
    loss_scale,
    names,
    numbers,
    panels,
    positive,
    present,
    signed,
    stated,
    word,
)

__all__ = [
    "BLUE",
    "CLAIMED",
    "CORRECTED",
    "GREEN",
    "GREY",
    "NEVER",
    "ORANGE",
    "PALETTE",
    "PREDICTED",
    "PURPLE",
    "RED",
    "SKY",
    "Look",
    "claimed",
    "corrected",
    "curves",
    "dodge",
    "finish",
    "fit",
    "from_zero",
    "groups",
    "labels_of",
    "law",
    "log_x",
    "log_y",
    "look",
    "loss_scale",
    "moment",
    "names",
    "never",
    "numbers",
    "panels",
    "paths",
    "positive",
    "predicted",
    "present",
    "signed",
    "stated",
    "strip",
    "success_map",
    "word",
]


def paths(
    ax: Axes,
    data: xr.Dataset,
    values: str | xr.DataArray,
    by: str = "",
    label: str = "{}",
    color: str | Mapping[Any, str] | None = None,
    *,
    clock: xr.DataArray | None = None,
    spread: str = "seeds",
    **style: Any,
) -> None:
    """Along training, one line for every label of `by`: the mean over seeds, its label with {} for that of `by`.

    clock: what the records are drawn over, the step if not given. spread: every seed as a faint line ("seeds"), the
    95 % interval of the mean ("band"), or nothing ("").
    """
    drawn = data[values] if isinstance(values, str) else values
    times = data.step if clock is None else clock
    for part, words, kind in _each(drawn, by, label, color):
        at = times.sel({by: part[by]}) if by in times.dims else times
        rows, x = _rows(part, "record"), _rows(at.broadcast_like(part), "record")
        how = {"color": kind.color, "linestyle": kind.linestyle, "linewidth": 1.6, **style}
        if spread == "seeds":
            ax.plot(x.T, rows.T, **{**how, "linewidth": 0.8, "alpha": 0.35})
        elif spread == "band":
            low, high = _interval(rows)[1:]
            ax.fill_between(_mean(x), low, high, color=kind.color, alpha=0.15, linewidth=0)
        ax.plot(_mean(x), _mean(rows), label=words, **how)


def curves(
    ax: Axes,
    values: xr.DataArray,
    along: str,
    by: str = "",
    label: str = "{}",
    color: str | Mapping[Any, str] | None = None,
    *,
    x: Any = None,
    middle: str = "mean",
    spread: str = "seeds",
    **style: Any,
) -> None:
    """Over a numeric axis, one line for every label of `by`, through the mean, median or geometric mean of the seeds.

    x: where the labels of the axis stand, if not at their own values. spread: every seed as a faint point ("seeds"),
    the 95 % interval of the mean ("interval"), or nothing (""). Runs that never arrive (inf) stand at the upper edge.
    """
    for part, words, kind in _each(values, by, label, color):
        rows = _rows(part, along)
        places = np.asarray(values[along].values if x is None else x, float)
        how = {"color": kind.color, "linestyle": kind.linestyle, "marker": kind.marker, "markersize": 5, **style}
        if spread == "interval":
            mean, low, high = _interval(rows)
            ax.errorbar(places, mean, [mean - low, high - mean], label=words, capsize=2.5, elinewidth=1, **how)
        else:
            ax.plot(places, MIDDLES[middle](rows), label=words, **how)
        if spread == "seeds" and len(rows) > 1:
            ax.plot(places, np.where(np.isfinite(rows), rows, np.nan).T, ".", color=kind.color, alpha=0.3, markersize=4)
        never(ax, places[np.isposinf(rows).any(axis=0)], kind.color)


def groups(
    ax: Axes,
    values: xr.DataArray,
    along: str,
    by: str = "",
    label: str = "{}",
    color: str | Mapping[Any, str] | None = None,
    *,
    words: Mapping[Any, str] | None = None,
    sideways: bool = False,
    middle: str = "mean",
    **style: Any,
) -> None:
    """Runs at the places of a categorical axis: every seed a point, their mean or median a bar; `by` side by side.

    words: what the labels of the axis are called.
    """
    labels = values[along].values.tolist()
    kinds = list(_each(values, by, label, color))
    for (part, name, kind), shift in zip(kinds, dodge(len(kinds)), strict=True):
        for place in range(len(labels)):
            runs = part.isel({along: place})
            shown = name if place == 0 and (by or label != "{}") else None
            how = {"sideways": sideways, "width": 0.12 if len(kinds) == 1 else 0.18 / len(kinds), "middle": middle}
            strip(ax, place + shift, runs, kind.color, shown, **how, **{"marker": kind.marker, **style})
    names(ax, [(words or {}).get(each, word(each)) for each in labels], sideways=sideways)


def strip(
    ax: Axes,
    position: float,
    values: Any,
    color: str,
    label: str | None = None,
    *,
    sideways: bool = False,
    width: float = 0.12,
    middle: str = "mean",
    **style: Any,
) -> None:
    """One group of runs at a position of a categorical axis: every seed a point, their mean or median a bar.

    Runs that never arrive (inf) stand as triangles at the far edge of the panel. Then there is no mean, and a median
    only if most runs arrive.
    """
    values = np.ravel(np.asarray(values, float))
    places = position + (np.linspace(-width, width, values.size) if values.size > 1 else np.zeros(values.size))

    def draw(place: Any, value: Any, **how: Any) -> None:
        ax.plot(*((value, place) if sideways else (place, value)), color=color, **how)

    finite = np.where(np.isfinite(values), values, np.nan)
    draw(places, finite, label=label, **{"marker": "o", "markersize": 5, "alpha": 0.75, "linestyle": "none", **style})
    never(ax, places[np.isposinf(values)], color, sideways=sideways)
    known = values[~np.isnan(values)]
    centre = (np.median if middle == "median" else np.mean)(known) if known.size else np.nan
    if np.isfinite(centre):
        draw(np.array([-1.6, 1.6]) * width + position, np.full(2, centre), linewidth=2)


def success_map(ax: Axes, rates: xr.DataArray, x: str, y: str, words: str = "success rate over seeds") -> None:
    """Rates over two axes as a grey map, black 0 and white 1, with its scale."""
    shown = (rates.mean("seed") if "seed" in rates.dims else rates).transpose(y, x)
    ax.grid(False)
    ax.set_facecolor("#f3d3d3")  # cells without a value
    image = ax.imshow(shown.values, cmap="gray", vmin=0, vmax=1, origin="lower", aspect="auto")
    ax.set_xticks(range(shown.sizes[x]), [word(value) for value in shown[x].values], fontsize=8)
    ax.set_yticks(range(shown.sizes[y]), [word(value) for value in shown[y].values])
    if isinstance(ax.figure, Figure):
        ax.figure.colorbar(image, ax=ax, label=words)


def never(ax: Axes, x: Any, color: str, words: str = NEVER, *, sideways: bool = False) -> None:
    """Triangles at the far edge, for runs that never arrive; one entry of the legend for all of them."""
    x = np.asarray(x, float)
    if not x.size:
        return
    label = None if words in ax.get_legend_handles_labels()[1] else words
    edge = np.full(x.size, 0.97)
    how: dict[str, Any] = {"marker": ">" if sideways else "^", "markersize": 6, "linestyle": "none", "clip_on": False}
    transform = ax.get_yaxis_transform() if sideways else ax.get_xaxis_transform()
    ax.plot(*((edge, x) if sideways else (x, edge)), color=color, transform=transform, label=label, **how)


def predicted(
    ax: Axes, y: Any, words: str | None, x: Any = None, *, at: float | None = None, half: float = 0.42, **style: Any
) -> None:
    """What the paper says: a level, a curve over x, or a level at one place of a categorical axis."""
    how = {**PREDICTED, **style}
    if at is not None:
        ax.plot([at - half, at + half], [y, y], label=words, **how)
    elif x is None:
        ax.axhline(y, label=words, **how)
    else:
        single = {"marker": "_", "markersize": 16} if np.size(x) == 1 else {}
        ax.plot(x, y, label=words, **single, **how)


def corrected(ax: Axes, y: Any, words: str | None, x: Any = None, **style: Any) -> None:
    """What is derived, or stands in the place of what the paper says; otherwise like `predicted`."""
    predicted(ax, y, words, x, **{**CORRECTED, **style})


def claimed(
    ax: Axes,
    claim: Claim,
    part: str = "",
    label: str = "",
    words: str = "",
    *,
    across: bool = False,
    at: float | None = None,
    half: float = 0.42,
) -> None:
    """The level or range at which a claim is decided, as its judge has it.

    part: of a judge of several criteria, which one; label: of limits by label, whose. across: on the x axis. at: at one
    place of a categorical axis.
    """
    low, high = level_of(claim.judge, part, label)
    both = np.isfinite(low) and np.isfinite(high)
    level, relation = (low, "≥") if np.isfinite(low) else (high, "≤")
    low_said, high_said, level_said = (f"{each:.4g}".replace("-", "−") for each in (low, high, level))
    said = f"{words or 'claimed'}: " + (f"{low_said} to {high_said}" if both else f"{relation} {level_said}")
    name = None if said in ax.get_legend_handles_labels()[1] else said
    shade: dict[str, Any] = {"color": GREY, "alpha": 0.18, "linewidth": 0, "label": name}
    if at is None:
        draw = {True: (ax.axvspan, ax.axvline), False: (ax.axhspan, ax.axhline)}[across]
        draw[0](low, high, **shade) if both else draw[1](level, label=name, **CLAIMED)
        return
    ends = [at - half, at + half]
    if both:
        (ax.fill_betweenx if across else ax.fill_between)(ends, low, high, **shade)
    else:
        ax.plot(*(([level] * 2, ends) if across else (ends, [level] * 2)), label=name, **CLAIMED)


def law(ax: Axes, x: Any, values: Any, powers: Any, words: str | None, **style: Any) -> None:
    """The paper's law `powers` at x, its open constant put through the geometric centre of the values[..., x]."""
    x, powers = np.asarray(x, float), np.asarray(powers, float)
    ratio = positive(positive(values) / powers)
    if np.isfinite(ratio).any():
        order = np.argsort(x)
        ax.plot(x[order], np.exp(np.nanmean(np.log(ratio))) * powers[order], label=words, **{**PREDICTED, **style})


def fit(ax: Axes, x: Any, rows: Any, color: str, words: str = "fit", **style: Any) -> Estimate | None:
    """The power law fitted to rows[seed, x], its exponent and the interval of that in the legend; None without one."""
    x = np.asarray(x, float)
    try:
        found = power_law(x, rows)
    except CannotFit:
        return None
    grid = np.geomspace(x.min(), x.max(), 50)
    label = f"{words}: exponent {stated(found.exponent)}"
    ax.plot(grid, found.prefactor * grid**found.exponent.value, color=color, label=label, **{"linewidth": 1.3, **style})
    return found.exponent


def moment(ax: Axes, x: float, words: str, *, left: bool = False, height: float = 0.02) -> None:
    """A vertical line with its name at the foot of the panel."""
    if not np.isfinite(x):
        return
    ax.axvline(x, color=GREY, linewidth=1)
    place = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points", "ha": "right" if left else "left"}
    ax.annotate(words, (x, height), (-3 if left else 3, 0), fontsize=8.5, color="#404040", **place)


def _mean(rows: np.ndarray) -> np.ndarray:
    """The mean over the runs that have a value."""
    known = np.isfinite(rows)
    total = np.where(known, rows, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def _median(rows: np.ndarray) -> np.ndarray:
    """The median; runs that never arrive count as late, absent ones not at all."""
    known = ~np.isnan(rows)
    middle = np.nanmedian(np.where(known.any(axis=0), rows, 0.0), axis=0)
    return np.where(known.any(axis=0) & np.isfinite(middle), middle, np.nan)


def _geometric(rows: np.ndarray) -> np.ndarray:
    """The geometric mean where every run arrives."""
    arrives = (np.isfinite(rows) & (rows > 0)).all(axis=0)
    return np.where(arrives, np.exp(np.log(np.where(arrives, rows, 1.0)).mean(axis=0)), np.nan)


MIDDLES = {"mean": _mean, "median": _median, "geometric": _geometric}


def _interval(rows: np.ndarray) -> np.ndarray:
    """Mean over the seeds that have a value, and the ends of its 95 % interval; one seed stands for both ends."""
    found = []
    for column in rows.T:
        mean = mean_interval(column[np.isfinite(column)])
        known = np.isfinite(mean.low)
        found.append((mean.value, mean.low if known else mean.value, mean.high if known else mean.value))
    return np.array(found).T


def _rows(values: xr.DataArray, along: str) -> np.ndarray:
    """The values as rows[seed, along], whatever other dimensions they have counted as seeds."""
    others = [dim for dim in values.dims if dim != along]
    count = int(np.prod([values.sizes[dim] for dim in others]))
    return values.transpose(*others, along).values.reshape(count, values.sizes[along]).astype(float)


def _each(
    values: xr.DataArray, by: str, label: str, color: str | Mapping[Any, str] | None
) -> Iterator[tuple[xr.DataArray, str, Look]]:
    """The values of every label of an axis, with its words and its look."""
    if not by:
        yield values, "" if label == "{}" else label, Look(color if isinstance(color, str) else BLUE)
        return
    for i, name in enumerate(values[by].values.tolist()):
        kind = look(i)
        if color is not None:
            kind = kind._replace(color=color if isinstance(color, str) else color.get(name, kind.color))
        yield values.sel({by: name}), label.format(word(name)), kind

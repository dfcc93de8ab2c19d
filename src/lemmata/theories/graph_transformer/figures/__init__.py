"""The figures of the experiments, by topic; here what topics share: the clock, axes of distances, straight lines."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

import lemmata as lm
from lemmata import figures as draw

TIME = r"time $\eta t$"


def over_distance(values: xr.DataArray, bins: xr.DataArray) -> xr.DataArray:
    """What the bins 1 ... Z - 1 have, over their distance z; absent elsewhere."""
    z = np.arange(values.sizes["bin"])
    return values.assign_coords(bin=z).where(xr.DataArray(z >= 1, dims="bin") & (xr.DataArray(z, dims="bin") < bins))


def finish_distances(ax: Axes, title: str, y: str, **style: int) -> None:
    """The words of a panel over distances, with a line at 0."""
    ax.axhline(0, color=draw.GREY, linewidth=0.8)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    draw.finish(ax, title, y, "distance $z$", **style)


def straight(ax: Axes, x: np.ndarray, rows: np.ndarray, color: str, *, through_origin: bool = False) -> None:
    """The straight line fitted to rows[seed, x]; nothing where a run never arrives."""
    try:
        line = lm.line(x, rows, through_origin)
    except lm.CannotFit:
        return
    ends = np.array([0 if through_origin else x.min(), x.max()])
    slope = f"{'through 0, ' * through_origin}slope {line.slope.value:.3g}"
    label = f"fit: {slope}, $R^2$ = {draw.signed(line.r_squared)}"
    ax.plot(ends, line.intercept.value + line.slope.value * ends, color=color, linewidth=1.3, label=label)

"""Figures 4.1 and 4.8: accuracy of minority, majority and both along a sweep, and the cross entropy beside it."""

import xarray as xr
from matplotlib.figure import Figure

from lemmata import figures as draw

WORDS = {"minority": "minority", "majority": "majority", "test": "both groups"}


def sweep(data: xr.Dataset, along: str, x: str, title: str, split: str | None = None, scale: str = "linear") -> Figure:
    """Accuracy and loss of either group and of both, a pair of panels for each value of `split`."""
    cases = [None] if split is None else list(data[split].values)
    figure, axes = draw.panels(2 * len(cases))
    for case, pair in zip(cases, zip(axes[::2], axes[1::2], strict=True), strict=True):
        chosen = data if case is None else data.sel({split: case})
        head = title if case is None else f"{title}, minority: {case}"
        for ax, what in zip(pair, ("accuracy", "loss"), strict=True):
            values = xr.concat(
                [chosen[f"{name}_{what}"] for name in WORDS], "group", coords="minimal", compat="override"
            )
            values = values.assign_coords(group=list(WORDS.values()))
            draw.curves(ax, values, along, "group")
            ax.set_xscale(scale, **({"linthresh": 1e-3} if scale == "symlog" else {}))
            draw.finish(ax, head, f"test {what}", x)
    return figure

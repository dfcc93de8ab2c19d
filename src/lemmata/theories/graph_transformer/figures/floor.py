"""What flipped labels do (Figure 3.4): the loss along training, and where it ends beside 2 ε_0."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import GREY, PREDICTED, colour, panels
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.figures.common import end_words, legend, mean_of, over_time, path, up_to


def noise(data: xr.Dataset) -> Figure:
    """Test loss by share of flipped labels with the floor twice that share, and the end values against it."""
    figure, (left, right) = panels(2, height=4.6)
    levels = data.label_noise.values.astype(float)
    tops = [0.05]
    for i, level in enumerate(levels):
        part = data.isel(label_noise=i)
        path(left, part, part.loss, rf"$\epsilon_0$ = {level:g}", colour(i))
        floor = 2 * float(mean_of(part.flipped))
        left.axhline(
            floor, **{**PREDICTED, "color": colour(i), "label": r"document: $2\hat\epsilon_0$" if i == 0 else None}
        )
        x = 2 * part.flipped
        words = (r"loss, every seed", "loss on clean test labels (control)") if i == 0 else (None, None)
        right.plot(x, at_end(part.loss), "o", color=colour(i), markersize=6, alpha=0.8, label=words[0])
        right.plot(x, at_end(part.clean_loss), "x", color=GREY, markersize=5, label=words[1])
        tops.append(float(np.nanmax(np.append(x.values, 0.0))))
    over_time(left, data)
    up_to(left, 1.05, 0.0)
    left.set_ylabel("test loss (hinge, noisy labels)")
    left.set_title("document: slower with more noise, down to $2\\epsilon_0$", fontsize=10)
    grid = np.linspace(0, 1.1 * max(tops), 50)
    right.plot(grid, grid, label=r"document: $2\hat\epsilon_0$", **PREDICTED)
    room = 0.02 + 0.1 * grid
    right.fill_between(
        grid,
        grid - room,
        grid + room,
        color="black",
        alpha=0.08,
        linewidth=0,
        label=r"claimed: within 0.02 + 0.2 $\epsilon_0$",
    )
    right.set_xlabel(r"$2\hat\epsilon_0$, twice the realised share of flipped test labels")
    right.set_ylabel(f"test loss {end_words(data)}")
    right.set_title("where the loss ends", fontsize=10)
    for ax in (left, right):
        legend(ax)
    return figure

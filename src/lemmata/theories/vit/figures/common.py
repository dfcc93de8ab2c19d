"""What the figures of this theory share: words, colours, and drawings of risk, attention and what training moved."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes

from lemmata.lab.figures import BLUE, GREY, ORANGE, PREDICTED, dodge, strip, trajectory
from lemmata.lab.measures import at_end
from lemmata.theories.vit.training import SMALL_LOSS

MODE_NAMES = {"shared": "shared signs", "per_token": "per-token signs", "shared-b20": "shared signs, B = 20"}
ATTENTION_COLORS = {"trained": BLUE, "frozen": ORANGE}


def move(ax: Axes, place: float, values: xr.DataArray, color: str, label: str) -> None:
    """From the first to the last record of every seed, sideways at a place of a categorical axis."""
    for start, end, y in zip(
        values.isel(record=0).values, at_end(values).values, dodge(values.sizes["seed"], 0.25), strict=True
    ):
        ax.plot([start, end], [place + y] * 2, color=color, linewidth=1.2, marker="|", markevery=[0], markersize=6)
        ax.plot(end, place + y, "o", color=color, markersize=4, label=label)
        label = ""


def loss_scale(ax: Axes) -> None:
    """A logarithmic scale of losses that ends in 0."""
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.set_ylim(-2e-5, 4)


def attention_rise(ax: Axes, data: xr.Dataset) -> None:
    """Attention of relevant queries on relevant tokens along training less that at its start, and the claimed rise."""
    for kind in map(str, data.attention.values):
        part = data.sel(attention=kind)
        values = part.concentration.sel(query="relevant")
        start = values.isel(record=0)
        label = f"attention {kind} (mean start {float(start.mean()):.2f})"
        trajectory(ax, part.step, values - start, label, ATTENTION_COLORS[kind])
    ax.axhline(0.03, label=r"document: rises (claimed at $T_0$: $\geq 0.03$)", **PREDICTED)
    ax.set_xlabel("training step $t$, up to $T_0$")
    ax.set_ylabel("rise of the attention on relevant\ntokens, relevant queries")
    ax.set_title("attention concentration", fontsize=10)


def risk(ax: Axes, data: xr.Dataset, axis: str, words: str) -> None:
    """Test hinge before and after training for every value of an axis, and the document's success."""
    for i in range(data.sizes[axis]):
        part = data.isel({axis: i})
        strip(ax, i, part.untrained_test_hinge, GREY, "untrained" if i == 0 else None)
        strip(ax, i, part.test_hinge, BLUE, "trained" if i == 0 else None)
    ax.axhline(SMALL_LOSS, label="document: 0 (success below 0.001)", **PREDICTED)
    loss_scale(ax)
    ax.set_xlim(-0.6, data.sizes[axis] - 0.4)
    ax.set_xticks(range(data.sizes[axis]), [str(value) for value in data[axis].values])
    ax.set_xlabel(words)
    ax.set_ylabel("test hinge loss")
    ax.set_title("risk", fontsize=10)

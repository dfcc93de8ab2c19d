"""The figure of E4: the paper's Figures 4 and 5, and where and when attention finds the groups."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.mnist.data import boundary
from lemmata.theories.teacher_student.mnist.setting import CANVAS, GRID, GROUP, PATCH, TOKENS

STEP = "training step $t$"


def mnist(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Training above, scores in the middle, below where attention finds the groups, and an image."""
    figure, axes = draw.panels(9, rows=3, width=4.4, height=3.9)
    loss, cosine, mass, target, relu, leaky, energy, within, example = axes
    draw.paths(loss, data, data.loss / data.loss.isel(record=0), "variant")
    draw.claimed(loss, claims["exp-e4-loss"], words="paper: falls; claimed at the end")
    draw.log_y(loss)
    draw.finish(loss, "Figure 4(a): training loss", r"$\frac{1}{2}\|f^*-TF\|_F^2$ over its first value", STEP)
    draw.paths(cosine, data, "cosine", "variant")
    draw.claimed(cosine, claims["exp-e4-cosine"], words="paper: rises above; claimed")
    draw.finish(cosine, "Figure 4(b): direction of the values", "cosine of $W_V$ and $V^*$", STEP)
    draw.paths(mass, data, data.interior_mass / data.boundary_mass, "variant")
    draw.claimed(mass, claims["exp-e4-mass"], words="claimed once the cosine has passed")
    draw.finish(mass, "mass inside over mass at the first and last row", "relative mass, interior / boundary", STEP)
    first = data.isel(seed=0)
    image = _scores(target, first.target_scores.isel(variant=0), "Figure 5(a): the teacher's $S^*$")
    for ax, name, letter in zip((relu, leaky), ("ReLU", "leaky"), "bc", strict=True):
        if draw.present(data, "variant", [name]):
            _scores(ax, first.scores.sel(variant=name), f"Figure 5({letter}): learned $S$, {name}")
        else:
            ax.set_axis_off()
    figure.colorbar(image, ax=[target, relu, leaky], location="bottom", shrink=0.4, aspect=40, label="score")
    run = data.isel(variant=0)
    _energies(energy, run)
    draw.paths(within, run, "interior_mass", label="interior", color=draw.GREEN)
    draw.paths(within, run, "boundary_mass", label="boundary", color=draw.RED, linestyle="--")
    draw.predicted(within, 1.0, "paper: the teacher's")
    draw.predicted(within, GROUP / TOKENS, "uniform: $K/D$", **draw.CLAIMED)
    draw.finish(within, f"inside and boundary along training, {run.variant.item()}", "relative mass in the group", STEP)
    _example(example, first.example.isel(variant=0))
    source = "stand-in: scikit-learn digits, no MNIST" if bool(data.is_digits.max()) else "MNIST"
    right = 100 * data.teacher_accuracy
    words = f"teacher's test accuracy {float(right.min()):.0f} to {float(right.max()):.0f} % (paper: about 71 %)"
    figure.suptitle(f"{source}, {int(data.train_images.min())} training images; {words}", fontsize=11)
    return figure


def basins(data: xr.Dataset) -> lm.Table:
    """In which share of the seeds values that start at random find the teacher's direction, with Wilson's interval."""
    rows = []
    for scale in data.initial_scale.values:
        ends = data.in_basin.sel(initial_scale=scale).dropna("seed").values
        share = lm.share_interval(float(ends.sum()), ends.size)
        rows.append([f"{scale:g}", float(ends.size), share.value, share.low, share.high])
    heads = ("standard deviation of W_V at the start", "seeds", "share in the right basin", "95 %, from", "to")
    return lm.Table("Runs whose cosine of values and kernels ends above 0.9", heads, rows)


def _energies(ax: Axes, run: xr.Dataset) -> None:
    """Relative mass of every patch at the end against its energy."""
    mass, edge = lm.at_end(run.relative_mass), boundary()
    for which, color, marker, words in ((~edge, draw.GREEN, "o", "interior"), (edge, draw.RED, "s", "boundary")):
        x, y = (values.transpose("seed", "token").values[:, which].ravel() for values in (run.energy, mass))
        ax.plot(x, y, marker, color=color, alpha=0.6, markersize=4, label=f"{words}, every seed")
    draw.predicted(ax, 1.0, "paper: the teacher's")
    correlation = float(lm.at_end(run.mass_energy).mean("seed"))
    title, x = f"mass and energy: correlation {draw.signed(correlation)}", r"energy of the patch $E\|x_i\|^2$"
    draw.finish(ax, title, f"relative mass after training, {run.variant.item()}", x)


def _scores(ax: Axes, scores: xr.DataArray, title: str) -> AxesImage:
    """A score matrix on the scale of S*; ticks where the first and the last row of patches end."""
    ax.grid(False)
    image = ax.imshow(scores.values, cmap="Reds", vmin=0, vmax=1 / GROUP, interpolation="nearest")
    ticks = [0, GRID - 1, TOKENS // 2, TOKENS - GRID, TOKENS - 1]
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(ticks, [str(tick + 1) for tick in ticks], fontsize=8)
    draw.finish(ax, title, "patch (key)", "output (query)")
    return image


def _example(ax: Axes, pixels: xr.DataArray) -> None:
    """A training image with its patches; the first and the last row of them are framed."""
    ax.grid(False)
    ax.imshow(pixels.values, cmap="gray", vmin=0, vmax=1)
    frame = {"fill": False, "edgecolor": draw.RED, "linewidth": 2, "clip_on": False}
    for top in (0, CANVAS - PATCH):
        ax.add_patch(Rectangle((-0.5, top - 0.5), CANVAS, PATCH, **frame))
    edges = np.arange(PATCH, CANVAS, PATCH) - 0.5
    for line in (ax.hlines, ax.vlines):
        line(edges, -0.5, CANVAS - 0.5, color=draw.GREY, linewidth=0.4)
    ax.set_xticks([])
    ax.set_yticks([])
    draw.finish(ax, "Figure 5(d): patches 1 to 9 and 73 to 81", x="an image, its patches, and the boundary")

"""Figures of the experiments: training and its limits, mixtures and their information, tensor starts."""

from matplotlib.axes import Axes

from lemmata import figures as draw


def log_log(ax: Axes, title: str, y: str, x: str = "samples $n$") -> None:
    """Both axes logarithmic, and the words of the panel."""
    draw.log_x(ax)
    draw.log_y(ax)
    draw.finish(ax, title, y, x)

"""Figures of the experiments: limits of training, mixtures and their information, tensor starts, descents."""

from matplotlib.axes import Axes

from lemmata import figures as draw


def log_log(ax: Axes, title: str, y: str, x: str) -> None:
    """Both axes logarithmic, and the words of the panel."""
    draw.log_x(ax)
    draw.log_y(ax)
    draw.finish(ax, title, y, x)

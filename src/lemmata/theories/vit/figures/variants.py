"""Token sparsification (Figure 2.5), general data, other networks and other initialisations."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import panels


def sparsification(data: xr.Dataset) -> Figure:
    return panels(1)[0]


def multiclass(data: xr.Dataset) -> Figure:
    return panels(1)[0]


def pattern_sets(data: xr.Dataset) -> Figure:
    return panels(1)[0]


def heads(data: xr.Dataset) -> Figure:
    return panels(1)[0]


def skip(data: xr.Dataset) -> Figure:
    return panels(1)[0]


def normalisation(data: xr.Dataset) -> Figure:
    return panels(1)[0]


def initialisations(data: xr.Dataset) -> Figure:
    return panels(1)[0]

"""The numbers that the paper prints about real graphs, as printed; a graph that a table leaves out is absent."""

from __future__ import annotations

from typing import NamedTuple

DISCRIMINATIVE = {
    "cora": (82.05, 88.02, 82.54, 78.12, 78.17, 83.56, 76.11),
    "pubmed": (82.18, 93.34, 80.48),
    "actor": (42.09, 53.33, 57.85, 60.93, 64.79),
    "pascal": (98.62, 100.0, 100.0),
}
"""Tables B.1 to B.4: per cent of every class that is discriminative."""

CORE_SHARE = {"cora": 95.68, "pubmed": 95.50, "actor": 86.31, "pascal": 98.54}
"""Table B.5: per cent of the nodes with a positive winning margin at the core distance."""


class Statistics(NamedTuple):
    nodes: float
    edges: float
    classes: float
    features: float


STATISTICS = {
    "cora": Statistics(2708, 5278, 7, 1433),
    "pubmed": Statistics(19717, 44324, 3, 500),
    "actor": Statistics(7600, 26659, 5, 932),
    "pascal": Statistics(479, 2718, 3, 14),
    "arxiv": Statistics(169343, 1166243, 40, 128),
}
"""Table B.6; Cora is absent there, its numbers are the text's. Pascal's edges may be counted in both directions."""


class Balance(NamedTuple):
    average: float
    gap: float
    limit: float


BALANCE = {"cora": Balance(386.86, 431.14, 520.38), "actor": Balance(1520, 667, 871.78)}
"""Table B.8: nodes per class on average, the largest gap of a class to it, and 10 √N."""

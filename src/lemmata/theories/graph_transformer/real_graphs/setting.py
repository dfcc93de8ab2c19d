"""The setting of the tables of real graphs: which graph, and how its discriminative nodes are told."""

from __future__ import annotations

import lemmata as lm
from lemmata.datasets.graphs import HETEROPHILOUS
from lemmata.theories.graph_transformer.graphs.discriminative import THRESHOLD

NAMES = {
    "standin": "stand-in",
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "actor": "Actor",
    "pascal": "PascalVOC-SP-1G",
    "arxiv": "Ogbn-Arxiv",
    **{name: name for name in HETEROPHILOUS},
}


class RealSetting(lm.Setting):
    """A real graph on the user's disk, or the stand-in that is always there."""

    graph: str = lm.choice("standin", "which graph; the stand-in is a citation-like one made by the program", *NAMES)
    threshold: float = lm.number(
        THRESHOLD, "τ", "cosine above which a node is discriminative", low=-1.0, high=1.0, open_ends="low high"
    )
    labels: str = lm.choice("all", "labels that a diagnosis is given: all, or 20 nodes of a class", "all", "few")
    bins: int = lm.size(13, "Z", "distances of the margins are 1 to Z - 1", low=2, high=255)

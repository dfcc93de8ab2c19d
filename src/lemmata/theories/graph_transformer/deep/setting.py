"""The setting of the deep models on real graphs (3.10): the graph and its labels, the sampler, the network, Adam."""

from __future__ import annotations

from collections.abc import Iterator

import lemmata as lm

GRAPHS = ("standin", "cora", "citeseer", "pubmed", "actor", "pascal", "arxiv")


class DeepSetting(lm.Setting):
    """One graph, one split of its nodes, one network."""

    graph: str = lm.choice("cora", "the graph; standin is drawn, the others are read from $LEMMATA_DATA", *GRAPHS)
    model: str = lm.choice("gt", "graph transformer, or graph convolutions", "gt", "gcn")
    sampler: str = lm.choice(
        "whole",
        "the nodes that a node attends to: of the whole graph, of near shells and the graph, of one shell",
        "whole",
        "stratified",
        "single",
    )
    split: str = lm.choice(
        "random", "labelled nodes drawn anew by every seed, or those of the data", "random", "public"
    )
    row_normalise: bool = lm.flag(False, "features of a node divided by their sum")
    decayed: str = lm.choice("all", "layers with weight decay", "all", "first")

    train_encoding: int = lm.number(
        1, "", "1: the distance encoding b is trained, 0: it stays 0 (no encoding)", low=0, high=1, integer=True
    )
    distance: int = lm.number(1, "z", "the shell of the sampler single", low=1, high=250, integer=True)
    labelled: float = lm.number(
        0.0, "", "labelled share of every class (0: per_class nodes of it)", low=0, high=1, open_ends="high"
    )
    per_class: int = lm.number(20, "", "labelled nodes of every class where labelled is 0", low=1, integer=True)
    steps: int = lm.number(200, "T", "training steps, each on all labelled nodes", low=0, high=10**6, integer=True)
    step_size: float = lm.number(1e-3, "η", "step size of Adam", low=0, open_ends="low")
    weight_decay: float = lm.number(5e-4, "", "weight decay, added to the gradient", low=0)
    dropout: float = lm.number(0.2, "", "share of dropped entries in training", low=0, high=1, open_ends="high")

    sample: int = lm.size(20, "|S|", "nodes drawn for a node (whole, single)")
    reach: int = lm.size(4, "", "the stratified sampler draws from shells 1, 2, ... up to this one")
    per_shell: int = lm.size(4, "", "nodes drawn from each of them, and as many more from the whole graph")
    bins: int = lm.size(20, "Z", "distances that b tells apart; the last stands for all from Z - 1 on", low=2, high=250)
    layers: int = lm.size(4, "", "layers")
    heads: int = lm.size(4, "", "attention heads")
    width: int = lm.size(64, "", "width of a node inside the transformer")
    feedforward: int = lm.size(128, "", "hidden width of its perceptrons")
    gcn_width: int = lm.size(0, "", "width of the GCN (0: as many parameters as the transformer)", low=0)
    eval_samples: int = lm.size(5, "", "samples over which a test averages the outputs")
    records: int = lm.size(5, "", "records of loss and accuracy", low=2)

    @lm.derived
    def first_shell(self) -> int:
        """The shells from which `sample` nodes are drawn: one, or all (whole and single are one program)."""
        return self.distance if self.sampler == "single" else 1

    @lm.derived
    def last_shell(self) -> int:
        return self.distance if self.sampler == "single" else self.bins + 1

    @lm.fixed
    def strata(self) -> int:
        return self.reach if self.sampler == "stratified" else 0

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from self.indivisible("heads", "width")
        yield from self.exceeding("distance", "bins", ["distance"])
        yield from self.exceeding("reach", "bins", ["reach"])
        if self.decayed == "first" and self.model != "gcn":
            yield "decayed = first is not allowed with model = gt: only graph convolutions have such a first layer."

    def warnings(self) -> list[str]:
        return ["the graph is a drawn stand-in, not real data."] if self.graph == "standin" else []

"""The setting of one node-classification problem: graph, network, sampler, training and what is measured."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

import lemmata as lm

SEQUENCES = ("+-+-", "++--++--", "+++---+++---", "++--++--++--", "++++-+-+----", "+-+-+-+-")
GENERATORS = ("chapter", "blocks", "cycle", "ring", "structures", "given")
DRAWS = ("uniform", "all", "stratified", "biased", "biased_apart", "encoding")
STOPS = ("never", "reached", "tight", "success", "trained")
STRUCTURES = ("clusters", "cycles", "degrees", "rings")
POSITIONS = ("none", "laplacian", "walk", "degree", "centroid")
SHELLS = ("near", "whole", "core", "single")
DEFECTS = ("none", "labels", "training_labels", "distances", "patterns")
MODELS = ("gt", "no_pe", "gcn", "frozen_init")
NEURON_ROOM = 400
"""Neurons that programs have room for; up to this width all widths share one program."""
BIN_ROOM = 7
"""Bins of the encoding that programs have room for."""
FAR = 255
"""Beyond every distance."""
STRATA = 4
"""Distances that a stratified sample can have strata of."""
TRAINED, TIGHT, SUCCESS = 0.1, 0.01, 1e-3
"""Training loss that counts as trained; the tighter tolerance of iteration counts; full loss of a success (F3.3)."""


class NetworkSetting(lm.Setting):
    """What every one-layer network of this theory has: patterns, widths, initial weights, encoding, step size."""

    dimension: int = lm.size(20, "d", "dimension of the features", low=2)
    patterns: int = lm.size(10, "M", "number of patterns; the first two decide the label", low=2)
    feature_noise: float = lm.number(0.01, "c_0", "standard deviation of the feature noise", low=0)
    neurons: int = lm.number(400, "m", "width of the hidden layer", low=1, integer=True)
    key_width: int = lm.size(20, "m_a", "rows of W_K and W_Q")
    value_width: int = lm.size(20, "m_b", "rows of W_V")
    init: str = lm.choice("assumption", "initial weights (3.2)", "assumption", "identity", "literal", "gaussian")
    key_error: float = lm.number(0.2, "δ", "error of the initial keys and queries", low=0, high=0.5, open_ends="high")
    value_error: float = lm.number(0.1, "σ", "error of the initial values", low=0)
    output_scale: float = lm.number(0.01, "ξ", "standard deviation of the initial W_O", low=0)
    row_norm: bool = lm.flag(False, "W_O with variance ξ²/m_b instead of ξ²")
    bins: int = lm.number(4, "Z", "bins of the distance encoding", low=2, high=200, integer=True)
    step_size: float = lm.number(0.1, "η", "step size", low=0)
    steps: int = lm.number(300, "T", "training steps", low=1, integer=True)
    train_encoding: float = lm.number(1, "", "1: the encoding is trained; 0: frozen", low=0, high=1)
    record_every: int = lm.number(10, "", "steps between records", low=1, integer=True)
    records: int = lm.size(31, "", "room for records", low=2)

    def refusals(self, given: list[str]) -> Iterator[str]:
        if self.patterns > self.dimension:
            yield f"patterns = {self.patterns} is not allowed: M is at most the dimension d = {self.dimension}."

    def warnings(self) -> list[str]:
        if self.patterns < min(self.key_width, self.value_width):
            return []
        return [f"M = {self.patterns} is not below m_a = {self.key_width} and m_b = {self.value_width}."]

    @lm.fixed
    def inputs(self) -> int:
        """Coordinates of a token."""
        return self.dimension

    @lm.fixed
    def neuron_room(self) -> int:
        return max(NEURON_ROOM, self.neurons)

    @lm.fixed
    def bin_room(self) -> int:
        return max(BIN_ROOM, self.bins)

    @lm.derived
    def attention_scale(self) -> float:
        """0 makes attention uniform."""
        return 1.0

    @lm.derived
    def value_columns(self) -> np.ndarray:
        """1 for the inputs that the values see."""
        return np.ones(self.inputs)


class Setting(NetworkSetting):
    """Defaults: the paper's graph with the step size of quick runs (section 7)."""

    generator: str = lm.choice("chapter", "where the graph comes from (2.2 - 2.5, 3.7)", *GENERATORS)
    nodes: int = lm.size(1000, "N", "number of nodes")
    discriminative: float = lm.number(0.4, "γ_d", "share of discriminative nodes", low=0, high=1, open_ends="low")
    degree: int = lm.number(120, "D", "degree (the paper's graph), expected degree (blocks)", low=1, integer=True)
    confusion: float = lm.number(0.05, "ε_S", "fraction of confusing neighbours", low=0, high=0.5, open_ends="high")
    label_noise: float = lm.number(0.0, "ε_0", "fraction of flipped labels", low=0, high=0.5, open_ends="high")
    intra_degree: int = lm.number(-1, "", "least neighbours of one's own pattern; -1: the degree", low=-1, integer=True)
    on_infeasible: str = lm.choice("error", "a degree that too few discriminative nodes allow", "error", "cap")
    normalise: str = lm.choice("auto", "unit feature vectors; auto: all but the paper's graph", "auto", "yes", "no")
    heterophily: bool = lm.flag(False, "blocks whose edges join different labels")
    sequence: str = lm.choice("++--++--", "labels of the clusters of a cycle (2.4)", *SEQUENCES)
    edge_probability: float = lm.number(1.0, "p", "edges between neighbouring clusters", low=0, high=1, open_ends="low")
    cluster_signs: Any = lm.array("s", "labels of the clusters of a cycle, instead of a sequence")
    structure: str = lm.choice("clusters", "what decides the label in a graph of structures (3.7)", *STRUCTURES)
    adjacency: Any = lm.array("A", "adjacency matrix of a given graph")
    features: Any = lm.array("X", "features of a given graph")
    labels: Any = lm.array("y", "labels (+1, -1) of a given graph")
    pattern: Any = lm.array("", "patterns (from 1 on; 1 and 2 discriminative) of a given graph")
    symmetrize: bool = lm.flag(False, "make every entry of the adjacency an edge")

    model: str = lm.choice("gt", "graph transformer, without encoding, or a GCN (frozen attention)", *MODELS)
    scores: str = lm.choice("dot", "attention logits: products, or additive as in GAT", "dot", "additive")
    positions: str = lm.choice("none", "absolute encoding beside the features (3.7)", *POSITIONS)
    position_width: int = lm.size(7, "", "length of the absolute encoding")
    position_scale: float = lm.number(1.0, "", "factor of the absolute encoding; 0: its columns are zero", low=0)
    positions_in_values: float = lm.number(1.0, "", "1: the absolute encoding enters the values; 0: not", low=0, high=1)

    shells: str = lm.choice("near", "distances that are sampled: 1 to reach, all, the core, one", *SHELLS)
    reach: int = lm.number(2, "", "largest distance that is sampled (near)", low=1, high=250, integer=True)
    distance: int = lm.number(1, "z", "the distance that is sampled (single)", low=1, high=250, integer=True)
    draw: str = lm.choice("uniform", "how nodes are drawn (section 4)", *DRAWS)
    sample: int = lm.size(60, "|S|", "nodes that are drawn")
    per_shell: int = lm.size(4, "", "nodes drawn from each of the distances 1 to reach (stratified)")
    extra: int = lm.size(4, "", "nodes drawn from the whole graph besides (stratified)", low=0)
    preference: float = lm.number(1.0, "β", "weight of class-relevant nodes (biased)", low=0, open_ends="low")
    include_self: bool = lm.flag(True, "the node itself is always added")
    require_candidates: bool = lm.flag(False, "refuse graphs in which a labelled node has no candidate")

    labelled: int = lm.number(400, "|L|", "labelled nodes", low=1, integer=True)
    batch: int = lm.size(100, "B", "nodes of a step; 0: all labelled ones", low=0)
    single_pass: bool = lm.flag(False, "every label is used once")
    fresh_samples: bool = lm.flag(True, "draw new nodes at every step")
    pretraining: int = lm.number(0, "T_0", "first steps in which only W_O is trained", low=0, integer=True)
    margin: float = lm.number(1.0, "", "margin of the training loss", low=0, open_ends="low")
    train_attention: float = lm.number(1, "", "1: W_K and W_Q are trained; 0: frozen", low=0, high=1)
    train_values: float = lm.number(1, "", "1: W_V is trained; 0: frozen", low=0, high=1)
    train_output: float = lm.number(1, "", "1: W_O is trained; 0: frozen", low=0, high=1)
    freeze_zero_bin: float = lm.number(0, "", "1: the entry of distance 0 is frozen", low=0, high=1)

    test_draws: int = lm.size(3, "", "samples of every node in sampled evaluation")
    test_from: int = lm.size(0, "", "first place in the order to test on; 0: test on all that are not labelled", low=0)
    watch: str = lm.choice("sampled", "aggregation whose loss is recorded", "sampled", "full")
    stop: str = lm.choice("never", "stop at the tolerance, at .01, at full loss below 1e-3, or when trained", *STOPS)
    tolerance: float = lm.number(0.05, "", "test loss that counts as reached", low=0, open_ends="low")
    track: str = lm.choice("losses", "what is recorded besides losses", "losses", "masses", "proof")
    defect: str = lm.choice("none", "a deliberate break, for controls", *DEFECTS)

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        yield from self.exceeding("labelled", "nodes", ["labelled"])
        yield from self.exceeding("batch", "labelled", given)
        if self.single_pass and self.labelled < self.batch * self.steps:
            yield f"single_pass needs labelled >= batch steps = {self.batch * self.steps}, not {self.labelled}."
        if self.single_pass and self.batch == 0:
            yield "single_pass needs a batch: batch = 0 uses all labels at every step."
        if self.test_from >= self.nodes:
            yield f"test_from = {self.test_from} is not allowed: it must be less than the {self.nodes} nodes."
        if self.stop == "success" and self.watch != "full":
            yield "stop = success is not allowed with watch = sampled: a success is a full loss below 1e-3."
        if self.track != "losses" and self.watch == "full":
            yield f"track = {self.track} is not allowed with watch = full: attention is recorded on samples."
        if not self.fresh_samples and self.test_from:
            yield "fresh_samples = false needs test_from = 0: nodes are trained on the samples they are watched on."
        if self.draw == "stratified" and self.reach > STRATA:
            yield f"reach = {self.reach} is not allowed: a stratified sample has strata for distances 1 to {STRATA}."
        from lemmata.theories.graph_transformer.graphs import refusals

        yield from refusals(self)

    def warnings(self) -> list[str]:
        capped = self.generator == "chapter" and self.on_infeasible == "cap" and self.capped
        words = "D is infeasible at this γ_d: neighbours are capped at the discriminative nodes there are."
        return [*super().warnings(), *[words] * capped]

    @property
    def pairs(self) -> int:
        """n_1: nodes of each discriminative pattern (G1, G2)."""
        return round(self.discriminative * self.nodes / 2)

    @property
    def relevant_neighbours(self) -> int:
        """k_* before capping."""
        return round(self.degree * (1 - self.confusion))

    @property
    def intra(self) -> int:
        return self.degree if self.intra_degree < 0 else self.intra_degree

    @property
    def capped(self) -> bool:
        return self.relevant_neighbours > self.pairs or self.intra > self.pairs - 1

    @property
    def cluster_labels(self) -> np.ndarray:
        """s, of the cycle."""
        if self.cluster_signs is not None:
            return np.asarray(self.cluster_signs)
        return np.array([1 if sign == "+" else -1 for sign in self.sequence])

    @property
    def unit_features(self) -> bool:
        return self.normalise == "yes" or (self.normalise == "auto" and self.generator != "chapter")

    @lm.derived
    def attention_scale(self) -> float:
        return 0.0 if self.model == "gcn" else 1.0

    @lm.derived
    def value_columns(self) -> np.ndarray:
        """Those of an absolute encoding can be left out (3.7)."""
        return np.where(np.arange(self.inputs) < self.dimension, 1.0, self.positions_in_values)

    @lm.derived
    def update_attention(self) -> float:
        return self.train_attention * (self.model in ("gt", "no_pe"))

    @lm.derived
    def update_encoding(self) -> float:
        return self.train_encoding * (self.model == "gt")

    @lm.derived
    def seen(self) -> int:
        """Nodes of a step."""
        return min(self.batch or self.labelled, self.labelled)

    @lm.derived
    def trained_parameters(self) -> float:
        """Numbers that are trained: of a GCN m m_b + m_b d; a transformer has 2 m_a d + Z more, a GAT m_a d + 2 m_a."""
        head = self.train_output * self.neurons * self.value_width
        head += self.train_values * self.value_width * self.value_columns.sum()
        if self.scores == "additive":
            return head + self.update_attention * self.key_width * (self.inputs + 2)
        attention = self.update_attention * 2 * self.key_width * self.inputs
        return head + attention + self.update_encoding * (self.bins - self.freeze_zero_bin)

    @lm.derived
    def stop_loss(self) -> float:
        """Training stops where the test loss is below this (-inf: nowhere)."""
        return {"reached": self.tolerance, "tight": TIGHT, "success": SUCCESS}.get(self.stop, -inf)

    @lm.derived
    def stop_train_loss(self) -> float:
        """The same of the training loss with clean labels."""
        return TRAINED if self.stop == "trained" else -inf

    @lm.fixed
    def inputs(self) -> int:
        """The features and, where there is one, the absolute encoding."""
        return self.dimension + (self.position_width if self.positions != "none" else 0)

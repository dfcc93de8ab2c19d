"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size.

First what several of them share: sizes of presets, and graphs that they train on. Then, by topic, what training needs
(neurons, iterations, labels), what the encoding learns, what the proof follows, and its single steps.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.graph_transformer.figures import encoding, proof, requirements, steps
from lemmata.theories.graph_transformer.measures import SAMPLER_CONFUSION
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.studies.random_samples import sample_shells, simulate_batches, simulate_sampler
from lemmata.theories.graph_transformer.studies.shells import examine_shells, examine_start, vary_masses
from lemmata.theories.graph_transformer.training import simulate

RECORDS = 61
"""Room for records, the same in most experiments, so that they share their programs."""
FRACTIONS = [0.25, 0.3, 0.4, 0.5, 0.6, 0.8]
TINY = {
    "nodes": 96, "patterns": 5, "dimension": 8, "degree": 8, "neurons": 12, "key_width": 8, "value_width": 8,
    "labelled": 48, "batch": 10, "sample": 8, "steps": 4, "record_every": 2, "records": 3, "test_from": 0,
    "test_draws": 2, "track": "proof",
}  # fmt: skip
"""The sizes of every smoke preset, so that they share their programs."""
SMALL = {name: TINY[name] for name in ("nodes", "labelled", "degree", "sample", "batch", "neurons", "steps")}
"""Those that variants have values of their own for."""
APART = {"track": "losses"}
"""The smoke preset of an experiment whose training is a program of its own, which is then smaller."""
SLOW = {"step_size": 0.01, "record_every": 100}
"""The paper's step size: ten times the steps for the same η t."""


def cycle(sequence: str, cluster: int = 60) -> dict[str, Any]:
    """G3 with its training defaults (2.4): the whole graph is sampled, half of the nodes are labelled."""
    nodes = cluster * len(sequence)
    return {
        "generator": "cycle", "sequence": sequence, "nodes": nodes, "labelled": nodes // 2,
        "bins": len(sequence) // 2 + 1, "shells": "whole", "sample": 40, "batch": 50, "neurons": 200,
    }  # fmt: skip


BLOCKS = {
    "generator": "blocks", "nodes": 600, "degree": 40, "labelled": 300, "bins": 5, "shells": "whole", "sample": 30,
    "batch": 50, "neurons": 200,
}  # fmt: skip
"""G2 with its training defaults (2.3)."""
CYCLES = {"+-+-": cycle("+-+-", 120), "++--++--": cycle("++--++--"), "+++---+++---": cycle("+++---+++---")}
CORE = {"shells": "core"}
NEXT = {"shells": "single", "distance": 1}
"""The core of a planted block graph in the sense of its proof: distance 1 (P18); all that a GAT attends to."""

ASKED = {
    "p1-width": "Theorem 3.4.4: How wide must the hidden layer be?",
    "p2-step": "(3.8): How do the iterations depend on the step size, the label noise and the initial error?",
    "p6-sampler": "Remark 2: What does a sampler gain that prefers class-relevant nodes?",
    "f37-gcn-iterations": "Figure 3.7: How many iterations does a GCN need that is told the core?",
    "p8-blocks": "Theorem 3.4.6: How many iterations do both need on planted block graphs?",
    "b6a-iterations": "Figure B.6a: How many iterations do a graph transformer and a GCN need?",
    "f33a-samples": "Figure 3.3a: How many labels are needed as γ_d varies?",
    "f33b-samples": "Figure 3.3b: How many labels are needed as ε_S varies?",
    "p3-error": "(3.9): How many labels are needed as the initial error of the values varies?",
    "f34-noise": "Figure 3.4: What do flipped labels do to the loss?",
    "f36-gcn-samples": "Figure 3.6: How many labels does a GCN need that is told the core?",
    "p9-core": "Lemma 3.4.7: Does the encoding become largest at the core distance?",
    "p10-known-core": "Theorem 3.4.8: Is training with the encoding as good as knowing the core distance?",
    "p10-variants": "sections 3.2, 3.3, 4: What do other samplers, initial weights and models do?",
    "f35-attention": "Figure 3.5: How much attention ends on class-relevant nodes?",
    "p7-training": "Lemmas 3.4.5, B.3.1 - B.3.6: What do attention, keys, values and neurons learn?",
    "p16-batch": "(B.63): How far does a batch gradient lie from the mean one?",
    "p17-variance": "(B.49): How much does the mean of the initial masses vary?",
    "p18-mass": "(B.66), (B.67): Which share of a neighbourhood is class-relevant?",
    "p19-sampling": "(B.182): Does a sample of the whole graph show every shell as it is?",
    "p20-shells": "(B.199), (B.200): Do the proof's shells favour the core distance at every node?",
    "initial-norms": "(3.2): Are patterns as far apart and initial weights as small as the theory wants?",
    "e5-literal-graph": "graph of the experiments: Does the printed graph satisfy Assumption 3.4.2?",
    "p21-absolute": "B.5.2: Can Laplacian eigenvectors take the place of distances?",
    "p21-encodings": "B.5.2: Do return probabilities, degrees and distances to the centroid do the same?",
    "p21-gat": "B.5.3: When does a graph attention network suffice?",
    "p21-graph": "(B.224): Can whole graphs be classified?",
    "p21-graph-strict": "(B.224): Can whole graphs be classified where counting says nothing?",
    "p21-four": "(B.225) - (B.232): Can two networks learn four classes with two core distances?",
}
"""Where the paper has it, and the question; also of the experiments of `extensions`."""
asks = lm.asking(ASKED, kind=Setting, simulation=simulate, tiny=TINY, seeds=3)
"""Three seeds at `quick` unless said."""


def with_fields(variants: Mapping[str, Mapping[str, Any]], **fields: Any) -> dict[str, dict[str, Any]]:
    """Variants with fields changed in all of them; a function makes the value from the variant's own one."""
    changed = {}
    for label, variant in variants.items():
        new = {name: value(variant.get(name)) if callable(value) else value for name, value in fields.items()}
        changed[label] = {**variant, **new}
    return changed


def ten_times(variants: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The paper's preset of variants that have numbers of steps of their own."""
    return {**SLOW, "variant": with_fields(variants, steps=lambda steps: 10 * steps)}


ETAS, NOISES, ERRORS = (0.4, 0.2, 0.1, 0.05), (0.05, 0.1, 0.2), (0.0, 0.1, 0.4)
BUDGET = 60
"""η T at which a run of p2-step is given up."""
FULL_BATCH = {"nodes": 300, "degree": 36, "sample": 40, "neurons": 100, "labelled": 300, "batch": 0}
FOLLOWED = {"fresh_samples": False, "test_draws": 1, "record_every": 1, "records": 1201, "stop": "trained"}
ETA_CELLS = {f"eta={eta:g}": {"step_size": eta, "steps": round(BUDGET / eta)} for eta in ETAS}
COMMON = ETA_CELLS["eta=0.2"]
"""The cell that the three axes of p2-step share: η = .2, ε_0 = 0, δ = .2."""
STEP_VARIANTS = {
    **ETA_CELLS,
    **{f"eps_0={noise:g}": {**COMMON, "label_noise": noise} for noise in NOISES},
    **{f"delta={error:g}": {**COMMON, "key_error": error} for error in ERRORS},
}
PREFERENCES = {"1": 1.0, "3": 3.0, "10": 10.0, "1/3": 1 / 3, "1/10": 0.1}
SAMPLERS = {
    **{f"beta={beta}": {"preference": value, "draw": "biased"} for beta, value in PREFERENCES.items()},
    "beta=10, apart": {"preference": 10.0, "draw": "biased_apart"},
}
REACHED: dict[str, Any] = {"labelled": 800, "test_from": 800, "steps": 500, "stop": "tight", "records": 51}
COUNTS, FEW_COUNTS = [10, 20, 40, 80, 160, 320, 640], [10, 40]
PERMUTED = 0.2
"""Up to this ε_S figure 3.3b has cells with permuted training labels, which its controls read."""
SUCCESS: dict[str, Any] = {"watch": "full", "stop": "success", "test_from": 640, "records": 101, "test_draws": 1}


def models(core: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Graph transformer and GCN on these shells as the core, and the graph transformer with its encoding."""
    return {"GT core": {"model": "no_pe", **core}, "GT+PE": {"model": "gt"}, "GCN core": {"model": "gcn", **core}}


def confusion_variants(confusions: list[float]) -> dict[str, dict[str, Any]]:
    few = [value for value in confusions if value <= PERMUTED]
    permuted = {f"{value:g}, permuted": {"confusion": value, "defect": "training_labels"} for value in few}
    return {**{f"{value:g}": {"confusion": value} for value in confusions}, **permuted}


def gcn_variants(fractions: list[float], counts: list[int]) -> dict[str, dict[str, Any]]:
    cells: dict[str, Any] = {f"{g:g}, {n}": {"discriminative": g, "labelled": n} for g in fractions for n in counts}
    last = f"0.4, {counts[-1]}"
    return {**cells, f"{last}, permuted": {**cells[last], "defect": "training_labels"}}


by_fraction = partial(asks, smoke={"discriminative": [0.25, 0.4, 0.6]}, paper_seeds=10)
counting = partial(asks, seeds=5, paper={**SLOW, "steps": 6000})

ON_CYCLES: dict[str, dict[str, Any]] = {
    "GT+PE": {"model": "gt"},
    "no PE": {"model": "no_pe"},
    "z=1": {"model": "no_pe", **NEXT},
    "core": {"model": "no_pe", **CORE},
    "permuted": {"model": "gt", "defect": "distances"},
}
PLANTED = {"G2": BLOCKS, "G2, heterophilous": {**BLOCKS, "heterophily": True, "degree": 8}}
CORES = {f"{g} {m}": {**graph, "steps": 400, **ON_CYCLES[m]} for g, graph in CYCLES.items() for m in ON_CYCLES}
CORES |= {f"{g} {m}": {**PLANTED[g], "steps": 600, **ON_CYCLES[m]} for g in PLANTED for m in ("GT+PE", "permuted")}
"""All models on the three cycles; the encoding, intact and with distances permuted, on the planted graphs."""
MODELS: dict[str, dict[str, Any]] = {
    "GT+PE": {"model": "gt"},
    "no PE": {"model": "no_pe"},
    "GT core": {"model": "no_pe", **CORE},
    "GCN core": {"model": "gcn", **CORE},
    "GCN": {"model": "gcn"},
    "permuted": {"model": "gt", "defect": "distances"},
}
CHOICES: dict[str, dict[str, Any]] = {
    "as usual": {},
    "whole graph": {"shells": "whole"},
    "all candidates": {"draw": "all"},
    "by strata": {"draw": "stratified", "per_shell": 25, "extra": 10},
    "by the encoding": {"draw": "encoding"},
    "GCN frozen at its start": {"model": "frozen_init", **CORE},
    "exact initial weights": {"init": "identity"},
    "Gaussian initial weights": {"init": "gaussian"},
    "W_O scaled by rows": {"row_norm": True},
    "W_O trained first": {"pretraining": 100},
}
"""What the paper leaves open or mentions in passing: samplers (section 4), initial weights (3.2), (B.66), (9.8)."""

UP_TO_40 = {"steps": 400, "records": RECORDS}
up_to_40 = partial(asks, paper={**SLOW, "steps": 4000}, paper_seeds=5)
"""Up to η t = 40."""

FROZEN = {"train_attention": 0, "train_encoding": 0}
PROOF = {
    "intact": {"steps": 600},
    "margin 10": {"steps": 600, "margin": 10.0},
    "frozen": {"steps": 600, **FROZEN},
    "frozen, margin 10": {"steps": 600, **FROZEN, "margin": 10.0},
    "frozen values": {"steps": 300, "train_values": 0},
    "only head": {"steps": 300, **FROZEN, "train_values": 0},
    "permuted": {"steps": 600, "defect": "labels"},
    "literal init": {"steps": 300, "init": "literal"},
}
AS_PRINTED = {"discriminative": 0.2, "confusion": 0.0, "on_infeasible": "cap"}

G2 = {name: BLOCKS[name] for name in ("generator", "nodes", "degree")}
MASSES = {
    **{f"G2 {fraction:g}": {**G2, "discriminative": fraction} for fraction in (0.2, 0.3, 0.4, 0.6, 0.8)},
    **{f"G1 {fraction:g}": {"discriminative": fraction} for fraction in (0.25, 0.4, 0.6, 0.8)},
}
SHELLS = {**{name: CYCLES[name] for name in ("+++---+++---", "++--++--")}, "G2": {**G2, "bins": BLOCKS["bins"]}}
SAMPLES = {
    f"{name}, {sample}": {"shells": shells, "sample": sample}
    for name, shells in (("whole", "whole"), ("core", "single"))
    for sample in (20, 60)
}

examine = partial(asks, simulation=examine_shells, paper_seeds=10)

EXPERIMENTS = (
    asks("p1-width", lm.show("final_loss", "reached_step", levels={"final_loss": "p1-width-success"}), seeds=5)(
        {"records": RECORDS, "record_every": 50},
        neurons=[1, 4, 20, 50, 100, 400],
        smoke={"neurons": [1, 4, 12]},
        paper={**SLOW, "steps": 3000, "record_every": 500},
    ),
    # with the register's five two intervals are as wide as the claimed range: no data could confirm it
    asks("p2-step", requirements.steps, seeds=20)(
        {**FULL_BATCH, **FOLLOWED},
        variant=STEP_VARIANTS,
        smoke={**APART, "labelled": TINY["nodes"], "batch": 0, "variant": with_fields(STEP_VARIANTS, steps=4)},
    ),
    asks("p6-sampler", requirements.sampler, simulation=simulate_sampler)(
        {"confusion": SAMPLER_CONFUSION, "shells": "core", "model": "no_pe", "records": RECORDS, "stop": "reached"},
        variant=SAMPLERS,
        smoke=APART,
        paper={**SLOW, "steps": 3000},
    ),
    by_fraction("f37-gcn-iterations", requirements.gcn_iterations)(
        {**REACHED, **CORE, "model": "gcn", "confusion": 0.2}, discriminative=FRACTIONS, paper={**SLOW, "steps": 5000}
    ),
    by_fraction("p8-blocks", requirements.iterations)(
        {**BLOCKS, "test_from": 300, "steps": 600, "stop": "tight", "records": RECORDS},
        variant=models(NEXT),
        discriminative=FRACTIONS,
        paper={**SLOW, "steps": 6000},
    ),
    # with the register's three residuals put on the law γ_d^-2 can have an interval wider than claimed
    by_fraction("b6a-iterations", requirements.iterations, seeds=10)(
        REACHED, variant=models(CORE), discriminative=FRACTIONS, paper={**SLOW, "steps": 5000}
    ),
    counting("f33a-samples", requirements.samples_fraction)(
        SUCCESS,
        discriminative=FRACTIONS,
        labelled=COUNTS,
        smoke={**APART, "discriminative": [0.25, 0.4], "labelled": FEW_COUNTS},
    ),
    # with the register's five the median loss of few labels rises by chance in two blocks of five
    counting("f33b-samples", requirements.samples_confusion, seeds=15)(
        SUCCESS,
        variant=confusion_variants([0.0, 0.1, 0.2, 0.3, 0.4]),
        labelled=COUNTS,
        smoke={**APART, "variant": confusion_variants([0.0, 0.2]), "labelled": FEW_COUNTS},
    ),
    counting("p3-error", requirements.samples_error)(
        SUCCESS,
        value_error=[0.0, 0.1, 0.2, 0.4],
        labelled=COUNTS,
        smoke={**APART, "value_error": [0.0, 0.4], "labelled": FEW_COUNTS},
    ),
    asks("f34-noise", requirements.noise)(
        {"confusion": 0.0, "steps": 600, "records": RECORDS},
        label_noise=[0.0, 0.05, 0.1, 0.2],
        paper={**SLOW, "steps": 6000},
    ),
    counting("f36-gcn-samples", requirements.gcn_samples)(
        {**SUCCESS, **CORE, "model": "gcn", "confusion": 0.2, "steps": 1000},
        variant=gcn_variants(FRACTIONS, COUNTS),
        smoke={**APART, "variant": gcn_variants([0.25, 0.4], FEW_COUNTS)},
        paper={**SLOW, "steps": 10000},
    ),
    asks("p9-core", encoding.cores, paper_seeds=5)(
        {"records": RECORDS}, variant=CORES, smoke={"variant": with_fields(CORES, **SMALL)}, paper=ten_times(CORES)
    ),
    up_to_40("p10-known-core", encoding.known_core)(UP_TO_40, variant=MODELS),
    up_to_40("p10-variants", lm.show("reached_step", "final_loss"))(UP_TO_40, variant=CHOICES),
    asks("f35-attention", proof.attention, paper_seeds=5)(
        {**AS_PRINTED, "steps": 800, "records": 81, "track": "masses"},
        margin=[1.0, 10.0],
        intra_degree=[-1, 0],
        paper={**SLOW, "steps": 8000},
    ),
    asks("p7-training", proof.training, paper_seeds=5)(
        {"track": "proof", "records": RECORDS},
        variant=PROOF,
        smoke={"variant": with_fields(PROOF, steps=4)},
        paper=ten_times(PROOF),
    ),
    asks("p16-batch", steps.batches, paper_seeds=10, simulation=simulate_batches)(
        {"steps": 150, "records": RECORDS, "record_every": 50, "test_draws": 1},
        paper={**SLOW, "steps": 1500, "record_every": 500},
    ),
    asks("p17-variance", steps.variance, paper_seeds=5, simulation=vary_masses, tiny={})(
        {"bins": 3, "labelled": 1000}, generator=["chapter", "ring"]
    ),
    examine("p18-mass", steps.shares)(variant=MASSES, smoke={"variant": with_fields(MASSES, **SMALL)}),
    asks("p19-sampling", steps.sampling, paper_seeds=10, simulation=sample_shells)(
        {"include_self": False}, variant=SAMPLES, smoke={"variant": with_fields(SAMPLES, **SMALL)}
    ),
    examine("p20-shells", steps.exchanges)(graph=SHELLS, smoke={"graph": with_fields(SHELLS, **SMALL)}),
    examine("initial-norms", simulation=examine_start, table=steps.norms)(
        init=["assumption", "identity", "literal", "gaussian"]
    ),
    examine("e5-literal-graph", steps.literal_graph)(intra_degree=[0, -1]),
)

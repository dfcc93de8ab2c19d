"""Single steps of the proof: gradients of batches (P16), shells of graphs and of samples (P17 - P20, 9.5)."""

from __future__ import annotations

from functools import partial

from lemmata.theories.graph_transformer.experiments.presets import (
    BLOCKS,
    CYCLES,
    RECORDS,
    SLOW,
    SMALL,
    experiment,
    with_fields,
)
from lemmata.theories.graph_transformer.figures import steps as figures
from lemmata.theories.graph_transformer.studies.batch_gradients import simulate_batches
from lemmata.theories.graph_transformer.studies.sampler import sample_shells
from lemmata.theories.graph_transformer.studies.shells import examine_shells, vary_masses

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

examine = partial(experiment, simulation=examine_shells, paper_seeds=10)

EXPERIMENTS = (
    experiment(
        "p16-batch",
        reference="(B.63)",
        question="How far does a batch gradient lie from the mean one?",
        plot=figures.batches,
        setting={"steps": 150, "records": RECORDS, "record_every": 50, "test_draws": 1},
        paper={**SLOW, "steps": 1500, "record_every": 500},
        paper_seeds=10,
        simulation=simulate_batches,
    ),
    experiment(
        "p17-variance",
        reference="(B.49)",
        question="How much does the mean of the initial masses vary?",
        plot=figures.variance,
        setting={"bins": 3, "labelled": 1000},
        axes={"generator": ["chapter", "ring"]},
        paper_seeds=5,
        simulation=vary_masses,
        tiny={},
    ),
    examine(
        "p18-mass",
        reference="(B.66), (B.67)",
        question="Which share of a neighbourhood is class-relevant?",
        plot=figures.shares,
        axes={"variant": MASSES},
        smoke={"variant": with_fields(MASSES, **SMALL)},
    ),
    experiment(
        "p19-sampling",
        reference="(B.182)",
        question="Does a sample of the whole graph show every shell as it is?",
        plot=figures.sampling,
        setting={"include_self": False},
        axes={"variant": SAMPLES},
        smoke={"variant": with_fields(SAMPLES, **SMALL)},
        paper_seeds=10,
        simulation=sample_shells,
    ),
    examine(
        "p20-shells",
        reference="(B.199), (B.200)",
        question="Do the proof's shells favour the core distance at every node?",
        plot=figures.exchanges,
        axes={"graph": SHELLS},
        smoke={"graph": with_fields(SHELLS, **SMALL)},
    ),
    examine(
        "e5-literal-graph",
        reference="erratum 9.5",
        question="Does the printed graph satisfy Assumption 3.4.2?",
        plot=figures.literal_graph,
        axes={"intra_degree": [0, -1]},
    ),
)

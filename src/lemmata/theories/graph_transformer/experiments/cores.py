"""Core distances: what the encoding learns on other graphs, and what graphs are like without training."""

from __future__ import annotations

from lemmata.theories.graph_transformer import figures
from lemmata.theories.graph_transformer.experiments.common import (
    BLOCKS,
    CYCLES,
    RECORDS,
    SLOW,
    TINY,
    TINY_CYCLES,
    experiment,
    over_cases,
)
from lemmata.theories.graph_transformer.illustration import HandSetting, count_margins
from lemmata.theories.graph_transformer.shells import examine_shells, sample_shells
from lemmata.theories.graph_transformer.variance import VarianceSetting, vary_masses

ON_CYCLES = {
    "GT+PE": {"model": "gt"},
    "no PE": {"model": "no_pe"},
    "z=1": {"model": "no_pe", "shells": "single", "distance": 1},
    "core": {"model": "no_pe", "shells": "core"},
    "permuted": {"model": "gt", "defect": "distances"},
}
PLANTED = {
    "G2": {**BLOCKS, "steps": 600},
    "G2, heterophilous": {**BLOCKS, "steps": 600, "heterophily": True, "degree": 8},
}


def core_cases(cycles: dict, planted: dict) -> dict[str, dict]:
    """All models on the three cycles; the encoding, intact and with distances permuted, on the planted graphs."""
    cases = {
        f"{name} {model}": {**graph, "steps": 400, **fields}
        for name, graph in cycles.items()
        for model, fields in ON_CYCLES.items()
    }
    return cases | {
        f"{name} {model}": {**graph, **ON_CYCLES[model]}
        for name, graph in planted.items()
        for model in ("GT+PE", "permuted")
    }


CORES = core_cases(CYCLES, PLANTED)
SMALL = {name: TINY[name] for name in ("sample", "batch", "neurons", "steps")}
TINY_CORES = over_cases(core_cases(TINY_CYCLES, over_cases(PLANTED, nodes=96, labelled=48, degree=8)), **SMALL)
MASSES = {
    **{
        f"G2 {g:g}": {"generator": "blocks", "nodes": 600, "degree": 40, "discriminative": g}
        for g in (0.2, 0.3, 0.4, 0.6, 0.8)
    },
    **{f"G1 {g:g}": {"discriminative": g} for g in (0.25, 0.4, 0.6, 0.8)},
}
SHELLS = {
    "+++---+++---": CYCLES["+++---+++---"], "++--++--": CYCLES["++--++--"],
    "G2": {name: BLOCKS[name] for name in ("generator", "nodes", "degree", "bins")},
}  # fmt: skip
SAMPLES = {
    "whole, 20": {"shells": "whole", "sample": 20}, "whole, 60": {"shells": "whole", "sample": 60},
    "core, 20": {"shells": "single", "sample": 20}, "core, 60": {"shells": "single", "sample": 60},
}  # fmt: skip

EXPERIMENTS = (
    experiment(
        "f32-margins", "Figure 3.2", "What is a winning margin?", figures.hand_margins, {}, {"label": [1, -1]}, 1,
        paper_seeds=1, simulation=count_margins, kind=HandSetting, tiny={},
    ),
    experiment(
        "p9-core", "Lemma 3.4.7", "Does the encoding become largest at the core distance?", figures.cores,
        {"records": RECORDS}, {"case": CORES}, 3, smoke={"case": TINY_CORES},
        paper={**SLOW, "case": over_cases(CORES, steps=lambda steps: 10 * steps)}, paper_seeds=5,
    ),
    experiment(
        "p17-variance", "(B.49)", "How much does the mean of the initial masses vary?", figures.variance,
        {}, {"graph": ["chapter", "cycle"]}, 3, paper_seeds=5, simulation=vary_masses, kind=VarianceSetting, tiny={},
    ),
    experiment(
        "p18-mass", "(B.66), (B.67)", "Which share of a neighbourhood is class-relevant?", figures.shares,
        {}, {"case": MASSES}, 3, smoke={"case": over_cases(MASSES, nodes=80, degree=8)}, paper_seeds=10,
        simulation=examine_shells,
    ),
    experiment(
        "p19-sampling", "(B.182)", "Does a sample of the whole graph show every shell as it is?", figures.sampling,
        {"include_self": False}, {"case": SAMPLES}, 3,
        smoke={"case": over_cases(SAMPLES, sample=8)}, paper_seeds=10, simulation=sample_shells,
    ),
    experiment(
        "p20-shells", "(B.199), (B.200)", "Do the proof's shells favour the core distance at every node?",
        figures.exchanges, {}, {"case": SHELLS}, 3,
        smoke={"case": over_cases(SHELLS, nodes=96, labelled=48, degree=8, batch=10)}, paper_seeds=10,
        simulation=examine_shells,
    ),
    experiment(
        "e5-literal-graph", "erratum 9.5", "Does the printed graph satisfy Assumption 3.4.2?", figures.literal_graph,
        {}, {"intra_degree": [0, -1]}, 3, paper_seeds=10, simulation=examine_shells,
    ),
)  # fmt: skip

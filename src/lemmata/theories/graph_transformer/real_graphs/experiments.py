"""The experiments on real graphs, read from $LEMMATA_DATA/graphs; `smoke` takes the stand-in, which needs no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.simulation import Simulation
from lemmata.lab.theory import Experiment, Preset
from lemmata.theories.graph_transformer.real_graphs import figures, tables
from lemmata.theories.graph_transformer.real_graphs.setting import NAMES, RealSetting

APPENDIX = ("cora", "pubmed", "actor", "pascal")
"""The graphs of tables B.1 to B.4, in that order."""


def _one(
    name: str, question: str, reference: str, simulation: Simulation, plot: Callable[[xr.Dataset], Figure], graph: str
) -> Experiment:
    """An experiment on one graph; nothing in it is random, so one seed says all."""
    whole = Preset(RealSetting(graph=graph), {}, 1)
    presets = {"smoke": Preset(RealSetting(), {}, 1), "quick": whole, "paper": whole}
    return Experiment(name, question, reference, simulation, presets, plot)


def _several(
    name: str,
    question: str,
    reference: str,
    simulation: Simulation,
    plot: Callable[[xr.Dataset], Figure],
    quick: Sequence[str],
    paper: Sequence[str],
) -> Experiment:
    """An experiment on several graphs; `paper` adds those that few users have."""
    graphs = {"smoke": ["standin"], "quick": [*quick], "paper": [*paper]}
    presets = {preset: Preset(RealSetting(), {"graph": axis}, 1) for preset, axis in graphs.items()}
    return Experiment(name, question, reference, simulation, presets, plot)


EXPERIMENTS = (
    *(
        _one(
            f"b{i}-spectrum",
            f"Are the features of each class of {NAMES[graph]} near low rank?",
            f"Figure B.{i}",
            tables.measure_spectrum,
            figures.spectrum,
            graph,
        )
        for i, graph in enumerate(APPENDIX, 1)
    ),
    *(
        _one(
            f"tb{i}-discriminative",
            f"Which share of each class of {NAMES[graph]} is discriminative?",
            f"Table B.{i}",
            tables.measure_discriminative,
            figures.discriminative,
            graph,
        )
        for i, graph in enumerate(APPENDIX, 1)
    ),
    _several(
        "b5-margins",
        "At which distances do the classes around a node vote for its own?",
        "Figure B.5",
        tables.measure_margins,
        figures.margins,
        APPENDIX[:3],
        APPENDIX,
    ),
    _several(
        "tb5-core",
        "Which share of the nodes has a positive winning margin at the core distance?",
        "Table B.5",
        tables.measure_core,
        figures.core,
        APPENDIX[:3],
        APPENDIX,
    ),
    _several(
        "tb6-statistics",
        "How large are the real graphs?",
        "Table B.6",
        tables.measure_statistics,
        figures.statistics,
        APPENDIX[:3],
        (*APPENDIX, "arxiv"),
    ),
    _several(
        "tb8-balance",
        "Are the classes balanced up to 10 √N?",
        "Table B.8",
        tables.measure_balance,
        figures.balance,
        ("cora", "actor"),
        ("cora", "actor"),
    ),
)

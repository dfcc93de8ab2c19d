"""The experiments on real graphs, read from $LEMMATA_DATA/graphs; `smoke` takes the stand-in, which needs no file.

Nothing in them is random, so one seed says all. No claim reads them.
"""

from __future__ import annotations

from functools import partial

import lemmata as lm
from lemmata.theories.graph_transformer.real_graphs import figures, tables
from lemmata.theories.graph_transformer.real_graphs.setting import NAMES, RealSetting

APPENDIX = ["cora", "pubmed", "actor", "pascal"]
"""The graphs of tables B.1 to B.4, in that order."""

experiment = partial(
    lm.experiment, kind=RealSetting, seeds=1, paper_seeds=1, tiny={"graph": "standin"}, smoke={"graph": ["standin"]}
)
several = partial(experiment, axes={"graph": APPENDIX[:3]}, paper={"graph": APPENDIX})

EXPERIMENTS = (
    *(
        experiment(
            f"b{i}-spectrum",
            reference=f"Figure B.{i}",
            question=f"Are the features of each class of {NAMES[graph]} near low rank?",
            plot=figures.spectrum,
            simulation=tables.measure_spectrum,
            setting={"graph": graph},
            smoke={},
        )
        for i, graph in enumerate(APPENDIX, 1)
    ),
    *(
        experiment(
            f"tb{i}-discriminative",
            reference=f"Table B.{i}",
            question=f"Which share of each class of {NAMES[graph]} is discriminative?",
            table=figures.discriminative,
            simulation=tables.measure_discriminative,
            setting={"graph": graph},
            smoke={},
        )
        for i, graph in enumerate(APPENDIX, 1)
    ),
    several(
        "b5-margins",
        reference="Figure B.5",
        question="At which distances do the classes around a node vote for its own?",
        plot=figures.margins,
        simulation=tables.measure_margins,
    ),
    several(
        "tb5-core",
        reference="Table B.5",
        question="Which share of the nodes has a positive winning margin at the core distance?",
        table=figures.core,
        simulation=tables.measure_core,
    ),
    several(
        "tb6-statistics",
        reference="Table B.6",
        question="How large are the real graphs?",
        table=figures.statistics,
        simulation=tables.measure_statistics,
        paper={"graph": [*APPENDIX, "arxiv"]},
    ),
    several(
        "tb8-balance",
        reference="Table B.8",
        question="Are the classes balanced up to 10 √N?",
        table=figures.balance,
        simulation=tables.measure_balance,
        axes={"graph": ["cora", "actor"]},
        paper={},
    ),
)

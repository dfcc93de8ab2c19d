"""The user's own graph from arrays (2.5): adjacency, features, labels, and patterns where they are known."""

from collections.abc import Iterator

import numpy as np

import lemmata as lm
from lemmata.datasets.graphs.graph import from_arrays
from lemmata.theories.graph_transformer.graphs.discriminative import find_discriminative
from lemmata.theories.graph_transformer.graphs.drawn import Drawn
from lemmata.theories.graph_transformer.setting import Setting


def refusals(setting: Setting) -> Iterator[str]:
    for name, shape in (
        ("adjacency", (setting.nodes, setting.nodes)),
        ("features", (setting.nodes, setting.dimension)),
        ("labels", (setting.nodes,)),
    ):
        problems = list(setting.misshapen(name, shape))
        yield from problems
        if problems:
            return
    if not np.isin(setting.labels, [1, -1]).all():
        yield "labels of a given graph must be +1 or -1; more classes are for the deep model and `diagnose`."
        return
    try:
        from_arrays(setting.adjacency, setting.features, setting.labels > 0, symmetrize=setting.symmetrize)
    except lm.UserError as error:
        yield str(error)
    if setting.pattern is not None:
        yield from setting.misshapen("pattern", (setting.nodes,))
        if (setting.pattern % 1).any() or setting.pattern.min() < 1 or setting.pattern.max() > setting.patterns:
            yield f"pattern must be an integer from 1 to M = {setting.patterns} for every node."


def draw(setting: Setting, draws: np.random.Generator) -> Drawn:
    classes = (setting.labels < 0).astype(int)
    graph = from_arrays(setting.adjacency, setting.features, classes, symmetrize=setting.symmetrize)
    if setting.pattern is not None:
        pattern = np.asarray(setting.pattern, int) - 1
    else:
        pattern = np.where(find_discriminative(graph).nodes, classes, 2)
    return Drawn(graph.adjacency.toarray() > 0, pattern, np.asarray(setting.labels, int))

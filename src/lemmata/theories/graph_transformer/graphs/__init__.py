"""Graphs: one small file per generator (2.2 - 2.5, 3.7), all of them giving a `Drawn`; places and kinds of their nodes.

`positions` has absolute encodings of a node's place, `discriminative` tells the discriminative nodes of any graph.
"""

from collections.abc import Callable, Iterator
from types import ModuleType

import lemmata as lm
from lemmata.theories.graph_transformer.graphs import blocks, chapter, cycle, given, ring, structures
from lemmata.theories.graph_transformer.graphs.drawn import Drawn
from lemmata.theories.graph_transformer.setting import Setting

MODULES: tuple[ModuleType, ...] = (chapter, blocks, cycle, ring, structures, given)
GENERATORS = {module.__name__.rpartition(".")[2]: module for module in MODULES}


def refusals(setting: Setting) -> Iterator[str]:
    """Why this setting's generator cannot draw its graph."""
    if setting.generator != "given" and setting.patterns == 2 and (setting.discriminative < 1 or setting.nodes % 2):
        yield "patterns = 2 is not allowed here: the nodes that are not discriminative need patterns of their own."
    yield from GENERATORS[setting.generator].refusals(setting)


def draw_graph(setting: Setting, seed: int) -> Drawn:
    """The graph of the run with this seed."""
    draw: Callable[..., Drawn] = GENERATORS[setting.generator].draw
    return draw(setting, lm.generator(seed, "graph"))

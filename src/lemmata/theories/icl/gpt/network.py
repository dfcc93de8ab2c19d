"""The network (3.4): one token is one column of the prompt, the query the last; its answer F is read from the query.

It is `lemmata.networks.causal` with one output.
"""

from __future__ import annotations

import jax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.causal import Causal, draw_causal, forward
from lemmata.theories.icl.data import Prompts
from lemmata.theories.icl.gpt.setting import GptSetting


@lm.piece("dimension", "label_dimension", "width", "blocks", "rows", "positions", once=True)
def initialise(problem: GptSetting, key: jax.Array) -> Causal:
    """The initial network; it reads columns of d_x + d_y numbers."""
    return draw_causal(
        lm.stream(key, "init"),
        inputs=problem.dimension + problem.label_dimension,
        outputs=1,
        width=problem.width,
        blocks=problem.blocks,
        rows=problem.rows,
        positions=problem.positions,
    )


def answers(network: Causal, prompts: Prompts, heads: int, positions: str) -> Float[Array, " prompts"]:
    """F(P): what the network says after the query."""
    tokens, weight = prompts.columns()
    outputs, _ = forward(network, tokens, heads=heads, positions=positions, mask=weight)
    return outputs[:, -1, 0]

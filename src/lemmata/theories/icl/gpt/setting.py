"""The setting of the GPT-2-style model (3.4): prompts as everywhere in this theory, the sizes of the model, Adam."""

from __future__ import annotations

from collections.abc import Iterator

import lemmata as lm
from lemmata.networks.causal import POSITIONS
from lemmata.theories.icl.setting import PromptSetting


class GptSetting(PromptSetting):
    """The causal transformer on such prompts.

    Of the two batch sizes of the specification, 64 and 96, the default is 96: the 4 x 6 training tasks with both query
    signs are 48 pairs, and then every one of them is in every batch twice. The watched prompts are as long as those of
    training, so that what is recorded along training does not mix in positions that are never trained.
    """

    steps: int = lm.number(3000, "T", "training steps", low=0, high=10**6, integer=True)
    rounds: int = lm.number(4, "U", "rounds of the cyclic training tasks", low=1, integer=True)
    step_size: float = lm.number(1e-3, "η", "step size of Adam", low=0, open_ends="low")

    batch: int = lm.size(96, "B", "prompts of a training step")
    watch_contexts: int = lm.size(20, "", "context examples of a watched prompt")
    width: int = lm.size(64, "d", "width of a token inside the network")
    blocks: int = lm.size(3, "", "transformer blocks")
    heads: int = lm.size(2, "H", "attention heads")
    rows: int = lm.size(41, "", "learned positions: the contexts of the longest prompt and the query", low=2)

    positions: str = lm.choice("learned", "what a token knows of its position", *POSITIONS)

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        if self.class_size > 1:
            yield f"class_size = {self.class_size} is not allowed: this model is tested on classes of one pattern."
        yield from self.indivisible("heads", "width")
        if self.positions == "sinusoidal" and self.width % 2:
            yield f"width = {self.width} is not allowed: sinusoidal positions need an even one."
        if self.positions == "learned":
            for name in ("contexts", "context_room", "test_contexts", "test_context_room", "watch_contexts"):
                if getattr(self, name) >= self.rows:
                    yield too_few_rows(self.rows, name, getattr(self, name))


def too_few_rows(rows: int, name: str, contexts: int) -> str:
    return (
        f"rows = {rows} is not allowed: with {name} = {contexts} and the query a prompt needs {contexts + 1} "
        "learned positions."
    )

"""The causal transformer: setting, network, training with Adam on fresh prompts, tests on shifts and lengths.

One token is one column of the prompt, the query the last; the answer F is read from the query. The network is
`lemmata.networks.causal` with one output.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.causal import POSITIONS, Causal, draw_causal, forward
from lemmata.theories.icl import data
from lemmata.theories.icl.data import Prompts, World
from lemmata.theories.icl.probes import LOSS, judge_margins, mean_where
from lemmata.theories.icl.setting import PromptSetting
from lemmata.theories.icl.training import ERRORS


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
                count = getattr(self, name)
                if count >= self.rows:
                    needs = f"with {name} = {count} and the query a prompt needs {count + 1} learned positions"
                    yield f"rows = {self.rows} is not allowed: {needs}."


@lm.piece("dimension", "label_dimension", "width", "blocks", "rows", "positions", once=True)
def initialise(problem: GptSetting, key: jax.Array) -> Causal:
    """The initial network; it reads columns of d_x + d_y numbers."""
    inputs = problem.dimension + problem.label_dimension
    sizes: Any = {name: getattr(problem, name) for name in ("width", "blocks", "rows", "positions")}
    return draw_causal(lm.stream(key, "init"), inputs=inputs, outputs=1, **sizes)


def answers(network: Causal, prompts: Prompts, heads: int, positions: str) -> Float[Array, " prompts"]:
    """F(P): what the network says after the query."""
    tokens, weight = prompts.columns()
    outputs, _ = forward(network, tokens, heads=heads, positions=positions, mask=weight)
    return outputs[:, -1, 0]


ODR = ("μ'_1", "μ'_2", "μ'_3")
"""Relevant patterns of the reference family."""
CHUNK = 50
"""Prompts that are tested at once, about: 1200 at once take twice as long, as they leave the caches."""


@lm.piece("batch", "context_capacity", "records", "heads", "positions")
def train(problem: GptSetting, key: jax.Array, network: Causal, world: World, watched: Prompts) -> lm.Run:
    """Adam on the hinge loss of a fresh batch at every step."""

    def batch_hinge(network: Causal, prompts: Prompts) -> Array:
        return jnp.mean(LOSS.value(prompts.label * answers(network, prompts, problem.heads, problem.positions)))

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        return {"watch_hinge": batch_hinge(state.parameters, watched)}

    draw = partial(data.training_prompts, problem, world=world, count=problem.batch)
    fresh = lm.fresh(lm.stream(key, "batch"), draw)
    start, step = lm.descent(jax.grad(batch_hinge), optax.adam(problem.step_size), fresh)
    return lm.loop(step, start(network), probe, lm.record_steps(problem.steps, problem.records, problem.record_every))


def margins(problem: GptSetting, network: Causal, prompts: Prompts) -> Float[Array, " prompts"]:
    """z F of many prompts, some at a time."""
    count = prompts.label.shape[0]
    chunks = math.gcd(count, max(1, count // CHUNK))  # equal chunks, also of awkward numbers
    split = jax.tree.map(lambda leaf: leaf.reshape(chunks, count // chunks, *leaf.shape[1:]), prompts)
    outputs = jax.lax.map(lambda some: answers(network, some, problem.heads, problem.positions), split)
    return prompts.label * outputs.reshape(count)


@lm.piece("heads", "positions", once=True)
def evaluate(problem: GptSetting, network: Causal, prompts: Prompts) -> dict[str, Array]:
    """Sign error, hinge loss, both also by the query's pattern (of three out of domain); the share without a match."""
    judged = judge_margins(margins(problem, network, prompts))
    own = [prompts.query_pattern == j for j in range(len(ODR))]
    return {
        **{name: jnp.mean(values) for name, values in judged.items()},
        **{f"query_{name}": jnp.stack([mean_where(v, chosen) for chosen in own]) for name, v in judged.items()},
        "no_match": jnp.mean(~jnp.any(prompts.matches(), axis=1) * 1.0),
    }


KINDS = {"seen": "on seen tasks", "unseen": "on unseen tasks", "shift": "out of domain"}


@lm.simulation(
    *lm.RUN,
    lm.Variable("watch_hinge", ("record",), "", "hinge loss on the watched unseen-task exact prompts"),
    *(
        lm.Variable(f"{k}_{what}", (), "", f"{meaning} {on}")
        for k, on in KINDS.items()
        for what, meaning in ERRORS.items()
    ),
    *(lm.Variable(f"{k}_no_match", (), "", f"share of prompts without a match {on}") for k, on in KINDS.items()),
    lm.Variable("query_error", ("odr_pattern",), "", "sign error out of domain by the query's pattern", True),
    lm.Variable("query_hinge", ("odr_pattern",), "", "hinge loss out of domain by the query's pattern", True),
    labels={"odr_pattern": ODR},
)
def simulate(problem: GptSetting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and test on seen and unseen tasks and out of domain (figures 6.3(A) and 6.3(B))."""
    data.require_shiftable(problem)
    world = data.draw_world(problem, key)
    run = train(problem, key, initialise(problem, key), world, data.draw_exact(problem, key, world))
    seen, unseen = (data.testing_prompts(problem, key, world, which) for which in (data.SEEN, data.UNSEEN))
    prompts = {"seen": seen, "unseen": unseen, "shift": data.draw_shifted(problem, key, world)[0]}
    tested = {kind: evaluate(problem, run.state.parameters, some) for kind, some in prompts.items()}
    shown = {f"{kind}_{name}": each[name] for kind, each in tested.items() for name in (*ERRORS, "no_match")}
    return {**run.results(), **shown, **{name: tested["shift"][name] for name in ("query_error", "query_hinge")}}

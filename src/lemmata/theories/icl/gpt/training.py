"""The causal transformer: setting, network, training with Adam on fresh prompts, tests on shifts and lengths.

One token is one column of the prompt, the query the last; the answer F is read from the query. The network is
`lemmata.networks.causal` with one output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.causal import POSITIONS, Causal, draw_causal, forward
from lemmata.theories.icl import data
from lemmata.theories.icl.data import Patterns, Prompts, Tasks, World
from lemmata.theories.icl.probes import LOSS, judge_margins, mean_where
from lemmata.theories.icl.setting import PromptSetting
from lemmata.theories.icl.tasks import reference_family, require_family
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
                if getattr(self, name) >= self.rows:
                    yield too_few_rows(self.rows, name, getattr(self, name))


def too_few_rows(rows: int, name: str, contexts: int) -> str:
    return (
        f"rows = {rows} is not allowed: with {name} = {contexts} and the query a prompt needs {contexts + 1} "
        "learned positions."
    )


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


AMPLITUDES = (0.5, 5.0)
"""K': the largest amplitude that training shows, and the one that the paper states (9.18)."""
BRANCHES = {"A": -1, "B": 1}
TURNS = tuple(range(0, 181, 15))
"""Degrees from 45: θ = 45 - turn on branch A, 45 + turn on branch B, with the same S_1."""
FRACTIONS = (0.2, 0.4, 0.6, 0.8)
LENGTHS = (2, 5, 10, 20, 30, 40)
DOMAINS = ("in", *(f"K'={amplitude:g}" for amplitude in AMPLITUDES))
ODR = 3
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
    start, step = lm.descent(
        jax.grad(batch_hinge), optax.adam(problem.step_size), lm.fresh(lm.stream(key, "batch"), draw)
    )
    return lm.loop(step, start(network), probe, lm.record_steps(problem.steps, problem.records, problem.record_every))


def margins(problem: GptSetting, network: Causal, prompts: Prompts) -> Float[Array, " prompts"]:
    """z F of many prompts, some at a time."""
    count = prompts.label.shape[0]
    parts = math.gcd(count, max(1, count // CHUNK))  # equal parts, also of awkward numbers
    split = jax.tree.map(lambda leaf: leaf.reshape(parts, count // parts, *leaf.shape[1:]), prompts)
    outputs = jax.lax.map(lambda some: answers(network, some, problem.heads, problem.positions), split)
    return prompts.label * outputs.reshape(count)


def scores(margin: Float[Array, " prompts"]) -> dict[str, Array]:
    """Sign error and hinge loss."""
    return {name: jnp.mean(values) for name, values in judge_margins(margin).items()}


@lm.piece("test_prompts", "test_capacity", "test_mode", "heads", "positions", once=True)
def try_tasks(problem: GptSetting, key: jax.Array, network: Causal, world: World) -> dict[str, Array]:
    """In domain: seen and unseen tasks, in one pass."""
    both = [data.testing_prompts(problem, key, world, which) for which in (data.SEEN, data.UNSEEN)]
    margin = margins(problem, network, jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *both))
    parts = zip(("seen", "unseen"), jnp.split(margin, 2), strict=True)
    return {f"{name}_{what}": value for name, part in parts for what, value in scores(part).items()}


@lm.piece(
    "test_prompts", "test_capacity", "test_mode", "patterns", "irrelevant", "dimension", "heads", "positions", once=True
)
def try_shifts(problem: GptSetting, key: jax.Array, network: Causal, world: World) -> dict[str, Array]:
    """The same draws at every angle and amplitude: error and hinge, in total and by the query's pattern."""
    m, dimension = problem.patterns, problem.dimension
    require_family(m, problem.irrelevant)
    families = [reference_family(m, dimension, 45 + side * turn) for side in BRANCHES.values() for turn in TURNS]
    odr, odi = jnp.asarray(np.stack([odr for odr, _ in families])), families[0][1]

    def one(cell: tuple[Array, Array]) -> dict[str, Array]:
        coefficients, amplitude = cell
        prompts = data.shifted_prompts(
            problem, key, world, data.out_of_domain(world.basis, coefficients, odi, amplitude)
        )
        margin = margins(problem, network, prompts)
        own = [prompts.query_pattern == j for j in range(ODR)]
        each = judge_margins(margin)
        return {
            **{f"shift_{name}": value for name, value in scores(margin).items()},
            **{f"query_{name}": jnp.stack([mean_where(v, chosen) for chosen in own]) for name, v in each.items()},
        }

    cells = jnp.tile(odr, (len(AMPLITUDES), 1, 1)), jnp.repeat(jnp.asarray(AMPLITUDES), len(odr))
    shape = len(AMPLITUDES), len(BRANCHES), len(TURNS)
    return {name: value.reshape(*shape, *value.shape[1:]) for name, value in jax.lax.map(one, cells).items()}


@lm.piece("test_prompts", "test_mode", "patterns", "irrelevant", "heads", "positions", "rows", once=True)
def try_contexts(problem: GptSetting, key: jax.Array, network: Causal, world: World) -> dict[str, Array]:
    """Every fraction and length, in domain (unseen tasks) and out of domain; several lengths fill the same room."""
    require_family(problem.patterns, problem.irrelevant)
    if problem.positions == "learned" and problem.rows <= max(LENGTHS):
        raise lm.UserError(too_few_rows(problem.rows, "a tested length", max(LENGTHS)))
    in_key, out_key = (jax.random.fold_in(lm.stream(key, "test"), which) for which in (data.UNSEEN, data.SHIFTED))
    shifted = data.out_of_domain(world.basis, problem.shift_relevant, problem.shift_irrelevant, 1.0)
    inside = in_key, world.patterns, data.unseen(problem, world.roles)
    outside = out_key, shifted, data.all_tasks(shifted.relevant.shape[1])

    def one(room: int, cell: dict[str, Array]) -> dict[str, Array]:
        def draw(key: jax.Array, patterns: Patterns, tasks: Tasks) -> Prompts:
            key, patterns = jax.random.fold_in(key, cell["number"]), patterns._replace(amplitude=cell["amplitude"])
            sizes: Any = {"count": problem.test_prompts, "room": room, "mode": problem.test_mode}
            return data.draw_prompts(key, patterns, world.q, tasks, cell["fraction"], cell["length"], **sizes)

        prompts = jax.lax.cond(cell["domain"] > 0, lambda: draw(*outside), lambda: draw(*inside))
        scored = scores(margins(problem, network, prompts))
        return scored | {"no_match": jnp.mean(~jnp.any(prompts.matches(), axis=1) * 1.0)}

    def together(lengths: tuple[int, ...]) -> dict[str, Array]:
        shape = len(DOMAINS), len(FRACTIONS), len(lengths)
        domain, fraction, length = (index.ravel() for index in np.indices(shape))
        cells = {
            "number": 100 * fraction + np.asarray(lengths)[length],  # the same draws at both amplitudes
            "domain": domain,
            "amplitude": jnp.asarray([problem.amplitude, *AMPLITUDES])[domain],
            "fraction": jnp.asarray(FRACTIONS)[fraction],
            "length": jnp.asarray(lengths)[length],
        }
        tested = jax.lax.map(partial(one, max(lengths)), jax.tree.map(jnp.asarray, cells))
        return {name: value.reshape(shape) for name, value in tested.items()}

    rooms = [together(lengths) for lengths in (LENGTHS[:3], LENGTHS[3:])]
    return {name: jnp.concatenate([room[name] for room in rooms], axis=2) for name in rooms[0]}


def train_and_test(problem: GptSetting, key: jax.Array) -> tuple[World, Causal, dict[str, Array]]:
    """Draw everything and train: the world, the trained network, and what both experiments say of the run."""
    world = data.draw_world(problem, key)
    run = train(problem, key, initialise(problem, key), world, data.draw_exact(problem, key, world))
    trained: Causal = run.state.parameters
    return world, trained, run.results() | try_tasks(problem, key, trained, world)


_RUN = (
    *lm.RUN,
    lm.Variable("watch_hinge", ("record",), "", "hinge loss on the watched unseen-task exact prompts"),
    *(
        lm.Variable(f"{kind}_{what}", (), "", f"{words} on {kind} tasks")
        for kind in ("seen", "unseen")
        for what, words in ERRORS.items()
    ),
)


def numbers(values: Sequence[float]) -> tuple[str, ...]:
    """Labels of a dimension."""
    return tuple(f"{value:g}" for value in values)


_SHIFT = ("odi_amplitude", "branch", "turn")
_QUERY = (*_SHIFT, "odr_pattern")


@lm.simulation(
    *(lm.Variable(f"shift_{what}", _SHIFT, "", f"{words} out of domain") for what, words in ERRORS.items()),
    *(
        lm.Variable(f"query_{what}", _QUERY, "", f"{words} by the query's pattern", True)
        for what, words in ERRORS.items()
    ),
    *_RUN,
    labels={
        "odi_amplitude": numbers(AMPLITUDES),
        "branch": tuple(BRANCHES),
        "turn": numbers(TURNS),
        "odr_pattern": ("μ'_1", "μ'_2", "μ'_3"),
    },
)
def shift_gpt(problem: GptSetting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train once, test at every angle of the reference family and both amplitudes (figure 6.3(A))."""
    world, trained, results = train_and_test(problem, key)
    return results | try_shifts(problem, key, trained, world)


_CELL = ("domain", "test_alpha", "length")


@lm.simulation(
    lm.Variable("error", _CELL, "", "sign error: in domain on unseen tasks, out of domain at both amplitudes"),
    lm.Variable("hinge", _CELL, "", "hinge loss on the same prompts"),
    lm.Variable("no_match", _CELL, "", "share of them without a context of the query's pattern"),
    *_RUN,
    labels={"domain": DOMAINS, "test_alpha": numbers(FRACTIONS), "length": numbers(LENGTHS)},
)
def contexts_gpt(problem: GptSetting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train once, test at every context length and fraction, in and out of domain (figure 6.3(B))."""
    world, trained, results = train_and_test(problem, key)
    return results | try_contexts(problem, key, trained, world)

"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size.

Cells of p4-contexts, p5-shift and figures 6.4, 6.5 differ in how a network is tested and share its training; prompts of
all lengths fill the same room.
"""

from collections.abc import Sequence
from typing import Any

import lemmata as lm
from lemmata.theories.icl.figures import mechanism, sweeps
from lemmata.theories.icl.measures import BUDGETS, PATTERN_COUNTS
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.studies import networks, predictors
from lemmata.theories.icl.tasks import SHIFTS
from lemmata.theories.icl.training import simulate

ASKED = {
    "p1-default": """Theorem 6.3.3, Propositions 6.4.1 and 6.4.5, Theorem 6.3.7: Does the network solve tasks that it
        has not been trained on, and what has it learnt?""",
    "f62-mechanism": "Figure 6.2: How do attention, its projections and the neurons change along training?",
    "p6-patterns": """Proposition 6.4.1, Corollary 6.4.3: How do the entries of task partners and the attention depend
        on the number of patterns?""",
    "f61-prompt": "Figure 6.1: What does the trained network do with one short prompt?",
    "p11-lucky": "Lemma E.4.9: How many neurons of a random network are lucky for a prompt?",
    "p17-heads": "E.2.2: Does every one of two heads concentrate?",
    "p18-classes": "E.2.3: Does the mechanism work with two patterns in each class?",
    "p2-eta": "(6.10): How does the number of iterations depend on η (claimed: η^-1)?",
    "p2-alpha": "(6.10): How does the number of iterations depend on α (claimed: α^(-2/3))?",
    "p2-beta": "(6.10): How does the number of iterations depend on β (claimed: β^(-2/3))?",
    "p2-patterns": "(6.10): How does the number of iterations depend on M_1 (claimed: M_1 √log M_1)?",
    "p2-width": "(6.10): How does the number of iterations depend on m (claimed: not at all)?",
    "p2-delta": "(6.10): How does the number of iterations depend on δ (proof: δ^(-2/3))?",
    "e2-tasks": "Condition 6.3.2, Figure E.2: How many training tasks does it take to solve all of them?",
    "p4-contexts": "Theorem 6.3.3, l_ts ≥ 1/α': How long must a testing prompt be?",
    "e1-context": "(6.9), Figure E.1: How long must training prompts be, by the share of decisive contexts?",
    "p5-shift": """Theorem 6.3.4, Figure 6.3(A): Does the network work on new patterns that are combinations of the old
        ones?""",
    "p5-exchange": """Theorem 6.3.4, Proposition 6.4.1: Is it attention or the rest of the network that errs on patterns
        with a small coefficient sum?""",
    "f64-baselines": """Figure 6.4: Is the network more sample efficient than classical predictors fitted to each
        prompt?""",
    "f64-oracle-law": "3.5, Figure 6.4: How often must even a predictor err that is told all patterns?",
    "f65-pruning": "Theorem 6.3.7, Figure 6.5: What does pruning cost out of domain, in hinge loss and in sign error?",
}
"""Where each experiment stands in the paper, and what it asks."""
TINY_PROMPTS = {
    **{"patterns": 6, "irrelevant": 6, "dimension": 12, "label_dimension": 2, "batch": 24, "contexts": 6, "steps": 12},
    **{"test_prompts": 48, "test_contexts": 6, "watch_prompts": 48, "watch_contexts": 6},
}
"""The prompts of every smoke preset, so that they share their programs."""
TINY = {
    **{**TINY_PROMPTS, "neurons": 16, "key_width": 14, "value_width": 14, "records": 14, "watch_contexts": 20},
    **{"context_room": 20, "test_context_room": 20, "task_room": 90},
}
asks = lm.asking(ASKED, kind=Setting, simulation=simulate, tiny=TINY, seeds=8)

_FROZEN: dict[str, Any] = {"train_attention": 0}
_ATTENTION = {"trained": {"train_attention": 1}, "frozen": _FROZEN}
_CONTROLS = {"intact": {}, "frozen": _FROZEN, "shuffled": {"label_order": "shuffled"}}
_LAZY = {"a_scale": "1/sqrt(m)"}
_VARIANTS = {**_CONTROLS, "include_query": {"include_query": True}, "1/sqrt(m)": {**_LAZY, "steps": 500}}
_LENGTHS = {n: {"test_contexts": int(n), "test_prompts": prompts} for n, prompts in (("20", 10_000), ("60", 2400))}
_TRAININGS = {"U=1": {"rounds": 1}, "U=5": {"rounds": 5}, "3 tasks": {"tasks": "subsampled", "task_count": 3}}


def _sweep(name: str, axis: str, quick: Any, paper: Any = None, smoke: Any = None) -> lm.Experiment:
    """T* over one axis: checked every 5 steps, at most 6000."""
    return asks(name, sweeps.iterations, seeds=3, paper_seeds=10)(
        {"steps": 6000, "record_every": 5, "records": 1201, "stop": "reached"},
        smoke={axis: smoke or quick},
        paper={axis: paper or quick},
        **{axis: quick},
    )


def _patterns(*counts: int) -> dict[int, dict[str, int]]:
    """So many relevant patterns in 30 dimensions, and a batch in proportion."""
    return {m: {"patterns": m, "irrelevant": 30 - m, "batch": 20 * m} for m in counts}


_FEW_PATTERNS = {m: {"patterns": m, "irrelevant": 12 - m} for m in (4, 6)}


def _task_sets(patterns: tuple[int, ...], dimension: int = 30) -> dict[str, dict[str, Any]]:
    """M_1/2, M_1 - 1 and M_1 tasks of the cycle, and at M_1 = 6 the two disconnected sets."""
    cycle = {
        f"M_1={m}, n={n}": {"patterns": m, "irrelevant": dimension - m, "tasks": "subsampled", "task_count": n}
        for m in patterns
        for n in (m // 2, m - 1, m)
    }
    return cycle | {"swaps": {"tasks": "swaps"}, "triangles": {"tasks": "triangles"}}


def _budgets(short: Sequence[int], long: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Two budgets of training, each with its context lengths."""
    budgets = {"short": ({"steps": 600}, short), "long": ({"neurons": 100, "steps": 1500}, long)}
    return {
        f"{budget}, {length}": {"initial_scale": BUDGETS[budget], **more, "contexts": length}
        for budget, (more, lengths) in budgets.items()
        for length in lengths
    }


_TINY_BUDGETS = {f"{b}, {n}": {"initial_scale": delta, "contexts": n} for b, delta in BUDGETS.items() for n in (1, 2)}

EXPERIMENTS = (
    asks("p1-default", mechanism.default)(
        {"steps": 600, "track": "proof", "moments": "register"},
        variant=_VARIANTS,
        smoke={"variant": {**_CONTROLS, "1/sqrt(m)": _LAZY}},
        paper={"steps": 1500},
    ),
    asks("f62-mechanism", mechanism.growth, seeds=3)(
        {"steps": 800, "track": "mechanism", "record_every": 2, "records": 401},
        paper={"steps": 1600, "record_every": 4},
    ),
    asks("p6-patterns", mechanism.patterns, seeds=3, paper_seeds=5)(
        {"steps": 1200}, relevant_patterns=_patterns(6, 12, 20), smoke={"relevant_patterns": _FEW_PATTERNS}
    ),
    asks("f61-prompt", mechanism.prompt, simulation=networks.illustrate, seeds=1, paper_seeds=1)({"steps": 600}),
    asks("p11-lucky", mechanism.lucky, simulation=networks.draw_lucky, seeds=200, paper_seeds=1000)(),
    asks("p17-heads", sweeps.heads)(
        {"steps": 600, "heads": 2},
        variant={"independent": {}, "equal": {"equal_heads": True}, "frozen": _FROZEN},
        paper={"steps": 1500},
    ),
    asks("p18-classes", sweeps.classes)(
        {"steps": 1000, "class_size": 2},
        attention=_ATTENTION,
        test_length=_LENGTHS,
        smoke={"test_length": {"20": {"test_contexts": 6}, "60": {"test_contexts": 8}}},
        paper={"steps": 1500},
    ),
    _sweep("p2-eta", "step_size", [0.25, 0.5, 1.0], [0.125, 0.25, 0.5, 1.0]),
    _sweep("p2-alpha", "fraction", [0.2, 0.4, 0.6, 0.8, 1.0]),
    _sweep("p2-beta", "pattern_norm", [1.5, 2.0, 3.0, 4.0]),
    _sweep("p2-patterns", "relevant_patterns", _patterns(*PATTERN_COUNTS), smoke=_FEW_PATTERNS),
    _sweep("p2-width", "neurons", [50, 200, 800], [50, 100, 200, 400, 800], [8, 16]),
    _sweep("p2-delta", "initial_scale", [0.05, 0.1, 0.2], [0.05, 0.1, 0.15, 0.2]),
    asks("e2-tasks", sweeps.tasks)(
        {"fraction": 0.6, "steps": 1000},
        task_set=_task_sets((4, 6, 8)),
        smoke={"task_set": _task_sets((4, 6), 12)},
        paper={"task_set": _task_sets((4, 6, 8, 10))},
    ),
    asks("p4-contexts", sweeps.contexts, simulation=networks.answer_prompts)(
        {"steps": 600, "test_context_room": 40},
        attention=_ATTENTION,
        test_mode=["iid", "exact"],
        test_fraction=[0.2, 0.4, 0.8, 1.0],
        test_contexts=[1, 2, 3, 5, 10, 20, 40],
        smoke={"test_fraction": [0.4, 1.0], "test_contexts": [1, 2, 3, 5]},
    ),
    asks("e1-context", sweeps.training_contexts, seeds=3, paper_seeds=5)(
        {"context_room": 12, "contexts": 12},
        variant=_budgets((1, 2, 3, 4, 6, 8, 12), (1, 2, 3)),
        fraction=[0.2, 0.4, 0.8],
        smoke={"variant": _TINY_BUDGETS, "fraction": [0.2, 0.8]},
        paper={"variant": _budgets(range(1, 13), (1, 2, 3, 4)), "fraction": [0.2, 0.3, 0.4, 0.6, 0.8, 1.0]},
    ),
    asks("p5-shift", sweeps.shift, simulation=networks.shift_patterns)(
        {"steps": 600},
        variant=_TRAININGS,
        shift=SHIFTS,
        smoke={"shift": {label: SHIFTS[label] for label in ("45", "20", "6.35", "-45", "135", "-135", "defect")}},
    ),
    asks("p5-exchange", lm.show("exchanged_error"), simulation=networks.exchange_attention)(
        {"steps": 600}, shift={label: SHIFTS[label] for label in ("-45", "135")}
    ),
    asks("f64-baselines", sweeps.baselines, simulation=predictors.compare, seeds=4, paper_seeds=10)(
        {"steps": 600, "test_prompts": 1000, "test_context_room": 60},
        test_fraction=[0.6, 0.8],
        test_contexts=[5, 10, 20, 40, 60],
        smoke={"test_contexts": [5, 10, 20]},
        paper={"test_prompts": 4000, "test_contexts": [5, 10, 15, 20, 30, 40, 50, 60]},
    ),
    asks("f64-oracle-law", sweeps.oracle, simulation=predictors.ask_oracle, seeds=4, paper_seeds=10)(
        {"test_prompts": 4000, "test_contexts": 10, "test_context_room": 10},
        test_fraction=[0.2, 0.4],
        test_contexts=[2, 5, 10],
    ),
    asks("f65-pruning", mechanism.pruned_out_of_domain, simulation=networks.prune_neurons)(
        {"fraction": 0.6, "steps": 1000}, test_fraction=[0.2, 0.4, 0.6, 0.8], smoke={"test_fraction": [0.2, 0.4, 0.8]}
    ),
)

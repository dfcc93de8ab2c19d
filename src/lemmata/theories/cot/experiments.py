"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size.

Everything that tests the model of run R shares its training, one for each seed: length, α', τ, ρ, constructor, noise
and the moment of the weights are ordinary axes.
"""

import functools
from typing import Any

import lemmata as lm
from lemmata.theories.cot.figures import testing, training
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.studies import answer_trials, search_length, vote_only
from lemmata.theories.cot.training import simulate

REFERENCE: dict[str, Any] = {"step_size": 10.0, "steps": 800}
"""Run R."""
TINY: dict[str, Any] = {
    **{"dimension": 24, "patterns": 10, "batch": 30, "steps": 12, "watch_prompts": 30, "watch_tests": 8, "records": 14},
    **{"test_prompts": 12, "test_examples": 6, "test_room": 8, "measure_prompts": 60, "chunk": 60, "example_room": 20},
    **{"record_every": 5},
}
"""The sizes of every smoke preset, so that they share their programs."""


def experiment(name: str, reference: str, question: str, plot: Any, of: dict[str, Any], axes: Any, **more: Any) -> Any:
    """An experiment on this theory's setting; `of` is what differs from its defaults."""
    how = {"simulation": simulate, "seeds": 3, **more}
    given = {"reference": reference, "question": question, "plot": plot, "setting": of, "axes": axes}
    return lm.experiment(name, kind=Setting, tiny=TINY, paper_seeds=10, **given, **how)


answered = functools.partial(experiment, simulation=answer_trials, seeds=5)
LENGTHS = [2, 5, 10, 20, 40, 80]
QUERIES = ("first", "others")
SHORT, SINGLE = {"test_room": 80}, {"transitions": "single"}
VARIANTS: dict[str, dict[str, Any]] = {
    "intact": {},
    "frozen": {"train_attention": 0},
    "equal positions": {"defect": "equal positions"},
    "independent tasks": {"task_law": "independent"},
}
MORE_VARIANTS = {**VARIANTS, "factored": {"factored": True}, "plain": {"simulator": "plain"}}
ALPHAS = [0.1, 0.2, 0.4, 0.6, 0.8]
STAGE = {
    **{f"K={K}": {"reasoning_steps": K, "fraction": 0.4} for K in range(2, 7)},
    **{f"α={a:g}": {"reasoning_steps": 3, "fraction": a} for a in ALPHAS},
}
CLOCK = {
    "η=1": {"step_size": 1.0, "steps": 2000, "record_every": 50},
    "η=10": {"step_size": 10.0, "steps": 200, "record_every": 5},
}
CHAINS = {K: {"reasoning_steps": K, "steps": 150 if K in (4, 6) else 800} for K in range(1, 7)}
CONDITIONS = {
    "fails": {"unsure_right": 0.55, "sure_right": 0.6407895, "last_right": 0.76},
    "holds": {"unsure_right": 0.6315789, "sure_right": 0.6315789, "last_right": 0.76},
    "fails, clear": {"unsure_right": 0.6, "sure_right": 0.8, "last_right": 1.0},
}
NOISE = {
    **{f"{nu:g}": {"token_noise": nu, "noise_law": "untrained", "defect": "none"} for nu in (0.0, 0.2, 0.7)},
    "perp_tsr": {"token_noise": 0.7, "noise_law": "perp_tsr", "defect": "none"},
    "inside": {"token_noise": 0.2, "noise_law": "untrained", "defect": "noise inside"},
}


def _patterns(counts: tuple[int, ...], more: int) -> dict[int, dict[str, Any]]:
    return {M: {"patterns": M, "dimension": M + more} for M in counts}


def _cells(symbol: str, field: str, values: tuple[float, ...], **others: Any) -> dict[str, dict[str, Any]]:
    """Cells of c10-voter: τ = 0.5, ρ = 0.8 and α' = 0.8 but for one of them and what else is said."""
    usual = {"test_fraction": 0.8, "trajectory": 0.5, "primacy": 0.8, "track": "errors", **others}
    return {f"{symbol}={value:g}": {**usual, field: value} for value in values}


CELLS = {
    **_cells("α'", "test_fraction", (0.2, 0.4, 0.8), track="prompts"),
    **_cells("ρ", "primacy", (0.15, 0.3, 0.6)),
    **_cells("τ", "trajectory", (0.25, 0.4, 0.62), primacy=0.6),
}


def _blind(small: bool = False) -> dict[str, dict[str, Any]]:
    """Cases of c16-blind by query: one in five examples matching, or one in twenty of very many."""
    sizes = {"test_prompts": 12, "test_room": 8} if small else {}
    few = {"test_fraction": 0.2, "token_noise": 0.2, "test_prompts": 500, "test_room": 20, **sizes}
    rare = {"test_fraction": 0.05, "token_noise": 0.0, "test_prompts": 200, "test_room": 1600, **sizes}
    cases = {queries: (queries, few, 20) for queries in QUERIES}
    cases |= {f"{queries}, {length}": (queries, rare, length) for queries in QUERIES for length in (400, 1600)}
    return {
        label: {"queries": queries, **case, "test_examples": min(length, case["test_room"])}
        for label, (queries, case, length) in cases.items()
    }


def _lengths(prompts: int, room: int, *lengths: int) -> dict[int, dict[str, Any]]:
    return {n: {"test_examples": n, "test_prompts": prompts, "test_room": room} for n in lengths}


def _panel(letter: str, what: str, name: str, axis: str, values: list[float], setting: dict[str, Any]) -> Any:
    """A panel of Figure 7.3, and the same cells read for Figure 7.4."""
    of, axes = {**REFERENCE, **SHORT, **setting}, {axis: values, "test_examples": LENGTHS}
    for figure, who in ((3, "CoT"), (4, "ICL")):
        question = f"How does the {who} error fall with the number of examples, by {what}?"
        given = f"f7{figure}{letter}-{name}", f"Figure 7.{figure}({letter})", question, testing.lengths, of, axes
        yield answered(*given, smoke={"test_examples": [2, 5, 8]})


EXPERIMENTS = (
    experiment(
        "c1-reference", "Theorem 3, Lemma F.3.6, Figure 7.6",
        "How do loss, attention and the blocks of W change along training?", training.reference,
        REFERENCE, {"variant": VARIANTS}, seeds=5, smoke={"variant": MORE_VARIANTS},
        paper={"variant": MORE_VARIANTS, "measure_prompts": 10_000},
    ),
    experiment(
        "c1-pool", "Theorem 3",
        "How many training tasks does it take for fresh ones to be no harder?", training.pool,
        {**REFERENCE, "steps": 200, "measure_prompts": 4000}, {"pool": [1, 20]},
        paper={"pool": [1, 2, 5, 10, 20, 50]},
    ),
    experiment(
        "c2-eta", "Theorem 3, T ∝ η^-1", "Is the loss a function of η t?", training.clocks,
        {"measure_prompts": 4000}, {"clock": CLOCK},
        smoke={"clock": {label: {**case, "steps": 12, "record_every": 5} for label, case in CLOCK.items()}},
    ),
    experiment(
        "c2-patterns", "Theorem 3, T_3 ∝ M",
        "How does the time to a small loss depend on the number of patterns?", training.times,
        {**REFERENCE, "steps": 250, "record_every": 1}, {"training_patterns": _patterns((10, 20, 40), 10)},
        smoke={"training_patterns": _patterns((10, 12), 14)},
    ),
    experiment(
        "c2-alpha", "Theorem 3, α",
        "How does the time to a small loss depend on the share of matching examples?", training.times,
        {**REFERENCE, "steps": 300, "record_every": 2}, {"fraction": ALPHAS},
    ),
    experiment(
        "c2-stage1", "Theorem 3, T_1", "How long does the first stage last, by K and by α?", training.stages,
        {**SINGLE, "step_size": 1.0, "steps": 450, "record_every": 2}, {"case": STAGE},
        smoke={"case": {label: STAGE[label] for label in ("K=2", "K=3", "α=0.2", "α=0.4")}},
    ),
    experiment(
        "c3-gradient", "Lemma F.3.5",
        "What does the first gradient do to the logits of equal and unequal steps and patterns?", training.gradients,
        {**REFERENCE, "measure_prompts": 30_000}, {"label_order": ["true", "shuffled"]},
    ),
    experiment(
        "c17-steps", "Lemma F.3.7, (F.21)",
        "Does the second stage take longer with more reasoning steps?", training.late,
        {**REFERENCE, **SINGLE, "measure_prompts": 10_000}, {"chain": CHAINS},
        smoke={"chain": {K: {"reasoning_steps": K, "steps": 12} for K in (1, 2, 3)}},
    ),
    experiment(
        "c17-examples", "C17", "Does the second stage depend on the number of training examples?", training.times,
        {**REFERENCE, "steps": 150, "example_room": 40}, {"examples": [5, 10, 20, 40]},
        smoke={"examples": [5, 10, 20]},
    ),
    experiment(
        "c10-voter", "Theorem 4, l_ts", "How many examples does a vote need, by α', ρ and τ?", testing.required,
        {**REFERENCE, **SINGLE, "test_room": 184}, {"cell": CELLS}, simulation=search_length, seeds=5,
    ),
    answered(
        "c11-mechanism", "Proposition 3, Figure 7.2",
        "Does attention concentrate on the matching columns of every step, so that the model votes?",
        testing.mechanism, {**REFERENCE, **SHORT},
        {"test_fraction": [0.2, 0.8], "test_examples": [5, 10, 20, 40], "moment": ["end", "50", "0"]},
        smoke={"test_examples": [5, 8]},
    ),
    answered(
        "c12-noise", "Theorem 4, ‖δ‖ ≤ √2/2", "Does noise of the testing tokens matter?", testing.noise,
        {**REFERENCE, **SHORT, "track": "prompts"}, {"noise": NOISE},
    ),
    answered(
        "c13-span", "Theorem 4, (7.19)", "Must testing patterns lie in the span of the training ones?", testing.span,
        {**REFERENCE, "dimension": 40, "token_noise": 0.0, "test_room": 20},
        {"pattern_law": ["haar", "outside"], "test_fraction": [0.2, 0.4, 0.8]}, seeds=3,
    ),
    answered(
        "c14-alpha-one", "footnote on α → 1", "What is learnt when all training examples have the query's input?",
        testing.alpha_one, {**REFERENCE, **SHORT, "steps": 300, "test_fraction": 0.4}, {"fraction": [0.4, 1.0]},
        seeds=3,
    ),
    answered(
        "c16-blind", "Theorem 4, (F.45)-(F.47)", "Is there a testing pattern in the span that training cannot see?",
        testing.blind, {**REFERENCE, "initial_scale": 0.0},
        {"pattern_law": ["blind", "haar", "identity"], "case": _blind()},
        smoke={"case": _blind(small=True)}, precision="float64",
    ),
    experiment(
        "f71-example", "Example 1, Figure 7.1",
        "Can every step be right in most examples and the composition wrong?", testing.example,
        {"transitions": "example", "reasoning_steps": 2, "test_patterns": 2, "test_prompts": 1000},
        {"transitions": ["example", "direct"], "test_examples": [20, 80, 320, 1280]},
        simulation=vote_only, seeds=5,
        smoke={"reasoning_steps": 2, "test_patterns": 2, "test_room": 1280, "test_prompts": 100},
    ),
    *_panel("a", "α'", "alpha", "test_fraction", [0.4, 0.6, 0.8], {}),
    *_panel("b", "τ", "tau", "trajectory", [0.36, 0.5, 0.7], SINGLE),
    *_panel("c", "ρ", "rho", "primacy", [0.2, 0.5, 0.8], SINGLE),
    answered(
        "f75-condition", "Theorem 5, Figure 7.5", "How do CoT and ICL fare with and without Condition 7.3.2?",
        testing.condition, {**REFERENCE, "transitions": "pairs"},
        {"condition": CONDITIONS, "test_length": {**_lengths(500, 320, 20, 80, 320), **_lengths(200, 1280, 1280)}},
        smoke={"test_length": _lengths(12, 8, 4, 8)},
    ),
)  # fmt: skip

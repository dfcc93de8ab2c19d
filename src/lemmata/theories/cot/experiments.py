"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size.

Everything that tests the model of run R shares its training, one for each seed: length, α', τ, ρ, constructor, noise
and the moment of the weights are ordinary axes.
"""

from __future__ import annotations

import functools
from typing import Any

import lemmata as lm
from lemmata.theories.cot.figures import testing, training
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.studies.chains import answer_trials
from lemmata.theories.cot.studies.votes import search_length, vote_only
from lemmata.theories.cot.training import simulate

REFERENCE: dict[str, Any] = {"step_size": 10.0, "steps": 800}
"""Run R."""
TINY: dict[str, Any] = {
    **{"dimension": 24, "patterns": 10, "batch": 30, "steps": 12, "watch_prompts": 30, "watch_tests": 8, "records": 14},
    **{"test_prompts": 12, "test_examples": 6, "test_room": 8, "measure_prompts": 60, "chunk": 60, "example_room": 20},
    **{"record_every": 5, "dense_records": 0},
}
"""The sizes of every smoke preset, so that they share their programs."""

experiment = functools.partial(lm.experiment, kind=Setting, tiny=TINY, seeds=3, paper_seeds=10)
trained = functools.partial(experiment, simulation=simulate)
answered = functools.partial(experiment, simulation=answer_trials, seeds=5)

LENGTHS = [2, 5, 10, 20, 40, 80]
SHORT = {"test_room": 80}
SINGLE = {"transitions": "single"}
_TINY_LENGTHS = {"test_examples": [2, 5, 8]}
VARIANTS: dict[str, dict[str, Any]] = {
    "intact": {},
    "frozen": {"train_attention": 0},
    "equal positions": {"defect": "equal positions"},
    "independent tasks": {"task_law": "independent"},
}
MORE_VARIANTS = {**VARIANTS, "factored": {"factored": True}, "plain": {"simulator": "plain"}}


def _patterns(counts: tuple[int, ...], more: int) -> dict[int, dict[str, Any]]:
    return {M: {"patterns": M, "dimension": M + more} for M in counts}


def _reasoning(long: tuple[int, ...], short: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    cases = {K: {"reasoning_steps": K, "steps": 800 if K in long else 150} for K in sorted((*long, *short))}
    return cases


ALPHAS = [0.1, 0.2, 0.4, 0.6, 0.8]
_STAGE = {
    **{f"K={K}": {"reasoning_steps": K, "fraction": 0.4} for K in range(2, 7)},
    **{f"α={a:g}": {"reasoning_steps": 3, "fraction": a} for a in ALPHAS},
}
CELLS = {
    **{
        f"α'={a:g}": {"test_fraction": a, "trajectory": 0.5, "primacy": 0.8, "track": "prompts"}
        for a in (0.2, 0.4, 0.8)
    },
    **{
        f"ρ={r:g}": {"test_fraction": 0.8, "trajectory": 0.5, "primacy": r, "track": "errors"} for r in (0.15, 0.3, 0.6)
    },
    **{
        f"τ={t:g}": {"test_fraction": 0.8, "trajectory": t, "primacy": 0.6, "track": "errors"}
        for t in (0.25, 0.4, 0.62)
    },
}
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
_BLIND = {"test_fraction": 0.2, "test_examples": 20, "token_noise": 0.2, "test_prompts": 500, "test_room": 20}
_LONG = {"test_fraction": 0.05, "token_noise": 0.0, "test_prompts": 200, "test_room": 1600}
BLIND_CASES = {
    **{queries: {"queries": queries, **_BLIND} for queries in ("first", "others")},
    **{
        f"{queries}, {length}": {"queries": queries, **_LONG, "test_examples": length}
        for queries in ("first", "others")
        for length in (400, 1600)
    },
}
_TINY_BLIND = {
    label: {**case, "test_examples": min(case["test_examples"], 8), "test_prompts": 12, "test_room": 8}
    for label, case in BLIND_CASES.items()
}


def _lengths(prompts: int, room: int, *lengths: int) -> dict[int, dict[str, Any]]:
    return {n: {"test_examples": n, "test_prompts": prompts, "test_room": room} for n in lengths}


def _panel(letter: str, what: str, name: str, axis: str, values: list[float], setting: dict[str, Any]) -> Any:
    """A panel of Figure 7.3, and the same cells read for Figure 7.4."""
    for figure, who in ((3, "CoT"), (4, "ICL")):
        yield answered(
            f"f7{figure}{letter}-{name}",
            reference=f"Figure 7.{figure}({letter})",
            question=f"How does the {who} error fall with the number of examples, by {what}?",
            plot=testing.lengths,
            setting={**REFERENCE, **SHORT, **setting},
            axes={axis: values, "test_examples": LENGTHS},
            smoke=_TINY_LENGTHS,
        )


EXPERIMENTS = (
    trained(
        "c1-reference",
        reference="Theorem 3, Lemma F.3.6, Figure 7.6",
        question="How do loss, attention and the blocks of W change along training?",
        plot=training.reference,
        setting=REFERENCE,
        axes={"variant": VARIANTS},
        seeds=5,
        smoke={"variant": MORE_VARIANTS},
        paper={"variant": MORE_VARIANTS, "measure_prompts": 10_000},
    ),
    trained(
        "c1-pool",
        reference="Theorem 3",
        question="How many training tasks does it take for fresh ones to be no harder?",
        plot=lm.show("moment_loss", "pool_loss"),
        setting={**REFERENCE, "steps": 200, "measure_prompts": 4000},
        axes={"pool": [1, 20]},
        paper={"pool": [1, 2, 5, 10, 20, 50]},
    ),
    trained(
        "c2-eta",
        reference="Theorem 3, T ∝ η^-1",
        question="Is the loss a function of η t?",
        plot=lm.show("train_loss"),
        setting={"watch_prompts": 4000},
        axes={
            "clock": {
                "η=1": {"step_size": 1.0, "steps": 2000, "record_every": 50},
                "η=10": {"step_size": 10.0, "steps": 200, "record_every": 5},
            }
        },
        smoke={
            "clock": {
                "η=1": {"step_size": 1.0, "steps": 12, "record_every": 5},
                "η=10": {"step_size": 10.0, "steps": 12, "record_every": 5},
            }
        },
    ),
    trained(
        "c2-patterns",
        reference="Theorem 3, T_3 ∝ M",
        question="How does the time to a small loss depend on the number of patterns?",
        plot=training.times,
        setting={**REFERENCE, "steps": 250, "dense_records": 20},
        axes={"training_patterns": _patterns((10, 20, 40), 10)},
        smoke={"training_patterns": _patterns((10, 12), 14)},
    ),
    trained(
        "c2-alpha",
        reference="Theorem 3, α",
        question="How does the time to a small loss depend on the share of matching examples?",
        plot=training.times,
        setting={**REFERENCE, "steps": 300, "record_every": 2},
        axes={"fraction": ALPHAS},
    ),
    trained(
        "c2-stage1",
        reference="Theorem 3, T_1",
        question="How long does the first stage last, by K and by α?",
        plot=training.stages,
        setting={**SINGLE, "step_size": 1.0, "steps": 450, "record_every": 2},
        axes={"case": _STAGE},
        smoke={"case": {label: _STAGE[label] for label in ("K=2", "K=3", "α=0.2", "α=0.4")}},
    ),
    trained(
        "c3-gradient",
        reference="Lemma F.3.5",
        question="What does the first gradient do to the logits of equal and unequal steps and patterns?",
        plot=training.gradients,
        setting={**REFERENCE, "measure_prompts": 30_000},
        axes={"label_order": ["true", "shuffled"]},
    ),
    trained(
        "c17-steps",
        reference="Lemma F.3.7, (F.21)",
        question="Does the second stage take longer with more reasoning steps?",
        plot=training.late,
        setting={**REFERENCE, **SINGLE, "measure_prompts": 10_000},
        axes={"chain": _reasoning((1, 2, 3, 5), (4, 6))},
        smoke={"chain": {K: {"reasoning_steps": K, "steps": 12} for K in (1, 2, 3)}},
    ),
    trained(
        "c17-examples",
        reference="C17",
        question="Does the second stage depend on the number of training examples?",
        plot=training.times,
        setting={**REFERENCE, "steps": 150, "example_room": 40},
        axes={"examples": [5, 10, 20, 40]},
        smoke={"examples": [5, 10, 20]},
    ),
    experiment(
        "c10-voter",
        reference="Theorem 4, l_ts",
        question="How many examples does a vote need, by α', ρ and τ?",
        simulation=search_length,
        plot=testing.required,
        setting={**REFERENCE, **SINGLE, "test_room": 184},
        axes={"cell": CELLS},
        seeds=5,
    ),
    answered(
        "c11-mechanism",
        reference="Proposition 3, Figure 7.2",
        question="Does attention concentrate on the matching columns of every step, so that the model votes?",
        plot=testing.mechanism,
        setting={**REFERENCE, **SHORT},
        axes={"test_fraction": [0.2, 0.8], "test_examples": [5, 10, 20, 40], "moment": ["end", "50", "0"]},
        smoke={"test_examples": [5, 8]},
    ),
    answered(
        "c12-noise",
        reference="Theorem 4, ‖δ‖ ≤ √2/2",
        question="Does noise of the testing tokens matter?",
        plot=lm.show("cot_error"),
        setting={**REFERENCE, **SHORT, "track": "prompts"},
        axes={"noise": NOISE},
    ),
    answered(
        "c13-span",
        reference="Theorem 4, (7.19)",
        question="Must testing patterns lie in the span of the training ones?",
        plot=lm.show("concentration"),
        setting={**REFERENCE, "dimension": 40, "token_noise": 0.0, "test_room": 20},
        axes={"pattern_law": ["haar", "outside"], "test_fraction": [0.2, 0.4, 0.8]},
        seeds=3,
    ),
    answered(
        "c14-alpha-one",
        reference="footnote on α → 1",
        question="What is learnt when all training examples have the query's input?",
        plot=lm.show("pattern_gain", "step_gain"),
        setting={**REFERENCE, **SHORT, "steps": 300, "test_fraction": 0.4},
        axes={"fraction": [0.4, 1.0]},
        seeds=3,
    ),
    answered(
        "c16-blind",
        reference="Theorem 4, (F.45)-(F.47)",
        question="Is there a testing pattern in the span that training cannot see?",
        plot=testing.blind,
        setting={**REFERENCE, "initial_scale": 0.0},
        axes={"pattern_law": ["blind", "haar", "identity"], "case": BLIND_CASES},
        seeds=3,
        smoke={"case": _TINY_BLIND},
        precision="float64",
    ),
    experiment(
        "f71-example",
        reference="Example 1, Figure 7.1",
        question="Can every step be right in most examples and the composition wrong?",
        simulation=vote_only,
        plot=testing.example,
        setting={"transitions": "example", "reasoning_steps": 2, "test_patterns": 2, "test_prompts": 1000},
        axes={"transitions": ["example", "direct"], "test_examples": [20, 80, 320, 1280]},
        seeds=5,
        smoke={"reasoning_steps": 2, "test_patterns": 2, "test_room": 1280, "test_prompts": 100},
    ),
    *_panel("a", "α'", "alpha", "test_fraction", [0.4, 0.6, 0.8], {}),
    *_panel("b", "τ", "tau", "trajectory", [0.36, 0.5, 0.7], SINGLE),
    *_panel("c", "ρ", "rho", "primacy", [0.2, 0.5, 0.8], SINGLE),
    answered(
        "f75-condition",
        reference="Theorem 5, Figure 7.5",
        question="How do CoT and ICL fare with and without Condition 7.3.2?",
        plot=testing.condition,
        setting={**REFERENCE, "transitions": "pairs"},
        axes={"condition": CONDITIONS, "test_length": {**_lengths(500, 320, 20, 80, 320), **_lengths(200, 1280, 1280)}},
        smoke={"test_length": _lengths(12, 8, 4, 8)},
    ),
)

"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size.

Everything that tests the model of run R shares its training, one for each seed: length, α', τ, ρ, constructor, noise
and the moment of the weights are ordinary axes.
"""

from typing import Any

import lemmata as lm
from lemmata.theories.cot import figures
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
SMALL = {"test_prompts": 12, "test_room": 8}
PANELS = (
    ("a", "alpha", "α'", "test_fraction", [0.4, 0.6, 0.8], {}),
    ("b", "tau", "τ", "trajectory", [0.36, 0.5, 0.7], {"transitions": "single"}),
    ("c", "rho", "ρ", "primacy", [0.2, 0.5, 0.8], {"transitions": "single"}),
)
"""The panels of Figure 7.3; Figure 7.4 reads the same cells."""
ASKED = {
    "c1-reference": """Theorem 3, Lemma F.3.6, Figure 7.6: How do loss, attention and the blocks of W change along
    training?""",
    "c1-pool": "Theorem 3: How many training tasks does it take for fresh ones to be no harder?",
    "c2-eta": "Theorem 3, T ∝ η^-1: Is the loss a function of η t?",
    "c2-patterns": "Theorem 3, T_3 ∝ M: How does the time to a small loss depend on the number of patterns?",
    "c2-alpha": "Theorem 3, α: How does the time to a small loss depend on the share of matching examples?",
    "c2-stage1": "Theorem 3, T_1: How long does the first stage last, by K and by α?",
    "c3-gradient": """Lemma F.3.5: What does the first gradient do to the logits of equal and unequal steps and
    patterns?""",
    "c17-steps": "Lemma F.3.7, (F.21): Does the second stage take longer with more reasoning steps?",
    "c17-examples": "C17: Does the second stage depend on the number of training examples?",
    "c10-voter": "Theorem 4, l_ts: How many examples does a vote need, by α', ρ and τ?",
    "c11-mechanism": """Proposition 3, Figure 7.2: Does attention concentrate on the matching columns of every step, so
    that the model votes?""",
    "c12-noise": "Theorem 4, ‖δ‖ ≤ √2/2: Does noise of the testing tokens matter?",
    "c13-span": "Theorem 4, (7.19): Must testing patterns lie in the span of the training ones?",
    "c14-alpha-one": "footnote on α → 1: What is learnt when all training examples have the query's input?",
    "c16-blind": "Theorem 4, (F.45)-(F.47): Is there a testing pattern in the span that training cannot see?",
    "f71-example": "Example 1, Figure 7.1: Can every step be right in most examples and the composition wrong?",
    "f75-condition": "Theorem 5, Figure 7.5: How do CoT and ICL fare with and without Condition 7.3.2?",
} | {
    f"f7{figure}{letter}-{name}": f"Figure 7.{figure}({letter}): How does the {who} error fall with the number of "
    f"examples, by {what}?"
    for letter, name, what, *_ in PANELS
    for figure, who in ((3, "CoT"), (4, "ICL"))
}
asks = lm.asking(ASKED, kind=Setting, simulation=simulate, seeds=3, tiny=TINY, paper_seeds=10)
TESTED: Any = {"simulation": answer_trials, "seeds": 5}
LENGTHS = [2, 5, 10, 20, 40, 80]
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
FEW = {"test_fraction": 0.2, "token_noise": 0.2, "test_prompts": 500, "test_room": 20, "test_examples": 20}
RARE = {"test_fraction": 0.05, "token_noise": 0.0, "test_prompts": 200, "test_room": 1600}
BLIND = {
    **{who: {"queries": who, **FEW} for who in ("first", "others")},
    **{f"{who}, {n}": {"queries": who, **RARE, "test_examples": n} for who in ("first", "others") for n in (400, 1600)},
}
"""Cases of c16-blind by query: one in five examples matching, or one in twenty of very many."""
NOISE = {
    **{f"{nu:g}": {"token_noise": nu, "noise_law": "untrained", "defect": "none"} for nu in (0.0, 0.2, 0.7)},
    "perp_tsr": {"token_noise": 0.7, "noise_law": "perp_tsr", "defect": "none"},
    "inside": {"token_noise": 0.2, "noise_law": "untrained", "defect": "noise inside"},
}
CELLS = {
    f"{symbol}={value:g}": {"test_fraction": 0.8, "trajectory": 0.5, "primacy": 0.8, **others, field: value}
    for symbol, field, values, others in (
        ("α'", "test_fraction", (0.2, 0.4, 0.8), {"track": "prompts"}),
        ("ρ", "primacy", (0.15, 0.3, 0.6), {"track": "errors"}),
        ("τ", "trajectory", (0.25, 0.4, 0.62), {"track": "errors", "primacy": 0.6}),
    )
    for value in values
}
"""Cells of c10-voter: τ = 0.5, ρ = 0.8 and α' = 0.8 but for one of them and what else is said."""
MANY = {n: {"test_examples": n, "test_prompts": 500, "test_room": 320} for n in (20, 80, 320)}
MANY[1280] = {"test_examples": 1280, "test_prompts": 200, "test_room": 1280}

EXPERIMENTS = (
    asks("c1-reference", figures.reference, seeds=5)(
        REFERENCE,
        variant=VARIANTS,
        smoke={"variant": MORE_VARIANTS},
        paper={"variant": MORE_VARIANTS, "measure_prompts": 10_000},
    ),
    asks("c1-pool", figures.pool)(
        dict(REFERENCE, steps=200, measure_prompts=4000), pool=[1, 20], paper={"pool": [1, 2, 5, 10, 20, 50]}
    ),
    asks("c2-eta", figures.clocks)(
        {"measure_prompts": 4000},
        clock=CLOCK,
        smoke={"clock": {label: {**case, "steps": 12, "record_every": 5} for label, case in CLOCK.items()}},
    ),
    asks("c2-patterns", figures.times)(
        dict(REFERENCE, steps=250, record_every=1),
        training_patterns={M: {"patterns": M, "dimension": M + 10} for M in (10, 20, 40)},
        smoke={"training_patterns": {M: {"patterns": M, "dimension": M + 14} for M in (10, 12)}},
    ),
    asks("c2-alpha", figures.times)(dict(REFERENCE, steps=300, record_every=2), fraction=ALPHAS),
    asks("c2-stage1", figures.stages)(
        {"transitions": "single", "step_size": 1.0, "steps": 450, "record_every": 2},
        case=STAGE,
        smoke={"case": {label: STAGE[label] for label in ("K=2", "K=3", "α=0.2", "α=0.4")}},
    ),
    asks("c3-gradient", figures.gradients)(dict(REFERENCE, measure_prompts=30_000), label_order=["true", "shuffled"]),
    asks("c17-steps", figures.late)(
        dict(REFERENCE, transitions="single", measure_prompts=10_000),
        chain=CHAINS,
        smoke={"chain": {K: {"reasoning_steps": K, "steps": 12} for K in (1, 2, 3)}},
    ),
    asks("c17-examples", figures.times)(
        dict(REFERENCE, steps=150, example_room=40), examples=[5, 10, 20, 40], smoke={"examples": [5, 10, 20]}
    ),
    asks("c10-voter", figures.required, simulation=search_length, seeds=5)(
        dict(REFERENCE, transitions="single", test_room=184), cell=CELLS
    ),
    asks("c11-mechanism", figures.mechanism, **TESTED)(
        dict(REFERENCE, test_room=80),
        test_fraction=[0.2, 0.8],
        test_examples=[5, 10, 20, 40],
        moment=["end", "50", "0"],
        smoke={"test_examples": [5, 8]},
    ),
    asks("c12-noise", figures.noise, **TESTED)(dict(REFERENCE, test_room=80, track="prompts"), noise=NOISE),
    asks("c13-span", figures.span, simulation=answer_trials)(
        dict(REFERENCE, dimension=40, token_noise=0.0, test_room=20),
        pattern_law=["haar", "outside"],
        test_fraction=[0.2, 0.4, 0.8],
    ),
    asks("c14-alpha-one", figures.alpha_one, simulation=answer_trials)(
        dict(REFERENCE, steps=300, test_fraction=0.4, test_room=80), fraction=[0.4, 1.0]
    ),
    asks("c16-blind", figures.blind, **TESTED, precision="float64")(
        dict(REFERENCE, initial_scale=0.0),
        pattern_law=["blind", "haar", "identity"],
        case=BLIND,
        smoke={"case": {label: {**case, **SMALL, "test_examples": 8} for label, case in BLIND.items()}},
    ),
    asks("f71-example", figures.example, simulation=vote_only, seeds=5)(
        {"transitions": "example", "reasoning_steps": 2, "test_patterns": 2, "test_prompts": 1000},
        transitions=["example", "direct"],
        test_examples=[20, 80, 320, 1280],
        smoke={"reasoning_steps": 2, "test_patterns": 2, "test_room": 1280, "test_prompts": 100},
    ),
    *(
        asks(f"f7{figure}{letter}-{name}", figures.lengths, **TESTED)(
            {**REFERENCE, "test_room": 80, **setting},
            **{axis: values, "test_examples": LENGTHS},
            smoke={"test_examples": [2, 5, 8]},
        )
        for letter, name, _, axis, values, setting in PANELS
        for figure in (3, 4)
    ),
    asks("f75-condition", figures.condition, **TESTED)(
        dict(REFERENCE, transitions="pairs"),
        condition=CONDITIONS,
        test_length=MANY,
        smoke={"test_length": {n: {"test_examples": n, **SMALL} for n in (4, 8)}},
    ),
)

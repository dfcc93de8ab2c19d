"""The experiments (section 7, claims register): samples, steps, attention and training step by step, variants."""

from functools import partial
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.vit.figures import dynamics, samples, variants
from lemmata.theories.vit.images import experiments as images
from lemmata.theories.vit.setting import STRATEGIES, Setting
from lemmata.theories.vit.studies.initial import measure_initial
from lemmata.theories.vit.training import simulate

ATTENTION = {"attention": {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}}
VARIANTS = {"shared": {"output": "shared", "step_size": 0.1}, "per_token": {"output": "per_token", "step_size": 1.0}}
"""The two readings of the output signs, each with its step size."""
TINY = {
    **{"tokens": 10, "neurons": 16, "samples": 16, "test_samples": 16, "batch": 0},
    **{"steps": 20, "records": 21, "record_every": 1, "track": "neurons"},
}
"""The one set of sizes of every smoke preset; from 14 to 16 samples share their programs."""
FINE = {"test_samples": 1000}
WIDE = {**FINE, "neurons": 1000}
"""A finer estimate of the risk, and the same at the width of the paper."""

experiment = partial(lm.experiment, kind=Setting, simulation=simulate, tiny=TINY, seeds=3, paper=WIDE)
with_attention = partial(experiment, axes=ATTENTION, smoke={"track": "attention"})
initial = partial(experiment, simulation=measure_initial, paper=None)


def samples_axis(*counts: int) -> dict[str, Any]:
    """N with its batch rule: full batch up to 64, else B = 64 with a record every 10 steps."""
    full, small = {"batch": 0, "record_every": 1}, {"batch": 64, "record_every": 10}
    return {"samples": {n: {"samples": n, **(full if n <= 64 else small)} for n in counts}}


def fraction_axis(*fractions: float) -> dict[str, Any]:
    """α_* with α_nd fixed to 1/2, so that α_# = 1/2 - α_*."""
    fields = {a: {"relevant_fraction": a, "confusion_fraction": round(0.5 - a, 9)} for a in fractions}
    return {"relevant_fraction": fields}


def widths(width: int) -> dict[str, int]:
    """d = m_a = m_b."""
    return {"dimension": width, "value_width": width, "key_width": width}


def counter_example(delta: float = 0.4) -> dict[str, Any]:
    """W_Q μ_1 = q_1 + δ q_3, W_K μ_3 = q_3 + δ q_1, only μ_1 and μ_3 present, no noise: the logit gap of a μ_1 query is
    1 - 2δ, less than the 1 - δ that p_n supposes (V24)."""
    identity = np.eye(10)
    query, key = identity.copy(), identity.copy()
    query[2, 0] = key[0, 2] = delta
    data = {"patterns": 3, "pattern_basis": "canonical", "relevant_fraction": 0.5, "confusion_fraction": 0.0}
    maps = {"init": "given", "value_map": identity, "key_map": key, "query_map": query}
    return {**data, **maps, "attention_error": delta, "noise_radius": 0.0}


V7 = {"relevant_fraction": 0.36, "confusion_fraction": 0.14, "neurons": 100}
F1 = {**V7, "output": "per_token", "step_size": 2.0, "samples": 64}
F2 = {
    **{"value_error": 0.1, "attention_error": 0.4, "confusion_fraction": 0.05, "tokens": 20, "samples": 40},
    **{"neurons": 100, "steps": 1500, "records": 1501, "stop": "small_loss"},
}
F4 = {
    **{"relevant_fraction": 0.5, "confusion_fraction": 0.05, "samples": 200, "batch": 20, "neurons": 1000},
    **{"steps": 400, "record_every": 4, "records": 101, "stop": "never", "track": "attention"},
}
F5 = {
    **{"samples": 80, "relevant_fraction": 0.6, "confusion_fraction": 0.05, "noisy_fraction": 0.3, "noisy_level": 0.3},
    **{"output": "per_token", "step_size": 1.0, "attention_error": 0.5, "normalise": "yes"},
    **{"steps": 75, "records": 2, "record_every": 75, "stop": "never"},
}
CLASSES = {"classes": 4, "patterns": 7, "tokens": 40, "samples": 80, "neurons": 400, "steps": 400, "records": 401}
VARIED = {"tokens": 40, "samples": 60, "track": "attention"}
RISK = {"shared": {"output": "shared", "step_size": 0.3}, "per_token": {"output": "per_token", "step_size": 2.0}}
STEP_SIZES = {
    f"{output} {eta:g}": {"output": output, "step_size": eta}
    for output, sizes in (("shared", (0.02, 0.05, 0.1, 0.2, 0.5)), ("per_token", (0.25, 0.5, 1.0, 2.0)))
    for eta in sizes
}
FULL_BATCH = {variant: {**fields, "batch": 0} for variant, fields in VARIANTS.items()}
DIRECTIONS = {
    f"{law} {delta:g}": {"attention_error_law": law, "attention_error": delta, "noise_radius": 0.05 if delta else 0.0}
    for law in ("random", "confuse")
    for delta in (0.0, 0.2, 0.4)
}
HEADS = {"alignment": "v21-heads-alignment", "test_hinge": "v21-heads-risk"}
FEW_CELLS = {**fraction_axis(0.30, 0.40), **samples_axis(14, 16)}
PAPER_FRACTIONS = fraction_axis(0.30, 0.32, 0.34, 0.36, 0.38, 0.40, 0.44, 0.48)

sample_map = partial(
    experiment,
    axes={**fraction_axis(0.30, 0.32, 0.34, 0.36, 0.40, 0.48), **samples_axis(2, 4, 8, 16, 32, 64, 128)},
    seeds=5,
    smoke=FEW_CELLS,
    paper={**WIDE, "tokens": 100, **PAPER_FRACTIONS, **samples_axis(2, 4, 8, 16, 32, 64, 128, 256)},
)

EXPERIMENTS = (
    experiment(
        "v1-zero-risk",
        reference="Theorem 1",
        question="Does SGD reach zero population risk well above the sample threshold?",
        plot=samples.zero_risk,
        setting={"neurons": 200, "test_samples": 1000},
        axes={
            "variant": {
                "shared": {**RISK["shared"], "samples": 16, "batch": 0, "record_every": 1},
                "per_token": {**RISK["per_token"], "samples": 256, "batch": 64, "record_every": 10},
            },
            "label_order": ["true", "shuffled"],
        },
        seeds=20,
        smoke={"variant": RISK},
        paper={"neurons": 1000},
    ),
    sample_map(
        "f1a-samples",
        reference="Figure 2.1 (a)",
        question="How many samples does the transformer need as the relevant fraction falls?",
        plot=partial(samples.sample_map, power=2, who="attention trained"),
        setting=F1,
    ),
    sample_map(
        "f3-samples-frozen",
        reference="Figure 2.3",
        question="How many samples are needed when attention stays frozen (the CNN baseline)?",
        plot=partial(samples.sample_map, power=4, who="attention frozen"),
        setting={**F1, "train_attention": 0},
    ),
    experiment(
        "f1a-samples-shared",
        reference="Figure 2.1 (a)",
        question="Is there a sample threshold at all when the output signs are shared?",
        plot=samples.shared,
        setting={**F1, "output": "shared", "step_size": 0.3},
        axes={**fraction_axis(0.32, 0.36, 0.48), **samples_axis(2, 8, 32), **ATTENTION},
        seeds=5,
        smoke=FEW_CELLS,
        paper={**WIDE, "tokens": 100},
    ),
    experiment(
        "f1b-sigma",
        reference="Figure 2.1 (b)",
        question="How many samples are needed as the initial value error grows?",
        plot=partial(samples.initial_error, error="value_error"),
        setting={**F1, "relevant_fraction": 0.3, "confusion_fraction": 0.2},
        axes={
            "value_error": [0.0, 0.2, 0.6],
            "value_error_law": ["random", "confuse"],
            **samples_axis(32, 64, 128, 256),
        },
        smoke={"value_error": [0.0, 0.6], **samples_axis(14, 16)},
        paper={**WIDE, "value_error": [0.0, 0.1, 0.2, 0.4, 0.6, 0.8], **samples_axis(8, 16, 32, 64, 128, 256)},
    ),
    experiment(
        "v7-samples",
        reference="Remark 3",
        question="How many samples are needed as the initial error of keys and queries grows?",
        plot=partial(samples.initial_error, error="attention_error"),
        setting=F1,
        axes={"attention_error": [0.0, 0.2, 0.4], **samples_axis(8, 16, 32, 64, 128)},
        smoke=samples_axis(14, 16),
        paper={**WIDE, **samples_axis(4, 8, 16, 32, 64, 128, 256)},
    ),
    experiment(
        "v6-token-noise",
        reference="Remark 2, Figure 2.1 (b)",
        question="Does token noise raise the test loss at a fixed number of samples?",
        plot=samples.token_noise,
        setting={**F1, "step_size": 1.0, "normalise": "yes"},
        axes={"token_noise": [0.01, 0.1, 0.2, 0.3]},
        seeds=7,
        paper=FINE,
    ),
    experiment(
        "f5-sparsification",
        reference="Figure 2.5",
        question="Which tokens can be removed without loss, and which removals help?",
        plot=samples.sparsification,
        setting=F5,
        axes={"keep": [1.0, 0.8, 0.7], "strategy": ["random", "irrelevant", "noisy", "attention", "relevant"]},
        seeds=8,
        paper={**FINE, "keep": [1.0, 0.9, 0.8, 0.7, 0.65], "strategy": list(STRATEGIES)},
    ),
    experiment(
        "f2-iterations",
        reference="Figure 2.2",
        question="How does the number of steps grow as the relevant fraction falls, attention trained or frozen?",
        plot=samples.iterations,
        setting=F2,
        axes={"relevant_fraction": [0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8], "variant": VARIANTS, **ATTENTION},
        seeds=5,
        smoke={"relevant_fraction": [0.15, 0.4, 0.8]},
        paper={**WIDE, "tokens": 100, "samples": 100},
    ),
    experiment(
        "f2-step-size",
        reference="(2.10)",
        question="How does the number of steps depend on the step size?",
        plot=samples.step_size,
        setting={**F2, "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 20},
        axes={"variant": STEP_SIZES},
        seeds=5,
        paper={**WIDE, "tokens": 100},
    ),
    experiment(
        "v7-initial-model",
        reference="Remark 3",
        question="Does a worse initial model slow training down?",
        plot=samples.initial_model,
        setting={**V7, "samples": 24},
        axes={
            "value_error": [0.0, 0.2, 0.4, 0.6],
            "value_error_law": ["confuse", "random"],
            "attention_error": [0.2, 0.0, 0.4],
        },
        seeds=5,
    ),
    experiment(
        "f4-attention",
        reference="Figure 2.4",
        question="How far does attention concentrate on the label-relevant tokens?",
        plot=dynamics.concentration,
        setting=F4,
        axes={"variant": VARIANTS, **ATTENTION},
        paper=FINE,
    ),
    experiment(
        "v8-losses",
        reference="Proposition 2",
        question="Does attention go on concentrating when the loss does not saturate?",
        plot=dynamics.losses,
        setting={**F4, "neurons": 200, "steps": 1000, "record_every": 10},
        axes={
            "loss": {
                "hinge margin 1": {"loss": "hinge", "margin": 1.0},
                "hinge margin 10": {"loss": "hinge", "margin": 10.0},
                "logistic": {"loss": "logistic", "margin": 1.0},
            },
            **ATTENTION,
        },
    ),
    initial(
        "v24-initial-attention",
        reference="Definition A.2.2, (A.15), (A.175)",
        question="Does the initial attention respect its lower bounds, the paper's and the one that is a theorem?",
        plot=dynamics.initial_bounds,
        setting={"samples": 20, "noise_law": "ball", "normalise": "yes", "neurons": 50},
        axes={"variant": {**DIRECTIONS, "counter-example": counter_example()}},
        seeds=20,
    ),
    experiment(
        "dynamics",
        reference="Proposition 2, Lemma A.3.1",
        question="What happens to loss, attention, features and neurons along training, step by step?",
        plot=dynamics.dynamics,
        setting={"track": "neurons"},
        axes={"variant": {**FULL_BATCH, "shared-b20": {**VARIANTS["shared"], "batch": 20}}, **ATTENTION},
        smoke={"variant": {**FULL_BATCH, "shared-b20": {**VARIANTS["shared"], "batch": 4}}},
    ),
    experiment(
        "v25-cross",
        reference="(A.126), (A.131), (A.132)",
        question="In how many runs does the query map gain most along the own feature?",
        plot=lm.show("query_features"),
        setting={"track": "neurons"},
        axes={"variant": {"shared": FULL_BATCH["shared"]}, **ATTENTION},
        seeds=20,
    ),
    initial(
        "v10-lucky-sets",
        reference="Lemma A.5.1, Definition A.2.3",
        question="How many neurons are lucky at initialisation, and how do they respond to token noise?",
        plot=dynamics.lucky_sets,
        setting={"neurons": 1000},
        axes={"defect": ["none", "shifted"]},
    ),
    experiment(
        "v19-multiclass",
        reference="Appendix A.6.1, (A.217)-(A.224)",
        question="Do the neurons of each of four classes learn the pattern of their class?",
        plot=variants.multiclass,
        setting={**widths(12), **CLASSES},
        smoke={"track": "loss"},
        paper=FINE,
    ),
    with_attention(
        "v20-patterns",
        reference="Appendix A.6.2",
        question="Does training still work when every pattern is a set of nearby vectors?",
        plot=variants.pattern_sets,
        setting={**VARIED, **widths(20), "members": 2, "member_shares": [[0.7, 0.3]] * 5},
    ),
    experiment(
        "v21-heads",
        reference="Appendix A.6.3",
        question="Does training still work with several attention heads, and do neurons learn all of them?",
        plot=lm.show("alignment", "test_hinge", "reached_step", levels=HEADS),
        setting={**VARIED, "track": "neurons"},
        axes={"heads": [1, 2, 4]},
        smoke={"heads": [1, 2]},
    ),
    with_attention(
        "v22-skip",
        reference="Appendix A.6.4",
        question="Does training still work with a skip connection?",
        plot=variants.skip,
        setting={**VARIED, "skip": True},
    ),
    experiment(
        "v22-normalisation",
        reference="Appendix A.6.4",
        question="Does normalising the tokens, to unit norm or by layer norm, change the training?",
        plot=lm.show("reached_step", "test_hinge"),
        setting=VARIED,
        axes={"normalise": ["no", "yes", "layer"], "variant": {"plain": {"skip": False}, "skip": {"skip": True}}},
    ),
    experiment(
        "e1-initialisation",
        reference="Section 2.4",
        question="How do the initialisations that the paper names compare?",
        plot=variants.initialisations,
        setting={"track": "attention"},
        axes={
            "variant": {
                "assumption": {},
                "free queries": {"free_queries": True},
                "spectral clipping": {"clip_spectral": True},
                "balanced signs": {"balanced_signs": True},
                "ξ = 1/√m": {"output_rule": "inv_sqrt_m"},
                "ξ = 1/√M": {"output_rule": "inv_sqrt_M"},
                "average pooling": {"uniform_attention": True, "train_attention": 0},
                "as printed": {"init": "literal"},
            }
        },
    ),
    *images.EXPERIMENTS,
)

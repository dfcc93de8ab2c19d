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
ASKED = {
    "v1-zero-risk": "Theorem 1: Does SGD reach zero population risk well above the sample threshold?",
    "f1a-samples": "Figure 2.1 (a): How many samples does the transformer need as the relevant fraction falls?",
    "f3-samples-frozen": "Figure 2.3: How many samples are needed when attention stays frozen (the CNN baseline)?",
    "f1a-samples-shared": """Figure 2.1 (a): Is there a sample threshold at all when the output signs are
        shared?""",
    "f1b-sigma": "Figure 2.1 (b): How many samples are needed as the initial value error grows?",
    "v7-samples": "Remark 3: How many samples are needed as the initial error of keys and queries grows?",
    "v6-token-noise": "Remark 2, Figure 2.1 (b): Does token noise raise the test loss at a fixed number of samples?",
    "f5-sparsification": "Figure 2.5: Which tokens can be removed without loss, and which removals help?",
    "f2-iterations": """Figure 2.2: How does the number of steps grow as the relevant fraction falls, attention trained
        or frozen?""",
    "f2-step-size": "(2.10): How does the number of steps depend on the step size?",
    "v7-initial-model": "Remark 3: Does a worse initial model slow training down?",
    "f4-attention": "Figure 2.4: How far does attention concentrate on the label-relevant tokens?",
    "v8-losses": "Proposition 2: Does attention go on concentrating when the loss does not saturate?",
    "v24-initial-attention": """Definition A.2.2, (A.15), (A.175): Does the initial attention respect its lower bounds,
        the paper's and the one that is a theorem?""",
    "dynamics": """Proposition 2, Lemma A.3.1: What happens to loss, attention, features and neurons along training,
        step by step?""",
    "v25-cross": "(A.126), (A.131), (A.132): In how many runs does the query map gain most along the own feature?",
    "v10-lucky-sets": """Lemma A.5.1, Definition A.2.3: How many neurons are lucky at initialisation, and how do they
        respond to token noise?""",
    "v19-multiclass": """Appendix A.6.1, (A.217)-(A.224): Do the neurons of each of four classes learn the pattern of
        their class?""",
    "v20-patterns": "Appendix A.6.2: Does training still work when every pattern is a set of nearby vectors?",
    "v21-heads": """Appendix A.6.3: Does training still work with several attention heads, and do neurons learn all of
        them?""",
    "v22-skip": "Appendix A.6.4: Does training still work with a skip connection?",
    "v22-normalisation": """Appendix A.6.4: Does normalising the tokens, to unit norm or by layer norm, change the
        training?""",
    "e1-initialisation": "Section 2.4: How do the initialisations that the paper names compare?",
}
"""Where each experiment stands in the paper, and what it asks."""
TINY = {
    **{"tokens": 10, "neurons": 16, "samples": 16, "test_samples": 16, "batch": 0},
    **{"steps": 20, "records": 21, "record_every": 1, "track": "neurons"},
}
"""The one set of sizes of every smoke preset; from 14 to 16 samples share their programs."""
FINE = {"test_samples": 1000}
WIDE = {**FINE, "neurons": 1000}
"""A finer estimate of the risk, and the same at the width of the paper."""

asks = lm.asking(ASKED, kind=Setting, simulation=simulate, tiny=TINY, seeds=3, paper=WIDE)
initial = partial(asks, simulation=measure_initial, paper=None)


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
SETS = {"member_cosine": "v20-patterns-direction", "test_hinge": "v20-patterns-risk"}
SKIP = {"test_hinge": "v22-skip-risk"}
"""Variable -> the claim whose level is drawn."""
FEW_CELLS = {**fraction_axis(0.30, 0.40), **samples_axis(14, 16)}
PAPER_FRACTIONS = fraction_axis(0.30, 0.32, 0.34, 0.36, 0.38, 0.40, 0.44, 0.48)
WITH_ATTENTION: dict[str, Any] = {**ATTENTION, "smoke": {"track": "attention"}}


def sample_map(name: str, power: int, who: str, setting: dict[str, Any]) -> lm.Experiment:
    """Success over (α_*, N), beside the paper's law N ∝ α_*^-power."""
    return asks(name, partial(samples.sample_map, power=power, who=who), seeds=10)(
        setting,
        **fraction_axis(0.30, 0.32, 0.34, 0.36, 0.40, 0.48),
        **samples_axis(2, 4, 8, 16, 32, 64, 128),
        smoke=FEW_CELLS,
        paper={**WIDE, "tokens": 100, **PAPER_FRACTIONS, **samples_axis(2, 4, 8, 16, 32, 64, 128, 256)},
    )


EXPERIMENTS = (
    asks("v1-zero-risk", samples.zero_risk, seeds=20)(
        {"neurons": 200, "test_samples": 1000},
        variant={
            "shared": {**RISK["shared"], "samples": 16, "batch": 0, "record_every": 1},
            "per_token": {**RISK["per_token"], "samples": 256, "batch": 64, "record_every": 10},
        },
        label_order=["true", "shuffled"],
        smoke={"variant": RISK},
        paper={"neurons": 1000},
    ),
    sample_map("f1a-samples", 2, "attention trained", F1),
    sample_map("f3-samples-frozen", 4, "attention frozen", {**F1, "train_attention": 0}),
    asks("f1a-samples-shared", samples.shared, seeds=5)(
        {**F1, "output": "shared", "step_size": 0.3},
        **fraction_axis(0.32, 0.36, 0.48),
        **samples_axis(2, 8, 32),
        **ATTENTION,
        smoke=FEW_CELLS,
        paper={**WIDE, "tokens": 100},
    ),
    asks("f1b-sigma", partial(samples.initial_error, error="value_error"))(
        {**F1, "relevant_fraction": 0.3, "confusion_fraction": 0.2},
        value_error=[0.0, 0.2, 0.6],
        value_error_law=["random", "confuse"],
        **samples_axis(32, 64, 128, 256),
        smoke={"value_error": [0.0, 0.6], **samples_axis(14, 16)},
        paper={**WIDE, "value_error": [0.0, 0.1, 0.2, 0.4, 0.6, 0.8], **samples_axis(8, 16, 32, 64, 128, 256)},
    ),
    asks("v7-samples", partial(samples.initial_error, error="attention_error"))(
        F1,
        attention_error=[0.0, 0.2, 0.4],
        **samples_axis(8, 16, 32, 64, 128),
        smoke=samples_axis(14, 16),
        paper={**WIDE, **samples_axis(4, 8, 16, 32, 64, 128, 256)},
    ),
    asks("v6-token-noise", samples.token_noise, seeds=7)(
        {**F1, "step_size": 1.0, "normalise": "yes"}, token_noise=[0.01, 0.1, 0.2, 0.3], paper=FINE
    ),
    asks("f5-sparsification", samples.sparsification, seeds=8)(
        F5,
        keep=[1.0, 0.8, 0.7],
        strategy=["random", "irrelevant", "noisy", "attention", "relevant"],
        paper={**FINE, "keep": [1.0, 0.9, 0.8, 0.7, 0.65], "strategy": list(STRATEGIES)},
    ),
    asks("f2-iterations", samples.iterations, seeds=5)(
        F2,
        relevant_fraction=[0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8],
        variant=VARIANTS,
        **ATTENTION,
        smoke={"relevant_fraction": [0.15, 0.4, 0.8]},
        paper={**WIDE, "tokens": 100, "samples": 100},
    ),
    asks("f2-step-size", samples.step_size, seeds=5)(
        {**F2, "relevant_fraction": 0.4, "confusion_fraction": 0.1, "samples": 20},
        variant=STEP_SIZES,
        paper={**WIDE, "tokens": 100},
    ),
    asks("v7-initial-model", samples.initial_model, seeds=5)(
        {**V7, "samples": 24},
        value_error=[0.0, 0.2, 0.4, 0.6],
        value_error_law=["confuse", "random"],
        attention_error=[0.2, 0.0, 0.4],
    ),
    asks("f4-attention", dynamics.concentration)(F4, variant=VARIANTS, **ATTENTION, paper=FINE),
    asks("v8-losses", dynamics.losses)(
        {**F4, "neurons": 200, "steps": 1000, "record_every": 10},
        loss={
            "hinge margin 1": {"loss": "hinge", "margin": 1.0},
            "hinge margin 10": {"loss": "hinge", "margin": 10.0},
            "logistic": {"loss": "logistic", "margin": 1.0},
        },
        **ATTENTION,
    ),
    initial("v24-initial-attention", dynamics.initial_bounds, seeds=20)(
        {"samples": 20, "noise_law": "ball", "normalise": "yes", "neurons": 50},
        variant={**DIRECTIONS, "counter-example": counter_example()},
    ),
    asks("dynamics", dynamics.dynamics)(
        {"track": "neurons"},
        variant={**FULL_BATCH, "shared-b20": {**VARIANTS["shared"], "batch": 20}},
        **ATTENTION,
        smoke={"variant": {**FULL_BATCH, "shared-b20": {**VARIANTS["shared"], "batch": 4}}},
    ),
    asks("v25-cross", lm.show("query_features"), seeds=20)(
        {"track": "neurons"}, variant={"shared": FULL_BATCH["shared"]}, **ATTENTION
    ),
    initial("v10-lucky-sets", dynamics.lucky_sets)({"neurons": 1000}, defect=["none", "shifted"]),
    asks("v19-multiclass", variants.multiclass)({**widths(12), **CLASSES}, smoke={"track": "loss"}, paper=FINE),
    asks("v20-patterns", lm.show("concentration", "test_hinge", "member_cosine", levels=SETS))(
        {**VARIED, **widths(20), "members": 2, "member_shares": [[0.7, 0.3]] * 5}, **WITH_ATTENTION
    ),
    asks("v21-heads", lm.show("alignment", "test_hinge", "reached_step", levels=HEADS))(
        {**VARIED, "track": "neurons"}, heads=[1, 2, 4], smoke={"heads": [1, 2]}
    ),
    asks("v22-skip", lm.show("train_loss", "concentration", "test_hinge", levels=SKIP))(
        {**VARIED, "skip": True}, **WITH_ATTENTION
    ),
    asks("v22-normalisation", lm.show("reached_step", "test_hinge"))(
        VARIED, normalise=["no", "yes", "layer"], variant={"plain": {"skip": False}, "skip": {"skip": True}}
    ),
    asks("e1-initialisation", variants.initialisations)(
        {"track": "attention"},
        variant={
            "assumption": {},
            "free queries": {"free_queries": True},
            "spectral clipping": {"clip_spectral": True},
            "balanced signs": {"balanced_signs": True},
            "ξ = 1/√m": {"output_rule": "inv_sqrt_m"},
            "ξ = 1/√M": {"output_rule": "inv_sqrt_M"},
            "average pooling": {"uniform_attention": True, "train_attention": 0},
            "as printed": {"init": "literal"},
        },
    ),
    *images.EXPERIMENTS,
)

"""Training on the chapter's graph: width, iterations, the oracle sampler, the proof's quantities, the known core."""

from __future__ import annotations

from typing import Any

from lemmata.theories.graph_transformer import figures
from lemmata.theories.graph_transformer.confusion import simulate_sampler
from lemmata.theories.graph_transformer.deviations import simulate_batches
from lemmata.theories.graph_transformer.experiments.common import RECORDS, SLOW, experiment, over_cases

ETAS, NOISES, ERRORS = (0.4, 0.2, 0.1, 0.05), (0.05, 0.1, 0.2), (0.0, 0.1, 0.4)
COMMON = "eta=0.2"
"""The cell that the three axes of p2-step share: η = .2, ε_0 = 0, δ = .2."""
STEP_SEEDS = 20
"""Seeds of p2-step, more than the register's five: with those the intervals of two exponents are as wide as the claimed
range, so that no data could confirm it."""
BUDGET = 60
"""η T at which a run of p2-step is given up."""


def step_cases() -> dict[str, dict[str, float]]:
    cases = {f"eta={eta:g}": {"step_size": eta, "steps": round(BUDGET / eta)} for eta in ETAS}
    cases |= {f"eps_0={noise:g}": {**cases[COMMON], "label_noise": noise} for noise in NOISES}
    return cases | {f"delta={error:g}": {**cases[COMMON], "key_error": error} for error in ERRORS}


PREFERENCES = {
    f"beta={beta}": {"preference": value}
    for beta, value in (("1", 1.0), ("3", 3.0), ("10", 10.0), ("1/3", 1 / 3), ("1/10", 0.1))
}
SAMPLERS = {
    **{label: {**fields, "draw": "biased"} for label, fields in PREFERENCES.items()},
    "beta=10, apart": {"preference": 10.0, "draw": "biased_apart"},
}
VARIANTS = {
    "intact": {"steps": 600},
    "margin 10": {"steps": 600, "margin": 10.0},
    "frozen": {"steps": 600, "train_qk": 0, "train_b": 0},
    "frozen, margin 10": {"steps": 600, "train_qk": 0, "train_b": 0, "margin": 10.0},
    "frozen values": {"steps": 300, "train_v": 0},
    "only head": {"steps": 300, "train_qk": 0, "train_b": 0, "train_v": 0},
    "permuted": {"steps": 600, "defect": "labels"},
    "literal init": {"steps": 300, "init": "literal"},
}
MODELS = {
    "GT+PE": {"model": "gt"},
    "no PE": {"model": "no_pe"},
    "GT core": {"model": "no_pe", "shells": "core"},
    "GCN core": {"model": "gcn", "shells": "core"},
    "GCN": {"model": "gcn"},
    "permuted": {"model": "gt", "defect": "distances"},
}
CHOICES: dict[str, dict[str, Any]] = {
    "as usual": {},
    "whole graph": {"shells": "whole"},
    "all candidates": {"draw": "all"},
    "by strata": {"draw": "stratified", "per_shell": 25, "extra": 10},
    "by the encoding": {"draw": "encoding"},
    "GCN frozen at its start": {"model": "frozen_init", "shells": "core"},
    "exact initial weights": {"init": "identity"},
    "Gaussian initial weights": {"init": "gaussian"},
    "W_O scaled by rows": {"row_norm": True},
    "W_O trained first": {"pretraining": 100},
}
"""What the document leaves open or mentions in passing: samplers (section 4), initial weights (3.2), (B.66), (9.8)."""
TEN_TIMES = {"steps": lambda steps: 10 * steps}

EXPERIMENTS = (
    experiment(
        "p1-width", "Theorem 3.4.4", "How wide must the hidden layer be?", figures.width,
        {"records": RECORDS, "record_every": 50}, {"neurons": [1, 4, 20, 50, 100, 400]}, 5,
        smoke={"neurons": [1, 4, 12]}, paper={**SLOW, "steps": 3000, "record_every": 500},
    ),
    experiment(
        "p2-step", "(3.8)", "How do the iterations depend on the step size, the label noise and the initial error?",
        figures.steps,
        {"nodes": 300, "degree": 36, "sample": 40, "neurons": 100, "labelled": 300, "batch": 0, "fresh_samples": False,
         "test_draws": 1, "record_every": 1, "records": 1201, "stop": "trained"},
        {"case": step_cases()}, STEP_SEEDS,
        smoke={"labelled": 80, "batch": 0, "record_every": 1, "case": over_cases(step_cases(), steps=4)},
    ),
    experiment(
        "p6-sampler", "Remark 2", "What does a sampler gain that prefers class-relevant nodes?", figures.sampler,
        {"confusion": 0.2, "shells": "core", "model": "no_pe", "records": RECORDS, "stop": "reached"},
        {"case": SAMPLERS}, 3, paper={**SLOW, "steps": 3000}, simulation=simulate_sampler,
    ),
    experiment(
        "p7-training", "Lemmas 3.4.5, B.3.1 - B.3.6", "What do attention, keys, values and neurons learn?",
        figures.training, {"track": "proof", "records": RECORDS}, {"variant": VARIANTS}, 3,
        smoke={"variant": over_cases(VARIANTS, steps=4)},
        paper={**SLOW, "variant": over_cases(VARIANTS, **TEN_TIMES)}, paper_seeds=5,
    ),
    experiment(
        "p10-known-core", "Theorem 3.4.8", "Is training with the encoding as good as knowing the core distance?",
        figures.known_core, {"steps": 400, "records": RECORDS}, {"model": MODELS}, 3,
        paper={**SLOW, "steps": 4000}, paper_seeds=5,
    ),
    experiment(
        "p10-variants", "sections 3.2, 3.3, 4", "What do other samplers, initial weights and models do?",
        figures.variants, {"steps": 400, "records": RECORDS}, {"case": CHOICES}, 3, paper={**SLOW, "steps": 4000},
        paper_seeds=5,
    ),
    experiment(
        "p16-batch", "(B.63)", "How far does a batch gradient lie from the mean one?", figures.batches,
        {"steps": 150, "records": RECORDS, "record_every": 50, "test_draws": 1}, {}, 3,
        paper={**SLOW, "steps": 1500, "record_every": 500}, paper_seeds=10, simulation=simulate_batches,
    ),
)  # fmt: skip

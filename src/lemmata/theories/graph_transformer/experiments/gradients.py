"""Gradients of batches (P16)."""

from __future__ import annotations

from lemmata.theories.graph_transformer.experiments.presets import RECORDS, SLOW, experiment
from lemmata.theories.graph_transformer.figures import gradients as figures
from lemmata.theories.graph_transformer.studies.batch_gradients import simulate_batches

EXPERIMENTS = (
    experiment(
        "p16-batch",
        reference="(B.63)",
        question="How far does a batch gradient lie from the mean one?",
        plot=figures.batches,
        setting={"steps": 150, "records": RECORDS, "record_every": 50, "test_draws": 1},
        paper={**SLOW, "steps": 1500, "record_every": 500},
        paper_seeds=10,
        simulation=simulate_batches,
    ),
)

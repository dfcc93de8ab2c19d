"""What is learnt: the default run (P1, P6 to P10, P12 to P15), figures 6.1 and 6.2, lucky neurons, heads, classes."""

from __future__ import annotations

from lemmata.theories.icl.experiments.common import ATTENTION, experiment
from lemmata.theories.icl.figures import mechanism as figures
from lemmata.theories.icl.figures import patterns
from lemmata.theories.icl.illustration import illustrate
from lemmata.theories.icl.initial import draw_lucky

_LONG = {"20": {"test_contexts": 20, "test_prompts": 10_000}, "60": {"test_contexts": 60, "test_prompts": 2400}}

EXPERIMENTS = (
    experiment(
        "p1-default",
        "Theorem 6.3.3, Propositions 6.4.1 and 6.4.5, Theorem 6.3.7",
        "Does the network solve tasks that it has not been trained on, and what has it learnt?",
        figures.default,
        {"steps": 600, "track": "proof", "moments": "register"},
        {
            "variant": {
                "intact": {},
                "frozen": {"train_attention": 0},
                "shuffled": {"labels": "shuffled"},
                "include_query": {"include_query": True},
                "1/sqrt(m)": {"a_scale": "1/sqrt(m)", "steps": 500},
            }
        },
        8,
        smoke={
            "variant": {
                "intact": {},
                "frozen": {"train_attention": 0},
                "shuffled": {"labels": "shuffled"},
                "1/sqrt(m)": {"a_scale": "1/sqrt(m)"},
            }
        },
        paper={"steps": 1500},
    ),
    experiment(
        "p6-patterns",
        "Proposition 6.4.1, Corollary 6.4.3",
        "How do the entries of task partners and the attention depend on the number of patterns?",
        patterns.patterns,
        {"steps": 1200},
        {"relevant_patterns": {m: {"patterns": m, "irrelevant": 30 - m, "batch": 20 * m} for m in (6, 12, 20)}},
        3,
        smoke={"relevant_patterns": {m: {"patterns": m, "irrelevant": 12 - m} for m in (4, 6)}},
        paper_seeds=5,
    ),
    experiment(
        "f61-prompt",
        "Figure 6.1",
        "What does the trained network do with one short prompt?",
        figures.prompt,
        {"steps": 600},
        {},
        1,
        paper_seeds=1,
        simulation=illustrate,
    ),
    experiment(
        "f62-mechanism",
        "Figure 6.2",
        "How do attention, its projections and the neurons change along training?",
        figures.growth,
        {"steps": 800, "track": "mechanism", "record_every": 2, "records": 401},
        {},
        3,
        smoke={"records": 7},
        paper={"steps": 1600, "record_every": 4},
    ),
    experiment(
        "p11-lucky",
        "Lemma E.4.9",
        "How many neurons of a random network are lucky for a prompt?",
        figures.lucky,
        {},
        {},
        200,
        paper_seeds=1000,
        simulation=draw_lucky,
    ),
    experiment(
        "p17-heads",
        "E.2.2",
        "Does every one of two heads concentrate?",
        figures.heads,
        {"steps": 600, "heads": 2},
        {
            "start": {
                "independent": {},
                "equal": {"equal_heads": True},
                "frozen": {"train_attention": 0},
            }
        },
        8,
        paper={"steps": 1500},
    ),
    experiment(
        "p18-classes",
        "E.2.3",
        "Does the mechanism work with two patterns in each class?",
        figures.classes,
        {"steps": 1000, "class_size": 2},
        {"attention": ATTENTION, "test": _LONG},
        8,
        smoke={"test": {"20": {"test_contexts": 6}, "60": {"test_contexts": 8}}},
        paper={"steps": 1500},
    ),
)

"""What is learnt: the default run (P1, P6 to P10, P12 to P15) and figure 6.2."""

from __future__ import annotations

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import mechanism as figures

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
                "shuffled": {"label_order": "shuffled"},
                "include_query": {"include_query": True},
                "1/sqrt(m)": {"a_scale": "1/sqrt(m)", "steps": 500},
            }
        },
        8,
        smoke={
            "variant": {
                "intact": {},
                "frozen": {"train_attention": 0},
                "shuffled": {"label_order": "shuffled"},
                "1/sqrt(m)": {"a_scale": "1/sqrt(m)"},
            }
        },
        paper={"steps": 1500},
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
)

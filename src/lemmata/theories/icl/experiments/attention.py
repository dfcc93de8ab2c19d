"""What attention learns, by the number of patterns (Proposition 6.4.1, Corollary 6.4.3)."""

from __future__ import annotations

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import attention as figures

EXPERIMENTS = (
    experiment(
        "p6-patterns",
        "Proposition 6.4.1, Corollary 6.4.3",
        "How do the entries of task partners and the attention depend on the number of patterns?",
        figures.patterns,
        {"steps": 1200},
        {"relevant_patterns": {m: {"patterns": m, "irrelevant": 30 - m, "batch": 20 * m} for m in (6, 12, 20)}},
        3,
        smoke={"relevant_patterns": {m: {"patterns": m, "irrelevant": 12 - m} for m in (4, 6)}},
        paper_seeds=5,
    ),
)

"""Lucky neurons of a random network (P11)."""

from __future__ import annotations

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import neurons as figures
from lemmata.theories.icl.studies.lucky import draw_lucky

EXPERIMENTS = (
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
)

"""What the trained network does with one prompt (figure 6.1)."""

from __future__ import annotations

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import prompt as figures
from lemmata.theories.icl.studies.prompt import illustrate

EXPERIMENTS = (
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
)

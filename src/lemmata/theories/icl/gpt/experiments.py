"""The experiments of the GPT-2-style model: figures 6.3(A) and 6.3(B). No claim reads them."""

from __future__ import annotations

import functools

import lemmata as lm
from lemmata.theories.icl.experiments import TINY_PROMPTS
from lemmata.theories.icl.gpt import figures
from lemmata.theories.icl.gpt.setting import GptSetting
from lemmata.theories.icl.gpt.training import contexts_gpt, shift_gpt

experiment = functools.partial(
    lm.experiment,
    kind=GptSetting,
    setting={"steps": 600, "record_every": 150, "records": 5, "test_prompts": 1200},
    seeds=2,
    tiny={**TINY_PROMPTS, "width": 8, "blocks": 2, "heads": 2},
    smoke={"record_every": 3},
    paper={"steps": 10_000, "record_every": 2500, "test_prompts": 2400},
    paper_seeds=5,
)

EXPERIMENTS = (
    experiment(
        "f63a-gpt-shift",
        reference="Theorem 6.3.4, Figure 6.3(A)",
        question="Does a GPT-2-style model work on new patterns, by their coefficient sum S_1 and by the amplitude K'?",
        simulation=shift_gpt,
        plot=figures.shift,
    ),
    experiment(
        "f63b-gpt-contexts",
        reference="Theorem 6.3.3, Figure 6.3(B)",
        question="How long must a prompt be for a GPT-2-style model that has been trained at one length only?",
        simulation=contexts_gpt,
        plot=figures.contexts,
    ),
)

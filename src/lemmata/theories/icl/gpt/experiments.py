"""The experiments of the GPT-2-style model: figures 6.3(A) and 6.3(B). No claim reads them."""

from __future__ import annotations

from typing import Any

from lemmata.theories.icl.experiments import TINY, experiment
from lemmata.theories.icl.gpt import figures
from lemmata.theories.icl.gpt.setting import GptSetting
from lemmata.theories.icl.gpt.training import contexts_gpt, shift_gpt

_QUICK = {"steps": 600, "record_every": 150, "records": 5, "test_prompts": 1200}
_MODEL: dict[str, Any] = {
    "smoke": {"record_every": 3},
    "paper": {"steps": 10_000, "record_every": 2500, "test_prompts": 2400},
    "paper_seeds": 5,
    "kind": GptSetting,
    "tiny": {**TINY, "width": 8, "blocks": 2, "heads": 2},
}

EXPERIMENTS = (
    experiment(
        "f63a-gpt-shift",
        "Theorem 6.3.4, Figure 6.3(A)",
        "Does a GPT-2-style model work on new patterns, by their coefficient sum S_1 and by the amplitude K'?",
        figures.shift,
        _QUICK,
        {},
        2,
        simulation=shift_gpt,
        **_MODEL,
    ),
    experiment(
        "f63b-gpt-contexts",
        "Theorem 6.3.3, Figure 6.3(B)",
        "How long must a prompt be for a GPT-2-style model that has been trained at one length only?",
        figures.contexts,
        _QUICK,
        {},
        2,
        simulation=contexts_gpt,
        **_MODEL,
    ),
)

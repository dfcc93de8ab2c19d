"""What happens along training, step by step (V8 to V15, V25)."""

from __future__ import annotations

from lemmata.theories.vit.experiments import ATTENTION, VARIANTS, experiment
from lemmata.theories.vit.figures import dynamics as figures

_DYNAMICS_VARIANTS = {
    **{k: {**v, "batch": 0} for k, v in VARIANTS.items()},
    "shared-b20": {**VARIANTS["shared"], "batch": 20},
}
_DYNAMICS_SMOKE = {**_DYNAMICS_VARIANTS, "shared-b20": {**VARIANTS["shared"], "batch": 4}}

EXPERIMENTS = (
    experiment(
        "dynamics",
        "Proposition 2, Lemma A.3.1",
        "What happens to loss, attention, features and neurons along training, step by step?",
        figures.dynamics,
        {"track": "neurons"},
        {"variant": _DYNAMICS_VARIANTS, "attention": ATTENTION},
        3,
        {"neurons": 1000, "test_samples": 1000},
        smoke_axes={"variant": _DYNAMICS_SMOKE},
    ),
)

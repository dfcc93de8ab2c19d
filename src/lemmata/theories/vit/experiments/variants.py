"""General data (V19, V20), other networks (V21, V22) and other initialisations (errata E1, E2)."""

from __future__ import annotations

import lemmata as lm
from lemmata.theories.vit.experiments.presets import ATTENTION, WIDE, experiment
from lemmata.theories.vit.figures import variants as figures

_ATTENTION = {"track": "attention"}
_SMALL = {"tokens": 40, "samples": 60, **_ATTENTION}
_CLASSES = {"classes": 4, "patterns": 7, "tokens": 40}


def _widths(width: int) -> dict[str, int]:
    """d = m_a = m_b."""
    return {"dimension": width, "value_width": width, "key_width": width}


EXPERIMENTS = (
    experiment(
        "v19-multiclass",
        reference="Appendix A.6.1, (A.217)-(A.224)",
        question="Do the neurons of each of four classes learn the pattern of their class?",
        plot=figures.multiclass,
        setting={**_widths(12), **_CLASSES, "samples": 80, "neurons": 400, "steps": 400, "records": 401},
        seeds=3,
        smoke={"track": "loss"},
        paper={"test_samples": 1000},
    ),
    experiment(
        "v20-patterns",
        reference="Appendix A.6.2",
        question="Does training still work when every pattern is a set of nearby vectors?",
        plot=figures.pattern_sets,
        setting={**_SMALL, **_widths(20), "members": 2, "member_shares": [[0.7, 0.3]] * 5},
        axes={"attention": ATTENTION},
        seeds=3,
        smoke=_ATTENTION,
        paper=WIDE,
    ),
    experiment(
        "v21-heads",
        reference="Appendix A.6.3",
        question="Does training still work with several attention heads, and do neurons learn all of them?",
        plot=lm.show(
            "alignment",
            "test_hinge",
            "reached_step",
            levels={"alignment": "v21-heads-alignment", "test_hinge": "v21-heads-risk"},
        ),
        setting={**_SMALL, "track": "neurons"},
        axes={"heads": [1, 2, 4]},
        seeds=3,
        smoke={"heads": [1, 2]},
        paper=WIDE,
    ),
    experiment(
        "v22-skip",
        reference="Appendix A.6.4",
        question="Does training still work with a skip connection?",
        plot=figures.skip,
        setting={**_SMALL, "skip": True},
        axes={"attention": ATTENTION},
        seeds=3,
        smoke=_ATTENTION,
        paper=WIDE,
    ),
    experiment(
        "v22-normalisation",
        reference="Appendix A.6.4",
        question="Does normalising the tokens, to unit norm or by layer norm, change the training?",
        plot=lm.show("reached_step", "test_hinge"),
        setting=_SMALL,
        axes={"normalise": ["no", "yes", "layer"], "variant": {"plain": {"skip": False}, "skip": {"skip": True}}},
        seeds=3,
        paper=WIDE,
    ),
    experiment(
        "e1-initialisation",
        reference="Section 2.4, errata E1 and E2",
        question="How do the initialisations that the paper names compare?",
        plot=figures.initialisations,
        setting={"track": "attention"},
        axes={
            "variant": {
                "assumption": {},
                "free queries": {"free_queries": True},
                "spectral clipping": {"clip_spectral": True},
                "balanced signs": {"balanced_signs": True},
                "ξ = 1/√m": {"output_rule": "inv_sqrt_m"},
                "ξ = 1/√M": {"output_rule": "inv_sqrt_M"},
                "average pooling": {"uniform_attention": True, "train_attention": 0},
                "as printed": {"init": "literal"},
            }
        },
        seeds=3,
        paper=WIDE,
    ),
)

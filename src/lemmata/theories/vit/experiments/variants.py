"""General data (V19, V20), other networks (V21, V22) and other initialisations (errata E1, E2)."""

from __future__ import annotations

from lemmata.theories.vit.experiments import ATTENTION, experiment
from lemmata.theories.vit.figures import variants as figures

_WIDE = {"dimension": 12, "value_width": 12, "key_width": 12, "patterns": 7}
_VARIANT = {"tokens": 40, "samples": 60, "track": "attention"}
_PAPER = {"neurons": 1000, "test_samples": 1000}

EXPERIMENTS = (
    experiment(
        "v19-multiclass",
        "Appendix A.6.1, (A.217)-(A.224)",
        "Do the neurons of each of four classes learn the pattern of their class?",
        figures.multiclass,
        {
            **_WIDE,
            "classes": 4,
            "tokens": 40,
            "relevant_fraction": 0.4,
            "confusion_fraction": 0.1,
            "samples": 80,
            "neurons": 400,
            "steps": 400,
            "records": 401,
        },
        {},
        3,
        {"test_samples": 1000},
    ),
    experiment(
        "v20-patterns",
        "Appendix A.6.2",
        "Does training still work when every pattern is a set of nearby vectors?",
        figures.pattern_sets,
        {
            **_VARIANT,
            "dimension": 20,
            "value_width": 20,
            "key_width": 20,
            "members": 2,
            "member_shares": [[0.7, 0.3]] * 5,
        },
        {"attention": ATTENTION},
        3,
        _PAPER,
    ),
    experiment(
        "v21-heads",
        "Appendix A.6.3",
        "Does training still work with several attention heads, and do neurons learn all of them?",
        figures.heads,
        {**_VARIANT, "track": "neurons"},
        {"heads": [1, 2, 4]},
        3,
        _PAPER,
    ),
    experiment(
        "v22-skip",
        "Appendix A.6.4",
        "Does training still work with a skip connection?",
        figures.skip,
        {**_VARIANT, "skip": True},
        {"attention": ATTENTION},
        3,
        _PAPER,
    ),
    experiment(
        "v22-normalisation",
        "Appendix A.6.4",
        "Does normalising the tokens, to unit norm or by layer norm, change the training?",
        figures.normalisation,
        _VARIANT,
        {"normalise": ["no", "yes", "layer"], "variant": {"plain": {"skip": False}, "skip": {"skip": True}}},
        3,
        _PAPER,
    ),
    experiment(
        "e1-initialisation",
        "Section 2.4, errata E1 and E2",
        "How do the initialisations that the paper names compare?",
        figures.initialisations,
        {"track": "attention"},
        {
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
        3,
        _PAPER,
    ),
)

"""The figures of the experiments, by topic: the measurement, and the paper's prediction beside it."""

from lemmata.lab.figures import BLUE, ORANGE

VARIANT_NAMES = {"shared": "shared signs", "per_token": "per-token signs", "shared-b20": "shared signs, B = 20"}
ATTENTION_COLORS = {"trained": BLUE, "frozen": ORANGE}
SIGNS = {"plus": "+", "minus": "−"}
"""How the two classes, or the two groups of lucky neurons, are written."""

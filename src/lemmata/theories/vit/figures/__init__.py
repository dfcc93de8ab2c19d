"""The figures of the experiments, by topic: the measurement, and the paper's prediction beside it."""

from lemmata import figures as draw

VARIANT_NAMES = {"shared": "shared signs", "per_token": "per-token signs", "shared-b20": "shared signs, B = 20"}
ATTENTION_COLORS = {"trained": draw.BLUE, "frozen": draw.RED}
TIME = "training step $t$"
UP_TO = f"{TIME}, up to $T_0$"
SUCCESS = "paper: 0 (success below 0.001)"

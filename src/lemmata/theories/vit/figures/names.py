"""Words and colours that the figures of this theory share."""

from __future__ import annotations

from lemmata.lab.figures import BLUE, ORANGE

MODE_NAMES = {"shared": "shared signs", "per_token": "per-token signs", "shared-b20": "shared signs, B = 20"}
ATTENTION_COLORS = {"trained": BLUE, "frozen": ORANGE}

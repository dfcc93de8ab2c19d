"""The setting of the hand-made graph: the label of its node."""

from __future__ import annotations

import lemmata as lm


class HandSetting(lm.Setting):
    """The hand-made graph; its node's label is +1, or -1 for the control."""

    label: int = lm.choice(1, "label of the node", 1, -1, symbol="y_n")

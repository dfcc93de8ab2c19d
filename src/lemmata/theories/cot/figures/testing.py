"""On testing prompts."""

from __future__ import annotations

import lemmata as lm

lengths = mechanism = noise = span = alpha_one = blind = condition = lm.show("icl_error")
required = lm.show("voter_error")
example = lm.show("icl_voter_error")

"""The claims register, by topic. What the paper gets wrong stands beside its corrected twin."""

from lemmata.theories.teacher_student.claims import (
    escape,
    gaussian,
    late,
    online,
    pattern,
    proof,
    sequences,
    value_scale,
)

CLAIMS = (
    *pattern.CLAIMS,
    *proof.CLAIMS,
    *value_scale.CLAIMS,
    *escape.CLAIMS,
    *late.CLAIMS,
    *gaussian.CLAIMS,
    *sequences.CLAIMS,
    *online.CLAIMS,
)

"""The claims register, by topic. What the document gets wrong stands beside its corrected twin."""

from lemmata.theories.teacher_student.claims import (
    algebra,
    escape,
    late,
    lemmas,
    mnist,
    online,
    pattern,
    sequences,
    steps,
    transfer,
)

CLAIMS = (
    *pattern.CLAIMS,
    *steps.CLAIMS,
    *algebra.CLAIMS,
    *escape.CLAIMS,
    *late.CLAIMS,
    *transfer.CLAIMS,
    *lemmas.CLAIMS,
    *sequences.CLAIMS,
    *online.CLAIMS,
    *mnist.CLAIMS,
)

"""The claims register, by topic. Outcomes that the specification expects to fail stand beside their corrected twins."""

from lemmata.theories.icl.claims import attention, contexts, iterations, neurons, shift, tasks, variants

CLAIMS = (
    *tasks.CLAIMS,
    *iterations.CLAIMS,
    *contexts.CLAIMS,
    *shift.CLAIMS,
    *attention.CLAIMS,
    *neurons.CLAIMS,
    *variants.CLAIMS,
)

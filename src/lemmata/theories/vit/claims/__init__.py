"""The claims register, by topic. Outcomes that the specification expects to fail stand beside their corrected twins."""

from lemmata.theories.vit.claims import attention, iterations, risk, samples

CLAIMS = (*risk.CLAIMS, *samples.CLAIMS, *iterations.CLAIMS, *attention.CLAIMS)

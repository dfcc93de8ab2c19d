"""The claims register, by topic. Outcomes that the specification expects to fail stand beside their corrected twins."""

from lemmata.theories.vit.claims import (
    algebra,
    attention,
    chance,
    features,
    images,
    iterations,
    neurons,
    risk,
    samples,
    variants,
)

CLAIMS = (
    *risk.CLAIMS,
    *samples.CLAIMS,
    *iterations.CLAIMS,
    *attention.CLAIMS,
    *neurons.CLAIMS,
    *features.CLAIMS,
    *variants.CLAIMS,
    *images.CLAIMS,
    *algebra.CLAIMS,
    *chance.CLAIMS,
)

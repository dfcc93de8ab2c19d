"""The experiments (section 7, claims register) by topic: settings, axes and seeds at `smoke`, `quick`, `paper` size."""

from lemmata.theories.vit.experiments import dynamics, iterations, samples, variants
from lemmata.theories.vit.images.experiments import EXPERIMENTS as IMAGES

EXPERIMENTS = (
    *samples.EXPERIMENTS,
    *iterations.EXPERIMENTS,
    *dynamics.EXPERIMENTS,
    *variants.EXPERIMENTS,
    *IMAGES,
)

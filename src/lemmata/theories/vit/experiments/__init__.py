"""The experiments (section 7, claims register), by topic."""

from lemmata.theories.vit.experiments import attention, dynamics, iterations, samples, variants
from lemmata.theories.vit.images import experiments as images

TOPICS = (samples, iterations, attention, dynamics, variants, images)
EXPERIMENTS = tuple(experiment for topic in TOPICS for experiment in topic.EXPERIMENTS)

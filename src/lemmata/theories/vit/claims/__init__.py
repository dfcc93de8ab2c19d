"""The claims register, by topic. Outcomes that the specification expects to fail stand beside their corrected twins.

Those of the headline theorem are in `theorem`, those on images in `images.claims`.
"""

from lemmata.theories.vit import theorem
from lemmata.theories.vit.claims import dynamics, iterations, neurons, samples, variants
from lemmata.theories.vit.images import claims as images

TOPICS = (theorem, samples, iterations, dynamics, neurons, variants, images)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)

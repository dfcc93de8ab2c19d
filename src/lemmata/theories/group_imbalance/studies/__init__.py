"""Other simulations of the same setting, host work in float64: limits, success maps, spectra, derivatives, tensors."""

from functools import partial

import lemmata as lm

study = partial(lm.simulation, host=True, precision="float64")

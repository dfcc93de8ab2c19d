"""Other simulations of the same setting: limits, success maps, exact spectra, concentration, tensor starts."""

"""Other simulations of the same setting: `initial`, what holds before any training."""

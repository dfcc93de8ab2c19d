"""Other simulations of the same setting: random networks, Monte Carlo, moved weights, the calculators."""

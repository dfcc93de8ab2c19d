"""Other simulations of the same setting, one file each."""

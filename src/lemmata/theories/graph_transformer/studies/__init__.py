"""Other simulations of the same setting, one file each: what they measure beside or instead of training."""

"""Experiment E4 of the paper: a convolution layer trained on handwritten digits teaches a position-only student."""

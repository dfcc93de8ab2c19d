"""Experiment E4 of the document: a convolution layer trained on handwritten digits teaches a position-only student."""

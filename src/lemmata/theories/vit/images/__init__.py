"""Experiment F6 of the paper: a deep vision transformer on real images over textured backgrounds."""

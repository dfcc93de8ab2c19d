"""Experiment F6 of the document: a deep vision transformer on real images over textured backgrounds."""

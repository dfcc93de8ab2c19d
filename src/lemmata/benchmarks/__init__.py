"""Side-by-side measurements against what a user would pick instead; part of the package so that `lemmata bench` works."""

from lemmata.benchmarks.ensemble import ensemble

BENCHMARKS = {"ensemble": ensemble}

"""Side-by-side measurements against what a user would pick instead, installed so that `lemmata bench` works."""

from lemmata.benchmarks.ensemble import ensemble

BENCHMARKS = {"ensemble": ensemble}

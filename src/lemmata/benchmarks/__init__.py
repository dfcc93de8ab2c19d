"""Side-by-side measurements against what a user would pick instead, installed so that `lemmata bench` works."""

from lemmata.benchmarks.ensemble import ensemble
from lemmata.benchmarks.layout import layout

BENCHMARKS = {"ensemble": ensemble, "layout": layout}

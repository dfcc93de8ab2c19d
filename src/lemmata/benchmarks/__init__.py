"""Side-by-side measurements against what a user would pick instead, installed so that `lemmata bench` works."""

from lemmata.benchmarks.ensemble import ensemble
from lemmata.benchmarks.kernel import kernel
from lemmata.benchmarks.layout import layout

BENCHMARKS = {"ensemble": ensemble, "kernel": kernel, "layout": layout}

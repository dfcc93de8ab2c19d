"""Side-by-side measurements against what a user would pick instead, installed so that `lemmata bench` works."""

from lemmata.benchmarks.cells import cells
from lemmata.benchmarks.compile import compile_programs
from lemmata.benchmarks.coverage import coverage
from lemmata.benchmarks.distances import distances
from lemmata.benchmarks.divided import divided
from lemmata.benchmarks.ensemble import ensemble
from lemmata.benchmarks.kernel import kernel
from lemmata.benchmarks.layout import layout
from lemmata.benchmarks.recursion import recursion
from lemmata.benchmarks.scaling import scaling
from lemmata.benchmarks.start import start
from lemmata.benchmarks.threshold import threshold

BENCHMARKS = {
    "cells": cells,
    "compile": compile_programs,
    "coverage": coverage,
    "distances": distances,
    "divided": divided,
    "ensemble": ensemble,
    "kernel": kernel,
    "layout": layout,
    "recursion": recursion,
    "scaling": scaling,
    "start": start,
    "threshold": threshold,
}

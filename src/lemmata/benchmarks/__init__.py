"""Side-by-side measurements against what a user would pick instead, installed so that `lemmata bench` works."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from lemmata.lab.terminal import entry, line


class Benchmark(NamedTuple):
    """A benchmark: where it is, what it measures, and how long that takes on two cores. Loaded when it is called."""

    name: str
    measures: str
    takes: str
    function: str = ""

    def __call__(self, **options: Any) -> list[dict[str, Any]]:
        module = importlib.import_module(f"lemmata.benchmarks.{self.name}")
        return getattr(module, self.function or self.name)(**options)

    def json(self) -> dict[str, str]:
        return {"name": self.name, "measures": self.measures, "takes": self.takes}


LISTED = (
    Benchmark("cells", "time and memory of a sweep of 1,000 and of 10,000 cells, stored on disk", "about 2 min"),
    Benchmark(
        "compile",
        "the programs that `verify` at smoke compiles: how many, for how long",
        "several minutes",
        "compile_programs",
    ),
    Benchmark("coverage", "how often the interval of lm.find_threshold holds the true crossing", "half a minute"),
    Benchmark("distances", "truncated distances of a graph of PubMed's size, against SciPy's search", "half a minute"),
    Benchmark("divided", "a training in windows with checkpoints, against the same in one go", "about 3 min"),
    Benchmark(
        "ensemble",
        "training shallow vision transformers, against eager and batched PyTorch",
        "several minutes; needs PyTorch",
    ),
    Benchmark("kernel", "the empirical tangent kernel, against its products and the Jacobian", "about 1 min"),
    Benchmark("layout", "threads, single calls or vmap: what decides the layout on this machine", "about 4 min"),
    Benchmark("recursion", "steps a second of the exact recursion of teacher_student", "10 s"),
    Benchmark("scaling", "one and two workers (processes, Dask), against the local engine", "about 5 min"),
    Benchmark("start", "`verify` of one claim with an empty and a warm cache, and `list`", "half a minute"),
    Benchmark("threshold", "sample thresholds by adaptive runs, against the full grid", "many minutes"),
)
BENCHMARKS = {each.name: each for each in LISTED}


def bench_text() -> RenderableType:
    """The benchmarks, each with what it measures and takes."""
    return Group(
        *(entry(each.name, each.takes, each.measures, by=0) for each in LISTED),
        Text(),
        line(("lemmata bench NAME", "cyan"), " runs one; times are of two cores."),
    )

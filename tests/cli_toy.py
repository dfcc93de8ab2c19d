"""Shared by the tests of the command line: a theory of the user's own in one file, whose runs and plots are logged."""

from __future__ import annotations

from pathlib import Path

THEORY = '''
import sys, threading
from pathlib import Path
import numpy as np
import xarray as xr
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    slope: float = lm.number(1.0, "a", "slope of the line", low=0, high=10)
    points: int = lm.size(3, "n", "points")
    mode: str = lm.choice("plain", "which variant", "plain", "other")

    def warnings(self):
        return ["the slope exceeds 1, outside of the theorem."] if self.slope > 1 else []


WRITING = threading.Lock()


@lm.simulation(lm.Variable("height", (), "h", "height at the end"), host=True)
def simulate(setting, seed):
    with WRITING, open("calls.log", "a") as log:
        print(f"{setting.slope:g} {seed}", file=log)
    return {"height": np.float64(setting.slope * setting.points + 0.01 * np.sin(seed))}


def plot(data):
    with open("plots.log", "a") as log:
        log.write("x")
    return Figure(figsize=(1, 1))


def experiment(name, slopes):
    presets = {
        "smoke": lm.Preset(Setting(), {"slope": slopes}, 3),
        "quick": lm.Preset(Setting(points=30), {"slope": slopes}, 6),
    }
    return lm.Experiment(name, "How high?", "Figure 1", simulate, presets, plot)


@lm.evidence("e1-line")
def height(data, slope, factor=1.0):
    """The height at the end."""
    return factor * data.height.sel(slope=slope, drop=True)


@lm.evidence("e2-other")
def printed(data, factor=1.0):
    """Leaves what stood on stdout when this claim was about to be judged."""
    if hasattr(sys.stdout, "getvalue"):
        Path("printed").write_text(sys.stdout.getvalue())
    return factor * data.height.sel(slope=3.0, drop=True)


def claim(name, evidence, judge, *controls, expected="holds"):
    made = lm.Claim(name, "Theorem 1", "bound").states(f"The statement of {name}.")
    return made.judged(evidence, judge, *controls, expected=expected)


high, low = height(2.0), lm.Control("the low slope", slope=0.5)
CLAIMS = [
    claim("c1-high", high, lm.at_least(4.0), low),
    claim("c2-range", height(0.5), lm.within(5.0, 7.0, predicted=6), lm.Control("right", slope=2.0), expected="fails"),
    claim("c3-absent", height(2.0, np.nan), lm.at_least(4.0),
          lm.Control("the low slope", expected="fails", slope=0.5, factor=1.0), expected="inconclusive"),
    claim("c4-other", printed(), lm.at_most(10.0), lm.Control("far away", factor=100.0)),
]


GAP = lm.parameter(0.5, "c", "gap", low=0, high=1)


@lm.bound("(2)", "constants are 1", n=lm.parameter(10, "n", "samples", low=1, integer=True), c=GAP)
def samples(n, c):
    """n / c."""
    return np.inf if c == 0 else n / c


@lm.bound("(3)", logarithmic=True, n=lm.parameter(10, "n", "samples", low=1))
def huge(n):
    """10^(100 n)."""
    return 100.0 * n


CARD = {
    "name": "toy", "title": "A toy", "authors": "A. Author", "question": "Why?", "answer": "Because.",
    "headlines": ["c1-high"],
}
theory = lm.Theory(
    CARD, Setting, simulate, [experiment("e1-line", [0.5, 2.0]), experiment("e2-other", [3.0])], CLAIMS, [samples, huge]
)
'''


def write_toy() -> Path:
    path = Path("toy.py")
    path.write_text(THEORY)
    return path


def calls() -> list[str]:
    """The runs that were computed."""
    return sorted(Path("calls.log").read_text().splitlines()) if Path("calls.log").exists() else []


def forget_calls() -> None:
    Path("calls.log").unlink(missing_ok=True)


def files(folder: Path = Path()) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}

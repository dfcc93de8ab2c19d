"""What a notebook shows: escaped, what differs first, and what is behind every object."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from cli_toy import write_toy

import lemmata as lm
from lemmata.lab.progress import reporting
from lemmata.lab.sweep import Progress
from lemmata.theories import vit

EVIL = "<script>alert('&')</script>"


class Balanced(HTMLParser):
    """Reads HTML; every tag that is opened must be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def __contains__(self, words: str) -> bool:
        return words in " ".join(self.text)


class Evil(lm.Setting):
    rate: float = lm.number(0.5, "<b>η", f"rate {EVIL}", low=0)
    word: str = lm.choice("a", "a word", "a", "<i>b")
    table: Any = lm.array("T", "a table")
    kept: int = lm.size(3, "", "stays")

    def warnings(self) -> list[str]:
        return [f"broken {EVIL}"]


def test_a_setting_shows_first_what_differs_from_the_default() -> None:
    html = Evil(rate=0.7, word="<i>b", table=np.zeros((2, 3)))._repr_html_()
    page = Balanced(html)
    assert all(words in page for words in ("0.7", "0.5", "<i>b", "array (2, 3)", f"rate {EVIL}", f"broken {EVIL}"))
    before, _, after = html.partition("<details>")
    assert "rate" in before
    assert "kept" not in before
    assert "kept" in after
    assert "rate" not in after
    assert "Every field has its default." in Balanced(vit.Setting()._repr_html_())
    assert repr(vit.Setting(samples=32)) == "Setting(samples=32)"
    assert repr(vit.Setting()) == "Setting()"


def test_a_setting_prints_what_makes_it_again() -> None:
    setting = vit.Setting(samples=32, step_size=0.25, loss="logistic")
    assert eval(repr(setting), {"Setting": vit.Setting}) == setting


@lm.evidence("e")
def height(data: Any, rate: float = 0.5) -> Any:
    """The height <of> it."""
    return data.height


def evil_claim() -> lm.Claim:
    claim = lm.Claim("c1", f"Theorem {EVIL}", "bound").states(f"It {EVIL} holds.").in_symbols("a < b")
    return claim.judged(height(), lm.at_least(4.0), lm.Control(EVIL, rate=2.0))


def test_a_claim_says_what_is_stated_how_it_is_judged_and_its_controls() -> None:
    page = Balanced(evil_claim()._repr_html_())
    for words in (f"It {EVIL} holds.", "a < b", "The height <of> it.", "95 % t interval", f"{EVIL}: ", "fails"):
        assert words in page, words
    assert "nothing yet" in Balanced(lm.Claim("c", "(1)", "bound")._repr_html_())


def test_theories_experiments_bounds_and_verdicts_are_tables() -> None:
    theory = Balanced(vit.theory._repr_html_())
    assert vit.theory.card["title"] in theory
    assert all(name in theory for name in (*vit.theory.claims, *vit.theory.experiments, *vit.theory.bounds))
    experiment = Balanced(vit.theory.experiments["f4-attention"]._repr_html_())
    assert all(words in experiment for words in ("smoke", "quick", "paper", "seeds"))
    bound = Balanced(vit.bounds.samples_vit._repr_html_())
    assert all(words in bound for words in ("alpha", "α_*", "greater than 0", "^-2"))
    verdict = lm.at_least(0.5)(xr.DataArray([0.69, 0.7, 0.71], dims="seed"))
    assert all(words in Balanced(verdict._repr_html_()) for words in ("holds", "0.7", "≥ 0.5", "mean"))
    tags = Balanced(verdict._repr_html_()).tags
    assert tags <= {"table", "tbody", "tr", "td", "b"}


@pytest.mark.filterwarnings("ignore")
def test_verdicts_and_replications_are_tables(tmp_path: Path) -> None:
    write_toy()
    found = lm.verify("toy.py", preset="smoke")
    page = Balanced(found._repr_html_())
    assert all(row.name in page and row.statement in page for row in found)
    assert all(words in Balanced(found[0]._repr_html_()) for words in ("toy/c1-high", "control", found[0].command))
    (first, *_) = lm.replicate("toy.py", blocks=1, preset="smoke")
    assert f"{first.as_expected} of 1" in Balanced(first._repr_html_())


def test_a_bar_in_a_notebook_is_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython.display

    shown: list[str] = []

    class Handle:
        def update(self, html: Any) -> None:
            shown.append(html.data)

    monkeypatch.setattr("lemmata.lab.progress.is_notebook", lambda: True)
    monkeypatch.setattr(IPython.display, "display", lambda html, display_id: Handle())
    with reporting("bar", None) as reporter:  # pyright: ignore[reportArgumentType]
        report = reporter("<grow>")
        assert report is not None
        report(Progress(1, 4, 0, 5, 20))
        report(Progress(4, 4, 0, 20, 20))
    assert re.search(r"<progress value=5.000 max=20></progress> &lt;grow&gt;: 1/4 cells, 5/20 runs", shown[0])
    assert shown[1:] == ["", ""]


def test_a_terminal_is_no_notebook() -> None:
    from lemmata.lab.progress import is_notebook

    assert not is_notebook()


def test_attributes_of_a_sweep_survive_its_files(tmp_path: Path) -> None:
    @lm.simulation(lm.Variable("height", (), "h", "height"), host=True)
    def grow(setting: Evil, seed: int) -> dict[str, Any]:
        return {"height": setting.rate + seed}

    data = lm.sweep(grow, Evil(word="<i>b"), {"rate": [0.5, 1.0]}, seeds=2)
    assert {"lemmata", "setting", "seeds", "precision", "layout", "versions", "experiment"} == set(data.attrs)
    data.to_netcdf(tmp_path / "data.nc")
    data.to_zarr(tmp_path / "data.zarr")
    for again in (xr.open_dataset(tmp_path / "data.nc"), xr.open_zarr(tmp_path / "data.zarr")):
        assert dict(again.attrs) == dict(data.attrs)
        assert again.height.attrs["long_name"] == "height"
        np.testing.assert_array_equal(again.height, data.height)

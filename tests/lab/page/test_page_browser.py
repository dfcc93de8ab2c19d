"""The page in a real browser: it opens from disk, draws, filters, sorts, unfolds, fits a phone and prints whole."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from page_cases import CHROMIUM, card, chromium, experiment, page_of, row

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed to open the page in")

REFUTED = {"outcome": "fails", "expected": "fails", "control": "holds", "control_expected": "holds", "controls": []}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    card(tmp_path)
    experiment(tmp_path)
    page_of(
        tmp_path, row(), row("c2-second", statement="If a < b & c, it holds.", measured=9.0, low=8.0, high=10.0),
        row("c3-falls", **REFUTED), row("c3-falls-corrected", source="corrected", corrects="c3-falls"),
        row("c4-tenth"), row("c5-odd", outcome="fails"),
    )  # fmt: skip
    return tmp_path


def driven(folder: Path, script: str, address: str = "index.html", width: int = 1280) -> Any:
    """What a script answers that is run inside the page, in a window of this width.

    The page's own policy lets no other script run, so the outer page drives it from a frame.
    """
    outer = f"""<!doctype html><body><iframe id=f src="{address}" style="width:{width}px;height:2000px"></iframe>
    <pre id=answer></pre><script>
    f.onload = () => setTimeout(() => {{
      const page = f.contentWindow, doc = f.contentDocument;
      const all = s => [...doc.querySelectorAll(s)], one = s => doc.querySelector(s);
      const names = () => all("tbody.claim").filter(c => !c.hidden).map(c => c.dataset.name);
      const shown = e => e.getClientRects().length > 0;
      let found; try {{ found = (() => {{ {script} }})(); }} catch (error) {{ found = String(error); }}
      answer.textContent = JSON.stringify(found);
    }}, 300);</script>"""
    (folder / "outer.html").write_text(outer)
    flags = ("--allow-file-access-from-files", "--virtual-time-budget=6000", "--dump-dom")
    seen = chromium(folder, *flags, (folder / "outer.html").as_uri())
    found = re.search(r'<pre id="answer">(.*?)</pre>', seen, re.DOTALL)
    assert found, "the page did not load"
    return json.loads(html.unescape(found[1]))


def test_the_page_opens_from_disk_and_draws(folder: Path) -> None:
    address = (folder / "index.html").as_uri()
    seen = chromium(folder, "--dump-dom", address)
    assert "<title>Lemmata: A theory of toys</title>" in seen
    assert "If a &lt; b &amp; c, it holds." in seen
    assert seen.count('class="toggle"') == 5, "the script ran: its policy knows it"
    picture = folder / "page.png"
    chromium(folder, f"--screenshot={picture}", "--window-size=1280,6000", address)
    import matplotlib.image

    pixels = matplotlib.image.imread(picture)[..., :3]
    orange = (abs(pixels - (1.0, 0x88 / 255, 0.0)) < 0.03).all(-1)
    assert orange.sum() > 10_000, "the figure beside the page is shown"


def test_filter_search_and_sort_choose_and_order_claims(folder: Path) -> None:
    found = driven(folder, """
      const steps = [names()];
      one('[data-filter="refuted"]').click(); steps.push(names());
      one('[data-filter="attention"]').click(); steps.push(names());
      one('[data-filter=""]').click();
      const type = text => { one('#search').value = text; one('#search').dispatchEvent(new page.Event('input')); };
      type('a < b'); steps.push(names()); type('');
      const head = one('th[data-sort="measured"]');
      head.click(); head.click(); steps.push(names()); steps.push(head.getAttribute('aria-sort'));
      head.click(); steps.push(names());
      return steps;
    """)  # fmt: skip
    usual = ["c1-first", "c2-second", "c3-falls", "c4-tenth", "c5-odd"]
    assert found == [
        usual, ["c3-falls", "c5-odd"], ["c5-odd"], ["c2-second"],
        ["c2-second", "c1-first", "c3-falls", "c4-tenth", "c5-odd"], "descending", usual,
    ]  # fmt: skip


def test_claims_unfold_by_click_key_and_address(folder: Path) -> None:
    found = driven(folder, """
      const open = () => all("tbody.claim").filter(c => shown(c.querySelector("tr.more"))).map(c => c.dataset.name);
      const event = key => new page.KeyboardEvent("keydown", {key, bubbles: true});
      const press = (key, at) => (at ?? doc.activeElement).dispatchEvent(event(key));
      const steps = [open()];
      one('[data-name="c1-first"] .toggle').click(); steps.push(open());
      press("j", doc.body); press("j"); press("o"); steps.push(open());
      press("/", doc.body); steps.push(doc.activeElement.id);
      one("#unfold").click(); steps.push(open().length);
      one("#unfold").click(); steps.push(open().length);
      return steps;
    """, "index.html#toy/c3-falls-corrected")  # fmt: skip
    assert found == [["c3-falls"], ["c1-first", "c3-falls"], ["c1-first", "c2-second", "c3-falls"], "search", 5, 0]


def test_a_figure_enlarges_over_the_page(folder: Path) -> None:
    found = driven(folder, """
      one(".figures a.enlarge").click();
      const image = one("#enlarged img");
      return [one("#enlarged").open, image.src.split("/").slice(-3).join("/"), image.alt];
    """)  # fmt: skip
    assert found == [True, "toy/e1-line/figure.svg", "Figure of e1-line: What does e1-line show? Over width."]


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(width: int, folder: Path) -> None:
    found = driven(folder, "one('#unfold').click(); return doc.documentElement.scrollWidth;", width=width)
    assert found <= width


def test_a_folded_page_prints_all_of_its_evidence(folder: Path) -> None:
    paper = folder / "page.pdf"
    chromium(folder, "--no-pdf-header-footer", f"--print-to-pdf={paper}", (folder / "index.html").as_uri())
    pages = len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes()))
    assert pages >= 2, "five claims with their evidence and a figure need more than one sheet"

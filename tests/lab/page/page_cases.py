"""Folders as `verify` and `run` leave them, and what can be asked of a page made of them."""

from __future__ import annotations

import base64
import html
import html.parser
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from lemmata.lab.files import digest_of_file, sealed
from lemmata.lab.page.cards import CARDS
from lemmata.lab.report import write_report
from lemmata.lab.rows import VERDICTS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="200pt" viewBox="0 0 300 200">'
    b'<rect width="300" height="200" fill="#ff8800"/></svg>'
)


def row(claim: str = "c1-first", **changes: Any) -> dict[str, Any]:
    """A verdict as `verify` keeps it."""
    controls = [
        {
            "case": "signs exchanged",
            "outcome": "fails",
            "expected": "fails",
            "measured": 0.2,
            "note": "mean 0.2",
            "changed": "sign = -1, not 1",
        }
    ]
    return {
        "theory": "toy", "claim": claim, "reference": "Theorem 7", "kind": "bound",
        "statement": f"The statement of {claim}.", "outcome": "holds", "expected": "holds", "relation": ">=",
        "predicted": 1.0, "measured": 1.5, "low": 1.25, "high": 1.75, "note": "mean 1.5, claimed ≥ 1",
        "preset": "quick", "seconds": 1.25, "control": "fails", "control_expected": "fails", "statistic": "mean",
        "rule": "95 % t interval over seeds", "source": "paper", "seeds": 5, "corrects": None,
        "formula": r"T \propto \eta^{-1}", "reads": ["e1-line"], "controls": controls, "sources": "abc", "lost": False,
        "command": f"lemmata verify toy/{claim}", "judged": "2026-01-02T03:04:05+00:00", "asked": "lemmata verify toy",
        "version": "9.8.7", "machine": "Linux x86_64, 2 cores", **changes,
    }  # fmt: skip


CARD = {
    "name": "toy", "title": "A theory of toys", "authors": "A. Author, B. Author", "venue": "TOYS 2020",
    "link": "https://example.org/abs/1", "question": "Do toys learn?", "answer": "They do.", "claims": 7,
    "symbols": {"η": "step size", "N": "toys"},
}  # fmt: skip


def card(directory: Path, **changes: Any) -> None:
    """What `verify` keeps of a theory."""
    kept = {**CARD, **changes}
    (directory / CARDS).write_text(json.dumps({kept["name"]: sealed(kept)}))


def experiment(directory: Path, name: str = "e1-line", theory: str = "toy", **changes: Any) -> Path:
    """What `run` leaves of an experiment, as far as the page reads it."""
    folder = directory / theory / name
    folder.mkdir(parents=True)
    record = {
        "question": f"What does {name} show?", "reference": "Figure 3", "seeds": [0, 4], "warnings": ["m is small."],
        "command": f"lemmata run toy/{name} --preset smoke", "axes": {"width": [1, 2]}, "versions": {"jax": "0.10"},
        "finished": "2026-01-02T03:04:05+00:00", **changes,
    }  # fmt: skip
    (folder / "figure.png").write_bytes(PNG)
    (folder / "figure.svg").write_bytes(SVG)
    record_of(folder, record)
    return folder


def record_of(folder: Path, record: dict[str, Any]) -> None:
    """`run.json` with the digests of the figures and the table that are there."""
    names = ("figure.png", "figure.svg", "table.json")
    there = {name: digest for name in names if (digest := digest_of_file(folder / name))}
    (folder / "run.json").write_text(json.dumps(sealed({**record, "figures": there})))


def keep(directory: Path, *rows: dict[str, Any]) -> None:
    (directory / VERDICTS).write_text(json.dumps([sealed(row) for row in rows]))


def page_of(directory: Path, *rows: dict[str, Any]) -> str:
    keep(directory, *rows)
    return write_report(directory).read_text()


class Page(html.parser.HTMLParser):
    """What a page is made of: what it refers to, its anchors, images, tags, scripts, and the text a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.anchors: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.scripts: list[str] = []
        self._text: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self._inside = tag
        for key in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            if key in values:
                self.links.append((tag, values[key] or ""))
        self.handlers += [name for name in values if name.startswith("on")]
        self.anchors += [values["id"] or ""] if "id" in values else []
        if tag == "img" and "src" in values:
            self.images.append(values)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self._text.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self._text))


def words(part: str) -> str:
    """What a reader sees of a part of a page."""
    apart = re.sub(r"</(?:dt|dd|div|li|p|summary|th|td|h4)>", " ", part)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", apart))).strip()


def line(page: str, claim: str) -> str:
    """The line of a claim in the table."""
    return page.split(f'<tr id="toy/{claim}"')[1].split("</tr>")[0]


def group(page: str, claim: str) -> str:
    """The card in which a claim stands: its lines and its evidence."""
    cards = [part.split("</tbody>")[0] for part in page.split("<tbody")[1:]]
    return next(part for part in cards if f'id="toy/{claim}"' in part)


def detail(page: str, claim: str) -> str:
    """The evidence of a claim."""
    found = [part.split("</section>")[0] for part in page.split("<section")[1:]]
    return next(part for part in found if f'href="#toy/{claim}"' in part)


def chromium(tmp_path: Path, *args: str) -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

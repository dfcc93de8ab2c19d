"""The site is built from the repository alone, and its links lead somewhere."""

from __future__ import annotations

import functools
import html
import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from lemmata.lab import registry
from lemmata.lab.descriptions import describe
from lemmata.lab.page.formulas import show
from lemmata.lab.replications import known_replications

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / "tools" / "docs"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The site, built once, as `python tools/docs OUT` does it."""
    pytest.importorskip("zensical", reason="zensical is not installed (the extra docs)")
    out = tmp_path_factory.mktemp("site")
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        patch.setattr(sys, "argv", ["docs", str(out)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(TOOLS / "__main__.py"), run_name="__main__")
    assert ended.value.code == 0
    yield out / "site"
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(TOOLS)):
            del sys.modules[name]


@functools.cache
def theories() -> list[dict[str, Any]]:
    return [describe(theory) for theory in registry.load_all()]


class Links(HTMLParser):
    """What a page refers to, and the places in it that can be referred to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places |= {value for name in ("id", "name") if (value := given.get(name))}
        self.targets |= {value for name in ("href", "src") if (value := given.get(name))}


def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_outside(site: Path) -> None:
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links are those of a server's root
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            other = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            other = other / "index.html" if other.is_dir() else other
            place = unquote(parts.fragment)
            if not other.exists() or (place and other in pages and place not in pages[other].places | {"__search"}):
                dead.append(f"{path.relative_to(site)}: {target}")
    assert not dead
    loaded = r'<(?:script|img|iframe)[^>]*src="(https?:)?//|<link[^>]*rel="(?:stylesheet|icon)"[^>]*href="(https?:)?//'
    assert not [path for path in pages if re.search(loaded, path.read_text(encoding="utf-8"))]


def test_the_site_has_every_theory_claim_and_experiment(site: Path) -> None:
    for theory in theories():
        name = theory["name"]
        claims = Links((site / "claims" / f"{name}.html").read_text(encoding="utf-8")).places
        assert {claim["name"] for claim in theory["claims"]} <= claims
        gallery = (site / "gallery" / f"{name}.html").read_text(encoding="utf-8")
        assert all(f"lemmata run {name}/{each['name']}\n" in gallery for each in theory["experiments"])
        settings = (site / "settings" / f"{name}.html").read_text(encoding="utf-8")
        assert all(f"<code>{each['name']}</code>" in settings for each in theory["settings"])


def test_the_errata_have_every_statement_of_the_papers_that_fell_every_time_and_no_other(site: Path) -> None:
    page = Links((site / "errata.html").read_text(encoding="utf-8"))
    for theory in theories():
        path = ROOT / "docs" / "verdicts" / f"{theory['name']}.json"
        rows = {row["claim"]: row for row in json.loads(path.read_text())} if path.exists() else {}
        for name, claim in theory["items"]["claim"].items():
            row = rows.get(name, {"outcome": claim["expected"], "control": "", "control_expected": ""})
            as_expected = (row["outcome"], row["control"]) == (claim["expected"], row["control_expected"])
            again = known_replications(theory["name"]).get(name)
            of_paper = claim["source"] in ("paper", "figure")
            fell = of_paper and as_expected and row["outcome"] == "fails" and (again is None or again.share >= 0.95)
            place = f"{theory['name']}-{name}".replace("_", "-")
            assert (place in page.places) == fell, place
            doubtful = of_paper and not fell and "fails" in (claim["expected"], row["outcome"])
            assert (f"claims/{theory['name']}.html#{name}" in page.targets) == doubtful, place


def test_every_claim_with_a_formula_has_it_set_on_the_page_of_claims(site: Path) -> None:
    for theory in registry.load_all():
        page = html.unescape((site / "claims" / f"{theory.name}.html").read_text(encoding="utf-8"))
        for claim in theory.claims.values():
            assert html.unescape(str(show(claim.formula))) in page, claim.name


FOLLOW = """<!doctype html><body><iframe id="frame" sandbox="allow-same-origin"></iframe><script>
const open = address => new Promise(done => { frame.onload = () => done(frame.contentDocument); frame.src = address; });
const dead = [], seen = new Map(), waiting = ["index.html"].map(name => new URL(name, location).href);
const places = doc => new Set([...doc.querySelectorAll("[id], a[name]")].map(each => each.id || each.name));
(async () => {
  const wanted = [];
  while (waiting.length) {
    const address = waiting.pop();
    if (seen.has(address)) continue;
    const doc = await open(address);
    seen.set(address, doc && places(doc));
    for (const link of doc ? doc.querySelectorAll("a[href]") : []) {
      const [target, place] = link.href.split("#");
      if (link.protocol !== "file:") continue;
      wanted.push([address, target, decodeURIComponent(place ?? "")]);
      if (target.endsWith(".html")) waiting.push(target);
    }
  }
  for (const [address, target, place] of wanted) {
    const found = seen.get(target);
    if (target.endsWith(".html") && (!found || (place && place !== "__search" && !found.has(place))))
      dead.push(`${address.split("/site/")[1]}: ${target.split("/site/")[1]}#${place}`);
  }
  document.title = "followed: " + JSON.stringify([seen.size, wanted.length, [...new Set(dead)]]);
})();
</script></body>"""
"""Opens every page that can be reached from the first and writes into the title how many, and which links are dead."""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_every_link_can_be_followed_from_the_first_page_in_a_browser(site: Path, tmp_path: Path) -> None:
    pages = len([path for path in site.rglob("*.html") if path.name not in ("404.html", "follow.html")])
    (site / "follow.html").write_text(FOLLOW, encoding="utf-8")
    shown = dumped(site / "follow.html", tmp_path, "--allow-file-access-from-files", "--virtual-time-budget=100000")
    (site / "follow.html").unlink()
    (told,) = re.findall("<title>followed: (.*?)</title>", shown, flags=re.DOTALL)
    opened, links, dead = json.loads(html.unescape(told))
    assert dead == []
    assert opened == pages, "every page can be reached"
    assert links > 50 * pages


def dumped(page: Path, profile: Path, *options: str) -> str:
    """A page as Chromium has it in the end; nothing may go wrong in its scripts."""
    assert CHROMIUM is not None
    usual = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--enable-logging=stderr"]
    command = [CHROMIUM, *usual, *options, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    assert "Uncaught" not in done.stderr, done.stderr
    return done.stdout


SEARCH = """<script>
const inside = () => [...document.querySelectorAll("*")].map((each) => each.shadowRoot).find((root) => root);
setTimeout(() => document.querySelector("button.md-search__button").click(), 500);
setTimeout(() => {
  const field = inside().querySelector("input");
  field.value = "WORDS";
  field.dispatchEvent(new Event("input", { bubbles: true }));
}, 2500);
setTimeout(() => {
  document.title = "found: " + [...inside().querySelectorAll("li")].map((each) => each.textContent).join(" | ");
}, 6000);
</script></body>"""
"""Opens the search, types, and writes what was found into the title."""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_the_site_opens_from_disk_in_a_browser_and_its_search_finds_a_claim(site: Path, tmp_path: Path) -> None:
    claim = next(iter(theories()[0]["claims"]))["name"]
    probe = site / "probe.html"
    text = (site / "index.html").read_text(encoding="utf-8")
    probe.write_text(text.replace("</body>", SEARCH.replace("WORDS", claim)), encoding="utf-8")
    shown = dumped(probe, tmp_path, "--virtual-time-budget=9000")
    probe.unlink()
    (title,) = re.findall("<title>(.*?)</title>", shown, flags=re.DOTALL)
    assert title.startswith("found: ")
    assert claim in title


def test_indices_and_formulas_of_a_page_are_set_and_code_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    import words

    assert words.typeset(r"α_\* as η^(-1/2), **γ_d^-4** of [M_1](a_1.md)") == (
        "α<sub>&#42;</sub> as η<sup>−1/2</sup>, **γ<sub>d</sub><sup>−4</sup>** of [M<sub>1</sub>](a_1.md)"
    )
    code = "`a_1`\n\n    lemmata verify a_1\n\n```python\nx^2\n```\n"
    assert words.typeset(code) == code
    shown = html.unescape(words.typeset("```math\n\\frac{1}{2}\n```"))
    assert shown == f'<span class="formula">{html.unescape(str(show(chr(92) + "frac{1}{2}")))}</span>'


def test_stars_of_formulas_are_no_emphasis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    import stars

    assert stars.literal("at α_*/(α_*+α_#), *not* V*XS*") == r"at α_\*/(α_\*+α_#), *not* V\*XS\*"
    assert stars.literal("**T*: the end** and `a*b*c`") == r"**T\*: the end** and `a*b*c`"
    assert stars.literal("    a*b*c\n\n```\nx*y*z\n```\n") == "    a*b*c\n\n```\nx*y*z\n```\n"

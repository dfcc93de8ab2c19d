"""Build the documentation: `python tools/docs OUT` writes pages to OUT/docs and the site to OUT/site.

Generated are claims, errata, gallery, settings, bounds, command line and Python names. Everything else is copied from
`docs`, and the first page is README.md. Theories are found by the registry. In `mkdocs.yml` an entry `FOLDER/*` of the
navigation stands for the pages of that folder.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import claims
import errata
import gallery
import reference
import yaml
from facts import DOCS, ROOT, Known, all_known
from stars import literal
from words import typeset

COPIED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    write(given.out, all_known())
    zensical = Path(sysconfig.get_path("scripts")) / "zensical"
    done = subprocess.run([zensical, "build", "--strict"], cwd=given.out, check=False)
    if done.returncode == 0:
        print(given.out / "site" / "index.html")
    return done.returncode


def write(out: Path, theories: list[Known]) -> None:
    """All pages, and the configuration that names them."""
    shutil.rmtree(out, ignore_errors=True)
    pages = out / "docs"
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("verdicts"))
    for source, target in COPIED.items():
        (pages / target).write_text(at_home((ROOT / source).read_text(encoding="utf-8")), encoding="utf-8")
    for path in pages.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "theories":
            text = with_links(text, path.stem)
        path.write_text(typeset(text), encoding="utf-8")
    for path, text in generated(theories):
        (pages / path).parent.mkdir(parents=True, exist_ok=True)
        (pages / path).write_text(text, encoding="utf-8")
    for path in pages.rglob("*.md"):
        path.write_text(literal(path.read_text(encoding="utf-8")), encoding="utf-8")
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    settings["nav"] = [entry for each in settings["nav"] for entry in expanded(each, pages)]
    (out / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")


def generated(theories: list[Known]) -> Iterator[tuple[str, str]]:
    """(path, text) of every generated page."""
    yield from claims.pages(theories)
    yield from gallery.pages(theories)
    yield from reference.pages(theories)
    yield "errata.md", errata.render(theories)


def with_links(text: str, name: str) -> str:
    """A theory's own page with links to what is generated about it, in the place of the table that says the same."""
    folders = {"claims": "Claims", "gallery": "figures", "settings": "settings", "bounds": "bounds"}
    links = " · ".join(f"[{words}](../{folder}/{name}.md)" for folder, words in folders.items())
    told = f"[All claims]({'../claims/' + name}.md) are listed with formulas, verdicts and replications."
    text = re.sub(r"<details markdown=\"1\"><summary>All claims with.*?</details>", told, text, flags=re.DOTALL)
    opening, heading, rest = text.partition("\n## ")
    return f"{opening}\n{links} · [errata](../errata.md#{name.replace('_', '-')})\n{heading}{rest}"


def at_home(text: str) -> str:
    """A page of the repository's root with its links as they are below docs."""
    text = re.sub(r"\]\(docs/", "](", text)
    for source, target in COPIED.items():
        text = text.replace(f"]({source}", f"]({target}")
    return text


def expanded(entry: Any, pages: Path) -> Iterator[Any]:
    """An entry of the navigation, `FOLDER/*` replaced by the pages of that folder."""
    if isinstance(entry, dict):
        yield {title: _inside(value, pages) for title, value in entry.items()}
    elif entry.endswith("/*"):
        for path in sorted((pages / entry[:-2]).glob("*.md")):
            if path.stem != "index":
                yield {path.stem: path.relative_to(pages).as_posix()}
    else:
        yield entry


def _inside(value: Any, pages: Path) -> Any:
    return [each for entry in value for each in expanded(entry, pages)] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())

"""Descriptions: kept under a digest of the sources, read instead of loading a theory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lemmata.lab import descriptions, registry
from lemmata.lab.errors import UserError
from lemmata.lab.files import read_sealed, sealed


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEMMATA_CACHE", str(tmp_path / "cache" / "compiled"))


@pytest.mark.parametrize("card", registry.cards(), ids=lambda card: card["name"])
def test_what_is_kept_is_what_the_theory_says(card):
    name = card["name"]
    theory = registry.load(name)
    assert descriptions.description(name) == json.loads(json.dumps(descriptions.describe(theory)))
    kept = descriptions.description(name)
    assert [row["name"] for row in kept["claims"]] == list(theory.claims)
    own = {each["name"]: descriptions.declaration(each) for each in kept["declared"][0]}
    assert own == theory.setting.declarations()
    for row, experiment in zip(kept["experiments"], theory.experiments.values(), strict=True):
        declared = {each["name"]: descriptions.declaration(each) for each in kept["declared"][row["setting"]]}
        assert declared == type(experiment.preset("quick").setting).declarations()


def test_a_changed_source_makes_it_anew_and_a_few_of_other_versions_are_kept(monkeypatch):
    descriptions.description("icl")
    (first,) = descriptions._path("icl").parent.glob("icl-*.json")
    first.write_text(json.dumps(sealed({**(read_sealed(first) or {}), "name": "kept"})))
    assert descriptions.description("icl")["name"] == "kept"
    for version in range(descriptions.KEPT):
        assert first.exists()
        monkeypatch.setattr(descriptions, "digest_of_files", lambda *folder, version=version: f"other {version}")
        assert descriptions.description("icl")["name"] == "icl"
    assert len(list(first.parent.glob("icl-*.json"))) == descriptions.KEPT
    assert not first.exists()


@pytest.mark.parametrize(
    "content", [b"{", b"", b"\xff\xfe", b"null", b"[1]", b"{}", b'{"name": "edited"}', b"[" * 10_000]
)
def test_a_damaged_one_is_made_again(content):
    descriptions.description("icl")
    path = descriptions._path("icl")
    path.write_bytes(content)
    assert descriptions.description("icl")["name"] == "icl"
    assert json.loads(path.read_text())["name"] == "icl"


@pytest.mark.parametrize(
    ("experiment", "change", "said"),
    [
        ("f1a", "samples=3", "no experiment 'f1a' in vit"),
        ("f1a-samples", "sampels=3", "did you mean 'samples'"),
        ("f1a-samples", "samples", "not of the form name=value"),
        ("f1a-samples", "samples=-1", "samples = -1 is not allowed"),
    ],
)
def test_a_wrong_experiment_or_change_is_refused(experiment, change, said):
    with pytest.raises(UserError, match=said):
        descriptions.check_changes("vit", experiment, [change])


@pytest.mark.parametrize(
    "command",
    ["show vti", "show vit", "run vit/nonsense", "run vit/f1a-samples --set nope=1", "verify vit/nonsense", "list"],
)
def test_these_commands_load_neither_jax_nor_xarray(command):
    descriptions.description("vit")
    script = (
        "import sys\nfrom lemmata import cli\nsys.argv = ['lemmata', *sys.argv[1:]]\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('jax', 'xarray', 'scipy', 'matplotlib') if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *command.split()], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


def test_a_bound_is_computed_without_the_rest_of_its_theory():
    script = (
        "import sys\nfrom lemmata import cli\nsys.argv = ['lemmata', 'bound', 'icl/min_train_tasks', '--json']\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.startswith('lemmata.theories.icl.')], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "lemmata.theories.icl.claims" not in done.stderr
    bound = registry.load("icl").bound("min_train_tasks")
    assert json.loads(done.stdout) == json.loads(json.dumps(bound.evaluate()))

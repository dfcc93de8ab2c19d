"""A folder is held by one process at any time, also while it is made and removed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lemmata.lab import files, machine

CLIENT = """
import os, random, sys, time
from pathlib import Path
from lemmata.lab.errors import UserError
from lemmata.lab.files import lock

folder, mark, tries = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
chance, had, refused = random.Random(sys.argv[4]), 0, 0
for number in range(tries):
    try:
        with lock(folder):
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))  # fails if anybody else is in here
            if chance.random() < 0.3:
                time.sleep(0.001 * chance.random())
            os.unlink(mark)
            had += 1
    except UserError as error:
        assert "is in use by another process" in str(error)
        refused += 1
        time.sleep(0.001 * chance.random())
print(had, refused)
"""


def test_four_processes_never_hold_a_new_folder_together(request: pytest.FixtureRequest) -> None:
    """The folder is removed whenever its maker has written nothing into it, so it is new again and again."""
    clients, tries = 4, 25_000 if request.config.getoption("--long") else 900
    line = [sys.executable, "-c", CLIENT, "results/new/folder", "mark", str(tries)]
    running = [
        subprocess.Popen([*line, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in range(clients)
    ]
    answers = [process.communicate(timeout=600) for process in running]
    assert [error for _, error in answers] == [""] * clients
    counts = [tuple(map(int, out.split())) for out, _ in answers]
    assert sum(had + refused for had, refused in counts) == clients * tries
    assert all(had > 10 for had, _ in counts)


def test_who_is_refused_leaves_the_lock_to_its_holder() -> None:
    with files.lock(Path("new")):
        for _ in range(2):
            with pytest.raises(files.UserError, match="in use"), files.lock(Path("new")):
                pass
        assert (Path("new") / ".lock").exists()


def test_without_locks_of_files_commands_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "fcntl", None)
    with files.lock(Path("new")):
        files.write_whole(Path("new/file"), b"content")
    files.remove_partials(Path("new"))
    assert Path("new/file").read_bytes() == b"content"

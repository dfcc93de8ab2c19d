"""CelebA from the user's disk in its public layout: the folder img_align_celeba and the file list_attr_celeba.txt.

The file has the number of images on its first line, the names of the attributes on its second, and then a line an
image: its name and 1 or -1 for every attribute. Images are cut to their middle square and scaled down.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from lemmata.datasets import files
from lemmata.lab.errors import UserError
from lemmata.lab.inputs import remember

FOLDER, ATTRIBUTES = "img_align_celeba", "list_attr_celeba.txt"
ALLOWED = f"CelebA is a folder with {FOLDER} and {ATTRIBUTES}"


def find() -> Path:
    """Where the user keeps CelebA: the folder celeba of the one that LEMMATA_DATA names; refused if it is not there."""
    place = files.home("CelebA", "celeba", ALLOWED)
    missing = [name for name in (FOLDER, ATTRIBUTES) if not (place / name).exists()]
    if missing:
        raise UserError(f"There is no CelebA at {place}: {' and '.join(missing)} not found; {ALLOWED}.")
    return place


def attributes(folder: Path, *names: str) -> tuple[list[str], Bool[np.ndarray, "attributes images"]]:
    """The names of the images and, for each attribute asked for, which images have it."""
    return files.read(
        folder / ATTRIBUTES, lambda content: _parse(content.decode(), names), "a table of attributes", ALLOWED
    )


def _parse(text: str, names: tuple[str, ...]) -> tuple[list[str], np.ndarray]:
    lines = text.splitlines()
    files.require(len(lines) > 2, "it has no images")
    heads = lines[1].split()
    for name in names:
        files.require(name in heads, f"it has no attribute {name}")
    rows = [line.split() for line in lines[2:] if line.strip()]
    files.require(all(len(row) == len(heads) + 1 for row in rows), "a line has not one entry for every attribute")
    places = [heads.index(name) + 1 for name in names]
    return [row[0] for row in rows], np.array([[row[place] == "1" for row in rows] for place in places])


@remember(20_000)
def pixels(folder: Path, name: str, side: int) -> Float[np.ndarray, "side side 3"]:
    """One image, cut to its middle square, side x side, values in [0, 1]."""
    from PIL import Image

    try:
        with Image.open(folder / FOLDER / name) as image:
            width, height = image.size
            edge = min(width, height)
            left, top = (width - edge) // 2, (height - edge) // 2
            small = image.convert("RGB").crop((left, top, left + edge, top + edge)).resize((side, side))
    except FileNotFoundError:
        raise UserError(f"CelebA at {folder} is not complete: {FOLDER}/{name} is missing.") from None
    except OSError as error:
        raise UserError(f"{FOLDER}/{name} is no image: {error}.") from None
    return np.asarray(small, np.float32) / 255

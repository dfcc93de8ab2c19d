"""The checker of the tests: annotated shapes of arrays are checked whenever a function is called.

Only shapes, with the kind of number; all other types are the type checker's. A NumPy array is as good as one of JAX.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from beartype import beartype
from jaxtyping import AbstractArray

PACKAGE = Path(__file__).parents[1] / "src" / "lemmata"
JUDGING = {"card", "claims", "experiments", "figures"}
"""Rooms without arrays of their own: they read data sets."""


def modules() -> list[str]:
    """What is checked: the networks, and the rooms of every theory that compute."""
    rooms = [file.relative_to(PACKAGE).with_suffix("").parts for file in (PACKAGE / "theories").rglob("*.py")]
    computing = [room for room in rooms if not JUDGING & set(room) and room[-1] != "__init__"]
    return ["lemmata.networks", *(".".join(("lemmata", *room)) for room in computing)]


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function (or class) with its annotated shapes checked."""
    if isinstance(function, type):
        return function
    hints = {name: shapes_of(hint) for name, hint in function.__annotations__.items()}
    function.__annotations__ = {name: hint for name, hint in hints.items() if hint is not Any}
    return beartype(function) if function.__annotations__ else function


def shapes_of(hint: Any) -> Any:
    """What an annotation says about shapes; Any where it says nothing."""
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return hint.dtype[Any, hint.dim_str]
    origin, inner = get_origin(hint), get_args(hint)
    if origin not in (tuple, list, dict, Union, types.UnionType):
        return type(None) if hint is type(None) else Any
    found = tuple(part if part is ... else shapes_of(part) for part in inner)
    if all(part in (Any, type(None), ...) for part in found):
        return Any
    return functools.reduce(operator.or_, found) if origin in (Union, types.UnionType) else origin[found]

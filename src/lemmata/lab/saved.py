"""A trained run as one `.npz` file: its arrays, and a description of how they belong together. No pickles.

A NamedTuple is written with the place of its class and read as such again; a class is only looked for in Lemmata and
in modules that are already imported, so reading a file never runs code that was not there.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.errors import UserError
from lemmata.lab.files import write_whole, writing
from lemmata.lab.setting import Setting

FORMAT = "lemmata trained run 1"
DESCRIPTION = "description"


def write(path: Path, setting: Setting, seed: int, records: xr.Dataset, made: Mapping[str, Any]) -> None:
    """Write a run, whole or not at all."""
    arrays: dict[str, np.ndarray] = {}
    plain = {name: getattr(setting, name) for name in setting.declarations()}
    described = {
        "format": FORMAT,
        "setting": {"kind": _place(type(setting)), "values": _describe(plain, "setting", arrays)},
        "seed": int(seed),
        "records": {
            str(name): {
                "dims": list(each.dims),
                "attrs": dict(each.attrs),
                "array": _describe(each.values, f"records.{name}", arrays),
            }
            for name, each in records.variables.items()
        },
        "made": _describe(dict(made), "made", arrays),
    }
    arrays[DESCRIPTION] = np.frombuffer(json.dumps(described).encode(), np.uint8)
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)  # pyright: ignore[reportArgumentType]
    with writing(path):
        write_whole(path, content.getvalue())


def read(path: Path) -> tuple[Setting, int, xr.Dataset, dict[str, Any]]:
    """The run that a file holds: setting, seed, records and what was made."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = dict(stored)
        described = json.loads(arrays[DESCRIPTION].tobytes())
        if described["format"] != FORMAT:
            raise ValueError("another format")
        kind = _find(described["setting"]["kind"])
        if not (isinstance(kind, type) and issubclass(kind, Setting)):
            raise ValueError("no setting")
        setting = kind(**_restore(described["setting"]["values"], arrays))
        records = {
            name: (tuple(each["dims"]), _restore(each["array"], arrays), each["attrs"])
            for name, each in described["records"].items()
        }
        made = _restore(described["made"], arrays)
        if not isinstance(made, dict):
            raise ValueError("nothing made")
        return setting, int(described["seed"]), xr.Dataset().assign(records), made
    except FileNotFoundError:
        raise UserError(f"There is no file {path}.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from None
    except _Elsewhere as error:
        raise UserError(f"{path} holds a {error.args[0]}: import its module first.") from None
    except UserError as error:
        raise UserError(f"{path} holds a setting that is not allowed here: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError, zipfile.BadZipFile):
        raise UserError(f"{path} is no trained run: it was not written by `t.save`, or is damaged.") from None


class _Elsewhere(Exception):
    """A class of a module that is not imported."""


def _describe(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON; its arrays are put aside under names that begin like this."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if hasattr(value, "_fields"):
        named = zip(value._fields, value, strict=True)
        return {"kind": _place(type(value)), "fields": {n: _describe(v, f"{name}.{n}", arrays) for n, v in named}}
    if isinstance(value, Mapping):
        return {"items": {str(n): _describe(v, f"{name}.{n}", arrays) for n, v in value.items()}}
    if isinstance(value, (tuple, list)):
        return {"list": [_describe(v, f"{name}.{i}", arrays) for i, v in enumerate(value)]}
    array = np.asarray(value)
    if array.dtype.kind not in "biufcSU":
        raise UserError(f"{name} is a {type(value).__name__}, which cannot be saved.")
    arrays[name] = array
    return {"array": name}


def _restore(described: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if "value" in described:
        return described["value"]
    if "array" in described:
        return arrays[described["array"]]
    if "list" in described:
        return tuple(_restore(each, arrays) for each in described["list"])
    if "items" in described:
        return {name: _restore(each, arrays) for name, each in described["items"].items()}
    kind = _find(described["kind"])
    if not (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")):
        raise ValueError("no NamedTuple")
    return kind(**{name: _restore(each, arrays) for name, each in described["fields"].items()})


def _place(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _find(place: str) -> Any:
    """The class at a place, of Lemmata or of a module that is imported."""
    module, _, name = place.partition(":")
    if module.startswith("lemmata."):
        found: Any = importlib.import_module(module)
    elif module in sys.modules:
        found = sys.modules[module]
    else:
        raise _Elsewhere(f"{name} of {module}")
    for part in name.split("."):
        found = getattr(found, part)
    return found

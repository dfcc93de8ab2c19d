"""What a user makes of the axes of an experiment: `--axis NAME=v1,v2`, `--select AXIS=LABEL`, `--set FIELD=value`."""

from __future__ import annotations

import collections
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from lemmata.lab.declarations import name_of_symbol, spell
from lemmata.lab.errors import UserError, unknown
from lemmata.lab.grid import Axes
from lemmata.lab.setting import Setting


def with_names(kind: type[Setting], axes: Axes, given: Sequence[str]) -> tuple[str, ...]:
    """`NAME=...` of every `--set`, `--axis` or `--select`, a symbol of the paper replaced by the field's name."""
    parts = [assignment.partition("=") for assignment in given]
    declared = kind.declarations()
    return tuple(
        assignment if name.strip() in axes or not equals else f"{name_of_symbol(declared, name.strip())}={text}"
        for assignment, (name, equals, text) in zip(given, parts, strict=True)
    )


def set_axes(axes: Axes, changes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The axes where some fields have been set: an axis of that field has this one value.

    A field that a named axis sets cannot be set as well; the refusal says what can be done instead.
    """
    changed = dict(axes)
    for field, value in changes.items():
        owner = _setter(changed, field)
        if owner == field and not isinstance(axes[field], Mapping):
            changed[field] = [value]
        elif owner is not None:
            raise UserError(
                f"{field} is set by the axis {owner} of {where} and cannot be set as well; "
                f"use --axis {field}={spell(value)}, or --select {owner}=LABEL for one of its labels."
            )
    return changed


def check_once(changes: Mapping[str, Any], given: Sequence[str]) -> None:
    """Refuse a field that both `--set` and `--axis` set."""
    for name, _ in _parsed(given, "--axis"):
        if name in changes:
            raise UserError(f"{name} is given by --set and by --axis; give it once.")


def change_axes(kind: type[Setting], axes: Axes, given: Sequence[str], where: str) -> dict[str, Any]:
    """The axes after `NAME=v1,v2` of every `--axis`.

    NAME an axis: its values; of a named axis the labels that are kept. NAME a field that a named axis sets: that axis
    keeps its distinct settings of the other fields, and NAME becomes an axis. NAME any other field: one more axis.
    """
    changed = dict(axes)
    for name, texts in _parsed(given, "--axis"):
        is_field, named = name in kind.declarations(), changed.get(name)
        texts = _joined(texts, named or ())
        if isinstance(named, Mapping) and (not is_field or _labels(named, texts)):
            changed[name] = _keep(named, texts, name, where)
            continue
        if not is_field:
            raise unknown("axis or field", name, [*changed, *kind.declarations()], where)
        owner = _setter(changed, name)
        values = [kind.declaration(name).parse(name, text) for text in texts]
        owned = changed.get(owner or "")
        if owner is not None and isinstance(owned, Mapping):
            del changed[owner]
            others = _without(owned, name)
            if others:
                changed[owner if owner != name else _free(name, changed)] = others
        changed[name] = values
    return changed


def select_labels(axes: Axes, given: Sequence[str], where: str) -> dict[str, Any]:
    """The axes with only the labels of every `--select AXIS=LABEL[,LABEL]`."""
    changed = dict(axes)
    for name, texts in _parsed(given, "--select"):
        if name not in changed:
            raise unknown("axis", name, changed, where)
        changed[name] = _keep(changed[name], _joined(texts, changed[name]), name, where)
    return changed


def _joined(texts: Sequence[str], labels: Iterable[Any]) -> list[str]:
    """The parts between commas, put together again where a label has a comma in it; none may be there twice."""
    known = [spell(label) for label in labels if "," in spell(label)]
    longest = 1 + max((label.count(",") for label in known), default=0)
    joined: list[str] = []
    start = 0
    while start < len(texts):
        several = [texts[start : start + count] for count in range(min(longest, len(texts) - start), 0, -1)]
        spellings = [spelling for parts in several for spelling in (", ".join(parts), ",".join(parts))]
        joined.append(next((each for each in spellings if each in known), texts[start]))
        start += 1 + joined[-1].count(",")
    for each, count in collections.Counter(joined).items():
        if count > 1:
            raise UserError(f"The value {each} is given twice.")
    return joined


def _parsed(given: Sequence[str], option: str) -> list[tuple[str, list[str]]]:
    """`NAME=a,b` as (NAME, [a, b]); a name that is given twice is refused."""
    parsed: dict[str, list[str]] = {}
    for assignment in given:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        texts = [each.strip() for each in text.split(",")]
        if not equals or not name or not all(texts):
            raise UserError(f"{option} '{assignment}' is not of the form name=value,value.")
        if name in parsed:
            raise UserError(f"{option} {name} is given twice.")
        parsed[name] = texts
    return list(parsed.items())


def _setter(axes: Axes, field: str) -> str | None:
    """The axis that sets a field; None if none does."""
    for axis, values in axes.items():
        if isinstance(values, Mapping) and any(field in fields for fields in values.values()):
            return axis
    return field if field in axes else None


def _labels(values: Mapping[Any, Any], texts: Sequence[str]) -> bool:
    """Whether all of these are labels of a named axis."""
    return all(any(_is(label, text) for label in values) for text in texts)


def _is(label: Any, text: str) -> bool:
    """Whether a label is what the user has typed; numbers by their value."""
    try:
        return spell(label) == text or (not isinstance(label, str) and float(label) == float(text))
    except (TypeError, ValueError):
        return False


def _keep(values: Any, texts: Sequence[str], name: str, where: str) -> Any:
    """The labels of an axis that are kept, in the axis's own order."""
    for text in texts:
        if not any(_is(label, text) for label in values):
            raise unknown("label", text, map(spell, values), f"the axis {name} of {where}")
    kept = [label for label in values if any(_is(label, text) for text in texts)]
    return {label: values[label] for label in kept} if isinstance(values, Mapping) else kept


def _without(values: Mapping[Any, Mapping[str, Any]], field: str) -> dict[Any, dict[str, Any]]:
    """A named axis without one of its fields: its distinct settings of the others, none if there are no others."""
    others = {
        label: {name: value for name, value in fields.items() if name != field} for label, fields in values.items()
    }
    distinct: dict[Hashable, Any] = {}
    for label, fields in others.items():
        distinct.setdefault(tuple(sorted((name, spell(value)) for name, value in fields.items())), label)
    if not any(others.values()):
        return {}
    if len(distinct) == len(others):
        return others
    return {_describe(others[label]): others[label] for label in distinct.values()}


def _describe(fields: Mapping[str, Any]) -> str:
    """A label made of the fields that it sets."""
    if len(fields) == 1:
        return spell(next(iter(fields.values())))
    return ", ".join(f"{name}={spell(value)}" for name, value in fields.items()) or "otherwise as it was"


def _free(name: str, axes: Axes) -> str:
    """A name for what is left of an axis that had the field's own name."""
    return f"{name}_with" if f"{name}_with" not in axes else _free(f"{name}_with", axes)

"""The laboratory from Python: `run`, `verify` and `replicate` are the commands of these names, in the same rooms.

Both doors find each other's data: `out=None` is the folder that the command would use. What the command says on stderr
is a warning here, bad input an `lm.UserError`, and nothing else is different.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr

from lemmata.lab import registry
from lemmata.lab.declarations import spell
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.errors import AssumptionWarning, FailedCells, UserError, unknown
from lemmata.lab.files import folder_given, lock, read_sealed, sealed, write_json
from lemmata.lab.grid import Axes
from lemmata.lab.plans import Options, Plan, plan
from lemmata.lab.programs import OF_PRESET
from lemmata.lab.progress import Reporter, reporting
from lemmata.lab.publish import RECORD, record
from lemmata.lab.replicate import MOST_BLOCKS
from lemmata.lab.replicate import replicate as replicate_claims
from lemmata.lab.replications import Replication
from lemmata.lab.runner import carry_out, compute
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation
from lemmata.lab.sources import versions
from lemmata.lab.store import Store
from lemmata.lab.sweep import OnProgress, check_seeds
from lemmata.lab.theory import Experiment, Preset, Theory
from lemmata.lab.verify import Selection, Verification, select
from lemmata.lab.verify import verify as verify_claims

Named = str | Theory
PresetName = Literal["smoke", "quick", "paper"]
Values = Mapping[str, Any]


def run(
    experiment: str,
    preset: PresetName = "quick",
    seed: int = 0,
    seeds: int | None = None,
    set: Values | None = None,
    axes: Mapping[str, Iterable[Any]] | None = None,
    select: Mapping[str, Iterable[Any]] | None = None,
    out: Path | str | None = None,
    engine: str | Engine = "local",
    overwrite: bool = False,
    progress: bool = False,
) -> xr.Dataset:
    """Run an experiment, or read what an earlier command left of it.

        data = lm.run("vit/f1a-samples", preset="smoke", set={"step_size": 0.2}, axes={"samples": [8, 16]})

    Failed cells raise `lm.FailedCells`, after all others are stored.
    """
    theory, slash, name = experiment.rpartition("/") if isinstance(experiment, str) else ("", "", "")
    if not slash:
        raise UserError(f"{experiment!r} is not of the form THEORY/EXPERIMENT.")
    options = Options(
        _preset(preset),
        seed,
        seeds,
        changes=[f"{field}={spell(value)}" for field, value in _mapping("set", set).items()],
        out=folder_given("out", out),
        overwrite=_flag("overwrite", overwrite),
        axes=_listed("axes", axes),
        select=_listed("select", select),
    )
    planned = plan(registry.load(theory), name, options, _warn)
    with open_engine(engine) as opened, _reporter(progress) as reporter:
        outcome = carry_out(planned, opened, reporter(experiment), teller(planned))
    data = outcome.data.assign_attrs(attributes(planned, experiment))
    if outcome.failures:
        raise FailedCells(outcome.failures, data)
    return data


def verify(
    *names: Named,
    everything: bool = False,
    preset: PresetName = "quick",
    seed: int = 0,
    out: Path | str | None = None,
    engine: str | Engine = "local",
    progress: bool = False,
) -> Verification:
    """Examine claims with their controls: theories, `THEORY/CLAIM`s, files, one's own theories; none: the headlines.

        found = lm.verify("vit/v8-concentration")
        found.as_expected, found["vit/v8-concentration"].measured, found.page

    It never raises because a claim fails.
    """
    check_seeds(seed, 1)
    options = Options(_preset(preset), seed, out=folder_given("out", out), recompute_stale=True)
    with _reporter(progress) as reporter:
        return verify_claims(_selection(names, _flag("everything", everything)), options, reporter, _warn, engine)


def replicate(
    *names: Named,
    blocks: int = 5,
    preset: PresetName = "quick",
    out: Path | str | None = None,
    engine: str | Engine = "local",
    progress: bool = False,
) -> list[Replication]:
    """Judge claims again on further blocks of seeds: `lm.replicate("vit/v8-concentration", blocks=20)[0].share`."""
    if isinstance(blocks, bool) or not isinstance(blocks, (int, np.integer)) or not 1 <= blocks <= MOST_BLOCKS:
        raise UserError(f"blocks = {blocks} is not allowed: blocks is an integer from 1 to {MOST_BLOCKS}.")
    options = Options(_preset(preset), out=folder_given("out", out))
    with _reporter(progress) as reporter:
        return replicate_claims(_selection(names, True), blocks, options, reporter, _warn, engine)[0]


def _selection(names: Iterable[Named], everything: bool) -> Selection:
    """Theories by name or as they are, each with the claims to examine."""
    named = [name for name in names if not isinstance(name, Theory)]
    given = [name for name in names if isinstance(name, Theory)]
    for name in named:
        if not isinstance(name, str):
            raise UserError(f"{name!r} is no theory: give its name, THEORY/CLAIM, a FILE.py or an lm.Theory.")
    found = select(named, everything) if named or not given else []
    return [*found, *((theory, list(theory.claims.values())) for theory in given)]


def _preset(name: str) -> str:
    if not isinstance(name, str) or name not in OF_PRESET:
        raise unknown("preset", name, OF_PRESET)
    return name


def _flag(name: str, value: bool) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise UserError(f"{name} = {value!r} is not allowed: give True or False.")
    return bool(value)


def _mapping(name: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise UserError(f"{name} = {given!r} is not allowed: give a mapping from names to values.")
    return given or {}


def _listed(option: str, values: Mapping[str, Any] | None) -> list[str]:
    """`{"samples": [8, 16]}` as the command line has it; a single value is a list of one."""
    several = {
        name: [each] if isinstance(each, str) or not isinstance(each, Iterable) else list(each)
        for name, each in _mapping(option, values).items()
    }
    return [f"{name}={','.join(map(spell, each))}" for name, each in several.items()]


@contextlib.contextmanager
def _reporter(progress: bool) -> Iterator[Reporter]:
    with reporting("bar" if _flag("progress", progress) else "quiet", sys.stderr) as reporter:
        yield reporter


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=3)


def teller(planned: Plan) -> Callable[[str], None]:
    """What is said of a plan, as warnings: those of its settings as `AssumptionWarning`."""
    assumed = {f"{planned.name}: {sentence}" for sentence in planned.warnings}

    def say(sentence: str) -> None:
        warnings.warn(sentence, AssumptionWarning if sentence in assumed else UserWarning, stacklevel=3)

    return say


def attributes(planned: Plan, experiment: str = "") -> dict[str, str]:
    """What a data set is of, in strings that survive every format."""
    stored = read_sealed(planned.directory / RECORD) or {"versions": versions()}  # it may be gone from a read-only disk
    store = Store.open(planned.directory / "data.zarr")
    assert store is not None
    about = {
        "setting": planned.preset.setting.values(),
        "seeds": [planned.seeds.start, planned.seeds.stop - 1],
        "layout": store.fingerprint["layout"],
        "versions": stored["versions"],
    }
    spelled = {name: json.dumps(value) for name, value in about.items()}
    precision = planned.experiment.precision
    return {"lemmata": about["versions"]["lemmata"], "experiment": experiment, **spelled, "precision": precision}


class _Sweep(Plan):
    """A sweep of the user's own: an experiment without a theory, in a folder of the user's choice."""

    way_out = "choose another out, or remove that folder"

    @property
    def directory(self) -> Path:
        return self.options.directory


def sweep_into(
    out: Path,
    simulation: Simulation,
    setting: Setting,
    axes: Axes,
    seeds: range,
    precision: str,
    engine: str | Engine,
    progress: OnProgress | None,
) -> xr.Dataset:
    """A sweep whose data are kept in `out`: what is there is not computed again, more seeds are added."""
    preset = Preset(setting, axes, len(seeds))
    experiment = Experiment(simulation.name, "", "", simulation, {"quick": preset}, precision=precision)
    card = dict.fromkeys(("title", "authors", "question", "answer"), "") | {"name": simulation.name, "headlines": []}
    theory = Theory(card, type(setting), simulation, [experiment], [])
    options = Options(seed=seeds.start, seeds=len(seeds), out=out)
    plain = plan(theory, experiment.name, options)
    planned = _Sweep(**{field.name: getattr(plain, field.name) for field in dataclasses.fields(Plan)})
    say = teller(planned)
    for sentence in planned.warnings:
        say(f"{planned.name}: {sentence}")
    with lock(out) as held, open_engine(engine) as opened:
        computed = compute(planned, opened, progress, say)
        if held:
            computed.store.finish()
        if held and (computed.new or read_sealed(out / RECORD) is None):
            write_json(out / RECORD, sealed({"simulation": simulation.name, **record(planned, computed)}))
        data = computed.store.dataset(len(seeds)).assign_attrs(attributes(planned, simulation.name))
    if computed.failures:
        raise FailedCells(computed.failures, data)
    return data

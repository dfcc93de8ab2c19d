"""Publishing what an experiment gave: its figure or table, and `run.json`, the record of how it was made."""

from __future__ import annotations

import datetime
import io
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lemmata.lab.errors import describe_error
from lemmata.lab.files import digest_of_file, read_sealed, sealed, write_json, write_whole, writing
from lemmata.lab.interrupts import errors_of_theories
from lemmata.lab.plans import Plan, command
from lemmata.lab.sources import versions
from lemmata.lab.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("figure.png", "figure.svg")
DOTS = 110
"""Of a picture, an inch."""
TABLE = "table.json"
RECORD = "run.json"
_drawing = threading.Lock()  # of matplotlib, which is not meant for several threads


@dataclass(frozen=True)
class Computed:
    """What computing a plan left in its folder: the data, why cells failed, whether anything was new, how long it took.

    `began` is on the clock of `time.perf_counter`. `trained` and `reused` count trainings that were computed and that
    were known already.
    """

    store: Store
    failures: Mapping[str, str]
    new: bool
    began: float
    seconds: float
    trained: int = 0
    reused: int = 0


def publish(
    plan: Plan, computed: Computed, data: xr.Dataset, say: Callable[[str], None], writable: bool = True
) -> None:
    """Draw the figure and write `run.json`, unless those of this very command, by these sources, are there, or the
    folder can only be read."""
    drawn = {"command": command(plan.theory, plan.name, plan.options), "drawn_by": plan.theory.digest()}
    if not writable:
        if not _is_drawn(plan.directory, drawn, plan.options.draw):
            say(f"{plan.name}: {plan.directory} can only be read: its figure and record are not made anew.")
        return
    computed.store.finish()
    infinite = [] if not computed.new else _infinite(plan, data)
    for sentence in infinite:
        say(f"{plan.name}: {sentence}")
    if not computed.new and _is_drawn(plan.directory, drawn, plan.options.draw):
        return
    if plan.options.draw:
        with _drawing:
            _draw(plan, computed, plan.named(data).copy(deep=True), say)  # a figure may do with them what it likes
    about = {
        "theory": plan.theory.name,
        "experiment": plan.name,
        "question": plan.experiment.question,
        "reference": plan.experiment.reference,
        **drawn,
        "preset": plan.options.preset,
        "changed": [f"{option} {value}" for option, value in plan.options.changed()],
    }
    pictures = {name: digest for name in (*FIGURES, TABLE) if (digest := digest_of_file(plan.directory / name))}
    made = {"data": computed.store.identity, "figures": pictures}
    write_json(plan.directory / RECORD, sealed(about | record(plan, computed, infinite) | made))


def record(plan: Plan, computed: Computed, remarks: Sequence[str] = ()) -> dict[str, Any]:
    """What was computed, how, with what and in which time."""
    fingerprint = computed.store.fingerprint
    return {
        "setting": plan.preset.setting.values(),
        "axes": {axis: [_plain(label) for label in labels] for axis, labels in plan.grid.labels.items()},
        "seeds": [plan.seeds.start, plan.seeds.stop - 1],
        "precision": plan.experiment.precision,
        "layout": fingerprint["layout"],
        "sources": fingerprint["sources"],
        "versions": versions(),
        "timings": {
            "compute": round(computed.seconds, 3),
            "total": round(time.perf_counter() - computed.began, 3),
        },
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "trained": computed.trained,
        "reused": computed.reused,
        "warnings": [*plan.warnings, *computed.store.notes["remarks"], *remarks],
        "failures": computed.failures,
    }


def _infinite(plan: Plan, data: xr.Dataset) -> list[str]:
    """Sentences on variables that are infinite and not declared to be so where something never happens."""
    counts = {str(name): int(np.isinf(values).sum()) for name, values in data.data_vars.items()}
    return [
        f"{name} is infinite at {count} of {data[name].size} places, which it is not declared to be."
        for name, count in counts.items()
        if count and not plan.experiment.simulation.variable(name).is_never
    ]


def _is_drawn(directory: Path, drawn: Mapping[str, str], figures: bool) -> bool:
    """The record of this very command, by these sources, is there, and so are its figures if they are asked for."""
    record = read_sealed(directory / RECORD)
    if record is None or not drawn.items() <= record.items():
        return False
    whole = all(digest_of_file(directory / name) == digest for name, digest in record["figures"].items())
    return whole and (not figures or TABLE in record["figures"] or all(name in record["figures"] for name in FIGURES))


def _draw(plan: Plan, computed: Computed, data: xr.Dataset, say: Callable[[str], None]) -> None:
    """Draw the figure, or write the table; the data are kept where that is not possible (failed cells).

    Where the experiment's own figure cannot draw what the user has made of its axes, the default figure is drawn.
    """
    from lemmata.lab.default_figures import default_figure

    table = plan.experiment.table
    if table is not None:
        try:
            content = table(data).asdict()
        except errors_of_theories() as error:
            (plan.directory / TABLE).unlink(missing_ok=True)
            say(f"{plan.name}: no table could be made of these data ({describe_error(error, table)}).")
            return
        write_json(plan.directory / TABLE, content)
        return
    changed = [text.partition("=")[0].strip() for text in plan.options.axes]
    for draw in (
        lambda: plan.experiment.draw(data, plan.theory.claims),
        lambda: default_figure(data, first=changed),
    ):
        try:
            pictures = _render(_figure(draw()), _stamp(plan))
            break
        except errors_of_theories() as error:
            reason = describe_error(error, plan.experiment.plot)
            if plan.own and not computed.failures:
                say(f"{plan.name}: its own figure could not be drawn ({reason}); trying the default one.")
    else:
        for name in FIGURES:
            (plan.directory / name).unlink(missing_ok=True)
        say(f"{plan.name}: no figure could be drawn of these data ({reason}).")
        return
    for name, picture in pictures.items():
        with writing(plan.directory / name):
            write_whole(plan.directory / name, picture)


def _figure(drawn: Any) -> Figure:
    if not hasattr(drawn, "savefig"):
        raise TypeError(f"{drawn!r} is no figure")
    return drawn


def _render(figure: Figure, stamp: str) -> dict[str, bytes]:
    """The figure in every format, with a line at its foot that says what it is of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    FigureCanvasAgg(figure)  # one canvas lays out and draws: what it has measured of the words, it knows
    foot = 0.16 / figure.get_figheight()
    figure.text(0.995, 0.2 * foot, stamp, ha="right", va="bottom", fontsize=6.5, color="#8a8a8a")
    figure.set_dpi(DOTS)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, foot, 1, 1 - foot))
    if engine is not None:  # laid out once: else every format is laid out twice, and drawn once more for that
        engine.execute(figure)
        figure.set_layout_engine(None)
    pictures = {}
    for name in FIGURES:
        image = io.BytesIO()
        figure.savefig(image, dpi=DOTS, format=Path(name).suffix[1:])
        pictures[name] = image.getvalue()
    return pictures


def _stamp(plan: Plan) -> str:
    """What a figure is of: preset, seeds, and what the user changed."""
    seeds = f"{len(plan.seeds)} seeds" if len(plan.seeds) > 1 else "1 seed"
    first = f" from {plan.seeds.start}" if plan.seeds.start else ""
    changed = [value for _, value in plan.options.changed()]
    return " · ".join([f"{plan.theory.name}/{plan.name}", f"preset {plan.options.preset}", seeds + first, *changed])


def _plain(label: Any) -> Any:
    return label if isinstance(label, (str, int, float, bool)) else str(label)

"""Commands that compute: `run`, `verify`, `replicate`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lemmata.cli.options import (
    CLAIMS,
    Engine,
    Experiment,
    Json,
    Out,
    Preset,
    Progress,
    Seed,
    Set,
    Timeout,
    check_claims,
    check_options,
    prepare_backend,
    say,
    show_json,
    split,
    whole,
)
from lemmata.lab.errors import UserError


def run(
    experiment: Experiment,
    preset: Preset = "quick",
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            metavar="K",
            parser=whole,
            help="How many seeds: so many independent runs of every cell, each with data and weights of its own; "
            "default: the preset's.",
        ),
    ] = None,
    seed: Seed = 0,
    changes: Set = None,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--axis", metavar="NAME=V1,V2", help="The values of an axis, or a further axis: any field, or its symbol."
        ),
    ] = None,
    selected: Annotated[
        list[str] | None,
        typer.Option("--select", metavar="AXIS=LABEL,LABEL", help="Only these labels of an axis."),
    ] = None,
    out: Out = None,
    engine: Engine = "local",
    timeout: Timeout = None,
    progress: Progress = "auto",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Compute again what this folder holds of other seeds or sources.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run one experiment: data, figure and record of it, and what it found."""
    theory, name = split(experiment, "experiment")
    check_options(preset, seed, engine, progress, 1 if seeds is None else seeds)
    from lemmata.lab.descriptions import check_changes

    if not theory.endswith(".py"):
        check_changes(theory, name, changes or ())
    from lemmata.lab.engines import open_engine
    from lemmata.lab.lanes import prints_aside
    from lemmata.lab.plans import Options, plan
    from lemmata.lab.progress import reporting
    from lemmata.lab.registry import load
    from lemmata.lab.runner import carry_out

    options = Options(
        preset,
        seed,
        seeds,
        changes=tuple(changes or ()),
        out=out,
        overwrite=overwrite,
        axes=tuple(axes or ()),
        select=tuple(selected or ()),
    )
    with prints_aside():
        planned = plan(load(theory), name, options, say)
    prepare_backend(engine)
    with open_engine(engine, timeout) as opened, reporting(progress, sys.stderr) as reporter:
        outcome = carry_out(planned, opened, reporter(experiment), say)
    for place, message in outcome.failures.items():
        say(f"failed: {place}: {message}")
    if as_json:
        show_json(outcome.json())
    else:
        from lemmata.lab.findings import finding_text
        from lemmata.lab.terminal import show

        show(finding_text(planned, outcome), sys.stdout)
    if outcome.failed:
        say(f"{outcome.failed} failed; the same command tries only these again.")
        raise typer.Exit(1)


def verify(
    what: Annotated[
        list[str] | None,
        typer.Argument(**CLAIMS, help="What to test; default: the headline claims of every theory."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every claim of every theory.")] = False,
    preset: Preset = "quick",
    seed: Seed = 0,
    out: Out = None,
    engine: Engine = "local",
    timeout: Timeout = None,
    progress: Progress = "auto",
    as_json: Json = False,
) -> None:
    """Test claims together with their controls, and write a page about them."""
    check_options(preset, seed, engine, progress)
    check_claims(what or ())
    from lemmata.lab.judged import Judged, counted, odd_sentences
    from lemmata.lab.plans import Options
    from lemmata.lab.progress import reporting
    from lemmata.lab.terminal import show
    from lemmata.lab.verify import select
    from lemmata.lab.verify import verify as examine_claims

    options = Options(preset, seed, out=out, recompute_stale=True, timeout=timeout)
    selection = select(what or [], everything)
    prepare_backend(engine)
    with reporting(progress, sys.stderr) as reporter:
        judged = Judged(sum(len(claims) for _, claims in selection))
        decided = judged.pass_over if as_json else judged.add
        done = examine_claims(selection, options, reporter, say, engine, decided=decided)
    if as_json:
        show_json([row.json() for row in done.rows])
    else:
        print()
        show(counted(done.rows) + (f"\nReport: {done.page}" if done.kept else ""), sys.stdout)
    for sentence in odd_sentences(done):
        say(sentence)
    if done.exit:
        raise typer.Exit(done.exit)


def replicate(
    what: Annotated[
        list[str] | None, typer.Argument(**CLAIMS, help="What to judge again; default: every claim of every theory.")
    ] = None,
    blocks: Annotated[
        int, typer.Option("--blocks", metavar="K", parser=whole, help="How many blocks of fresh seeds.")
    ] = 5,
    preset: Preset = "quick",
    out: Out = None,
    engine: Engine = "local",
    progress: Progress = "auto",
    as_json: Json = False,
) -> None:
    """Judge claims again on further blocks of seeds: how often does a verdict repeat?"""
    check_options(preset, 0, engine, progress)
    check_claims(what or ())
    from dataclasses import asdict

    from lemmata.lab.plans import Options
    from lemmata.lab.progress import reporting
    from lemmata.lab.replicate import MOST_BLOCKS, replication_text
    from lemmata.lab.replicate import replicate as judge_again
    from lemmata.lab.terminal import show
    from lemmata.lab.verify import select

    if not 1 <= blocks <= MOST_BLOCKS:
        raise UserError(f"--blocks {blocks} is not allowed: it is how many blocks to judge, from 1 to {MOST_BLOCKS}.")
    options = Options(preset, out=out)
    selection = select(what or [], everything=True)
    prepare_backend(engine)
    with reporting(progress, sys.stderr) as reporter:
        found, lost = judge_again(selection, blocks, options, reporter, say, engine)
    show_json([asdict(each) for each in found]) if as_json else show(replication_text(found, options), sys.stdout)
    for each in found:
        for odd in each.odd:
            say(f"{each.name}, seeds from {odd['seed']}: {odd['outcome']}, control {odd['control']}; {odd['note']}")
    if lost or not all(each.repeats for each in found):
        raise typer.Exit(1)

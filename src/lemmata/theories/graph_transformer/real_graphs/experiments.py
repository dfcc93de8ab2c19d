"""The paper's tables and figures of real graphs: what is computed beside what is printed.

Graphs are read from $LEMMATA_DATA/graphs; `smoke` takes the stand-in, which needs no file. Nothing in them is random,
so one seed says all. No claim reads them.
"""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import lemmata as lm
from lemmata import figures as draw
from lemmata.datasets.graphs import HETEROPHILOUS
from lemmata.theories.graph_transformer.real_graphs import tables
from lemmata.theories.graph_transformer.real_graphs.advice import ARMS, DOES, QUESTIONS, measure_advice
from lemmata.theories.graph_transformer.real_graphs.made import KINDS
from lemmata.theories.graph_transformer.real_graphs.rates import MadeSetting, measure_rates
from lemmata.theories.graph_transformer.real_graphs.tables import NAMES, RealSetting


def spectrum(data: xr.Dataset) -> Figure:
    """The leading eigenvalues of every class, and which share of the whole the first three hold."""
    data = data.isel(seed=0).dropna("class", subset=["class_size"])
    figure, (left, right) = draw.panels(2)
    ranks = np.arange(1, data.sizes["rank"] + 1)
    draw.curves(left, draw.positive(data.eigenvalue), "rank", "class", "class {}", x=ranks, markersize=3)
    draw.log_y(left)
    draw.finish(left, "features of each class", r"eigenvalue of $X_c^\top X_c/n_c$", "rank of the eigenvalue", legend=4)
    right.bar(range(data.sizes["class"]), 100 * data.leading_share, color=draw.BLUE, width=0.6, label="measured")
    draw.predicted(right, 100, "paper: near low rank (rank 3: 100 %)")
    sizes = data.class_size.values
    names = [f"{name}\n{size:.0f}" for name, size in zip(draw.labels_of(data, "class"), sizes, strict=True)]
    draw.names(right, names, "class, and its number of nodes")
    right.set_ylim(0, 105)
    draw.finish(right, "how much the three largest hold", "three largest eigenvalues, % of all")
    return figure


def margins(data: xr.Dataset) -> Figure:
    """Mean and normalised margins over distance, a line a graph."""
    data = data.isel(seed=0).assign_coords(graph=[NAMES[graph] for graph in draw.labels_of(data, "graph")])
    figure, axes = draw.panels(2)
    z = data.distance_value.isel(graph=0).values
    rare = data.reached < 0.05
    for ax, name, title, y in zip(
        axes,
        ("normalised", "margin"),
        ("paper: Cora, PubMed fall from $z$ = 1, Actor nearly flat", "the same in nodes"),
        ("normalised margin (share of the shell)", r"mean winning margin $\bar\Delta(z)$ (nodes)"),
        strict=True,
    ):
        draw.curves(ax, data[name], "distance", "graph", x=z)
        for graph in data.graph.values:
            few = data[name].where(rare).sel(graph=graph)
            label = "fewer than 5 % of the nodes reach it" if graph == data.graph.values[0] else None
            ax.plot(z, few, "o", color=draw.GREY, markerfacecolor="white", markersize=5, label=label)
        ax.axhline(0, color="black", linewidth=0.7)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        draw.finish(ax, title, y, "distance $z$", legend=3)
    axes[1].set_yscale("symlog", linthresh=1)
    axes[1].set_ylim(*(2 * end for end in axes[1].get_ylim()))
    return figure


def discriminative(data: xr.Dataset) -> lm.Table:
    """Per cent of every class at both thresholds, and the printed number."""
    data = data.isel(seed=0).dropna("class", subset=["class_size"])
    shares = [map(_number, data[name].values) for name in ("computed", "quarter", "printed")]
    rows = [*zip(draw.labels_of(data, "class"), data.class_size.values.tolist(), *shares, strict=True)]
    heads = ("class", "nodes", "computed", "computed, angle below π/4", "paper")
    return lm.Table("Discriminative nodes, % of the class", heads, rows)


def core(data: xr.Dataset) -> lm.Table:
    """Four readings of table B.5 for every graph, and the printed number beside the nearest one."""
    rows = []
    for graph in draw.labels_of(data, "graph"):
        for reading in draw.labels_of(data, "reading"):
            cell = data.isel(seed=0).sel(graph=graph, reading=reading)
            printed = _number(cell.printed) if cell.nearest else "–"
            rows.append([NAMES[graph], reading, float(cell.core), _number(cell.computed), printed])
    caption = "Nodes with a positive winning margin at the core distance z_m, %; paper: beside the nearest reading"
    return lm.Table(caption, ("graph", "reading", "z_m", "computed", "paper"), rows)


def beside(data: xr.Dataset, dimension: str, caption: str, form: str = "{:,.2f}") -> lm.Table:
    """A row of computed numbers and a row of printed ones for every graph."""
    rows = []
    for graph in draw.labels_of(data, "graph"):
        for name, words in (("computed", "computed"), ("printed", "paper")):
            values = data[name].isel(seed=0).sel(graph=graph).values
            rows.append([NAMES[graph], words, *(_number(value, form) for value in values)])
    return lm.Table(caption, ("graph", "source", *draw.labels_of(data, dimension)), rows)


def _number(value: Any, form: str = "{:.2f}") -> str:
    return form.format(float(value)) if np.isfinite(value) else "–"


def advice(data: xr.Dataset) -> lm.Table:
    """Every finding with what it gains: as reported, and followed on hidden nodes by three models."""
    rows, says = [], {number: word for word, number in DOES.items()}
    for graph in draw.labels_of(data, "variant"):
        for question in draw.labels_of(data, "question"):
            cell = data.isel(seed=0).sel(variant=graph, question=question).dropna("round", subset=["does"])
            rounds = cell.sizes["round"]
            if not rounds:
                continue
            said = [f"{word} {count}/{rounds}" for n, word in says.items() if (count := int((cell.does == n).sum()))]
            spread = np.sqrt(np.square(cell.fresh_error).mean("round") / rounds)
            fresh = [_gain(mean, error) for mean, error in zip(cell.fresh.mean("round"), spread, strict=True)]
            first, second = (ARMS[int(cell[name][0])].name for name in ("first", "second"))
            reported = f"{float(cell.gain.mean()):+.3f}"
            rows.append([graph, question, f"{first}; {second}", ", ".join(said), reported, *fresh])
    heads = ("graph", "question", "compared (first round)", "says", "reported gain", *draw.labels_of(data, "model"))
    return lm.Table("Following a finding less not following it", heads, rows)


def rates(data: xr.Dataset) -> lm.Table:
    """By kind: what is said of using the graph and what is found; of everything that is said, what is contradicted."""
    rows = []
    for kind in [*draw.labels_of(data, "kind"), None]:
        cell = data if kind is None else data.sel(kind=kind)
        first, known, says = cell.sel(question=QUESTIONS[0]), np.isfinite(cell.does), cell.does != 0
        signed, error = cell.does * cell.fresh, 2 * cell.fresh_error
        clear = first.best > 2 * first.best_error
        reach = xr.where(cell.fresh > cell.gain, cell.high - cell.gain, cell.gain - cell.low)
        agree = np.abs(cell.fresh - cell.gain) <= np.hypot(reach, error)
        counts = [(first.does == DOES[word]).sum() for word in ("follow", "avoid")]
        counts += [clear.sum(), (clear & (first.does == 1)).sum(), (known & says).sum()]
        counts += [(signed > error).sum(), (signed < 0).sum(), (signed < -error).sum()]
        means = [f"{float(first[name].mean()):+.3f}" for name in ("gain", "fresh", "best")] if kind else ["–"] * 3
        share = f"{int(agree.sum())}/{int(known.sum())}"
        rows.append([kind or "all", int(np.isfinite(first.does).sum()), *means, *map(int, counts), share])
    heads = (
        "graph", "made", "reported gain", "found", "best arm", "follow", "avoid", "best arm clear", "of these followed",
        "said", "confirmed", "other sign", "contradicted", "agree",
    )  # fmt: skip
    return lm.Table("Advice on made graphs; clear, confirmed, contradicted: by two standard errors", heads, rows)


def _gain(value: Any, error: Any) -> str:
    return f"{float(value):+.3f} ± {float(error):.3f}" if np.isfinite(value) else "–"


BALANCE = "Nodes of a class: on average, their largest gap to it, and 10 √N"
APPENDIX = ["cora", "pubmed", "actor", "pascal"]
"""The graphs of tables B.1 to B.4, in that order."""

ADVISED = {
    "Cora, 140 labels": {"graph": "cora", "labels": "few"},
    **{NAMES[name]: {"graph": name} for name in ("cora", "citeseer", "pubmed", "actor", *HETEROPHILOUS)},
}
RANK = "Are the features of each class of {} near low rank?"
SHARE = "Which share of each class of {} is discriminative?"
BY_CLASS = (
    ("b{}-spectrum", "Figure", RANK, {"plot": spectrum, "simulation": tables.measure_spectrum}),
    ("tb{}-discriminative", "Table", SHARE, {"table": discriminative, "simulation": tables.measure_discriminative}),
)
"""Of each graph of the appendix."""
ASKED = {
    **{
        name.format(i): f"{where} B.{i}: {question.format(NAMES[graph])}"
        for name, where, question, _ in BY_CLASS
        for i, graph in enumerate(APPENDIX, 1)
    },
    "b5-margins": "Figure B.5: At which distances do the classes around a node vote for its own?",
    "tb5-core": "Table B.5: Which share of the nodes has a positive winning margin at the core distance?",
    "tb6-statistics": "Table B.6: How large are the real graphs?",
    "tb8-balance": "Table B.8: Are the classes balanced up to 10 √N?",
    "real-advice": "diagnose graph: Is following the advice of `lemmata diagnose graph` better than not following it?",
    "made-advice": "diagnose graph: How often is that advice wrong on made graphs, and how often is none given?",
}
asks = lm.asking(
    ASKED, kind=RealSetting, seeds=1, paper_seeds=1, tiny={"graph": "standin"}, smoke={"graph": ["standin"]}
)
SEVERAL: dict[str, Any] = {"graph": APPENDIX[:3], "paper": {"graph": APPENDIX}}
STATISTICS = partial(beside, dimension="statistic", caption="The real graphs", form="{:,.0f}")

EXPERIMENTS = (
    *(
        asks(name.format(i), **how)({"graph": graph}, smoke={})
        for name, _, _, how in BY_CLASS
        for i, graph in enumerate(APPENDIX, 1)
    ),
    asks("b5-margins", margins, simulation=tables.measure_margins)(**SEVERAL),
    asks("tb5-core", table=core, simulation=tables.measure_core)(**SEVERAL),
    asks("tb6-statistics", table=STATISTICS, simulation=tables.measure_statistics)(
        graph=APPENDIX[:3], paper={"graph": [*APPENDIX, "arxiv"]}
    ),
    asks(
        "tb8-balance",
        table=partial(beside, dimension="quantity", caption=BALANCE),
        simulation=tables.measure_balance,
    )(graph=["cora", "actor"], paper={}),
    asks("real-advice", table=advice, simulation=measure_advice)(
        variant=ADVISED, smoke={"variant": {"stand-in": {"graph": "standin", "rounds": 1}}}
    ),
    asks("made-advice", table=rates, kind=MadeSetting, simulation=measure_rates, seeds=10, paper_seeds=40, tiny={})(
        kind=list(KINDS), smoke={"kind": ["homophily", "30 labels, 130 nodes"]}
    ),
)

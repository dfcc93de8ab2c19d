"""Before anything is compiled the bytes of a run are known from below: what does not fit is refused with numbers."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from command import Lemmata

import lemmata as lm
from lemmata.lab import devices, room, sweep
from lemmata.lab.errors import UserError
from lemmata.lab.outlook import Foresights, look_ahead
from lemmata.lab.plans import plan
from lemmata.lab.registry import load
from lemmata.lab.runner import Options, run

THEORY = """
import jax, jax.numpy as jnp
import lemmata as lm

class Setting(lm.Setting):
    rows: int = lm.size(4, "n", "rows")
    columns: int = lm.size(3, "d", "columns")
    steps: int = lm.number(5, "T", "no size", low=1, integer=True)

@lm.piece("rows", "columns")
def product(problem: Setting, key):
    matrix = jax.random.normal(key, (problem.rows, problem.columns))
    return (matrix @ matrix.T).sum()

@lm.simulation(lm.Variable("total", (), "s", "sum"))
def simulate(problem: Setting, key, prepared=None):
    return {"total": product(problem, lm.stream(key, "data")) * 1.0}

PRESETS = {"smoke": lm.Preset(Setting(), {"rows": [4, 5]}, 2)}
CARD = {"name": "toy", "title": "Toy", "authors": "A.", "question": "?", "answer": "!", "headlines": []}
theory = lm.Theory(CARD, Setting, simulate, [lm.Experiment("e1", "How much?", "(1)", simulate, PRESETS)], [])
"""


@pytest.fixture(autouse=True)
def _theory() -> None:
    Path("toy.py").write_text(THEORY)


@pytest.mark.parametrize("value", [10**7, 10**10, 10**12, 10**30])
def test_a_size_that_no_machine_has_is_refused_with_the_numbers_and_the_field(value: int, lemmata: Lemmata) -> None:
    done = lemmata("run", "toy.py/e1", "--preset", "smoke", "--axis", f"rows=4,{value}")
    assert done.code == 2, done.err
    (sentence,) = done.sentences
    assert "needs at least" in sentence or "is larger than anything can be counted" in sentence
    assert f"lower rows = {value}" in sentence
    assert not Path("results").exists(), "nothing was made"


def test_work_on_the_host_that_does_not_fit_is_refused_with_its_numbers(
    lemmata: Lemmata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known of it beforehand; the first thing that is tried says so."""
    from lemmata.theories.group_imbalance import data

    monkeypatch.setattr(data, "np", TooSmall())
    done = lemmata("run", "group_imbalance/f43a-mean", "--preset", "smoke", "--set", "dimension=100")
    assert (done.code, len(done.sentences)) == (2, 1), done.err
    assert done.err.startswith("No cell fits into memory; first, at ")
    assert "Unable to allocate 74.5 GiB" in done.err
    assert not list(Path().rglob("data.zarr"))


class TooSmall:
    """NumPy on a machine without memory."""

    def __getattr__(self, name: str) -> object:
        raise MemoryError("Unable to allocate 74.5 GiB for an array")


def test_seeds_without_end_are_refused_at_once(lemmata: Lemmata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "memory", lambda kind="": 2**30)
    assert "--seeds 1000000000000 is not allowed" in lemmata("run", "toy.py/e1", "--seeds", str(10**12)).err
    done = lemmata("run", "toy.py/e1", "--preset", "smoke", "--seeds", str(2**30))
    assert done.code == 2
    assert "lower the number of seeds, 1073741824" in done.err


def test_what_fits_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "memory", lambda kind="": 16 * 1024)
    assert not run(load("toy.py"), "e1", Options("smoke", out=Path("out"))).failed
    monkeypatch.setattr(devices, "memory", lambda kind="": 100)
    with pytest.raises(UserError, match=r"needs at least 160 bytes of memory, but 100 bytes is all there is"):
        run(load("toy.py"), "e1", Options("smoke", out=Path("other")))


def test_the_bound_counts_products_and_loops_and_not_what_is_fused_away() -> None:
    spec = jax.ShapeDtypeStruct((100, 10), jnp.float32)
    needs = lambda function: room.bytes_of_program(jax.jit(function).trace(spec))  # noqa: E731
    given = 100 * 10 * 4
    assert needs(lambda x: x.sum()) == given
    assert needs(lambda x: (x @ x.T).sum()) == given + given + 100 * 100 * 4
    assert needs(lambda x: (x[:, None] + x[None]).sum()) == given, "an outer sum may be fused"
    loop = lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y @ y, x.T @ x)  # noqa: E731
    assert needs(loop) == max(given + given + 400, 3 * 400)


def test_a_real_training_needs_what_its_sizes_say() -> None:
    """Twice the neurons, twice the weights in what a training carries."""
    from lemmata.theories import vit

    def needs(neurons: int) -> int:
        setting = vit.Setting(neurons=neurons, tokens=20, samples=16, steps=4, records=2)
        return max(piece.room for piece in vit.simulate.foresee(setting, 0).pieces)

    small, large = needs(1000), needs(2000)
    assert small > 1000 * 20 * 4
    assert 1.5 < large / small <= 2.1


def test_long_work_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(sweep, "LONG", 0.0)
    run(load("toy.py"), "e1", Options("smoke", out=Path("out")), say=said.append)
    assert [line for line in said if line.startswith("e1: ") and "by the first pace" in line]


def test_many_values_of_one_number_cost_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are validated one by one; what decides what they share is looked at once."""
    looked: list[object] = []
    trace = jax.make_jaxpr
    monkeypatch.setattr(jax, "make_jaxpr", lambda function: (looked.append(function), trace(function))[1])
    said: list[str] = []
    theory, values = load("toy.py"), ",".join(map(str, range(1, 3001)))
    planned = plan(theory, "e1", Options("smoke", axes=(f"steps={values}",)), said.append)
    assert said == ["e1: 6000 cells are planned before anything is computed."]
    assert look_ahead(Foresights(theory.simulate, 0, "float32"), planned.grid).idle == ["steps"]
    assert len(looked) == 2, "one for each number of rows"


def test_cells_without_end_are_refused_before_any_is_made() -> None:
    simulation, setting = load("toy.py").simulate, load("toy.py").setting()
    many = {name: list(range(2, 20_000)) for name in ("rows", "columns")}
    with pytest.raises(UserError, match="have 399920004 cells together; at most 10000000 are allowed"):
        lm.sweep(simulation, setting, many)

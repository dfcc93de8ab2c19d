"""The same training in PyTorch: many small vision transformers of one attention layer, on the CPU, in float32.

Two baselines. `eager` is the loop a researcher writes: a module, a hinge loss, `backward`, `torch.optim.SGD`, one run
after the other. `batched` trains `--chunk` runs at once with a leading run axis, flat batched products and an in-place
update; groups of one are fastest where the hidden layer of one run already fills the cache. Every run has its own
data, initial weights, signs and mini-batch order; all four matrices are trained.

    python torch_ensemble.py --kind batched --runs 8 --threads 2

prints one JSON line. The script needs only torch and numpy, and fails if the training loss does not fall.
"""

# pyright: reportMissingImports=false

import argparse
import ctypes
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

RATE = 0.1


@dataclass(frozen=True)
class Shape:
    """Neurons m, tokens L, width d = m_a = m_b, samples N, mini-batch B."""

    neurons: int = 1000
    tokens: int = 50
    width: int = 10
    samples: int = 100
    batch: int = 20


@dataclass(frozen=True)
class Run:
    """Data, initial weights and mini-batch order of one run."""

    inputs: Tensor  # [N, L, d]
    labels: Tensor  # [N]
    signs: Tensor  # [m]
    weights: dict[str, Tensor]
    order: Tensor  # [steps, B], every epoch without replacement


def make_run(shape: Shape, steps: int, seed: int) -> Run:
    """A planted problem: a few tokens of a sample carry plus or minus one pattern, the others are noise."""
    rng = np.random.default_rng(seed)
    n, d, m = shape.samples, shape.width, shape.neurons
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    inputs = 0.3 * rng.standard_normal((n, shape.tokens, d))
    inputs[:, : shape.tokens // 5, 0] += labels[:, None]
    epochs = -(-steps // (n // shape.batch))
    order = np.concatenate([rng.permutation(n).reshape(-1, shape.batch) for _ in range(epochs)])[:steps]

    def real(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array.astype(np.float32))

    weights = {name: real(0.3 * rng.standard_normal((d, d))) for name in ("value", "key", "query")}
    weights["output"] = real(rng.standard_normal((m, d)))
    signs = real(rng.choice((-1.0, 1.0), m) / math.sqrt(m))
    return Run(real(inputs), real(labels), signs, weights, torch.from_numpy(order))


class ShallowTransformer(nn.Module):
    """One softmax attention layer, one hidden ReLU layer, signs fixed."""

    def __init__(self, weights: dict[str, Tensor], signs: Tensor) -> None:
        super().__init__()
        self.output = nn.Parameter(weights["output"].clone())
        self.value = nn.Parameter(weights["value"].clone())
        self.key = nn.Parameter(weights["key"].clone())
        self.query = nn.Parameter(weights["query"].clone())
        self.register_buffer("signs", signs)

    def forward(self, x: Tensor) -> Tensor:
        scores = (x @ self.query.T) @ (x @ self.key.T).transpose(1, 2)
        attended = torch.softmax(scores, dim=-1) @ x
        hidden = torch.relu((attended @ self.value.T) @ self.output.T)
        return (hidden @ self.signs).mean(dim=1)


def train_eager(runs: list[Run], steps: int, chunk: int) -> Tensor:
    """Losses [steps, R], one run after the other (`chunk` is not used)."""
    del chunk
    losses = torch.zeros(steps, len(runs))
    for r, run in enumerate(runs):
        model = ShallowTransformer(run.weights, run.signs)
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        for t in range(steps):
            index = run.order[t]
            optimizer.zero_grad()
            loss = torch.relu(1 - run.labels[index] * model(run.inputs[index])).mean()
            loss.backward()
            optimizer.step()
            losses[t, r] = loss.detach()
    return losses


def train_group(runs: list[Run], steps: int) -> Tensor:
    """Losses [steps, R] of runs trained at once with a leading run axis."""
    inputs = torch.stack([run.inputs for run in runs])
    labels = torch.stack([run.labels for run in runs])
    order = torch.stack([run.order for run in runs], dim=1)
    signs = torch.stack([run.signs for run in runs]).unsqueeze(2)
    weights = [torch.stack([run.weights[k] for run in runs]) for k in ("output", "value", "key", "query")]
    output, value, key, query = (weight.requires_grad_() for weight in weights)
    count, batch, tokens, width = len(runs), order.shape[2], inputs.shape[2], inputs.shape[3]
    row = torch.arange(count).unsqueeze(1)
    losses = torch.zeros(steps, count)
    for t in range(steps):
        x = inputs[row, order[t]].view(count, batch * tokens, width)
        samples = x.view(count * batch, tokens, width)
        queries = torch.bmm(x, query.transpose(1, 2)).view_as(samples)
        keys = torch.bmm(x, key.transpose(1, 2)).view_as(samples)
        attention = torch.softmax(torch.bmm(queries, keys.transpose(1, 2)), dim=-1)
        attended = torch.bmm(attention, samples).view_as(x)
        hidden = torch.relu(torch.bmm(torch.bmm(attended, value.transpose(1, 2)), output.transpose(1, 2)))
        outputs = torch.bmm(hidden, signs).view(count, batch, tokens).mean(dim=2)
        loss = torch.relu(1 - labels[row, order[t]] * outputs).mean(dim=1)
        gradients = torch.autograd.grad(loss.sum(), weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.sub_(gradient, alpha=RATE)
        losses[t] = loss.detach()
    return losses


def train_batched(runs: list[Run], steps: int, chunk: int) -> Tensor:
    """Losses [steps, R], `chunk` runs at a time."""
    return torch.cat([train_group(runs[i : i + chunk], steps) for i in range(0, len(runs), chunk)], dim=1)


def keep_memory() -> None:
    """Let glibc keep freed blocks; else each hidden layer is mapped afresh and page faults take a third of the time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in ((-4, 0), (-1, 2**31 - 1), (-2, 2**28)):  # no mmap, no trimming, generous growth
            mallopt(option, value)


def main() -> None:
    """Time one baseline and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("eager", "batched"), required=True)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chunk", type=int, default=1, help="runs that `batched` trains at once")
    args = parser.parse_args()
    keep_memory()
    torch.set_num_threads(args.threads)
    shape = Shape()
    runs = [make_run(shape, args.steps, seed) for seed in range(args.runs)]
    train: Callable[[list[Run], int, int], Tensor] = {"eager": train_eager, "batched": train_batched}[args.kind]
    train(runs[: args.chunk], min(5, args.steps), args.chunk)
    times = []
    for _ in range(args.repeats):
        start = time.perf_counter()
        losses = train(runs, args.steps, args.chunk)
        times.append((time.perf_counter() - start) / (args.runs * args.steps))
        window = max(1, min(shape.samples // shape.batch, args.steps // 2))
        if not bool((losses[-window:].mean(0) < losses[:window].mean(0)).all()):
            raise RuntimeError("the training loss did not fall")
    record = {"kind": args.kind, "runs": args.runs, "threads": args.threads, "seconds_per_run_step": min(times)}
    print(json.dumps(record | {"all": times}))


if __name__ == "__main__":
    main()

"""`lemmata diagnose chain`: what the theory says of a user's own reasoning chain.

Whether examples should show their steps, how many it takes, and where the chain is weakest.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np

import lemmata as lm
from lemmata.theories.cot import transitions
from lemmata.theories.cot.diagnose import figure, voting
from lemmata.theories.cot.diagnose.reading import Chain, read_chain
from lemmata.theories.cot.diagnose.voting import BLOCKS, Needs, Simulated

RESAMPLES = 400


def diagnose(
    data: Annotated[
        Any,
        "A chain: an npz file of K step matrices (rows are states, entries probabilities), one csv file for each step, "
        "or a csv table of observed transitions with the columns step, from, to, count.",
    ],
    *,
    alpha: Annotated[float, "α': the share of the examples that have the query's input."] = 0.8,
    error: Annotated[float, "The share of wrong answers that is aimed at."] = 0.05,
    examples: Annotated[int, "Examples of a prompt at which showing the steps or not is compared."] = 40,
    prompts: Annotated[int, "Prompts that are simulated for every number of examples."] = 4000,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> lm.Diagnosis:
    """Say whether examples of a reasoning chain should show their steps, and how many it takes."""
    for name, share, most in (("alpha", alpha, 1.0), ("error", error, 0.5)):
        if not 0 < share <= most:
            raise lm.UserError(f"{name} = {share:g} is not allowed: it is above 0 and at most {most:g}.")
    for name, count, high in (("examples", examples, 10**5), ("prompts", prompts, 10**6)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= high:
            raise lm.UserError(f"{name} = {count} is not allowed: it is an integer from 1 to {high}.")
    chain, rng, lengths = read_chain(data), np.random.default_rng(seed), np.unique([*voting.LENGTHS, examples])
    system = chain.matrices, chain.maps
    seen = voting.simulate_errors(system, alpha, lengths, prompts, rng, lambda share: progress(0.7 * share))
    needs = voting.needed_examples(system, alpha, error)
    progress(1.0)
    sure = None if chain.counts is None else resample(chain.counts, chain.maps, rng)
    return lm.Diagnosis(
        kind="chain",
        source=chain.source,
        sizes={"steps": len(chain.maps), "states": chain.maps.shape[1]},
        findings=findings(seen, examples, chain.numbers.condition),
        quantities=quantities(chain, needs, seen, error, sure),
        assumptions=assumptions(chain, sure),
        files=chain.files,
        draw=lambda: figure.draw(chain, seen, error, examples),
    )


class Sure(NamedTuple):
    """Of tables drawn anew: the share in which a step keeps its lead [K, M], and in which the condition holds [M]."""

    leads: np.ndarray
    condition: np.ndarray


def resample(counts: np.ndarray, maps: np.ndarray, rng: np.random.Generator) -> Sure:
    """Draw as many transitions of every step and state as were observed, with the observed shares."""
    right, observed = transitions.answers(maps), np.maximum(np.round(counts.sum(axis=2)), 1).astype(int)
    shares = counts / counts.sum(axis=2, keepdims=True)
    kept, holds = np.zeros(maps.shape), np.zeros(len(right))
    for _ in range(RESAMPLES):
        drawn = rng.multinomial(observed, shares) / observed[:, :, None]
        kept += transitions.leads(drawn, maps) > 0
        holds += transitions.primacy(transitions.compose(drawn), right) > transitions.TOLERANCE
    return Sure(kept / RESAMPLES, holds / RESAMPLES)


def findings(seen: Simulated, examples: int, condition: np.ndarray) -> list[lm.Finding]:
    """What showing the steps gains, and what more examples without steps gain, on the simulated prompts."""
    at, limit, longest = int(np.flatnonzero(seen.lengths == examples)[0]), 1 - float(condition.mean()), seen.lengths[-1]
    steps = f"CoT errs in {seen.cot[at].mean():.3f} of the answers and ICL in {seen.icl[at].mean():.3f}"
    gain, compared = seen.icl[at] - seen.cot[at], ("CoT", "ICL")
    found = [finding("show the steps of the examples", gain, compared, f"with {examples} examples {steps}")]
    if longest > examples:
        more = f"with {longest} examples ICL errs in {seen.icl[-1].mean():.3f} of the answers"
        if limit:
            more = f"where the condition fails, on {limit:.2g} of the inputs, no number of examples helps"
        advice = f"give {longest} examples without steps instead of {examples}"
        gain, compared = seen.icl[at] - seen.icl[-1], (f"ICL, {longest}", f"ICL, {examples}")
        found.append(finding(advice, gain, compared, more))
    return found


def finding(advice: str, gain: np.ndarray, compared: tuple[str, str], why: str) -> lm.Finding:
    """An advice with what it gains or costs, block by block of prompts, and why."""
    one = lm.Finding(advice, lm.mean_interval(gain), "share of right answers", compared, BLOCKS, "")
    verb = {"follow": "gains", "avoid": "costs"}.get(one.does, "changes nothing that can be told from chance:")
    size = lm.mean_interval(-gain if one.does == "avoid" else gain)
    said = f"{verb} {size.value:.3f} [{size.low:.3f}, {size.high:.3f}] {one.unit}; {why}."
    return replace(one, text=f"{advice[0].upper()}{advice[1:]}: {said}")


def quantities(chain: Chain, needs: Needs, seen: Simulated, error: float, sure: Sure | None) -> dict[str, Any]:
    """The theory's numbers, a row for every input and for every step; states and steps are counted from 1."""
    numbers, maps, inputs, steps, needed = chain.numbers, chain.maps, [], [], []
    row: dict[str, Any]
    for i, answer in enumerate(transitions.answers(maps)):
        row = {"input": i + 1, "answer": int(answer) + 1, "most_probable": int(chain.whole[i].argmax()) + 1}
        row["condition"] = bool(numbers.condition[i])
        if sure is not None:
            row["condition_in_resamples"] = float(sure.condition[i])
        inputs.append(row | {f"{who}_examples": _finite(exact[i]) for who, exact in needs._asdict().items()})
    for k, lead in enumerate(chain.leads):
        state = int(lead.argmin())
        chances, output = chain.matrices[k, state], int(maps[k, state])
        row = {"step": k + 1, "weakest_state": state + 1, "output": output + 1, "probability": float(chances[output])}
        steps.append(row | {"runner_up": float(np.delete(chances, output).max()), "primacy": float(lead[state])})
    for who, words in (("cot", "CoT"), ("icl", "ICL")):
        found = seen.needed(who, error)
        row = {"prompts": words, "error": error, "by_votes_for_every_input": _finite(getattr(needs, who).max())}
        ends = {"simulated": found.value, "simulated_low": found.low, "simulated_high": found.high}
        needed.append(row | {name: _finite(value) for name, value in ends.items()})
    weakest, failing = min(steps, key=lambda row: row["primacy"]), np.flatnonzero(~numbers.condition) + 1
    where = "The chain is weakest at step {step} from state {weakest_state}: {probability:.3g} for the right output, "
    fails = "Without steps every input has the right answer as the most probable one; steps only save examples."
    if failing.size:
        which = ", ".join(map(str, failing))
        fails = f"Without steps inputs {which} stay wrong: their most probable composed answer is another one."
    return {
        **dict(zip(("tau", "rho", "tau_o", "rho_o"), numbers, strict=False)),
        "condition_share": float(numbers.condition.mean()),
        "limit_of_the_icl_error": 1 - float(numbers.condition.mean()),
        "needed_examples": needed,
        "inputs": inputs,
        "steps": steps,
        "reading": [(where + "{runner_up:.3g} for the runner-up.").format(**weakest), fails],
    }


def _finite(value: float) -> int | None:
    return math.ceil(value) if math.isfinite(value) else None


def assumptions(chain: Chain, sure: Sure | None) -> list[lm.Assumption]:
    """What the theory takes for granted of a chain."""
    merged = [k for k, step in enumerate(chain.maps, start=1) if len(set(step.tolist())) < len(step)]
    share = float(chain.numbers.condition.mean())
    one_to_one = f"two states meet at step {', '.join(map(str, merged))}" if merged else "no two states meet"
    found = [
        lm.Assumption("condition", share == 1, share, f"Condition 7.3.2 for all inputs (it holds for {share:.3g})"),
        lm.Assumption("bijections", not merged, len(merged), f"every step is a bijection of the states: {one_to_one}"),
        lm.Assumption("right", None, None, "the most probable output of a step is the right one"),
        lm.Assumption("markov", None, None, "a step depends on the state before it, and on nothing earlier"),
    ]
    if sure is not None:
        least = float(sure.leads.min())
        text = f"enough observations: every step keeps its most probable output in {least:.3g} of tables drawn anew"
        found.append(lm.Assumption("observations", least >= 0.95, least, text))
    return found

"""The experiments (section 7 and the claims register): settings, axes, seeds at `smoke`, `quick` and `paper` size."""

from functools import partial

from lemmata.lab.theory import make_experiment
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import simulate

ATTENTION = {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}
TINY = {
    "patterns": 6, "irrelevant": 6, "dimension": 12, "label_dimension": 2, "batch": 24, "contexts": 6, "steps": 12,
    "test_prompts": 48, "test_contexts": 6, "watch_prompts": 48, "watch_contexts": 6,
}  # fmt: skip
"""The prompts of every smoke preset, so that they share their programs."""
TINY_NETWORK = {"neurons": 16, "key_width": 14, "value_width": 14}

experiment = partial(make_experiment, kind=Setting, simulation=simulate, tiny={**TINY, **TINY_NETWORK})

from lemmata.theories.icl.experiments import (  # noqa: E402 (they are made with what stands above)
    attention,
    baselines,
    contexts,
    iterations,
    mechanism,
    neurons,
    prompt,
    pruning,
    shift,
    tasks,
    variants,
)

TOPICS = (mechanism, attention, prompt, neurons, variants, iterations, tasks, contexts, shift, baselines, pruning)
EXPERIMENTS = tuple(experiment for topic in TOPICS for experiment in topic.EXPERIMENTS)

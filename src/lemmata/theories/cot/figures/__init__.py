"""Figures of chain-of-thought inference: along training, and on testing prompts."""

"""How the experiments are drawn."""

"""The hand-made graph of Figure 3.2."""

"""The questions of Figures 4.1 and 4.8 on the Adult census table."""

"""The drawing of a winning margin (Figure 3.2): one node with five neighbours at distance 1 and more at distance 2."""

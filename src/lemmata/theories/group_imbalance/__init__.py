"""Group imbalance: what more data of one group does to every group's risk."""

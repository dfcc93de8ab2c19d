from lemmata.lab.figures import panels


def contexts(data):
    return panels(1)[0]


def shift(data):
    return panels(1)[0]


def baselines(data):
    return panels(1)[0]


def pruning(data):
    return panels(1)[0]

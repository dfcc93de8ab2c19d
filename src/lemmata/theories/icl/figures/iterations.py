from lemmata.lab.figures import panels


def iterations(data):
    return panels(1)[0]


def tasks(data):
    return panels(1)[0]


def contexts(data):
    return panels(1)[0]

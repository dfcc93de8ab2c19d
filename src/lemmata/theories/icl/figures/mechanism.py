from lemmata.lab.figures import panels


def default(data):
    return panels(1)[0]


def prompt(data):
    return panels(1)[0]


def growth(data):
    return panels(1)[0]


def lucky(data):
    return panels(1)[0]


def heads(data):
    return panels(1)[0]


def classes(data):
    return panels(1)[0]

from lemmata.lab.figures import panels
def _plot(data): return panels(1)[0]
pattern=along=escape=late=dimension=phases=portrait=temperature=blocks=curves=floor=shifted=_plot

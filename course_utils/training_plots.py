"""Figures for notebook 2, each with a sentence that says the same in words."""


class LiveCurve:
    def __init__(self, entropy=None): pass
    def update(self, history): pass
    def finish(self, history): pass

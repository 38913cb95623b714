"""A figure of the course: drawn only when shown, and said in words too."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable

from course_utils import runtime

COLOURS = "cividis"  # readable in grey and by most colour-blind people


class Picture:
    """A figure with a sentence that says the same in words.

    Jupyter shows the figure with the sentence as caption and as alternative text; where images
    cannot be shown, the sentence stands alone. Nothing is drawn before it is shown.
    """

    def __init__(self, draw: Callable, words: str, size: tuple[float, float] = (8, 3)):
        self.draw, self.words, self.size = draw, words, size

    def render(self) -> bytes:
        """Draw the figure and return it as a PNG."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=self.size, layout="constrained")
        FigureCanvasAgg(figure)
        self.draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        if runtime.where() == "autograder":  # nobody looks: the words will do
            return {"text/plain": self.words}
        image = base64.b64encode(self.render()).decode()
        words = html.escape(self.words, quote=True)
        picture = f'<img alt="{words}" src="data:image/png;base64,{image}" style="max-width:100%">'
        return {
            "text/plain": self.words,
            "text/html": f'<figure style="margin:0">{picture}<figcaption>{words}</figcaption></figure>',
        }


def nothing_yet(what: str) -> Picture:
    """Return what stands in place of a figure while what it needs is still `...`."""
    return _say_only(
        f"waiting for {what}", f"There is nothing to draw yet: this figure needs {what}."
    )


def nothing_to_draw(why: str) -> Picture:
    """Return what stands in place of a figure that cannot be drawn of what it was given."""
    return _say_only("nothing to draw", f"There is nothing to draw: {why}")


def _say_only(short: str, words: str) -> Picture:
    return Picture(
        lambda figure: figure.text(0.5, 0.5, short, ha="center", va="center"), words, size=(5, 1)
    )

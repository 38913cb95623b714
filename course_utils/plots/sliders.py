"""Whether sliders and menus can be shown here; where they cannot, figures stand still."""

from __future__ import annotations

from course_utils import runtime


def find_widgets():
    """Return ipywidgets, or None where they cannot run or nobody is there to move them.

    A program that runs a notebook (nbclient) talks to the kernel while widgets are made, and can then
    wait for ever for the end of the cell.
    """
    if not runtime.is_watched():
        return None
    try:
        import ipywidgets
    except ImportError:
        return None
    return ipywidgets

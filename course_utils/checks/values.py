"""Turn what a learner wrote (list, array or tensor) into an array, or say why it is not one."""

import numpy as np

from course_utils.words import wrap


class StillOpen(ValueError):
    """Something that is needed is still `...`; Jupyter shows the sentence alone."""

    def _render_traceback_(self) -> list[str]:
        return [wrap(str(self))]


def is_open(value) -> bool:
    """Say whether a value is still the `...` that a TODO starts from."""
    return value is ...


def require(**needed) -> None:
    """Raise StillOpen for the first of these that is still `...`, by its name in the notebook."""
    for name, value in needed.items():
        if is_open(value):
            raise StillOpen(
                f"This needs `{name}`, which is still `...`: its TODO is open. Fill it in, run its "
                "cell, and then this one again."
            )


def as_array(value) -> np.ndarray:
    """Return numbers given as list, tuple, array or tensor as a float64 array.

    Raises ValueError with a sentence that names what was given instead.
    """
    if hasattr(value, "detach"):  # a tensor, on any device, with or without gradient
        value = value.detach().cpu()
        value = (value.double() if value.is_floating_point() else value).numpy()
    elif isinstance(value, (list, tuple)):
        parts = [as_array(part) for part in value]
        shapes = {part.shape for part in parts}
        if len(shapes) > 1:
            raise ValueError("the rows of the list have different lengths")
        value = np.array(parts)
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.size == 0:
        raise ValueError(f"it is {describe_type(value)}, not numbers")
    return array.astype(np.float64)


def describe_type(value) -> str:
    """Name a value's type with an article, for a sentence."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def describe_shape(array) -> str:
    """Write a shape the way torch and NumPy users read it: (3,) or (4, 3)."""
    return str(tuple(int(size) for size in array.shape))

"""Every figure of the course, one module per notebook; each is a Picture, said in words too."""

from course_utils.plots.picture import Picture
from course_utils.plots.queries import (
    explore_key,
    explore_query,
    plot_dial,
    plot_error,
    plot_key,
    plot_lengths,
    plot_query,
    plot_steps,
    plot_target,
    turn_arrows,
)

__all__ = [
    "Picture",
    "explore_key",
    "explore_query",
    "plot_dial",
    "plot_error",
    "plot_key",
    "plot_lengths",
    "plot_query",
    "plot_steps",
    "plot_target",
    "turn_arrows",
]

"""A whole class: what has to be graded, many at once, and the one writer of marks."""

"""What the course's notebooks import: plots, checks, data and training.

Nothing in this package holds an answer, in code or in words: students install it.
"""

__version__ = "0.1.0"

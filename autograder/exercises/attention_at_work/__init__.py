"""Exercises of the second assignment, one module per notebook."""

"""Builds, grades and reports on the course's notebooks. Instructors only: never ship this."""

__version__ = "0.2.0"

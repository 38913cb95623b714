"""The process a student's code runs in, and the narrow channel through which the judge asks it."""

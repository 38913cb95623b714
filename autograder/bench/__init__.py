"""Side by side with the plain way: speed as a ratio, with equal results; and versions side by side."""

"""Makes the judge prove itself: on the solutions, and on every right and wrong way that is known."""

"""Whatever arrives is opened, recognised and put back into the hand-out's shape."""

"""Long runs whose tables stand in docs/: each can be stopped and taken up again."""

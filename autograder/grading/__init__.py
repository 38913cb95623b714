"""A restored notebook is run, asked, judged and made safe to look at: the one way to a score."""

"""Notebook 2's language model: corpus, GPT, training and evaluation, around your attention."""

"""Translation with attention: a language pair, a model that takes attention as an argument, training."""

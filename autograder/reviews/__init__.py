"""How the course's own reviews and its small RoBERTa were made: words, grammar, pretraining."""

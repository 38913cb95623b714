"""What notebook 3 of `attention_at_work` stands on: a world to read about, and a GPT that reads."""

from course_utils.pretraining.characters import MASK, PAD

__all__ = ["MASK", "PAD"]

"""Ask a model many questions with the learner's own code, and see how sure it is of its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from tqdm.auto import tqdm

from course_utils import runtime
from course_utils.pretraining.characters import MASK
from course_utils.pretraining.model import CharacterGPT
from course_utils.pretraining.world import Question

MAX_CHARACTERS = 40  # of an answer; the longest place of the real questions has 28


@dataclass(frozen=True)
class Answer:
    """What a model said to one question, and the probability that it gave to saying just that."""

    question: str
    place: str  # the right one
    said: str
    confidence: float

    @property
    def right(self) -> bool:
        return self.said == self.place


def ask_all(
    model: CharacterGPT,
    questions: Sequence[Question],
    answer_question: Callable,
    words: str = "asking",
) -> list[Answer]:
    """Ask every question, one after another."""  # fmt: skip
    answers = []
    for question in tqdm(questions, desc=words, unit="question", leave=False,
                         disable=runtime.where() == "autograder"):  # fmt: skip
        said = answer_question(model, question.text, MAX_CHARACTERS)
        if not isinstance(said, str):
            raise TypeError(f"answer_question should return a string; it returned {said!r:.60}.")
        confidence = measure_confidence(model, question.text, said)
        answers.append(Answer(question.text, question.place, said.strip(), confidence))
    return answers


@torch.no_grad()
def measure_confidence(model: CharacterGPT, question: str, answer: str) -> float:
    """Return the probability that a model gives to this answer, its end included.

    It is the product of the probabilities of the answer's characters and of the MASK that ends it,
    each given all that stands before it.
    """
    room = model.config.block_size + 1 - len(question) - 1
    judged = (answer + MASK)[: max(room, 0)]
    if not judged:
        return float("nan")
    whole = model.vocabulary.encode(f"{question}{MASK}{judged}")
    ids = torch.tensor([whole])  # (1, T)
    chances = model(ids[:, :-1])[0].log_softmax(-1)  # (T-1, vocabulary)
    targets = ids[0, 1:].to(chances.device)  # (T-1,)
    picked = chances.gather(-1, targets[:, None])[-len(judged) :]  # the question's own do not count
    return float(picked.sum().exp())

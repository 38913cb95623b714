"""What exercises share that try a learner's functions: the program's end, known code, a safe verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from autograder.exercises.base import Mistake, Ruling
from course_utils.checks import calls
from course_utils.checks.findings import Finding

_PROGRAM_END = """

def probe(namespace, inputs):
    functions = {{name: namespace[name] for name in {names!r} if name in namespace}}
    results = {question}
    return {{
        key: Unusable(value) if isinstance(value, Problem) else value
        for key, value in results.items()
    }}
"""


def write_program(source: str, names: tuple[str, ...], question: str) -> str:
    """Write the program that runs in a kernel.

    `source` is the text of the modules it needs; `question` is an expression over `functions`, the
    learner's own by these names, and `inputs`, that gives the values to hand over.
    """
    return source + _PROGRAM_END.format(names=names, question=question)


def run_codes(namespace: dict, *codes: str) -> dict:
    """Run pieces of code in a namespace, one after another, and return it."""
    for text in codes:
        exec(compile(text, "<exercise>", "exec"), namespace)
    return namespace


def list_codes(mistakes: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield (diagnosis, code) of mistakes that are kept by their diagnosis."""
    for diagnosis, codes in mistakes.items():
        for text in codes:
            yield diagnosis, text


def make_mistakes(
    codes: Iterable[tuple[str, str]], shares: dict[str, float] | None = None
) -> tuple[Mistake, ...]:
    """Return known mistakes with the share of the points that each earns at most, by its name."""
    return tuple(Mistake(slug, text, (shares or {}).get(slug, 0.0)) for slug, text in codes)


def judge_safely(judge: Callable[[], Finding]) -> Ruling:
    """Return the share of the points that was found."""
    finding = judge()
    return Ruling(finding.share, finding)


class Outputs:
    """What some code returns in the cases of calls.py, worked out only when somebody asks."""

    def __init__(self, plan: list[dict], inputs: dict, make_namespace: Callable[[], dict]):
        self.calls = {call["name"]: call for call in plan if not call.get("device")}
        self.inputs, self.make_namespace = inputs, make_namespace
        self.known: dict = {}

    def get(self, key: str, default=None):
        name = key.split(".")[0]
        if name not in self.known and name in self.calls:
            results = calls.run_cases(self.make_namespace(), [self.calls[name]], self.inputs)
            self.known[name] = {
                key: value if isinstance(value, str) else value.detach().cpu().numpy()
                for key, value in results.items()
            }
        return self.known.get(name, {}).get(key, default)

    def work_out(self) -> dict:
        """Return everything at once."""
        for name in self.calls:
            self.get(f"{name}.out")
        return {key: value for results in self.known.values() for key, value in results.items()}

"""The comparison of the notebook on pretraining: four models, in our own world or on the real data.

    python -m autograder.experiments.pretraining                 # our own world, three seeds
    COURSE_DATA=... python -m autograder.experiments.pretraining --corpus real --epochs 100

Each model is trained with the notebook's own code; what comes out stands in docs/pretraining.md.
Everything is saved under runs/pretraining/ on the way: stop it whenever you like, and the same
command goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.exercises.attention_at_work.pretraining import make_namespace
from autograder.files import replace_file
from course_utils import runtime
from course_utils.pretraining.answering import Answer, ask_all
from course_utils.pretraining.model import TorchLayer, make_model, make_synthesizer_layer
from course_utils.pretraining.plans import PLANS, Plan
from course_utils.pretraining.training import finetune, pretrain
from course_utils.pretraining.world import World, load_real, make_world

SEEDS = (1, 2, 3)
FOLDER = Path("runs/pretraining")
REPORT = Path("docs/pretraining.md")
BASELINE, ALONE = "most frequent place", "finetuning alone"
PRETRAINED, SYNTHESIZER = "pretrained and finetuned", "the same with the synthesizer"
REPORTED = {  # by the course that the real data come from, on the same 500 questions
    ALONE: "0.6 % (75 epochs)",
    BASELINE: "5.0 % (London)",
    PRETRAINED: "23.0 % (650 and 10 epochs)",
}


def load_functions() -> dict:
    """Return the instructor's functions, as the source notebook defines them."""
    blueprint = load_blueprint(load_assignment("attention_at_work"), "3_pretraining")
    return make_namespace(*blueprint.solutions.values())


def run_baseline(world: World, functions: dict) -> dict:
    """Answer every question with the most frequent place."""
    train_answers = [question.place for question in world.train]
    results = {}
    for name, questions in (("test", world.test), ("unknown", world.unknown)):
        answers = functions["majority_baseline"](train_answers, questions)
        results[name] = functions["count_right"](answers, [q.place for q in questions])
    return results


def run_model(
    kind: str, world: World, plan: Plan, functions: dict, seed: int, folder: Path
) -> dict:
    """Train one model, ask it all the questions, and return what came out."""
    layer: type = TorchLayer
    if kind == SYNTHESIZER:
        layer = make_synthesizer_layer(functions["synthesizer_attention"])
    model = make_model(world, plan.sizes, layer, seed)
    stages = {}
    if kind == ALONE:
        stages["finetuning"] = finetune(
            model, world, functions["make_question"], replace(plan.alone, seed=seed), folder
        )
    else:
        stages["pretraining"] = pretrain(
            model,
            world,
            functions["corrupt_span"],
            functions["make_pair"],
            replace(plan.pretraining, seed=seed),
            folder,
        )
        stages["finetuning"] = finetune(
            model, world, functions["make_question"], replace(plan.finetuning, seed=seed), folder
        )
    answers = {
        name: ask_all(model, questions, functions["answer_question"], name)
        for name, questions in (("test", world.test), ("unknown", world.unknown))
    }
    results = {name: count(answers[name]) for name in answers}
    return results | {
        "weights": model.count_parameters(),
        "processor_seconds": sum(history.processor_seconds for history in stages.values()),
        "losses": {name: history.losses for name, history in stages.items()},
        "confidence": {
            "right": mean_confidence([a for a in answers["test"] if a.right]),
            "wrong": mean_confidence([a for a in answers["test"] if not a.right]),
            "unknown": mean_confidence(answers["unknown"]),
            "unknown_above_half": share_above(answers["unknown"], 0.5),
            "unknown_surest": max(answer.confidence for answer in answers["unknown"]),
        },
    }


def count(answers: list[Answer]) -> float:
    return sum(answer.right for answer in answers) / len(answers)


def mean_confidence(answers: list[Answer]) -> float | None:
    return sum(a.confidence for a in answers) / len(answers) if answers else None


def share_above(answers: list[Answer], line: float) -> float:
    return sum(answer.confidence > line for answer in answers) / len(answers)


def run_all(world: World, plan: Plan, seed: int, folder: Path, kinds: tuple[str, ...]) -> dict:
    """Train what is not trained yet, and return all results of this seed by model."""
    functions = load_functions()
    results = {BASELINE: run_baseline(world, functions)}
    for kind in kinds:
        place = folder / kind.replace(" ", "-")
        path = place / "results.json"
        if not path.exists():
            print(f"{world.name}, seed {seed}: {kind}", flush=True)
            found = run_model(kind, world, plan, functions, seed, place)
            place.mkdir(parents=True, exist_ok=True)
            replace_file(path, json.dumps(found).encode())
        results[kind] = json.loads(path.read_text("utf-8"))
    return results


# ------------------------------------------------------------------------------- the report


def describe_own(results: dict[int, dict], world: World, plan: Plan) -> str:
    """Write the section about our own world."""
    lines = [
        "## Our own world",
        "",
        "Made by `python -m autograder.experiments.pretraining`. "
        + world.description.replace("made up from seed 1", "made up from a seed")
        + f" {plan.pretraining.epochs} epochs of pretraining, {plan.finetuning.epochs} of finetuning; "
        f"finetuning alone gets {plan.alone.epochs} epochs. The seed is that of the world, of the "
        "model and of its training. Share of right answers about people whose question was not "
        "trained on, and about people of whom nothing was written:",
        "",
        "| model | " + " | ".join(f"seed {seed} | unknown" for seed in results) + " |",
        "|---|" + "---:|" * (2 * len(results)),
    ]
    for kind in (BASELINE, ALONE, PRETRAINED, SYNTHESIZER):
        cells = [
            f"{found[kind][name]:.0%}".replace("%", " %") if kind in found else "not run yet"
            for found in results.values()
            for name in ("test", "unknown")
        ]
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    lines += ["", "How sure the models are of what they say (mean probability of the whole answer; for "
              "unknown people also the share of answers above one half, and the surest one), the loss in "
              "the last epoch of pretraining, and what they cost (processor seconds on one thread, both "
              "stages):", "",
              "| model | seed | right answers | wrong answers | unknown people | above 0.5 | surest | "
              "loss | seconds | weights |",
              "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for kind in (ALONE, PRETRAINED, SYNTHESIZER):
        for seed, found in results.items():
            if kind in found:
                cells = describe_run(found[kind])
                lines.append(f"| {kind} | {seed} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def describe_run(run: dict) -> list[str]:
    """Return the cells of one line about confidence, loss and cost."""

    def write(number: float | None) -> str:
        return "none" if number is None else f"{number:.2f}"

    sure = run["confidence"]
    return [
        *(write(sure[name]) for name in ("right", "wrong", "unknown")),
        f"{sure['unknown_above_half']:.0%}".replace("%", " %"),
        write(sure["unknown_surest"]),
        write(run["losses"].get("pretraining", [None])[-1]),
        f"{run['processor_seconds']:.0f}",
        f"{run['weights']:,}",
    ]


def describe_real(results: dict, world: World, plan: Plan) -> str:
    """Write the section about the real data."""
    lines = [
        "## The real people and places",
        "",
        "Made by `COURSE_DATA=... python -m autograder.experiments.pretraining --corpus real --epochs "
        f"{plan.pretraining.epochs}`. {world.description} Seed 1.",
        "",
        "| model | right | of | epochs | weights | processor minutes | reported |",
        "|---|---:|---:|---|---:|---:|---|",
    ]
    for kind in (ALONE, BASELINE, PRETRAINED):
        if kind not in results:
            lines.append(f"| {kind} | not run yet | | | | | {REPORTED[kind]} |")
            continue
        found = results[kind]
        n = len(world.test)
        cells = [f"{found['test']:.1%}".replace("%", " %"), f"{round(found['test'] * n)} of {n}"]
        if kind == BASELINE:
            cells += ["", "", ""]
        else:
            epochs = [len(losses) for losses in found["losses"].values()]
            cells += [" and ".join(map(str, epochs)), f"{found['weights']:,}",
                      f"{found['processor_seconds'] / 60:.0f}"]  # fmt: skip
        lines.append(f"| {kind} | " + " | ".join(cells) + f" | {REPORTED[kind]} |")
    return "\n".join(lines) + "\n"


def write_report(own: str | None, real: str | None) -> None:
    """Write the sections that are new, and keep the other as it is."""
    title = "# What pretraining brings\n"
    old = REPORT.read_text("utf-8") if REPORT.exists() else title
    kept = {part.partition("\n")[0]: "## " + part for part in old.split("## ")[1:]}
    sections = [
        own or kept.get("Our own world", ""),
        real or kept.get("The real people and places", ""),
    ]
    REPORT.parent.mkdir(exist_ok=True)
    text = title + "".join("\n" + section.rstrip("\n") + "\n" for section in sections if section)
    REPORT.write_text(text, "utf-8")
    print(f"Written: {REPORT}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.experiments.pretraining")
    parser.add_argument("--corpus", choices=("own", "real"), default="own")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="for our own world")
    parser.add_argument(
        "--epochs", type=int, help="of pretraining, instead of the laptop profile's"
    )
    arguments = parser.parse_args()
    plan = PLANS[arguments.corpus]["laptop"]
    if arguments.epochs:
        plan = replace(plan, pretraining=replace(plan.pretraining, epochs=arguments.epochs))
    if arguments.corpus == "own":
        results = {}
        for kinds in ((ALONE, PRETRAINED), (ALONE, PRETRAINED, SYNTHESIZER)):
            for seed in arguments.seeds:
                folder = FOLDER / f"own-{plan.pretraining.epochs}" / str(seed)
                results[seed] = run_all(make_world(seed), plan, seed, folder, kinds)
            write_report(describe_own(results, make_world(), plan), None)
        return
    data = runtime.data_dir()
    if data is None:
        parser.error("--corpus real needs COURSE_DATA to name the folder with the real files.")
    world = load_real(data)
    folder = FOLDER / f"real-{plan.pretraining.epochs}"
    for kinds in ((ALONE,), (ALONE, PRETRAINED)):
        results = run_all(world, plan, 1, folder, kinds)
        write_report(None, describe_real(results, world, plan))


if __name__ == "__main__":
    main()

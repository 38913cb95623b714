"""The comparison of the pretraining notebook: taken up again, and written down."""

from dataclasses import replace

from autograder.experiments import at_work
from autograder.experiments import pretraining as experiment
from course_utils.pretraining.plans import PLANS
from course_utils.pretraining.world import make_world


def test_a_small_comparison_is_run_once_and_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "REPORT", tmp_path / "docs/report.md")
    plan = PLANS["own"]["quick"]
    plan = replace(plan, pretraining=replace(plan.pretraining, epochs=1))
    world = make_world(1, n_train=6, n_test=4, n_unknown=3, n_biographies=2)
    kinds = (experiment.ALONE, experiment.PRETRAINED, experiment.SYNTHESIZER)
    results = {1: experiment.run_all(world, plan, 1, tmp_path / "runs", kinds)}
    monkeypatch.setattr(experiment, "run_model", None)  # everything is there already
    assert experiment.run_all(world, plan, 1, tmp_path / "runs", kinds) == results[1]

    experiment.write_report(experiment.describe_own(results, world, plan), None)
    real = experiment.describe_real({experiment.BASELINE: {"test": 0.05}}, world, plan)
    experiment.write_report(None, real)
    report = (tmp_path / "docs/report.md").read_text("utf-8")
    assert "| most frequent place | " in report and "## The real people and places" in report
    assert "0.6 %" in report and "23.0 %" in report and "not run yet" in report
    assert report.count("# What pretraining brings") == 1
    experiment.write_report(None, real)
    assert (tmp_path / "docs/report.md").read_text("utf-8") == report

    quoted = at_work.read_pretraining()  # what the notebook's text can name
    assert quoted["synthesizer"].keys() > {
        "known",
        "unknown",
        "lowest",
        "surest",
        "loss",
        "weights",
    }
    run = results[1][experiment.PRETRAINED]
    assert quoted["pretrained"]["loss"] == f"{run['losses']['pretraining'][-1]:.2f}"
    assert quoted["pretrained"]["weights"] == f"{run['weights']:,}"
    assert quoted["real"]["baseline"] == {"right": "5.0 %", "epochs": ""}

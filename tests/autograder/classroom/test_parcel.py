"""What travels to other machines arrives as it was."""

from autograder.blueprint import load_blueprints
from autograder.classroom import parcel
from autograder.classroom.worker import Task
from autograder.demo.personas import fill_in
from autograder.intake.restore import restore


def test_a_task_arrives_as_it_was(blueprint):
    restored = restore(fill_in(blueprint, {"q_select_first": "1 / 0"}), blueprint)
    restored.flags.append("look at ½ this")
    task = Task("ada", restored, seed=2**62 + 1, timeout=60.0, files={"a/b.bin": bytes(range(256))})
    again = parcel.read_task(parcel.write_task(task))
    assert again == task and again.restored.notebook.cells[0].cell_type


def test_a_hand_out_arrives_as_it_was(assignment):
    kit = load_blueprints(assignment)
    again = parcel.read_kit(parcel.write_kit(kit))
    assert again == kit
    name = next(iter(kit))
    assert again[name].solutions == kit[name].solutions

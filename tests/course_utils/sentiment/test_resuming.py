"""A lost session, an interrupt, a full disk, a torn file: what was saved stays, and training goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from autograder.bench import pipeline
from course_utils import runtime
from course_utils.sentiment import resuming
from course_utils.sentiment.resuming import OtherRun, SavingFailed, train_resumably
from tests.course_utils.tiny import make_tiny_run

EPOCHS = 4


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The same run by `main` alone, without interruption: its history and its folder."""
    folder = tmp_path_factory.mktemp("straight")
    model, loaders, optimizer = make_tiny_run()
    return pipeline.main(model, loaders, optimizer, EPOCHS, folder), folder, model


def test_epoch_by_epoch_is_the_same_run(straight, tmp_path):
    history, folder, straight_model = straight
    model, loaders, optimizer = make_tiny_run()
    assert train_resumably(pipeline.main, model, loaders, optimizer, EPOCHS, tmp_path) == history
    for name, weight in straight_model.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name]), name
    for name, weight in read_weights(folder).items():
        assert torch.equal(weight, read_weights(tmp_path)[name]), name


def test_goes_on_after_a_lost_session(straight, tmp_path, capsys):
    history, folder, _ = straight
    model, loaders, optimizer = make_tiny_run()
    train_resumably(pipeline.main, model, loaders, optimizer, 2, tmp_path)
    runtime.set_seed(999)  # a new session knows nothing of the old one
    model, loaders, optimizer = make_tiny_run(seed=7)
    assert train_resumably(pipeline.main, model, loaders, optimizer, EPOCHS, tmp_path) == history
    assert "Going on after epoch 2" in capsys.readouterr().out
    for name, weight in read_weights(folder).items():
        assert torch.equal(weight, read_weights(tmp_path)[name]), name


def test_an_interrupt_loses_only_its_epoch(straight, tmp_path, capsys):
    calls = []

    def interrupted(model, loaders, optimizer, num_epochs, folder):
        calls.append(num_epochs)
        if len(calls) in (1, 3):  # in the middle of the first epoch, and of the second
            for parameter in model.parameters():
                parameter.data.add_(1.0)
            raise KeyboardInterrupt
        return pipeline.main(model, loaders, optimizer, num_epochs, folder)

    model, loaders, optimizer = make_tiny_run()
    with pytest.raises(KeyboardInterrupt):
        train_resumably(interrupted, model, loaders, optimizer, EPOCHS, tmp_path)
    assert "nothing is lost" in capsys.readouterr().out
    with pytest.raises(KeyboardInterrupt):
        train_resumably(interrupted, model, loaders, optimizer, EPOCHS, tmp_path)
    assert "Epoch 1 is safe. Run the same cell again: it goes on with epoch 2." in (
        capsys.readouterr().out
    )
    assert train_resumably(interrupted, model, loaders, optimizer, EPOCHS, tmp_path) == straight[0]


def test_a_torn_checkpoint_gives_way_to_the_one_before(straight, tmp_path, capsys):
    model, loaders, optimizer = make_tiny_run()
    train_resumably(pipeline.main, model, loaders, optimizer, 3, tmp_path)
    latest = tmp_path / "resume" / "latest.pt"
    latest.write_bytes(latest.read_bytes()[: latest.stat().st_size // 2])
    model, loaders, optimizer = make_tiny_run(seed=7)
    assert (
        train_resumably(pipeline.main, model, loaders, optimizer, EPOCHS, tmp_path) == straight[0]
    )
    said = capsys.readouterr().out
    assert "latest.pt is not whole" in said and "Going on after epoch 2" in said


def test_two_torn_checkpoints_are_said_to_be_so(tmp_path):
    model, loaders, optimizer = make_tiny_run()
    train_resumably(pipeline.main, model, loaders, optimizer, 1, tmp_path)
    for name in ("latest.pt", "previous.pt"):
        (tmp_path / "resume" / name).write_bytes(b"torn")
    with pytest.raises(SavingFailed) as caught:
        train_resumably(pipeline.main, model, loaders, optimizer, 2, tmp_path)
    assert str(caught.value).endswith(f"To start over, delete {tmp_path}.")


def test_a_save_that_breaks_off_leaves_the_old_one(straight, tmp_path, monkeypatch):
    model, loaders, optimizer = make_tiny_run()
    train_resumably(pipeline.main, model, loaders, optimizer, 2, tmp_path)
    save = torch.save

    def save_half(state, file):
        file.write(b"half a checkpoint")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(resuming.torch, "save", save_half)
    with pytest.raises(SavingFailed, match=r"disk is full.*Epochs 1 to 2 are safe. Make room"):
        train_resumably(pipeline.main, model, loaders, optimizer, EPOCHS, tmp_path)
    assert not (tmp_path / "resume" / "fresh.pt").exists()  # its bytes would be missed elsewhere
    monkeypatch.setattr(resuming.torch, "save", save)
    assert (
        train_resumably(pipeline.main, model, loaders, optimizer, EPOCHS, tmp_path) == straight[0]
    )


FULL_DISK = """
import sys
from pathlib import Path
from autograder.bench import pipeline
from course_utils.sentiment.resuming import SavingFailed, train_resumably
from tests.course_utils.tiny import make_tiny_run

folder = Path(sys.argv[1])
train_resumably(pipeline.main, *make_tiny_run(), 1, folder)
(folder / "ballast").write_bytes(b"")
try:
    with open(folder / "ballast", "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
except OSError:
    pass
try:
    train_resumably(pipeline.main, *make_tiny_run(), 2, folder)
except SavingFailed as problem:
    print(problem)
(folder / "ballast").unlink()
print(len(train_resumably(pipeline.main, *make_tiny_run(), 2, folder)), "epochs")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="fills a small disk made by Linux's tmpfs")
def test_a_disk_that_is_really_full(tmp_path):
    root = Path(__file__).parents[3]
    script = f'mount -t tmpfs -o size=3m none "$1" && exec "{sys.executable}" -c "$2" "$1"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", str(tmp_path), FULL_DISK],
        capture_output=True, text=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this system lets nobody mount a small disk")
    assert "The disk is full: epoch 2 could not be saved. Epoch 1 is safe." in done.stdout, (
        done.stderr
    )
    assert done.stdout.endswith("2 epochs\n")


def test_other_settings_are_another_run(tmp_path):
    train_resumably(pipeline.main, *make_tiny_run(), 1, tmp_path)
    with pytest.raises(
        OtherRun, match=r"another learning rate: \[0.001\], where this one has \[0.1\]"
    ) as caught:
        train_resumably(pipeline.main, *make_tiny_run(learning_rate=0.1), 2, tmp_path)
    assert f"or delete {tmp_path} to start over" in str(caught.value)  # as where all is done


def test_a_mistake_in_main_comes_through_unchanged(tmp_path):
    def broken(*_):
        raise IndexError("the learner's own")

    with pytest.raises(IndexError, match="the learner's own"):
        train_resumably(broken, *make_tiny_run(), 1, tmp_path)


def test_a_main_that_returns_or_saves_nothing_is_told(tmp_path):
    with pytest.raises(TypeError, match="It returned None"):
        train_resumably(lambda *_: None, *make_tiny_run(), 1, tmp_path)
    record = {"epoch": 1, "train": {}, "validation": {"accuracy": 0.5}}
    with pytest.raises(FileNotFoundError, match="saved no model"):
        train_resumably(lambda *_: [record], *make_tiny_run(), 1, tmp_path)


def test_a_main_that_saves_into_folders_of_its_own(tmp_path):
    def main(model, loaders, optimizer, num_epochs, folder):
        (record,) = pipeline.main(model, loaders, optimizer, num_epochs, folder / "best")
        record["validation"]["accuracy"] = len(list((tmp_path / "resume").iterdir())) / 10
        return [record]

    assert len(train_resumably(main, *make_tiny_run(), 3, tmp_path)) == 3
    assert (tmp_path / "best" / "config.json").exists()

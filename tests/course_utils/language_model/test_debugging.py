"""The broken attentions are broken in the way that is said, and a diagnosis is judged."""

import pytest
import torch

from autograder.experiments.language_model import dot_product, zero_after_softmax
from course_utils.language_model.debugging import FAULTS, admit_patients, check_diagnosis


@pytest.fixture
def patients():
    return {patient._fault: patient for patient in admit_patients(dot_product, seed=1).values()}


def draw():
    torch.manual_seed(0)
    return [torch.randn(2, 6, 12, dtype=torch.float64) for _ in range(3)]


def test_each_fault_is_there_once_and_is_not_right(patients):
    Q, K, V = draw()
    assert set(patients) == set(FAULTS)
    right = dot_product(Q, K, V, 3, True)
    outputs = [patient(Q, K, V, n_heads=3) for patient in patients.values()]
    for i, output in enumerate(outputs):
        assert output.shape == right.shape
        assert not torch.allclose(output, right)
        assert not any(torch.allclose(output, other) for other in outputs[:i])


def test_the_late_mask_is_the_leak_that_the_notebook_speaks_of(patients):
    Q, K, V = draw()
    assert torch.allclose(patients["late mask"](Q, K, V, 3), zero_after_softmax(Q, K, V, 3))


def test_looking_one_too_far_is_just_that(patients):
    Q, K, V = draw()
    changed = V.clone()
    changed[:, 3] += 1
    moved = (patients["next"](Q, K, V, 3) - patients["next"](Q, K, changed, 3)).abs().sum((0, 2))
    assert (moved > 1e-9).tolist() == [False, False, True, True, True, True]


def test_a_diagnosis_is_judged(capsys):
    patients = admit_patients(dot_product, seed=1)
    check_diagnosis(patients, {name: patient._fault for name, patient in patients.items()})
    assert "5 of 5 diagnoses are right" in capsys.readouterr().out
    check_diagnosis(patients, {"A": "flu", "B": patients["C"]._fault})
    said = capsys.readouterr().out
    assert "'flu' is not on the list" in said and "0 of 5" in said and "C: no diagnosis yet" in said

"""What is handed in beside the notebooks is found wherever it lies, and what `submit` prints is told apart."""

import hashlib
import json
import zipfile

import pytest

from autograder.course import load_assignment
from autograder.intake.unzip import unpack
from autograder.intake.writeups import find_elsewhere, find_handed_in, find_writeups

PDF = b"%PDF-1.4 not much"


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "submitted" / "ada" / "attention"
    folder.mkdir(parents=True)
    return folder


def pack(path, manifest=None, **files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_pdf", ".pdf"), content)
        if manifest is not None:
            archive.writestr("manifest.json", json.dumps(manifest))


def print_manifest(content):
    digest = hashlib.sha256(content).hexdigest()
    return {"files": {"write-up.pdf": {"sha256": digest, "bytes": len(content)}}}


def names(found):
    return {writeup.label: writeup.kind for writeup in found}


def test_files_are_found_in_folders_zips_and_beside(place, monkeypatch):
    (place / "week 1").mkdir()
    (place / "week 1" / "Essay.PDF").write_bytes(PDF)
    (place / "notes.docx").write_bytes(b"PK notes")
    (place / "scan.jpeg").write_bytes(b"a picture")
    (place / "old.doc").write_bytes(b"an old one")
    (place / "hw.py").write_text("x = 1")
    (place / ".hidden.pdf").write_bytes(b"%PDF hidden")
    pack(place / "work.zip", x__answers_pdf=b"%PDF in a zip", y=b"")
    (place.parent / "beside.pdf").write_bytes(b"%PDF beside")
    monkeypatch.setenv("COURSE_GRADING", str(place.parents[2]))
    found = find_handed_in(load_assignment("attention"), "ada")
    assert names(found) == {
        "week 1/Essay.PDF": "pdf", "notes.docx": "docx", "scan.jpeg": "image", "old.doc": "other",
        "work.zip: x/answers.pdf": "pdf", "../beside.pdf": "pdf",
    }  # fmt: skip
    assert {w.label: w.read() for w in found}["work.zip: x/answers.pdf"] == b"%PDF in a zip"
    assert {w.label: w.size for w in found}["week 1/Essay.PDF"] == len(PDF)


def test_what_submit_prints_holds_the_same_answers(place, tmp_path):
    pack(place / "one.zip", print_manifest(PDF), write_up_pdf=b"")
    with zipfile.ZipFile(place / "attention-submission-1.zip", "w") as archive:
        archive.writestr("write-up.pdf", PDF)
        archive.writestr("manifest.json", json.dumps(print_manifest(PDF)))
    (found,) = [w for w in find_writeups(place) if w.size]
    assert found.same_answers
    unpack(place / "attention-submission-1.zip", tmp_path / "unpacked")
    (found,) = find_writeups(tmp_path / "unpacked")
    assert found.same_answers, "in a folder, too"
    with zipfile.ZipFile(place / "attention-submission-2.zip", "w") as archive:
        archive.writestr("write-up.pdf", b"%PDF my own, in its place")
        archive.writestr("manifest.json", json.dumps(print_manifest(PDF)))
    mine = [w for w in find_writeups(place) if "submission-2" in w.label]
    assert [w.same_answers for w in mine] == [False], "exchanged for another: that is elsewhere"


def test_the_same_file_twice_is_one(place):
    (place / "a.pdf").write_bytes(PDF)
    pack(place / "work.zip", b_pdf=PDF)
    assert names(find_writeups(place)) == {"a.pdf": "pdf"}


def test_links_and_the_courses_own_files_are_nobodys_writeup(place, tmp_path):
    secret = tmp_path / "secret.pdf"
    secret.write_bytes(PDF)
    (place / "mine.pdf").symlink_to(secret)
    (place / "figure.png").write_bytes(b"handed out")
    assert find_writeups(place, ours={"figure.png"}) == []
    other = tmp_path / "linked"
    other.symlink_to(place)
    (place / "real.pdf").write_bytes(PDF)
    assert find_writeups(other) == []


def test_damage_and_odd_names_stop_nothing(place):
    (place / "broken.zip").write_bytes(b"PK\x03\x04 no")
    (place / "manifest.json").write_text("[[[[")
    (place / "evil\x1b[31m\u202e.pdf").write_bytes(PDF)
    with zipfile.ZipFile(place / "up.zip", "w") as archive:
        archive.writestr("../up.pdf", PDF)
    assert names(find_writeups(place)) == {"evil[31m.pdf": "pdf"}


def test_elsewhere_leaves_out_what_submit_printed(place, monkeypatch):
    monkeypatch.setenv("COURSE_GRADING", str(place.parents[2]))
    (place / "write-up.pdf").write_bytes(PDF)
    (place / "manifest.json").write_text(json.dumps(print_manifest(PDF)))
    assignment = load_assignment("attention")
    assert find_elsewhere(assignment, "ada") == []
    assert find_elsewhere(assignment, "nobody") == []
    (place / "essay.pdf").write_bytes(b"%PDF essay")
    assert names(find_elsewhere(assignment, "ada")) == {"essay.pdf": "pdf"}
